//! The payload of a sandboxed job: forked by its init, confined, and only then the candidate's command.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getuid, setsid};

use super::confine::fence::{Fence, Hard};
use super::confine::limits::{Rlimits, drop_capabilities, prefer_as_victim};
use super::confine::seccomp;
use super::ground::Failure;
use super::spawn::{Program, clone_me, exit_now, keep_only, ordinary_signals};
use super::tree::tasks_of;
use super::view::{Fenced, Layer, Limits, Mount, Network, View};
use super::wire::Body;

/// What a payload gives up.
pub(super) struct Inside {
    fence: Fence,
    hard: Hard,
    limits: Rlimits,
}

impl Inside {
    /// In a root of its own the fence is a second wall.
    pub(super) fn of_view(view: &View) -> Inside {
        let privates = view.mounts.iter().filter_map(|mount| match mount {
            Mount::Private { at, .. } => Some(at.clone()),
            Mount::Shared { .. } | Mount::File { .. } | Mount::Link { .. } => None,
        });
        let fence = Fence {
            read: vec![PathBuf::from("/")],
            write: privates.collect(),
            devices: view.devices.iter().filter(|path| path.exists()).cloned().collect(),
            tcp: true,
            port: None,
            own_memory: true,
            writes_proc: true,
        };
        let mut limits = rlimits(view.limits);
        if let Layer::Memory { .. } = view.layer {
            // The layer holds its own limit, and lets a file with holes be longer than all it may hold.
            limits.file_bytes = None;
        }
        Inside { fence, hard: Hard::Best, limits }
    }

    /// On the host's own root the fence is the only one.
    pub(super) fn of_fenced(fenced: &Fenced) -> Inside {
        let Fenced { read, write, devices, network, user, limits } = fenced.clone();
        // What a user of its own left in shared memory can be told apart, and is removed. Root without capabilities
        // still owns the kernel's settings.
        let fence = Fence {
            read,
            write,
            devices,
            tcp: network == Network::Full,
            port: match network {
                Network::Models { port } => Some(port),
                Network::None | Network::Full => None,
            },
            own_memory: user.is_some(),
            writes_proc: !getuid().is_root(),
        };
        // Without a user or a namespace of its own, the kernel counts all that the person runs.
        let beside = if user.is_some() { 0 } else { tasks_of(getuid().as_raw()) };
        let limits = Limits { processes: limits.processes.map(|limit| limit + beside), ..limits };
        Inside { fence, hard: Hard::Required, limits: rlimits(limits) }
    }

    /// Leaves the number of processes to the job's group, which counts those of this job and no others, and tells when
    /// it refused one.
    pub(super) fn counted_by_group(mut self) -> Inside {
        self.limits.processes = None;
        self
    }

    fn confine(&self, program: &seccomp::Program) -> Result<(), Failure> {
        prefer_as_victim()?;
        self.limits.set()?;
        drop_capabilities()?;
        self.fence.raise(self.hard)?;
        program.install()
    }
}

/// The init is one of the user's processes, and not one of the job's: without it in the sum a job could never be seen
/// at its limit, and a bomb would look like a crash.
fn rlimits(limits: Limits) -> Rlimits {
    Rlimits { processes: limits.processes.map(|processes| processes.saturating_add(1)), file_bytes: limits.disk }
}

/// Starts the payload in a session of its own, confined, with ordinary signals and three descriptors. When this
/// returns, it runs.
pub(super) fn spawn_confined(
    body: &Body,
    stdio: [BorrowedFd<'_>; 3],
    inside: &Inside,
    program: &seccomp::Program,
) -> Result<Pid, Failure> {
    let command = Program::new(body)?;
    // Closed by the exec: end of file is the news that it went well.
    let (news, teller) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| Failure::new("make a pipe", errno))?;
    // SAFETY: an init has a single thread, and the child ends in `become_payload`.
    match unsafe { clone_me(0) }.map_err(|errno| Failure::new("make a process", errno))? {
        None => become_payload(&command, stdio, inside, program, &teller),
        Some(pid) => {
            drop(teller);
            let told = read_all(&news).map_err(|errno| Failure::new("hear from the payload", errno))?;
            match serde_json::from_slice::<(i32, String)>(&told) {
                Ok((errno, what)) => Err(Failure { errno, what }),
                Err(_) => Ok(pid),
            }
        }
    }
}

fn become_payload(
    command: &Program,
    stdio: [BorrowedFd<'_>; 3],
    inside: &Inside,
    program: &seccomp::Program,
    teller: &OwnedFd,
) -> ! {
    // A panic must not unwind into the init's code, of which this process is a copy.
    let failed = catch_unwind(AssertUnwindSafe(|| {
        let steps = || -> Result<(), Failure> {
            setsid().map_err(|errno| Failure::new("make a session", errno))?;
            ordinary_signals();
            place_stdio(stdio).map_err(|errno| Failure::new("place the standard streams", errno))?;
            // SAFETY: what is closed belongs to the init's frames, and this process never returns there.
            unsafe { keep_only([teller.as_raw_fd()]) };
            inside.confine(program)
        };
        match steps() {
            Ok(()) => Failure::new("run /bin/sh", command.exec()),
            Err(failure) => failure,
        }
    }));
    if let Ok(Failure { errno, what }) = failed
        && let Ok(told) = serde_json::to_vec(&(errno, what))
    {
        let _ = rustix::io::write(teller.as_fd(), &told);
    }
    exit_now(127)
}

/// The streams lie above 2, so none is overwritten before it is placed.
fn place_stdio([stdin, stdout, stderr]: [BorrowedFd<'_>; 3]) -> Result<(), Errno> {
    rustix::stdio::dup2_stdin(stdin)?;
    rustix::stdio::dup2_stdout(stdout)?;
    rustix::stdio::dup2_stderr(stderr)
}

fn read_all(pipe: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let mut told = Vec::new();
    let mut piece = [0; 1024];
    loop {
        match rustix::io::read(pipe, &mut piece) {
            Ok(0) => return Ok(told),
            Ok(length) => told.extend_from_slice(&piece[..length]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}
