//! Pairs of trials, one of each side, until the claim is settled.

use overnight_engine::process::Keeper;
use overnight_engine::rehearse::Bench;
use overnight_engine::sandbox::Found;
use overnight_model::claim::{Draw, draw};
use overnight_model::{Score, Seed, State, Study};

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
    interrupt: Interrupt,
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
        Ok(MatchUp { a: runner(a), b: runner(b), bench_of_a, bench_of_b, interrupt })
    }

    /// Runs pairs until there is an end.
    pub(super) fn run(&mut self, report: &mut Report, screen: &Screen) -> Halt {
        screen.lines(&[screen::table_head()]);
        for number in 0.. {
            if let Err(halt) = self.pair(number, report, screen) {
                return halt;
            }
            if let Some(decision) = report.claim.decision() {
                return Halt::End(End::Decided(decision));
            }
        }
        Halt::Interrupted
    }

    fn pair(&mut self, number: u32, report: &mut Report, screen: &Screen) -> Result<(), Halt> {
        let Draw { seed, b_first } = draw(report.seed, number);
        let (a, b) = match b_first {
            false => {
                let a = self.measure(false, number, seed, screen)?;
                (a, self.measure(true, number, seed, screen)?)
            }
            true => {
                let b = self.measure(true, number, seed, screen)?;
                (self.measure(false, number, seed, screen)?, b)
            }
        };
        report.claim.add(a.get(), b.get());
        report.pairs.push(PairRow { seed, b_first, a, b });
        screen.lines(&[screen::pair_line(report)]);
        Ok(())
    }

    /// The number of one side. A failure is tried once more; who fails again does not run.
    fn measure(&mut self, is_b: bool, number: u32, seed: Seed, screen: &Screen) -> Result<Score, Halt> {
        loop {
            let failed = match self.trial(is_b, number, seed, screen)? {
                Ok(score) => return Ok(score),
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
                self.measure(false, number, seed, screen)?;
            }
            return Err(Halt::End(if is_b { End::BrokenB(failed) } else { End::BrokenA(failed) }));
        }
    }

    fn trial(&mut self, is_b: bool, number: u32, seed: Seed, screen: &Screen) -> Result<Result<Score, Broken>, Halt> {
        if self.interrupt.is_asked() {
            return Err(Halt::Interrupted);
        }
        let runner = if is_b { &mut self.b } else { &mut self.a };
        let bench = match (is_b, &mut self.bench_of_a) {
            (false, Some(bench)) => bench,
            _ => &mut self.bench_of_b,
        };
        screen.live.now(&format!("pair {}: {} ({})", number + 1, runner.side.label, ui::printable(&runner.side.name)));
        let done = bench.trial(&runner.side.surface, seed).map_err(|error| trials::trouble(&self.interrupt, error))?;
        let number = trials::number(&runner.study, done);
        runner.has_run |= number.is_ok();
        Ok(number)
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
