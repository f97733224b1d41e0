//! Mounts that show root's files as another user's: what lets a job write, privately, beside what root owns.

use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::ground::Failure;
use super::spawn::{clone_me, exit_now, keep_only};

/// The number of ids; the last one means "none".
const IDS: u32 = u32::MAX;

/// A user namespace in which the host's root is `user`, and everyone else is themselves.
///
/// # Safety
///
/// The caller has a single thread.
pub(super) unsafe fn root_as(user: u32) -> Result<OwnedFd, Failure> {
    let cannot = |errno| Failure::new("make a map of owners", errno);
    let (wait, go) = pipe_with(PipeFlags::CLOEXEC).map_err(cannot)?;
    // SAFETY: passed on to the caller; the child ends here.
    match unsafe { clone_me(libc::CLONE_NEWUSER) }.map_err(cannot)? {
        None => {
            // Nothing of the keeper's may stay open here, its lifeline least of all. End of file is its leave, also
            // where that is the keeper's death.
            // SAFETY: what is closed belongs to the keeper's frames, and this process never returns there.
            unsafe { keep_only([wait.as_raw_fd()]) };
            let _ = rustix::io::retry_on_intr(|| rustix::io::read(&wait, &mut [0; 1]));
            exit_now(0)
        }
        Some(child) => {
            let opened = describe(child, user);
            drop(go);
            let _ = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
            opened
        }
    }
}

fn describe(child: Pid, user: u32) -> Result<OwnedFd, Failure> {
    let map = format!("0 {user} 1\n1 1 {}\n{} {} {}\n", user - 1, user + 1, user + 1, IDS - user - 1);
    for name in ["uid_map", "gid_map"] {
        let path = format!("/proc/{child}/{name}");
        fs::write(&path, &map).map_err(|error| Failure::io(&format!("write {path}"), &error))?;
    }
    let path = format!("/proc/{child}/ns/user");
    open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Failure::new(format!("open {path}"), errno))
}

/// Mounts `folder`, without what is mounted below it, on `place`, with its owners mapped.
pub(super) fn mount_mapped(folder: &Path, place: &Path, owners: BorrowedFd<'_>) -> Result<(), Errno> {
    let tree = open_tree(CWD, folder, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: owners.as_raw_fd() as u64,
    };
    set_attributes(tree.as_fd(), &attributes, 0)?;
    move_mount(&tree, "", CWD, place, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Changes a mount, or a mount and all below it.
pub(super) fn set_attributes(
    mount: BorrowedFd<'_>,
    attributes: &libc::mount_attr,
    flags: libc::c_int,
) -> Result<(), Errno> {
    // SAFETY: the path is an empty string, and the structure is as long as is said.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags | libc::AT_EMPTY_PATH,
            attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}
