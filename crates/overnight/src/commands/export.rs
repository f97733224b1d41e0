//! `overnight export`: the history in a format that other tools read.

mod atif;

use std::path::PathBuf;

use overnight_engine::history;
use overnight_engine::ledger::{LedgerError, Reader};
use overnight_model::history::{Entry, Format, Heading, Past, Printer};
use overnight_model::study::Row;
use overnight_model::{ExperimentId, Score, What};

use super::import::formats;
use super::sink::Sink;
use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Export {
    /// The format; without it that of the file's name, else jsonl
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Include what was imported, before the study's own
    #[arg(long)]
    imported: bool,
    /// Write what agents did instead: every attempt as a trajectory in the format ATIF, one JSON object on a line
    #[arg(long, conflicts_with_all = ["format", "imported"])]
    atif: bool,
    /// Replace FILE where it exists
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) fn export(place: &Place, args: &Export) -> Outcome<Exit> {
    let (site, reader) = super::ledger(place)?;
    if args.atif {
        let mut sink = Sink::open(args.output.as_deref(), args.force)?;
        let written = atif::write(&site, &reader, &mut sink)?;
        sink.end()?;
        if let Some(path) = &args.output {
            let path = ui::printable(&path.display().to_string());
            ui::say(&format!("wrote {written} attempts to {path} as {}", overnight_model::trace::ATIF_VERSION));
        }
        return Ok(Exit::Done);
    }
    let format = format(args)?;
    let metric = history::metric(&site, Some(&reader))?;
    let mut printer = Printer::new(format, &site.study, &metric.name, metric.goal);
    if args.imported {
        printer = printer.marked();
    }
    let mut writing = Writing { printer, sink: Sink::open(args.output.as_deref(), args.force)?, left_out: 0, rows: 0 };
    writing.put(&writing.printer.header());
    if args.imported {
        let mut before = String::new();
        for (_, imported) in reader.imports()? {
            // The rows of two files are not to be compared. A file that has grown comes in parts.
            let mut begins = std::mem::replace(&mut before, imported.source.clone()) != imported.source;
            history::each_entry(&reader, &imported, |entry| {
                let (heading, past) = match entry {
                    Entry::Segment(heading) => (Some(heading), None),
                    Entry::Row(past) => (begins.then(Heading::default), Some(past)),
                };
                begins = false;
                if let Some(mut heading) = heading {
                    // Who reads it wants to know which way is better.
                    heading.goal.get_or_insert(metric.goal);
                    let text = writing.printer.heading(&heading);
                    writing.put(&text);
                }
                if let Some(past) = past {
                    writing.row(&Past { imported: Some(imported.source.clone()), ..past });
                }
            })?;
        }
    }
    let summary = reader.summary()?;
    let measured_in =
        |segment| summary.as_ref().map_or((metric.name.as_str(), metric.goal), |summary| summary.measured_in(segment));
    let first = measured_in(1);
    writing.printer.measures(first.0, first.1);
    let own = writing.printer.own_heading();
    writing.put(&own);
    let mut trouble: Option<LedgerError> = None;
    let mut others = 0_u64;
    reader.each_row(ExperimentId(0), |row| match past(&reader, &row, format) {
        Ok(past) => {
            let (name, goal) = measured_in(row.segment);
            others += u64::from(name != metric.name);
            writing.printer.measures(name, goal);
            writing.row(&past);
        }
        Err(error) => trouble = trouble.take().or(Some(error)),
    })?;
    if others > 0 && format == Format::ResultsTsv {
        ui::say(&format!(
            "note: {others} rows are of another metric than {}, which one column cannot say: use pi, csv or jsonl",
            metric.name
        ));
    }
    if let Some(error) = trouble {
        return Err(error.into());
    }
    writing.end(args, format)
}

/// A printer and where its lines go.
struct Writing<'a> {
    printer: Printer<'a>,
    sink: Sink,
    left_out: u64,
    rows: u64,
}

impl Writing<'_> {
    fn row(&mut self, past: &Past) {
        match self.printer.row(past) {
            Some(text) => {
                self.rows += 1;
                self.put(&text);
            }
            None => self.left_out += 1,
        }
    }

    fn put(&mut self, text: &str) {
        self.sink.put(text);
    }

    fn end(self, args: &Export, format: Format) -> Outcome<Exit> {
        let Writing { sink, left_out, rows, .. } = self;
        sink.end()?;
        if left_out > 0 {
            let verb = if left_out == 1 { "row is" } else { "rows are" };
            ui::say(&format!(
                "note: {left_out} {verb} left out for want of a verdict, which {} demands",
                format.name()
            ));
        }
        if args.imported && format == Format::ResultsTsv {
            ui::say("note: results-tsv cannot tell what was imported from what was measured here");
        }
        if let Some(path) = &args.output {
            let path = ui::printable(&path.display().to_string());
            ui::say(&format!("wrote {} to {path} as {}", crate::views::term::rows(rows), format.name()));
        }
        Ok(Exit::Done)
    }
}

fn format(args: &Export) -> Outcome<Format> {
    match (args.format, &args.output) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(Format::Jsonl),
        (None, Some(path)) => Format::of_file_name(&path.to_string_lossy()).ok_or_else(|| {
            let message = format!("the name {} does not say which format is meant", path.display());
            CliError::usage(message).hint("add --format results-tsv, pi, csv or jsonl")
        }),
    }
}

/// An experiment as it is told elsewhere. How much memory it took is in its trials, and only one format asks for it.
fn past(reader: &Reader, row: &Row, format: Format) -> Result<Past, LedgerError> {
    let past = Past::from(row);
    if format != Format::ResultsTsv {
        return Ok(past);
    }
    let peak = reader.events_of(row.experiment)?.into_iter().filter_map(|stored| match stored.event.what {
        What::TrialFinished { measurement, .. } => Some(
            // What the program says of its accelerator is what autoresearch means.
            measurement
                .numbers
                .get("peak_vram_mb")
                .map_or(measurement.usage.peak_bytes as f64 / GIB, |mb| mb.get() / 1024.0),
        ),
        _ => None,
    });
    let peak = peak.fold(0.0, f64::max);
    // One decimal, as everybody writes it. What is smaller is not nothing: 0.0 is for what is not known.
    let memory_gb = Score::new((peak * 10.0).round().max(1.0) / 10.0).filter(|_| peak > 0.0);
    Ok(Past { memory_gb, ..past })
}

const GIB: f64 = (1u64 << 30) as f64;
