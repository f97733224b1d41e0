//! The trials of an audit: turns until nothing is open, then the stack against the head.

use std::collections::BTreeSet;

use overnight_engine::clock::Stopwatch;
use overnight_engine::rehearse::Bench;
use overnight_model::claim::audit::{Audit, Turn, Verdict, Who};
use overnight_model::claim::{Claim, Decision, Draw, draw};
use overnight_model::proposal::Contents;
use overnight_model::{Seed, Study};

use super::plan::Plan;
use super::report::{Report, StackEnd};
use super::screen;
use crate::commands::interrupt::Interrupt;
use crate::commands::trials::{self, Broken, FAILURES, Screen, Trouble};

/// The part of a budget that commits may use; the rest is for the stack.
const FOR_COMMITS: f64 = 0.8;
/// A stack that is worse by at most this part of the whole gain, if at all, is good enough to stop measuring it.
const SMALL_PART: f64 = 0.1;
/// Odds that make it worth going on.
const LOOKS_BETTER: f64 = 4.0;

/// Why it does not go on.
pub(super) enum Halt {
    /// The head itself gives no number.
    Broken(Broken),
    Interrupted,
    Error(crate::error::CliError),
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Halt {
        match trouble {
            Trouble::Interrupted => Halt::Interrupted,
            Trouble::Error(error) => Halt::Error(error),
        }
    }
}

pub(super) struct Judge<'a> {
    pub(super) plan: &'a Plan,
    pub(super) head: Contents,
    pub(super) start: Contents,
    pub(super) study: Study,
    pub(super) bench: Bench,
    pub(super) interrupt: Interrupt,
    pub(super) screen: &'a Screen,
    pub(super) since: Stopwatch,
}

impl Judge<'_> {
    /// Runs turns until nothing is open, or the time is up.
    pub(super) fn commits(&mut self, report: &mut Report) -> Result<(), Halt> {
        let (mut rounds, mut said) = (0, BTreeSet::new());
        while let Some(turn) = report.audit.next_turn() {
            if self.is_over(report, FOR_COMMITS) {
                report.out_of_time = true;
                break;
            }
            let was_open = open(&report.audit, self.plan);
            self.turn(&turn, report)?;
            let is_open = open(&report.audit, self.plan);
            let settled = was_open.into_iter().filter(|piece| !is_open.contains(piece));
            let lines = settled.map(|piece| screen::settled_line(report, self.plan, piece));
            // What was given up may be taken up again when others make it easier, and be given up again.
            let lines: Vec<String> =
                lines.filter(|(what, _)| said.insert(what.clone())).map(|(_, line)| line).collect();
            self.screen.lines(&lines);
            let round = is_open.iter().filter_map(|piece| report.audit.standing(*piece)).map(|known| known.pairs).min();
            if let Some(round) = round.filter(|round| *round > rounds) {
                rounds = round;
                self.screen.lines(&[screen::round_line(round, is_open.len(), self.plan.pieces.len())]);
            }
        }
        Ok(())
    }

    /// Holds a stack against the head.
    pub(super) fn stack(&mut self, surface: &Contents, report: &mut Report) -> Result<StackEnd, Halt> {
        self.screen.lines(&["now the smallest stack against B".to_owned()]);
        let mut claim = Claim::new(report.goal, report.margin, report.most);
        for number in 0.. {
            if self.is_over(report, 1.0) {
                report.out_of_time = true;
                break;
            }
            // Other draws than those of the turns.
            let Draw { seed, b_first } = draw(!report.seed, number);
            let (head, stack) = ("B".to_owned(), "the stack".to_owned());
            let order = if b_first { [true, false] } else { [false, true] };
            let (mut a, mut b) = (None, None);
            for is_stack in order {
                let (contents, label) = if is_stack { (surface, &stack) } else { (&self.head.clone(), &head) };
                let value = self.measure(contents, label, seed, report)?;
                match (is_stack, value) {
                    (true, Ok(value)) => b = Some(value),
                    (true, Err(broken)) => return Ok(StackEnd::Broken(broken.what)),
                    (false, Ok(value)) => a = Some(value),
                    (false, Err(broken)) => return Err(Halt::Broken(broken)),
                }
            }
            if let (Some(a), Some(b)) = (a, b) {
                claim.add(a, b);
            }
            if claim.decision().is_some() || is_good_enough(&claim, &report.audit) {
                break;
            }
        }
        Ok(match claim.standing() {
            Some(known) => StackEnd::Measured(known),
            None => StackEnd::NotMeasured,
        })
    }

    fn is_over(&self, report: &Report, part: f64) -> bool {
        report.budget.is_some_and(|budget| self.since.elapsed().as_secs_f64() * 1000.0 >= budget.0 as f64 * part)
    }

    fn turn(&mut self, turn: &Turn, report: &mut Report) -> Result<(), Halt> {
        let mut values = Vec::new();
        for who in &turn.order {
            let (contents, label) = match who {
                Who::Head => (self.head.clone(), "B".to_owned()),
                Who::Start => (self.start.clone(), "A".to_owned()),
                Who::Without(piece) => {
                    let piece = &self.plan.pieces[*piece];
                    (piece.without.clone(), format!("without {}", screen::named(self.plan, piece)))
                }
            };
            match self.measure(&contents, &label, turn.seed, report)? {
                Ok(value) => values.push((*who, value)),
                Err(broken) if *who == Who::Head => return Err(Halt::Broken(broken)),
                Err(broken) => {
                    self.screen.lines(&[format!("  {label}: it {} each time it was tried", broken.what)]);
                    report.audit.does_not_run(*who);
                }
            }
        }
        report.audit.add(&values);
        Ok(())
    }

    /// The number of a surface. A failure is tried once more; what fails again does not run.
    fn measure(
        &mut self,
        contents: &Contents,
        label: &str,
        seed: Seed,
        report: &mut Report,
    ) -> Result<Result<f64, Broken>, Trouble> {
        let mut failures = 0;
        loop {
            if self.interrupt.is_asked() {
                return Err(Trouble::Interrupted);
            }
            self.screen.live.now(&format!("trial {}: {}", report.trials + 1, crate::ui::printable(label)));
            let done = self.bench.trial(contents, seed).map_err(|error| trials::trouble(&self.interrupt, error))?;
            report.trials += 1;
            match trials::number(&self.study, done) {
                Ok(score) => return Ok(Ok(score.get())),
                Err(broken) => {
                    failures += 1;
                    if failures >= FAILURES {
                        return Ok(Err(broken));
                    }
                }
            }
        }
    }
}

/// The pieces that another pair may tell more of.
fn open(audit: &Audit, plan: &Plan) -> Vec<usize> {
    (0..plan.pieces.len()).filter(|piece| audit.is_open(*piece)).collect()
}

/// Whether more than a small part of the whole gain cannot be lost.
fn is_good_enough(claim: &Claim, audit: &Audit) -> bool {
    let whole = audit.whole().filter(|whole| whole.decision == Some(Decision::Better));
    // One that looks better may be told to be.
    let known = claim.standing().filter(|known| !known.is_deterministic && known.odds < LOOKS_BETTER);
    let low = known.and_then(|known| known.low);
    whole.zip(low).is_some_and(|(whole, low)| low >= -SMALL_PART * whole.difference)
}

/// Whether anything stays that was told to be worth it.
pub(super) fn is_worth_it(verdicts: &[Verdict]) -> bool {
    verdicts.contains(&Verdict::Holds)
}
