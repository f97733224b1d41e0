//! Pairs of trials, one of each side, until the claim is settled.

use overnight_engine::process::Keeper;
use overnight_engine::rehearse::Bench;
use overnight_engine::sandbox::Found;
use overnight_model::claim::{Draw, draw};
use overnight_model::{Score, Seed, State, Study};

use super::holdout::Seal;
use super::report::{End, PairRow, Report};
use super::screen;
use super::sides::{Side, Sides};
use crate::commands::interrupt::Interrupt;
use crate::commands::trials::{self, Broken, FAILURES, Screen, Trouble};
use crate::error::CliError;
use crate::ui;

/// Why it does not go on.
pub(super) enum Halt {
    End(End),
    Interrupted,
    Error(CliError),
}

/// Both sides, ready to run.
pub(super) struct MatchUp {
    a: Runner,
    b: Runner,
    /// A's own; where there is none, A's surface runs on B's.
    bench_of_a: Option<Bench>,
    bench_of_b: Bench,
    pub(super) seal: Seal,
    interrupt: Interrupt,
}

/// What one trial of one side gave, of what was asked for.
#[derive(Default)]
struct Numbers {
    own: Option<Score>,
    held: Option<Score>,
}

struct Runner {
    side: Side,
    /// Says what counts as a number.
    study: Study,
    failures: u32,
    has_run: bool,
}

impl MatchUp {
    pub(super) fn open(
        sides: Sides,
        seal: Seal,
        keeper: Keeper,
        found: &Found,
        interrupt: Interrupt,
        screen: &Screen,
    ) -> Result<MatchUp, Halt> {
        let Sides { a, b, tree_of_a, tree_of_b, .. } = sides;
        let open = |label: &str, tree| {
            let what = format!("the sandbox of {label}");
            trials::open(tree, &keeper, found, &interrupt, screen, &what)
        };
        let bench_of_a = tree_of_a.map(|tree| open("A", tree)).transpose()?;
        let bench_of_b = open("B", tree_of_b)?;
        let runner = |side: Side| {
            let study = Study::new(side.spec.clone(), State::default());
            Runner { side, study, failures: 0, has_run: false }
        };
        Ok(MatchUp { a: runner(a), b: runner(b), bench_of_a, bench_of_b, seal, interrupt })
    }

    /// Runs pairs until there is an end.
    pub(super) fn run(&mut self, report: &mut Report, screen: &Screen) -> Halt {
        screen.lines(&[screen::table_head()]);
        for number in 0.. {
            if let Err(halt) = self.pair(number, report, screen) {
                return halt;
            }
            if report.is_settled() {
                return Halt::End(End::Decided);
            }
        }
        Halt::Interrupted
    }

    fn pair(&mut self, number: u32, report: &mut Report, screen: &Screen) -> Result<(), Halt> {
        let Draw { seed, b_first } = draw(report.seed, number);
        let (a, b) = match b_first {
            false => {
                let a = self.measure(false, number, seed, report, screen)?;
                (a, self.measure(true, number, seed, report, screen)?)
            }
            true => {
                let b = self.measure(true, number, seed, report, screen)?;
                (self.measure(false, number, seed, report, screen)?, b)
            }
        };
        if let (Some(a), Some(b)) = (a.own, b.own) {
            report.own.add(PairRow { seed, b_first, a, b });
            screen.lines(&[screen::pair_line(report.goal, &report.own, &(number + 1).to_string())]);
        }
        if let (Some(a), Some(b), Some(held)) = (a.held, b.held, &mut report.held) {
            held.add(PairRow { seed, b_first, a, b });
            screen.lines(&[screen::pair_line(report.goal, held, "held")]);
        }
        Ok(())
    }

    /// The numbers of one side. A failure is tried once more; who fails again does not run.
    fn measure(
        &mut self,
        is_b: bool,
        number: u32,
        seed: Seed,
        report: &mut Report,
        screen: &Screen,
    ) -> Result<Numbers, Halt> {
        loop {
            let failed = match self.trial(is_b, number, seed, report, screen)? {
                Ok(numbers) => return Ok(numbers),
                Err(failed) => failed,
            };
            let runner = if is_b { &mut self.b } else { &mut self.a };
            runner.failures += 1;
            if runner.failures < FAILURES {
                screen.lines(&[format!("      {} {}; it is tried once more", runner.side.label, failed.what)]);
                continue;
            }
            // B is worse only than something that runs.
            if is_b && !self.a.has_run {
                self.measure(false, number, seed, report, screen)?;
            }
            return Err(Halt::End(if is_b { End::BrokenB(failed) } else { End::BrokenA(failed) }));
        }
    }

    fn trial(
        &mut self,
        is_b: bool,
        number: u32,
        seed: Seed,
        report: &mut Report,
        screen: &Screen,
    ) -> Result<Result<Numbers, Broken>, Halt> {
        if self.interrupt.is_asked() {
            return Err(Halt::Interrupted);
        }
        let runner = if is_b { &mut self.b } else { &mut self.a };
        let bench = match (is_b, &mut self.bench_of_a) {
            (false, Some(bench)) => bench,
            _ => &mut self.bench_of_b,
        };
        let trouble = |error| trials::trouble(&self.interrupt, error);
        let doing = format!("pair {}: {} ({})", number + 1, runner.side.label, ui::printable(&runner.side.name));
        screen.live.now(&doing);
        let is_held_open = report.held.as_ref().is_some_and(|held| !held.is_settled());
        let mut numbers = Numbers::default();
        // What a holdout reads is what a trial of just now left.
        if !report.own.is_settled() || runner.side.spec.evaluate.score.is_some() {
            let done = bench.trial(&runner.side.surface, seed).map_err(trouble)?;
            match trials::number(&runner.study, done) {
                Ok(score) => numbers.own = Some(score).filter(|_| !report.own.is_settled()),
                Err(broken) => return Ok(Err(broken)),
            }
        }
        if is_held_open {
            self.seal.open(report).map_err(Halt::Error)?;
            screen.live.now(&format!("{doing} on the holdout"));
            let done = bench.holdout(&runner.side.surface, seed).map_err(trouble)?;
            match done.map(|done| trials::number(&runner.study, done)) {
                Some(Ok(score)) => numbers.held = Some(score),
                Some(Err(broken)) => {
                    let what = broken.what.replacen("gave no number", "gave no number on the holdout", 1);
                    return Ok(Err(Broken { what, ..broken }));
                }
                None => {}
            }
        }
        runner.has_run = true;
        Ok(Ok(numbers))
    }
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Halt {
        match trouble {
            Trouble::Interrupted => Halt::Interrupted,
            Trouble::Error(error) => Halt::Error(error),
        }
    }
}
