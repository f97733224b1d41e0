//! The screen of an audit: what is audited, what is settled as it goes, and what follows.

use overnight_model::Millis;
use overnight_model::claim::audit::Verdict;
use overnight_model::claim::{Decision, Standing};
use overnight_model::study::SeedUse;
use overnight_model::units::short_number;

use super::plan::{Piece, Plan};
use super::range::End;
use super::report::{Counts, Offer, Report, StackEnd};
use super::short;
use crate::ui;
use crate::views::{night, term};

/// More would push what matters off the screen.
const NOTES: usize = 8;

/// What is about to be done.
pub(super) fn head(report: &Report, plan: &Plan, budget: Millis) -> Vec<String> {
    let commits = plan.pieces.len() as u64;
    // The head serves four at a time, and the whole is measured as well.
    let trials = ((commits + 1) + (commits + 1).div_ceil(4)) * u64::from(report.most);
    let most = Millis(budget.0 * trials);
    let mut lines = vec![
        format!("overnight audit · study {} · Ctrl-C tells what is known so far", report.study),
        format!("{} ({}) · budget {budget} · {}", report.metric, term::arrow(report.goal), range(report, plan)),
        format!(
            "each is left out of B in turn, in at most {} pairs: {trials} trials, {most} by the budget; less where it is clear early",
            report.most
        ),
        term::tier_line(report.tier).to_owned(),
    ];
    let alone = plan.steps.iter().filter_map(|step| Some((&step.commit, step.alone.as_ref()?)));
    lines.extend(capped(alone.map(|(commit, why)| format!("left alone: {} {why}", short(commit.id))).collect()));
    let tangled = plan.pieces.iter().filter(|piece| !piece.with.is_empty());
    lines.extend(capped(
        tangled
            .map(|piece| {
                let later: Vec<String> = piece.with.iter().map(|keep| short(plan.keep(*keep).id)).collect();
                format!(
                    "{} cannot be left out alone: it is judged together with {}",
                    short(plan.keep(piece.first).id),
                    later.join(", ")
                )
            })
            .collect(),
    ));
    let stuck = (0..plan.keeps.len()).filter(|keep| plan.piece_of(*keep).is_none());
    lines.extend(capped(
        stuck
            .map(|keep| {
                format!(
                    "{} cannot be left out: it is tangled with a commit that is left alone",
                    short(plan.keep(keep).id)
                )
            })
            .collect(),
    ));
    lines
}

/// Everything that is open has had so many pairs.
pub(super) fn round_line(pairs: u32, open: usize, all: usize) -> String {
    format!("{:>8} each · {open} of {all} still open", plural(pairs as usize, "pair", "pairs"))
}

/// A piece that needs no more pairs: what is said of it, and the line that says so.
pub(super) fn settled_line(report: &Report, plan: &Plan, piece: usize) -> (String, String) {
    let known = report.audit.standing(piece);
    let verdict = report.audit.verdicts()[piece];
    let pairs = plural(known.map_or(0, |known| known.pairs as usize), "pair", "pairs");
    let said = match verdict {
        Verdict::Noise => format!("is set aside after {pairs}: too little to tell"),
        verdict => format!("{} after {pairs}, {}", word(Some(verdict)), carries(known.as_ref())),
    };
    let commit = plan.keep(plan.pieces[piece].first);
    let line = format!("  {} {said}  ({})", short(commit.id), ui::one_line(&commit.subject));
    let what = format!("{} {}", commit.id, word(Some(verdict)));
    (what, line)
}

/// A piece by its first commit.
pub(super) fn named(plan: &Plan, piece: &Piece) -> String {
    short(plan.keep(piece.first).id)
}

/// What is known at the end.
pub(super) fn result(report: &Report, plan: &Plan, offer: &Offer, is_interrupted: bool) -> Vec<String> {
    let mut lines = vec![String::new()];
    lines.push(format!(
        "{:>4}  {:<10}  {:<19} {:>12}  {:<26} {:>5}  what",
        "", "commit", "verdict", "carries", "95 % interval", "pairs"
    ));
    let verdicts = report.verdicts(plan);
    for (keep, verdict) in verdicts.iter().enumerate() {
        lines.push(row(report, plan, keep, *verdict));
    }
    lines.push(String::new());
    lines.extend(whole_lines(report));
    lines.extend(stack_lines(report, plan, offer));
    let seeds = u32::try_from(report.audit.turns()).unwrap_or(u32::MAX);
    lines.push(format!(
        "trials      {} (seed {}){}",
        report.trials,
        report.seed,
        if seeds > 1 && report.audit.is_quiet() { ": no surface gave two different numbers" } else { "" }
    ));
    let seed = if seeds > 2 && report.audit.is_quiet() { SeedUse::Ignored } else { SeedUse::Unknown };
    lines.push(night::trust(report.assurance, report.tier.name(), seeds, seed, report.holdout));
    if is_interrupted {
        lines.push("stopped before the end: what is told is settled, all else is open".to_owned());
    } else if report.out_of_time {
        lines.push("the time is up: what is told is settled, all else is open".to_owned());
    }
    lines.push(headline(verdicts.len(), &report.counts(plan)));
    lines
}

fn range(report: &Report, plan: &Plan) -> String {
    let commits = plural(plan.keeps.len(), "commit", "commits");
    format!("{commits} of {}..{}", report.a.name, report.b.name)
}

fn row(report: &Report, plan: &Plan, keep: usize, verdict: Option<Verdict>) -> String {
    let piece = plan.piece_of(keep);
    let known = piece.and_then(|piece| report.audit.standing(piece));
    let pairs = known.map_or_else(|| "-".to_owned(), |known| known.pairs.to_string());
    let with = piece.map_or(&[][..], |piece| &plan.pieces[piece].with);
    let with: Vec<String> = with.iter().map(|later| (later + 1).to_string()).collect();
    let together = if with.is_empty() { String::new() } else { format!(" (with {})", with.join(", ")) };
    let commit = plan.keep(keep);
    format!(
        "{:>4}  {:<10}  {:<19} {:>12}  {:<26} {pairs:>5}  {}{together}",
        keep + 1,
        short(commit.id),
        word(verdict),
        carries(known.as_ref()),
        ends(known.as_ref()),
        ui::one_line(&commit.subject),
    )
}

/// A verdict in a word or three.
fn word(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Holds) => "holds",
        Some(Verdict::Hurts) => "makes it worse",
        Some(Verdict::Nothing) => "makes no difference",
        Some(Verdict::Noise) => "not told from noise",
        Some(Verdict::Needed) => "needed to run",
        None => "cannot be left out",
    }
}

fn carries(known: Option<&Standing>) -> String {
    known.map_or_else(|| "-".to_owned(), |known| term::signed(rounded(known, known.difference)))
}

fn ends(known: Option<&Standing>) -> String {
    let Some(known) = known else { return "-".to_owned() };
    let shown = |end| term::signed(rounded(known, end));
    match (known.low, known.high) {
        (None, None) => "unknown".to_owned(),
        _ if known.is_deterministic => "exact".to_owned(),
        (Some(low), Some(high)) => format!("{} to {}", shown(low), shown(high)),
        (Some(low), None) => format!("{} or more", shown(low)),
        (None, Some(high)) => format!("{} or less", shown(high)),
    }
}

/// Digits beyond two of the interval's width are noise.
fn rounded(known: &Standing, value: f64) -> f64 {
    match (known.low, known.high) {
        (Some(low), Some(high)) if high > low && !known.is_deterministic => {
            let step = 10f64.powf((high - low).log10().floor() - 1.0);
            let rounded = (value / step).round() * step;
            if rounded.is_finite() { rounded + 0.0 } else { value }
        }
        _ => value,
    }
}

fn whole_lines(report: &Report) -> Vec<String> {
    let side = |label: &str, level: f64, end: &End| {
        format!("{label}           {} {}  ({})", report.metric, short_number(level), shown(end))
    };
    match report.audit.whole() {
        None if report.audit.start_does_not_run() => {
            vec!["whole       A's surface gives no number on B's tree, so the whole is not known".to_owned()]
        }
        None => Vec::new(),
        Some(known) => {
            let said = match known.decision {
                Some(Decision::Better) => "B is better than A",
                Some(Decision::Worse) => "B is worse than A",
                Some(Decision::Equal) => "A and B are equal",
                Some(Decision::Untold) | None => "A and B cannot be told apart",
            };
            let pairs = plural(known.pairs as usize, "pair", "pairs");
            vec![
                side("A", known.a, &report.a),
                side("B", known.b, &report.b),
                format!("whole       {}: {said}, {pairs}", difference(&known)),
            ]
        }
    }
}

/// A difference with its interval.
fn difference(known: &Standing) -> String {
    let interval =
        if known.is_deterministic { String::new() } else { format!(", 95 % interval {}", ends(Some(known))) };
    format!("{}{interval}", carries(Some(known)))
}

fn stack_lines(report: &Report, plan: &Plan, offer: &Offer) -> Vec<String> {
    match offer {
        Offer::Open => Vec::new(),
        Offer::Nothing if report.whole() == Some(Decision::Better) => vec![
            "stack       no commit alone can be told from noise, though the whole is better: what each carries is too"
                .to_owned(),
            "            small to tell, or they stand in for one another".to_owned(),
        ],
        Offer::Nothing => vec!["stack       none: no commit holds".to_owned()],
        Offer::All => vec!["stack       B itself: nothing in it can be left out".to_owned()],
        Offer::Stack { stack, end } => {
            let left = stack.dropped.iter().filter(|dropped| !**dropped).count();
            let first = format!("stack       {left} of {} commits", plan.keeps.len());
            match end {
                StackEnd::NotMeasured => {
                    vec![format!("{first}: no time was left to hold it against B, so it is not offered")]
                }
                StackEnd::Broken(what) => vec![format!("{first}: it does not run: it {what}")],
                StackEnd::Measured(known) => {
                    let (level, of_b) = (short_number(known.b), short_number(known.a));
                    let pairs = plural(known.pairs as usize, "pair", "pairs");
                    vec![
                        format!("{first}: {} {level} against {of_b} of B, {pairs}", report.metric),
                        format!("            {}: {}", difference(known), stack_sentence(known)),
                    ]
                }
            }
        }
    }
}

fn stack_sentence(known: &Standing) -> String {
    match known.decision {
        Some(Decision::Better) => "better than B".to_owned(),
        Some(Decision::Worse) => "worse than B: what was left out carries something together".to_owned(),
        Some(Decision::Equal) => "as good as B".to_owned(),
        Some(Decision::Untold) | None => match known.low {
            Some(low) if low >= 0.0 => "not worse than B".to_owned(),
            Some(low) => format!("not worse than B by more than {}", short_number(rounded(known, -low))),
            None => "not told from B".to_owned(),
        },
    }
}

/// `22 keeps · 6 hold · 13 cannot be told from noise · 3 make it worse`
pub(super) fn headline(all: usize, counts: &Counts) -> String {
    let Counts { holds, hurts, nothing, noise, needed, stuck } = counts;
    let parts = [
        (*holds, plural(*holds, "holds", "hold")),
        (*noise, format!("{noise} cannot be told from noise")),
        (*nothing, plural(*nothing, "makes no difference", "make no difference")),
        (*hurts, plural(*hurts, "makes it worse", "make it worse")),
        (*needed, plural(*needed, "is needed to run", "are needed to run")),
        (*stuck, format!("{stuck} cannot be left out")),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text);
    [plural(all, "keep", "keeps")].into_iter().chain(parts).collect::<Vec<_>>().join(" · ")
}

fn plural(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn shown(end: &End) -> String {
    let commit = end.commit.to_string();
    if commit.starts_with(&end.name) { short(end.commit) } else { format!("{}, {}", end.name, short(end.commit)) }
}

fn capped(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > NOTES {
        let more = lines.len() - NOTES;
        lines.truncate(NOTES);
        lines.push(format!("and {more} more like this"));
    }
    lines
}
