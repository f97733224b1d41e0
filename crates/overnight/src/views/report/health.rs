//! How far the numbers can be trusted: what was found, what is to be done, and what nobody looked at.

use overnight_model::event::StopReason;
use overnight_model::spec::{Assurance, Network, Tier};
use overnight_model::study::{FlakyGuard, SeedUse};
use overnight_model::verdict::rough;

use super::doc::{Block, Line};
use super::words::ours;
use crate::views::board::{Board, Gained, Headline, Surety};
use crate::views::{costs, night, term};

pub(super) fn health(board: &Board) -> Vec<Block> {
    let Some(summary) = &board.summary else { return Vec::new() };
    let health = &board.health;
    let noise = match summary.noise.sd {
        None => "unknown so far".to_owned(),
        Some(0.0) => format!("none seen in {} repeats", summary.noise.trials),
        Some(sd) => format!("sd {} from {} trials", rough(sd), night::count(summary.spent.trials())),
    };
    let drift = match (health.tried_again, summary.noise.sd) {
        (_, Some(0.0)) => "none can show where repeats are equal".to_owned(),
        (0, _) => "no alarm that called for anything to be run again".to_owned(),
        (1, _) => "1 experiment was run again, because the machine had become another one".to_owned(),
        (many, _) => format!("{many} experiments were run again, because the machine had become another one"),
    };
    let taken_back = match health.retracted {
        0 => "nothing".to_owned(),
        1 => "1 keep did not hold".to_owned(),
        many => format!("{many} keeps did not hold"),
    };
    let mut facts: Vec<(&'static str, Line)> =
        vec![("noise", noise.into()), ("drift", drift.into()), ("taken back", taken_back.into())];
    match health.second_looks {
        0 => {}
        1 => facts.push(("second looks", "1 near-miss got more trials on a plateau".into())),
        many => facts.push(("second looks", format!("{many} near-misses got more trials on a plateau").into())),
    }
    let assurance = Assurance::ALL.into_iter().find(|level| level.name() == summary.assurance);
    let meaning = assurance.map_or_else(String::new, |level| format!(": {}", level.meaning().short));
    facts.push(("assurance", format!("{}{meaning}", summary.assurance).into()));
    let tier = Tier::from_name(&summary.sandbox);
    let meaning = tier.map_or_else(String::new, |tier| format!(": {}", tier.meaning().short));
    facts.push(("sandbox", format!("{}{meaning}", summary.sandbox).into()));
    let network = match health.network {
        Network::None => "none for candidates",
        Network::Models => "models alone for candidates, through the gateway",
        Network::Full => "open: candidates can fetch answers and send what they see",
    };
    facts.push(("network", network.into()));
    let lost = match (health.lost, health.faults) {
        (0, 0) => "none".to_owned(),
        (lost, 0) => format!("{lost}, with the engine or a sleep of the machine; they count for nothing"),
        (lost, faults) => format!("{lost}, and {faults} through faults of our own; they count for nothing"),
    };
    facts.push(("lost trials", lost.into()));
    let others: Vec<String> = summary.costs.others.iter().map(costs::other_model).collect();
    if !others.is_empty() {
        facts.push(("models", others.join("; ").into()));
    }
    vec![Block::facts(facts)]
}

/// What nobody looked at: each line is a way in which the headline may still be wrong.
pub(super) fn not_checked(board: &Board) -> Vec<Block> {
    let Some(summary) = &board.summary else { return Vec::new() };
    let mut lines: Vec<Line> = Vec::new();
    let has_gain = matches!(board.headline, Headline::Gained(_));
    match board.setting.holdout {
        None => lines.push(
            Line::from("No holdout: a gain may be fitted to this very evaluation. ")
                .code("[holdout]")
                .then(" keeps data back."),
        ),
        Some(openings) if openings.opened == 0 => lines.push(
            Line::from("The holdout was not opened: ")
                .code(ours(board, "compare baseline champion --holdout"))
                .then(" does."),
        ),
        Some(_) => {}
    }
    match summary.noise.seed {
        SeedUse::Settles => {}
        SeedUse::Ignored => {
            lines.push("Every seed gives the same number: a gain may be one for one fixed seed.".into())
        }
        SeedUse::NotAlone => {
            lines.push("The seed does not settle the number: something else is left to chance.".into())
        }
        SeedUse::Unknown => {
            lines.push(
                Line::from("Whether the seed is read was not probed: ").code(ours(board, "check")).then(" does."),
            );
        }
    }
    if let Headline::Gained(Gained { surety: Surety::Expected, .. }) = board.headline {
        lines.push("The champion was not measured again since it was chosen.".into());
    }
    if summary.assurance == Assurance::Cooperative.name() {
        lines.push(
            Line::from("Candidates print their own number, and could lie: ").code("evaluate.score").then(" ends that."),
        );
    }
    if Tier::from_name(&summary.sandbox).is_none_or(|tier| tier < Tier::Standard) {
        lines.push("What candidates do to this machine is not walled off.".into());
    }
    if !board.health.has_guards {
        lines.push("No guard: nothing but the metric was looked at, neither tests nor memory nor size.".into());
    }
    if has_gain && board.kept.len() > 1 {
        lines.push(
            Line::from("Which keeps carry the gain, and which are chance: ").code("overnight audit").then(" says."),
        );
    }
    lines.push(
        Line::from("The chain of the ledger was not verified for this page: ")
            .code(ours(board, "verify"))
            .then(" does."),
    );
    vec![Block::List(lines)]
}

/// What a person has to do besides looking at suspects.
pub(super) fn to_do(board: &Board) -> Vec<Line> {
    let Some(summary) = &board.summary else { return Vec::new() };
    let mut lines: Vec<Line> = summary.stopped.iter().filter_map(|reason| stopped(board, reason)).collect();
    if summary.stopped.is_none() && !board.setting.is_running {
        lines.push(Line::from("The last run was killed: ").code(ours(board, "run")).then(" goes on where it was."));
    }
    for FlakyGuard { command, failed, runs } in &summary.flaky {
        lines.push(
            Line::from("The guard ")
                .code(command.clone())
                .then(format!(" is flaky: failed {failed} of {runs} runs, then passed.")),
        );
    }
    lines
}

/// Ends that do not mend themselves.
fn stopped(board: &Board, reason: &StopReason) -> Option<Line> {
    let next = match reason {
        StopReason::Interrupted => return None,
        reason if reason.is_planned() => return None,
        StopReason::BaselineFailed { .. } => "show baseline",
        StopReason::ChampionFailed { .. } => "show champion",
        StopReason::FailedAttempts { .. } | StopReason::NothingToTry { .. } => "log",
        StopReason::OtherModel { .. } => "log",
        _ => "check",
    };
    Some(Line::from(format!("The run {}: ", term::stop_sentence(reason))).code(ours(board, next)))
}
