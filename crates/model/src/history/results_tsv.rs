//! `results.tsv`: a row per experiment, five columns, no quotes.

use serde_json::Value;

use super::columns::{self, Field};
use super::lines::{Line, lines};
use super::past::{Entry, Heading, Past};
use super::{Column, Problem, words};

/// The columns of autoresearch. The second is called as the metric is.
const FIVE: [Field; 5] = [Field::Commit, Field::Metric, Field::MemoryGb, Field::Verdict, Field::Description];
const HEADER_HINT: &str = "the first line names the columns, with tabs between them: commit, the metric, memory_gb, \
                           status, description; --metric COLUMN says which is the metric";

/// Which column means what.
struct Columns<'a> {
    names: Vec<&'a str>,
    fields: Vec<Field>,
}

pub(super) fn read(bytes: &[u8], metric: Column<'_>, each: &mut dyn FnMut(Entry)) -> Result<(), Problem> {
    // Some tools put a few lines of comment before the header.
    let mut lines = lines(bytes).skip_while(|line| line.bytes.starts_with(b"#"));
    let Some(first) = lines.next() else { return Ok(()) };
    let columns = match header(&first, metric)? {
        Some(columns) => columns,
        None => {
            // A file that was begun by hand, without the header.
            let columns = Columns {
                names: vec!["commit", "metric", "memory_gb", "status", "description"],
                fields: FIVE.to_vec(),
            };
            each(Entry::Row(row(&first, &columns)?));
            columns
        }
    };
    let name = columns.fields.iter().position(|field| *field == Field::Metric).map(|index| columns.names[index]);
    if let Some(name) = name.filter(|name| *name != "metric") {
        each(Entry::Segment(Heading { metric: Some(name.trim().to_owned()), ..Heading::default() }));
    }
    for line in lines {
        each(Entry::Row(row(&line, &columns)?));
    }
    Ok(())
}

/// The header's columns; `None` where the first line is a row already.
fn header<'a>(line: &Line<'a>, metric: Column<'_>) -> Result<Option<Columns<'a>>, Problem> {
    let names: Vec<&str> = line.text()?.split('\t').collect();
    let is_usual = matches!(metric, Column::Usual(_));
    if let [commit, _, memory, status, description] = names.as_slice()
        && [*commit, *memory, *status, *description].map(words::plain)
            == ["commit", "memory_gb", "status", "description"]
        && is_usual
    {
        return Ok(Some(Columns { names, fields: FIVE.to_vec() }));
    }
    if let [_, number, _, status, _] = names.as_slice()
        && words::number(number).is_some()
        && words::verdict(status).is_some()
    {
        return Ok(None);
    }
    let mut fields = columns::meanings(names.iter().copied(), metric);
    if !fields.contains(&Field::Metric) {
        // Those who add columns, or call the metric as theirs is called, leave it where autoresearch has it.
        match fields.as_mut_slice() {
            [Field::Commit, second @ Field::Other, rest @ ..] if is_usual && rest.contains(&Field::Verdict) => {
                *second = Field::Metric;
            }
            _ => return Err(line.problem(metric.missing()).hint(HEADER_HINT)),
        }
    }
    Ok(Some(Columns { names, fields }))
}

fn row(line: &Line<'_>, Columns { names, fields }: &Columns<'_>) -> Result<Past, Problem> {
    // Nothing follows a description in the last column: a tab is part of it.
    let ends_in_text = fields.last() == Some(&Field::Description);
    let most = if ends_in_text { fields.len() } else { usize::MAX };
    let cells: Vec<&str> = line.text()?.splitn(most, '\t').collect();
    let least = if ends_in_text && line.ended { fields.len() - 1 } else { fields.len() };
    if cells.len() < least || cells.len() > fields.len() {
        let what = format!("it has {} columns, the header {}", cells.len(), fields.len());
        let cut = !line.ended && cells.len() < least;
        return Err(line.problem(what).hint("columns are separated by one tab each").cut(cut));
    }
    let mut past = Past { segment: 1, ..Past::default() };
    for ((cell, name), field) in cells.iter().zip(names).zip(fields) {
        let filled = columns::fill(&mut past, *field, name.trim(), Value::from(*cell));
        filled
            .map_err(|what| line.problem(what).hint("a status is keep, discard or crash; an unknown number is nan"))?;
    }
    Ok(past.settled())
}

/// The header of a file of our own.
pub(super) fn print_header(metric: &str) -> String {
    format!("commit\t{}\tmemory_gb\tstatus\tdescription\n", words::one_line(metric))
}

/// One row; `None` without a verdict, for which it has no word.
///
/// A crash is written with a metric of zero, as everybody who reads this format expects. Any other row whose number
/// is not known says so: zero would be the best there is wherever less is better.
pub(super) fn print(past: &Past) -> Option<String> {
    let status = words::status(past.verdict?);
    let metric = match past.metric {
        Some(metric) => words::decimal(metric.get(), 6),
        None if status == "crash" => words::decimal(0.0, 6),
        None => "nan".to_owned(),
    };
    let memory = words::decimal(past.memory_gb.map_or(0.0, f64::from), 1);
    let commit = match words::short_commit(past.commit.as_deref()) {
        "" => "-".to_owned(),
        commit => words::one_line(commit),
    };
    Some(format!("{commit}\t{metric}\t{memory}\t{status}\t{}\n", words::one_line(past.told())))
}
