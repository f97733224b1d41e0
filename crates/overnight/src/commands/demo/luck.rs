//! How much of what looks better is luck: counted from the ledger, run by run.

use std::collections::{BTreeMap, BTreeSet};

use overnight_model::event::Purpose;
use overnight_model::{Event, ExperimentId, State, Verdict, What};

/// What became of the experiments whose first run beat the champion of that moment.
#[derive(Default)]
pub(super) struct Luck {
    state: State,
    /// First runs that there was nothing to compare with yet.
    waiting: BTreeMap<ExperimentId, f64>,
    begun: BTreeSet<ExperimentId>,
    beat: BTreeSet<ExperimentId>,
    again: BTreeSet<ExperimentId>,
    kept: BTreeSet<ExperimentId>,
}

impl Luck {
    /// Takes in the next event of the ledger.
    pub(super) fn see(&mut self, event: &Event) {
        self.state.apply(event);
        match &event.what {
            What::TrialFinished { experiment, .. } => self.finished(*experiment),
            What::Judged(judged) if judged.verdict == Verdict::Kept => drop(self.kept.insert(judged.experiment)),
            What::Retracted(retracted) => drop(self.kept.remove(&retracted.experiment)),
            _ => {}
        }
        self.compare();
    }

    /// How many beat the champion in their first run, how many of these were run again, and how many are kept.
    pub(super) fn counts(&self) -> [usize; 3] {
        let of = |some: &BTreeSet<ExperimentId>| self.beat.intersection(some).count();
        [self.beat.len(), of(&self.again), of(&self.kept)]
    }

    fn finished(&mut self, id: ExperimentId) {
        let Some(experiment) = self.state.find(id).filter(|_| id != self.state.baseline()) else { return };
        if experiment.trials.last().is_some_and(|trial| trial.purpose == Purpose::Confirm) {
            self.again.insert(id);
        }
        if let [first] = experiment.scores()[..]
            && self.begun.insert(id)
        {
            self.waiting.insert(id, first);
        }
    }

    fn compare(&mut self) {
        let Some(goal) = self.state.segment.as_ref().map(|facts| facts.metric.goal) else { return };
        let champion = self.state.champion().filter(|_| self.state.calibrated());
        let Some(level) = champion.and_then(|champion| champion.level().mean()) else { return };
        let first_runs = std::mem::take(&mut self.waiting).into_iter();
        self.beat.extend(first_runs.filter(|(_, first)| goal.gain(level, *first) > 0.0).map(|(id, _)| id));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use overnight_engine::load::{Tree, Triplet, parse};
    use overnight_model::event::{Judged, SegmentFacts};
    use overnight_model::{CommitId, Reason, Seed, Segment, Slot, Timestamp, TrialId};
    use serde_json::json;

    use super::*;

    /// A ledger of which only the runs and the verdicts matter.
    struct Night {
        luck: Luck,
        trials: u64,
    }

    impl Night {
        fn new() -> Night {
            let mut night = Night { luck: Luck::default(), trials: 0 };
            let triplet = Triplet {
                file: "overnight.toml",
                text: "surface = \"a\"\nmetric = { name = \"x\", goal = \"min\" }\n[evaluate]\nrun = \"b\"\nbudget = \"1s\"\n",
                study: "main",
                folder: "",
            };
            let tracked = ["a".to_owned()];
            let tree =
                Tree { tracked: &tracked, exists: &|_| true, names: &|_| Vec::new(), dir: Path::new("/"), home: None };
            let spec = parse(&triplet, &tree).unwrap();
            night.saw(What::StudyOpened { study: "main".to_owned(), seed: 0 });
            night.saw(What::SegmentOpened(Box::new(SegmentFacts {
                segment: Segment(1),
                baseline: CommitId("0".repeat(40)),
                surface: spec.surface,
                contents: Vec::new(),
                metric: spec.metric,
                evaluate: spec.evaluate,
                guards: Vec::new(),
                assurance: String::new(),
                sandbox: String::new(),
                inputs: None,
                experiment: ExperimentId::BASELINE,
                carried: None,
                form: None,
                tokens: None,
            })));
            night
        }

        fn saw(&mut self, what: What) {
            self.luck.see(&Event { at: Timestamp(0), what });
        }

        fn asked(&mut self, experiment: u64) {
            let parent = CommitId("0".repeat(40));
            self.saw(What::Asked {
                experiment: ExperimentId(experiment),
                agent: "tuner".to_owned(),
                parent,
                why: String::new(),
            });
        }

        fn ran(&mut self, experiment: u64, purpose: Purpose, score: f64) {
            self.trials += 1;
            let (trial, experiment) = (TrialId(self.trials), ExperimentId(experiment));
            self.saw(What::TrialStarted { trial, experiment, purpose, seed: Seed(0), slot: Slot(0), aid: None });
            let usage = json!({ "wall": 0, "cpu": 0, "peak_bytes": 0 });
            let measurement = json!({ "ending": { "exited": { "code": 0 } }, "metric": score, "usage": usage });
            let measurement = serde_json::from_value(measurement).unwrap();
            self.saw(What::TrialFinished { trial, experiment, measurement });
        }

        fn judged(&mut self, experiment: u64, verdict: Verdict) {
            let (experiment, reason) = (ExperimentId(experiment), Reason::Measured { trials: 1 });
            let judged = Judged { experiment, verdict, reason, metric: None, estimate: None, opinion: None };
            self.saw(What::Judged(judged));
            if verdict != Verdict::Discarded {
                let to = CommitId("1".repeat(40));
                self.saw(What::BranchAdvanced { experiment, from: None, to, retracted: None });
            }
        }
    }

    #[test]
    fn first_runs_are_compared_with_the_champion_of_their_moment() {
        let mut night = Night::new();
        (1..=5).for_each(|experiment| night.asked(experiment));
        night.ran(0, Purpose::Baseline, 1.0);
        // Nothing is known of the baseline's level yet.
        night.ran(1, Purpose::Screen, 0.9);
        assert_eq!(night.luck.counts(), [0, 0, 0]);
        night.ran(0, Purpose::Baseline, 0.8);
        night.ran(0, Purpose::Baseline, 0.8);
        night.judged(0, Verdict::Baseline);
        assert_eq!(night.luck.counts(), [0, 0, 0], "0.9 is worse than the mean of all three");
        night.judged(1, Verdict::Discarded);
        // Within the noise, and so never run again.
        night.ran(2, Purpose::Screen, 0.85);
        night.judged(2, Verdict::Discarded);
        // Better when it ran first; by its verdict there is another champion.
        night.ran(3, Purpose::Screen, 0.7);
        night.ran(4, Purpose::Screen, 0.5);
        night.ran(4, Purpose::Confirm, 0.5);
        night.ran(4, Purpose::Remeasure, 0.5);
        night.judged(4, Verdict::Kept);
        night.ran(3, Purpose::Confirm, 0.7);
        night.judged(3, Verdict::Discarded);
        night.ran(5, Purpose::Screen, 0.6);
        night.judged(5, Verdict::Discarded);
        assert_eq!(night.luck.counts(), [3, 2, 1]);
    }
}
