//! What every client of one server shares.

use overnight_engine::load::Site;
use overnight_model::spec::Tier;

use super::hand::Hand;

/// The study, and who runs proposals where nobody else does.
pub(crate) struct Desk {
    pub(super) site: Site,
    /// The tier that a person accepted by name.
    pub(super) sandbox: Option<Tier>,
    pub(super) hand: Hand,
}

impl Desk {
    pub(crate) fn new(site: Site, sandbox: Option<Tier>) -> Desk {
        Desk { site, sandbox, hand: Hand::default() }
    }
}
