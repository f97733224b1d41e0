//! `overnight status`: where the study stands.

use overnight_engine::clock;
use overnight_engine::deliver::is_paused;
use overnight_engine::holdout::{Openings, openings};
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_engine::lock::Holder;
use overnight_model::spec::AgentSpec;
use overnight_model::study::Summary;

use crate::args::{Place, Status};
use crate::error::{Exit, Outcome};
use crate::ui;
use crate::views::night::{self, Asked};
use crate::views::{costs, json, team, term};

pub(crate) fn status(place: &Place, args: &Status) -> Outcome<Exit> {
    let (site, reader) = super::look(place)?;
    if args.json {
        ui::data(&object(&site, reader.as_ref())?);
        return Ok(Exit::Done);
    }
    let (summary, holder, paused) = now(&site, reader.as_ref())?;
    let spec = summary.as_ref().and_then(|summary| super::standing::spec(&site, summary));
    let (asked, agents) = (spec.as_ref().map(Asked::from).unwrap_or_default(), spec.as_ref().map(|spec| &spec.agent));
    let (state, holdout) = (state(summary.as_ref(), holder.as_ref()), openings(&site));
    let imports =
        reader.as_ref().map(|reader| super::imports(reader, summary.as_ref())).transpose()?.unwrap_or_default();
    let imported = term::imported_line(&imports).map(|line| format!("{line} · not measured here"));
    let mut lines = vec![format!("study      {} · {}", site.study, describe(state, holder.as_ref()))];
    let Some(summary) = summary else {
        let next = if paused { "resume" } else { "run" };
        let next = format!("next       overnight {next}{}", super::study_flag(&site));
        // What a check found to stand in the way is said here as `overnight` alone says it.
        let in_the_way = super::bare::not_ready(place, site)?.filter(|_| !paused);
        let paused = paused.then(|| "paused     nothing new begins before that".to_owned());
        lines = in_the_way.unwrap_or_else(|| lines.into_iter().chain(paused).chain([next]).collect());
        lines.splice(1..1, imported);
        ui::data(&lines.join("\n"));
        return Ok(Exit::Done);
    };
    lines.extend(results(&summary, (asked, holdout, agents), holder.is_some(), &super::study_flag(&site)));
    lines.extend(imported);
    ui::data(&lines.join("\n"));
    Ok(Exit::Done)
}

/// The object of `status --json`.
pub(crate) fn object(site: &Site, reader: Option<&Reader>) -> Outcome<String> {
    let (summary, holder, paused) = now(site, reader)?;
    let spec = summary.as_ref().and_then(|summary| super::standing::spec(site, summary));
    let known =
        (spec.as_ref().map(Asked::from).unwrap_or_default(), openings(site), spec.as_ref().map(|spec| &spec.agent));
    let state = state(summary.as_ref(), holder.as_ref());
    let mut status = json::StatusJson::new(&site.study, state, holder.is_some(), summary.as_ref(), known);
    status.paused = paused;
    Ok(json::line(&status))
}

/// What is recorded of a study, who runs it, and whether it is paused, or will be when its letters were read.
fn now(site: &Site, reader: Option<&Reader>) -> Outcome<(Option<Summary>, Option<Holder>, bool)> {
    let mut summary = reader.map(|reader| reader.summary()).transpose()?.flatten();
    let paused = is_paused(site, summary.as_ref())?;
    summary.iter_mut().for_each(|summary| {
        super::standing::add_probe(site, summary);
        summary.paused = paused;
    });
    Ok((summary, super::standing::holder(site), paused))
}

/// The state of a study in one word of the contract.
pub(super) fn state(summary: Option<&Summary>, holder: Option<&Holder>) -> &'static str {
    match (summary, holder) {
        (Some(summary), Some(_)) if summary.paused => "paused",
        (_, Some(_)) => "running",
        (None, None) => "new",
        (Some(summary), None) if summary.stopped.is_some() => "stopped",
        (Some(_), None) => "interrupted",
    }
}

/// What a study has come to so far.
pub(super) fn results(
    summary: &Summary,
    (asked, holdout, agents): (Asked, Option<Openings>, Option<&AgentSpec>),
    is_running: bool,
    flag: &str,
) -> Vec<String> {
    let mut lines: Vec<String> = term::waiting(summary, flag).into_iter().collect();
    lines.extend(term::standing(summary, asked));
    lines.push(format!("so far     {}", term::counts(summary)));
    lines.extend(team::lines(summary, agents, is_running.then(clock::now)));
    lines.extend(term::flaky(summary));
    lines.extend(costs::lines(summary));
    for running in summary.running.iter().filter(|_| is_running) {
        let since = term::local_time(running.started_at);
        let whose = term::whose(running.experiment);
        lines.push(format!("running    trial {} of {whose} since {since}", running.trial));
    }
    if let Some(reason) = summary.stopped.as_ref().filter(|_| !is_running) {
        lines.push(format!("last run   {}", ui::printable(&term::stop_sentence(reason))));
    }
    if summary.paused && !is_running {
        lines.push(format!("paused     nothing new begins before `overnight resume{flag}`"));
    }
    lines.push(night::trust_of(summary, holdout));
    if summary.champion.is_some() {
        let study = &summary.study;
        lines.push(format!("branch     overnight/{study} · read it with `git log overnight/{study}`"));
    }
    lines
}

pub(super) fn describe(state: &str, holder: Option<&Holder>) -> String {
    match (state, holder) {
        ("paused", Some(holder)) => format!("paused; process {} waits for `overnight resume`", holder.pid),
        (_, Some(holder)) => format!("running as process {}", holder.pid),
        ("new", None) => "not run yet".to_owned(),
        ("interrupted", None) => "the last run was killed; `overnight run` goes on where it was".to_owned(),
        (state, None) => state.to_owned(),
    }
}
