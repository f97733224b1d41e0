//! A night that never was: the real study, told by made-up events what its trials gave.
//!
//! Everything is in sd of one trial. Chance comes from a seed, so that the same question has the same answer.

use std::collections::{BTreeMap, HashMap};

use crate::ending::Ending;
use crate::event::{Event, Proposed, RunFacts, Scope, SegmentFacts, What};
use crate::id::{BlobId, CommitId, ExperimentId, Segment, TrialId};
use crate::measure::{Measurement, Usage};
use crate::proposal::{SurfaceBlob, content_id};
use crate::spec::{
    AgentKind, AgentSpec, Evaluate, JudgeSpec, Limit, Limits, Metric, Network, NotifySpec, Part, Pick, SandboxSpec,
    Spec, Surface, SurfaceFile,
};
use crate::study::{State, Step, Study};
use crate::tuner::random::Random;
use crate::units::{Goal, Millis, Score, Timestamp};
use crate::verdict::Verdict;

/// The noise is a thousandth of the level, as in a training run.
const LEVEL: f64 = 1000.0;
/// How long a trial takes here; only how many of them a night has matters.
const TRIAL: Millis = Millis::seconds(60);

/// What ideas are taken to be worth: of a hundred, so many are better and so many worse, by one sd of a trial on average.
const BETTER: usize = 10;
const WORSE: usize = 45;

#[derive(Clone)]
pub(super) struct Rehearsal {
    study: Study,
    now: i64,
    noise: f64,
    /// The true level of each experiment, without noise.
    levels: HashMap<ExperimentId, f64>,
    asked: Option<(ExperimentId, CommitId)>,
}

/// Where a rehearsal stands.
pub(super) enum Turn {
    /// An idea is wanted.
    Idea,
    Judged(ExperimentId, Verdict),
    Over,
}

impl Rehearsal {
    /// A night of so many trials, with this much noise: 1, or 0 for none.
    pub(super) fn new(trials: u64, noise: f64, min_gain: f64, judge: JudgeSpec) -> Rehearsal {
        let spec = spec(trials, min_gain, judge);
        let facts = SegmentFacts {
            segment: Segment(1),
            baseline: CommitId("base".into()),
            surface: spec.surface.clone(),
            contents: surface(ExperimentId::BASELINE),
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
        let (version, boot, containment, sandbox, agent) = Default::default();
        let scope = Scope::Loop { experiments: None };
        let run =
            RunFacts { run: 1, scope, slots: 1, version, pid: 1, boot, containment, sandbox, agent, metered: None };
        let levels = HashMap::from([(ExperimentId::BASELINE, LEVEL)]);
        let study = Study::new(spec, State::default());
        let mut rehearsal = Rehearsal { study, now: 0, noise, levels, asked: None };
        rehearsal.happen(What::StudyOpened { study: "main".into(), seed: 1 });
        rehearsal.happen(What::SegmentOpened(facts.into()));
        rehearsal.happen(What::RunStarted(run));
        rehearsal
    }

    pub(super) fn study(&self) -> &Study {
        &self.study
    }

    /// Goes on to the next turn. `draw` gives the luck of each trial, whose experiment it is told.
    pub(super) fn turn(&mut self, draw: &mut dyn FnMut(ExperimentId) -> f64) -> Turn {
        loop {
            let Some(step) = self.study.next_step(Timestamp(self.now)) else { return Turn::Over };
            if let Some(what) = step.event() {
                self.happen(what);
            }
            match step {
                Step::Ask { experiment, parent, .. } => {
                    self.asked = Some((experiment, parent));
                    return Turn::Idea;
                }
                Step::StartTrial { trial, experiment, .. } => {
                    let score = self.level(experiment) + self.noise * draw(experiment);
                    self.finish(trial, experiment, score);
                }
                Step::Judge(judged) => {
                    self.study.forget_judged();
                    if !judged.experiment.is_baseline() {
                        return Turn::Judged(judged.experiment, judged.verdict);
                    }
                }
                Step::Retract(_) => self.study.forget_judged(),
                Step::AdvanceBranch { experiment } => {
                    let state = self.study.state();
                    let from = state.champion().and_then(|champion| champion.commit.clone());
                    let to = CommitId(format!("{experiment} at {}", self.now));
                    self.happen(What::BranchAdvanced { experiment, from, to, retracted: state.retreating });
                }
                Step::Again(again) => {
                    let experiment = self.study.state().next_experiment();
                    self.levels.insert(experiment, self.level(again.experiment));
                    let proposed = self.proposal(experiment, self.head(), again.surface);
                    self.happen(What::Proposed(proposed));
                }
                Step::Restack { experiment } => {
                    let proposed = self.proposal(experiment, self.head(), surface(experiment));
                    self.happen(What::Restacked(proposed));
                }
                Step::RunGuard { .. } | Step::Smoke { .. } | Step::Repair { .. } | Step::Stop(_) => return Turn::Over,
            }
        }
    }

    /// Proposes what was asked for: better than the champion by this much.
    pub(super) fn propose(&mut self, gain: f64) -> Option<ExperimentId> {
        let (experiment, parent) = self.asked.take()?;
        let champion = self.study.state().champion().map_or(LEVEL, |champion| self.level(champion.id));
        self.levels.insert(experiment, champion + gain);
        let proposed = self.proposal(experiment, parent, surface(experiment));
        self.happen(What::Proposed(proposed));
        Some(experiment)
    }

    fn level(&self, experiment: ExperimentId) -> f64 {
        self.levels.get(&experiment).copied().unwrap_or(LEVEL)
    }

    fn head(&self) -> CommitId {
        let commit = self.study.state().champion().and_then(|champion| champion.commit.clone());
        commit.unwrap_or(CommitId("base".into()))
    }

    fn happen(&mut self, what: What) {
        self.study.apply(&Event { at: Timestamp(self.now), what });
    }

    fn finish(&mut self, trial: TrialId, experiment: ExperimentId, score: f64) {
        self.now += TRIAL.0 as i64;
        let measurement = Measurement {
            ending: Ending::Exited { code: 0 },
            metric: Score::new(score),
            problem: None,
            numbers: BTreeMap::new(),
            usage: Usage { wall: TRIAL, cpu: TRIAL, peak_bytes: 0 },
            output: None,
            claim: None,
            scorer: None,
            replayed: false,
        };
        self.happen(What::TrialFinished { trial, experiment, measurement });
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
}

/// What the next idea is worth.
pub(super) fn idea(random: &mut Random) -> f64 {
    let size = -(1.0 - random.unit()).ln();
    match random.below(100) {
        kind if kind < BETTER => size,
        kind if kind < BETTER + WORSE => -size,
        _ => 0.0,
    }
}

/// The luck of one trial (Box and Muller).
pub(super) fn luck(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

fn surface(experiment: ExperimentId) -> Vec<SurfaceBlob> {
    vec![SurfaceBlob { path: "f".into(), blob: BlobId::of(&experiment.0.to_le_bytes()) }]
}

fn spec(trials: u64, min_gain: f64, judge: JudgeSpec) -> Spec {
    let wall = Millis(TRIAL.0 * trials);
    Spec {
        study: "main".into(),
        surface: Surface { files: vec![SurfaceFile { path: "f".into(), part: Part::Whole }], max_lines_changed: None },
        program: String::new(),
        metric: Metric {
            name: "score".into(),
            goal: Goal::Max,
            min_gain: Score::new(min_gain).filter(|gain| gain.get() > 0.0),
            target: None,
            plausible: None,
            pick: Pick::Only,
        },
        evaluate: Evaluate::new("run", TRIAL),
        holdout: None,
        guards: Vec::new(),
        // A gain that waits for a person is not one that was missed.
        judge: JudgeSpec { max_step_gain: None, ..judge },
        agent: AgentSpec::one(AgentKind::Command(String::new()), TRIAL, Network::None),
        sandbox: SandboxSpec::default(),
        gateway: Default::default(),
        slots: 1,
        limits: Limits { night: Limit { wall: Some(wall), ..Limit::default() }, ..Limits::default() },
        notify: NotifySpec::default(),
    }
}
