//! What failed, by cause.

use std::collections::HashMap;

use overnight_model::study::Row;
use overnight_model::verdict::Group;
use overnight_model::{ExperimentId, Verdict};

/// Examples of one cause: more would be the list that the groups are there to spare.
const EXAMPLES: usize = 3;

/// Experiments that failed in the same way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cause {
    pub(crate) verdict: Verdict,
    /// The reason of the latest.
    pub(crate) reason: String,
    /// Others differ in a number.
    pub(crate) varies: bool,
    /// What the latest printed last, where it says more than the reason.
    pub(crate) said: Option<String>,
    pub(crate) count: u64,
    /// The latest first.
    pub(crate) examples: Vec<(ExperimentId, String)>,
}

/// Causes as they come in.
#[derive(Debug, Clone, Default)]
pub(super) struct Causes {
    by_key: HashMap<(Verdict, String, String), usize>,
    found: Vec<Cause>,
}

impl Causes {
    /// Whether a verdict is a failure to be explained.
    pub(super) fn takes(verdict: Verdict) -> bool {
        match verdict.group() {
            Group::Broken => true,
            Group::Refused => verdict != Verdict::Suspect,
            Group::NotCounted => verdict != Verdict::Baseline,
            Group::Kept | Group::NotBetter => false,
        }
    }

    pub(super) fn add(&mut self, row: &Row, verdict: Verdict, said: Option<&str>) {
        let reason = row.reason.as_deref().unwrap_or("no reason was recorded");
        let key = (verdict, alike(reason), said.map(alike).unwrap_or_default());
        let at = *self.by_key.entry(key).or_insert_with(|| {
            let (reason, said) = (reason.to_owned(), said.map(ToOwned::to_owned));
            self.found.push(Cause { verdict, reason, varies: false, said, count: 0, examples: Vec::new() });
            self.found.len() - 1
        });
        let cause = &mut self.found[at];
        cause.count += 1;
        cause.varies |= cause.reason != reason;
        (cause.reason, cause.said) = (reason.to_owned(), said.map(ToOwned::to_owned));
        cause.examples.insert(0, (row.experiment, row.description.clone()));
        cause.examples.truncate(EXAMPLES);
    }

    /// What counts as an experiment first, then the most frequent.
    pub(super) fn sorted(self) -> Vec<Cause> {
        let mut found = self.found;
        found.sort_by_key(|cause| (cause.verdict.group(), std::cmp::Reverse(cause.count)));
        found
    }
}

/// What two failures have in common: numbers, names and places in quotes differ, the sentence stays.
fn alike(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if key.ends_with('0') => {}
            true => key.push('0'),
            false => key.push(c),
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_make_two_causes_of_one() {
        assert_eq!(alike("line 12: killed at 10s"), alike("line 7: killed at 250s"));
        assert_ne!(alike("exit code 1"), alike("killed by SIGKILL"));
    }
}
