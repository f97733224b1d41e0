//! The real thing: `Study` decides, and learns by events what became of it, as under the engine.

use std::collections::HashMap;

use overnight_model::event::{Event, Proposed, RunFacts, Scope, SegmentFacts, What};
use overnight_model::measure::{Measurement, Usage};
use overnight_model::proposal::{SurfaceBlob, content_id};
use overnight_model::spec::{
    AgentKind, AgentSpec, Evaluate, JudgeSpec, Limit, Limits, Metric, Mode, Network, Part, Pick, SandboxSpec, Spec,
    Surface, SurfaceFile,
};
use overnight_model::{
    BlobId, CommitId, Ending, ExperimentId, Goal, Millis, Score, Segment, State, Step, Study, Timestamp, TrialId,
    Verdict,
};

use super::{Move, Report, Rule};
use crate::night::Size;
use crate::world::Subject;

/// The metric of the baseline, in noise sd: the noise is a thousandth of the level, as in a training run.
const BASELINE: f64 = 1000.0;
/// How long a trial takes, as the study sees it.
const TRIAL: i64 = 300_000;

pub struct Ours {
    study: Study,
    now: i64,
    slots: u32,
    subjects: HashMap<ExperimentId, Subject>,
    trials: HashMap<u64, ExperimentId>,
    asked: Option<(ExperimentId, CommitId)>,
    restacking: Option<ExperimentId>,
}

impl Ours {
    pub fn new(seed: u64, size: Size, mode: Mode) -> Ours {
        let slots = size.slots;
        let spec = spec(size, mode);
        let facts = SegmentFacts {
            segment: Segment(1),
            baseline: CommitId("base".into()),
            surface: spec.surface.clone(),
            contents: surface(0),
            metric: spec.metric.clone(),
            evaluate: spec.evaluate.clone(),
            guards: Vec::new(),
            assurance: String::new(),
            sandbox: String::new(),
            inputs: None,
            experiment: ExperimentId::BASELINE,
            carried: None,
            form: None,
            tokens: None,
        };
        let (version, boot, containment, sandbox) = Default::default();
        let scope = Scope::Loop { experiments: None };
        let run = RunFacts {
            run: 1,
            scope,
            slots,
            version,
            pid: 1,
            boot,
            containment,
            sandbox,
            agent: String::new(),
            metered: None,
        };
        let mut ours = Ours {
            study: Study::new(spec, State::default()),
            now: 0,
            slots,
            subjects: HashMap::from([(ExperimentId::BASELINE, 0)]),
            trials: HashMap::new(),
            asked: None,
            restacking: None,
        };
        ours.happen(What::StudyOpened { study: "main".into(), seed });
        ours.happen(What::SegmentOpened(facts.into()));
        ours.happen(What::RunStarted(run));
        ours
    }

    fn happen(&mut self, what: What) {
        self.study.apply(&Event { at: Timestamp(self.now), what });
    }

    fn proposal(&self, experiment: ExperimentId, parent: CommitId, surface: Vec<SurfaceBlob>) -> Proposed {
        Proposed {
            experiment,
            agent: "command".into(),
            parent,
            commit: CommitId(format!("proposal {experiment}")),
            commit_time: 0,
            description: String::new(),
            content: content_id(&surface),
            surface,
            form: None,
            tokens: None,
            reseeds: false,
            edits: Vec::new(),
            took: Millis(0),
            output: None,
            used: None,
        }
    }

    fn advance(&mut self, experiment: ExperimentId) {
        let from = self.study.state().champion().and_then(|champion| champion.commit.clone());
        let to = CommitId(format!("commit of {experiment} at {}", self.now));
        self.happen(What::BranchAdvanced { experiment, from, to, retracted: self.study.state().retreating });
    }
}

impl Rule for Ours {
    fn next(&mut self) -> Option<Move> {
        loop {
            let step = self.study.next_step(Timestamp(self.now))?;
            if let Some(what) = step.event() {
                self.happen(what);
            }
            match step {
                Step::Ask { experiment, parent, .. } => {
                    self.asked = Some((experiment, parent));
                    return Some(Move::Propose);
                }
                Step::StartTrial { trial, experiment, seed, .. } => {
                    self.trials.insert(trial.0, experiment);
                    let subject = self.subjects[&experiment];
                    return Some(Move::Measure { ticket: trial.0, subject, seed: seed.0.into() });
                }
                Step::Judge(judged) => {
                    self.study.forget_judged();
                    let subject = self.subjects[&judged.experiment];
                    match judged.verdict {
                        Verdict::Baseline => {}
                        Verdict::Kept => return Some(Move::Keep(subject)),
                        Verdict::Discarded => return Some(Move::Discard(subject)),
                        _ => return Some(Move::Refuse(subject)),
                    }
                }
                Step::AdvanceBranch { experiment } => self.advance(experiment),
                Step::Restack { experiment } => {
                    self.restacking = Some(experiment);
                    return Some(Move::Restack { candidate: self.subjects[&experiment] });
                }
                Step::Retract(_) => {
                    self.study.forget_judged();
                    return Some(Move::Retract);
                }
                Step::Again(again) => {
                    let experiment = self.study.state().next_experiment();
                    let parent = self.study.state().champion().and_then(|champion| champion.commit.clone());
                    self.subjects.insert(experiment, self.subjects[&again.experiment]);
                    let proposed = self.proposal(experiment, parent.expect("a champion"), again.surface);
                    self.happen(What::Proposed(proposed));
                }
                Step::RunGuard { .. } | Step::Smoke { .. } | Step::Repair { .. } => {
                    unreachable!("the study has no guards")
                }
                Step::Stop(_) => return Some(Move::Stop),
            }
        }
    }

    fn proposed(&mut self, candidate: Subject, content: u64) {
        let Some((experiment, parent)) = self.asked.take() else { return };
        self.subjects.insert(experiment, candidate);
        let proposed = self.proposal(experiment, parent, surface(content));
        self.happen(What::Proposed(proposed));
    }

    fn restacked(&mut self, _candidate: Subject, stacked: Subject, content: u64) {
        let Some(experiment) = self.restacking.take() else { return };
        self.subjects.insert(experiment, stacked);
        let parent = self.study.state().champion().and_then(|champion| champion.commit.clone());
        let proposed = self.proposal(experiment, parent.expect("a champion"), surface(content));
        self.happen(What::Restacked(proposed));
    }

    fn measured(&mut self, ticket: u64, score: f64) {
        let Some(experiment) = self.trials.remove(&ticket) else { return };
        // Slots work side by side: each trial takes its share of the night.
        self.now += TRIAL / i64::from(self.slots);
        let usage = Usage { wall: Millis(TRIAL as u64), cpu: Millis(TRIAL as u64), peak_bytes: 0 };
        let measurement = Measurement {
            ending: Ending::Exited { code: 0 },
            metric: Score::new(BASELINE - score),
            problem: None,
            numbers: Default::default(),
            usage,
            output: None,
            claim: None,
            scorer: None,
            replayed: false,
        };
        self.happen(What::TrialFinished { trial: TrialId(ticket), experiment, measurement });
    }

    /// A champion that is the baseline has gained nothing, and says so.
    fn report(&self) -> Report {
        match self.study.state().gain_over_baseline() {
            None => Report::default(),
            Some(estimate) => Report { gain: estimate.gain, interval: estimate.low.zip(estimate.high) },
        }
    }
}

fn surface(content: u64) -> Vec<SurfaceBlob> {
    vec![SurfaceBlob { path: "f".into(), blob: BlobId::of(&content.to_le_bytes()) }]
}

/// A study with every default, the mode aside, that knows how long its night is. The metric is to be made smaller, as a loss.
fn spec(size: Size, mode: Mode) -> Spec {
    let Size { trials, slots } = size;
    let wall = Millis(TRIAL as u64 * trials as u64 / u64::from(slots));
    Spec {
        study: "main".into(),
        surface: Surface { files: vec![SurfaceFile { path: "f".into(), part: Part::Whole }], max_lines_changed: None },
        program: "program.md".into(),
        metric: Metric {
            name: "loss".into(),
            goal: Goal::Min,
            min_gain: None,
            target: None,
            plausible: None,
            pick: Pick::Only,
        },
        evaluate: Evaluate::new("run", Millis(TRIAL as u64)),
        holdout: None,
        guards: Vec::new(),
        judge: JudgeSpec { mode, ..JudgeSpec::default() },
        agent: AgentSpec::one(AgentKind::Command("agent".into()), Millis::seconds(60), Network::Full),
        sandbox: SandboxSpec::default(),
        gateway: Default::default(),
        slots,
        limits: Limits { night: Limit { wall: Some(wall), ..Limit::default() }, ..Limits::default() },
        notify: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { trials: 200, slots: 1 };

    /// Plays one candidate of this level; the noise alternates by this much.
    fn play(level: f64, noise: f64) -> (Move, Report) {
        let mut ours = Ours::new(7, SIZE, Mode::Balanced);
        let mut sign = 1.0;
        let mut verdict = None;
        loop {
            match ours.next() {
                Some(Move::Propose) if verdict.is_some() => return (verdict.unwrap(), ours.report()),
                Some(Move::Propose) => ours.proposed(1, 1),
                Some(Move::Measure { ticket, subject, .. }) => {
                    sign = -sign;
                    ours.measured(ticket, if subject == 1 { level } else { 0.0 } + sign * noise);
                }
                Some(found) => verdict = Some(found),
                None => panic!("nothing to wait for"),
            }
        }
    }

    #[test]
    fn a_large_gain_is_kept_and_reported_and_a_loss_is_not() {
        let (verdict, report) = play(50.0, 1.0);
        assert_eq!(verdict, Move::Keep(1));
        assert!((report.gain - 50.0).abs() < 3.0, "{report:?}");
        let (low, high) = report.interval.expect("the noise is known");
        assert!(low < report.gain && report.gain < high);
        assert_eq!(play(-50.0, 1.0), (Move::Discard(1), Report::default()));
    }

    #[test]
    fn the_same_bytes_are_refused_without_a_trial() {
        let mut ours = Ours::new(7, SIZE, Mode::Balanced);
        let mut moves = Vec::new();
        while moves.len() < 3 {
            match ours.next().expect("nothing to wait for") {
                Move::Propose => ours.proposed(moves.len() + 1, 5),
                Move::Measure { ticket, subject, .. } => ours.measured(ticket, -(subject as f64)),
                verdict => moves.push(verdict),
            }
        }
        assert_eq!(moves, [Move::Discard(1), Move::Refuse(2), Move::Refuse(3)]);
    }
}
