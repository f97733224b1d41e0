//! Opening a study: begun, resumed or carried on under a changed evaluation; refused where anything would be lost or
//! compared across a change.

mod branch;
mod facts;
mod rebase;
mod recover;

pub use branch::branch_elsewhere;

use std::fs;
use std::path::{Path, PathBuf};

use overnight_model::event::SegmentFacts;
use overnight_model::spec::{self, Check, Spec};
use overnight_model::{CommitId, ExperimentId, State, Study, What};
use thiserror::Error;

use branch::BranchState;
pub(crate) use branch::{check_branch, is_our_first_lock};
use facts::{Place, facts, same_segment};
pub(crate) use facts::{assurance, is_replayed, same_evaluation};
pub(crate) use recover::recover_store;

use crate::clock;
use crate::dispatch::Fault;
use crate::gateway::account::unrecorded;
use crate::ledger::{Ledger, LedgerError};
use crate::load::{self, Problems, STATE, Site, Tree, Triplet};
use crate::lock::{Holder, Lock, LockError};
use crate::sandbox::{self, Found, agent_programs, fingerprint_inputs};
use crate::workspace::{Dirty, FileKind, GitError, ObjectId, Store, TreeFile, UserRepo, oid};

/// How a study is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    pub on_dirty: OnDirty,
    /// Begin a new segment with the evaluation as it is now.
    pub rebase: bool,
}

/// What to do about files that differ from the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDirty {
    /// Refuse by name: the baseline would not be what the person sees.
    Refuse,
    /// Take the working tree as the baseline.
    Snapshot,
    /// Say so and use the study's own.
    Note,
}

/// A study that is ready to run.
pub struct Opened {
    pub study: Study,
    pub ledger: Ledger,
    pub user: UserRepo,
    pub store: Store,
    pub lock: Lock,
    pub baseline: ObjectId,
    /// Events that the run has to record first.
    pub opening: Vec<What>,
    /// The contents those events name.
    pub contents: Vec<Vec<u8>>,
    /// What a person should know before it starts.
    pub notes: Vec<String>,
    /// What this machine enforces.
    pub found: Found,
    /// What the inputs hold, in one short name.
    pub inputs: Option<String>,
}

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("{0}")]
    Problems(Problems),
    #[error("`{path}` must hold the line `{marker}` exactly once: it divides what may change from what may not")]
    Marker { path: String, marker: String },
    #[error("could not read {path}")]
    Triplet {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("could not read the journal of calls to models")]
    Calls(#[source] std::io::Error),
    #[error("could not look at an input")]
    Inputs(#[source] std::io::Error),
    #[error("{} differs from the last commit", shown(files))]
    Dirty {
        files: Vec<Dirty>,
        /// Whether the study has a baseline already, which nothing in the checkout can change.
        begun: bool,
    },
    #[error("{what} changed since this study began: it was {old}, now it is {new}")]
    Changed { what: &'static str, old: String, new: String },
    #[error("{}", replay(*is_replayed))]
    Replay {
        /// Whether it would be replayed now.
        is_replayed: bool,
    },
    #[error("`{}` is tracked by git, and that is where studies keep their state", path.display())]
    Tracked { path: PathBuf },
    #[error("there is nothing to rebase: the study has no champion yet")]
    NotBegun,
    #[error("a keep is half done: an engine was killed before the branch had moved")]
    HalfKept,
    #[error("nothing changed since segment {segment} began: there is nothing to rebase onto")]
    Unchanged { segment: u32 },
    #[error("the branch {branch} exists already, but {} has no record of it", state.display())]
    ForeignBranch { branch: String, state: PathBuf },
    #[error(
        "the branch {branch} was moved by someone else: the study's champion is {expected}, the branch is at {found}"
    )]
    BranchMoved { branch: String, expected: CommitId, found: String },
    #[error("the branch {branch} was deleted; the study's champion is {expected}")]
    BranchDeleted {
        branch: String,
        expected: CommitId,
        store: PathBuf,
        /// Where the store has it.
        experiment: Option<ExperimentId>,
    },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

fn replay(is_replayed: bool) -> &'static str {
    match is_replayed {
        true => {
            "this study was measured live, and `gateway.replay` would answer its evaluation out of a recording: that is no measurement, and is not judged beside any"
        }
        false => {
            "this study was measured on recorded answers, and a model would be asked now: numbers of the two are not compared"
        }
    }
}

/// Opens a study, taking its lock first and giving it back on any error.
///
/// `find` says what the machine enforces, with a folder to try it in.
pub fn open(
    site: &Site,
    me: &Holder,
    How { on_dirty, rebase }: How,
    find: impl FnOnce(&Path, spec::Layer) -> Found,
) -> Result<Opened, OpenError> {
    let user = UserRepo::discover(&site.dir)?;
    match user.refuse_for(&site.study) {
        Err(GitError::Locked { path }) if is_our_first_lock(&user, &site.study, &path)? => {}
        other => other?,
    }
    let text = fs::read_to_string(&site.triplet)
        .map_err(|source| OpenError::Triplet { path: site.triplet.clone(), source })?;
    // A first look at the triplet, so that a slip in it is told before anything is made.
    let head = user.head()?;
    refuse_tracked_state(site, &user, head)?;
    if !site.state().join("ledger.db").exists() {
        spec_at(site, &user, &text, head)?;
        check_branch(&user, site, &State::default())?;
    }
    let lock = Lock::take(user.common_dir(), &site.study, me)?;
    user.exclude(&state_pattern(&user, site))?;
    let (ledger, state) = Ledger::open(&site.state())?;
    let mut notes = Vec::new();
    if rebase && state.champion.is_none() {
        return Err(OpenError::NotBegun);
    }
    if rebase && state.unadvanced.is_some() {
        return Err(OpenError::HalfKept);
    }
    // A segment that took over from another is not forgotten when its baseline failed.
    let carries = rebase || (!state.begun() && state.champion.is_some());
    let known = state.segment.as_ref().filter(|_| !carries && state.begun());
    let from = known.map_or(Ok(head), |facts| oid(&facts.baseline))?;
    let mut spec = spec_at(site, &user, &text, from)?;
    let mut baseline = from;
    match (known, on_dirty) {
        (None, OnDirty::Snapshot) => {
            baseline = snapshot(&user, head)?;
            spec = spec_at(site, &user, &text, baseline)?;
        }
        _ => {
            let mut files = dirty_locked(&user, site, &spec)?;
            // A study that has begun has its own surface, and a person who tries something has it in theirs.
            if known.is_some() || carries || on_dirty == OnDirty::Note {
                files.retain(|file| spec.surface.paths().all(|path| file.path != Path::new(path)));
            }
            if known.is_some() {
                files.retain(|file| !is_as_in(&user, baseline, &file.path));
            }
            match (files.is_empty(), on_dirty) {
                (true, _) => {}
                (false, OnDirty::Note) => {
                    notes.push(format!("{} differs from the last commit; the study's own is used", shown(&files)));
                }
                (false, _) => return Err(OpenError::Dirty { files, begun: known.is_some() && !carries }),
            }
        }
    }
    if known.is_some() && on_dirty == OnDirty::Snapshot {
        notes.push("--snapshot is for the beginning of a study; this one goes on from its own baseline".to_owned());
    }
    if let Some(facts) = known {
        let champion = state.champion().and_then(|champion| champion.commit.as_ref()).map(oid).transpose()?;
        let unlocked = unlocked(&user, site, &spec);
        note_locked_changes(&user, &unlocked, (baseline, head), facts, champion, &mut notes)?;
    }
    let branch_state = check_branch(&user, site, &state)?;
    let store = Store::open_or_init(&site.state().join("store.git"), &user)?;
    // Whoever holds the lock knows that nothing of an earlier run is alive: what it left open is lost.
    let calls = unrecorded(&site.state(), &state).map_err(OpenError::Calls)?;
    let calls = calls.into_iter().map(|called| What::Called(Box::new(called)));
    let (mut opening, mut contents) = (calls.chain(state.losses()).collect::<Vec<_>>(), Vec::new());
    if state.study.is_empty() {
        opening.push(What::StudyOpened { study: site.study.clone(), seed: random_seed()? });
    }
    let found = find(&site.state(), spec.sandbox.layer);
    let inputs = fingerprint_inputs(&spec, &site.dir, load::home().as_deref()).map_err(OpenError::Inputs)?;
    if state.run.is_some() {
        recover_store(&store, ledger.reader(), &state)?;
    }
    let enforced = (found.tier, inputs.clone());
    if carries {
        let ground = rebase::Ground { user: &user, store: &store, reader: ledger.reader(), state: &state, spec: &spec };
        let unlocked = unlocked(&user, site, &spec);
        let made = ground.rebase(baseline, enforced, &unlocked)?;
        baseline = made.baseline;
        notes.extend(made.notes);
        opening.extend(made.events);
        contents.extend(made.contents);
        user.set_baseline_ref(&site.study, baseline)?;
    } else {
        let facts = facts(&user, &spec, baseline, enforced, Place::present(&state), &mut contents)?;
        match &state.segment {
            Some(known) if state.begun() => same_evaluation(known, &facts)?,
            Some(known) if same_segment(known, &facts) => {}
            // Nothing was measured yet, so a change loses nothing.
            _ => opening.push(What::SegmentOpened(facts.into())),
        }
        if branch_state == BranchState::None {
            user.set_baseline_ref(&site.study, baseline)?;
        }
    }
    let study = Study::new(spec, state);
    Ok(Opened { study, ledger, user, store, lock, baseline, opening, contents, notes, found, inputs })
}

/// Whether what is left in our own folder would end up elsewhere: see below.
pub fn refuse_foreign_state(site: &Site) -> Result<(), OpenError> {
    let user = UserRepo::discover(&site.dir)?;
    let head = user.head()?;
    refuse_tracked_state(site, &user, head)
}

/// A link or a file of our own folder's name, come with the repository, would lead what we write and remove elsewhere.
pub(crate) fn refuse_tracked_state(site: &Site, user: &UserRepo, head: ObjectId) -> Result<(), OpenError> {
    let state = user.prefix(&site.dir).join(STATE);
    match user.files(head)?.into_iter().find(|file| file.path.starts_with(&state)) {
        Some(file) => Err(OpenError::Tracked { path: file.path }),
        None => Ok(()),
    }
}

/// The triplet as it is, read against the files of a commit.
pub fn spec_at(site: &Site, user: &UserRepo, text: &str, commit: ObjectId) -> Result<Spec, OpenError> {
    let folder = user.prefix(&site.dir).to_string_lossy().into_owned();
    let files = user.files(commit)?;
    let regular = files.iter().filter(|file| matches!(file.kind, FileKind::File | FileKind::Executable));
    // A name that is not UTF-8 cannot be written in a triplet.
    let inside = |file: &TreeFile| Some(file.path.strip_prefix(&folder).ok()?.to_str()?.to_owned());
    let tracked: Vec<String> = regular.filter_map(inside).collect();
    let exists = |path: &str| site.dir.join(path).exists();
    let names = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let home = load::home();
    let name = site.triplet_name();
    let triplet = Triplet { file: &name, text, study: &site.study, folder: &folder };
    let tree = Tree { tracked: &tracked, exists: &exists, names: &names, dir: &site.dir, home: home.as_deref() };
    load::parse(&triplet, &tree).map_err(OpenError::Problems)
}

/// Files that differ from the last commit.
fn dirty_locked(user: &UserRepo, site: &Site, spec: &Spec) -> Result<Vec<Dirty>, OpenError> {
    let unlocked = unlocked(user, site, spec);
    let mut files = user.dirty()?;
    files.retain(|file| !unlocked.contains(&file.path));
    Ok(files)
}

/// What coding agents are told of a repository: no part of an evaluation that does not name it.
const AGENT_DOCS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The triplet is compared by what it says, the program is never locked, and an agent's own program and what coding agents
/// are told are taken as they are now, unless the evaluation uses them too. What is held out is no part of the evaluation.
pub(crate) fn unlocked(user: &UserRepo, site: &Site, spec: &Spec) -> Vec<PathBuf> {
    let folder = user.prefix(&site.dir);
    let mut paths = vec![folder.join(site.triplet_name()), folder.join(&spec.program)];
    let evaluate = &spec.evaluate;
    let mut commands = vec![evaluate.run.as_str()];
    commands.extend(evaluate.score.iter().map(|score| score.run.as_str()));
    commands.extend(evaluate.prepare.iter().map(|step| step.run.as_str()));
    commands.extend(spec.guards.iter().filter_map(|guard| match &guard.check {
        Check::Run(command) => Some(command.as_str()),
        Check::Number { .. } => None,
    }));
    let programs = agent_programs(spec, &site.dir, user.workdir(), load::home().as_deref());
    let docs =
        [Path::new(""), &folder].into_iter().flat_map(|at| AGENT_DOCS.map(|name| user.workdir().join(at).join(name)));
    let own = programs.into_iter().chain(docs).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        commands.iter().all(|command| !command.contains(&name))
    });
    paths.extend(own.filter_map(|path| path.strip_prefix(user.workdir()).ok().map(Path::to_owned)));
    paths.extend(held_out(user, site, spec));
    paths
}

/// Tracked files that are held out, at the baseline or since.
fn held_out(user: &UserRepo, site: &Site, spec: &Spec) -> Vec<PathBuf> {
    let Some(holdout) = &spec.holdout else { return Vec::new() };
    let home = load::home();
    let named = sandbox::held_out(spec, &site.dir, home.as_deref().unwrap_or(Path::new("/")));
    let now = user.head().and_then(|head| user.files(head)).unwrap_or_default().into_iter().map(|file| file.path);
    let now = now.filter(|path| named.iter().any(|held| user.workdir().join(path).starts_with(held)));
    now.chain(holdout.tracked.iter().map(PathBuf::from)).collect()
}

/// Whether a file of the checkout is what it was in a commit, as it is after `--snapshot`.
pub(crate) fn is_as_in(user: &UserRepo, commit: ObjectId, path: &Path) -> bool {
    let now = fs::read(user.workdir().join(path)).ok();
    now == path.to_str().and_then(|path| user.read(commit, path).ok())
}

/// A study goes on with its baseline's locked files; that the person's have moved on is worth a word.
fn note_locked_changes(
    user: &UserRepo,
    unlocked: &[PathBuf],
    (baseline, head): (ObjectId, ObjectId),
    facts: &SegmentFacts,
    champion: Option<ObjectId>,
    notes: &mut Vec<String>,
) -> Result<(), OpenError> {
    if baseline == head {
        return Ok(());
    }
    let changed = locked_changes(user, unlocked, (baseline, head), facts)?;
    let differs = |path: &&str| match (user.read(head, path), user.read(baseline, path)) {
        (Ok(now), Ok(then)) => now != then && champion.is_none_or(|commit| user.read(commit, path).ok() != Some(now)),
        _ => false,
    };
    if let Some(path) = facts.surface.paths().find(differs) {
        notes.push(format!(
            "`{path}` in the last commit is neither the baseline's nor the champion's; `overnight try --from-worktree` \
             has it judged"
        ));
    }
    if let [first, rest @ ..] = changed.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let first = first.display();
        notes.push(format!(
            "`{first}`{more} changed since the baseline; the study goes on with the baseline's (`overnight rebase` takes \
             the new one)"
        ));
    }
    Ok(())
}

/// Locked files that a commit has otherwise than the baseline.
pub(crate) fn locked_changes(
    user: &UserRepo,
    unlocked: &[PathBuf],
    (baseline, head): (ObjectId, ObjectId),
    facts: &SegmentFacts,
) -> Result<Vec<PathBuf>, GitError> {
    if baseline == head {
        return Ok(Vec::new());
    }
    let mut changed = user.changed(baseline, head, &facts.surface)?;
    changed.retain(|path| !unlocked.contains(path));
    Ok(changed)
}

fn snapshot(user: &UserRepo, head: ObjectId) -> Result<ObjectId, OpenError> {
    match user.dirty()?.is_empty() {
        true => Ok(head),
        false => Ok(user.snapshot("overnight: the working tree as baseline", clock::now().0 / 1000)?),
    }
}

pub(crate) fn state_pattern(user: &UserRepo, site: &Site) -> String {
    match user.prefix(&site.dir).to_string_lossy().as_ref() {
        "" => format!("/{STATE}/"),
        folder => format!("/{folder}/{STATE}/"),
    }
}

/// The one drop of chance in a study; everything after it follows from the ledger.
pub(crate) fn random_seed() -> Result<u64, OpenError> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Fault::Other(std::io::Error::from(error).into()))?;
    Ok(u64::from_le_bytes(bytes))
}

/// The first few files by name.
fn shown(files: &[Dirty]) -> String {
    let named: Vec<String> = files.iter().take(3).map(|file| format!("`{}`", file.path.display())).collect();
    let more = if files.len() > 3 { format!(" and {} more", files.len() - 3) } else { String::new() };
    format!("{}{more}", named.join(", "))
}
