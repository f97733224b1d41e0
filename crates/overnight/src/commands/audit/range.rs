//! Which commits are meant: a single line from A to B.

use overnight_engine::load::Site;
use overnight_engine::rehearse::Revision;
use overnight_engine::workspace::{LineCommit, NoLine, ObjectId, UserRepo};

use super::short;
use crate::error::{CliError, Outcome};

/// One end, as the person named it.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) name: String,
    pub(super) commit: ObjectId,
}

pub(super) struct Range {
    pub(super) a: End,
    pub(super) b: End,
    /// The oldest first.
    pub(super) line: Vec<LineCommit>,
}

impl Range {
    pub(super) fn find(site: &Site, user: &UserRepo, text: &str) -> Outcome<Range> {
        let (a, b) = ends(text)?;
        let (a, b) = (end(site, a)?, end(site, b)?);
        let line = match user.line(a.commit, b.commit)? {
            Ok(line) => line,
            Err(no_line) => return Err(refusal(no_line, user, &a, &b)?),
        };
        Ok(Range { a, b, line })
    }

    /// How the range is written, for a command to type.
    pub(super) fn text(&self) -> String {
        format!("{}..{}", self.a.name, self.b.name)
    }
}

fn ends(text: &str) -> Outcome<(&str, &str)> {
    let usage = |message: String| {
        let hint = "write A..B: the commits after A up to B, as `main..my-branch` or `baseline..champion`";
        CliError::usage(message).hint(hint)
    };
    match text.split_once("..") {
        None => Err(usage(format!("`{text}` is one commit, not a range"))),
        Some((_, b)) if b.starts_with('.') => Err(usage(format!("`{text}` has three dots"))),
        Some(("", _)) => Err(usage(format!("`{text}` does not say where to begin"))),
        Some((a, "")) => Ok((a, "HEAD")),
        Some(ends) => Ok(ends),
    }
}

fn end(site: &Site, name: &str) -> Outcome<End> {
    match Revision::find(site, name)? {
        Revision::Commit(commit) => Ok(End { name: name.to_owned(), commit }),
        Revision::Worktree => {
            let message = "the working tree is no commit, so it cannot be the end of a range";
            Err(CliError::usage(message).hint("commit what is in it, or use `overnight compare A .`"))
        }
    }
}

fn refusal(no_line: NoLine, user: &UserRepo, a: &End, b: &End) -> Outcome<CliError> {
    let (from, to) = (&a.name, &b.name);
    Ok(match no_line {
        NoLine::Empty => CliError::usage(format!("there is no commit in {from}..{to}: both are {}", short(a.commit)))
            .hint("A is the commit before the first one that is to be audited"),
        NoLine::NotBefore => {
            let error = CliError::usage(format!("`{from}` is not before `{to}` on a single line of commits"));
            match user.line(b.commit, a.commit)? {
                Ok(_) => error.hint(format!("did you mean {to}..{from}?")),
                Err(_) => error.hint(format!("`git merge-base {from} {to}` says where they part: begin there")),
            }
        }
        NoLine::Merge(merge) => {
            let merge = short(merge);
            let message = format!("{merge} is a merge: an audit needs a single line of commits");
            CliError::usage(message).hint(format!("audit what comes after it: {merge}..{to}"))
        }
    })
}
