//! `overnight forget`: erases what was kept of calls to models, and what experiments left.

use std::io::{self, BufRead};

use overnight_engine::forget::{self, Wish};
use overnight_engine::gateway::traces::Which;
use overnight_engine::lock::Holder;
use overnight_engine::{clock, load};
use overnight_model::{ExperimentId, Timestamp};

use super::standing::{Paper, Standing};
use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

#[derive(Debug, Clone, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["experiments", "traces", "before", "recordings"]))]
pub(crate) struct Forget {
    /// The traces of these experiments
    #[arg(value_name = "N", num_args = 1.., conflicts_with_all = ["traces", "before"])]
    experiments: Vec<u64>,
    /// Their contents as well: the surface, the output and the commits of experiments that were not kept
    #[arg(long, requires = "experiments")]
    contents: bool,
    /// All traces of the study
    #[arg(long, conflicts_with = "before")]
    traces: bool,
    /// The traces from before a day (2026-01-31), or older than a span (30d)
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// What was recorded for replay
    #[arg(long)]
    recordings: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) fn forget(place: &Place, args: &Forget) -> Outcome<Exit> {
    let (site, _) = super::ledger(place)?;
    let wish = wish(&site, args)?;
    let found = forget::count(&site, &wish)?;
    if found.is_nothing() {
        ui::say(&format!("there is nothing to forget: {} are not there", wish.words));
        return Ok(Exit::Done);
    }
    let what = words(&found);
    if !args.yes && !is_wanted(&what)? {
        ui::say("nothing was forgotten");
        return Ok(Exit::Done);
    }
    let me = Holder { pid: std::process::id(), what: "overnight forget".to_owned(), dir: site.dir.clone() };
    let erased = forget::forget(&site, &me, &wish, clock::now())?;
    ui::say(&format!("forgotten  {}: {}", wish.words, words(&erased)));
    if erased.contents > 0 {
        ui::say("its number, its verdict and its one line stay: they are part of the chain");
    }
    if !erased.shared_with.is_empty() {
        let others: Vec<String> = erased.shared_with.iter().map(ToString::to_string).collect();
        let others = others.join(" ");
        ui::say(&format!(
            "note: some of it was proposed by others too and is still there: overnight forget {others} --contents"
        ));
    }
    Ok(Exit::Done)
}

fn wish(site: &load::Site, args: &Forget) -> Outcome<Wish> {
    let mut words = Vec::new();
    let traces = match (&args.before, args.experiments.as_slice()) {
        (Some(before), _) => {
            words.push(format!("traces from before {before}"));
            Some(Which::Before(moment(before)?))
        }
        (None, []) if args.traces => {
            words.push("all traces".to_owned());
            Some(Which::All)
        }
        (None, []) => None,
        (None, ids) => {
            let shown: Vec<String> = ids.iter().map(ToString::to_string).collect();
            words.push(format!(
                "{} of {} {}",
                if args.contents { "traces and contents" } else { "traces" },
                if ids.len() == 1 { "experiment" } else { "experiments" },
                shown.join(", ")
            ));
            Some(Which::Of(ids.iter().copied().map(ExperimentId).collect()))
        }
    };
    let recordings = match args.recordings {
        true => {
            let spec = match Standing::of(site.clone()).map(|standing| standing.paper) {
                Ok(Paper::Sound(spec)) => Some(spec),
                _ => None,
            };
            let tapes = spec.map(|spec| spec.gateway.tapes).unwrap_or_default();
            let Some(folder) = tapes.record.or(tapes.replay) else {
                return Err(CliError::usage("the triplet names no folder of recordings")
                    .hint("[gateway] record = \"recordings\""));
            };
            words.push(format!("recordings in {folder}"));
            Some(site.dir.join(folder))
        }
        false => None,
    };
    let contents = match args.contents {
        true => args.experiments.iter().copied().map(ExperimentId).collect(),
        false => Vec::new(),
    };
    Ok(Wish { traces, contents, recordings, words: words.join(" and ") })
}

/// Midnight of a day here, or so long ago.
fn moment(text: &str) -> Outcome<Timestamp> {
    if let Ok(day) = text.parse::<jiff::civil::Date>() {
        let zone = jiff::tz::TimeZone::system();
        let at =
            day.to_zoned(zone).map_err(|error| CliError::usage(format!("`{text}` is no day here")).cause(&error))?;
        return Ok(Timestamp(at.timestamp().as_millisecond()));
    }
    match load::span(text) {
        Ok(span) => Ok(Timestamp(clock::now().0 - span.0 as i64)),
        Err(_) => Err(CliError::usage(format!("`{}` is neither a day nor a span of time", ui::one_line(text)))
            .hint("write 2026-01-31, or 30d")),
    }
}

fn words(count: &forget::Count) -> String {
    let parts = [
        (count.traces, "trace", "traces"),
        (count.contents, "piece of contents", "pieces of contents"),
        (count.recordings, "recording", "recordings"),
    ];
    let of = |(count, one, many): (u64, &str, &str)| format!("{count} {}", if count == 1 { one } else { many });
    let some: Vec<String> = parts.into_iter().filter(|(count, ..)| *count > 0).map(of).collect();
    some.join(" and ")
}

fn is_wanted(what: &str) -> Outcome<bool> {
    if !ui::can_ask() {
        let message = format!("{what} would be erased for good, and nobody is here to be asked");
        return Err(CliError::new(Exit::Refused, message).hint("add --yes"));
    }
    ui::ask(&format!("erase {what} for good? [y/N] "));
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes"))
}
