//! A place where one command at a time may run, and what it leaves there.
//!
//! In a sandbox with a root of its own a place is little more than a number: what a command sees is put together for
//! it, and gone with it. Elsewhere it is a working copy, a folder for artifacts and a temporary folder.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use overnight_model::call::Caller;
use overnight_model::event::Loss;
use overnight_model::measure::Usage;
use overnight_model::proposal::Contents;
use overnight_model::spec;
use overnight_model::{Ending, Millis};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::models::{self, Models};
use super::{HINT_MARK, Kept, Kind, Shop, StopHandle, Trouble};
use crate::clock;
use crate::context::Shown;
use crate::dispatch::Fault;
use crate::gateway::Door;
use crate::process::{self, Job, KeeperError, Stdin, Stream};
use crate::sandbox::{self, Phase, SeatId, Standard};
use crate::workspace::{self, Copy, GitError};

/// Below this much free space an evaluation would fail for our reasons, not for its own.
pub const DISK_FLOOR: u64 = 16 * 1024 * 1024;

/// How long a tree may take to end by itself when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// No person reads more, and a program that prints it has lost its way.
const OUTPUT_LIMIT: u64 = 256 * 1024 * 1024;

/// The last number that has a user of its own.
const LAST_SEAT: u32 = 499;

/// What a worker has around it.
pub struct Room {
    pub(crate) shop: Shop,
    pub(crate) stops: StopHandle,
    pub(crate) kept: Arc<Kept>,
}

/// One folder of the engine's own, used by one command after another; nothing of one is there for the next.
pub(crate) struct Place {
    dir: PathBuf,
    role: Role,
    number: u32,
    /// Files of the baseline that are not for whoever runs here.
    left_out: Vec<String>,
    copy: Option<Copy>,
    /// What is in the surface, where there is no copy to hold it.
    contents: Contents,
    /// Nothing has run here since it was made as new.
    is_tidy: bool,
    /// What whoever sits here reaches, where that is another network than the evaluation's.
    pub(super) network: Option<spec::Network>,
    /// Who asks models here.
    pub(super) caller: Option<Caller>,
    /// What whoever sits here may read besides the tree.
    context: Vec<Shown>,
}

/// Who runs in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Candidate,
    Scorer,
    Agent,
    /// A quick look at a candidate, beside the slots.
    Smoke,
    /// The holdout's own command, which takes the place of a scorer where there is one, else of a candidate.
    Holdout,
}

impl Role {
    fn folder(self) -> &'static str {
        match self {
            Role::Candidate => "slots",
            Role::Scorer => "scorers",
            Role::Agent => "desks",
            Role::Smoke => "smokes",
            Role::Holdout => "holdouts",
        }
    }
}

/// How a command in a place ended, and what it used.
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    pub(crate) usage: Usage,
    pub(crate) left: Left,
}

/// Folders as a command left them. None is there where they are gone by now.
pub(crate) struct Left {
    /// The artifacts, or why they cannot be had.
    pub(crate) out: Result<OwnedFd, Errno>,
    /// Metrics, or a note.
    pub(crate) said: Option<OwnedFd>,
    /// What an agent changed of the tree, where that is a layer of its own.
    pub(crate) tree: Option<OwnedFd>,
}

impl Place {
    pub(crate) fn new(study: &Path, role: Role, number: u32, left_out: Vec<String>) -> Place {
        let dir = study.join(role.folder()).join(number.to_string());
        Place {
            dir,
            role,
            number,
            left_out,
            copy: None,
            contents: Contents(Vec::new()),
            is_tidy: false,
            network: None,
            caller: None,
            context: Vec::new(),
        }
    }

    /// Makes the place as new, with these contents in the surface.
    pub(crate) fn fresh(&mut self, room: &Room, contents: &Contents) -> Result<(), Trouble> {
        enough_room(&self.dir)?;
        if room.shop.sandbox.standard().is_some() {
            self.contents = contents.clone();
            return Ok(());
        }
        let was_tidy = std::mem::take(&mut self.is_tidy);
        let mut made = if was_tidy { self.put(contents) } else { self.lay_out(room, contents) };
        if made.is_err() {
            // The command before may have done anything to its copy, down to removing it.
            self.copy = None;
            made = self.lay_out(room, contents);
        }
        let made = made
            .and_then(|()| self.link_inputs(room))
            .and_then(|()| self.link_held_out(room))
            .and_then(|()| self.copy_context());
        made.map_err(|error| match enough_room(&self.dir) {
            Err(full) => full,
            Ok(()) => Trouble::Loss(Loss::Fault { what: describe(&error) }),
        })
    }

    /// Who works here next has a network of its own.
    pub(crate) fn reach(&mut self, network: spec::Network) {
        self.network = Some(network);
    }

    /// Who works here next may read these besides.
    pub(crate) fn show(&mut self, context: Vec<Shown>) {
        self.context = context;
    }

    /// What may be read besides is there as a copy, which goes the way of all litter.
    fn copy_context(&self) -> Result<(), GitError> {
        for file in &self.context {
            let place = self.tree().join(&file.path);
            if place.symlink_metadata().is_ok() {
                continue;
            }
            if let Some(above) = place.parent() {
                fs::create_dir_all(above).map_err(GitError::io("make the folder", above))?;
            }
            fs::copy(&file.source, &place).map_err(GitError::io("copy", &file.source))?;
            fs::set_permissions(&place, Permissions::from_mode(0o444)).map_err(GitError::io("lock", &place))?;
        }
        Ok(())
    }

    /// Inputs inside the checkout are where the copy expects them; those elsewhere have their own place.
    fn link_inputs(&self, room: &Room) -> Result<(), GitError> {
        let home = crate::load::home();
        for input in &room.shop.spec.evaluate.inputs {
            let path = sandbox::resolve(&input.path, &room.shop.triplet_dir, home.as_deref().unwrap_or(Path::new("/")));
            let Ok(inner) = path.strip_prefix(room.shop.user.workdir()) else { continue };
            let place = self.tree().join(inner);
            if let Some(above) = place.parent() {
                fs::create_dir_all(above).map_err(GitError::io("make the folder", above))?;
            }
            match std::os::unix::fs::symlink(&path, &place) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                    return Err(GitError::io("link", &place)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What is held out is where the holdout's command expects it, and nowhere else.
    fn link_held_out(&self, room: &Room) -> Result<(), GitError> {
        for path in self.held_out(room) {
            let Ok(inner) = path.strip_prefix(room.shop.user.workdir()) else { continue };
            let place = self.tree().join(inner);
            // Of what is left out the folders are there, empty.
            workspace::wipe(&place)?;
            if let Some(above) = place.parent() {
                fs::create_dir_all(above).map_err(GitError::io("make the folder", above))?;
            }
            std::os::unix::fs::symlink(&path, &place).map_err(GitError::io("link", &place))?;
        }
        Ok(())
    }

    fn held_out(&self, room: &Room) -> Vec<PathBuf> {
        let home = crate::load::home();
        match self.role {
            Role::Holdout => {
                sandbox::held_out(&room.shop.spec, &room.shop.triplet_dir, home.as_deref().unwrap_or(Path::new("/")))
            }
            Role::Candidate | Role::Scorer | Role::Agent | Role::Smoke => Vec::new(),
        }
    }

    /// Takes away what a command left, so that the next one need not wait for it. What cannot be done here is done,
    /// and said, when the place is needed.
    pub(crate) fn tidy(&mut self, room: &Room) {
        if let Some(standard) = room.shop.sandbox.standard() {
            if !standard.in_memory() {
                let _ = workspace::wipe(&self.layer());
            }
            return;
        }
        let mut surface: Vec<String> = room.shop.spec.surface.paths().map(ToOwned::to_owned).collect();
        surface.retain(|path| !self.left_out.contains(path));
        let restored = self.copy.as_mut().map(|copy| copy.restore(&surface));
        self.is_tidy = matches!(restored, Some(Ok(_))) && self.empty_folders(room).is_ok();
    }

    fn empty_folders(&self, room: &Room) -> Result<(), GitError> {
        let fences = room.shop.sandbox.fences();
        if let Some(user) = fences.and_then(|fences| fences.user(self.seat())) {
            sandbox::sweep_shared_memory(user);
        }
        let mut folders = vec![self.out(), self.tmp()];
        folders.extend(fences.map(|_| self.home()));
        for folder in folders {
            workspace::empty(&folder)?;
            if let Some(user) = fences.and_then(|fences| fences.user(self.seat())) {
                std::os::unix::fs::chown(&folder, Some(user), Some(user))
                    .map_err(GitError::io("hand over", &folder))?;
            }
        }
        Ok(())
    }

    fn put(&mut self, contents: &Contents) -> Result<(), GitError> {
        match &mut self.copy {
            Some(copy) => copy.put(&contents.0),
            None => Ok(()),
        }
    }

    fn lay_out(&mut self, room: &Room, contents: &Contents) -> Result<(), GitError> {
        if self.copy.is_none() {
            workspace::wipe(&self.dir)?;
            let mut copy = Copy::lay_out_without(&self.tree(), &room.shop.user, room.shop.baseline, &self.left_out)?;
            if let Some(user) = room.shop.sandbox.fences().and_then(|fences| fences.user(self.seat())) {
                copy.give_to(user, user)?;
            }
            self.copy = Some(copy);
        }
        self.empty_folders(room)?;
        if let Some(copy) = &mut self.copy {
            copy.reset(&contents.0)?;
        }
        Ok(())
    }

    /// The working copy; there is one after `fresh`.
    pub(crate) fn copy(&self) -> Option<&Copy> {
        self.copy.as_ref()
    }

    fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.dir.join("out")
    }

    /// Where a scorer finds the artifacts of others, on the host.
    pub(crate) fn artifacts(&self) -> PathBuf {
        self.dir.join("artifacts")
    }

    fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    /// A home of the command's own, where it cannot have the person's.
    fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// A home for one who must not have the person's: in a sandbox every command has its own, elsewhere it is told.
    pub(crate) fn own_home(&self, room: &Room) -> Result<Option<(String, String)>, Trouble> {
        if room.shop.sandbox.standard().is_some() || room.shop.sandbox.fences().is_some() {
            return Ok(None);
        }
        let fault = |error: GitError| Trouble::Loss(Loss::Fault { what: describe(&error) });
        workspace::empty(&self.home()).map_err(fault)?;
        Ok(Some(("HOME".to_owned(), self.home().to_string_lossy().into_owned())))
    }

    /// Where what a command writes is kept, if not in memory.
    fn layer(&self) -> PathBuf {
        self.dir.join("layer")
    }

    /// The artifact folder, as the command sees it.
    pub(crate) fn seen_out(&self, room: &Room) -> PathBuf {
        match room.shop.sandbox.standard() {
            Some(_) => sandbox::OUT.into(),
            None => self.out(),
        }
    }

    /// The artifacts of others, as a scorer sees them.
    pub(crate) fn seen_artifacts(&self, room: &Room) -> PathBuf {
        match room.shop.sandbox.standard() {
            Some(_) => sandbox::ARTIFACTS.into(),
            None => self.artifacts(),
        }
    }

    /// The folder for metrics and notes, as the command sees it.
    pub(crate) fn seen_said(&self, room: &Room) -> PathBuf {
        match room.shop.sandbox.standard() {
            Some(_) => sandbox::SAID.into(),
            None => self.tmp(),
        }
    }

    /// Runs a command in the triplet's folder of the copy, with nothing alive of it when this returns.
    pub(crate) fn run(
        &self,
        room: &Room,
        kind: Kind,
        order: Order,
        mut sink: impl FnMut(Stream, &[u8]),
    ) -> Result<Ran, Trouble> {
        let Order { command, environment, stdin, limit, models } = order;
        let mut env = room.shop.environment.clone();
        let models = match models {
            Some(models) => Some(models),
            None => {
                let models = self.all_models(room, kind)?;
                env.extend(models.iter().flat_map(Models::environment));
                models
            }
        };
        let beside = models.as_ref().filter(|models| !models.is_inside).map(|models| models.pass.port);
        let (sandbox, tree) = match room.shop.sandbox.standard() {
            Some(standard) => {
                env.push(("TMPDIR".to_owned(), "/tmp".to_owned()));
                env.extend(standard.identity());
                (self.view(room, standard)?, standard.tree().to_owned())
            }
            None => {
                env.push(("TMPDIR".to_owned(), self.tmp().to_string_lossy().into_owned()));
                // The copy lies inside the person's checkout and has no repository of its own: without this, a `git`
                // in it would find theirs, and `git reset --hard` is what agents do.
                env.push(("GIT_CEILING_DIRECTORIES".to_owned(), self.dir.to_string_lossy().into_owned()));
                (self.fence(room, &mut env, beside), self.tree())
            }
        };
        env.extend(environment);
        let cwd = tree.join(&room.shop.spec.evaluate.folder);
        let job = Job { command, cwd, env, stdin, deadline: limit.into(), grace: GRACE, sandbox };
        let fault = |error: KeeperError| Trouble::Fault(error.into());
        let limits = job.sandbox.limits();
        let open = |models: &Models, listener: Option<OwnedFd>| {
            let door = room.shop.gateway.open(&models.pass, listener.map(Into::into), models.guest.clone());
            door.map_err(|error| models::fault(&error))
        };
        let mut door =
            models.as_ref().filter(|models| !models.is_inside).map(|models| open(models, None)).transpose()?;
        let mut child = room.shop.keeper.start(&job).map_err(fault)?;
        let registered = room.stops.register(kind, child.killer());
        if let Some(models) = models.as_ref().filter(|models| models.is_inside)
            && let Some(listener) = child.listener()
        {
            door = Some(open(models, Some(listener))?);
        }
        let (killer, mut printed, mut too_much) = (child.killer(), 0u64, false);
        let finished = child.finish(|stream, bytes| {
            printed += bytes.len() as u64;
            if printed > OUTPUT_LIMIT && !std::mem::replace(&mut too_much, true) {
                killer.kill();
            }
            sink(stream, bytes);
        });
        let process::Finished { report, left } = match finished {
            // Something killed its init alone, a candidate perhaps: this work is lost, and the night goes on.
            Err(KeeperError::Gone) if room.shop.keeper.is_alive() => {
                let what = "the process that watches over the command was killed".to_owned();
                return Err(Trouble::Loss(Loss::Fault { what }));
            }
            finished => finished.map_err(fault)?,
        };
        drop(registered);
        let missed = door.as_ref().and_then(Door::missed);
        let held_back = door.as_ref().and_then(|door| door.held_back()).map(ToOwned::to_owned);
        // What it asked for is settled before anybody hears of its end.
        drop(door);
        if report.suspended {
            return Err(Trouble::Loss(Loss::Suspended));
        }
        let is_interrupted = report.ending == process::Ending::Stopped && !too_much;
        // What it could not ask is no fault of its own, whatever it made of that.
        if let Some(what) = missed.filter(|_| !is_interrupted) {
            return Err(Trouble::Loss(Loss::Fault { what }));
        }
        let mut ending = match report.ending {
            process::Ending::Exited { code } => Ending::Exited { code },
            process::Ending::Signaled { signal } => Ending::Signaled { signal },
            process::Ending::TimedOut => Ending::TimedOut { after: limit },
            process::Ending::OutOfMemory => Ending::OutOfMemory { limit: limits.memory.unwrap_or(0) },
            process::Ending::TooManyProcesses => Ending::TooManyProcesses { limit: limits.processes.unwrap_or(0) },
            process::Ending::LayerFull => Ending::DiskFilled,
            process::Ending::Stopped if too_much => Ending::TooMuchOutput { limit: OUTPUT_LIMIT },
            process::Ending::Stopped => return Err(Trouble::Loss(Loss::Interrupted)),
            process::Ending::NotStarted { errno, what } => {
                let cause = std::io::Error::from_raw_os_error(errno);
                return Err(Trouble::Loss(Loss::Fault { what: format!("{what}: {cause}") }));
            }
        };
        // A full disk makes programs fail in ways that look like their own fault.
        if let Err(full) = enough_room(&self.dir) {
            let _ = workspace::wipe(&self.dir);
            // Where what it left was all that took the room, it is its own fault, and the night goes on without it.
            enough_room(&self.dir).map_err(|_| full)?;
            ending = Ending::DiskFilled;
        }
        // Clients tell of a refusal as "400 Bad Request", if at all.
        if let Some(what) = held_back.filter(|_| kind == Kind::Evaluation && !ending.succeeded()) {
            sink(Stream::Stderr, format!("\n{HINT_MARK}a call to a model did not go out: {what}\n").as_bytes());
        }
        let usage = Usage { wall: report.wall.into(), cpu: report.cpu.into(), peak_bytes: report.peak_bytes };
        let left = match room.shop.sandbox.standard() {
            Some(_) => {
                let mut left = left.into_iter();
                Left { out: left.next().ok_or(Errno::NOENT), said: left.next(), tree: left.next() }
            }
            None => Left { out: open_folder(&self.out()), said: open_folder(&self.tmp()).ok(), tree: None },
        };
        Ok(Ran { ending, usage, left })
    }

    /// A fence around this place, and a home inside it; nothing at tier `none`.
    fn fence(&self, room: &Room, env: &mut Vec<(String, String)>, gateway: Option<u16>) -> process::Sandbox {
        let Some(fences) = room.shop.sandbox.fences() else { return process::Sandbox::None };
        env.retain(|(name, _)| name != "HOME");
        env.push(("HOME".to_owned(), self.home().to_string_lossy().into_owned()));
        for (name, value) in fences.environment() {
            if !env.iter().any(|(known, _)| *known == name) {
                env.push((name, value));
            }
        }
        let write = vec![self.tree(), self.out(), self.tmp(), self.home()];
        let mut read: Vec<PathBuf> = self.held_out(room).iter().filter_map(|path| path.canonicalize().ok()).collect();
        read.extend(self.reads_artifacts(room).then(|| self.artifacts()));
        let fenced = fences.fenced(self.seat(), write, read);
        let network = match (self.network.map_or(fenced.network, sandbox::network), gateway) {
            (process::Network::Models { .. }, Some(port)) => process::Network::Models { port },
            // Nobody is there to be reached.
            (process::Network::Models { .. }, None) => process::Network::None,
            (network, _) => network,
        };
        process::Sandbox::Fenced(Box::new(process::Fenced { network, ..fenced }))
    }

    fn seat(&self) -> SeatId {
        // A candidate, its scorer and the holdout's take turns, so they may share a user.
        let number = match self.role {
            // Beside all slots: they count from below.
            Role::Smoke => LAST_SEAT.saturating_sub(self.number),
            _ => self.number,
        };
        SeatId { is_desk: self.role == Role::Agent, number }
    }

    fn reads_artifacts(&self, room: &Room) -> bool {
        match self.role {
            Role::Scorer => true,
            Role::Holdout => room.shop.spec.evaluate.score.is_some(),
            Role::Candidate | Role::Agent | Role::Smoke => false,
        }
    }

    fn view(&self, room: &Room, standard: &Standard) -> Result<process::Sandbox, Trouble> {
        let fault = |error: GitError| Trouble::Loss(Loss::Fault { what: describe(&error) });
        let disk = self.layer();
        if !standard.in_memory() {
            workspace::wipe(&disk).map_err(fault)?;
            workspace::empty(&disk).map_err(fault)?;
        }
        let artifacts = self.artifacts();
        let phase = match self.role {
            Role::Candidate | Role::Smoke => Phase::Run,
            Role::Agent => Phase::Agent,
            Role::Scorer => Phase::Score { artifacts: &artifacts },
            Role::Holdout => Phase::Holdout { artifacts: self.reads_artifacts(room).then_some(artifacts.as_path()) },
        };
        let mut view = standard.view(phase, self.seat(), &self.contents, clock::now().0, &disk);
        let besides = self.context.iter().map(|file| (standard.tree().join(&file.path), file));
        // What is tracked, or an input, is there already.
        let besides = besides.filter(|(at, file)| !standard.locked().join(&file.path).exists() && !standard.shows(at));
        view.mounts.extend(besides.map(|(at, file)| process::Mount::File { path: file.source.clone(), at }));
        view.mounts.sort_by(|a, b| a.at().cmp(b.at()));
        let network = self.network.map_or(view.network, sandbox::network);
        Ok(process::Sandbox::View(Box::new(process::View { network, ..view })))
    }
}

impl Left {
    /// Reads a file of the folder for metrics and notes.
    pub(crate) fn read_said(&self, name: &str, max: u64) -> Option<Vec<u8>> {
        read_left(self.said.as_ref()?.as_fd(), name, max)
    }
}

/// A command to run in a place.
pub(crate) struct Order {
    pub(crate) command: String,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) stdin: Stdin,
    pub(crate) limit: Millis,
    /// Its way to models, where it has one of its own kind.
    pub(crate) models: Option<Models>,
}

/// Reads a file that a child may have left: never through a link, never a device, never more than `max` bytes.
fn read_left(folder: BorrowedFd<'_>, name: &str, max: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A folder that is where it should be, and no link to another.
fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Free space for the engine's folder, or for the nearest folder above it that exists.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let there = dir.ancestors().find(|folder| folder.exists())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

pub(super) fn enough_room(dir: &Path) -> Result<(), Trouble> {
    match free_bytes(dir) {
        Some(free) if free < DISK_FLOOR => {
            Err(Trouble::Fault(Fault::Full { path: dir.to_owned(), free, needed: DISK_FLOOR }))
        }
        _ => Ok(()),
    }
}

/// An error with its causes, on one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
