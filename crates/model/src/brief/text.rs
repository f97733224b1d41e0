//! The brief as Markdown: what stays the same from one question to the next comes first.

use super::fit::{Plan, first_lines, shares};
use super::past::{Failure, Kept, NearMiss, Open, Repair};
use super::untrusted::{WARNING, fenced, line, visible};
use super::{Brief, ContextFile, Standing, Stuck};
use crate::proposal::DESCRIPTION_LIMIT;
use crate::units::{Goal, short_number};
use crate::verdict::times;

/// A reason may quote an output.
const REASON_LIMIT: usize = 400;
/// More are hardly read.
const MOST_LITERALS: usize = 20;

pub(super) fn render(brief: &Brief, plan: &Plan) -> String {
    parts(brief, plan).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// By how often they change: hardly ever, with each keep, with each question.
pub(super) fn parts(brief: &Brief, plan: &Plan) -> [String; 3] {
    let of_question = [
        standing(brief),
        kept(brief, plan),
        failures(brief, plan),
        near_misses(brief, plan),
        plateau(brief),
        taken(brief, plan),
        redo(brief),
        if plan.without_tuning { String::new() } else { tuning(brief) },
        recent(brief, plan),
        said(brief),
        left_out(brief, plan),
        repair(brief),
    ];
    let joined = |sections: &[String]| {
        sections.iter().filter(|section| !section.is_empty()).cloned().collect::<Vec<_>>().join("\n")
    };
    let of_study = [task(brief), rules(brief), program(brief, plan), context(brief)];
    [joined(&of_study), surface(brief, plan), joined(&of_question)]
}

fn task(brief: &Brief) -> String {
    let way = match brief.goal {
        Goal::Min => "smaller",
        Goal::Max => "larger",
    };
    format!(
        "# Task\n\nMake `{}` {way}: propose one change of the surface, {}, on top of the champion's. The engine measures \
         it, decides, and keeps what is better as a commit. Git, logging, measuring and going on are its work and not \
         yours. One idea at a time; say it in one line.\n",
        brief.metric,
        paths(&brief.surface),
    )
}

fn rules(brief: &Brief) -> String {
    let limits = &brief.limits;
    let mut lines =
        vec!["# Rules\n".to_owned(), format!("- You may edit {}; {}.", paths(&brief.surface), limits.locked)];
    for part in &limits.parts {
        lines.push(format!("- Of `{}` only what is {} the line that holds `{}`.", part.path, part.side, part.marker));
    }
    if let Some(most) = limits.max_lines_changed {
        lines.push(format!("- At most {most} lines may be changed."));
    }
    lines.push(format!(
        "- It is measured by `{}`, which has a budget of {} s and is killed after {} s.",
        limits.run,
        short_number(brief.budget_seconds),
        limits.kill_seconds
    ));
    lines.extend(limits.guards.iter().map(|guard| format!("- Besides: {guard}.")));
    lines.push(format!("- A gain: {}.", limits.gain));
    lines.push(
        "- What was tried before is not run again, also where only comments or layout differ; a proposal without a change \
         is none."
            .to_owned(),
    );
    lines.push(format!("- {WARNING}\n"));
    lines.join("\n")
}

fn program(brief: &Brief, plan: &Plan) -> String {
    let Some(text) = &brief.program else { return String::new() };
    let shown = visible(first_lines(text, plan.program.unwrap_or(usize::MAX)));
    let cut = match plan.program {
        Some(_) => format!("\n[cut: the first {} of {} bytes]", shown.len(), text.len()),
        None => String::new(),
    };
    let note = match brief.program_left_out.as_slice() {
        [] => String::new(),
        sections => {
            let names: Vec<String> = sections.iter().map(|name| format!("\"{}\"", line(name, 80))).collect();
            format!(" Sections about the engine's own work are left out: {}.", names.join(", "))
        }
    };
    format!("# Program\n\nThe person's own words.{note}\n\n<program>\n{}{cut}\n</program>\n", shown.trim_end())
}

fn context(brief: &Brief) -> String {
    let entry = |file: &ContextFile| format!("{} ({} bytes)\n", line(&file.path, REASON_LIMIT), file.bytes);
    let listed: String = brief.context.iter().map(entry).collect();
    section(
        "To read\n\nFiles that are in your copy besides, to be read as you see fit. They are no part of the surface.",
        &listed,
    )
}

fn surface(brief: &Brief, plan: &Plan) -> String {
    if brief.files.is_empty() {
        return String::new();
    }
    let sizes: Vec<usize> = brief.files.iter().map(|file| file.text.len()).collect();
    let shown = shares(&sizes, plan.surface.unwrap_or(usize::MAX));
    let mut made = match brief.repair {
        None => "# The champion's surface\n".to_owned(),
        Some(_) => "# The surface as it crashed\n".to_owned(),
    };
    for (file, most) in brief.files.iter().zip(shown) {
        let text = first_lines(&file.text, most);
        let whole = file.cut_from_bytes.unwrap_or(file.text.len() as u64);
        let note = match whole > text.len() as u64 {
            true => format!(", the first {} of {whole} bytes; all of it is in your copy", text.len()),
            false => String::new(),
        };
        made += &format!("\n`{}`{note}:\n\n{}", file.path, fenced(text));
    }
    made
}

fn standing(brief: &Brief) -> String {
    let level = |standing: &Standing| standing.metric.map_or("not measured yet".to_owned(), short_number);
    let name = &brief.metric;
    let mut lines = vec![
        "# Where it stands\n".to_owned(),
        format!("- This is experiment {}.", brief.experiment),
        format!("- Baseline: {name} {}.", level(&brief.baseline)),
        format!("- Champion (experiment {}): {name} {}.", brief.champion.experiment, level(&brief.champion)),
    ];
    lines.push(match brief.noise_sd {
        None => "- How far repeats scatter is not known yet.".to_owned(),
        Some(0.0) => "- Repeats give the same number.".to_owned(),
        Some(sd) => format!("- Repeats scatter with a standard deviation of {}.", short_number(sd)),
    });
    if let Some(sure) = brief.smallest_sure_gain.filter(|sure| *sure > 0.0) {
        lines
            .push(format!("- A gain of {} would be kept nine times in ten; smaller ones by luck.", short_number(sure)));
    }
    lines.join("\n") + "\n"
}

fn kept(brief: &Brief, plan: &Plan) -> String {
    if brief.kept.is_empty() {
        return String::new();
    }
    let shown = &brief.kept[plan.kept..];
    let entry = |kept: &Kept| {
        let gain = gain(kept.gain, kept.gain_low, kept.gain_high);
        format!("#{} kept{gain}: {}\n", kept.experiment, line(&kept.description, DESCRIPTION_LIMIT))
    };
    let mut made = "# Kept, oldest first\n\nAll of it is in the champion.\n\n".to_owned();
    made += &fenced(&shown.iter().map(entry).collect::<String>());
    for kept in &brief.kept[plan.kept_diffs.max(plan.kept)..] {
        if let Some(diff) = &kept.diff {
            made += &format!("\nWhat #{} changed:\n\n{}", kept.experiment, fenced(diff));
        }
    }
    made
}

fn failures(brief: &Brief, plan: &Plan) -> String {
    if plan.failures >= brief.failures.len() {
        return String::new();
    }
    let mut made = "# Measured or refused, and not kept, latest last\n".to_owned();
    for (at, failure) in brief.failures.iter().enumerate().skip(plan.failures) {
        let Failure { experiment, description, verdict, reason, gain: measured, diff, no_diff, output } = failure;
        let (description, reason) = (line(description, DESCRIPTION_LIMIT), line(reason, REASON_LIMIT));
        let mut body =
            format!("#{experiment} {verdict}{}: {description}\nbecause: {reason}\n", gain(*measured, None, None));
        if let Some(diff) = diff {
            body += &format!("\n{}\n", diff.trim_end());
        }
        if let Some(why) = no_diff {
            body += &format!("\n({})\n", line(why, REASON_LIMIT));
        }
        if let Some(output) = output.as_ref().filter(|_| at >= plan.outputs) {
            body += &format!("\nend of its output:\n{output}\n");
        }
        made += &format!("\n{}", fenced(&body));
    }
    made
}

fn near_misses(brief: &Brief, plan: &Plan) -> String {
    let entry = |near: &NearMiss| {
        let known = gain(near.gain, near.gain_low, near.gain_high);
        let (trials, description) = (times(near.trials), line(&near.description, DESCRIPTION_LIMIT));
        format!("#{}{known}, {trials}: {description}\n", near.experiment)
    };
    let listed: String = brief.near_misses[plan.near_misses..].iter().map(entry).collect();
    section(
        "Undecided\n\nThese may well be better: noise hides it. A bolder version, or two of them together, may show.",
        &listed,
    )
}

fn plateau(brief: &Brief) -> String {
    let Some(Stuck { experiments, usual, looked_at, untouched }) = &brief.plateau else { return String::new() };
    let told = format!(
        "# A plateau\n\nNothing was kept for {experiments} experiments; until then every {} was. More of the same will \
         hardly do: take another direction.",
        if *usual == 1 { "one".to_owned() } else { format!("one in {usual}") },
    );
    let listed: String = untouched.iter().map(|part| format!("{}\n", line(part, DESCRIPTION_LIMIT))).collect();
    match listed.is_empty() {
        true => told + "\n",
        false => format!("{told} None of the last {looked_at} proposals touched:\n\n{}", fenced(&listed)),
    }
}

/// What must not be proposed again.
fn taken(brief: &Brief, plan: &Plan) -> String {
    let open = |open: &Open| {
        format!("#{} is being measured: {}\n", open.experiment, line(&open.description, DESCRIPTION_LIMIT))
    };
    let mut listed: String = brief.open.iter().map(open).collect();
    for repeat in &brief.repeats[plan.repeats..] {
        let (description, reason) = (line(&repeat.description, DESCRIPTION_LIMIT), line(&repeat.reason, REASON_LIMIT));
        listed += &format!("#{} was a repeat ({reason}): {description}\n", repeat.experiment);
    }
    section("Do not propose these again", &listed)
}

fn redo(brief: &Brief) -> String {
    let entry = |open: &Open| format!("#{}: {}\n", open.experiment, line(&open.description, DESCRIPTION_LIMIT));
    let listed: String = brief.redo.iter().map(entry).collect();
    section("To be done again on this champion\n\nThey did not merge with what was kept meanwhile.", &listed)
}

pub(super) fn tuning(brief: &Brief) -> String {
    let Some(report) = &brief.tuning else { return String::new() };
    let json = |value: &crate::tuner::Value| serde_json::to_string(value).unwrap_or_default();
    let mut listed = format!("{} points were measured\n", report.points);
    for literal in report.literals.iter().filter(|literal| literal.tried > 1).take(MOST_LITERALS) {
        let best = literal.best.as_ref().map_or_else(String::new, |best| format!(", best expected {}", json(best)));
        let difference =
            literal.difference.map_or_else(String::new, |size| format!(", makes {} of difference", short_number(size)));
        let matters = if literal.matters { "" } else { ", within what is not known" };
        listed += &format!(
            "{} in {}: now {}, {} values tried{best}{difference}{matters}\n",
            literal.name,
            literal.path,
            json(&literal.now),
            literal.tried
        );
    }
    for point in &report.best {
        let changes: Vec<String> =
            point.changes.iter().map(|change| format!("{} {}", change.name, json(&change.to))).collect();
        listed += &format!("gain {}: {}\n", point.gain.map_or("unknown".to_owned(), short_number), changes.join(", "));
    }
    section("What is known of values", &listed)
}

/// The verdicts that stand nowhere above.
fn recent(brief: &Brief, plan: &Plan) -> String {
    let failures = brief.failures[plan.failures..].iter().map(|failure| failure.experiment);
    let kept = brief.kept[plan.kept..].iter().map(|kept| kept.experiment);
    let near = brief.near_misses[plan.near_misses..].iter().map(|near| near.experiment);
    let repeats = brief.repeats[plan.repeats..].iter().map(|repeat| repeat.experiment);
    let above: Vec<_> = failures.chain(kept).chain(near).chain(repeats).collect();
    let listed: String = brief.recent[plan.recent..]
        .iter()
        .filter(|past| !above.contains(&past.experiment))
        .map(|past| {
            let (description, reason) = (line(&past.description, DESCRIPTION_LIMIT), line(&past.reason, REASON_LIMIT));
            format!("#{} {} ({reason}): {description}\n", past.experiment, past.verdict)
        })
        .collect();
    section("Other verdicts of late", &listed)
}

pub(super) fn said(brief: &Brief) -> String {
    if brief.said.is_empty() {
        return String::new();
    }
    let listed: String = brief.said.iter().map(|word| format!("- {}\n", line(&word.text, usize::MAX))).collect();
    format!("# The person says, latest last\n\n{listed}")
}

/// Last, and never left out: it is what is asked for.
fn repair(brief: &Brief) -> String {
    let Some(Repair { description, reason, diff, output }) = &brief.repair else { return String::new() };
    let mut body = format!("{}\nended at once: {}\n", line(description, DESCRIPTION_LIMIT), line(reason, REASON_LIMIT));
    if let Some(diff) = diff {
        body += &format!("\nwhat it changed:\n{}\n", diff.trim_end());
    }
    if let Some(output) = output {
        body += &format!("\nend of its output:\n{output}\n");
    }
    format!(
        "# This time: a repair\n\nYour last edit crashed at once, and says nothing about its idea yet. It is in your copy as you \
         left it: mend it there with as small a change as will do, and keep the idea. It is measured as you leave it.\n\n{}",
        fenced(&body)
    )
}

fn left_out(brief: &Brief, plan: &Plan) -> String {
    let mut all = Vec::new();
    let mut add = |count: u64, one: &str, more: &str| match count {
        0 => {}
        1 => all.push(format!("1 {one}")),
        count => all.push(format!("{count} {more}")),
    };
    let diffs = brief.kept[..plan.kept_diffs].iter().filter(|kept| kept.diff.is_some()).count();
    add(diffs as u64, "diff of a keep", "diffs of keeps");
    add(plan.kept as u64 + brief.kept_before, "older keep", "older keeps");
    let shown = plan.failures..plan.outputs.max(plan.failures);
    let outputs = brief.failures[shown].iter().filter(|failure| failure.output.is_some()).count();
    add(outputs as u64, "output", "outputs");
    add(plan.failures as u64, "failure", "failures");
    add(plan.recent as u64, "verdict", "verdicts");
    add(plan.near_misses as u64, "near-miss", "near-misses");
    add(plan.repeats as u64, "repeat", "repeats");
    if plan.without_tuning {
        all.push("what is known of values".to_owned());
    }
    if plan.program.is_some() {
        all.push("the end of the program".to_owned());
    }
    if plan.surface.is_some() {
        all.push("the end of the surface".to_owned());
    }
    match all.is_empty() {
        true => String::new(),
        false => format!("# Left out\n\nTo stay within about {} tokens: {}.\n", brief.brief_tokens, all.join(", ")),
    }
}

fn section(heading: &str, listed: &str) -> String {
    if listed.is_empty() { String::new() } else { format!("# {heading}\n\n{}", fenced(listed)) }
}

/// `, gain 0.004 (0.001 to 0.007)`
fn gain(gain: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    let Some(gain) = gain else { return String::new() };
    let interval = match low.zip(high) {
        Some((low, high)) if low < high => format!(" ({} to {})", short_number(low), short_number(high)),
        _ => String::new(),
    };
    format!(", gain {}{interval}", short_number(gain))
}

fn paths(surface: &[String]) -> String {
    surface.iter().map(|path| format!("`{}`", line(path, usize::MAX))).collect::<Vec<_>>().join(", ")
}
