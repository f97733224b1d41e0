//! An agent that writes the exam: new files are taken back, and nothing of what is there already may change.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use overnight_model::ExperimentId;
use overnight_model::call::Caller;
use overnight_model::event::{AttemptFailure, Loss};
use overnight_model::proposal::Contents;
use overnight_model::spec::{AgentKind, Member};

use super::coding::{self, Spoken};
use super::secrets::Secrets;
use crate::dispatch::Captured;
use crate::process::Stdin;
use crate::worker::{Capture, Kind, Left, Order, Place, Ran, Room, Trouble, describe};
use crate::workspace::{GitError, NewFile, changes_in_upper, read_new};

/// As many names as a sentence has room for.
const NAMED: usize = 3;

/// What a drafter left, or why that is nothing; and what it printed.
pub(crate) type Drafted = (Result<Vec<NewFile>, AttemptFailure>, Captured);

/// Asks once, in a copy of the tree in which `own` lie as the drafter left them before.
pub(crate) fn ask(
    member: &Member,
    desk: &mut Place,
    room: &Room,
    prompt: &str,
    own: &[NewFile],
) -> Result<Drafted, Trouble> {
    desk.reach(member.network);
    // Nothing is counted yet that could have another number.
    desk.calls_as(Caller::Agent { name: member.name.clone(), experiment: ExperimentId::BASELINE });
    // There is no surface yet, only a name that stands for it.
    desk.fresh(room, &Contents(Vec::new()))?;
    match &member.kind {
        AgentKind::Coding(coding) => {
            let spoken = match coding::talk(coding, member.timeout, desk, room, &[], prompt.to_owned())? {
                Ok(spoken) => spoken,
                Err(failure) => return Ok((Err(failure), Capture::new().finish())),
            };
            let Spoken { ending, left, said, complaint, output, secrets, .. } = spoken;
            let taken = match take(desk, room, &left, own)? {
                Err(what) => Err(AttemptFailure::Policy { what }),
                Ok(files) if holds_key(&secrets, &files) => {
                    let what = "it wrote a key of its own into a file".to_owned();
                    Err(AttemptFailure::Policy { what })
                }
                Ok(files) if files != own && coding::is_done(&ending, &said) => Ok(files),
                Ok(_) => Err(coding::failure(&ending, &said, &complaint)),
            };
            Ok((taken, output))
        }
        AgentKind::Command(command) => {
            let stdin = Stdin::Bytes(prompt.as_bytes().to_vec());
            let order =
                Order { command: command.clone(), environment: Vec::new(), stdin, limit: member.timeout, models: None };
            let mut capture = Capture::new();
            let Ran { ending, left, .. } = desk.run(room, Kind::Agent, order, |_, bytes| capture.feed(bytes))?;
            let taken = match take(desk, room, &left, own)? {
                _ if !ending.succeeded() => Err(AttemptFailure::error(format!("the program ended: {ending}"))),
                Err(what) => Err(AttemptFailure::Policy { what }),
                Ok(files) if files == own => Err(AttemptFailure::NoChange),
                Ok(files) => Ok(files),
            };
            Ok((taken, capture.finish()))
        }
        AgentKind::Tuner | AgentKind::Api(_) => {
            let failure = AttemptFailure::error("only a program that works in a folder can draft files");
            Ok((Err(failure), Captured { kept: Vec::new(), bytes: 0 }))
        }
    }
}

/// The draft as it is now, or the rule that was broken.
fn take(desk: &Place, room: &Room, left: &Left, own: &[NewFile]) -> Result<Result<Vec<NewFile>, String>, Trouble> {
    let fault = |what: String| Trouble::Loss(Loss::Fault { what });
    let failed = |error: GitError| fault(describe(&error));
    let tree = left.tree.as_ref().map(AsFd::as_fd);
    let changes = match (tree, room.shop.sandbox.standard(), desk.copy()) {
        (Some(tree), Some(standard), _) => changes_in_upper(tree, &standard.locked(), &[]).map_err(failed)?,
        (_, _, Some(copy)) => copy.changes(&[]).map_err(failed)?,
        _ => return Err(fault("the agent's copy is gone".to_owned())),
    };
    let is_own = |path: &Path| own.iter().any(|file| Path::new(&file.path) == path);
    let foreign: Vec<&PathBuf> = changes.changed.iter().filter(|path| !is_own(path)).collect();
    if !foreign.is_empty() {
        let named: Vec<String> = foreign.iter().take(NAMED).map(|path| format!("`{}`", path.display())).collect();
        let more = foreign.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Ok(Err(format!("it changed {}{more}, and may only add files", named.join(", "))));
    }
    let tracked = room.shop.user.files(room.shop.baseline).map_err(failed)?;
    let known: HashSet<&str> = tracked.iter().filter_map(|file| file.path.to_str()).collect();
    let root = match (tree.map(rustix::io::dup), desk.copy()) {
        (Some(root), _) => root,
        (None, Some(copy)) => copy.open(),
        (None, None) => return Err(fault("the agent's copy is gone".to_owned())),
    };
    let root = root.map_err(|errno| fault(describe(&std::io::Error::from(errno))))?;
    let is_known = |path: &str| known.contains(path) && !is_own(Path::new(path));
    let mut files = match read_new(root.as_fd(), &is_known).map_err(failed)? {
        Ok(files) => files,
        Err(why) => return Ok(Err(why)),
    };
    let twins = files.iter().find_map(|file| Some((&file.path, room.shop.names.twin_of(Path::new(&file.path))?)));
    if let Some((path, known)) = twins {
        return Ok(Err(format!("it made `{path}`, which others take for `{known}`")));
    }
    // What it left alone is not in its layer.
    let is_untouched = |file: &&NewFile| !changes.changed.iter().any(|path| Path::new(&file.path) == path);
    let kept: Vec<NewFile> = own.iter().filter(is_untouched).cloned().collect();
    files.extend(kept);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(Ok(files))
}

fn holds_key(secrets: &Secrets, files: &[NewFile]) -> bool {
    secrets.are_in(&Contents(files.iter().map(|file| (file.path.clone(), file.bytes.clone())).collect()))
}
