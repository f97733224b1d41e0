//! Limits on the memory and the number of processes of a whole job, and what it used, by control groups.
//!
//! To *move* a process into a group waits for every processor to pass a quiet point, which on an
//! idle machine takes 7 to 15 ms; to be *born* there takes nothing. With version 2 a process is born
//! where it is told ([`Group::birthplace`]), with version 1 where its parent is.

mod find;
mod meter;

pub(crate) use meter::{GroupUsage, Meter};

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::super::ground::Failure;

/// A group can be removed only when its last process is gone, which KILL does not wait for.
const REMOVE_LIMIT: Duration = Duration::from_secs(2);

/// Most groups are empty by the time of the second look.
const REMOVE_AGAIN: Duration = Duration::from_millis(2);

/// libc's own constant is too narrow for it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Where groups can be made on this machine, and for what.
#[derive(Debug)]
pub(crate) struct Groups {
    keeper: u32,
    made: u64,
    hierarchies: Vec<Hierarchy>,
    memory: Result<(), String>,
    pids: Result<(), String>,
    cpu: Result<(), String>,
}

/// What a group holds its processes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Memory of all processes with their shared memory, tmpfs, page cache and kernel objects,
    /// without swap.
    pub memory: Option<u64>,
    /// Processes and threads together.
    pub pids: Option<u64>,
}

/// The groups of one job.
#[derive(Debug)]
pub(crate) struct Group {
    places: Vec<(Hierarchy, PathBuf)>,
    birthplace: Option<OwnedFd>,
}

/// One tree of groups, and what is done in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    /// The group in which ours are made.
    base: PathBuf,
    memory: bool,
    pids: bool,
    cpu: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Groups {
    /// Whether memory can be limited, or why not.
    pub(crate) fn memory(&self) -> Result<(), &str> {
        self.memory.as_ref().copied().map_err(String::as_str)
    }

    /// Whether the number of processes can be limited, or why not.
    pub(crate) fn pids(&self) -> Result<(), &str> {
        self.pids.as_ref().copied().map_err(String::as_str)
    }

    /// Whether processor time is counted where a payload cannot hide it, or why not.
    pub(crate) fn cpu(&self) -> Result<(), &str> {
        self.cpu.as_ref().copied().map_err(String::as_str)
    }

    /// Whether there is nothing that groups could do here.
    pub(crate) fn is_empty(&self) -> bool {
        self.hierarchies.is_empty()
    }

    /// Whether the groups made here have a [`Group::birthplace`].
    pub(crate) fn has_birthplaces(&self) -> bool {
        self.hierarchies.iter().all(|hierarchy| hierarchy.version == Version::V2)
    }

    /// Makes no more groups, for this reason.
    pub(crate) fn give_up(&mut self, failure: &Failure) {
        self.hierarchies.clear();
        for found in [&mut self.memory, &mut self.pids, &mut self.cpu] {
            *found = found.clone().and(Err(failure.sentence()));
        }
    }

    /// Makes the groups of one job. A limit that this machine cannot hold is an error.
    pub(crate) fn make(&mut self, limits: Limits) -> Result<Group, Failure> {
        for (wanted, possible) in [(limits.memory, &self.memory), (limits.pids, &self.pids)] {
            if let (Some(_), Err(reason)) = (wanted, possible) {
                return Err(Failure::new(format!("limit a job: {reason}"), Errno::OPNOTSUPP));
            }
        }
        let name = format!("overnight-{}-{}", self.keeper, self.made);
        self.made += 1;
        let mut group = Group { places: Vec::new(), birthplace: None };
        let made = self.hierarchies.iter().try_for_each(|hierarchy| {
            let place = hierarchy.base.join(&name);
            fs::create_dir(&place).map_err(cannot("make", &place))?;
            group.places.push((hierarchy.clone(), place.clone()));
            hierarchy.limit(&place, limits)?;
            if hierarchy.version == Version::V2 {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let opened = open(&place, flags, Mode::empty());
                group.birthplace = Some(opened.map_err(|errno| cannot("open", &place)(errno.into()))?);
            }
            Ok(())
        });
        match made {
            Ok(()) => Ok(group),
            Err(failure) => {
                // What was made is empty; the next start sweeps what even so stays.
                let _ = group.remove();
                Err(failure)
            }
        }
    }
}

impl Group {
    /// Where [`clone_into`] puts a new process at once. The groups of version 1, if there are any,
    /// are entered by [`Group::add`] alone.
    pub(crate) fn birthplace(&self) -> Option<BorrowedFd<'_>> {
        let everywhere = self.places.iter().all(|(hierarchy, _)| hierarchy.version == Version::V2);
        self.birthplace.as_ref().filter(|_| everywhere).map(AsFd::as_fd)
    }

    /// Moves a process in; its children are born there.
    pub(crate) fn add(&self, pid: Pid) -> Result<(), Failure> {
        for (_, place) in &self.places {
            write(&place.join("cgroup.procs"), &pid.as_raw_nonzero().to_string())?;
        }
        Ok(())
    }

    /// The counters, to be read by whoever holds them.
    pub(crate) fn meter(&self) -> Result<Meter, Failure> {
        Meter::open(&self.places)
    }

    /// Removes the groups, after ending whatever is left in them; takes its time only for that.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        let limit = Instant::now() + REMOVE_LIMIT;
        for (_, place) in &self.places {
            loop {
                match fs::remove_dir(place) {
                    Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < limit => {
                        kill(place);
                        std::thread::sleep(REMOVE_AGAIN);
                    }
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot("remove", place)(error)),
                    _ => break,
                }
            }
        }
        Ok(())
    }
}

impl Hierarchy {
    fn limit(&self, place: &Path, limits: Limits) -> Result<(), Failure> {
        if let (true, Some(bytes)) = (self.memory, limits.memory) {
            let bytes = bytes.to_string();
            match self.version {
                Version::V1 => {
                    write(&place.join("memory.limit_in_bytes"), &bytes)?;
                    // Memory and swap together; no more than memory is no swap.
                    write_if_there(&place.join("memory.memsw.limit_in_bytes"), &bytes)?;
                    write_if_there(&place.join("memory.swappiness"), "0")?;
                }
                Version::V2 => {
                    write(&place.join("memory.max"), &bytes)?;
                    write_if_there(&place.join("memory.swap.max"), "0")?;
                }
            }
        }
        match limits.pids {
            Some(pids) if self.pids => write(&place.join("pids.max"), &pids.to_string()),
            _ => Ok(()),
        }
    }
}

/// Splits the calling process in two, like fork, with these flags (CLONE_NEW…); `None` is the
/// child, born in the group.
///
/// # Safety
///
/// The caller has a single thread, and the child ends by `exit_now`, never by returning.
pub(crate) unsafe fn clone_into(flags: libc::c_int, birthplace: BorrowedFd<'_>) -> Result<Option<Pid>, Errno> {
    // SAFETY: plain numbers, for which zero is "none".
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = flags as u64 | CLONE_INTO_CGROUP;
    arguments.exit_signal = libc::SIGCHLD as u64;
    arguments.cgroup = birthplace.as_raw_fd() as u64;
    // SAFETY: without CLONE_VM and a stack this is fork: the child has its own copy of everything.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
    match pid {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
        pid => Ok(Pid::from_raw(pid as i32)),
    }
}

fn kill(place: &Path) {
    // Atomic, where it is there (Linux 5.14).
    if write(&place.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let members = fs::read_to_string(place.join("cgroup.procs")).unwrap_or_default();
    for pid in members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
        // One that has gone meanwhile is what is wanted.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Without creating: a missing file is a controller that is not there.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = OpenOptions::new().write(true).open(path).and_then(|mut file: File| file.write_all(text.as_bytes()));
    written.map_err(cannot("write", path))
}

fn write_if_there(path: &Path, text: &str) -> Result<(), Failure> {
    match write(path, text) {
        // The kernel knows the file and does not offer what it is for: no swap accounting.
        Err(failure) if [libc::ENOENT, libc::EOPNOTSUPP].contains(&failure.errno) => Ok(()),
        other => other,
    }
}

fn cannot(what: &str, path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::io(&format!("{what} {}", path.display()), &error)
}
