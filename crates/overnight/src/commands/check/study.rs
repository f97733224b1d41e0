//! The sequence of a check: cheap looks first, then trials, each finding shown as soon as it is known.

use overnight_engine::clock::Stopwatch;
use overnight_engine::dispatch::Fault;
use overnight_engine::holdout::{Openings, openings};
use overnight_engine::ledger::Reader;
use overnight_engine::load::locate;
use overnight_engine::process::Keeper;
use overnight_engine::rehearse::{Bench, RehearseError, Rehearsed, Subject};
use overnight_engine::sandbox::{Found, SetUpError};
use overnight_model::event::SegmentFacts;
use overnight_model::proposal::Contents;
use overnight_model::spec::{Check as GuardCheck, Spec, Tier};
use overnight_model::{Millis, Seed};

use super::report::{Finding, Level, Report, TrialRow};
use super::screen::Screen;
use super::{agent, before, cost, end, holdout, notify, nulls, repeats, seeds, trials, words};
use crate::args::{Check, Place};
use crate::commands::interrupt::Interrupt;
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, Live};
use crate::views::term;

/// Why a check does not go on.
pub(super) enum Halt {
    /// What was found leaves nothing more to measure.
    Enough,
    Interrupted,
    Error(CliError),
}

pub(super) type Step = Result<(), Halt>;

/// A check under way.
pub(super) struct Sequence {
    pub(super) report: Report,
    pub(super) screen: Screen,
    pub(super) spec: Spec,
    pub(super) surface: Contents,
    pub(super) found: Found,
    /// How often the tree is measured, where a person said so.
    pub(super) trials: Option<u32>,
    pub(super) sandbox: Option<Tier>,
    /// What the study began with, where it has a measured baseline of its own already.
    pub(super) begun: Option<SegmentFacts>,
    /// Whether a model had a part in what tonight would run.
    pub(super) is_models: bool,
    /// Where the seed is named or fixed, and the line that would set it.
    pub(super) seed: seeds::SeedLook,
    pub(super) bench: Option<Bench>,
    pub(super) holdout: Option<Openings>,
    pub(super) interrupt: Interrupt,
}

pub(super) fn check(place: &Place, args: &Check) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    // The keeper comes first: it is forked before there is any thread.
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    let interrupt = Interrupt::watch(keeper.ender())?;
    let screen = Screen { live: Live::new(true), is_quiet: args.json, is_aside: false };
    screen.line(&format!(
        "overnight check · study {} · the working tree as it is · Ctrl-C keeps what was learned so far",
        site.study
    ));
    let subject = Subject::worktree(&site)?;
    screen.line(&head(&subject.spec, args));
    let state = Reader::find(&site.state())?.map(|reader| reader.state()).transpose()?.unwrap_or_default();
    let is_models = subject.spec.agent.has_model() || state.is_model_written();
    // Nothing is compared with a segment that was never measured: `run` goes on from the tree as it is there.
    let begun = if state.begun() { state.segment } else { None };
    let mut sequence = Sequence {
        trials: args.trials,
        begun,
        is_models,
        holdout: openings(&site),
        ..Sequence::new(&subject, &keeper, screen, args.sandbox, interrupt)
    };
    let halt = sequence.run(&site, subject, keeper).err();
    let Sequence { mut report, screen, bench, begun, .. } = sequence;
    // Nothing of it is there any more when a person reads the last line.
    drop(bench);
    screen.live.end();
    report.complete = halt.is_none();
    report
        .store(&site.state())
        .map_err(|error| CliError::new(Exit::Fault, "could not write check.json").cause(&error))?;
    if args.json {
        ui::data(&report.as_json().to_string());
    }
    let exit = match (&halt, report.worst()) {
        (Some(Halt::Interrupted), _) => Exit::Interrupted,
        (_, Level::Fail) => Exit::Usage,
        (_, Level::Refused) => Exit::Refused,
        _ => Exit::Done,
    };
    match halt {
        Some(Halt::Error(error)) => return Err(error),
        Some(Halt::Interrupted) => ui::say("stopped: what was learned so far is above; the rest is unknown"),
        _ => {
            let study = super::super::study_flag(&site);
            let lines = end::last_lines(&report, begun.is_some(), args.sandbox, &study);
            lines.iter().for_each(|line| screen.line(line));
        }
    }
    Ok(exit)
}

impl Sequence {
    /// The check of a study that has not begun.
    pub(super) fn new(
        subject: &Subject,
        keeper: &Keeper,
        screen: Screen,
        sandbox: Option<Tier>,
        interrupt: Interrupt,
    ) -> Sequence {
        let spec = subject.spec.clone();
        let report = Report {
            study: spec.study.clone(),
            triplet: subject.triplet.clone(),
            metric: spec.metric.name.clone(),
            goal: spec.metric.goal.to_string(),
            assurance: Some(spec.evaluate.assurance().name()),
            ..Report::default()
        };
        Sequence {
            report,
            screen,
            surface: subject.surface.clone(),
            is_models: spec.agent.has_model(),
            spec,
            found: subject.find(keeper, sandbox),
            trials: None,
            sandbox,
            begun: None,
            seed: seeds::SeedLook::default(),
            bench: None,
            holdout: None,
            interrupt,
        }
    }

    pub(super) fn run(&mut self, site: &overnight_engine::load::Site, subject: Subject, keeper: Keeper) -> Step {
        before::tree(self, site, &subject);
        before::machine(self)?;
        before::surface(self, &subject);
        agent::programs(self, site);
        agent::context(self, site, subject.user.workdir());
        notify::told(self, site, &keeper);
        self.go_on()?;
        self.screen.live.now("laying out the sandbox");
        let say = |text: &str| self.screen.live.now(&ui::printable(text));
        let bench = match Bench::open(subject, keeper, &self.found, &say) {
            Ok(bench) => bench,
            Err(RehearseError::SetUp(error @ SetUpError::Prepare { .. })) if !self.interrupt.is_asked() => {
                return Err(self.fail(words::not_prepared(error.into())));
            }
            Err(error) => return Err(self.halt(error)),
        };
        self.interrupt.kills(bench.stopper());
        self.bench = Some(bench);
        trials::smoke(self)?;
        let first = trials::first(self)?;
        trials::guards(self, site)?;
        let measured = trials::repeats(self, first)?;
        nulls::check(self, &measured)?;
        holdout::check(self)?;
        end::night(self, &measured);
        cost::cost(self, site);
        end::trust(self, &measured);
        Ok(())
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.screen.show(&finding);
        self.report.findings.push(finding);
    }

    /// Adds what leaves nothing more to measure.
    pub(super) fn fail(&mut self, finding: Finding) -> Halt {
        self.add(finding);
        Halt::Enough
    }

    /// One trial, while the screen says which.
    pub(super) fn trial(
        &mut self,
        surface: &'static str,
        contents: &Contents,
        seed: Seed,
        doing: &str,
    ) -> Result<Rehearsed, Halt> {
        self.go_on()?;
        self.screen.live.now(&format!("{doing}, at most {}", kill(&self.spec)));
        let bench = self.bench.as_mut().ok_or(Halt::Enough)?;
        let since = Stopwatch::start();
        let done = bench.trial(contents, seed).map_err(|error| self.halt(error))?;
        let measurement = &done.measurement;
        self.report.trials.push(TrialRow {
            surface,
            seed,
            metric: measurement.metric,
            // The engine's own part of it is part of the night, too.
            seconds: since.elapsed().as_secs_f64(),
            ending: measurement.ending.to_string(),
        });
        Ok(done)
    }

    pub(super) fn halt(&self, error: RehearseError) -> Halt {
        // A keeper that was ended for a person's sake is no fault.
        if self.interrupt.is_asked() {
            return Halt::Interrupted;
        }
        match error {
            RehearseError::Interrupted => Halt::Interrupted,
            RehearseError::SetUp(error) => Halt::Error(error.into()),
            RehearseError::Fault(fault) => Halt::Error(fault.into()),
            RehearseError::Inputs(_) => {
                let message = "could not look at an input";
                Halt::Error(CliError::usage(message).cause(&error).hint("see `inputs` in [evaluate]"))
            }
            RehearseError::Lost { .. } => {
                let error = CliError::new(Exit::Fault, error.to_string());
                Halt::Error(error.hint("`overnight check --machine` says what works on this machine"))
            }
        }
    }

    /// Goes on unless a person asked to stop.
    pub(super) fn go_on(&self) -> Step {
        if self.interrupt.is_asked() { Err(Halt::Interrupted) } else { Ok(()) }
    }
}

/// How long one trial may take at most.
pub(super) fn kill(spec: &Spec) -> Millis {
    Millis(spec.evaluate.kill.0 + spec.evaluate.score.as_ref().map_or(0, |score| score.kill.0))
}

/// What is about to be done, and how long that takes.
fn head(spec: &Spec, args: &Check) -> String {
    let metric = &spec.metric;
    let budget = spec.evaluate.budget;
    let guards = spec.guards.iter().filter(|guard| matches!(guard.check, GuardCheck::Run(_))).count() as u64;
    // On what a trial left, the holdout takes a scorer's time.
    let is_run_again = spec.holdout.is_some() && spec.evaluate.score.is_none();
    // How many follows from how long the first one takes: slow ones as long as their budget, quick ones no time.
    let runs = |seconds: f64| {
        let trials = u64::from(args.trials.unwrap_or(repeats::wanted(seconds)));
        trials + guards + u64::from(is_run_again) + if repeats::is_affordable(seconds) { 2 } else { 1 }
    };
    let (slow, quick) = (runs(budget.as_secs()), runs(0.0));
    let count = if slow == quick { format!("{slow} runs") } else { format!("{slow} to {quick} runs") };
    let whole_minutes = |time: Millis| if time.0 > 600_000 { Millis(time.0 / 60_000 * 60_000) } else { time };
    let about = whole_minutes(Millis(budget.0 * slow));
    let most = whole_minutes(Millis(kill(spec).0 * slow));
    format!(
        "{} ({}) · budget {budget} · {} · {count}: {about} by the budget, at most {most}",
        metric.name,
        term::arrow(metric.goal),
        spec.agent.titled(),
    )
}
