//! Lists every failing seed of the simulator, for whoever changes the engine:
//! `cargo run -p overnight-testkit --example survey 500`.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use overnight_testkit::sim::Simulation;

fn main() -> ExitCode {
    let seeds: u64 = std::env::args().nth(1).map_or(100, |text| text.parse().expect("how many seeds"));
    std::panic::set_hook(Box::new(|_| {}));
    let (mut failed, mut experiments, mut crashes, mut lives) = (0, 0, 0, 0);
    let mut verdicts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..seeds {
        match catch_unwind(AssertUnwindSafe(|| Simulation::new(seed).run())) {
            Ok(report) => {
                experiments += report.experiments;
                crashes += report.crashes;
                lives += report.lives;
                report.verdicts.into_iter().for_each(|(verdict, n)| *verdicts.entry(verdict).or_default() += n);
            }
            Err(failure) => {
                let text = failure.downcast_ref::<String>().map(String::as_str);
                let text = text.or(failure.downcast_ref::<&str>().copied()).unwrap_or("?");
                eprintln!("seed {seed}: {}", text.chars().take(300).collect::<String>());
                failed += 1;
            }
        }
    }
    eprintln!(
        "{failed} of {seeds} failed; {experiments} experiments, {crashes} crashes, {lives} engines, {verdicts:?}"
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
