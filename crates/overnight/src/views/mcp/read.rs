//! What can be read: the same facts as `status`, `log`, `show` and `check --brief` have.

use overnight_engine::ledger::{Reader, searches_for};
use overnight_engine::load::Site;
use overnight_model::brief::untrusted;
use overnight_model::study::Row;
use overnight_model::{ExperimentId, Verdict};
use rmcp::model::CallToolResult;
use serde::Deserialize;

use super::answer;
use crate::commands::champion::Base;
use crate::commands::check::brief::brief_of;
use crate::commands::show::{self, which};
use crate::commands::{ledger_of, status};
use crate::error::{CliError, Outcome};

/// What is shown of one output, from its end: where a traceback is.
const OUTPUT: usize = 32 * 1024;
/// What is shown of a diff or of a file.
const TEXT: usize = 256 * 1024;
const ROWS: usize = 20;
const MOST_ROWS: usize = 200;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Log {
    last: Option<usize>,
    verdict: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    words: String,
    last: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct One {
    experiment: Which,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Surface {
    experiment: Option<Which>,
}

/// Models write numbers as numbers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Which {
    Number(u64),
    Name(String),
}

impl Which {
    fn find(&self, reader: &Reader) -> Outcome<ExperimentId> {
        match self {
            Which::Number(number) => Ok(ExperimentId(*number)),
            Which::Name(name) => which(reader, name.trim()),
        }
    }
}

pub(super) fn brief(site: &Site) -> Outcome<String> {
    Ok(brief_of(site)?.0.text())
}

pub(super) fn status(site: &Site) -> Outcome<CallToolResult> {
    let text = status::object(site, Reader::find(&site.state())?.as_ref())?;
    let mut answer = answer::plain(text.clone());
    answer.structured_content = serde_json::from_str(&text).ok();
    Ok(answer)
}

pub(super) fn log(site: &Site, args: &Log) -> Outcome<CallToolResult> {
    let verdict = args.verdict.as_deref().map(known_verdict).transpose()?;
    let last = args.last.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    let Some(reader) = Reader::find(&site.state())? else { return Ok(answer::plain("no experiments yet")) };
    let rows = match verdict {
        None => reader.last_rows(last)?,
        Some(verdict) => {
            let mut rows = Vec::new();
            reader.each_row(ExperimentId(0), |row| rows.extend((row.verdict == Some(verdict)).then_some(row)))?;
            rows.split_off(rows.len().saturating_sub(last))
        }
    };
    Ok(listed(site, &rows, rows.len(), answer::is_scored(&reader)?))
}

pub(super) fn search(site: &Site, args: &Search) -> Outcome<CallToolResult> {
    if searches_for(&args.words).is_none() {
        return Err(CliError::usage("there is no word to search for"));
    }
    let Some(reader) = Reader::find(&site.state())? else { return Ok(answer::plain("no experiments yet")) };
    let mut rows = reader.search(&args.words)?;
    let found = rows.len();
    let rows = rows.split_off(found.saturating_sub(args.last.unwrap_or(ROWS).clamp(1, MOST_ROWS)));
    Ok(listed(site, &rows, found, answer::is_scored(&reader)?))
}

pub(super) fn show(site: &Site, args: &One) -> Outcome<CallToolResult> {
    let reader = ledger_of(site)?;
    let id = args.experiment.find(&reader)?;
    let mut value = show::object(site, &reader, id)?;
    answer::hide_scorer(&reader, &mut value)?;
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    Ok(answer::fenced(&format!("experiment {id}"), &[(String::new(), cut(&text))]))
}

pub(super) fn diff(site: &Site, args: &One) -> Outcome<CallToolResult> {
    let reader = ledger_of(site)?;
    let id = args.experiment.find(&reader)?;
    show::row_of(&reader, id)?;
    let diff = crate::commands::origin::diff(&reader, &reader.events_of(id)?)?;
    Ok(match diff.is_empty() {
        true => answer::plain(format!("experiment {id} changed nothing")),
        false => answer::fenced(&format!("what experiment {id} changed"), &[(String::new(), cut(&diff))]),
    })
}

pub(super) fn output(site: &Site, args: &One) -> Outcome<CallToolResult> {
    let reader = ledger_of(site)?;
    let id = args.experiment.find(&reader)?;
    let mut printed = show::printed(&reader, id)?;
    // What a scorer says may quote the answers: it is for people.
    printed.retain(|(title, _)| !title.starts_with(show::SCORER));
    if printed.is_empty() {
        return Ok(answer::plain(format!("nothing was kept of what experiment {id} printed")));
    }
    let each = OUTPUT / printed.len();
    let parts: Vec<_> =
        printed.into_iter().map(|(title, text)| (format!("{title}:"), untrusted::tail(&text, each))).collect();
    Ok(answer::fenced(&format!("the end of what experiment {id} printed"), &parts))
}

/// Whom proposals are made from, where anything was measured.
pub(super) fn champion(site: &Site) -> Outcome<Option<ExperimentId>> {
    Ok(Base::champion(site)?.of.map(|(id, _)| id))
}

/// The answer, and whose surface it was.
pub(super) fn surface(site: &Site, args: &Surface) -> Outcome<(CallToolResult, Option<ExperimentId>)> {
    let base = match &args.experiment {
        None => Base::champion(site)?,
        Some(which) => Base::experiment(site, which.find(&ledger_of(site)?)?)?,
    };
    let of = base.of.map(|(id, _)| id);
    let head = match of {
        Some(id) => format!("the surface of experiment {id}"),
        None => "the surface as it is in the last commit; nothing was measured yet".to_owned(),
    };
    let part = |(path, bytes): (String, Vec<u8>)| (format!("file `{path}`"), cut(&String::from_utf8_lossy(&bytes)));
    let parts: Vec<_> = base.contents.0.into_iter().map(part).collect();
    Ok((answer::fenced(&head, &parts), of))
}

fn listed(site: &Site, rows: &[Row], found: usize, is_scored: bool) -> CallToolResult {
    if rows.is_empty() {
        return answer::plain("there are none");
    }
    let lines: Vec<String> =
        rows.iter().map(|row| answer::experiment(&site.study, row, is_scored).to_string()).collect();
    let head = format!("{} of {found}, the latest last, one JSON object per line", rows.len());
    answer::fenced(&head, &[(String::new(), lines.join("\n"))])
}

fn known_verdict(name: &str) -> Outcome<Verdict> {
    Verdict::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.name()).collect();
        CliError::usage(format!("`{name}` is no verdict")).hint(format!("one of {}", names.join(", ")))
    })
}

/// The beginning of a text that is too long, and a word about that.
fn cut(text: &str) -> String {
    match untrusted::beginning(text, TEXT) {
        all if all.len() == text.len() => text.to_owned(),
        part => format!("{part}\n… ({} bytes more are not shown)", text.len() - part.len()),
    }
}
