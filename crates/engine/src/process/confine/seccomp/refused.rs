//! The lists: which calls are refused, with which arguments, and why.

use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};

use super::Sockets;

/// Numbers that libc does not name yet; newer calls have one number on every architecture.
const SYS_FCHMODAT2: i64 = 452;
const SYS_STATMOUNT: i64 = 457;
const SYS_LISTMOUNT: i64 = 458;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_OPEN_TREE_ATTR: i64 = 467;
const SYS_LISTNS: i64 = 470;

/// Refused with EPERM, whatever the arguments.
pub(super) const REFUSED: &[&[i64]] = &[
    // Other processes' memory and descriptors: the init's, and at the lowest tier the user's.
    &[
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_kcmp,
        libc::SYS_pidfd_getfd,
    ],
    // Keyrings belong to the user, not to the namespace.
    &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
    // Large parts of the kernel that an evaluation does not need and exploits do.
    &[
        libc::SYS_userfaultfd,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_fanotify_init,
        libc::SYS_lookup_dcookie,
    ],
    // Mounts: the sandbox's root is made of them.
    &[
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        SYS_OPEN_TREE_ATTR,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
    ],
    // A new user namespace gives all capabilities back, and with them most of the kernel.
    &[libc::SYS_unshare, libc::SYS_setns],
    // Handles open files by number, past every path.
    &[libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at],
    // The machine itself: its modules, clock, log, swap, accounting and quotas.
    &[
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_nfsservctl,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_syslog,
        libc::SYS_vhangup,
    ],
    // Ports of the machine, and shared libraries of the old format.
    #[cfg(target_arch = "x86_64")]
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib],
];

/// Answered as by a kernel that lacks them, on which programs fall back to what is filtered.
pub(super) const MISSING: &[i64] = &[
    // Its flags lie in memory, where no filter sees a CLONE_NEWUSER.
    libc::SYS_clone3,
    // Does what other calls do, without passing the filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Show what /proc/self/mountinfo shows, by a newer way.
    SYS_STATMOUNT,
    SYS_LISTMOUNT,
    SYS_LISTNS,
];

const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The process that holds the deadline, where it has a namespace.
const INIT: u64 = 1;

/// One condition on one argument. The kernel takes each of these arguments as 32 bits: comparing
/// all 64 would let a call pass that has something in the upper half.
#[derive(Debug, Clone, Copy)]
pub(super) enum Condition {
    Is(u8, u64),
    IsNot(u8, u64),
    /// The bits of the mask are as in the value.
    Has {
        argument: u8,
        mask: u64,
        value: u64,
    },
}

impl Condition {
    pub(super) fn build(self) -> Result<SeccompCondition, seccompiler::BackendError> {
        let (argument, operator, value) = match self {
            Condition::Is(argument, value) => (argument, SeccompCmpOp::Eq, value),
            Condition::IsNot(argument, value) => (argument, SeccompCmpOp::Ne, value),
            Condition::Has { argument, mask, value } => (argument, SeccompCmpOp::MaskedEq(mask), value),
        };
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    }
}

/// A call, and the arguments with which it is refused: any line of which all conditions hold.
pub(super) type Conditional = (i64, Vec<Vec<Condition>>);

pub(super) fn conditional(sockets: Sockets, owns_others: bool) -> Vec<Conditional> {
    use Condition::{Has, Is, IsNot};
    let bit = |argument, bit| vec![Has { argument, mask: bit, value: bit }];
    let mut refused = vec![
        // Ordinary forks and threads are clones without a namespace.
        (libc::SYS_clone, NAMESPACES.iter().map(|flag| bit(0, *flag as u64)).collect()),
        // Bytes typed into a terminal are read by the shell that owns it.
        (libc::SYS_ioctl, vec![vec![Is(1, libc::TIOCSTI)], vec![Is(1, libc::TIOCLINUX)]]),
        // Other personalities bring back old ways of laying out memory; asking, the default and a
        // fixed layout, which debuggers and some benchmarks set, stay.
        (libc::SYS_personality, vec![[0, 0xffff_ffff, libc::ADDR_NO_RANDOMIZE as u64].map(|it| IsNot(0, it)).to_vec()]),
        // Pages of another process; one's own may move between memory nodes.
        (libc::SYS_move_pages, vec![vec![IsNot(0, 0)]]),
        (libc::SYS_migrate_pages, vec![vec![IsNot(0, 0)]]),
        // An init has its payload's user, so the kernel would let the payload set its limits: a
        // processor limit kills it, a limit of descriptors blinds it.
        (libc::SYS_prlimit64, vec![vec![IsNot(0, 0)]]),
        // For the same reason it could be made to wait for its turn, past the deadline. Threads
        // are named by number here, so other numbers stay.
        (libc::SYS_sched_setaffinity, vec![vec![Is(0, INIT)]]),
        (libc::SYS_sched_setscheduler, vec![vec![Is(0, INIT)]]),
        (libc::SYS_sched_setparam, vec![vec![Is(0, INIT)]]),
        (libc::SYS_sched_setattr, vec![vec![Is(0, INIT)]]),
        (libc::SYS_setpriority, vec![vec![Is(1, INIT)], vec![Is(0, libc::PRIO_USER as u64)]]),
        (libc::SYS_ioprio_set, vec![vec![Is(1, INIT)], vec![Is(0, IOPRIO_WHO_USER)]]),
    ];
    refused.extend(refused_sockets(sockets));
    if matches!(sockets, Sockets::Tcp | Sockets::OnlyTcp) {
        // A first packet that carries data connects without asking Landlock.
        let fast = libc::MSG_FASTOPEN as u64;
        refused.extend([
            (libc::SYS_sendto, vec![bit(3, fast)]),
            (libc::SYS_sendmsg, vec![bit(2, fast)]),
            (libc::SYS_sendmmsg, vec![bit(3, fast)]),
        ]);
    }
    if !matches!(sockets, Sockets::Own | Sockets::Host) {
        // Without a namespace these belong to the machine, and outlive the trial that made them.
        refused
            .extend([libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open].map(|it| (it, vec![])));
    }
    if owns_others {
        // Landlock leaves modes, owners, times and attributes alone. By descriptor they stay: what could be opened was
        // within the fence.
        refused.extend(BY_PATH.iter().map(|it| (*it, vec![])));
        refused.push((libc::SYS_utimensat, vec![vec![IsNot(1, 0)]]));
    }
    refused
}

/// Changes of what a file is called by, without opening it.
const BY_PATH: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
];

const IOPRIO_WHO_USER: u64 = 3;

/// The bits of a socket's type that are not flags.
const TYPE_MASK: u64 = 0xf;

/// Whatever of the internet is not TCP by itself: Landlock does not see others, nor TCP over several ways.
fn not_tcp() -> Vec<Vec<Condition>> {
    use Condition::{Has, Is, IsNot};
    let inet = Is(0, libc::AF_INET as u64);
    let others = (0..=TYPE_MASK).filter(|it| *it != libc::SOCK_STREAM as u64);
    let types = others.map(|value| vec![inet, Has { argument: 1, mask: TYPE_MASK, value }]);
    types.chain([vec![inet, IsNot(2, 0), IsNot(2, libc::IPPROTO_TCP as u64)]]).collect()
}

fn refused_sockets(sockets: Sockets) -> [Conditional; 2] {
    use Condition::{Has, Is, IsNot};
    let family = |family: i32| IsNot(0, family as u64);
    let local = libc::AF_UNIX as u64;
    let made = match sockets {
        // By list: families such as VSOCK reach past every namespace, and each is kernel code.
        Sockets::Own | Sockets::Host | Sockets::Shared => vec![
            [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(family).to_vec(),
            // Looking up names asks for the machine's addresses.
            vec![Is(0, libc::AF_NETLINK as u64), IsNot(2, libc::NETLINK_ROUTE as u64)],
        ],
        Sockets::Local => vec![vec![family(libc::AF_UNIX)]],
        Sockets::Closed => Vec::new(),
        Sockets::Tcp => [vec![vec![family(libc::AF_UNIX), family(libc::AF_INET)]], not_tcp()].concat(),
        Sockets::OnlyTcp => [vec![vec![family(libc::AF_INET)]], not_tcp()].concat(),
    };
    let mut pairs = vec![vec![family(libc::AF_UNIX)]];
    if matches!(sockets, Sockets::Closed | Sockets::OnlyTcp) {
        // A pair of datagram sockets can still send to any name. (RAW becomes DGRAM.)
        let types = (0..=TYPE_MASK).filter(|it| ![libc::SOCK_STREAM as u64, libc::SOCK_SEQPACKET as u64].contains(it));
        pairs.extend(types.map(|value| vec![Is(0, local), Has { argument: 1, mask: TYPE_MASK, value }]));
    }
    [(libc::SYS_socket, made), (libc::SYS_socketpair, pairs)]
}
