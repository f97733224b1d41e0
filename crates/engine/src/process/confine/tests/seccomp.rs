use super::super::seccomp::{Program, Sockets};
use super::{errno_of, forked, in_child, program, succeeds};

const ALL: [Sockets; 6] =
    [Sockets::Own, Sockets::Host, Sockets::Local, Sockets::Closed, Sockets::Tcp, Sockets::OnlyTcp];

fn filter(sockets: Sockets) -> impl FnOnce() {
    let program = Program::compile(sockets, false).unwrap();
    move || program.install().unwrap()
}

#[test]
fn calls_that_an_evaluation_does_without_are_refused() {
    let refused = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_kcmp,
        libc::SYS_pidfd_getfd,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_userfaultfd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_fanotify_init,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        467, // open_tree_attr
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
        libc::SYS_swapon,
        libc::SYS_reboot,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_syslog,
        libc::SYS_vhangup,
    ];
    for sockets in ALL {
        in_child(|| {
            // Arguments that make no sense: whatever gets past the filter fails in another way,
            // unless it wants a privilege first.
            filter(sockets)();
            for call in refused {
                assert_eq!(errno_of(call, [u64::MAX; 6]), libc::EPERM, "call {call} under {sockets:?}");
            }
        });
    }
}

#[test]
fn calls_with_a_fallback_look_like_missing_ones() {
    let missing =
        [libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, 457, 458];
    in_child(|| {
        // The same arguments are another error without the filter.
        assert_ne!(errno_of(libc::SYS_clone3, [0; 6]), libc::ENOSYS);
        filter(Sockets::Own)();
        for call in missing {
            assert_eq!(errno_of(call, [0; 6]), libc::ENOSYS, "call {call}");
        }
    });
}

#[test]
fn no_clone_makes_a_namespace() {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    in_child(|| {
        filter(Sockets::Own)();
        for flag in flags {
            let upper_half = 0xffff_ffff_0000_0000;
            for noise in [0, upper_half, libc::CLONE_NEWUSER as u64] {
                let flags = flag as u64 | noise | libc::SIGCHLD as u64;
                assert_eq!(errno_of(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]), libc::EPERM, "{flags:#x}");
            }
        }
    });
}

#[test]
fn arguments_decide_where_a_call_is_needed() {
    in_child(|| {
        filter(Sockets::Own)();
        let errno = |call, first: u64, second: u64| errno_of(call, [first, second, 0, 0, 0, 0]);
        let upper_half = 0xffff_ffff_0000_0000;
        assert_eq!(errno(libc::SYS_ioctl, 0, libc::TIOCSTI), libc::EPERM);
        assert_eq!(errno(libc::SYS_ioctl, 0, libc::TIOCSTI | upper_half), libc::EPERM);
        assert_eq!(errno(libc::SYS_ioctl, 0, libc::TIOCLINUX), libc::EPERM);
        assert_ne!(errno(libc::SYS_ioctl, 0, libc::TIOCGWINSZ), libc::EPERM);
        assert_eq!(errno(libc::SYS_personality, 0x8, 0), libc::EPERM);
        assert_eq!(errno(libc::SYS_personality, 0xffff_ffff, 0), 0);
        assert_eq!(errno(libc::SYS_personality, libc::ADDR_NO_RANDOMIZE as u64, 0), 0);
        assert_eq!(errno(libc::SYS_personality, 0, 0), 0);
        assert_eq!(errno(libc::SYS_move_pages, 1, 0), libc::EPERM);
        assert_eq!(errno(libc::SYS_move_pages, 0, 0), 0);
        assert_eq!(errno(libc::SYS_prlimit64, 1, 0), libc::EPERM);
        assert_eq!(errno(libc::SYS_prlimit64, 0, 0), 0);
        assert_eq!(errno(libc::SYS_setpriority, 0, 1), libc::EPERM);
        assert_eq!(errno(libc::SYS_setpriority, libc::PRIO_USER as u64, 0), libc::EPERM);
        assert_eq!(errno(libc::SYS_setpriority, 0, 0), 0);
        assert_eq!(errno(libc::SYS_sched_setaffinity, 1, 0), libc::EPERM);
        assert_ne!(errno(libc::SYS_sched_setaffinity, 0, 0), libc::EPERM);
        assert_eq!(errno(libc::SYS_sched_setscheduler, 1, 0), libc::EPERM);
        assert_eq!(errno(libc::SYS_ioprio_set, 1, 1), libc::EPERM);
    });
}

#[test]
fn where_one_port_is_open_there_is_no_other_way_to_connect() {
    for sockets in [Sockets::Tcp, Sockets::OnlyTcp] {
        in_child(|| {
            filter(sockets)();
            // Neither several ways at once, nor a first packet that carries data: Landlock sees none of them.
            let several = [libc::AF_INET as u64, libc::SOCK_STREAM as u64, libc::IPPROTO_MPTCP as u64, 0, 0, 0];
            assert_eq!(errno_of(libc::SYS_socket, several), libc::EPERM);
            let fast = libc::MSG_FASTOPEN as u64;
            assert_eq!(errno_of(libc::SYS_sendto, [u64::MAX, 0, 0, fast, 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_sendmsg, [u64::MAX, 0, fast, 0, 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_sendmmsg, [u64::MAX, 0, 0, fast, 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_sendto, [u64::MAX, 0, 0, 0, 0, 0]), libc::EBADF);
        });
    }
}

#[test]
fn only_listed_families_of_sockets_are_made() {
    let socket = |family: i32, kind: i32, protocol: i32| {
        errno_of(libc::SYS_socket, [family as u64, kind as u64, protocol as u64, 0, 0, 0])
    };
    for sockets in ALL {
        in_child(|| {
            filter(sockets)();
            for family in [libc::AF_VSOCK, libc::AF_PACKET, libc::AF_ALG, libc::AF_BLUETOOTH, libc::AF_XDP] {
                assert_eq!(socket(family, libc::SOCK_STREAM, 0), libc::EPERM, "family {family} under {sockets:?}");
            }
            let network = matches!(sockets, Sockets::Own | Sockets::Host);
            let expected = if network { 0 } else { libc::EPERM };
            let tcp = if matches!(sockets, Sockets::Tcp | Sockets::OnlyTcp) { 0 } else { expected };
            assert_eq!(socket(libc::AF_INET, libc::SOCK_STREAM, 0), tcp, "{sockets:?}");
            assert_eq!(socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP), tcp, "{sockets:?}");
            assert_eq!(socket(libc::AF_INET, libc::SOCK_DGRAM, 0), expected, "{sockets:?}");
            assert_ne!(socket(libc::AF_INET6, libc::SOCK_STREAM, 0) == libc::EPERM, network, "{sockets:?}");
            assert_eq!(socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE), expected, "{sockets:?}");
            assert_eq!(socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT), libc::EPERM);
            let expected = if matches!(sockets, Sockets::Closed | Sockets::OnlyTcp) { libc::EPERM } else { 0 };
            for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
                assert_eq!(socket(libc::AF_UNIX, kind, 0), expected, "{sockets:?}");
            }
        });
    }
}

#[test]
fn without_a_network_pairs_are_connected_for_good() {
    in_child(|| {
        filter(Sockets::Closed)();
        let pair = |family: i32, kind: i32| {
            let mut made = [0_i32; 2];
            errno_of(libc::SYS_socketpair, [family as u64, kind as u64, 0, made.as_mut_ptr() as u64, 0, 0])
        };
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC), 0);
        assert_eq!(pair(libc::AF_UNIX, libc::SOCK_SEQPACKET), 0);
        for kind in [libc::SOCK_DGRAM, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, libc::SOCK_RAW] {
            assert_eq!(pair(libc::AF_UNIX, kind), libc::EPERM, "kind {kind:#x}");
        }
        assert_eq!(pair(libc::AF_INET, libc::SOCK_STREAM), libc::EPERM);
    });
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_another_architecture_do_not_pass() {
    let (status, said) = forked(|| {
        filter(Sockets::Own)();
        let answer: i64;
        // SAFETY: getpid (20) of the 32-bit table takes no arguments; int 0x80 clobbers r8 to r11.
        unsafe {
            std::arch::asm!("int 0x80", inlateout("rax") 20_i64 => answer, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
        panic!("the 32-bit getpid answered {answer}");
    });
    assert_eq!(status.terminating_signal(), Some(libc::SIGSYS), "{said}");
}

/// Most kernels answer the same without a filter, so the filter itself is asked.
#[cfg(target_arch = "x86_64")]
#[test]
fn calls_with_the_x32_bit_look_like_missing_ones() {
    const X86_64: u32 = 0xc000_003e;
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    for sockets in ALL {
        let program = Program::compile(sockets, false).unwrap();
        for call in [libc::SYS_getpid, libc::SYS_mount, 520] {
            assert_eq!(answer(&program, 0x4000_0000 | call as u32, X86_64), missing, "call {call}");
        }
        assert_eq!(answer(&program, libc::SYS_getpid as u32, X86_64), libc::SECCOMP_RET_ALLOW);
    }
}

/// What a filter answers to a call with arguments of zero.
#[cfg(target_arch = "x86_64")]
fn answer(program: &Program, number: u32, architecture: u32) -> u32 {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const AND: u32 = libc::BPF_ALU | libc::BPF_AND;
    const ALWAYS: u32 = libc::BPF_JMP | libc::BPF_JA;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ;
    const AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE;
    let mut accumulator = 0;
    let mut next = 0;
    loop {
        let step = &program.instructions()[next];
        let jump = |taken| usize::from(if taken { step.jt } else { step.jf });
        next += 1;
        match u32::from(step.code) {
            LOAD => accumulator = [number, architecture].get(step.k as usize / 4).copied().unwrap_or(0),
            AND => accumulator &= step.k,
            ALWAYS => next += step.k as usize,
            EQUAL => next += jump(accumulator == step.k),
            AT_LEAST => next += jump(accumulator >= step.k),
            libc::BPF_RET => return step.k,
            other => panic!("an instruction of another kind: {other:#x}"),
        }
    }
}

#[test]
fn a_filter_outlives_an_exec() {
    let (_, said) = program(filter(Sockets::Own), &["unshare", "--user", "true"]);
    assert!(said.contains("Operation not permitted"), "{said}");
    assert_eq!(succeeds(filter(Sockets::Own), &["sed", "-n", "s/^Seccomp:\\t//p", "/proc/self/status"]), "2\n");
}

#[test]
fn ordinary_programs_still_work() {
    let script = r#"
import concurrent.futures, multiprocessing, os, sqlite3, subprocess, sys, tempfile, threading, fcntl, mmap, asyncio

assert list(concurrent.futures.ThreadPoolExecutor(4).map(abs, range(-8, 0))) == list(range(8, 0, -1))
with multiprocessing.Pool(2) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
assert subprocess.run(["sh", "-c", "echo $((6 * 7))"], capture_output=True, check=True).stdout == b"42\n"
with tempfile.TemporaryDirectory() as place:
    base = sqlite3.connect(os.path.join(place, "base"))
    base.execute("pragma journal_mode = wal")
    base.execute("create table t (x)")
    base.execute("insert into t values (1)")
    base.commit()
    base.close()
    with open(os.path.join(place, "lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)
mmap.mmap(os.memfd_create("x"), 0) if False else os.memfd_create("x")
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.nice(1)
async def work():
    process = await asyncio.create_subprocess_exec("true")
    return await process.wait()
assert asyncio.run(work()) == 0
"#;
    for sockets in ALL {
        succeeds(filter(sockets), &["python3", "-c", script]);
        assert_eq!(succeeds(filter(sockets), &["sh", "-c", "echo $(printf a | tr a b) & wait"]), "b\n");
    }
}

#[test]
fn a_server_on_the_loopback_still_works() {
    let script = r#"
import socket, threading
socket.getaddrinfo("127.0.0.1", 80)
socket.if_nameindex()
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello"), daemon=True).start()
assert socket.create_connection(server.getsockname()).recv(5) == b"hello"
"#;
    succeeds(filter(Sockets::Own), &["python3", "-c", script]);
    let (_, said) = program(filter(Sockets::Closed), &["python3", "-c", script]);
    assert!(said.contains("PermissionError"), "{said}");
}
