//! A search that is asked and told, and the tuner's as one of them.

use std::cell::RefCell;
use std::error::Error;

use overnight_model::tuner::ask::{self, Memo, Result as Outcome, Told};
use overnight_model::tuner::space::{Point, Space};

pub trait Method {
    fn tell(&mut self, point: Point, value: Option<f64>, error: f64) -> Result<(), Box<dyn Error>>;

    /// What a study would have done before it asks; not part of the time of asking.
    fn get_ready(&mut self) {}

    /// The next point and its reason; no point where nothing new is left.
    fn ask(&mut self) -> Result<(Option<Point>, String), Box<dyn Error>>;

    /// What this search would hand over now.
    fn best(&self) -> Option<Point>;
}

/// The search of the tuner. The champion is what `best` says it is: in a study the judge decides that.
pub struct Ours {
    space: Space,
    here: Point,
    told: Vec<Told>,
    seed: u64,
    /// `best` is asked of a shared reference, as in the others.
    memo: RefCell<Memo>,
}

impl Ours {
    pub fn new(space: Space, start: Point, seed: u64) -> Ours {
        Ours { space, here: start, told: Vec::new(), seed, memo: RefCell::default() }
    }
}

impl Method for Ours {
    fn tell(&mut self, point: Point, value: Option<f64>, error: f64) -> Result<(), Box<dyn Error>> {
        let result = match value {
            Some(value) => Outcome::Value { value, error },
            None => Outcome::Failed,
        };
        self.told.push(Told { point, result });
        Ok(())
    }

    fn get_ready(&mut self) {
        if let Some(best) = self.best() {
            self.here = best;
        }
    }

    fn ask(&mut self) -> Result<(Option<Point>, String), Box<dyn Error>> {
        let told = &self.told;
        // A study does not measure what it has measured: the same program is not tried twice.
        let mut known = |point: &Point| told.iter().any(|told| told.point == *point);
        Ok(match ask::ask(&self.space, &self.here, told, self.seed, &mut known, self.memo.get_mut()) {
            Some(asked) => (Some(asked.point), asked.why),
            None => (None, String::new()),
        })
    }

    fn best(&self) -> Option<Point> {
        ask::best(&self.space, &self.told, &mut self.memo.borrow_mut())
    }
}
