//! `overnight compare A B`: whether B is really better than A. Needs no agent, no key and no study that has begun.

mod holdout;
mod match_up;
mod report;
mod screen;
mod sides;

use overnight_engine::dispatch::Fault;
use overnight_engine::load::locate;
use overnight_engine::process::Keeper;
use overnight_engine::rehearse::fresh_seed;
use overnight_model::claim::PAIRS;
use overnight_model::spec::Tier;

use crate::args::{Place, margin, tier};
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, Live};

use super::interrupt::Interrupt;
use super::trials::{self, Screen};
use match_up::{Halt, MatchUp};
use report::{End, Report};
use sides::Sides;

const CODES: &str = "\
A and B are commits as git names them (a branch, a tag, a hash, HEAD~2), `champion` or `baseline` of the
study, or `.` for the working tree. The triplet is that of the working tree.

With --holdout the exit code is that of the holdout; both results are shown.

Exit codes: 0 B is better, 10 they are equal or cannot be told apart, 11 B is worse or does not run,
1 A does not run, 3 no opening of the holdout is left, 130 interrupted.";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = CODES)]
pub(crate) struct Compare {
    /// What B is held against
    #[arg(value_name = "A")]
    a: String,
    /// What may be better
    #[arg(value_name = "B")]
    b: String,
    /// Run at most N pairs
    #[arg(long, value_name = "N", default_value_t = PAIRS, value_parser = clap::value_parser!(u32).range(4..=10_000))]
    pairs: u32,
    /// Take differences up to X for none, and stop when larger ones are ruled out [default: metric.min_gain]
    #[arg(long, value_name = "X", value_parser = margin)]
    margin: Option<f64>,
    /// Put A's surface on B's tree, so that nothing else differs
    #[arg(long)]
    surface_only: bool,
    /// Score both on the holdout as well; one of its counted openings, however many pairs it takes
    #[arg(long)]
    holdout: bool,
    /// Draw seeds and the order within pairs from S, to do it again as it was
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run at this tier (standard, landlock or none) instead of the strongest
    #[arg(long, value_name = "TIER", value_parser = tier)]
    sandbox: Option<Tier>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn compare(place: &Place, args: &Compare) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    // The keeper comes first: it is forked before there is any thread.
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    let interrupt = Interrupt::watch(keeper.ender())?;
    let screen = Screen { live: Live::new(!args.json), is_quiet: args.json };
    let seed = args.seed.map_or_else(fresh_seed, Ok)?;
    let sides = Sides::find(&site, args)?;
    let (seal, openings) = holdout::Seal::find(&site, &sides, args.holdout)?;
    let found = trials::machine(&sides.tree_of_b, &keeper, args.sandbox)?;
    let mut report = Report::new(&sides, args, seed, found.tier, openings);
    screen.lines(&screen::head(&report, &sides));
    let (halt, opened) = match MatchUp::open(sides, seal, keeper, &found, interrupt, &screen) {
        Ok(mut match_up) => {
            let halt = match_up.run(&mut report, &screen);
            (halt, match_up.seal.opened())
        }
        Err(halt) => (halt, None),
    };
    screen.live.end();
    let end = match halt {
        Halt::End(end) => end,
        Halt::Interrupted => End::Interrupted,
        Halt::Error(error) => return Err(error),
    };
    if args.json {
        ui::data(&report.as_json(&end).to_string());
    }
    screen.lines(&screen::result(&report, &end));
    if let Some(opened) = opened {
        opened.close(&report.holdout_json(&end))?;
    }
    Ok(report.exit(&end))
}
