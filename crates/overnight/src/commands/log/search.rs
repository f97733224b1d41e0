//! `overnight log --search`: what was ever tried, by its words.

use overnight_engine::ledger::{Reader, searches_for};
use overnight_engine::load::locate;

use super::PAGE;
use crate::args::{Log, Place};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::{costs, json, term};

pub(super) fn search(place: &Place, args: &Log, words: &str) -> Outcome<Exit> {
    if searches_for(words).is_none() {
        return Err(CliError::usage("there is no word to search for").hint("overnight log --search \"learning rate\""));
    }
    let sites =
        if args.all { crate::commands::every_study(place)? } else { vec![locate(&place.dir, place.study.as_deref())?] };
    let several = sites.len() > 1;
    let mut count = 0;
    for site in &sites {
        let Some(reader) = Reader::find(&site.state())? else { continue };
        let mut rows = reader.search(words)?;
        let found = rows.len();
        count += found;
        let shown = args.lines.unwrap_or(if args.json { found } else { PAGE });
        let rows = rows.split_off(found.saturating_sub(shown));
        if args.json {
            if !rows.iter().all(|row| ui::data(&json::line(&json::ExperimentJson::new(&site.study, row)))) {
                break;
            }
            continue;
        }
        if several && found > 0 {
            ui::data(&format!("study {}", site.study));
        }
        let summary = reader.summary()?;
        let is_priced = summary.as_ref().is_some_and(costs::has_any);
        let header = if is_priced { term::priced_header } else { term::header_line };
        let line = if is_priced { term::priced_line } else { term::row_line };
        let mut segment = None;
        for row in &rows {
            if segment.replace(row.segment) != Some(row.segment) {
                let metric = summary.as_ref().map_or("metric", |summary| summary.measured_in(row.segment).0);
                ui::data(&header(metric));
            }
            ui::data(&line(row));
        }
        if rows.len() < found {
            ui::say(&format!("the last {} of {found}; `-n {found}` shows all", rows.len()));
        }
    }
    if count == 0 && !args.json {
        let everywhere =
            if args.all || several { "" } else { "; --all looks into the other studies of the repository" };
        ui::say(&format!("nothing that was tried has all of these words{everywhere}"));
    }
    Ok(Exit::Done)
}
