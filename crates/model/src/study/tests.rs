//! One test for each rule of `need` and `step`, driven by events alone.

use std::collections::BTreeMap;

use super::*;
use crate::ending::Ending;
use crate::event::{AttemptFailure, Judged, Loss, Proposed, Purpose, RunFacts, Scope, SegmentFacts, StopReason, What};
use crate::id::{BlobId, CommitId, ExperimentId, Segment, Slot, TrialId};
use crate::measure::{Measurement, Usage};
use crate::metric::MetricError;
use crate::proposal::{SurfaceBlob, content_id};
use crate::spec::{
    AgentKind, AgentSpec, Check, Evaluate, Guard, Limits, Metric, Network, Part, Patience, Pick, SandboxSpec, Surface,
    SurfaceFile, When,
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
        guards: Vec::new(),
        agent: AgentSpec {
            kind: AgentKind::Command("agent".into()),
            timeout: Millis::seconds(60),
            network: Network::Full,
            ahead: 0,
        },
        sandbox: SandboxSpec::default(),
        slots: 1,
        limits: Limits::default(),
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
        for value in scores {
            assert_eq!(driver.trial(value), Purpose::Baseline);
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
        let (version, boot, containment, sandbox) = Default::default();
        let facts = RunFacts { run: self.run, scope, slots, version, pid: 1, boot, containment, sandbox };
        self.happen(What::RunStarted(facts));
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
        let surface = surface(text);
        self.happen(What::Proposed(Proposed {
            experiment,
            agent: "command".into(),
            parent: CommitId("base".into()),
            commit: CommitId(format!("proposal of {text}")),
            commit_time: 0,
            description: text.into(),
            content: content_id(&surface),
            surface,
            edits: Vec::new(),
            took: Millis(0),
            output: None,
        }));
    }

    fn fails(&mut self, failure: AttemptFailure) -> (Verdict, Reason) {
        let experiment = self.ask();
        self.happen(What::AttemptFailed { experiment, failure, output: None });
        self.verdict()
    }

    fn guard(&mut self, code: i32) -> u32 {
        let Step::RunGuard { experiment, guard, .. } = self.step() else { panic!("no guard") };
        let (ending, usage) = (Ending::Exited { code }, Usage::default());
        self.happen(What::GuardFinished { experiment, guard, ending, usage, output: None });
        guard
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
        self.happen(What::BranchAdvanced { experiment, from, to });
    }

    fn stopped(&mut self) -> StopReason {
        match self.step() {
            Step::Stop(reason) => reason,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_baseline_is_measured_three_times_before_anybody_is_asked() {
    let mut driver = Driver::new(spec());
    for _ in 0..3 {
        assert_eq!(driver.trial(1.0), Purpose::Baseline);
    }
    assert_eq!(driver.verdict(), (Verdict::Baseline, Reason::Measured { trials: 3 }));
    driver.advance();
    assert_eq!(driver.ask(), ExperimentId(1));
}

#[test]
fn baseline_trials_run_side_by_side_in_different_slots() {
    let mut driver = Driver::slots(spec(), 4);
    let slots: Vec<Slot> = (0..3)
        .map(|_| match driver.step() {
            Step::StartTrial { slot, .. } => slot,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(slots, [Slot(0), Slot(1), Slot(2)]);
    assert_eq!(driver.next(), None, "three are enough");
}

#[test]
fn every_trial_gets_a_seed_of_its_own() {
    let mut driver = Driver::slots(spec(), 3);
    let mut seeds: Vec<_> = (0..3)
        .map(|_| match driver.step() {
            Step::StartTrial { seed, .. } => seed,
            other => panic!("{other:?}"),
        })
        .collect();
    seeds.sort();
    seeds.dedup();
    assert_eq!(seeds.len(), 3);
}

#[test]
fn a_broken_baseline_ends_the_run_and_is_measured_again_by_the_next() {
    let mut driver = Driver::new(spec());
    let started = driver.start_trial();
    driver.finish(started, measured(None));
    assert!(matches!(driver.stopped(), StopReason::BaselineFailed { verdict: Verdict::InvalidMetric, .. }));
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.trial(1.0), Purpose::Baseline);
}

#[test]
fn an_implausible_baseline_is_measured_again_too() {
    let mut driver = Driver::new(with(|spec| spec.metric.plausible = Some((score(0.5), score(2.0)))));
    driver.trial(9.0);
    assert!(matches!(driver.stopped(), StopReason::BaselineFailed { verdict: Verdict::Suspect, .. }));
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.trial(1.0), Purpose::Baseline);
}

#[test]
fn a_baseline_that_we_lose_three_times_ends_the_run_and_not_the_baseline() {
    let mut driver = Driver::new(spec());
    for _ in 0..3 {
        driver.fault();
    }
    assert_eq!(driver.stopped(), StopReason::EngineErrors { last: "no slot".into() });
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.trial(1.0), Purpose::Baseline);
}

#[test]
fn a_better_one_is_kept_after_the_same_value_twice_where_the_metric_is_deterministic() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.propose("better");
    assert_eq!(driver.trial(0.9), Purpose::Screen);
    assert_eq!(driver.trial(0.9), Purpose::Confirm);
    assert_eq!(driver.verdict().0, Verdict::Kept);
    assert_eq!(driver.next(), Some(Step::AdvanceBranch { experiment }), "nothing comes before the branch");
    driver.advance();
    let champion = driver.study.state().champion().unwrap();
    assert_eq!((champion.id, champion.commit.clone()), (experiment, Some(CommitId("commit of 1".into()))));
}

#[test]
fn a_noisy_gain_is_screened_confirmed_kept_and_measured_again() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    driver.propose("better");
    assert_eq!(driver.trial(0.5), Purpose::Screen);
    assert_eq!(driver.trial(0.6), Purpose::Confirm);
    assert_eq!(driver.trial(0.55), Purpose::Remeasure);
    let Some(Step::Judge(judged)) = driver.next() else { panic!("no verdict") };
    assert!(
        (judged.estimate.unwrap().gain - 0.45).abs() < 1e-9,
        "the runs that chose it say nothing of how good it is"
    );
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    assert_eq!(driver.trial(0.57), Purpose::Remeasure);
    let level = driver.study.state().champion().unwrap().level();
    assert_eq!((level.n(), level.mean().unwrap()), (2, 0.56), "the runs that chose it do not count");
    driver.ask();
}

#[test]
fn the_first_unequal_repeat_makes_a_metric_noisy_and_luck_is_not_kept() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    assert_eq!(driver.study.state().noise(), crate::judge::Noise::Deterministic);
    driver.propose("lucky");
    assert_eq!(driver.trial(0.8), Purpose::Screen);
    assert_eq!(driver.trial(1.1), Purpose::Confirm);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.study.forget_judged();
    assert!(matches!(driver.study.state().noise(), crate::judge::Noise::Noisy { .. }), "and it stays so");
}

#[test]
fn the_noise_is_that_of_the_champions_level_where_repeats_there_tell_it() {
    let mut driver = Driver::calibrated(spec(), [480.0, 500.0, 460.0]);
    driver.propose("ten times faster");
    for value in [50.0, 51.0, 50.5] {
        driver.trial(value);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    driver.trial(49.5);
    let crate::judge::Noise::Noisy { sd, .. } = driver.study.state().noise() else { panic!("noisy") };
    assert!(sd < 1.0, "{sd}");
}

#[test]
fn what_is_open_is_judged_before_a_run_ends_for_want_of_a_gain() {
    let patience = |spec: &mut Spec| spec.limits.night.no_gain_for = Some(Patience::Experiments(1));
    let mut driver = Driver::calibrated(with(patience), [1.0, 1.01, 0.99]);
    driver.start(Driver::LOOP, 2);
    driver.propose("winner");
    let winner = driver.start_trial();
    driver.propose("loser");
    let loser = driver.start_trial();
    driver.finish(loser, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.finish(winner, measured(Some(0.5)));
    assert_eq!(driver.trial(0.5), Purpose::Confirm);
    assert_eq!(driver.trial(0.51), Purpose::Remeasure);
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    driver.trial(0.5);
    driver.ask();
}

#[test]
fn a_guard_that_the_baseline_does_not_pass_ends_the_run() {
    let guard = Guard { check: Check::Run("check".into()), when: When::BeforeKeep };
    let mut driver = Driver::new(with(|spec| spec.guards = vec![guard]));
    for _ in 0..3 {
        driver.trial(1.0);
    }
    driver.guard(1);
    let StopReason::BaselineFailed { verdict, .. } = driver.stopped() else { panic!("goes on") };
    assert_eq!(verdict, Verdict::GuardFailed);
    driver.start(Driver::LOOP, 1);
    driver.guard(0);
    assert_eq!(driver.verdict().0, Verdict::Baseline);
}

#[test]
fn a_guard_is_run_again_by_a_new_run_which_may_have_others() {
    let guard = Guard { check: Check::Run("check".into()), when: When::First };
    let mut driver = Driver::calibrated(with(|spec| spec.guards = vec![guard]), [1.0; 3]);
    driver.propose("new");
    driver.guard(0);
    driver.start_trial();
    driver.start(Driver::LOOP, 1);
    driver.guard(0);
    assert_eq!(driver.trial(2.0), Purpose::Screen);
}

#[test]
fn a_gain_that_is_not_confirmed_is_discarded() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    driver.propose("lucky");
    driver.trial(0.5);
    driver.trial(1.0);
    let (verdict, reason) = driver.verdict();
    assert_eq!(verdict, Verdict::Discarded);
    assert!(matches!(reason, Reason::NotConfirmed { .. }), "{reason:?}");
}

#[test]
fn a_worse_one_is_discarded_after_one_trial_and_forgotten() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    let experiment = driver.propose("worse");
    driver.trial(1.5);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert!(driver.study.state().row(experiment).is_some());
    driver.study.forget_judged();
    assert!(driver.study.state().find(experiment).is_none());
    assert_eq!(driver.study.state().tried(&content_id(&surface("worse"))), Some(experiment));
}

#[test]
fn a_gain_below_min_gain_is_discarded() {
    let mut driver = Driver::calibrated(with(|spec| spec.metric.min_gain = Some(score(0.1))), [1.0; 3]);
    driver.propose("a little better");
    driver.trial(0.95);
    assert!(matches!(driver.verdict(), (Verdict::Discarded, Reason::BelowMinGain { .. })));
}

#[test]
fn a_failed_trial_is_broken_whatever_it_printed() {
    let endings = [
        (Ending::Exited { code: 3 }, Verdict::Crashed),
        (Ending::Signaled { signal: 9 }, Verdict::Crashed),
        (Ending::TimedOut { after: Millis(1) }, Verdict::TimedOut),
        (Ending::Exited { code: 0 }, Verdict::InvalidMetric),
    ];
    for (ending, expected) in endings {
        let mut driver = Driver::calibrated(spec(), [1.0; 3]);
        driver.propose("broken");
        let started = driver.start_trial();
        driver.finish(started, Measurement { ending, ..measured(None) });
        assert_eq!(driver.verdict().0, expected);
    }
}

#[test]
fn a_claim_is_shown_and_never_compared() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("it says that it is wonderful");
    let started = driver.start_trial();
    driver.finish(started, Measurement { claim: Some(score(-100.0)), ..measured(Some(2.0)) });
    assert_eq!(driver.verdict(), (Verdict::Discarded, Reason::NotBetter { gain: -1.0 }));

    driver.propose("it says so and leaves nothing to score");
    let started = driver.start_trial();
    let error = MetricError::Artifacts { what: "artifact `x` is a symbolic link".into() };
    let measurement = Measurement { claim: Some(score(-100.0)), problem: Some(error.clone()), ..measured(None) };
    assert_eq!(measurement.number("loss"), None);
    driver.finish(started, measurement);
    assert_eq!(driver.verdict(), (Verdict::InvalidMetric, Reason::Metric { error }));
}

#[test]
fn an_implausible_number_is_suspect_and_never_kept() {
    let mut driver = Driver::calibrated(with(|spec| spec.metric.plausible = Some((score(0.5), score(2.0)))), [1.0; 3]);
    driver.propose("too good");
    driver.trial(0.0);
    assert!(matches!(driver.verdict(), (Verdict::Suspect, Reason::Implausible { .. })));
}

#[test]
fn a_number_too_large_to_be_squared_is_suspect_and_spoils_nothing() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    for text in ["-1e200", "-1.7e308", "1.7e308"] {
        driver.propose(text);
        driver.trial(text.parse().unwrap());
        assert_eq!(driver.verdict().0, Verdict::Suspect);
    }
    // A liar that waits for its re-measurement.
    driver.propose("patient");
    driver.trial(0.5);
    driver.trial(0.5);
    driver.trial(0.5);
    driver.verdict();
    driver.advance();
    assert_eq!(driver.trial(1e300), Purpose::Remeasure);
    let summary = driver.study.state().summary().unwrap();
    assert!(summary.noise.sd.unwrap() < 1.0);
    assert_eq!(summary.champion.unwrap().metric, Some(0.5));
}

#[test]
fn the_surface_of_the_champion_is_no_change_and_one_tried_before_a_duplicate() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("base");
    assert_eq!(driver.verdict(), (Verdict::NoChange, Reason::SameAsChampion));
    driver.propose("worse");
    driver.trial(2.0);
    driver.verdict();
    driver.propose("worse");
    assert_eq!(driver.verdict(), (Verdict::Duplicate, Reason::SameAs { experiment: 2 }));
}

#[test]
fn contents_that_we_failed_to_measure_may_be_tried_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("unlucky");
    for _ in 0..3 {
        driver.fault();
    }
    assert_eq!(driver.verdict().0, Verdict::EngineError);
    driver.propose("unlucky");
    assert_eq!(driver.trial(0.5), Purpose::Screen);
}

#[test]
fn a_first_guard_runs_before_any_trial_and_its_failure_is_the_verdict() {
    let guard = |when| Guard { check: Check::Run("check".into()), when };
    let spec = || with(|spec| spec.guards = vec![guard(When::First)]);
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("bad");
    assert_eq!(driver.guard(1), 0);
    assert!(matches!(driver.verdict(), (Verdict::GuardFailed, Reason::GuardCommand { .. })));
    driver.propose("good");
    driver.guard(0);
    assert_eq!(driver.trial(0.5), Purpose::Screen);
    driver.trial(0.5);
    assert_eq!(driver.verdict().0, Verdict::Kept);
}

#[test]
fn a_guard_before_keep_runs_only_for_what_would_be_kept() {
    let guard = Guard { check: Check::Run("check".into()), when: When::BeforeKeep };
    let mut driver = Driver::calibrated(with(|spec| spec.guards = vec![guard]), [1.0; 3]);
    driver.propose("worse");
    driver.trial(2.0);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    driver.propose("better");
    driver.trial(0.5);
    driver.trial(0.5);
    driver.guard(1);
    assert_eq!(driver.verdict().0, Verdict::GuardFailed);
}

#[test]
fn a_number_guard_holds_an_absolute_and_a_relative_limit() {
    let check = |max: Option<f64>, regression: Option<f64>| Check::Number {
        metric: "peak_mb".into(),
        max: max.map(score),
        max_regression: regression.map(score),
    };
    let using = |mb: u64| {
        let usage = Usage { peak_bytes: mb * 1_000_000, ..Usage::default() };
        Measurement { usage, ..measured(Some(0.5)) }
    };
    for (check, mb, passes) in [
        (check(Some(100.0), None), 101, false),
        (check(Some(100.0), None), 100, true),
        (check(None, Some(0.5)), 151, false),
        (check(None, Some(0.5)), 150, true),
    ] {
        for when in [When::First, When::BeforeKeep] {
            let guards = vec![Guard { check: check.clone(), when }];
            let mut driver = Driver::new(with(|spec| spec.guards = guards));
            for _ in 0..3 {
                let started = driver.start_trial();
                driver.finish(started, Measurement { metric: Some(score(1.0)), ..using(100) });
            }
            driver.verdict();
            driver.advance();
            driver.propose("new");
            let started = driver.start_trial();
            driver.finish(started, using(mb));
            if passes || when == When::BeforeKeep {
                let started = driver.start_trial();
                driver.finish(started, using(mb));
            }
            let expected = if passes { Verdict::Kept } else { Verdict::GuardFailed };
            assert_eq!(driver.verdict().0, expected, "{check:?} {mb} {when:?}");
        }
    }
}

#[test]
fn a_guard_without_its_number_fails() {
    let check = Check::Number { metric: "accuracy".into(), max: Some(score(1.0)), max_regression: None };
    let with_accuracy =
        |value: f64| Measurement { numbers: [("accuracy".to_owned(), score(0.9))].into(), ..measured(Some(value)) };
    let mut driver = Driver::new(with(|spec| spec.guards = vec![Guard { check, when: When::First }]));
    for _ in 0..3 {
        let started = driver.start_trial();
        driver.finish(started, with_accuracy(1.0));
    }
    driver.verdict();
    driver.advance();
    driver.propose("new");
    driver.trial(0.5);
    assert_eq!(driver.verdict(), (Verdict::GuardFailed, Reason::GuardMissing { metric: "accuracy".into() }));
}

#[test]
fn ten_failed_attempts_in_a_row_end_the_run_and_a_counted_one_starts_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let nothing = || AttemptFailure::Error { what: "exit code 1".into() };
    for _ in 0..9 {
        assert_eq!(driver.fails(nothing()).0, Verdict::AgentError);
    }
    assert_eq!(driver.fails(AttemptFailure::Policy { what: "locked".into() }).0, Verdict::Policy);
    for _ in 0..9 {
        driver.fails(AttemptFailure::NoChange);
    }
    driver.fails(nothing());
    assert_eq!(driver.stopped(), StopReason::FailedAttempts { in_a_row: 10, last: "exit code 1".into() });
}

#[test]
fn an_exhausted_agent_ends_the_run() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.fails(AttemptFailure::Exhausted { what: "nothing left".into() });
    assert_eq!(driver.stopped(), StopReason::NothingToTry { what: "nothing left".into() });
}

#[test]
fn a_run_of_two_experiments_counts_verdicts_and_not_attempts() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Scope::Loop { experiments: Some(2) }, 1);
    driver.propose("a");
    driver.trial(2.0);
    driver.verdict();
    driver.fails(AttemptFailure::NoChange);
    driver.propose("b");
    driver.trial(2.0);
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn limits_on_experiments_end_the_night_and_the_study() {
    let worse = |driver: &mut Driver, text: &str| {
        driver.propose(text);
        driver.trial(2.0);
        driver.verdict();
    };
    let limits = |spec: &mut Spec| {
        spec.limits.night.experiments = Some(1);
        spec.limits.total.experiments = Some(2);
    };
    let mut driver = Driver::calibrated(with(limits), [1.0; 3]);
    worse(&mut driver, "a");
    assert_eq!(driver.stopped(), StopReason::NightExperiments);
    driver.start(Driver::LOOP, 1);
    worse(&mut driver, "b");
    assert_eq!(driver.stopped(), StopReason::NightExperiments);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.stopped(), StopReason::TotalExperiments);
}

#[test]
fn the_wall_of_the_night_lets_what_runs_finish_and_starts_nothing_new() {
    let mut driver = Driver::calibrated(with(|spec| spec.limits.night.wall = Some(Millis::seconds(60))), [1.0; 3]);
    driver.propose("slow");
    let started = driver.start_trial();
    driver.now += 60_000;
    assert_eq!(driver.next(), None);
    driver.finish(started, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.stopped(), StopReason::NightWall);
}

#[test]
fn a_deadline_that_has_passed_is_not_waited_for() {
    let mut driver = Driver::calibrated(with(|spec| spec.limits.night.wall = Some(Millis::seconds(60))), [1.0; 3]);
    let deadline = |driver: &Driver| driver.study.next_deadline(Timestamp(driver.now));
    assert_eq!(deadline(&driver), Some(Timestamp(61_000)));
    driver.now += 60_000;
    assert_eq!(deadline(&driver), None, "a loop that waits for the past burns a processor");
}

#[test]
fn the_wall_of_the_study_counts_earlier_runs() {
    let mut driver = Driver::calibrated(with(|spec| spec.limits.total.wall = Some(Millis::seconds(60))), [1.0; 3]);
    driver.now += 40_000;
    driver.happen(What::RunStopped { reason: StopReason::Interrupted });
    driver.now += 3_600_000;
    driver.start(Driver::LOOP, 1);
    driver.now += 19_000;
    driver.ask();
    driver.now += 1_000;
    driver.happen(What::AttemptLost { experiment: ExperimentId(1) });
    assert_eq!(driver.stopped(), StopReason::TotalWall);
}

#[test]
fn no_gain_for_so_many_experiments_ends_the_run() {
    let patience = |spec: &mut Spec| spec.limits.night.no_gain_for = Some(Patience::Experiments(2));
    let mut driver = Driver::calibrated(with(patience), [1.0; 3]);
    for (text, value) in [("a", 2.0), ("b", 0.5), ("c", 2.0), ("d", 2.0)] {
        driver.propose(text);
        driver.trial(value);
        if value < 1.0 {
            driver.trial(value);
        }
        if driver.verdict().0 == Verdict::Kept {
            driver.advance();
        }
    }
    assert_eq!(driver.stopped(), StopReason::NoGain);
}

#[test]
fn a_target_that_is_reached_ends_the_run() {
    let mut driver = Driver::calibrated(with(|spec| spec.metric.target = Some(score(0.5))), [1.0; 3]);
    driver.propose("there");
    driver.trial(0.4);
    driver.trial(0.4);
    driver.verdict();
    driver.advance();
    assert_eq!(driver.stopped(), StopReason::Target { level: 0.4 });
}

#[test]
fn a_stop_lets_what_runs_finish_and_leaves_open_what_needs_more() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    driver.propose("promising");
    let started = driver.start_trial();
    driver.happen(What::StopRequested { hurry: false });
    assert_eq!(driver.next(), None, "the trial still runs");
    driver.finish(started, measured(Some(0.5)));
    assert_eq!(driver.stopped(), StopReason::Interrupted);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.trial(0.5), Purpose::Confirm, "the first trial still counts");
}

#[test]
fn a_keep_reaches_the_branch_even_when_the_run_is_being_stopped() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.propose("better");
    driver.trial(0.5);
    let started = driver.start_trial();
    driver.happen(What::StopRequested { hurry: false });
    driver.finish(started, measured(Some(0.5)));
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    assert_eq!(driver.stopped(), StopReason::Interrupted);
}

#[test]
fn a_try_judges_one_proposal_and_leaves_others_alone() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let open = driver.ask();
    driver.start(Scope::One, 1);
    assert_eq!(driver.next(), None, "the loop's own experiment is not its business, and it waits for the proposal");
    driver.proposed(ExperimentId(2), "mine");
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.stopped(), StopReason::Done);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.ask(), open);
}

#[test]
fn a_try_that_is_stopped_is_interrupted_and_may_be_tried_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Scope::One, 1);
    driver.proposed(ExperimentId(1), "mine");
    let started = driver.start_trial();
    driver.happen(What::StopRequested { hurry: true });
    driver.lose(started, Loss::Interrupted);
    assert_eq!(driver.verdict().0, Verdict::Interrupted);
    assert_eq!(driver.stopped(), StopReason::Interrupted);
    assert_eq!(driver.study.state().tried(&content_id(&surface("mine"))), None);
}

#[test]
fn a_lost_trial_is_run_again_with_another_seed_and_says_nothing() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.propose("new");
    for _ in 0..5 {
        let started = driver.start_trial();
        driver.lose(started, Loss::Suspended);
    }
    assert_eq!(driver.study.state().find(experiment).unwrap().trials.len(), 0);
    assert_eq!(driver.trial(0.5), Purpose::Screen);
    driver.trial(0.5);
    assert_eq!(driver.verdict().0, Verdict::Kept);
}

#[test]
fn our_own_fault_ends_an_experiment_only_three_times_in_a_row() {
    let guard = Guard { check: Check::Run("check".into()), when: When::First };
    let mut driver = Driver::calibrated(with(|spec| spec.guards = vec![guard]), [1.0, 1.01, 0.99]);
    let experiment = driver.propose("new");
    for _ in 0..2 {
        let Step::RunGuard { guard, .. } = driver.step() else { panic!("no guard") };
        driver.happen(What::GuardLost { experiment, guard, loss: Loss::Fault { what: "no slot".into() } });
    }
    driver.guard(0);
    driver.fault();
    driver.fault();
    driver.trial(0.5);
    driver.fault();
    driver.fault();
    driver.fault();
    assert_eq!(driver.verdict(), (Verdict::EngineError, Reason::Engine { what: "no slot".into() }));
}

#[test]
fn three_engine_errors_in_a_row_end_the_run() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c"] {
        driver.propose(text);
        for _ in 0..3 {
            driver.fault();
        }
        driver.verdict();
    }
    assert_eq!(driver.stopped(), StopReason::EngineErrors { last: "no slot".into() });
}

#[test]
fn a_champion_that_cannot_be_measured_again_does_not_hold_up_the_night() {
    let mut driver = Driver::calibrated(spec(), [1.0, 1.01, 0.99]);
    driver.propose("better");
    driver.trial(0.5);
    driver.trial(0.5);
    driver.trial(0.5);
    driver.verdict();
    driver.advance();
    for _ in 0..3 {
        driver.fault();
    }
    driver.ask();
}

#[test]
fn a_new_run_loses_what_was_in_flight_and_goes_on_with_what_was_open() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    driver.propose("running");
    driver.start_trial();
    let asked = driver.ask();
    driver.start(Driver::LOOP, 2);
    assert!(driver.study.state().summary().unwrap().running.is_empty());
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.ask(), asked, "the same experiment, asked for again");
}

#[test]
fn what_a_killed_run_left_in_flight_is_recorded_as_lost_and_nothing_else() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    assert_eq!(driver.study.state().losses(), Vec::new());
    driver.start(Driver::LOOP, 2);
    driver.propose("running");
    let (trial, experiment, _) = driver.start_trial();
    let asked = driver.ask();
    let losses = driver.study.state().losses();
    let lost = What::TrialLost { trial, experiment, loss: Loss::Interrupted };
    assert_eq!(losses, vec![lost, What::AttemptLost { experiment: asked }]);
    losses.into_iter().for_each(|what| driver.happen(what));
    assert_eq!(driver.study.state().losses(), Vec::new());
}

#[test]
fn a_keep_whose_branch_is_not_recorded_comes_first_in_a_new_run() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let experiment = driver.propose("better");
    driver.trial(0.5);
    driver.trial(0.5);
    driver.verdict();
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.next(), Some(Step::AdvanceBranch { experiment }));
}

#[test]
fn a_slot_holds_one_trial_or_guard_at_a_time() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    driver.propose("a");
    let Step::StartTrial { slot: first, .. } = driver.step() else { panic!("no trial") };
    driver.propose("b");
    let Step::StartTrial { slot: second, .. } = driver.step() else { panic!("no trial") };
    assert_eq!([first, second], [Slot(0), Slot(1)]);
    assert_eq!(driver.next(), None, "both slots are taken");
}

/// A study with these many slots whose agent is asked ahead of time.
fn ahead(ahead: u32, slots: u32) -> Driver {
    let mut driver = Driver::calibrated(with(|spec| spec.agent.ahead = ahead), [1.0; 3]);
    driver.start(Driver::LOOP, slots);
    driver
}

#[test]
fn while_a_trial_runs_the_next_proposal_is_made_and_waits() {
    let mut driver = ahead(1, 1);
    driver.propose("a");
    let running = driver.start_trial();
    let next = driver.propose("b");
    assert_eq!(driver.next(), None, "one is enough");
    driver.finish(running, measured(Some(2.0)));
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert_eq!(driver.start_trial().1, next, "nobody has to think first");
    assert_eq!(driver.ask(), ExperimentId(3));
}

#[test]
fn nobody_is_asked_ahead_while_a_slot_is_free() {
    let mut driver = ahead(3, 2);
    driver.ask();
    driver.ask();
    assert_eq!(driver.next(), None, "two slots, two questions");
    driver.proposed(ExperimentId(1), "a");
    driver.start_trial();
    assert_eq!(driver.next(), None, "the other slot still waits for its own");
    driver.proposed(ExperimentId(2), "b");
    driver.start_trial();
    assert_eq!([driver.ask(), driver.ask(), driver.ask()], [3, 4, 5].map(ExperimentId));
    assert_eq!(driver.next(), None);
}

#[test]
fn without_ahead_an_agent_thinks_only_for_a_free_slot() {
    let mut driver = ahead(0, 1);
    driver.propose("a");
    driver.start_trial();
    assert_eq!(driver.next(), None);
}

#[test]
fn the_tuner_is_not_asked_ahead_of_what_it_could_learn() {
    let tuner = |spec: &mut Spec| (spec.agent.kind, spec.agent.ahead) = (AgentKind::Tuner, 3);
    let mut driver = Driver::calibrated(with(tuner), [1.0; 3]);
    driver.propose("a");
    driver.start_trial();
    assert_eq!(driver.next(), None);
}

#[test]
fn no_more_is_asked_for_ahead_than_may_still_count() {
    for limit in [false, true] {
        let limits = |spec: &mut Spec| {
            spec.agent.ahead = 3;
            spec.limits.night.experiments = limit.then_some(2);
        };
        let mut driver = Driver::calibrated(with(limits), [1.0; 3]);
        driver.start(Scope::Loop { experiments: (!limit).then_some(2) }, 1);
        driver.propose("a");
        let running = driver.start_trial();
        driver.propose("b");
        assert_eq!(driver.next(), None, "the second of two is on its way");
        driver.finish(running, measured(Some(2.0)));
        driver.verdict();
        driver.trial(2.0);
        driver.verdict();
        assert_eq!(driver.stopped(), if limit { StopReason::NightExperiments } else { StopReason::Done });
    }
}

#[test]
fn no_more_is_asked_for_ahead_than_patience_allows() {
    let patience = |spec: &mut Spec| {
        spec.agent.ahead = 3;
        spec.limits.night.no_gain_for = Some(Patience::Experiments(2));
    };
    let mut driver = Driver::calibrated(with(patience), [1.0; 3]);
    driver.propose("a");
    let running = driver.start_trial();
    driver.propose("b");
    assert_eq!(driver.next(), None);
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    driver.trial(2.0);
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::NoGain);
}

#[test]
fn nobody_is_asked_ahead_about_a_champion_that_may_be_replaced() {
    let mut driver = ahead(3, 1);
    driver.propose("better");
    let screen = driver.start_trial();
    let early = driver.ask();
    driver.happen(What::AttemptLost { experiment: early });
    driver.finish(screen, measured(Some(0.5)));
    let confirm = driver.start_trial();
    assert_eq!(driver.next(), None, "the champion may move");
    driver.finish(confirm, measured(Some(0.5)));
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    assert!(matches!(driver.next(), Some(Step::Ask { parent, .. }) if parent == CommitId("commit of 1".into())));
}

#[test]
fn a_proposal_that_waited_is_judged_against_the_champion_of_its_trial() {
    let mut driver = ahead(1, 1);
    driver.propose("better");
    let screen = driver.start_trial();
    let early = driver.propose("not as good");
    driver.finish(screen, measured(Some(0.5)));
    driver.trial(0.5);
    driver.verdict();
    driver.advance();
    let started = driver.start_trial();
    assert_eq!(started.1, early);
    driver.finish(started, measured(Some(0.75)));
    assert_eq!(driver.verdict(), (Verdict::Discarded, Reason::NotBetter { gain: -0.25 }));
}

#[test]
fn a_proposal_that_waits_does_not_keep_a_new_champion_from_being_measured_again() {
    let mut driver = Driver::calibrated(with(|spec| spec.agent.ahead = 1), [1.0, 1.01, 0.99]);
    let better = driver.propose("better");
    let screen = driver.start_trial();
    driver.propose("next");
    driver.finish(screen, measured(Some(0.5)));
    driver.trial(0.5);
    driver.trial(0.5);
    driver.verdict();
    driver.advance();
    let (_, experiment, purpose) = driver.start_trial();
    assert_eq!((experiment, purpose), (better, Purpose::Remeasure));
}

#[test]
fn an_agent_that_fails_ahead_is_asked_again_once_a_slot_is_free() {
    let mut driver = ahead(3, 1);
    driver.propose("a");
    let running = driver.start_trial();
    driver.ask();
    driver.ask();
    driver.ask();
    let experiment = ExperimentId(2);
    driver.happen(What::AttemptFailed { experiment, failure: AttemptFailure::NoChange, output: None });
    driver.verdict();
    assert_eq!(driver.next(), None, "ten in a row would end the run while its trial runs");
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    driver.proposed(ExperimentId(3), "c");
    driver.start_trial();
    assert_eq!(driver.ask(), ExperimentId(5));
}

#[test]
fn what_waited_when_a_run_was_stopped_comes_first_in_the_next_and_no_more_than_that() {
    let mut driver = ahead(1, 1);
    driver.propose("a");
    let running = driver.start_trial();
    let waiting = driver.propose("b");
    driver.happen(What::StopRequested { hurry: false });
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Interrupted);
    assert_eq!(driver.study.state().open().map(|open| open.id).collect::<Vec<_>>(), [waiting]);
    driver.start(Scope::Loop { experiments: Some(1) }, 1);
    let started = driver.start_trial();
    assert_eq!(started.1, waiting);
    assert_eq!(driver.next(), None, "one experiment was wanted, and it runs");
    driver.finish(started, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn a_run_of_one_experiment_begins_one_whatever_waits() {
    let mut driver = ahead(2, 1);
    driver.propose("a");
    driver.start_trial();
    driver.propose("b");
    let asked = driver.ask();
    // Killed: a trial and an attempt are lost, and three experiments are open.
    driver.start(Scope::Loop { experiments: Some(1) }, 1);
    assert_eq!(driver.trial(2.0), Purpose::Screen);
    driver.verdict();
    assert_eq!(driver.stopped(), StopReason::Done);
    assert_eq!(driver.study.state().open().map(|open| open.id).collect::<Vec<_>>(), [ExperimentId(2), asked]);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.start_trial().1, ExperimentId(2));
    assert_eq!(driver.ask(), asked, "the same experiment, asked for again");
}

#[test]
fn a_target_leaves_for_later_what_waits() {
    let target = |spec: &mut Spec| (spec.agent.ahead, spec.metric.target) = (1, Some(score(0.5)));
    let mut driver = Driver::calibrated(with(target), [1.0; 3]);
    driver.propose("there");
    let screen = driver.start_trial();
    driver.propose("too late");
    driver.finish(screen, measured(Some(0.4)));
    driver.trial(0.4);
    driver.verdict();
    driver.advance();
    assert_eq!(driver.stopped(), StopReason::Target { level: 0.4 });
}

#[test]
fn a_wall_waits_for_the_agent_and_leaves_its_proposal_for_the_next_night() {
    let wall = |spec: &mut Spec| {
        spec.agent.ahead = 1;
        spec.limits.night.wall = Some(Millis::seconds(60));
    };
    let mut driver = Driver::calibrated(with(wall), [1.0; 3]);
    driver.propose("a");
    let running = driver.start_trial();
    let thinking = driver.ask();
    driver.now += 60_000;
    driver.finish(running, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.next(), None, "an agent is still at work");
    driver.proposed(thinking, "b");
    assert_eq!(driver.stopped(), StopReason::NightWall);
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.start_trial().1, thinking);
}

fn crashed() -> Measurement {
    Measurement { ending: Ending::Exited { code: 1 }, ..measured(None) }
}

impl Driver {
    /// An experiment whose own run breaks.
    fn breaks(&mut self, text: &str) {
        self.propose(text);
        let started = self.start_trial();
        self.finish(started, crashed());
        assert_eq!(self.verdict().0, Verdict::Crashed);
    }
}

#[test]
fn after_five_broken_experiments_in_a_row_the_champion_is_run_once_more() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d"] {
        driver.breaks(text);
    }
    driver.fails(AttemptFailure::NoChange);
    driver.fails(AttemptFailure::Policy { what: "locked".into() });
    driver.breaks("e");
    let check = driver.start_trial();
    assert_eq!((check.1, check.2), (ExperimentId::BASELINE, Purpose::Check));
    assert_eq!(driver.next(), None, "nothing else until it is known");
    driver.finish(check, measured(Some(7.0)));
    let level = driver.study.state().champion().unwrap().level();
    assert_eq!((level.n(), level.mean()), (3, Some(1.0)), "a machine in doubt does not move a level");
    for text in ["f", "g", "h", "i", "j"] {
        driver.breaks(text);
    }
    assert_eq!(driver.start_trial().2, Purpose::Check, "it counts anew");
}

#[test]
fn a_champion_that_no_longer_runs_ends_the_run_and_is_tried_first_in_the_next() {
    let failed = || StopReason::ChampionFailed {
        verdict: Verdict::Crashed,
        reason: Reason::Ended { ending: Ending::Exited { code: 1 } },
    };
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    let check = driver.start_trial();
    driver.finish(check, crashed());
    assert_eq!(driver.stopped(), failed());
    driver.start(Driver::LOOP, 1);
    let check = driver.start_trial();
    assert_eq!(check.2, Purpose::Check);
    driver.finish(check, crashed());
    assert_eq!(driver.stopped(), failed());
    driver.start(Driver::LOOP, 1);
    let check = driver.start_trial();
    driver.finish(check, measured(Some(1.0)));
    driver.propose("c");
    assert_eq!(driver.trial(2.0), Purpose::Screen, "what broke with the champion is no duplicate");
}

#[test]
fn a_number_between_broken_experiments_starts_the_count_again() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d"] {
        driver.breaks(text);
    }
    driver.propose("worse");
    driver.trial(2.0);
    driver.verdict();
    driver.breaks("e");
    driver.ask();
}

#[test]
fn what_else_runs_may_finish_before_the_champion_is_blamed() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Driver::LOOP, 2);
    let slow = driver.propose("slow");
    let slow = (driver.start_trial(), slow);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    let check = driver.start_trial();
    driver.finish(check, crashed());
    assert_eq!(driver.next(), None, "the slow one still runs");
    driver.finish(slow.0, measured(Some(0.5)));
    assert!(matches!(driver.stopped(), StopReason::ChampionFailed { .. }));
    let open = driver.study.state().find(slow.1).unwrap();
    assert_eq!((open.trials.len(), &open.verdict), (1, &None), "it stays open, and its trial counts");
}

#[test]
fn a_run_that_has_all_it_wanted_does_not_look_back() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    driver.start(Scope::Loop { experiments: Some(5) }, 1);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    assert_eq!(driver.stopped(), StopReason::Done);
}

#[test]
fn a_champion_whose_check_is_lost_again_and_again_does_not_hold_up_the_night() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    for text in ["a", "b", "c", "d", "e"] {
        driver.breaks(text);
    }
    for _ in 0..3 {
        driver.fault();
    }
    driver.ask();
}

#[test]
fn an_offer_waits_for_its_verdicts_and_for_a_champion_that_stays() {
    let mut driver = Driver::new(spec());
    assert!(!driver.study.takes_offer(0), "nothing to compare it with");
    driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert!(driver.study.takes_offer(0) && !driver.study.takes_offer(1));
    driver.propose("better");
    driver.trial(5.0);
    assert!(!driver.study.takes_offer(0), "what is confirmed now may be champion next");
    driver.trial(20.0);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    assert!(driver.study.takes_offer(1) && !driver.study.takes_offer(2));
    driver.happen(What::StopRequested { hurry: false });
    assert!(!driver.study.takes_offer(0));
}

#[test]
fn a_persons_offer_joins_whatever_else_is_open() {
    let mut driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    driver.propose("better");
    driver.trial(5.0);
    driver.happen(What::RunStopped { reason: StopReason::Interrupted });
    driver.start(Scope::One, 1);
    assert!(driver.study.is_for_one() && driver.study.takes_offer(0));
}

#[test]
fn the_gain_over_the_baseline_is_that_of_fresh_trials_on_both_sides() {
    let mut driver = Driver::calibrated(spec(), [10.0, 10.1, 9.9]);
    assert_eq!(driver.study.state().gain_over_baseline(), None);
    driver.propose("better");
    for value in [5.0, 5.2, 6.0] {
        driver.trial(value);
    }
    assert_eq!(driver.verdict().0, Verdict::Kept);
    driver.advance();
    let gain = driver.study.state().gain_over_baseline().unwrap();
    assert!((gain.gain - 4.0).abs() < 1e-9 && gain.low.unwrap() < 4.0, "{gain:?}");
}
