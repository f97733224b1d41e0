//! The fields of `log --json` as columns, with a header.

use ::csv::{ByteRecord, ReaderBuilder, WriterBuilder};
use serde_json::Value;

use super::columns::{self, Field};
use super::lines::Line;
use super::past::{Entry, Heading, Past};
use super::{Column, Problem, words};

/// The contract's own names, in its order.
const COLUMNS: [&str; 17] = [
    "experiment",
    "study",
    "segment",
    "parent",
    "commit",
    "agent",
    "description",
    "verdict",
    "reason",
    "metric",
    "gain",
    "gain_low",
    "gain_high",
    "trials",
    "seconds",
    "cost_usd",
    "started_at",
];

const HEADER_HINT: &str =
    "the first line names the columns, with commas between them; --metric COLUMN says which is it";

pub(super) fn read(bytes: &[u8], metric: Column<'_>, each: &mut dyn FnMut(Entry)) -> Result<(), Problem> {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = ByteRecord::new();
    let mut header: Option<(Vec<String>, Vec<Field>)> = None;
    // Every failure of this reader is one of its source, which here is memory.
    while reader.read_byte_record(&mut record).unwrap_or(false) {
        let (number, start) = record.position().map_or((1, 0), |at| (at.line(), at.byte() as usize));
        let is_last = reader.position().byte() as usize >= bytes.len();
        // Empty lines before a record are passed over, but not counted as such.
        let raw = bytes.get(start..).unwrap_or_default();
        let blank = raw.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let number = number + blank.filter(|byte| **byte == b'\n').count() as u64;
        let raw = raw.trim_ascii_start();
        let first = raw.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = Line { number, bytes: first.trim_ascii_end(), ended: !is_last || bytes.ends_with(b"\n") };
        if is_last {
            closed(&line, raw, &record)?;
        }
        let cells: Vec<&str> = record.iter().map(|cell| text(&line, cell)).collect::<Result<_, _>>()?;
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        match &header {
            None => {
                let fields = columns::meanings(cells.iter().copied(), metric);
                let Some(place) = fields.iter().position(|field| *field == Field::Metric) else {
                    return Err(line.problem(metric.missing()).hint(HEADER_HINT));
                };
                if cells[place] != "metric" {
                    let metric = Some(cells[place].trim().to_owned());
                    each(Entry::Segment(Heading { metric, ..Heading::default() }));
                }
                header = Some((cells.into_iter().map(|name| name.trim().to_owned()).collect(), fields));
            }
            Some((names, fields)) => each(Entry::Row(row(&line, &cells, names, fields)?)),
        }
    }
    Ok(())
}

/// A quote that is never closed would swallow everything after it.
fn closed(line: &Line<'_>, raw: &[u8], record: &ByteRecord) -> Result<(), Problem> {
    let is_odd = raw.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
    let is_open = record.iter().any(|cell| cell.contains(&b'\n')) || !line.ended;
    if is_odd && is_open {
        let is_one_line = !raw.contains(&b'\n');
        return Err(line.problem("a quote is opened and never closed").cut(is_one_line));
    }
    Ok(())
}

fn text<'a>(line: &Line<'_>, cell: &'a [u8]) -> Result<&'a str, Problem> {
    Line { bytes: cell, ..*line }
        .text()
        .map_err(|problem| Problem { text: super::lines::excerpt(line.bytes), ..problem })
}

fn row(line: &Line<'_>, cells: &[&str], names: &[String], fields: &[Field]) -> Result<Past, Problem> {
    if cells.len() != fields.len() {
        let what = format!("it has {} columns, the header {}", cells.len(), fields.len());
        return Err(line.problem(what).cut(!line.ended && cells.len() < fields.len()));
    }
    let mut past = Past::default();
    for ((cell, name), field) in cells.iter().zip(names).zip(fields) {
        let filled = columns::fill(&mut past, *field, name, Value::from(*cell));
        filled.map_err(|what| line.problem(what).hint("a number that is not known is an empty cell"))?;
    }
    Ok(past.settled())
}

/// The header of a file of our own; `marked` where it may hold what was imported.
pub(super) fn print_header(marked: bool) -> String {
    let marks: &[&str] = if marked { &["imported"] } else { &[] };
    record(COLUMNS.iter().chain(marks).map(|name| (*name).to_owned()))
}

pub(super) fn print(past: &Past, study: &str, marked: bool) -> String {
    let number = |score: Option<crate::Score>| score.map(|score| score.get().to_string());
    let text = |text: &Option<String>| text.clone();
    let cells = [
        past.number.filter(|_| past.imported.is_none()).map(|number| number.to_string()),
        Some(study.to_owned()),
        Some(past.segment.to_string()),
        text(&past.parent),
        text(&past.commit),
        text(&past.agent),
        Some(past.description.clone()),
        past.verdict.map(|verdict| verdict.name().to_owned()),
        text(&past.reason),
        number(past.metric),
        number(past.gain),
        number(past.gain_low),
        number(past.gain_high),
        past.trials.map(|trials| trials.to_string()),
        number(past.seconds),
        number(past.cost_usd),
        past.at.and_then(words::rfc3339),
    ];
    let marks = marked.then(|| text(&past.imported));
    record(cells.into_iter().chain(marks).map(Option::unwrap_or_default))
}

fn record(cells: impl Iterator<Item = String>) -> String {
    let mut writer = WriterBuilder::new().from_writer(Vec::new());
    // Memory takes whatever is written to it.
    let _ = writer.write_record(cells);
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
