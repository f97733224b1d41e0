//! What can be said before anything runs: the tree, the machine, the surface.

use std::path::Path;

use overnight_engine::load::Site;
use overnight_engine::lock::Lock;
use overnight_engine::rehearse::Subject;
use overnight_model::spec::Tier;

use super::report::{Finding, Level};
use super::study::{Sequence, Step};
use super::{look, seeds, tunable, tuner};
use crate::error::CliError;
use crate::views::term;

/// What is measured, and whether a night would begin from it.
pub(super) fn tree(sequence: &mut Sequence, site: &Site, subject: &Subject) {
    let dirty: Vec<&Path> = subject.dirty().map(|file| file.path.as_path()).collect();
    let shown = dirty.iter().take(3).map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ");
    let more = if dirty.len() > 3 { format!(" and {} more", dirty.len() - 3) } else { String::new() };
    let differ = if dirty.len() == 1 { "differs" } else { "differ" };
    let differ = format!("{shown}{more} {differ} from the last commit");
    sequence.report.dirty = dirty.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let finding = match (&sequence.begun, dirty.is_empty()) {
        (None, true) => Finding::ok("tree", "every tracked file is as it was committed"),
        (None, false) => Finding::new("tree", Level::Note, differ)
            .next("commit, or let the night begin from it: `overnight run --snapshot`"),
        (Some(known), is_clean) => match subject.refuse_for(known) {
            Err(error) => refused(error.into()),
            Ok(()) if is_clean => {
                Finding::ok("tree", "as it was committed; the study has begun, and goes on from its champion")
            }
            Ok(()) => Finding::new("tree", Level::Note, format!("{differ}; the study goes on from its champion"))
                .next("`overnight try --from-worktree -m IDEA` makes an experiment of it"),
        },
    };
    sequence.add(finding);
    if let Some(known) = &sequence.begun
        && let Ok(changed) = subject.left_behind(known)
        && let [first, rest @ ..] = changed.as_slice()
    {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let what = format!(
            "`{}`{more} changed since the baseline: tonight the study goes on with its own; this check measured the new \
             one",
            first.display()
        );
        sequence.add(Finding::new("tree", Level::Warn, what).next("`overnight rebase` takes the new one"));
    }
    let holder = Lock::holder(subject.user.common_dir(), &site.study);
    if let Some(holder) = &holder {
        let what = format!("`{}` is going on as process {}: times and noise are disturbed", holder.what, holder.pid);
        sequence.add(Finding::new("tree", Level::Note, what).next("check again when it is over"));
    } else if let Err(error) = subject.user.refuse_for(&site.study) {
        sequence.add(refused(error.into()));
    }
}

fn refused(error: CliError) -> Finding {
    let finding = Finding::new("tree", Level::Refused, error.message);
    finding.next(error.hint.unwrap_or_else(|| "`overnight run` says more".to_owned()))
}

/// What this machine enforces, and whether that is enough for tonight.
pub(super) fn machine(sequence: &mut Sequence) -> Step {
    let (tier, min) = (sequence.found.tier, sequence.spec.sandbox.min);
    sequence.report.sandbox = Some(tier.name());
    let line = term::tier_line(tier).to_owned();
    let asked = sequence.sandbox;
    if let Some(wanted) = asked.filter(|wanted| tier < *wanted) {
        let what = format!("this machine gives the sandbox `{}`, not `{}`", tier.name(), wanted.name());
        let next = format!("leave out --sandbox, or accept it: --sandbox {}", tier.name());
        return Err(sequence.fail(Finding::new("machine", Level::Refused, what).next(next)));
    }
    let finding = match (sequence.is_models && tier < min, tier >= Tier::Standard) {
        (true, _) if asked == Some(tier) => {
            let what = format!("{line}; what a model wrote needs `{}`", min.name());
            Finding::new("machine", Level::Warn, what)
                .next(format!("tonight it has to be accepted by name, too: `overnight run --sandbox {}`", tier.name()))
        }
        (true, _) => {
            let what = format!("{line}; what a model wrote needs `{}`", min.name());
            Finding::new("machine", Level::Refused, what).next(format!(
                "`overnight check --machine` says why; to accept it: `overnight run --sandbox {}`",
                tier.name()
            ))
        }
        (false, true) => Finding::ok("machine", line),
        (false, false) => Finding::new("machine", Level::Note, line).next(match asked {
            Some(_) => "leave out --sandbox for the strongest that this machine has",
            None => "`overnight check --machine` says what would raise it",
        }),
    };
    sequence.add(finding);
    Ok(())
}

/// Whether the surface is what agents should change, and nothing more.
pub(super) fn surface(sequence: &mut Sequence, subject: &Subject) {
    sequence.seed = seeds::look(subject);
    let spec = &sequence.spec;
    let names = spec.surface.paths().take(3).collect::<Vec<_>>().join(", ");
    let more = spec.surface.files.len().saturating_sub(3);
    let names = if more > 0 { format!("{names} and {more} more") } else { names };
    sequence.report.surface.clone_from(&names);
    let trespasses = look::trespasses(spec, &subject.surface);
    let is_tuner = !spec.agent.has_model();
    let tunable = if spec.agent.has_tuner() { tunable::files(subject) } else { Vec::new() };
    let count = tunable::count(&tunable);
    sequence.report.has_nothing_to_tune = is_tuner && count.is_none();
    let has = count.map(|count| format!(" has {count} to tune")).unwrap_or_default();
    let finding = match trespasses.as_slice() {
        [] => Finding::ok("surface", format!("{names}{has}; nothing in it looks like part of the evaluation")),
        found => {
            let told: Vec<String> =
                found.iter().take(3).map(|one| format!("{}:{} {}", one.path, one.line, one.what)).collect();
            let finding = Finding::new("surface", Level::Warn, format!("{}: agents may change that", told.join(", ")));
            finding.next(match (look::lock_tests(spec, found, &subject.surface), &spec.evaluate.score) {
                (Some(lock), _) => lock,
                (None, None) => {
                    "move it into a locked file that calls the surface, or leave it to a `score` command".to_owned()
                }
                (None, Some(_)) => "move it into a locked file that calls the surface".to_owned(),
            })
        }
    };
    sequence.add(finding);
    tuner::complaints(&tunable).into_iter().for_each(|complaint| sequence.add(complaint));
    // Most libraries are like that, and a person or a coding agent has ideas of another kind.
    if sequence.report.has_nothing_to_tune {
        let what = format!("the tuner has nothing to change in {names}: `overnight run` would stop at once");
        let next =
            "`overnight try` measures ideas of your own; for `overnight run`, name an agent: [agent] use = \"command\"";
        sequence.add(Finding::new("agent", Level::Warn, what).next(next));
    }
}
