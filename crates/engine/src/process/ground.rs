//! What an init stands on: the namespaces it is made in, found out by really making them.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, WaitOptions, getgid, getuid, set_child_subreaper, waitpid};
use rustix::thread::set_no_new_privs;

use super::confine::cgroup::clone_into;
use super::job::Containment;
use super::spawn::{clone_me, exit_now};
use super::view::Network;

/// A way to make an init.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// Process and mount namespaces, for a user that may make them.
    Namespaces,
    /// The same inside a user namespace that maps one user to itself.
    UserNamespaces {
        uid: u32,
        gid: u32,
    },
    Subreaper,
}

/// Something the keeper or an init could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub errno: i32,
    pub what: String,
}

impl Failure {
    pub(super) fn new(what: impl Into<String>, errno: Errno) -> Failure {
        Failure { errno: errno.raw_os_error(), what: what.into() }
    }

    pub(super) fn io(what: &str, error: &io::Error) -> Failure {
        match error.raw_os_error() {
            Some(errno) => Failure { errno, what: what.to_owned() },
            None => Failure { errno: libc::EINVAL, what: format!("{what}: {error}") },
        }
    }

    pub(super) fn sentence(&self) -> String {
        format!("could not {}: {}", self.what, io::Error::from_raw_os_error(self.errno))
    }
}

impl Ground {
    /// The strongest ground this machine gives, or the one that was asked for.
    pub(super) fn find(wanted: Option<Containment>) -> Result<Ground, Failure> {
        if wanted == Some(Containment::Subreaper) {
            return Ok(Ground::Subreaper);
        }
        let user = Ground::UserNamespaces { uid: getuid().as_raw(), gid: getgid().as_raw() };
        let mut found = Ground::Namespaces.probe().map(|()| Ground::Namespaces);
        if found.is_err() {
            found = user.probe().map(|()| user);
        }
        match wanted {
            Some(_) => found,
            None => Ok(found.unwrap_or(Ground::Subreaper)),
        }
    }

    pub(super) fn containment(self) -> Containment {
        match self {
            Ground::Namespaces | Ground::UserNamespaces { .. } => Containment::PidNamespace,
            Ground::Subreaper => Containment::Subreaper,
        }
    }

    /// Splits the calling process: gives the init's number to the keeper, `None` to the init. With a birthplace, the
    /// init is in that group from the start.
    ///
    /// # Safety
    ///
    /// The caller has a single thread.
    pub(super) unsafe fn split(self, birthplace: Option<BorrowedFd<'_>>) -> Result<Option<Pid>, Errno> {
        let namespaces = libc::CLONE_NEWPID | libc::CLONE_NEWNS;
        let flags = match self {
            Ground::Namespaces => namespaces,
            Ground::UserNamespaces { .. } => namespaces | libc::CLONE_NEWUSER,
            Ground::Subreaper => 0,
        };
        // SAFETY: passed on to the caller.
        unsafe { clone_at(birthplace, flags) }
    }

    /// The same for an init that is to live in a sandbox.
    ///
    /// # Safety
    ///
    /// The caller has a single thread.
    pub(super) unsafe fn split_off(
        self,
        network: Network,
        birthplace: Option<BorrowedFd<'_>>,
    ) -> Result<Option<Pid>, Errno> {
        let mut flags =
            libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
        match self {
            // It gets its user namespace when the root is built: building needs the host's rights.
            Ground::Namespaces => {}
            Ground::UserNamespaces { .. } => flags |= libc::CLONE_NEWUSER,
            Ground::Subreaper => return Err(Errno::NOSYS),
        }
        if network.is_own() {
            flags |= libc::CLONE_NEWNET;
        }
        // SAFETY: passed on to the caller.
        unsafe { clone_at(birthplace, flags) }
    }

    /// The init's first steps on its new ground.
    pub(super) fn enter(self) -> Result<(), Failure> {
        // A payload that gained another user's rights could not be killed by an ordinary one.
        // Asked before the user namespace, where everyone is nobody until mapped.
        let ordinary = match self {
            Ground::UserNamespaces { uid, .. } => uid != 0,
            Ground::Namespaces | Ground::Subreaper => !getuid().is_root(),
        };
        match self {
            Ground::Namespaces => mount_proc()?,
            Ground::UserNamespaces { uid, gid } => {
                write("/proc/self/setgroups", "deny")?;
                write("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
                write("/proc/self/gid_map", &format!("{gid} {gid} 1"))?;
                mount_proc()?;
            }
            Ground::Subreaper => set_child_subreaper(Some(rustix::process::getpid()))
                .map_err(|errno| Failure::new("become a subreaper", errno))?,
        }
        if ordinary {
            set_no_new_privs(true).map_err(|errno| Failure::new("forgo new privileges", errno))?;
        }
        Ok(())
    }

    /// Enters this ground in a throw-away child: masked /proc, seccomp and AppArmor all refuse in
    /// different places, and only doing it tells.
    fn probe(self) -> Result<(), Failure> {
        let cannot_make = |errno| Failure::new("make the namespaces", errno);
        // SAFETY: the keeper has a single thread.
        match unsafe { self.split(None) }.map_err(cannot_make)? {
            None => exit_now(self.enter().map_or_else(|failure| failure.errno, |()| 0)),
            Some(child) => {
                let status = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()))
                    .map_err(cannot_make)?
                    .and_then(|(_, status)| status.exit_status());
                match status {
                    Some(0) => Ok(()),
                    other => {
                        Err(Failure { errno: other.unwrap_or(libc::ECHILD), what: "enter the namespaces".to_owned() })
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// The caller has a single thread, and the child ends by `exit_now`, never by returning.
unsafe fn clone_at(birthplace: Option<BorrowedFd<'_>>, flags: libc::c_int) -> Result<Option<Pid>, Errno> {
    match birthplace {
        // SAFETY: passed on to the caller.
        Some(birthplace) => unsafe { clone_into(flags, birthplace) },
        // SAFETY: passed on to the caller.
        None => unsafe { clone_me(flags) },
    }
}

fn mount_proc() -> Result<(), Failure> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| Failure::new("make the mounts private", errno))?;
    // The old /proc shows the processes of the host, and CUDA does not start with it.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(|errno| Failure::new("mount a new /proc", errno))
}

fn write(path: &str, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::io(&format!("write {path}"), &error))
}
