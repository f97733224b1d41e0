//! Looking at what is not one's own, and laying hands on it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};

use super::{Outcome, last_error};

/// Any of these files.
pub(super) fn read(paths: &[String]) -> Outcome {
    Outcome::of_all(paths.iter().map(|path| {
        let mut byte = [0];
        match File::open(path).and_then(|mut file| file.read(&mut byte)) {
            Ok(_) => Ok(format!("read {path}")),
            Err(error) => Err(format!("{path}: {error}")),
        }
    }))
}

/// Any of these, without changing it; in a folder, by making a file that is taken away again.
pub(super) fn write(paths: &[String]) -> Outcome {
    Outcome::of_all(paths.iter().map(|path| {
        let opened = match fs::metadata(path).is_ok_and(|it| it.is_dir()) {
            true => {
                let made = format!("{path}/overnight-was-here");
                File::create(&made).map(|_| drop(fs::remove_file(&made)))
            }
            false => OpenOptions::new().append(true).open(path).map(drop),
        };
        opened.map(|()| format!("opened {path} for writing")).map_err(|error| format!("{path}: {error}"))
    }))
}

/// Settings of the kernel: what was read is written back, so that a hole changes nothing.
pub(super) fn sysctl() -> Outcome {
    let paths = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/fs/file-max",
    ];
    Outcome::of_all(paths.into_iter().map(|path| {
        let written = fs::read(path).and_then(|text| OpenOptions::new().write(true).open(path)?.write_all(&text));
        written.map(|()| format!("wrote {path}")).map_err(|error| format!("{path}: {error}"))
    }))
}

/// A process of the host, by its number and the time it started at.
pub(super) fn see(pid: u64, started: u64) -> Outcome {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let found = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(19)?.parse::<u64>().ok());
    match found {
        Some(found) if found == started => Outcome::through(format!("process {pid} of the host is in /proc")),
        _ => Outcome::held("only its own processes are in /proc"),
    }
}

/// Descriptors that somebody forgot to close.
pub(super) fn descriptors() -> Outcome {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Outcome::held("/proc/self/fd cannot be read") };
    let numbers: Vec<i32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    Outcome::of_all(numbers.into_iter().filter(|number| *number > 2).map(|number| {
        match fs::read_link(format!("/proc/self/fd/{number}")) {
            // The listing itself is one, and by now it is closed.
            Err(_) => Err("0, 1 and 2 are all there is".to_owned()),
            Ok(target) => Ok(format!("descriptor {number} is {}", target.display())),
        }
    }))
}

/// The memory, files and descriptors of the process that holds the deadline, and of its parent.
pub(super) fn into_init() -> Outcome {
    let mut attempts = Vec::new();
    for name in ["mem", "environ", "maps", "auxv", "syscall"] {
        let path = format!("/proc/1/{name}");
        let mut byte = [0];
        let read = File::open(&path).and_then(|mut file| file.read(&mut byte));
        attempts.push(match read {
            Ok(length) if length > 0 || name == "mem" => Ok(format!("read {path}")),
            Ok(_) => Err(format!("{path} is empty")),
            Err(error) => Err(format!("{path}: {error}")),
        });
    }
    for name in ["root", "cwd", "exe", "ns/mnt", "fd/3", "fd/4"] {
        let path = format!("/proc/1/{name}");
        attempts
            .push(fs::read_link(&path).map(|_| format!("followed {path}")).map_err(|error| format!("{path}: {error}")));
    }
    let writes = ["/proc/1/oom_score_adj", "/proc/1/mem", "/proc/1/comm", "/proc/1/clear_refs", "/proc/1/uid_map"];
    for path in writes {
        let opened = OpenOptions::new().write(true).open(path);
        attempts.push(opened.map(|_| format!("opened {path}")).map_err(|error| format!("{path}: {error}")));
    }
    attempts.extend(traces());
    Outcome::of_all(attempts)
}

fn traces() -> Vec<Result<String, String>> {
    let verdict = |name: &str, result: i64| match result {
        -1 => Err(format!("{name}: {}", last_error())),
        _ => Ok(format!("{name} worked on process 1")),
    };
    let (mut byte, null) = ([0u8; 8], std::ptr::null_mut::<libc::c_void>());
    let here = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 8 };
    let there = libc::iovec { iov_base: 0x40_0000 as *mut libc::c_void, iov_len: 8 };
    // SAFETY: the vectors describe 8 bytes of this frame; the rest are numbers and null. A tracer that gets hold of
    // its init is the end of the attack, which ends right after.
    unsafe {
        vec![
            verdict("ptrace", libc::ptrace(libc::PTRACE_SEIZE, 1, null, null)),
            verdict("process_vm_readv", libc::process_vm_readv(1, &here, 1, &there, 1, 0) as i64),
            verdict("kcmp", libc::syscall(libc::SYS_kcmp, libc::getpid(), 1, 0, 0, 0)),
            verdict("prlimit", {
                let limit = libc::rlimit { rlim_cur: 4096, rlim_max: 4096 };
                i64::from(libc::prlimit(1, libc::RLIMIT_NOFILE, &limit, std::ptr::null_mut()))
            }),
            verdict("pidfd_getfd", {
                let handle = libc::syscall(libc::SYS_pidfd_open, 1, 0);
                libc::syscall(libc::SYS_pidfd_getfd, handle, 0, 0)
            }),
        ]
    }
}

/// Whether a process of the host could be signalled; none is sent.
pub(super) fn signal(pid: u64) -> Outcome {
    // SAFETY: signal 0 only asks.
    match unsafe { libc::kill(pid as i32, 0) } {
        // In a namespace of its own that number is somebody else, or this very process.
        0 if pid == u64::from(std::process::id()) => Outcome::held("that number is this process"),
        0 => Outcome::through(format!("process {pid} can be signalled")),
        _ => Outcome::held(last_error().to_string()),
    }
}

/// Ends, and stops, the process that holds the deadline. `host` names the host's namespace of processes, where that
/// would be the machine's own.
pub(super) fn kill_init(host: &str) -> Outcome {
    if !is_apart(host) {
        return signal_above();
    }
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGSTOP, libc::SIGTSTP, libc::SIGCHLD, libc::SIGKILL] {
        // SAFETY: kill takes two numbers; process 1 is that of a namespace made for this job.
        unsafe { libc::kill(1, signal) };
    }
    let stat = fs::read_to_string("/proc/1/stat").unwrap_or_default();
    match stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with(['T', 'Z', 't'])) {
        Some(false) => Outcome::held("process 1 goes on"),
        _ => Outcome::through("process 1 is stopped or gone"),
    }
}

/// Whether any process above this job's own session could be signalled, its init first; none is sent.
fn signal_above() -> Outcome {
    let parent = |pid: i32| -> Option<i32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let me = std::process::id() as i32;
    // SAFETY: getsid takes a number.
    let session = |pid: i32| unsafe { libc::getsid(pid) };
    let mut above = parent(me);
    while let Some(pid) = above.filter(|pid| *pid > 1) {
        // SAFETY: signal 0 only asks.
        if session(pid) != session(0) && unsafe { libc::kill(pid, 0) } == 0 {
            return Outcome::through(format!("process {pid} above it can be signalled"));
        }
        above = parent(pid);
    }
    Outcome::held("nobody above it can be signalled")
}

/// Ends everything it can reach, itself aside.
pub(super) fn kill_all(host: &str) -> Outcome {
    if !is_apart(host) {
        // Where a wall that gives way would take the whole machine with it, its own are enough.
        // SAFETY: kill takes two numbers; 0 is the group of this very process.
        unsafe { libc::kill(0, libc::SIGKILL) };
    }
    // SAFETY: kill takes two numbers; what it reaches is in a namespace made for this job.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    Outcome::held("only its own processes are gone")
}

fn is_apart(host: &str) -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|own| own.as_os_str() != host)
}
