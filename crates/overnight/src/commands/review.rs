//! `overnight review`: what waits for a person, and the person's word on it.

use overnight_engine::clock;
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_engine::lock::Holder;
use overnight_engine::review::{self, ReviewError};
use overnight_engine::workspace::shell_word;
use overnight_model::event::Reviewed;
use overnight_model::proposal::one_line;
use overnight_model::study::{Row, Summary};
use overnight_model::units::short_number;
use overnight_model::{ExperimentId, Verdict};

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, printable};
use crate::views::{json, term};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Review {
    /// The number of a suspect; without it all are listed
    #[arg(value_name = "N")]
    experiment: Option<u64>,
    /// It is honest: make it the champion
    #[arg(long, conflicts_with = "discard", requires = "experiment")]
    keep: bool,
    /// It is not, or not worth keeping
    #[arg(long, requires = "experiment")]
    discard: bool,
    /// Why, in one line
    #[arg(short, long, value_name = "WHY", requires = "experiment")]
    message: Option<String>,
    /// Print experiments as `log --json` would
    #[arg(long)]
    json: bool,
}

pub(crate) fn review(place: &Place, args: &Review) -> Outcome<Exit> {
    let (site, reader) = super::ledger(place)?;
    let flag = super::study_flag(&site);
    let verdict = match (args.keep, args.discard) {
        (true, _) => Some(Verdict::Kept),
        (_, true) => Some(Verdict::Discarded),
        _ if args.message.is_some() => {
            return Err(CliError::usage("-m says why, and not what").hint("add --keep or --discard"));
        }
        _ => None,
    };
    match (args.experiment.map(ExperimentId), verdict) {
        (Some(experiment), Some(verdict)) => {
            drop(reader);
            // All of it, also where it was written over several lines: there is no title to cut it down to.
            let words: Vec<&str> = args.message.iter().flat_map(|why| why.split_whitespace()).collect();
            let why = one_line(&words.join(" "));
            decide(&site, Reviewed { experiment, verdict, why }, args.json, &flag)
        }
        (only, _) => list(&site, &reader, only, args.json, &flag),
    }
}

fn list(site: &Site, reader: &Reader, only: Option<ExperimentId>, json: bool, flag: &str) -> Outcome<Exit> {
    let mut rows = reader.suspect_rows()?;
    if let Some(only) = only {
        rows.retain(|row| row.experiment == only);
        if rows.is_empty() {
            let error = match reader.row(only)? {
                None => ReviewError::NoSuch { experiment: only },
                Some(row) => ReviewError::NotSuspect { experiment: only, verdict: row.verdict },
            };
            return Err(told(error, site, flag));
        }
    }
    if json {
        for row in &rows {
            ui::data(&json::line(&json::ExperimentJson::new(&site.study, row)));
        }
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        ui::data("nothing waits for your word");
        return Ok(Exit::Done);
    }
    let summary = reader.summary()?;
    let mut lines = Vec::new();
    for row in &rows {
        lines.extend(described(row, summary.as_ref()));
    }
    let which = if rows.len() == 1 { rows[0].experiment.to_string() } else { "N".to_owned() };
    lines.push(format!(
        "next       overnight show{flag} {which}, then overnight review{flag} {which} --keep -m WHY, or --discard"
    ));
    ui::data(&lines.join("\n"));
    Ok(Exit::Done)
}

/// A suspect with what it claims, and why it is not believed.
fn described(row: &Row, summary: Option<&Summary>) -> Vec<String> {
    let champion = summary.and_then(|summary| summary.champion.as_ref());
    let is_near = champion.is_some_and(|champion| row.parent.as_ref() == Some(&champion.commit));
    // Against another champion than it was made from, a gain would be nobody's.
    let gain = row.gain.or_else(|| {
        let level = champion.filter(|_| is_near)?.metric?;
        Some(summary?.goal.gain(level, row.metric?))
    });
    let metric = summary.map_or("metric", |summary| summary.measured_in(row.segment).0);
    let number = row.metric.map_or_else(|| "no number".to_owned(), |value| format!("{metric} {}", short_number(value)));
    let claims = gain.map_or_else(String::new, |gain| format!(", a gain of {}", term::signed(gain)));
    let moved = if is_near { "" } else { " · the champion has moved since" };
    vec![
        format!("{:>5}  {}", row.experiment, printable(&row.description)),
        format!("       claims     {number}{claims}{moved}"),
        format!("       suspect    {}", printable(row.reason.as_deref().unwrap_or("-"))),
    ]
}

fn decide(site: &Site, word: Reviewed, json: bool, flag: &str) -> Outcome<Exit> {
    let me = Holder { pid: std::process::id(), what: "overnight review".to_owned(), dir: site.dir.clone() };
    let told = |error: ReviewError| told(error, site, flag);
    let (experiment, verdict) = (word.experiment, word.verdict);
    let mut review = review::Review::open(site, &me).map_err(told)?;
    // What an engine was killed in comes first; it may be this very word, said a second time.
    let finished = review.finish(clock::now()).map_err(told)?;
    if !(finished == Some(experiment) && verdict == Verdict::Kept) {
        review.record(word, clock::now()).map_err(told)?;
        review.finish(clock::now()).map_err(told)?;
    }
    let row = review.row(experiment).map_err(told)?;
    let row = row.ok_or_else(|| CliError::new(Exit::Fault, format!("experiment {experiment} has no row")))?;
    if json {
        ui::data(&json::line(&json::ExperimentJson::new(&site.study, &row)));
        return Ok(Exit::Done);
    }
    ui::say(&term::row_line(&row));
    ui::say(&match (verdict, &row.commit) {
        (Verdict::Kept, Some(commit)) => {
            let study = &site.study;
            format!("experiment {experiment} is the champion; overnight/{study} is at {}", commit.short())
        }
        _ => format!("experiment {experiment} is discarded; what it tried stays in the ledger"),
    });
    Ok(Exit::Done)
}

fn told(error: ReviewError, site: &Site, flag: &str) -> CliError {
    let (exit, hint) = match &error {
        ReviewError::NoSuch { .. } => (Exit::Usage, format!("`overnight log{flag}` lists them")),
        ReviewError::NotSuspect { .. } => (Exit::Usage, format!("`overnight review{flag}` lists what waits")),
        ReviewError::NoNumber { experiment } => (
            Exit::Refused,
            format!("nothing could be held against it later: `overnight review{flag} {experiment} --discard`"),
        ),
        ReviewError::ChampionMoved { experiment, row, files } => {
            let again = again(site, *experiment, row, files, flag);
            (Exit::Refused, format!("have it measured against the present one, and review that: `{again}`"))
        }
        ReviewError::Open(_)
        | ReviewError::Lock(_)
        | ReviewError::Git(_)
        | ReviewError::Ledger(_)
        | ReviewError::Fault(_) => {
            return match error {
                ReviewError::Open(error) => error.into(),
                ReviewError::Lock(error) => error.into(),
                ReviewError::Git(error) => error.into(),
                ReviewError::Ledger(error) => error.into(),
                ReviewError::Fault(fault) => fault.into(),
                error => CliError::new(Exit::Fault, error.to_string()),
            };
        }
    };
    CliError::new(exit, error.to_string()).hint(hint)
}

/// The command that tries a suspect once more. Of one file its contents are taken; of several what it changed.
fn again(site: &Site, experiment: ExperimentId, row: &Row, files: &[String], flag: &str) -> String {
    let store = shell_word(&site.state().join("store.git"));
    let git = format!("git --git-dir={store}");
    let (made, attempt) = match files {
        [file] => {
            let file = shell_word(std::path::Path::new(&format!("refs/overnight/{experiment}:{file}")));
            (format!("{git} show {file}"), "--file")
        }
        _ => {
            let parent = row.parent.as_ref().map_or("HEAD", |parent| parent.0.as_str());
            (format!("{git} diff {parent} refs/overnight/{experiment}"), "--patch")
        }
    };
    // Not into the checkout, where it would be one more file.
    let name = shell_word(&site.state().join(format!("suspect-{experiment}")));
    format!("{made} > {name} && overnight try{flag} {attempt} {name} -m \"experiment {experiment} again\"")
}
