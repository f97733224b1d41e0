//! The last screen: what a person wants to know, and nothing that was not measured.

use std::path::{Path, PathBuf};

use overnight_engine::ledger::Reader;
use overnight_engine::load::allowed_environment;
use overnight_engine::sandbox::Found;
use overnight_engine::workspace::shell_word;
use overnight_model::spec::Tier;
use overnight_model::study::Row;
use overnight_model::{ExperimentId, Verdict};

use super::folder::Folder;
use super::luck::Luck;
use super::villains::{self, Villain};
use crate::commands::session::Ended;
use crate::error::{Exit, Outcome};
use crate::ui::printable;
use crate::views::{night, term};

pub(crate) fn screen(
    state: &Path,
    folder: &Folder,
    found: &Found,
    ended: &Ended,
    not_run: &[Villain],
) -> Outcome<(Vec<String>, Exit)> {
    let reader = Reader::open(state)?;
    let mut rows = Vec::new();
    reader.each_row(ExperimentId(1), |row| rows.push(row))?;
    let mut luck = Luck::default();
    reader.each_event(|stored| {
        luck.see(&stored.event);
        Ok(())
    })?;
    let mut lines = Vec::new();
    if let Some(summary) = &ended.summary {
        lines.extend(term::standing(summary, ended.asked));
        if summary.gained.is_none() {
            lines.push("gain       none: nothing was better than the baseline whenever it was run".to_owned());
        }
        lines.push(format!("so far     {}", term::counts(summary)));
    }
    let [beat, again, kept] = luck.counts();
    lines.push(format!("luck       first runs that beat the champion: {beat} · run again: {again} · kept: {kept}"));
    lines.extend(villain_lines(state, folder, &rows, not_run));
    if let Some(summary) = &ended.summary {
        lines.push(night::trust_of(summary, None));
    }
    lines.extend(not_enforced(found));
    let through = villains::got_through(&rows, folder);
    lines
        .extend(through.iter().map(|name| format!("failed     {name} got through: what this demo shows did not hold")));
    lines.push(format!("folder     {}", folder.path().display()));
    let champion = ended.summary.as_ref().and_then(|summary| summary.champion.as_ref());
    let kept = ended.summary.as_ref().map_or(0, |summary| summary.kept);
    if let Some(champion) = champion {
        let kept = if kept == 1 { "1 commit".to_owned() } else { format!("{kept} commits") };
        lines.push(format!("branch     overnight/main at {}: the baseline and {kept}", champion.commit.short()));
    }
    let villain = villains::all().iter().find_map(|villain| villain.row(&rows)).map(|row| row.experiment);
    lines.extend(next(folder, found.tier, villain));
    Ok((lines, if through.is_empty() { Exit::Done } else { Exit::Fault }))
}

/// What to type to go on where it stopped.
pub(crate) fn go_on(folder: &Folder, tier: Tier) -> String {
    format!("cd {} && {} run{}", shell_word(folder.path()), program(), accepted(tier))
}

fn villain_lines(state: &Path, folder: &Folder, rows: &[Row], not_run: &[Villain]) -> Vec<String> {
    let mut lines = Vec::new();
    for villain in villains::all() {
        let (verdict, words) = match villain.row(rows) {
            Some(row) => {
                let words = villains::came_to(state, row.experiment, folder);
                let verdict = row.verdict.map_or("no verdict", Verdict::name);
                (verdict, words.unwrap_or_else(|| "the time was up".to_owned()))
            }
            None if not_run.iter().any(|other| other.name == villain.name) => {
                ("not run", "nothing on this tier would stop it".to_owned())
            }
            None => ("not run", "the time was up".to_owned()),
        };
        let title = if lines.is_empty() { "villains" } else { "" };
        lines.push(format!("{title:<10} {:<24} {verdict:<14} {}", villain.name, printable(&words)));
    }
    lines
}

/// What a weaker tier leaves open, and why it is not a stronger one.
fn not_enforced(found: &Found) -> Vec<String> {
    let what = match found.tier {
        Tier::None => "candidates run as you: your files, your network and the hidden text are within their reach",
        Tier::Landlock => "candidates share users, processes and memory with you",
        Tier::Standard | Tier::Strong => return Vec::new(),
    };
    let mut lines = vec![format!("not held   {what}")];
    lines.extend(found.reasons.iter().map(|reason| format!("           because of {}", printable(reason))));
    lines
}

/// Lines for a shell, to be copied as they are.
fn next(folder: &Folder, tier: Tier, villain: Option<ExperimentId>) -> Vec<String> {
    let program = program();
    let mut typed = vec![
        (format!("cd {}", shell_word(folder.path())), ""),
        ("git log overnight/main".to_owned(), "what was kept, and why"),
        (format!("{program} report"), "the night on one page: chart, keeps, failures, costs"),
        (format!("{program} show champion"), "the winner in full: diff, trials, numbers"),
    ];
    typed.extend(villain.map(|n| (format!("{program} show {n}"), "a villain, with its code")));
    typed.push((format!("{program} run{}", accepted(tier)), "goes on; Ctrl-C stops it"));
    let line = |(n, (command, why)): (usize, (String, &str))| {
        let title = if n == 0 { "next" } else { "" };
        let why = if why.is_empty() { String::new() } else { format!("  # {why}") };
        format!("{title:<10} {command:<24}{why}").trim_end().to_owned()
    };
    typed.into_iter().enumerate().map(line).collect()
}

/// A villain that is still open counts as a model's work, which a weak tier has to be accepted for.
fn accepted(tier: Tier) -> String {
    if tier < Tier::Standard { format!(" --sandbox {}", tier.name()) } else { String::new() }
}

/// How a person's shell finds this program.
fn program() -> String {
    let path = allowed_environment().into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
    let known = path.iter().flat_map(|path| path.split(':')).any(|folder| is_program(&PathBuf::from(folder)));
    match super::super::check::program() {
        Ok(program) if !known => shell_word(&program),
        _ => "overnight".to_owned(),
    }
}

fn is_program(folder: &Path) -> bool {
    folder.is_absolute() && folder.join("overnight").is_file()
}
