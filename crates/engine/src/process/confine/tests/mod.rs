//! Each test confines a forked child and asks what it can still do.

mod cgroup;
mod fence;
mod limits;
mod seccomp;

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::pipe::pipe;
use rustix::process::{Pid, WaitOptions, WaitStatus, getuid, waitpid};

use super::super::spawn::exit_now;

/// Somebody without rights, for tests that are run by root.
const NOBODY: u32 = 65_534;

/// Runs this in a forked child and gives on what it panicked with.
fn in_child(work: impl FnOnce()) {
    let (status, said) = forked(work);
    assert_eq!(status.exit_status(), Some(0), "{status:?}: {said}");
}

/// How a forked child ended, and what it panicked with.
fn forked(work: impl FnOnce()) -> (WaitStatus, String) {
    let (reader, writer) = pipe().unwrap();
    // SAFETY: the child ends in this block; glibc's fork leaves it a usable allocator.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop(reader);
        let Err(panic) = catch_unwind(AssertUnwindSafe(work)) else { exit_now(0) };
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let _ = File::from(writer).write_all(text.unwrap_or_default().as_bytes());
        exit_now(101);
    }
    drop(writer);
    let mut said = String::new();
    File::from(reader).read_to_string(&mut said).unwrap();
    (wait_for(pid), said)
}

/// Confines a forked child, which then becomes this program, and gives its ending and output.
fn program(confine: impl FnOnce(), argv: &[&str]) -> (WaitStatus, String) {
    let (reader, writer) = pipe().unwrap();
    // SAFETY: the child ends in this block; glibc's fork leaves it a usable allocator.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let _ = rustix::stdio::dup2_stdout(&writer);
        let _ = rustix::stdio::dup2_stderr(&writer);
        for fd in [reader.as_raw_fd(), writer.as_raw_fd()] {
            // SAFETY: the child does not return to the owners.
            unsafe { libc::close(fd) };
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(confine)) {
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            let _ = rustix::io::write(rustix::stdio::stdout(), text.as_bytes());
            exit_now(101);
        }
        let argv: Vec<CString> = argv.iter().map(|arg| CString::new(*arg).unwrap()).collect();
        let pointers: Vec<_> = argv.iter().map(|arg| arg.as_ptr()).chain([std::ptr::null()]).collect();
        // SAFETY: a null-terminated array of strings that outlive the call.
        unsafe { libc::execvp(pointers[0], pointers.as_ptr()) };
        exit_now(127);
    }
    drop(writer);
    let mut said = Vec::new();
    File::from(reader).read_to_end(&mut said).unwrap();
    (wait_for(pid), String::from_utf8_lossy(&said).into_owned())
}

fn succeeds(confine: impl FnOnce(), argv: &[&str]) -> String {
    let (status, said) = program(confine, argv);
    assert_eq!(status.exit_status(), Some(0), "{argv:?}: {status:?}: {said}");
    said
}

/// Makes the calling child an ordinary user, where it is not one.
fn become_ordinary() {
    if getuid().is_root() {
        // SAFETY: calls that take numbers.
        unsafe {
            assert_eq!(libc::setgroups(0, std::ptr::null()), 0);
            assert_eq!(libc::setresgid(NOBODY, NOBODY, NOBODY), 0);
            assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
            // Changing the user has made it undumpable, and its files in /proc root's.
            assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
        }
    }
}

/// The error number of a raw call, 0 if it succeeded.
fn errno_of(number: i64, arguments: [u64; 6]) -> i32 {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the tests pass arguments with which the call fails or is harmless to this child.
    match unsafe { libc::syscall(number, a, b, c, d, e, f) } {
        -1 => std::io::Error::last_os_error().raw_os_error().unwrap_or(-1),
        _ => 0,
    }
}

fn wait_for(pid: libc::pid_t) -> WaitStatus {
    let pid = Pid::from_raw(pid).expect("forked");
    waitpid(Some(pid), WaitOptions::empty()).unwrap().expect("waited without NOHANG").1
}
