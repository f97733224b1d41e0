//! Opening a study: begun or resumed, refused where anything would be lost or compared across a change.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_model::event::SegmentFacts;
use overnight_model::proposal::{self, Contents, SurfaceBlob};
use overnight_model::spec::{self, Part, Spec, SurfaceFile, Tier};
use overnight_model::{CommitId, ExperimentId, Segment, State, Study, What};
use thiserror::Error;

use crate::clock;
use crate::dispatch::Fault;
use crate::ledger::{Ledger, LedgerError, Reader};
use crate::load::{self, Problems, STATE, Site, Tree, Triplet};
use crate::lock::{Holder, Lock, LockError};
use crate::plans;
use crate::sandbox::{Found, fingerprint_inputs};
use crate::workspace::{CommitPlan, Dirty, FileKind, GitError, ObjectId, Store, TreeFile, UserRepo, oid};

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
    #[error("the branch {branch} exists already, but {} has no record of it", state.display())]
    ForeignBranch { branch: String, state: PathBuf },
    #[error(
        "the branch {branch} was moved by someone else: the study's champion is {expected}, the branch is at {found}"
    )]
    BranchMoved { branch: String, expected: CommitId, found: String },
    #[error("the branch {branch} was deleted; the study's champion is {expected}")]
    BranchDeleted { branch: String, expected: CommitId, store: PathBuf, experiment: ExperimentId },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Opens a study, taking its lock first and giving it back on any error.
///
/// `find` says what the machine enforces, with a folder to try it in.
pub fn open(
    site: &Site,
    me: &Holder,
    on_dirty: OnDirty,
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
    if !site.state().join("ledger.db").exists() {
        spec_at(site, &user, &text, head)?;
        check_branch(&user, site, &State::default())?;
    }
    let lock = Lock::take(user.common_dir(), &site.study, me)?;
    user.exclude(&state_pattern(&user, site))?;
    let (ledger, state) = Ledger::open(&site.state())?;
    let mut notes = Vec::new();
    let known = state.segment.as_ref().filter(|_| state.calibrated());
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
            if known.is_some() || on_dirty == OnDirty::Note {
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
                (false, _) => return Err(OpenError::Dirty { files, begun: known.is_some() }),
            }
        }
    }
    if known.is_some() && on_dirty == OnDirty::Snapshot {
        notes.push("--snapshot is for the beginning of a study; this one goes on from its own baseline".to_owned());
    }
    if let Some(facts) = known {
        note_locked_changes(&user, &unlocked(&user, site, &spec), (baseline, head), facts, &mut notes)?;
    }
    let branch_state = check_branch(&user, site, &state)?;
    let store = Store::open_or_init(&site.state().join("store.git"), &user)?;
    // Whoever holds the lock knows that nothing of an earlier run is alive: what it left open is lost.
    let (mut opening, mut contents) = (state.losses(), Vec::new());
    if state.study.is_empty() {
        opening.push(What::StudyOpened { study: site.study.clone(), seed: random_seed()? });
    }
    let found = find(&site.state(), spec.sandbox.layer);
    let inputs = fingerprint_inputs(&spec, &site.dir, load::home().as_deref()).map_err(OpenError::Inputs)?;
    let facts = facts(&user, &spec, baseline, &state, (found.tier, inputs.clone()), &mut contents)?;
    match &state.segment {
        Some(known) if state.calibrated() => same_evaluation(known, &facts)?,
        Some(known) if same_segment(known, &facts) => {}
        // Nothing was measured yet, so a change loses nothing.
        _ => opening.push(What::SegmentOpened(facts.into())),
    }
    if branch_state == BranchState::None {
        user.set_baseline_ref(&site.study, baseline)?;
    }
    if state.run.is_some() {
        recover_store(&store, ledger.reader(), &state)?;
    }
    let study = Study::new(spec, state);
    Ok(Opened { study, ledger, user, store, lock, baseline, opening, contents, notes, found, inputs })
}

/// Whether a lock was left by a run that was killed while it made the branch. It holds the person's own commit, so
/// only the ref that we set to the baseline before can tell; the keep finds the lock again by its value.
fn is_our_first_lock(user: &UserRepo, study: &str, lock: &Path) -> Result<bool, GitError> {
    let Some(baseline) = user.baseline_ref(study)? else { return Ok(false) };
    let held = fs::read_to_string(lock).unwrap_or_default();
    let not_further = user.branch_head(study)?.is_none_or(|head| head == baseline);
    Ok(not_further && held == format!("{baseline}\n") && lock.ends_with(format!("overnight/{study}.lock")))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchState {
    None,
    Ours,
}

/// The branch must be where the ledger says, or half-way to where a recorded keep wants it.
fn check_branch(user: &UserRepo, site: &Site, state: &State) -> Result<BranchState, OpenError> {
    let branch = format!("overnight/{}", site.study);
    let head = user.branch_head(&site.study)?;
    let champion = state.champion().and_then(|champion| champion.commit.clone());
    let (Some(expected), Some(experiment)) = (champion, state.champion) else {
        // A recorded baseline whose branch was made just before a crash is found again by the keep itself.
        let baseline = state.segment.as_ref().map(|facts| oid(&facts.baseline)).transpose()?;
        return match head {
            Some(found) if state.unadvanced.is_none() || Some(found) != baseline => {
                Err(OpenError::ForeignBranch { branch, state: site.state() })
            }
            _ => Ok(BranchState::None),
        };
    };
    match head {
        Some(found) if found == oid(&expected)? => Ok(BranchState::Ours),
        // A crash between the branch and its event: the keep is done again and finds its own commit, or stops.
        Some(_) if state.unadvanced.is_some() => Ok(BranchState::Ours),
        found => Err(elsewhere(site, expected, experiment, found)),
    }
}

/// What to say of a branch that is not at the champion; `None` while there is no champion.
pub fn branch_elsewhere(site: &Site, state: &State, found: Option<ObjectId>) -> Option<OpenError> {
    let champion = state.champion()?;
    Some(elsewhere(site, champion.commit.clone()?, champion.id, found))
}

fn elsewhere(site: &Site, expected: CommitId, experiment: ExperimentId, found: Option<ObjectId>) -> OpenError {
    let branch = format!("overnight/{}", site.study);
    match found {
        Some(found) => OpenError::BranchMoved { branch, expected, found: found.to_string() },
        None => {
            let store = site.state().join("store.git");
            OpenError::BranchDeleted { branch, expected, store, experiment }
        }
    }
}

/// The triplet as it is, read against the files of a commit.
pub(crate) fn spec_at(site: &Site, user: &UserRepo, text: &str, commit: ObjectId) -> Result<Spec, OpenError> {
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

/// The triplet is compared by what it says, and the program is never locked.
fn unlocked(user: &UserRepo, site: &Site, spec: &Spec) -> [PathBuf; 2] {
    let folder = user.prefix(&site.dir);
    [folder.join(site.triplet_name()), folder.join(&spec.program)]
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
    notes: &mut Vec<String>,
) -> Result<(), OpenError> {
    if baseline == head {
        return Ok(());
    }
    let mut changed = user.changed(baseline, head, &facts.surface)?;
    changed.retain(|path| !unlocked.contains(path));
    if let [first, rest @ ..] = changed.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let first = first.display();
        notes.push(format!("`{first}`{more} changed since the baseline; the study goes on with the baseline's"));
    }
    Ok(())
}

fn snapshot(user: &UserRepo, head: ObjectId) -> Result<ObjectId, OpenError> {
    match user.dirty()?.is_empty() {
        true => Ok(head),
        false => Ok(user.snapshot("overnight: the working tree as baseline", clock::now().0 / 1000)?),
    }
}

fn facts(
    user: &UserRepo,
    spec: &Spec,
    baseline: ObjectId,
    state: &State,
    (tier, inputs): (Tier, Option<String>),
    contents: &mut Vec<Vec<u8>>,
) -> Result<SegmentFacts, OpenError> {
    let mut files = Vec::new();
    for SurfaceFile { path, part } in &spec.surface.files {
        let bytes = user.read(baseline, path)?;
        if let (Part::Above(marker) | Part::Below(marker), None) = (part, proposal::editable(part, &bytes)) {
            return Err(OpenError::Marker { path: path.clone(), marker: marker.clone() });
        }
        files.push((path.clone(), bytes));
    }
    let files = Contents(files);
    let blobs: Vec<SurfaceBlob> = files.blobs();
    contents.extend(files.0.into_iter().map(|(_, bytes)| bytes));
    let known = state.segment.as_ref();
    let segment = match known {
        Some(known) if state.calibrated() => known.segment,
        Some(known) => Segment(known.segment.0 + 1),
        None => Segment(1),
    };
    Ok(SegmentFacts {
        segment,
        baseline: CommitId(baseline.to_string()),
        surface: spec.surface.clone(),
        contents: blobs,
        metric: spec.metric.clone(),
        evaluate: spec.evaluate.clone(),
        guards: spec.guards.clone(),
        assurance: spec.evaluate.assurance().name().to_owned(),
        sandbox: tier.name().to_owned(),
        inputs,
    })
}

fn same_segment(known: &SegmentFacts, now: &SegmentFacts) -> bool {
    SegmentFacts { segment: now.segment, ..known.clone() } == *now
}

/// Names the first thing whose change would make old and new numbers incomparable.
pub(crate) fn same_evaluation(known: &SegmentFacts, now: &SegmentFacts) -> Result<(), OpenError> {
    let part = |file: &SurfaceFile| match &file.part {
        Part::Whole => file.path.clone(),
        Part::Above(marker) => format!("{} above {marker}", file.path),
        Part::Below(marker) => format!("{} below {marker}", file.path),
    };
    let paths = |facts: &SegmentFacts| facts.surface.files.iter().map(part).collect::<Vec<_>>().join(", ");
    let env = |facts: &SegmentFacts| format!("{:?}", facts.evaluate.env);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let score = |facts: &SegmentFacts| or_none(facts.evaluate.score.as_ref().map(|score| score.run.clone()));
    let hidden = |facts: &SegmentFacts| facts.evaluate.hidden.join(", ");
    let inputs = |facts: &SegmentFacts| {
        facts.evaluate.inputs.iter().map(|input| input.path.as_str()).collect::<Vec<_>>().join(", ")
    };
    let prepare = |facts: &SegmentFacts| {
        or_none(facts.evaluate.prepare.as_ref().map(|step| format!("{} (network {})", step.run, step.network.name())))
    };
    let network = |facts: &SegmentFacts| facts.evaluate.network.name().to_owned();
    let pairs = [
        ("surface", paths(known), paths(now)),
        ("metric.name", known.metric.name.clone(), now.metric.name.clone()),
        ("metric.goal", known.metric.goal.to_string(), now.metric.goal.to_string()),
        ("metric.pick", format!("{:?}", known.metric.pick), format!("{:?}", now.metric.pick)),
        ("evaluate.run", known.evaluate.run.clone(), now.evaluate.run.clone()),
        ("evaluate.budget", known.evaluate.budget.to_string(), now.evaluate.budget.to_string()),
        ("evaluate.env", env(known), env(now)),
        ("evaluate.score", score(known), score(now)),
        ("evaluate.hidden", hidden(known), hidden(now)),
        ("evaluate.inputs", inputs(known), inputs(now)),
        ("what the inputs hold", or_none(known.inputs.clone()), or_none(now.inputs.clone())),
        ("evaluate.prepare", prepare(known), prepare(now)),
        ("evaluate.network", network(known), network(now)),
        ("evaluate.warm", known.evaluate.warm.to_string(), now.evaluate.warm.to_string()),
    ];
    match pairs.into_iter().find(|(_, old, new)| old != new) {
        Some((what, old, new)) => Err(OpenError::Changed { what, old: format!("`{old}`"), new: format!("`{new}`") }),
        None => Ok(()),
    }
}

/// Packing syncs what it packs. A proposal is three objects or more, so no more than this many experiments can lie
/// loose before the next pack.
const MOST_UNPACKED: usize = crate::worker::PACK_AT / 3 + 100;

/// Proposals are not synced when they are made: what a crash tore or lost is made again from the ledger. A power
/// loss does so long after a run that ended well, and may leave no trace of an object at all.
fn recover_store(store: &Store, reader: &Reader, state: &State) -> Result<(), OpenError> {
    store.sweep()?;
    let refs = store.refs()?;
    let paths: Vec<String> =
        state.segment.iter().flat_map(|facts| facts.surface.paths()).map(ToOwned::to_owned).collect();
    let mut rows = Vec::new();
    reader.each_row(ExperimentId(1), |row| rows.extend(row.commit.map(|commit| (row.experiment, commit))))?;
    let synced = rows.len().saturating_sub(MOST_UNPACKED);
    for (index, (experiment, commit)) in rows.into_iter().enumerate() {
        let wanted = oid(&commit)?;
        if refs.get(&experiment.0) == Some(&wanted) && (index < synced || store.whole(wanted, &paths)) {
            continue;
        }
        for plan in made_of(reader, state, experiment)? {
            store.write(&plan)?;
        }
        store.set_ref(experiment.0, wanted)?;
    }
    Ok(())
}

/// The commits of an experiment, as plans: its proposal, and its keep where there was one.
fn made_of(reader: &Reader, state: &State, experiment: ExperimentId) -> Result<Vec<CommitPlan>, OpenError> {
    let mut made: Vec<_> = plans::proposal_plan(reader, experiment)?.into_iter().map(|(plan, _)| plan).collect();
    if let (Some(parent), Some(facts)) = (plans::kept_parent(reader, experiment)?, &state.segment) {
        made.push(plans::kept_plan(reader, &facts.metric, experiment, &parent)?);
    }
    Ok(made)
}

pub(crate) fn state_pattern(user: &UserRepo, site: &Site) -> String {
    match user.prefix(&site.dir).to_string_lossy().as_ref() {
        "" => format!("/{STATE}/"),
        folder => format!("/{folder}/{STATE}/"),
    }
}

/// The one drop of chance in a study; everything after it follows from the ledger.
fn random_seed() -> Result<u64, OpenError> {
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
