//! The system calls a payload does without.
//!
//! Everything is allowed but what is listed: a candidate may be any program, and an allow-list
//! breaks those that nobody tried. What is listed is what no evaluation needs and what past
//! escapes were made of, or what would let a payload look into or hold back its init.

mod refused;

use std::collections::BTreeMap;

use rustix::io::Errno;
use rustix::thread::set_no_new_privs;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter};

use super::super::ground::Failure;
use super::last;
use refused::{Condition, MISSING, REFUSED, conditional};

/// Which sockets a payload may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sockets {
    /// In a network namespace of its own: internet, local and routing sockets, which lead nowhere.
    Own,
    /// With the network of the host, because the study says so: the same families.
    Host,
    /// The same without any namespace: what programs share by number is not theirs to use.
    Shared,
    /// Without a namespace and without the network: local sockets of every kind, for a kernel
    /// whose Landlock decides which names they may reach (see [`super::fence::LOCAL_SOCKETS_ABI`]).
    Local,
    /// Without a namespace and without the network: connected pairs and nothing else. A named
    /// socket could be the container daemon's, and no filter sees the name.
    Closed,
    /// As `Local`, and TCP, of which Landlock decides which ports it may reach.
    Tcp,
    /// As `Closed`, and TCP.
    OnlyTcp,
}

/// A compiled filter: made once, installed in every payload.
#[derive(Debug, Clone)]
pub(crate) struct Program(BpfProgram);

impl Program {
    /// `owns_others`: whether files outside belong to the payload's own user, and no namespace keeps them from it.
    pub(crate) fn compile(sockets: Sockets, owns_others: bool) -> Result<Program, Failure> {
        let cannot = |error: &dyn std::fmt::Display| Failure {
            errno: libc::EINVAL,
            what: format!("compile the system call filter: {error}"),
        };
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| cannot(&error))?;
        let mut rules = BTreeMap::new();
        for (call, alternatives) in conditional(sockets, owns_others) {
            let alternatives: Result<Vec<_>, _> = alternatives
                .into_iter()
                .map(|all| {
                    let conditions = all.into_iter().map(Condition::build).collect::<Result<Vec<_>, _>>()?;
                    SeccompRule::new(conditions)
                })
                .collect();
            rules.insert(call, alternatives.map_err(|error| cannot(&error))?);
        }
        let refuse = SeccompAction::Errno(libc::EPERM as u32);
        let refusals: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)
            .and_then(BpfProgram::try_from)
            .map_err(|error| cannot(&error))?;
        let mut program = head();
        program.extend(refusals);
        Ok(Program(program))
    }

    /// The instructions, for tests that ask the filter itself.
    #[cfg(test)]
    pub(super) fn instructions(&self) -> &[sock_filter] {
        &self.0
    }

    /// Binds the calling thread, and all that come of it, to the filter for good.
    pub(crate) fn install(&self) -> Result<(), Failure> {
        set_no_new_privs(true).map_err(|errno| Failure::new("forgo new privileges", errno))?;
        let len = u16::try_from(self.0.len())
            .map_err(|_| Failure::new("install a system call filter of that length", Errno::INVAL))?;
        let program = libc::sock_fprog { len, filter: self.0.as_ptr().cast::<libc::sock_filter>().cast_mut() };
        // Kernels before 5.16 would else slow every filtered process by their answer to
        // speculative store bypass, and a measured time would depend on the tier.
        let flags = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        // SAFETY: the kernel copies `len` instructions from `filter` and writes nothing; both
        // `sock_filter`s are the kernel's structure.
        match unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) } {
            0 => Ok(()),
            _ => Err(last("install the system call filter")),
        }
    }
}

/// The first number of the x32 calls, which are the x86-64 calls once more.
const X32_BIT: u32 = 0x4000_0000;

/// How many numbers are tried one after the other. About the root of how many there are, so that there are as many
/// groups to pass.
const GROUP: usize = 8;

/// What is decided by the number of the call alone: one instruction each, where the compiler takes
/// four, in groups that a number beyond them passes at once. When a filter is installed, the kernel works through it
/// for each call it knows.
///
/// It needs no look at the architecture: what it catches it refuses.
fn head() -> BpfProgram {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
    const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const JUMP_IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let mut tests: Vec<_> = MISSING.iter().map(|call| (*call as u32, libc::ENOSYS)).collect();
    tests.extend(REFUSED.iter().copied().flatten().map(|call| (*call as u32, libc::EPERM)));
    tests.sort_unstable();

    let instruction = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    // The number of the call, which is the first word of what a filter sees; two more for each group; one for x32.
    let end = 1 + tests.len() + 2 * tests.len().div_ceil(GROUP) + 1;
    // Then come a jump over the answers, and the two answers. A jump counts from the instruction behind it.
    let to_answer = |from: usize, errno| (end + if errno == libc::ENOSYS { 1 } else { 2 } - from - 1) as u8;
    let mut head = vec![instruction(LOAD, 0, 0, 0)];
    for group in tests.chunks(GROUP) {
        let beyond = group.last().map_or(0, |(number, _)| *number + 1);
        head.push(instruction(JUMP_IF_AT_LEAST, group.len() as u8 + 1, 0, beyond));
        for (number, errno) in group {
            head.push(instruction(JUMP_IF_EQUAL, to_answer(head.len(), *errno), 0, *number));
        }
        head.push(instruction(JUMP, 0, 0, (end - head.len() - 1) as u32));
    }
    head.push(instruction(JUMP_IF_AT_LEAST, to_answer(head.len(), libc::ENOSYS), 0, X32_BIT));
    head.push(instruction(JUMP, 0, 0, 2));
    for errno in [libc::ENOSYS, libc::EPERM] {
        head.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
    }
    head
}

// A jump is at most 255 instructions far.
const _: () = assert!((MISSING.len() + calls(REFUSED)) * (GROUP + 2) / GROUP < 240);

const fn calls(groups: &[&[i64]]) -> usize {
    match groups {
        [] => 0,
        [first, rest @ ..] => first.len() + calls(rest),
    }
}
