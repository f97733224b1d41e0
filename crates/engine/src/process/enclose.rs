//! An init's way into its sandbox: identity, root, network.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::ground::{Failure, Ground};
use super::root::{self, Power, Root};
use super::view::{Fenced, Network, View};

/// What the user is called inside when root runs the engine: the same everywhere, so that nothing depends on the slot.
pub const INNER_USER: u32 = 1000;

const HOST_NAME: &[u8] = b"overnight";

/// Connections that wait until the engine takes them.
const BACKLOG: i32 = 128;

/// Moves the calling init into the sandbox. It keeps its rights over the namespaces until it gives them up itself.
///
/// A listener on the loopback inside is for the engine, which answers on it from outside.
pub(super) fn enclose(
    ground: Ground,
    view: &View,
    owners: Option<std::os::fd::BorrowedFd<'_>>,
) -> Result<(Root, Option<OwnedFd>), Failure> {
    let power = match (ground, view.user) {
        (Ground::Namespaces, Some(user)) if user != 0 => Power::Root { user, owners },
        (Ground::Namespaces, _) => return Err(Failure::new("run as root of the host", Errno::PERM)),
        (Ground::UserNamespaces { uid, gid }, _) => {
            map_user((uid, uid), (gid, gid))?;
            Power::User
        }
        (Ground::Subreaper, _) => return Err(Failure::new("make namespaces", Errno::NOSYS)),
    };
    limit_segments(view.limits.memory);
    let root = root::move_into(view, power)?;
    rustix::system::sethostname(HOST_NAME).map_err(|errno| Failure::new("set the host's name", errno))?;
    if view.network.is_own() {
        loopback_up()?;
    }
    let listener = match view.network {
        Network::Models { port } => Some(listen(port)?),
        Network::None | Network::Full => None,
    };
    if let Power::Root { user, .. } = power {
        become_user(user)?;
    }
    Ok((root, listener))
}

/// Makes the calling init an unprivileged user, where it is root and has one to become.
pub(super) fn enter_fenced(fenced: &Fenced) -> Result<(), Failure> {
    match fenced.user {
        Some(user) if rustix::process::getuid().is_root() => set_user(user),
        _ => Ok(()),
    }
}

/// Gives up the host's root, and then the host's users altogether.
fn become_user(user: u32) -> Result<(), Failure> {
    set_user(user)?;
    // SAFETY: this process has a single thread, and shares nothing that a user namespace changes.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        let error = std::io::Error::last_os_error();
        return Err(Failure::io("make a user namespace", &error));
    }
    map_user((INNER_USER, user), (INNER_USER, user))?;
    // The names inside are new, the user is the same; from nobody in particular to the mapped one.
    let inner = INNER_USER;
    let cannot = |errno| Failure::new(format!("become the user {inner} inside"), errno);
    let (uid, gid) = (Uid::from_raw(inner), Gid::from_raw(inner));
    set_thread_res_gid(gid, gid, gid).map_err(cannot)?;
    set_thread_res_uid(uid, uid, uid).map_err(cannot)
}

fn set_user(user: u32) -> Result<(), Failure> {
    let cannot = |errno| Failure::new(format!("become the user {user}"), errno);
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    set_thread_groups(&[]).map_err(cannot)?;
    set_thread_res_gid(gid, gid, gid).map_err(cannot)?;
    set_thread_res_uid(uid, uid, uid).map_err(cannot)?;
    // A change of user hides /proc/self from its own process, which has something to write there yet.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable).map_err(cannot)
}

/// Maps one user and one group, each from inside to outside.
fn map_user(user: (u32, u32), group: (u32, u32)) -> Result<(), Failure> {
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{} {} 1", user.0, user.1))?;
    write("/proc/self/gid_map", &format!("{} {} 1", group.0, group.1))
}

/// Segments of shared memory belong to no process, so nobody who counts the memory of processes would find them. An
/// ordinary user may not set this, and needs a control group for it.
fn limit_segments(memory: Option<u64>) {
    if let Some(memory) = memory {
        let pages = memory / rustix::param::page_size() as u64;
        let _ = fs::write("/proc/sys/kernel/shmall", pages.to_string());
    }
}

fn write(path: &str, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::io(&format!("write {path}"), &error))
}

fn listen(port: u16) -> Result<OwnedFd, Failure> {
    let open = || -> Result<OwnedFd, Errno> {
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(socket)
    };
    open().map_err(|errno| Failure::new(format!("listen at 127.0.0.1:{port} inside"), errno))
}

/// A new network namespace has a loopback that is down, and servers on it are part of many evaluations.
fn loopback_up() -> Result<(), Failure> {
    let failed = || Failure::io("bring the loopback up", &std::io::Error::last_os_error());
    // SAFETY: the request is a plain structure that is filled in before the call and outlives it; the descriptor is
    // this function's own.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(failed());
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let result = libc::ioctl(socket, libc::SIOCSIFFLAGS, &request);
        let outcome = if result == 0 { Ok(()) } else { Err(failed()) };
        libc::close(socket);
        outcome
    }
}
