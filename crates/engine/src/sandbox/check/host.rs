//! The host's side of an attack: what is planted for the attacker to find, and what is looked at afterwards.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::CheckError;

pub(super) const LOCKED: &str = "locked file\n";

/// Files that a sandboxed command is not to see, and the tree that it is to see.
pub(super) fn lay_out(scratch: &Path, tree: &Path) -> Result<(), CheckError> {
    let make = |path: PathBuf, text: Option<&str>| {
        let made = match text {
            Some(text) => fs::write(&path, text),
            None => fs::create_dir_all(&path),
        };
        made.map_err(|source| CheckError::Scratch { path, source })
    };
    make(scratch.join("checkout"), None)?;
    make(scratch.join("secrets"), None)?;
    make(tree.to_owned(), None)?;
    make(canary(scratch), Some("canary\n"))?;
    make(tree.join("locked"), Some(LOCKED))?;
    // Readable for everybody: what keeps an attacker away must be the sandbox, not the owner.
    for (path, mode) in [(scratch.to_owned(), 0o755), (scratch.join("secrets"), 0o755), (canary(scratch), 0o644)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))
            .map_err(|source| CheckError::Scratch { path, source })?;
    }
    Ok(())
}

pub(super) fn canary(scratch: &Path) -> PathBuf {
    scratch.join("secrets/canary")
}

/// Listeners on the host that an attacker is not to reach.
pub(super) struct Listeners {
    _tcp: TcpListener,
    _local: UnixListener,
    pub(super) port: u16,
    pub(super) name: String,
}

impl Listeners {
    pub(super) fn open(token: &str) -> io::Result<Listeners> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let name = format!("{token}-{}", std::process::id());
        let local = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Listeners { port: tcp.local_addr()?.port(), _tcp: tcp, _local: local, name })
    }
}

/// A file where programs of the host share memory, gone when dropped.
pub(super) struct InSharedMemory(pub(super) PathBuf);

impl InSharedMemory {
    pub(super) fn plant() -> InSharedMemory {
        let path = PathBuf::from(format!("/dev/shm/overnight-check-{}", std::process::id()));
        // Where there is no such folder there is nothing to be read.
        let _ = File::create_new(&path).and_then(|mut file| file.write_all(b"canary\n"));
        InSharedMemory(path)
    }
}

impl Drop for InSharedMemory {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A lock on a file of the host, for as long as this lives.
pub(super) fn lock(path: &str) -> Option<File> {
    let file = File::open(path).ok()?;
    // Where somebody else has it, the attacker feels theirs.
    let _ = flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive);
    Some(file)
}

/// When this process started, as /proc tells it.
pub(super) fn started() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.split(' ').nth(19).and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// The namespace of processes that this process is in.
pub(super) fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map_or_else(|_| "unknown".to_owned(), |link| link.to_string_lossy().into_owned())
}

/// Processes that have `token` in their arguments or their environment.
pub fn survivors(token: &str) -> Vec<u32> {
    let holds = |pid: u32, name: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        bytes.windows(token.len()).any(|window| window == token.as_bytes())
    };
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id() && (holds(*pid, "environ") || holds(*pid, "cmdline"))).collect()
}
