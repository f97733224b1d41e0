//! System calls that no evaluation needs and escapes are made of. All are made with arguments that do nothing.

use std::ffi::c_long;

use super::{Outcome, last_error};

const NOTHING: usize = 0;

/// Each must be refused, as forbidden or as missing; any other answer came from the code behind the wall.
pub(super) fn refused() -> Outcome {
    let calls: &[(&str, c_long)] = &[
        ("keyctl", libc::SYS_keyctl),
        ("add_key", libc::SYS_add_key),
        ("request_key", libc::SYS_request_key),
        ("bpf", libc::SYS_bpf),
        ("userfaultfd", libc::SYS_userfaultfd),
        ("perf_event_open", libc::SYS_perf_event_open),
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("mount", libc::SYS_mount),
        ("umount2", libc::SYS_umount2),
        ("pivot_root", libc::SYS_pivot_root),
        ("chroot", libc::SYS_chroot),
        ("open_tree", libc::SYS_open_tree),
        ("move_mount", libc::SYS_move_mount),
        ("fsopen", libc::SYS_fsopen),
        ("mount_setattr", libc::SYS_mount_setattr),
        ("name_to_handle_at", libc::SYS_name_to_handle_at),
        ("open_by_handle_at", libc::SYS_open_by_handle_at),
        ("fanotify_init", libc::SYS_fanotify_init),
        ("kexec_load", libc::SYS_kexec_load),
        ("init_module", libc::SYS_init_module),
        ("swapon", libc::SYS_swapon),
        ("settimeofday", libc::SYS_settimeofday),
        ("syslog", libc::SYS_syslog),
        ("quotactl", libc::SYS_quotactl),
        ("process_madvise", libc::SYS_process_madvise),
    ];
    Outcome::of_all(calls.iter().map(|(name, number)| {
        // SAFETY: null pointers and zeroes: the kernel answers with an error and touches no memory.
        answer(name, unsafe { libc::syscall(*number, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING) })
    }))
}

/// New namespaces would give every capability back; old ones are somebody else's.
pub(super) fn namespaces() -> Outcome {
    // SAFETY: unshare and setns take numbers. A clone with an exit at once shares nothing with this frame.
    let attempts = unsafe {
        [
            answer("unshare(user)", libc::unshare(libc::CLONE_NEWUSER).into()),
            answer("unshare(mount)", libc::unshare(libc::CLONE_NEWNS).into()),
            answer("unshare(time)", libc::unshare(0x80).into()),
            answer("setns", libc::syscall(libc::SYS_setns, -1, NOTHING)),
            answer("clone3", libc::syscall(libc::SYS_clone3, NOTHING, NOTHING)),
            answer("clone(user)", {
                let made =
                    libc::syscall(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, NOTHING, NOTHING, NOTHING, 0);
                if made == 0 {
                    libc::_exit(0);
                }
                made
            }),
        ]
    };
    Outcome::of_all(attempts)
}

/// Becoming more than one is, and making what only root makes.
pub(super) fn privileges() -> Outcome {
    let capabilities = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let some = capabilities.lines().find(|line| {
        ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"].iter().any(|name| line.starts_with(name))
            && !line.ends_with("0000")
    });
    let held = match some {
        Some(line) => Ok(format!("has capabilities, {}", line.replace('\t', " "))),
        None => Err("no capabilities".to_owned()),
    };
    let device = rustix::fs::makedev(1, 1);
    // SAFETY: numbers, and strings that end in zero; TIOCSTI reads one byte of this frame.
    let attempts = unsafe {
        [
            held,
            // There is no user 0 inside to become, which is not a matter of rights.
            match libc::setuid(0) {
                0 => Ok("setuid(0) worked".to_owned()),
                _ => Err(format!("setuid(0): {}", last_error())),
            },
            answer("mknod of /dev/mem", libc::mknod(c"mem".as_ptr(), libc::S_IFCHR | 0o600, device).into()),
            answer("personality", libc::personality(0x40_0000).into()),
            answer("sethostname", libc::sethostname(c"x".as_ptr(), 1).into()),
            // Without a terminal it is refused by the kernel too, so only a success tells.
            answer("TIOCSTI", libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()).into()),
        ]
    };
    Outcome::of_all(attempts)
}

fn answer(name: &str, result: c_long) -> Result<String, String> {
    if result != -1 {
        return Ok(format!("{name} worked"));
    }
    let error = last_error();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS | libc::EACCES | libc::ENOTTY) => Err(format!("{name}: {error}")),
        _ => Ok(format!("{name} was let through ({error})")),
    }
}
