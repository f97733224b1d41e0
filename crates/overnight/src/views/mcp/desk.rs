//! What every client of one server shares.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use overnight_engine::load::Site;
use overnight_model::ExperimentId;
use overnight_model::spec::Tier;

use super::hand::Hand;

/// Clients are few. What is forgotten is a convenience.
const MOST_CLIENTS: usize = 64;

/// The study, and who runs proposals where nobody else does.
pub(crate) struct Desk {
    pub(super) site: Site,
    /// The tier that a person accepted by name.
    pub(super) sandbox: Option<Tier>,
    pub(super) hand: Hand,
    /// The champion that each client was shown last: what it proposes was made from that. Clients of one name are told
    /// apart by their sessions, where they have any.
    shown: Mutex<HashMap<String, Option<ExperimentId>>>,
}

impl Desk {
    pub(crate) fn new(site: Site, sandbox: Option<Tier>) -> Desk {
        Desk { site, sandbox, hand: Hand::default(), shown: Mutex::default() }
    }

    pub(super) fn shows(&self, client: &str, champion: Option<ExperimentId>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() >= MOST_CLIENTS {
            shown.clear();
        }
        shown.insert(client.to_owned(), champion);
    }

    pub(super) fn shown(&self, client: &str) -> Option<ExperimentId> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner).get(client)?
    }
}
