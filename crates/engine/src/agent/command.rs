//! Any program as an agent: the brief as JSON on its standard input, the surface edited in place.

use std::os::fd::AsFd;

use overnight_model::Millis;
use overnight_model::brief::Brief;
use overnight_model::event::AttemptFailure;
use overnight_model::proposal::Contents;

use super::Answer;
use crate::brief::read_program;
use crate::dispatch::Captured;
use crate::process::{Stdin, Stream};
use crate::worker::{Capture, Kind, Left, Order, Place, Ran, Room, Trouble, describe};
use crate::workspace::{GitError, SurfaceRead, changes_in_upper, is_executable, is_gone, read_surface};
use overnight_model::event::Loss;

/// No surface that a person edits is larger; a proposal that is fills disks, not metrics.
pub(super) const SURFACE_LIMIT: u64 = 4 * 1024 * 1024;
/// A hypothesis is one line; this leaves room for an agent that writes an essay.
const NOTE_LIMIT: u64 = 64 * 1024;
const NOTE: &str = "note";

/// Asks once. Judged by the difference it leaves, never by what it says.
pub(crate) fn ask(
    command: &str,
    limit: Millis,
    desk: &mut Place,
    room: &Room,
    mut brief: Brief,
    contents: &Contents,
) -> Result<Answer, Trouble> {
    let spec = &room.shop.spec;
    desk.fresh(room, contents)?;
    brief.set_program(read_program(&room.shop.triplet_dir.join(&spec.program)).as_deref());
    let note = desk.seen_said(room).join(NOTE);
    let environment = vec![
        ("OVERNIGHT_NOTE".to_owned(), note.to_string_lossy().into_owned()),
        ("OVERNIGHT_BUDGET_SECONDS".to_owned(), spec.evaluate.budget.as_secs().to_string()),
    ];
    let stdin = Stdin::Bytes(serde_json::to_vec(&brief).unwrap_or_default());
    let order = Order { command: command.to_owned(), environment, stdin, limit, models: None };
    let (mut capture, mut said) = (Capture::new(), Capture::with_limits(0, NOTE_LIMIT as usize));
    let Ran { ending, usage, left } = desk.run(room, Kind::Agent, order, |stream, bytes| {
        capture.feed(bytes);
        if stream == Stream::Stdout {
            said.feed(bytes);
        }
    })?;
    let output = Some(capture.finish());
    let failed = |failure, output| Ok(Answer::Failed { failure, output, used: None });
    if !ending.succeeded() {
        return failed(AttemptFailure::error(format!("the agent ended: {ending}")), output);
    }
    let edited = match take_back(desk, room, &left, contents)? {
        Ok(edited) => edited,
        Err(what) => return failed(AttemptFailure::Policy { what }, output),
    };
    let description = hypothesis(&left, &said.finish());
    Ok(Answer::Proposal { contents: edited, description, took: usage.wall, output, used: None })
}

/// Takes the surface and nothing else; an edit of anything locked is refused by name.
pub(super) fn take_back(
    desk: &Place,
    room: &Room,
    left: &Left,
    contents: &Contents,
) -> Result<Result<Contents, String>, Trouble> {
    let fault = |what: String| Trouble::Loss(Loss::Fault { what });
    let failed = |error: GitError| fault(describe(&error));
    let paths: Vec<String> = contents.0.iter().map(|(path, _)| path.clone()).collect();
    let tree = left.tree.as_ref().map(AsFd::as_fd);
    let changes = match (tree, room.shop.sandbox.standard(), desk.copy()) {
        (Some(tree), Some(standard), _) => changes_in_upper(tree, &standard.locked(), &paths).map_err(failed)?,
        (_, _, Some(copy)) => copy.changes(&paths).map_err(failed)?,
        _ => return Err(fault("the agent's copy is gone".to_owned())),
    };
    let read = |path: &str| match (tree, desk.copy()) {
        (Some(tree), _) => read_surface(tree, path, SURFACE_LIMIT),
        (None, Some(copy)) => copy.read_surface(path, SURFACE_LIMIT),
        (None, None) => Ok(SurfaceRead::Missing),
    };
    let root = tree.map(rustix::io::dup).or_else(|| Some(desk.copy()?.open())).and_then(Result::ok);
    if let Some(path) = changes.changed.first() {
        let is_gone = root.as_ref().is_some_and(|root| is_gone(root.as_fd(), path));
        let done = if is_gone { "removed" } else { "changed" };
        return Ok(Err(format!("it {done} `{}`, which is locked", path.display())));
    }
    let names = &room.shop.names;
    let twins = changes.extra_named.iter().find_map(|path| Some((path, names.twin_of(path)?)));
    if let Some((path, known)) = twins {
        return Ok(Err(format!("it made `{}`, which others take for `{known}`", path.display())));
    }
    let mut edited = Vec::new();
    for path in paths {
        let problem = match read(&path).map_err(failed)? {
            SurfaceRead::Contents(bytes) => {
                let runs = root.as_ref().is_some_and(|root| is_executable(root.as_fd(), &path));
                if runs == names.is_executable(&path) {
                    edited.push((path, bytes));
                    continue;
                }
                format!("it changed the mode of `{path}`")
            }
            SurfaceRead::Missing => format!("it removed `{path}`"),
            SurfaceRead::NotAFile(what) => format!("it left {what} in place of `{path}`"),
            SurfaceRead::TooLarge(bytes) => {
                format!("it made `{path}` {bytes} bytes long, the limit is {SURFACE_LIMIT}")
            }
        };
        return Ok(Err(problem));
    }
    Ok(Ok(Contents(edited)))
}

/// What it wrote to its note, else the last line it printed that is not empty.
fn hypothesis(left: &Left, said: &Captured) -> String {
    let written = left.read_said(NOTE, NOTE_LIMIT).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if let Some(written) = written.filter(|text| !text.trim().is_empty()) {
        return written;
    }
    let text = String::from_utf8_lossy(&said.kept).into_owned();
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").to_owned()
}
