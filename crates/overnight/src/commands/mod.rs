//! One file per command.

mod attacks;
pub(crate) mod attempt;
pub(crate) mod audit;
mod awake;
pub(crate) mod bare;
mod calls;
pub(crate) mod champion;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod forget;
pub(crate) mod help;
pub(crate) mod import;
pub(crate) mod init;
mod interrupt;
pub(crate) mod letters;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod manual;
pub(crate) mod mcp;
mod notices;
pub(crate) mod origin;
pub(crate) mod pause;
pub(crate) mod rebase;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod say;
mod scratch;
mod session;
pub(crate) mod show;
mod sink;
pub(crate) mod standing;
pub(crate) mod status;
mod trials;
pub(crate) mod verify;

use overnight_engine::ledger::Reader;
use overnight_engine::load::{Site, SiteError, locate};
use overnight_model::event::{Imported, StopReason};
use overnight_model::study::Summary;

use crate::args::Place;
use crate::error::{CliError, Outcome};
use crate::ui;

/// The study a command means, and its ledger where it has one.
fn look(place: &Place) -> Outcome<(Site, Option<Reader>)> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let reader = Reader::find(&site.state())?;
    Ok((site, reader))
}

/// Every study of the repository.
fn every_study(place: &Place) -> Outcome<Vec<Site>> {
    if place.study.is_some() {
        return Err(CliError::usage("--all means every study, --study one of them").hint("leave out one of the two"));
    }
    let names = match locate(&place.dir, None) {
        Ok(site) => return Ok(vec![site]),
        Err(SiteError::Several { names }) => names,
        Err(error) => return Err(error.into()),
    };
    Ok(names.iter().map(|name| locate(&place.dir, Some(name))).collect::<Result<_, _>>()?)
}

/// The ledger of a study that has to have been run.
fn ledger(place: &Place) -> Outcome<(Site, Reader)> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let reader = ledger_of(&site)?;
    Ok((site, reader))
}

pub(crate) fn ledger_of(site: &Site) -> Outcome<Reader> {
    let not_yet = || {
        let message = format!("the study `{}` has not been run yet", site.study);
        CliError::usage(message).hint("begin with `overnight run`")
    };
    Reader::find(&site.state())?.ok_or_else(not_yet)
}

/// The histories that a study took in from other tools. Where a summary says that there are none, nothing is read.
fn imports(reader: &Reader, summary: Option<&Summary>) -> Outcome<Vec<Imported>> {
    if summary.is_some_and(|summary| summary.imported == 0) {
        return Ok(Vec::new());
    }
    Ok(reader.imports()?.into_iter().map(|(_, imported)| imported).collect())
}

/// What a command needs so that it means this study: nothing, where no other could be meant.
fn study_flag(site: &Site) -> String {
    match locate(&site.dir, None) {
        Ok(found) if found.study == site.study => String::new(),
        _ => format!(" --study {}", site.study),
    }
}

/// Says what a baseline that failed may be missing.
fn say_hint(reason: &StopReason, state: &std::path::Path) {
    if let StopReason::BaselineFailed { .. } = reason
        && let Some(hint) = show::baseline_hint(state)
    {
        ui::say(&format!("note: {hint}"));
    }
}
