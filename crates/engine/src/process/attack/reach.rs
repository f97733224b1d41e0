//! Reaching others: sockets, shared memory, locks, notices.

use std::ffi::CString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as LocalAddress, UnixStream};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock, inotify};
use rustix::io::Errno;

use super::{Outcome, last_error};

const PATIENCE: Duration = Duration::from_millis(300);

/// A listener on the host's loopback.
pub(super) fn connect(port: u16) -> Outcome {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpStream::connect_timeout(&address, PATIENCE) {
        Ok(_) => Outcome::through(format!("connected to {address} of the host")),
        Err(error) => Outcome::held(error.to_string()),
    }
}

/// A listener under a name that is in no folder.
pub(super) fn abstract_socket(name: &str) -> Outcome {
    match LocalAddress::from_abstract_name(name).and_then(|address| UnixStream::connect_addr(&address)) {
        Ok(_) => Outcome::through("connected to a socket of the host"),
        Err(error) => Outcome::held(error.to_string()),
    }
}

/// Families of sockets that lead past namespaces, or into rarely used parts of the kernel.
pub(super) fn families() -> Outcome {
    let families = [
        ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        ("packet", libc::AF_PACKET, libc::SOCK_RAW, 0),
        ("alg", libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
        ("netfilter", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER),
        ("audit", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT),
        ("bluetooth", libc::AF_BLUETOOTH, libc::SOCK_RAW, 0),
    ];
    Outcome::of_all(families.into_iter().map(|(name, family, kind, protocol)| {
        // SAFETY: socket takes three numbers.
        match unsafe { libc::socket(family, kind, protocol) } {
            -1 => Err(format!("{name}: {}", last_error())),
            _ => Ok(format!("a socket of the family {name}")),
        }
    }))
}

/// Leaves a segment of shared memory for others to find.
pub(super) fn plant(key: i32) -> Outcome {
    // SAFETY: shmget takes three numbers.
    match unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | 0o666) } {
        -1 => Outcome::held(last_error().to_string()),
        _ => Outcome::held("left a segment; whether it stays is for others to see"),
    }
}

/// A segment of shared memory that the host has under this key.
pub(super) fn shared_memory(key: i32) -> Outcome {
    // SAFETY: shmget takes three numbers; with size 0 and without IPC_CREAT it only looks.
    match unsafe { libc::shmget(key, 0, 0) } {
        -1 => Outcome::held(last_error().to_string()),
        _ => Outcome::through("found a segment of the host"),
    }
}

/// Whether a lock that the host holds on this file can be felt.
pub(super) fn lock(path: &str) -> Outcome {
    match File::open(path) {
        Ok(file) => feel(file.as_fd(), path),
        Err(error) => Outcome::held(error.to_string()),
    }
}

/// The same on what was opened for this process by others.
pub(super) fn lock_input() -> Outcome {
    feel(rustix::stdio::stdin(), "standard input")
}

fn feel(file: BorrowedFd<'_>, name: &str) -> Outcome {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Outcome::through(format!("felt the host's lock on {name}")),
        Ok(()) => Outcome::held("the lock was free: it is another file"),
        Err(error) => Outcome::held(error.to_string()),
    }
}

/// Whether others can be seen opening this file. Its caller opens it all the while.
pub(super) fn watch(path: &str) -> Outcome {
    let watched = || -> Result<bool, Errno> {
        let notices = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let path = CString::new(path).map_err(|_| Errno::INVAL)?;
        inotify::add_watch(&notices, &*path, inotify::WatchFlags::OPEN | inotify::WatchFlags::CLOSE)?;
        let mut fds = [PollFd::new(&notices, PollFlags::IN)];
        poll(&mut fds, Timespec::try_from(PATIENCE).ok().as_ref()).map(|ready| ready > 0)
    };
    match watched() {
        Ok(true) => Outcome::through(format!("saw the host open {path}")),
        Ok(false) => Outcome::held("saw nobody"),
        Err(error) => Outcome::held(fs::metadata(path).map_or_else(|error| error.to_string(), |_| error.to_string())),
    }
}
