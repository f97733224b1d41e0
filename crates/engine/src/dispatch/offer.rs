//! Proposals that nobody was asked for: a person's, or those that a demonstration brings along.

use std::fmt;

use overnight_model::proposal::Contents;

use super::{Arrival, Dispatch, Fault, Machine};

/// Turns the champion's surface into what is offered.
type Make = Box<dyn FnOnce(Contents) -> Contents + Send>;

/// A proposal that waits for its turn, and is then judged like any other.
pub struct Offer {
    agent: String,
    description: String,
    /// How many verdicts of this run it lets pass first.
    after: u64,
    make: Make,
}

impl Offer {
    /// A person's own, which comes as soon as there is a champion to compare it with.
    pub fn of_a_person(contents: Contents, description: &str) -> Offer {
        Offer::edit("person", description, 0, |_| contents)
    }

    /// An edit of whoever is champion when its turn comes: against an older one it would fail for want of what was kept
    /// since.
    pub fn edit(
        agent: &str,
        description: &str,
        after: u64,
        make: impl FnOnce(Contents) -> Contents + Send + 'static,
    ) -> Offer {
        Offer { agent: agent.to_owned(), description: description.to_owned(), after, make: Box::new(make) }
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} after {} verdicts", self.description, self.agent, self.after)
    }
}

impl<M: Machine> Dispatch<M> {
    /// The next offer, if its turn has come. One at a time: each takes the next number.
    pub(super) fn take_offer(&mut self) -> Result<Option<Arrival>, Fault> {
        if !self.offers.front().is_some_and(|offer| self.study.takes_offer(offer.after)) {
            return Ok(None);
        }
        let Some(Offer { agent, description, make, .. }) = self.offers.pop_front() else { return Ok(None) };
        let champion = self.study.state().champion.ok_or_else(|| Fault::lost("the champion"))?;
        let (experiment, contents) = (self.study.state().next_experiment(), make(self.contents_of(champion)?));
        Ok(Some(Arrival::Offered { experiment, agent, contents, description }))
    }
}
