//! The processes of one job, seen from its init: finding, signalling and measuring them.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal};

use super::job::Containment;

/// Everything below the calling init.
#[derive(Debug)]
pub(super) struct Tree {
    containment: Containment,
    root: Pid,
}

/// A process as /proc shows it. Its start time tells it from a later process of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pid: Pid,
    parent: i32,
    started: u64,
    zombie: bool,
    threads: u64,
}

impl Tree {
    /// The tree below the calling process, which is its init.
    pub(super) fn below_me(containment: Containment) -> Result<Tree, Errno> {
        let root = getpid();
        // kill(-1) from anything but process 1 of a namespace of its own ends the whole machine.
        if containment == Containment::PidNamespace && !root.is_init() {
            return Err(Errno::PERM);
        }
        Ok(Tree { containment, root })
    }

    /// Sends a signal to every process of the tree.
    pub(super) fn signal(&self, signal: Signal) {
        match self.containment {
            Containment::PidNamespace => {
                // SAFETY: kill takes two numbers. `below_me` has checked that this is process 1,
                // so -1 is everything in its namespace and nothing else. Having nobody left to
                // signal is the only possible error.
                unsafe { libc::kill(-1, signal.as_raw()) };
            }
            Containment::Subreaper => {
                for member in self.members() {
                    member.signal(signal);
                }
            }
        }
    }

    /// How many processes of the tree are alive; a zombie is not.
    pub(super) fn alive(&self) -> u32 {
        let alive = self.members().iter().filter(|member| !member.zombie).count();
        u32::try_from(alive).unwrap_or(u32::MAX)
    }

    /// The sum of the resident memory of the tree; shared pages count once for each process.
    pub(super) fn resident_bytes(&self) -> u64 {
        let pages: u64 = match self.containment {
            Containment::PidNamespace => pids().filter(|pid| *pid != self.root).filter_map(resident_pages).sum(),
            Containment::Subreaper => self.members().iter().filter_map(|member| resident_pages(member.pid)).sum(),
        };
        pages * rustix::param::page_size() as u64
    }

    /// The memory of the tree with shared pages counted once, as far as the kernel tells. Slow: it looks at every page.
    ///
    /// A process may hide its pages from others; all of it counts then, or hiding would be a way past the limit.
    pub(super) fn proportional_bytes(&self) -> u64 {
        let page = rustix::param::page_size() as u64;
        let bytes = |member: &Member| match proportional_kilobytes(member.pid) {
            Some(kilobytes) => kilobytes * 1024,
            None => resident_pages(member.pid).unwrap_or(0) * page,
        };
        self.members().iter().map(bytes).sum()
    }

    /// How many processes and threads there are.
    pub(super) fn tasks(&self) -> u64 {
        self.members().iter().map(|member| member.threads).sum()
    }

    fn members(&self) -> Vec<Member> {
        match self.containment {
            Containment::PidNamespace => {
                pids().filter(|pid| *pid != self.root).filter_map(|pid| Member::read(pid).ok()).collect()
            }
            Containment::Subreaper => below(self.root, &HashSet::new()),
        }
    }
}

/// How many processes and threads a user has, as far as /proc shows them.
pub(super) fn tasks_of(user: u32) -> u64 {
    let is_theirs = |pid: &Pid| fs::metadata(format!("/proc/{pid}")).is_ok_and(|metadata| metadata.uid() == user);
    pids().filter(is_theirs).filter_map(|pid| Member::read(pid).ok()).map(|member| member.threads).sum()
}

/// Every descendant of `root` by the chain of parents, leaving out `except` and all below them.
pub(super) fn below(root: Pid, except: &HashSet<Pid>) -> Vec<Member> {
    let mut children: HashMap<i32, Vec<Member>> = HashMap::new();
    for member in pids().filter_map(|pid| Member::read(pid).ok()) {
        children.entry(member.parent).or_default().push(member);
    }
    let mut found = Vec::new();
    let mut parents = vec![root.as_raw_pid()];
    while let Some(parent) = parents.pop() {
        for member in children.remove(&parent).unwrap_or_default() {
            if !except.contains(&member.pid) {
                parents.push(member.pid.as_raw_pid());
                found.push(member);
            }
        }
    }
    found
}

impl Member {
    /// Signals this very process, and never one that has taken over its number.
    pub(super) fn signal(&self, signal: Signal) {
        match pidfd_open(self.pid, PidfdFlags::empty()) {
            Ok(handle) => {
                // The handle may be of a newer process; once the start time agrees, it is not.
                if Member::read(self.pid).is_ok_and(|now| now.started == self.started) {
                    // Gone already, which is all a signal could achieve.
                    let _ = pidfd_send_signal(&handle, signal);
                }
            }
            Err(Errno::SRCH) => {}
            // Kernels before 5.3, and containers that forbid the call, have no pidfd.
            Err(_) => {
                let _ = kill_process(self.pid, signal);
            }
        }
    }

    fn read(pid: Pid) -> io::Result<Member> {
        let mut buffer = [0; 1024];
        let stat = read_proc(pid, "stat", &mut buffer)?;
        Member::parse(pid, stat).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// `pid (name) state ppid …`, where the name may hold spaces, parentheses and odd bytes.
    fn parse(pid: Pid, stat: &[u8]) -> Option<Member> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        // The state was the third field and the parent the fourth; the number of threads is the 20th and the start
        // time the 22nd.
        let threads = fields.nth(15)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        Some(Member { pid, parent, started, zombie, threads })
    }
}

fn resident_pages(pid: Pid) -> Option<u64> {
    let mut buffer = [0; 128];
    let statm = read_proc(pid, "statm", &mut buffer).ok()?;
    str::from_utf8(statm).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn proportional_kilobytes(pid: Pid) -> Option<u64> {
    let mut buffer = [0; 2048];
    let rollup = read_proc(pid, "smaps_rollup", &mut buffer).ok()?;
    let line = str::from_utf8(rollup).ok()?.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn read_proc<'a>(pid: Pid, name: &str, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let mut file = File::open(format!("/proc/{pid}/{name}"))?;
    let length = file.read(buffer)?;
    Ok(&buffer[..length])
}

fn pids() -> impl Iterator<Item = Pid> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let pid = Pid::from_raw(7).unwrap();
        let stat = b"7 (a) Z 1 (b) S 3 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9\n";
        let member = Member::parse(pid, stat).unwrap();
        assert_eq!(member, Member { pid, parent: 3, started: 4242, zombie: false, threads: 1 });
    }

    #[test]
    fn the_tree_is_never_taken_for_a_namespace_by_a_process_that_is_not_its_first() {
        assert_eq!(Tree::below_me(Containment::PidNamespace).unwrap_err(), Errno::PERM);
    }
}
