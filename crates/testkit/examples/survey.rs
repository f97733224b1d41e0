//! Lists every failing seed of the simulator, for whoever changes the engine:
//! `cargo run -p overnight-testkit --example survey 0 500`, or `… survey 0 500 night` for nights of small effects, `luck` for those
//! without any, `team` for those of several agents.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use overnight_testkit::sim::{Seen, Setup, Simulation};

fn main() -> ExitCode {
    let seed = |nth: usize| std::env::args().nth(nth).map(|text| text.parse().expect("a seed"));
    let (from, to): (u64, u64) = (seed(1).unwrap_or(0), seed(2).unwrap_or(100));
    let setup = match std::env::args().nth(3).as_deref() {
        Some("night") => Setup::night,
        Some("luck") => Setup::luck,
        Some("team") => Setup::team,
        _ => Setup::draw,
    };
    std::panic::set_hook(Box::new(|_| {}));
    let (mut failed, mut experiments, mut crashes, mut lives) = (0, 0, 0, 0);
    let (mut verdicts, mut seen) = (BTreeMap::<&str, u64>::new(), Seen::default());
    // One seed alone is told in full.
    let simulation = |seed| match to - from {
        1 => Simulation::of(setup(seed)).verbose(),
        _ => Simulation::of(setup(seed)),
    };
    for seed in from..to {
        match catch_unwind(AssertUnwindSafe(|| simulation(seed).run())) {
            Ok(report) => {
                report.log.iter().for_each(|line| eprintln!("{line}"));
                experiments += report.experiments;
                crashes += report.crashes;
                lives += report.lives;
                seen += report.seen;
                report.verdicts.into_iter().for_each(|(verdict, n)| *verdicts.entry(verdict).or_default() += n);
            }
            Err(failure) => {
                let text = failure.downcast_ref::<String>().map(String::as_str);
                let text = text.or(failure.downcast_ref::<&str>().copied()).unwrap_or("?");
                eprintln!("seed {seed}: {}", text.chars().take(1000).collect::<String>());
                failed += 1;
            }
        }
    }
    eprintln!(
        "{failed} of {} failed; {experiments} experiments, {crashes} crashes, {lives} engines, {verdicts:?}\n{seen:?}",
        to - from
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
