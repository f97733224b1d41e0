//! `overnight import`: the history that another tool kept, taken in as what it is: its claims.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use overnight_engine::history::{self, ImportError, Taken};
use overnight_engine::load::locate;
use overnight_engine::lock::Holder;
use overnight_model::history::Format;
use overnight_model::units::short_number;

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::term;

/// A few million rows; what is larger is hardly a history of experiments.
const LARGEST: u64 = 256 << 20;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Import {
    /// A results.tsv, a log.jsonl of pi-autoresearch, CSV or JSONL
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Its format, where it is not what it looks like
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    /// The column or key that holds the metric, where it goes by another name
    #[arg(long, value_name = "COLUMN")]
    metric: Option<String>,
}

/// The names of formats, for this command and `export`.
pub(crate) fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::from_name(&name).ok_or("there is no such format"))
}

pub(crate) fn import(place: &Place, args: &Import) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let bytes = read(&args.file)?;
    let shown = ui::printable(&args.file.display().to_string());
    let source = args.file.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    let format = match args.format.or_else(|| Format::guess(&source, &bytes)) {
        Some(format) => format,
        None => {
            let message = format!("{shown} looks like none of the formats that can be imported");
            return Err(CliError::usage(message).hint("say which it is: --format results-tsv, pi, csv or jsonl"));
        }
    };
    ui::say(&format!("reading {shown} as {}", format.name()));
    let me = Holder { pid: std::process::id(), what: "overnight import".to_owned(), dir: site.dir.clone() };
    if args.metric.is_some() && format == Format::Pi {
        return Err(CliError::usage(
            "--metric is for files with columns: pi has one metric, and names it in its headers",
        ));
    }
    let file = history::File { source: &source, bytes: &bytes, format, column: args.metric.as_deref() };
    match history::import(&site, &me, &file).map_err(|error| told(error, &shown))? {
        history::Import::Known { source, at } => {
            let (source, at) = (ui::printable(&source), term::local_time(at));
            ui::say(&format!("the same file was imported on {at}, as {source}: nothing was done"));
        }
        history::Import::Taken(taken) => report(&ui::printable(&source), &taken),
    }
    Ok(Exit::Done)
}

fn report(source: &str, Taken { tally, rows, metric, cut }: &Taken) {
    let counts = format!("{} kept, {} crashed, {} without a number", tally.kept, tally.crashed, tally.unknown);
    match *rows == tally.rows {
        true => ui::say(&format!("imported   {} from {source}: {counts}", term::rows(*rows))),
        false => {
            let (new, known) = (term::rows(*rows), tally.rows - rows);
            ui::say(&format!("imported   {new} more from {source}, {known} were imported before; in all {counts}"));
        }
    }
    let theirs = ui::printable(tally.metric.as_deref().unwrap_or(&metric.name));
    if let Some(best) = tally.best {
        let last =
            if tally.segments > 1 { format!(" in the last of {} segments", tally.segments) } else { String::new() };
        let best = short_number(best.get());
        ui::say(&format!("claimed    {theirs} {best} at best{last}: another tool says so, it was not measured here"));
    }
    if let Some(line) = cut {
        ui::say(&format!("note: line {line} is cut off and was left out"));
    }
    if theirs != metric.name {
        ui::say(&format!("note: its metric is called {theirs}, that of this study {}", metric.name));
    }
    ui::say("next       overnight log --imported");
}

fn read(path: &Path) -> Outcome<Vec<u8>> {
    let failed = |error| CliError::usage(format!("could not read {}", path.display())).cause(&error);
    let mut bytes = Vec::new();
    // What is no regular file has no size to ask for.
    File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(failed)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(CliError::usage(format!("{} is larger than {} MiB", path.display(), LARGEST >> 20))
            .hint("split it; each part needs the header")),
        false => Ok(bytes),
    }
}

fn told(error: ImportError, file: &str) -> CliError {
    match error {
        ImportError::Problem(problem) => {
            let mut told = CliError::usage(format!("{file}, {problem}"));
            if !problem.text.is_empty() {
                told.causes.push(format!("the line is: {}", problem.text));
            }
            told.hint = problem.hint.map(ToOwned::to_owned);
            told
        }
        ImportError::Empty => CliError::usage(format!("{file} holds no experiments")),
        ImportError::Open(error) => error.into(),
        ImportError::Lock(error) => error.into(),
        ImportError::Git(error) => error.into(),
        ImportError::Ledger(error) => error.into(),
    }
}
