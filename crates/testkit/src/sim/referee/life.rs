//! One experiment as the referee saw it, and whether the champion still runs.

use overnight_model::event::Purpose;
use overnight_model::stats::Tally;
use overnight_model::{ContentId, ExperimentId, Verdict};

/// One experiment as the referee saw it.
#[derive(Debug, Clone)]
pub struct Life {
    pub asked: bool,
    pub content: Option<ContentId>,
    pub verdict: Option<Verdict>,
    pub metric: Option<f64>,
    pub trials: Vec<(Purpose, Option<f64>)>,
    /// A trial gave a number, whatever it is worth.
    pub gave_a_number: bool,
    /// From which trial on its surface is the one it has now.
    pub fresh_from: usize,
    /// Trials of the champion for its sake.
    pub aided: usize,
    pub restacks: u32,
    /// Its last trial crashed in the first tenth of its budget.
    pub crashed_at_once: bool,
    pub repairs: u32,
    pub beyond_repair: bool,
    /// Both changed the same lines.
    pub clashes: bool,
    pub commit: Option<String>,
    /// Every commit that it was, the present one included.
    pub commits: Vec<String>,
    pub parent: Option<String>,
    /// The baseline of its segment.
    pub baseline: ExperimentId,
    /// The champion when it got its verdict.
    pub against: Option<ExperimentId>,
    /// The agent gave nothing to try.
    pub failed: bool,
    /// Losses through the engine's own fault, in a row.
    pub faults: u32,
}

impl Life {
    pub fn new(baseline: ExperimentId) -> Life {
        Life {
            asked: false,
            content: None,
            verdict: None,
            metric: None,
            trials: Vec::new(),
            gave_a_number: false,
            fresh_from: 0,
            aided: 0,
            restacks: 0,
            crashed_at_once: false,
            repairs: 0,
            beyond_repair: false,
            clashes: false,
            commit: None,
            commits: Vec::new(),
            parent: None,
            baseline,
            against: None,
            failed: false,
            faults: 0,
        }
    }

    pub fn becomes(&mut self, commit: &str) {
        self.commit = Some(commit.to_owned());
        self.commits.push(commit.to_owned());
    }

    /// Open, and neither asked for nor answered.
    pub fn is_idle_question(&self) -> bool {
        self.verdict.is_none() && !self.asked && self.content.is_none() && !self.failed
    }

    /// The trials of the surface that it has now.
    pub fn fresh(&self) -> &[(Purpose, Option<f64>)] {
        &self.trials[self.fresh_from.min(self.trials.len())..]
    }

    /// What its surface gave, checks of the machine aside.
    pub fn scores(&self) -> Vec<f64> {
        let counted = self.fresh().iter().filter(|(purpose, _)| *purpose != Purpose::Check);
        counted.filter_map(|(_, score)| *score).collect()
    }

    /// Trials that failed.
    pub fn failures(&self) -> usize {
        self.fresh().iter().filter(|(_, score)| score.is_none()).count()
    }

    /// Whether it was measured after it was chosen.
    pub fn is_shown(&self) -> bool {
        self.fresh().iter().any(|(purpose, score)| is_fair(*purpose) && score.is_some())
    }

    /// The trials that did not choose it, or all where there is no other.
    pub fn level(&self) -> Tally {
        let of = |all: bool| {
            let chosen =
                self.fresh().iter().filter(|(purpose, _)| *purpose != Purpose::Check && (all || is_fair(*purpose)));
            Tally::of(chosen.filter_map(|(_, score)| *score))
        };
        if of(false).n() > 0 { of(false) } else { of(true) }
    }
}

fn is_fair(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Baseline | Purpose::Remeasure | Purpose::Sentinel | Purpose::Close)
}

/// Whether the champion still runs, as far as anybody can tell.
#[derive(Debug, Default)]
pub struct Doubt {
    /// This run is a loop: a person's own try is not held up.
    pub loops: bool,
    /// Experiments in a row whose own run broke.
    pub broken: u32,
    /// What the last check of this run said.
    pub checked: Option<bool>,
    /// The champion broke, and nothing has given a number since.
    pub left_broken: bool,
}

impl Doubt {
    pub fn is_open(&self) -> bool {
        self.loops && (self.broken >= 5 || (self.left_broken && self.checked.is_none()))
    }
}
