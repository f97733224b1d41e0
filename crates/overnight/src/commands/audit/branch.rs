//! The branch of a stack.

use overnight_engine::clock;
use overnight_engine::load::Site;
use overnight_engine::workspace::UserRepo;
use overnight_model::CommitId;

use super::plan::{Plan, Stack};
use super::range::Range;
use super::{Audit, Ready};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// Makes a branch without some commits, and runs nothing.
pub(super) fn only_branch(site: &Site, args: &Audit) -> Outcome<Exit> {
    let Ready { range, plan, subject, .. } = Ready::find(site, args)?;
    let name = args.branch.as_deref().unwrap_or_default();
    let mut dropped = vec![false; plan.keeps.len()];
    for without in &args.without {
        let commit = subject.user.resolve(without)?;
        let keep = (0..plan.keeps.len()).find(|keep| plan.keep(*keep).id == commit).ok_or_else(|| {
            let message = format!("`{without}` is no commit of {} that can be left out", range.text());
            CliError::usage(message).hint("only commits that change the surface and nothing else can be")
        })?;
        dropped[keep] = true;
    }
    let surface = plan.without(&dropped).ok_or_else(|| {
        let message = "these commits cannot be taken out: others that stay have changed the same lines";
        CliError::usage(message).hint("take those out as well; without --without an audit says which belong together")
    })?;
    let stack = Stack { dropped, surface };
    let made = make(&subject.user, &range, &plan, &stack, name)?;
    let left = stack.dropped.iter().filter(|dropped| !**dropped).count();
    if args.json {
        ui::data(&serde_json::json!({ "branch": { "name": name, "commit": made } }).to_string());
        return Ok(Exit::Done);
    }
    let commit = CommitId(made);
    ui::data(&format!("branch      {name} at {}: {left} of {} commits", commit.short(), plan.keeps.len()));
    ui::data(&format!("next        git log {}..{name}", range.a.name));
    Ok(Exit::Done)
}

/// Makes the branch of a stack; the name of its last commit.
pub(super) fn make(user: &UserRepo, range: &Range, plan: &Plan, stack: &Stack, name: &str) -> Outcome<String> {
    let row = plan.row(stack).ok_or_else(|| {
        let message = "the branch was not made: nothing would be on it, or a file of the surface comes and goes";
        CliError::new(Exit::Refused, message)
            .hint(format!("`git branch {name} {}` makes one at the start", range.a.name))
    })?;
    Ok(user.make_branch(name, range.a.commit, &row, clock::now().0 / 1000)?.to_string())
}

/// Before anything runs: a night must not end with a name that is taken.
pub(super) fn refuse_name(user: &UserRepo, name: &str) -> Outcome<()> {
    if name.starts_with("overnight/") {
        let message = format!("`{name}` would be taken for the branch of a study");
        return Err(CliError::new(Exit::Refused, message).hint("choose a name that does not begin with overnight/"));
    }
    Ok(user.refuse_taken(name)?)
}
