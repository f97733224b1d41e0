//! What the host holds open while it is attacked.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::fixture::{Host, could_not};
use crate::error::Outcome;

/// What every sandbox shows: a lock that is felt inside is a channel from one trial to another.
const LOCKED: [&str; 3] = ["/usr/bin/env", "/dev/null", "/sys/devices/system/cpu/online"];

/// Reachable from outside for as long as this lives.
pub(crate) struct Open {
    _tcp: TcpListener,
    _local: UnixListener,
    _locked: Vec<File>,
}

pub(crate) fn open(scratch: &Path, program: PathBuf) -> Outcome<(Host, Open)> {
    let listen = || -> std::io::Result<_> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = tcp.local_addr()?.port();
        let socket = format!("attacked-{}-{port}", std::process::id());
        let local = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket)?)?;
        Ok((tcp, port, local, socket))
    };
    let (tcp, port, local, socket) = listen().map_err(|error| could_not("listen for attacks on", scratch, &error))?;
    let locked: Vec<File> = LOCKED.iter().filter_map(|path| File::open(path).ok()).collect();
    for file in &locked {
        // Where somebody else has it, an attacker feels theirs.
        let _ = flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive);
    }
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default().to_string_lossy().into_owned();
    Ok((Host { program, port, socket, namespace }, Open { _tcp: tcp, _local: local, _locked: locked }))
}
