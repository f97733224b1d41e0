//! What became of a proposal, and waiting for it.

use std::sync::Arc;
use std::time::Duration;

use overnight_engine::deliver::{self, Came};
use overnight_engine::ledger::Reader;
use overnight_model::study::Summary;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde_json::json;

use super::{Desk, answer};
use crate::commands::{letters, standing};
use crate::error::{CliError, Outcome};

/// How soon to look again.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verdict {
    pub(super) ticket: String,
    #[serde(default)]
    pub(super) wait: bool,
}

/// What is known of a proposal at one moment.
struct Now {
    answer: CallToolResult,
    is_settled: bool,
    is_paused: bool,
    /// In a few words, for whoever waits.
    stage: String,
}

/// Tells what became of a proposal, at once or when it is judged. A client that no longer wants to know loses nothing.
pub(super) async fn verdict(
    desk: &Arc<Desk>,
    asked: Verdict,
    context: &RequestContext<RoleServer>,
) -> Outcome<CallToolResult> {
    let token = context.meta.get_progress_token();
    let (mut told, mut count) = (String::new(), 0.0);
    let mut is_seen_to = false;
    loop {
        let (at, ticket) = (desk.clone(), asked.ticket.clone());
        let now = super::server::blocking(move || look(&at, &ticket)).await?;
        if now.is_settled {
            return Ok(now.answer);
        }
        // Whoever asks wants it judged, also where the run that had it is gone.
        if !std::mem::replace(&mut is_seen_to, true) {
            desk.hand.see_to(&asked.ticket);
        }
        // A client that waits cannot resume what it waits for.
        if !asked.wait || now.is_paused {
            return Ok(now.answer);
        }
        if let Some(token) = token.as_ref().filter(|_| told != now.stage) {
            count += 1.0;
            let progress = ProgressNotificationParam::new(token.clone(), count).with_message(now.stage.clone());
            // Who does not listen any more is told when it asks.
            let _ = context.peer.notify_progress(progress).await;
            told.clone_from(&now.stage);
        }
        tokio::select! {
            () = context.ct.cancelled() => return Ok(now.answer),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

fn look(desk: &Desk, ticket: &str) -> Outcome<Now> {
    let site = &desk.site;
    let came = deliver::came(site, ticket)?;
    let failure = desk.hand.failure(ticket);
    let reader = Reader::find(&site.state())?;
    let summary = reader.as_ref().map(|reader| reader.summary()).transpose()?.flatten();
    let holder = standing::holder(site);
    let (experiment, row) = match &came {
        Came::Became(id) => (Some(id.0), letters::judged(site, *id)?),
        _ => (None, None),
    };
    if let Some(row) = &row {
        let verdict = row.verdict.map_or("", |verdict| verdict.name());
        let head = format!("experiment {}: {verdict}", row.experiment);
        let is_scored = reader.as_ref().map(answer::is_scored).transpose()?.unwrap_or(false);
        return Ok(Now::settled(answer::object(&head, answer::experiment(&site.study, row, is_scored))));
    }
    let stage = match (&came, failure) {
        (Came::Returned(why), _) => return Ok(Now::settled(returned(why))),
        (Came::Became(id), Some(why)) => {
            desk.hand.forget(ticket);
            return Ok(Now::settled(stuck(*id, &why)));
        }
        (_, Some(why)) => return Ok(Now::settled(returned(&why))),
        (Came::Unknown, None) => {
            let error = CliError::usage("there is no proposal with this ticket");
            return Ok(Now::settled(answer::refused(&error)));
        }
        (Came::Became(id), None) => {
            running(summary.as_ref(), *id).unwrap_or_else(|| format!("experiment {id} is open"))
        }
        (Came::Waits, None) => "it waits to be taken up".to_owned(),
    };
    let paused = deliver::is_paused(site, summary.as_ref())?;
    let stage = match (paused, holder.is_some()) {
        (true, _) => format!("{stage}; the study is paused, and nothing new begins before `resume`"),
        (false, true) => stage,
        (false, false) => format!("{stage}; nobody runs the study at this moment"),
    };
    let value =
        json!({ "ticket": ticket, "experiment": experiment, "verdict": null, "paused": paused, "state": stage });
    let text = format!("not judged yet: {stage}. Ask again with `verdict`, ticket {ticket}");
    let mut answer = answer::plain(text);
    answer.structured_content = Some(value);
    Ok(Now { answer, is_settled: false, is_paused: paused, stage })
}

impl Now {
    fn settled(answer: CallToolResult) -> Now {
        Now { answer, is_settled: true, is_paused: false, stage: String::new() }
    }
}

fn running(summary: Option<&Summary>, id: overnight_model::ExperimentId) -> Option<String> {
    let running = summary?.running.iter().find(|running| running.experiment == id)?;
    Some(format!("experiment {id}: trial {} is running", running.trial))
}

fn stuck(id: overnight_model::ExperimentId, why: &str) -> CallToolResult {
    let why = overnight_model::brief::untrusted::visible(why);
    let text = format!("experiment {id} has no verdict yet, and the run that had it failed; ask again to go on: {why}");
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn returned(why: &str) -> CallToolResult {
    let why = overnight_model::brief::untrusted::visible(why);
    CallToolResult::error(vec![ContentBlock::text(format!("it did not become an experiment: {why}"))])
}
