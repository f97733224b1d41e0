//! `brief DIR`: how long the brief of the study in DIR takes, in milliseconds: the first one, then the median of later ones,
//! as JSON and as text.

use std::error::Error;
use std::path::Path;

use overnight_engine::brief::{Memory, Question, RECENT, Source};
use overnight_engine::clock::Stopwatch;
use overnight_engine::ledger::Ledger;
use overnight_engine::load::locate;
use overnight_engine::open::spec_at;
use overnight_engine::plans;
use overnight_engine::workspace::{UserRepo, oid};
use overnight_model::ExperimentId;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Enough for a median that a busy machine does not move.
const RUNS: u64 = 21;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["brief", dir] => brief(dir),
        _ => Err("usage: brief DIR".into()),
    }
}

fn brief(dir: &str) -> Outcome<()> {
    let site = locate(Path::new(dir), None)?;
    let user = UserRepo::discover(&site.dir)?;
    let (ledger, state) = Ledger::open(&site.state())?;
    let facts = state.segment.as_ref().ok_or("the study has not begun")?;
    let spec = spec_at(&site, &user, &std::fs::read_to_string(&site.triplet)?, oid(&facts.baseline)?)?;
    let (reader, mut memory) = (ledger.reader(), Memory::default());
    let mut times = Vec::new();
    let mut sizes = (0, 0);
    for run in 0..=RUNS {
        let watch = Stopwatch::start();
        let champion = plans::contents(reader, &state.champion().ok_or("no champion")?.surface)?;
        let recent = reader.last_rows(RECENT)?;
        let source = Source { spec: &spec, state: &state, reader: Some(reader) };
        let experiment = ExperimentId(state.next_experiment().0 + run);
        let brief = memory.brief(source, Question { experiment, champion: &champion, tuning: None, recent })?;
        sizes = (brief.text().len(), brief.failures.len() + brief.kept.len());
        times.push(watch.elapsed().as_secs_f64() * 1000.0);
    }
    let first = times.remove(0);
    times.sort_by(f64::total_cmp);
    report(&format!("{first:.2} {:.2} {} {} {}", times[times.len() / 2], state.next_experiment(), sizes.0, sizes.1));
    Ok(())
}

#[expect(clippy::disallowed_macros, reason = "a benchmark's own tool, whose whole purpose is this line")]
fn report(line: &str) {
    println!("{line}");
}
