//! `brief DIR`: how long a brief of the study in DIR takes, in milliseconds of the processor, so that a busy machine does not
//! count, with everything that is asked of the ledger.
//!
//! Prints the first, the median of later ones, what it takes beside that to find out what the tuner knows (after every 200th
//! part of the experiments) and the smallest sure gain (once in a run, where the metric is noisy), and the size of the text.

use std::error::Error;
use std::path::Path;

use overnight_engine::brief::{Memory, Question, RECENT, Source};
use overnight_engine::ledger::{Ledger, Reader};
use overnight_engine::load::locate;
use overnight_engine::open::spec_at;
use overnight_engine::source::Tunable;
use overnight_engine::workspace::{UserRepo, oid};
use overnight_engine::{plans, tune};
use overnight_model::forecast::smallest_sure_gain;
use overnight_model::judge::Noise;
use overnight_model::proposal::Contents;
use overnight_model::spec::Spec;
use overnight_model::tuner::report::Report;
use overnight_model::{ExperimentId, State};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Enough for a median that a busy machine does not move.
const RUNS: usize = 21;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["brief", dir] => brief(dir),
        _ => Err("usage: brief DIR".into()),
    }
}

/// A run that asks one question after the other.
struct Asker<'a> {
    reader: &'a Reader,
    state: &'a State,
    spec: &'a Spec,
    briefed: Memory,
    tuned: tune::Memory,
}

fn brief(dir: &str) -> Outcome<()> {
    let site = locate(Path::new(dir), None)?;
    let user = UserRepo::discover(&site.dir)?;
    let (ledger, state) = Ledger::open(&site.state())?;
    let facts = state.segment.as_ref().ok_or("the study has not begun")?;
    let spec = spec_at(&site, &user, &std::fs::read_to_string(&site.triplet)?, oid(&facts.baseline)?)?;
    let mut asker = Asker {
        reader: ledger.reader(),
        state: &state,
        spec: &spec,
        briefed: Memory::default(),
        tuned: tune::Memory::default(),
    };
    let (mut whole, mut tuning, mut size) = (Vec::new(), Vec::new(), 0);
    for _ in 0..=RUNS {
        let watch = processor_time();
        let champion = plans::contents(asker.reader, &state.champion().ok_or("no champion")?.surface)?;
        let report = asker.report(&champion)?;
        tuning.push(processor_time() - watch);
        let watch = processor_time();
        size = asker.text(&champion, report)?.len();
        whole.push(processor_time() - watch);
    }
    let watch = processor_time();
    smallest_sure_gain(Noise::Noisy { sd: 1.0, degrees: 10 }, 0.0, spec.judge).ok_or("no gain is sure")?;
    let sure = processor_time() - watch;
    let first = whole.remove(0);
    tuning.remove(0);
    print(&format!("{first:.2} {:.2} {:.2} {sure:.2} {size}", median(whole), median(tuning)));
    Ok(())
}

impl Asker<'_> {
    fn report(&mut self, champion: &Contents) -> Outcome<Report> {
        let tunable = Tunable::of(&self.spec.surface, champion);
        let (reader, state) = (self.reader, self.state);
        let read = |id: ExperimentId| {
            let surface = state.find(id).map(|found| found.surface.as_slice()).unwrap_or_default();
            plans::contents(reader, surface)
        };
        let told = self.tuned.told(state, &self.spec.surface, &tunable, read)?;
        Ok(Report::of(&tunable.surface(), &told))
    }

    fn text(&mut self, champion: &Contents, report: Report) -> Outcome<String> {
        let recent = self.reader.last_rows(RECENT)?;
        let source = Source { spec: self.spec, state: self.state, reader: Some(self.reader) };
        let experiment = self.state.next_experiment();
        let brief = self.briefed.brief(source, Question { experiment, champion, tuning: Some(report), recent })?;
        Ok(brief.text())
    }
}

fn processor_time() -> f64 {
    let rustix::time::Timespec { tv_sec, tv_nsec } = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    tv_sec as f64 * 1e3 + tv_nsec as f64 / 1e6
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[expect(clippy::disallowed_macros, reason = "a benchmark's own tool, whose whole purpose is this line")]
fn print(line: &str) {
    println!("{line}");
}
