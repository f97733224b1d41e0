//! One test for each rule of `need` and `step`, driven by events alone.

mod ahead;
mod baseline;
mod costs;
mod doubt;
mod guards;
mod interruptions;
mod judge;
mod letters;
mod limits;
mod offers;
mod rebase;
mod repair;
mod review;
mod rules;
mod smoke;
mod team;
mod waiting;

use std::collections::BTreeMap;

use super::*;
use crate::ending::Ending;
use crate::event::{AttemptFailure, Judged, Loss, Proposed, Purpose, RunFacts, Scope, SegmentFacts, StopReason, What};
use crate::id::{BlobId, CommitId, ContentId, ExperimentId, Segment, Slot, TrialId};
use crate::measure::{Measurement, Usage};
use crate::metric::MetricError;
use crate::proposal::{SurfaceBlob, content_id};
use crate::spec::{
    AgentKind, AgentSpec, Check, Evaluate, Guard, JudgeSpec, Limits, Metric, Network, NotifySpec, Part, Patience, Pick,
    SandboxSpec, Surface, SurfaceFile, When,
};
use crate::units::{Goal, Millis, Score, Timestamp};
use crate::verdict::{Reason, Verdict};

/// A study, a clock, and whoever makes things happen.
struct Driver {
    study: Study,
    now: i64,
    run: u64,
}

fn spec() -> Spec {
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
        evaluate: Evaluate { kill: Millis::seconds(60), ..Evaluate::new("run", Millis::seconds(1)) },
        holdout: None,
        guards: Vec::new(),
        judge: JudgeSpec::default(),
        agent: AgentSpec::one(AgentKind::Command("agent".into()), Millis::seconds(60), Network::Full),
        sandbox: SandboxSpec::default(),
        gateway: Default::default(),
        slots: 1,
        limits: Limits::default(),
        notify: NotifySpec::default(),
    }
}

fn score(value: f64) -> Score {
    Score::new(value).unwrap()
}

fn with(change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = spec();
    change(&mut spec);
    spec
}

fn surface(text: &str) -> Vec<SurfaceBlob> {
    vec![SurfaceBlob { path: "f".into(), blob: BlobId::of(text.as_bytes()) }]
}

fn measured(metric: Option<f64>) -> Measurement {
    Measurement {
        ending: Ending::Exited { code: 0 },
        metric: metric.map(score),
        problem: None,
        numbers: BTreeMap::new(),
        usage: Usage::default(),
        output: None,
        claim: None,
        scorer: None,
        replayed: false,
    }
}

fn proposal(experiment: ExperimentId, parent: CommitId, text: &str, form: Option<&str>) -> Proposed {
    let surface = surface(text);
    Proposed {
        experiment,
        agent: "command".into(),
        parent,
        commit: CommitId(format!("proposal of {text}")),
        commit_time: 0,
        description: text.into(),
        content: content_id(&surface),
        surface,
        form: form.map(|form| ContentId(form.into())),
        tokens: form.map(|_| 3),
        reseeds: false,
        edits: Vec::new(),
        took: Millis(0),
        output: None,
        used: None,
    }
}

impl Driver {
    const LOOP: Scope = Scope::Loop { experiments: None };

    fn new(spec: Spec) -> Driver {
        Driver::slots(spec, 1)
    }

    fn slots(spec: Spec, slots: u32) -> Driver {
        let facts = SegmentFacts {
            segment: Segment(1),
            baseline: CommitId("base".into()),
            surface: spec.surface.clone(),
            contents: surface("base"),
            metric: spec.metric.clone(),
            evaluate: spec.evaluate.clone(),
            guards: spec.guards.clone(),
            assurance: String::new(),
            sandbox: String::new(),
            inputs: None,
            experiment: ExperimentId::BASELINE,
            carried: None,
            form: Some(ContentId("form of base".into())),
            tokens: Some(3),
        };
        let mut driver = Driver { study: Study::new(spec, State::default()), now: 1000, run: 0 };
        driver.happen(What::StudyOpened { study: "main".into(), seed: 7 });
        driver.happen(What::SegmentOpened(facts.into()));
        driver.start(Driver::LOOP, slots);
        driver
    }

    /// A study whose baseline was measured at these levels.
    fn calibrated(spec: Spec, scores: [f64; 3]) -> Driver {
        let mut driver = Driver::new(spec);
        if matches!(driver.next(), Some(Step::Smoke { .. })) {
            driver.smoke(0);
        }
        for value in scores {
            // Two unequal ones are enough.
            if matches!(driver.next(), Some(Step::StartTrial { purpose: Purpose::Baseline, .. })) {
                driver.trial(value);
            }
        }
        while matches!(driver.next(), Some(Step::RunGuard { .. })) {
            driver.guard(0);
        }
        assert_eq!(driver.verdict().0, Verdict::Baseline);
        driver.advance();
        driver
    }

    fn start(&mut self, scope: Scope, slots: u32) {
        self.run += 1;
        let (version, boot, containment, sandbox, agent) = Default::default();
        let metered = Some(vec!["command".to_owned(), "tuner".to_owned()]);
        let run = self.run;
        self.happen(What::RunStarted(RunFacts {
            run,
            scope,
            slots,
            version,
            pid: 1,
            boot,
            containment,
            sandbox,
            agent,
            metered,
        }));
    }

    fn happen(&mut self, what: What) {
        self.study.apply(&Event { at: Timestamp(self.now), what });
    }

    fn next(&self) -> Option<Step> {
        self.study.next_step(Timestamp(self.now))
    }

    /// Takes the next step, which must exist.
    fn step(&mut self) -> Step {
        let step = self.next().expect("a step");
        if let Some(what) = step.event() {
            self.happen(what);
        }
        step
    }

    fn start_trial(&mut self) -> (TrialId, ExperimentId, Purpose) {
        match self.step() {
            Step::StartTrial { trial, experiment, purpose, .. } => (trial, experiment, purpose),
            other => panic!("{other:?}"),
        }
    }

    fn finish(&mut self, (trial, experiment, _): (TrialId, ExperimentId, Purpose), measurement: Measurement) {
        self.happen(What::TrialFinished { trial, experiment, measurement });
    }

    fn lose(&mut self, (trial, experiment, _): (TrialId, ExperimentId, Purpose), loss: Loss) {
        self.happen(What::TrialLost { trial, experiment, loss });
    }

    /// The next step is a trial; it gives this.
    fn trial(&mut self, value: f64) -> Purpose {
        let started = self.start_trial();
        let purpose = started.2;
        self.finish(started, measured(Some(value)));
        purpose
    }

    fn fault(&mut self) {
        let started = self.start_trial();
        self.lose(started, Loss::Fault { what: "no slot".into() });
    }

    fn ask(&mut self) -> ExperimentId {
        match self.step() {
            Step::Ask { experiment, .. } => experiment,
            other => panic!("{other:?}"),
        }
    }

    /// The next step is a question; the answer is a new surface.
    fn propose(&mut self, text: &str) -> ExperimentId {
        let experiment = self.ask();
        self.proposed(experiment, text);
        experiment
    }

    fn proposed(&mut self, experiment: ExperimentId, text: &str) {
        self.proposed_as(experiment, text, None);
    }

    /// The same, with what the surface is, layout and comments aside.
    fn proposed_as(&mut self, experiment: ExperimentId, text: &str, form: Option<&str>) {
        let asked = self.study.state().find(experiment).and_then(|asked| asked.parent.clone());
        let parent = asked.unwrap_or(CommitId("base".into()));
        self.happen(What::Proposed(proposal(experiment, parent, text, form)));
    }

    fn fails(&mut self, failure: AttemptFailure) -> (Verdict, Reason) {
        let experiment = self.ask();
        self.happen(What::AttemptFailed { experiment, failure, output: None, used: None });
        self.verdict()
    }

    fn guard(&mut self, code: i32) -> u32 {
        let Step::RunGuard { experiment, guard, .. } = self.step() else { panic!("no guard") };
        let (ending, usage) = (Ending::Exited { code }, Usage::default());
        self.happen(What::GuardFinished { experiment, guard, ending, usage, output: None });
        guard
    }

    /// The next step is a quick look, on itself or on the champion; it ends so.
    fn smoke(&mut self, code: i32) -> Option<ExperimentId> {
        let Step::Smoke { experiment, on, .. } = self.step() else { panic!("no quick look") };
        let (ending, usage) = (Ending::Exited { code }, Usage::default());
        self.happen(What::SmokeFinished { experiment, ending, usage, output: None });
        on
    }

    fn verdict(&mut self) -> (Verdict, Reason) {
        match self.step() {
            Step::Judge(Judged { verdict, reason, .. }) => (verdict, reason),
            other => panic!("{other:?}"),
        }
    }

    fn advance(&mut self) {
        let Step::AdvanceBranch { experiment } = self.step() else { panic!("no keep") };
        let from = self.study.state().champion().and_then(|champion| champion.commit.clone());
        let to = CommitId(format!("commit of {experiment}"));
        self.happen(What::BranchAdvanced { experiment, from, to, retracted: self.study.state().retreating });
    }

    /// The next step puts a proposal on the present champion, where its surface is this.
    fn restack(&mut self, text: &str) -> ExperimentId {
        let Step::Restack { experiment } = self.step() else { panic!("nothing to restack") };
        let champion = self.study.state().champion().and_then(|champion| champion.commit.clone()).unwrap();
        self.happen(What::Restacked(proposal(experiment, champion, text, None)));
        experiment
    }

    /// Plays trials of these scores, each side's over and over, until there is a verdict; how many there were of each.
    fn settle(&mut self, candidate: &[f64], champion: &[f64]) -> (Verdict, Reason, (usize, usize)) {
        let mut spent = (0, 0);
        loop {
            match self.step() {
                Step::StartTrial { trial, experiment, purpose, .. } => {
                    let is_champion = self.study.state().champion == Some(experiment);
                    let (scores, spent) =
                        if is_champion { (champion, &mut spent.1) } else { (candidate, &mut spent.0) };
                    let value = scores[*spent % scores.len()];
                    *spent += 1;
                    self.finish((trial, experiment, purpose), measured(Some(value)));
                }
                Step::Judge(Judged { verdict, reason, .. }) => return (verdict, reason, spent),
                other => panic!("{other:?}"),
            }
        }
    }

    /// The champion is measured once more, out of turn.
    fn look(&mut self, purpose: Purpose, value: f64) {
        let (trial, experiment) = (TrialId(self.study.state().next_trial), self.study.state().champion.unwrap());
        let (slot, seed, aid) = (Slot(0), crate::id::Seed(trial.0 as u32), None);
        self.happen(What::TrialStarted { trial, experiment, purpose, seed, slot, aid });
        self.finish((trial, experiment, purpose), measured(Some(value)));
    }

    fn stopped(&mut self) -> StopReason {
        match self.step() {
            Step::Stop(reason) => reason,
            other => panic!("{other:?}"),
        }
    }
}
