//! What the report says, in the order in which a person asks.

use std::collections::HashMap;

use overnight_model::ExperimentId;
use overnight_model::judge::Estimate;
use overnight_model::study::{Spent, Summary};
use overnight_model::units::short_number;

use super::doc::{Block, Document, Line, Section, Tone};
use super::{health, lists};
use crate::views::board::{Board, Gained, Headline, Night, Spending, Surety};
use crate::views::{costs, night, term};

/// What experiments changed, as unified diffs.
pub(crate) type Diffs = HashMap<ExperimentId, String>;

/// How much of everything is shown; what is left out is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Depth {
    pub(crate) kept: usize,
    pub(crate) others: usize,
    /// Lines of one diff.
    pub(crate) diff: usize,
    /// Whether lines around a change are left out.
    pub(crate) changed_only: bool,
}

impl Depth {
    /// A screen or two.
    pub(crate) const SCREEN: Depth = Depth { kept: 12, others: 5, diff: 8, changed_only: true };
    pub(crate) const TEXT: Depth = Depth { kept: 50, others: 10, diff: 40, changed_only: false };
    pub(crate) const PAGE: Depth = Depth { kept: 200, others: 25, diff: 300, changed_only: false };
}

/// The whole report.
pub(crate) fn page(board: &Board, diffs: &Diffs, depth: Depth) -> Document {
    let mut sections = vec![Section::new("", headline(board))];
    if board.summary.is_some() {
        let rest = [
            ("Where the trials went", trials(board)),
            ("Progress", progress(board)),
            ("Kept", lists::kept(board, diffs, depth)),
            ("Looked better once, and did not hold", lists::faded(board, diffs, depth)),
            ("Failed", lists::failed(board, depth)),
            ("Near-misses", lists::near(board, diffs, depth)),
            ("Needs you", lists::needs(board, diffs, depth)),
            ("Costs", costs(board)),
            ("Health", health::health(board)),
            ("Not checked", health::not_checked(board)),
            ("Go on", commands(board)),
        ];
        sections.extend(rest.into_iter().filter(|(_, blocks)| !blocks.is_empty()).map(|(t, b)| Section::new(t, b)));
    }
    Document { title: format!("overnight · {}", board.setting.study), about: about(board), sections }
}

/// One study among several.
pub(crate) fn digest(boards: &[Board], repository: &str) -> Document {
    let section = |board: &Board| {
        let mut blocks = headline(board);
        let mut facts = Vec::new();
        if let Some(summary) = &board.summary {
            facts.push(("so far", term::counts(summary).into()));
            facts.extend(board.night.as_ref().map(|night| ("last run", ended(board, night).into())));
            facts.push(("trust", trust(board, summary).into()));
        }
        blocks.push(Block::facts(facts));
        let commands = match (&board.summary, board.suspects.is_empty()) {
            (None, _) => vec![(ours(board, "run"), "begin")],
            (Some(_), true) => vec![(ours(board, "report"), "the whole report")],
            (Some(_), false) => {
                vec![(ours(board, "review"), "what waits for you"), (ours(board, "report"), "all of it")]
            }
        };
        blocks.push(Block::Commands(commands));
        Section::new(&board.setting.study, blocks)
    };
    let count = match boards.len() {
        1 => "1 study".to_owned(),
        many => format!("{many} studies"),
    };
    let made = boards.first().map_or_else(String::new, |board| term::local_time(board.setting.now));
    let about = Line::from(format!("{count} · {made}"));
    Document { title: format!("overnight · {repository}"), about, sections: boards.iter().map(section).collect() }
}

fn about(board: &Board) -> Line {
    let made = term::local_time(board.setting.now);
    let state = match (board.setting.is_running, &board.summary) {
        (true, _) => "running, as of",
        (false, Some(summary)) if summary.stopped.is_none() => "the last run was killed; as of",
        (false, _) => "as of",
    };
    let Some(summary) = &board.summary else { return format!("{state} {made}").into() };
    let segment = match summary.past.is_empty() {
        true => String::new(),
        false => format!(" · segment {}", summary.segment),
    };
    format!("{} ({}){segment} · {state} {made}", summary.metric, term::arrow(summary.goal)).into()
}

/// The sentence, what it rests on, and whether somebody is waited for.
fn headline(board: &Board) -> Vec<Block> {
    let mut blocks = vec![Block::Lead(sentence(&board.headline, board.summary.as_ref()))];
    let Some(summary) = &board.summary else { return blocks };
    let mut below = Line::from(trust(board, summary));
    if let Headline::Gained(Gained { surety: Surety::Measured | Surety::Doubtful, .. }) = board.headline {
        below = below.then(" · measured again, without the runs that chose it");
    }
    blocks.push(Block::Note(below));
    if !board.suspects.is_empty() {
        let waits = match board.suspects.len() {
            1 => "1 suspect waits for your word: ".to_owned(),
            many => format!("{many} suspects wait for your word: "),
        };
        blocks.push(Block::Text(Line::default().with(waits, Tone::Doubt).code(ours(board, "review"))));
    }
    blocks
}

/// What a study comes to, in one honest sentence.
pub(crate) fn sentence(headline: &Headline, summary: Option<&Summary>) -> Line {
    let experiments = |summary: &Summary| match summary.experiments {
        1 => "1 experiment".to_owned(),
        many => format!("{} experiments", night::count(many)),
    };
    let metric = summary.map_or("", |summary| summary.metric.as_str());
    match (headline, summary) {
        (Headline::Nothing, _) | (_, None) => "Nothing has been measured yet.".into(),
        (Headline::NoBaseline, Some(_)) => {
            Line::from(format!("The baseline gives no {metric}: nothing can be compared with it."))
        }
        (Headline::NoneBetter, Some(summary)) => {
            let level = summary.baseline.as_ref().and_then(|level| level.metric);
            let level = level.map_or_else(String::new, |level| format!(" ({metric} {})", short_number(level)));
            let tried = experiments(summary);
            Line::from(format!("Nothing was found that is better than the baseline{level}, in {tried}."))
        }
        (Headline::Gained(gained), Some(summary)) => {
            let Gained { estimate, from, to, share, surety } = gained;
            let number = |value: &Option<f64>| value.map_or_else(|| "unknown".to_owned(), short_number);
            let share = share.filter(|share| share.abs() < 10.0 && *surety != Surety::Doubtful);
            let share = share.map_or_else(String::new, |share| format!(" ({})", percent(share)));
            // Green is for what was measured.
            let is_sure = matches!(surety, Surety::Exact | Surety::Measured);
            let (size, tone) = (amount(*estimate), if is_sure { Tone::Good } else { Tone::Doubt });
            let levels = format!("{metric} {} → {}", number(from), number(to));
            let tried = experiments(summary);
            match surety {
                Surety::Exact | Surety::Measured => Line::default()
                    .with(format!("Better by {size}{share}"), tone)
                    .then(format!(" than the baseline: {levels}, after {tried}.")),
                Surety::Doubtful => Line::default()
                    .with(format!("Perhaps better by {size}"), tone)
                    .then(format!(" than the baseline, which cannot be told from nothing: {levels}, after {tried}.")),
                Surety::Expected => Line::default().with(format!("Expected to be better by {size}{share}"), tone).then(
                    format!(" than the baseline, and not measured again since it was chosen: {levels}, after {tried}."),
                ),
            }
        }
    }
}

/// A gain with its interval, and no more digits than that leaves a meaning.
fn amount(Estimate { gain, high, .. }: Estimate) -> String {
    match high.map(|high| high - gain).filter(|half| *half > 0.0) {
        None => short_number(gain),
        Some(half) => {
            let digits = (1.0 - half.log10().floor()).clamp(0.0, 9.0) as usize;
            format!("{gain:.digits$} ± {half:.digits$}")
        }
    }
}

fn percent(share: f64) -> String {
    match share.abs() * 100.0 {
        small if small < 1.0 => format!("{small:.2} %"),
        middle if middle < 10.0 => format!("{middle:.1} %"),
        large => format!("{large:.0} %"),
    }
}

fn trust(board: &Board, summary: &Summary) -> String {
    night::trust_of(summary, board.setting.holdout)
}

/// A command that means this study.
pub(super) fn ours(board: &Board, command: &str) -> String {
    format!("overnight {command}{}", board.setting.flag)
}

fn trials(board: &Board) -> Vec<Block> {
    let mut facts: Vec<(&'static str, Line)> = Vec::new();
    if let Some(night) = &board.night {
        let name = if board.setting.is_running { "this night" } else { "last night" };
        facts.push((name, ended(board, night).into()));
        facts.push(("trials", spending(&night.spending).into()));
    }
    if board.runs > 1 {
        facts.push(("in all", format!("{}, in {} runs", spending(&board.total), board.runs).into()));
    }
    if let Some(summary) = &board.summary {
        let sure = board.sure.map(|sure| night::sure_words(&sure, summary.trial_time));
        let least = board.setting.asked.without_noise().gain;
        let exact = || match summary.noise.sd {
            Some(0.0) if least > 0.0 => Some(format!("any gain above {}: no noise was seen", short_number(least))),
            Some(0.0) => Some("any gain: no noise was seen".to_owned()),
            _ => None,
        };
        facts.extend(sure.or_else(exact).map(|sure| ("sure", sure.into())));
        facts.push(("so far", term::counts(summary).into()));
    }
    vec![Block::facts(facts)]
}

fn ended(board: &Board, night: &Night) -> String {
    let (began, took) = (term::local_time(night.started_at), night::tidy(night.spending.wall));
    match &night.stopped {
        Some(reason) => format!("began {began}, took {took}; {}", term::stop_sentence(reason)),
        None if board.setting.is_running => format!("began {began}, {took} ago, and goes on"),
        None => format!("began {began}, and was killed after {took}"),
    }
}

fn spending(Spending { trials, experiments, .. }: &Spending) -> String {
    let Spent { screen, .. } = trials;
    let count = |n: u64, what: &str| match n {
        1 => format!("1 {what}"),
        many => format!("{} {what}s", night::count(many)),
    };
    let each = match (*screen, trials.trials()) {
        (0, _) => String::new(),
        (screen, all) => format!(" ({:.1} for each candidate)", all as f64 / screen as f64),
    };
    match trials.trials() {
        0 => "none finished".to_owned(),
        all => {
            format!("{} for {}: {}{each}", count(all, "trial"), count(*experiments, "experiment"), night::spent(trials))
        }
    }
}

fn progress(board: &Board) -> Vec<Block> {
    if board.plot.steps.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Chart];
    let past = board.summary.iter().flat_map(|summary| &summary.past);
    let earlier: Vec<Line> = past.map(|segment| term::past(segment).into()).collect();
    if !earlier.is_empty() {
        blocks.push(Block::List(earlier));
    }
    blocks
}

fn costs(board: &Board) -> Vec<Block> {
    let both = |of: fn(&Spending) -> u64| {
        let total = night::tidy(overnight_model::Millis(of(&board.total)));
        match board.night.as_ref().filter(|_| board.runs > 1) {
            Some(night) => {
                let last = night::tidy(overnight_model::Millis(of(&night.spending)));
                format!("{last} in the last run, {total} in all")
            }
            None => total.to_string(),
        }
    };
    let money = costs::facts(board.summary.as_ref());
    let mut facts: Vec<(&'static str, Line)> = vec![
        ("trials", both(|spending| spending.machine.0).into()),
        ("agents", format!("{} at work, {} turns", both(|spending| spending.agents.0), board.total.attempts).into()),
        ("night", both(|spending| spending.wall.0).into()),
    ];
    facts.extend(money.into_iter().map(|(name, told)| (name, told.into())));
    vec![Block::facts(facts)]
}

fn commands(board: &Board) -> Vec<Block> {
    let study = &board.setting.study;
    let mut commands = Vec::new();
    let has_gain = matches!(board.headline, Headline::Gained(_));
    if !board.suspects.is_empty() {
        commands.push((ours(board, "review"), "what waits for your word"));
    }
    if has_gain {
        commands.push((ours(board, "show champion"), "the winner in full: diff, trials, numbers"));
        commands.push((ours(board, "compare baseline champion"), "measure the gain again, with fresh seeds"));
        if let Some(baseline) = board.summary.as_ref().and_then(|summary| summary.baseline.as_ref()) {
            let range = format!("audit {}..overnight/{study}", baseline.commit.short());
            commands.push((ours(board, &range), "which keeps carry it"));
        }
        commands.push((format!("git log overnight/{study}"), "what was kept, and why"));
        commands.push((format!("git merge overnight/{study}"), "take it over"));
    }
    commands.push((ours(board, "log --all"), "every experiment"));
    commands.push((ours(board, "verify"), "prove that this is what happened"));
    commands.push((ours(board, "run"), "go on"));
    vec![Block::Commands(commands)]
}
