//! `overnight log`: the experiments so far.

use overnight_model::ExperimentId;

use crate::args::{Log, Place};
use crate::error::{Exit, Outcome};
use crate::ui;
use crate::views::{json, term};

/// A page that fits most terminals.
const PAGE: usize = 20;

pub(crate) fn log(place: &Place, args: &Log) -> Outcome<Exit> {
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
    if args.json {
        let mut open = true;
        let mut print = |row| open = open && ui::data(&json::line(&json::ExperimentJson::new(&site.study, &row)));
        match limit {
            Some(limit) => reader.last_rows(limit)?.into_iter().for_each(print),
            None => reader.each_row(ExperimentId(0), &mut print)?,
        }
        return Ok(Exit::Done);
    }
    let summary = reader.summary()?;
    let metric = summary.as_ref().map_or("metric", |summary| summary.metric.as_str());
    ui::data(&term::header_line(metric));
    let mut shown = 0;
    let mut print = |row| {
        shown += 1;
        ui::data(&term::row_line(&row));
    };
    match limit {
        Some(limit) => reader.last_rows(limit)?.into_iter().for_each(&mut print),
        None => reader.each_row(ExperimentId(0), &mut print)?,
    }
    if let Some(summary) = summary {
        ui::say(&format!(
            "{} · {}",
            term::counts(&summary),
            term::trust(&summary.assurance, &summary.sandbox, summary.noise.trials)
        ));
        if shown == PAGE && limit == Some(PAGE) {
            ui::say("`overnight log --all` shows all of them, `overnight show N` one");
        }
    }
    Ok(Exit::Done)
}
