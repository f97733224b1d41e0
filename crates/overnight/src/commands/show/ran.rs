//! A command that was run about one experiment besides its trials: a guard, or a quick look.

use overnight_model::measure::{Output, Usage};
use overnight_model::{Ending, ExperimentId};
use serde_json::{Value, json};

/// How the name of a run ends that was about the champion.
pub(super) const ON_CHAMPION: &str = " on the champion";

/// One run that ended.
pub(super) struct Ran<'a> {
    pub(super) command: &'a str,
    /// The champion, where it was tried on that.
    pub(super) on: Option<ExperimentId>,
    pub(super) ending: &'a Ending,
    pub(super) usage: Usage,
    pub(super) output: Option<&'a Output>,
}

impl Ran<'_> {
    /// What a name gets that was about the champion.
    pub(super) fn on(&self) -> &'static str {
        if self.on.is_some() { ON_CHAMPION } else { "" }
    }

    pub(super) fn json(&self, kind: &str) -> Value {
        json!({
            kind: self.command,
            "on": self.on.map(|champion| champion.0),
            "passed": self.ending.succeeded(),
            "ending": self.ending.to_string(),
            "wall_s": self.usage.wall.as_secs(),
        })
    }

    pub(super) fn line(&self, name: &str, passed: &str) -> String {
        let result = if self.ending.succeeded() { passed.to_owned() } else { self.ending.to_string() };
        format!("  {name}: {result} · {:.3} s wall", self.usage.wall.as_secs())
    }
}
