//! `overnight log`: the experiments so far.

mod search;

use overnight_engine::history;
use overnight_engine::holdout::openings;
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_model::ExperimentId;
use overnight_model::history::{Entry, Format, Past, Printer};
use overnight_model::study::Row;

use crate::args::{Log, Place};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::{costs, json, night, team, term};

/// A page that fits most terminals.
const PAGE: usize = 20;

pub(crate) fn log(place: &Place, args: &Log) -> Outcome<Exit> {
    if args.lines == Some(0) {
        return Err(CliError::usage("-n 0 would show nothing").hint("leave it out for the last 20, or take --all"));
    }
    if let Some(words) = &args.search {
        return search::search(place, args, words);
    }
    if args.all && args.lines.is_some() {
        return Err(CliError::usage("-n cannot be used with --all, which shows every experiment")
            .hint("leave out one of the two"));
    }
    let (site, reader) = super::look(place)?;
    let Some(reader) = reader else {
        if !args.json {
            ui::say("no experiments yet: begin with `overnight run`");
        }
        return Ok(Exit::Done);
    };
    let limit = match (args.lines, args.all || args.json) {
        (Some(lines), _) => Some(lines),
        (None, true) => None,
        (None, false) => Some(PAGE),
    };
    if args.imported {
        return imported(&site, &reader, args, limit);
    }
    if args.json {
        let mut open = true;
        let mut print = |row| open = open && ui::data(&json::line(&json::ExperimentJson::new(&site.study, &row)));
        match limit {
            Some(limit) => reader.last_rows(limit)?.into_iter().for_each(print),
            None => reader.each_row(ExperimentId(0), &mut print)?,
        }
        return Ok(Exit::Done);
    }
    let mut summary = reader.summary()?;
    summary.iter_mut().for_each(|summary| super::standing::add_probe(&site, summary));
    let imports = super::imports(&reader, summary.as_ref())?;
    let imported = term::imported_line(&imports).map(|line| format!("{line} · overnight log --imported shows them"));
    if summary.is_none() {
        ui::say("no experiments yet: begin with `overnight run`");
        imported.iter().for_each(|line| ui::say(line));
        return Ok(Exit::Done);
    }
    let (mut shown, mut segment) = (0, None);
    let is_team = summary.as_ref().is_some_and(|summary| summary.team.len() > 1);
    let is_priced = summary.as_ref().is_some_and(costs::has_any);
    let header = if is_priced { term::priced_header } else { term::header_line };
    let line = if is_priced { team::priced_line } else { team::row_line };
    let mut print = |row: Row| {
        shown += 1;
        // Nothing is compared across segments, and their numbers may be of another kind.
        if segment.replace(row.segment) != Some(row.segment) {
            if let Some(summary) = summary.as_ref().filter(|summary| !summary.past.is_empty()) {
                ui::data(&format!("segment {} of {}", row.segment, summary.segment));
            }
            let metric = summary.as_ref().map_or("metric", |summary| summary.measured_in(row.segment).0);
            ui::data(&header(metric));
        }
        ui::data(&line(&row, is_team));
    };
    match limit {
        Some(limit) => reader.last_rows(limit)?.into_iter().for_each(&mut print),
        None => reader.each_row(ExperimentId(0), &mut print)?,
    }
    if shown == 0 {
        ui::data(&term::header_line(summary.as_ref().map_or("metric", |summary| &summary.metric)));
    }
    imported.iter().for_each(|line| ui::say(line));
    if let Some(summary) = &summary {
        ui::say(&format!("{} · {}", term::counts(summary), night::trust_of(summary, openings(&site))));
        costs::lines(summary).iter().for_each(|line| ui::say(line));
        let spec = is_team.then(|| super::standing::spec(&site, summary)).flatten();
        if let Some(spec) = spec {
            team::lines(summary, Some(&spec.agent), None).iter().for_each(|line| ui::say(line));
        }
        if shown == PAGE && limit == Some(PAGE) {
            ui::say("`overnight log --all` shows all of them, `overnight show N` one");
        }
    }
    Ok(Exit::Done)
}

/// What other tools recorded: claims, marked as such, and never among the experiments.
fn imported(site: &Site, reader: &Reader, args: &Log, limit: Option<usize>) -> Outcome<Exit> {
    let metric = history::metric(site, Some(reader))?;
    let imports = reader.imports()?;
    if imports.is_empty() && !args.json {
        ui::say("nothing was imported: `overnight import FILE` takes in what another tool recorded");
    }
    let limit = limit.unwrap_or(usize::MAX);
    for (_, imported) in imports {
        let mut left_out = imported.rows.saturating_sub(limit as u64);
        let source = ui::printable(&imported.source);
        if !args.json {
            ui::data(&format!("imported from {source} ({}, not measured here)", term::rows(imported.rows)));
        }
        // What its numbers are called may change from one segment to the next.
        let mut heading = Some(imported.metric.clone().unwrap_or_else(|| metric.name.clone()));
        let mut printer = Printer::new(Format::Jsonl, &site.study, &metric.name, metric.goal);
        history::each_entry(reader, &imported, |entry| {
            let past = match entry {
                Entry::Row(past) => past,
                Entry::Segment(new) => return heading = new.metric.or(heading.take()),
            };
            if left_out > 0 {
                left_out -= 1;
                return;
            }
            if let Some(name) = heading.take().filter(|_| !args.json) {
                ui::data(&term::header_line(&ui::printable(&name)));
            }
            let text = match args.json {
                true => printer.row(&Past { imported: Some(imported.source.clone()), ..past }).unwrap_or_default(),
                false => term::past_line(&past),
            };
            ui::data(text.trim_end_matches('\n'));
        })?;
        if !args.json && imported.rows > limit as u64 {
            ui::say(&format!("the last {limit} of them; `overnight log --imported --all` shows all"));
        }
    }
    Ok(Exit::Done)
}
