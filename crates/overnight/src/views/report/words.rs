//! What the report says, in the order in which a person asks.

use std::collections::HashMap;

use overnight_model::ExperimentId;
use overnight_model::judge::Estimate;
use overnight_model::study::{Row, Spent, Summary};
use overnight_model::units::short_number;
use overnight_model::verdict::{Group, rough};

use super::doc::{Block, Document, Item, Line, Section, Span, Tone};
use super::health;
use crate::views::board::{Board, Cause, Faded, Gained, Headline, Night, Spending, Surety};
use crate::views::{night, term};

/// What experiments changed, as unified diffs.
pub(crate) type Diffs = HashMap<ExperimentId, String>;

/// Enough of a description to know it by, and enough to understand it.
const NAME: usize = 60;
const SENTENCE: usize = 400;

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
            ("Kept", kept(board, diffs, depth)),
            ("Looked better once, and did not hold", faded(board, diffs, depth)),
            ("Failed", failed(board, depth)),
            ("Near-misses", near(board, diffs, depth)),
            ("Needs you", needs(board, diffs, depth)),
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
    let mut blocks = vec![Block::Lead(sentence(board))];
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

fn sentence(board: &Board) -> Line {
    let experiments = |summary: &Summary| match summary.experiments {
        1 => "1 experiment".to_owned(),
        many => format!("{} experiments", night::count(many)),
    };
    let metric = board.summary.as_ref().map_or("", |summary| summary.metric.as_str());
    match (&board.headline, &board.summary) {
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

fn kept(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    if board.kept.is_empty() {
        return vec![Block::Text("Nothing.".into())];
    }
    let present = board.summary.as_ref().map_or(0, |summary| summary.segment);
    let item = |row: &Row| {
        // Green is for what is sure: the judge keeps what it expects to be better, and says how likely that is.
        let is_sure = row.gain_low.is_none_or(|low| low > 0.0);
        let mut item = experiment(row, if is_sure { Tone::Good } else { Tone::Strong }, board);
        if row.segment != present {
            item.details.push(format!("of segment {}, under an earlier evaluation", row.segment).into());
        }
        item.diff = diff(diffs, row, depth);
        item
    };
    // The latest matter most, and the oldest come first in a story.
    let left_out = board.kept.len().saturating_sub(depth.kept);
    let mut blocks = vec![Block::Items(board.kept[left_out..].iter().map(item).collect())];
    if left_out > 0 {
        let study = &board.setting.study;
        blocks.push(Block::Note(
            Line::from(format!("{left_out} earlier ones are left out: ")).code(format!("git log overnight/{study}")),
        ));
    }
    blocks
}

/// An experiment with what is believed of its gain.
pub(super) fn experiment(row: &Row, tone: Tone, board: &Board) -> Item {
    let figure = row.gain.map(|_| Span::new(gain(row), tone));
    let mut facts = Vec::new();
    if let Some(metric) = row.metric {
        let name = board.summary.as_ref().map_or("metric", |summary| summary.measured_in(row.segment).0);
        facts.push(format!("{name} {}", short_number(metric)));
    }
    facts.push(if row.trials == 1 { "1 trial".to_owned() } else { format!("{} trials", row.trials) });
    facts.push(row.agent.clone());
    facts.extend(row.commit.as_ref().map(|commit| commit.short().to_owned()));
    let mut details = vec![Line::default().with(facts.join(" · "), Tone::Faint)];
    details.extend(row.reason.as_ref().map(|reason| Line::from(short(reason, SENTENCE))));
    let text = short(&row.description, SENTENCE).into();
    Item { name: row.experiment.to_string(), figure, text, details, diff: None }
}

/// The gain over the champion of its time, with its interval.
fn gain(row: &Row) -> String {
    match (row.gain_low, row.gain_high) {
        (Some(low), Some(high)) if low < high => {
            let number = |value: f64| rough(value).replace('-', "−");
            format!("{} ({} to {})", term::gain(row), number(low), number(high))
        }
        _ => term::gain(row),
    }
}

/// A gain of which more digits would say more than is known.
fn believed(gain: f64) -> String {
    let sign = if gain > 0.0 { "+" } else { "" };
    format!("{sign}{}", rough(gain).replace('-', "−"))
}

/// The first lines of what it changed.
fn diff(diffs: &Diffs, row: &Row, depth: Depth) -> Option<String> {
    let text = diffs.get(&row.experiment).filter(|text| !text.is_empty())?;
    let is_change = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    let lines: Vec<&str> = text.lines().filter(|line| !depth.changed_only || is_change(line)).collect();
    if lines.len() <= depth.diff {
        return Some(lines.join("\n"));
    }
    let left_out = lines.len() - depth.diff;
    Some(format!("{}\n… {left_out} more lines: overnight show {}", lines[..depth.diff].join("\n"), row.experiment))
}

fn faded(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    if board.faded.is_empty() {
        return Vec::new();
    }
    let item = |faded: &Faded| {
        let mut item = experiment(&faded.row, Tone::Doubt, board);
        let once = faded.once.map_or_else(|| "unknown".to_owned(), believed);
        let known = match faded.row.gain {
            Some(_) => gain(&faded.row),
            None => "nothing".to_owned(),
        };
        item.figure = Some(Span::new(format!("{once} once, {known} by all"), Tone::Doubt));
        if faded.is_retracted {
            item.details.insert(0, "kept, and taken back".into());
            item.diff = diff(diffs, &faded.row, depth);
        }
        item
    };
    let about = "The best single run against everything that was measured: a run that was picked for being high says \
                 little.";
    let mut blocks = vec![Block::Note(about.into())];
    blocks.push(Block::Items(board.faded.iter().take(depth.others).map(item).collect()));
    blocks.extend(more(board, board.faded.len(), depth.others));
    blocks
}

/// How many are not shown, and where they are.
fn more(board: &Board, all: usize, shown: usize) -> Option<Block> {
    let left_out = all.checked_sub(shown).filter(|left_out| *left_out > 0)?;
    Some(Block::Note(Line::from(format!("{left_out} more: ")).code(ours(board, "log --all"))))
}

fn failed(board: &Board, depth: Depth) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in [Group::Broken, Group::Refused, Group::NotCounted] {
        let causes: Vec<&Cause> = board.causes.iter().filter(|cause| cause.verdict.group() == group).collect();
        if causes.is_empty() {
            continue;
        }
        let all: u64 = causes.iter().map(|cause| cause.count).sum();
        blocks.push(Block::Text(
            Line::default()
                .with(format!("{} {}", night::count(all), group.name()), Tone::Strong)
                .then(format!(": {}", group.meaning())),
        ));
        blocks.push(Block::Items(causes.iter().take(depth.others).map(|cause| caused(cause)).collect()));
        blocks.extend(more(board, causes.len(), depth.others));
    }
    blocks
}

fn caused(cause: &Cause) -> Item {
    let Cause { verdict, reason, varies, said, count, examples } = cause;
    let reason = if *varies { format!("{reason}, and the like") } else { reason.clone() };
    let mut details = Vec::new();
    details.extend(said.as_ref().map(|said| Line::default().code(said.clone())));
    let example = |(id, what): &(ExperimentId, String)| match what.is_empty() {
        true => id.to_string(),
        false => format!("{id} {}", short(what, NAME)),
    };
    let examples: Vec<String> = examples.iter().map(example).collect();
    let such = if *count as usize > examples.len() { "the last: " } else { "" };
    details.push(Line::default().with(format!("{such}{}", examples.join(" · ")), Tone::Faint));
    Item {
        name: format!("{count}×"),
        figure: Some(Span::new(verdict.name(), Tone::Bad)),
        text: short(&reason, SENTENCE).into(),
        details,
        diff: None,
    }
}

/// The beginning of a text that is too long for its place.
fn short(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn near(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !board.near.is_empty() {
        let about =
            "Not kept, and not refuted: what is known of their gain reaches about as far to better as to worse.";
        let item = |row: &Row| {
            let mut item = experiment(row, Tone::Doubt, board);
            item.diff = diff(diffs, row, depth);
            item
        };
        blocks.push(Block::Note(about.into()));
        blocks.push(Block::Items(board.near.iter().take(depth.others).map(item).collect()));
        blocks.extend(more(board, board.near.len(), depth.others));
    }
    if !board.redo.is_empty() {
        blocks.push(Block::Text(
            "To be done again: they were made for a champion that has moved on, and do not merge with the new one."
                .into(),
        ));
        let again = |(id, what): &(ExperimentId, String)| Line::from(format!("{id} {}", short(what, SENTENCE)));
        blocks.push(Block::List(board.redo.iter().take(depth.others).map(again).collect()));
        blocks.extend(more(board, board.redo.len(), depth.others));
    }
    blocks
}

fn needs(board: &Board, diffs: &Diffs, depth: Depth) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !board.suspects.is_empty() {
        let item = |row: &Row| {
            let mut item = experiment(row, Tone::Doubt, board);
            item.diff = diff(diffs, row, depth);
            item
        };
        blocks.push(Block::Text(
            Line::from("Numbers that are not to be believed as they are. Read the change, then say ")
                .code(ours(board, "review N --keep"))
                .then(" or ")
                .code(ours(board, "review N --discard"))
                .then("."),
        ));
        blocks.push(Block::Items(board.suspects.iter().take(depth.others).map(item).collect()));
        blocks.extend(more(board, board.suspects.len(), depth.others));
    }
    let rest = health::to_do(board);
    if !rest.is_empty() {
        blocks.push(Block::List(rest));
    }
    if blocks.is_empty() { vec![Block::Text("Nothing.".into())] } else { blocks }
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
    let money = match board.total.cost_usd {
        Some(cost) => format!("{cost:.2} USD"),
        None => "unknown: nobody counted what models cost".to_owned(),
    };
    vec![Block::facts(vec![
        ("trials", both(|spending| spending.machine.0).into()),
        ("agents", format!("{} at work, {} turns", both(|spending| spending.agents.0), board.total.attempts).into()),
        ("night", both(|spending| spending.wall.0).into()),
        ("money", money.into()),
    ])]
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
