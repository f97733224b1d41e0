//! Finding out where groups can be made, by making one.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, getpid, test_kill_process, waitpid};

use super::super::super::ground::Failure;
use super::super::super::spawn::{clone_me, exit_now};
use super::{Groups, Hierarchy, Limits, Version, clone_into, write};

/// More than any machine has, so that the probe itself is not limited.
const PROBE_LIMITS: Limits = Limits { memory: Some(1 << 50), pids: Some(1 << 20) };

impl Groups {
    /// Tries every hierarchy that this process is in. The caller has a single thread.
    pub(crate) fn find() -> Groups {
        let memberships = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Groups::find_in(&memberships, &mounts)
    }

    pub(in super::super) fn find_in(memberships: &str, mounts: &str) -> Groups {
        let absent = |what: &str| Err(format!("this machine has no control groups for {what}"));
        let mut groups = Groups {
            keeper: getpid().as_raw_nonzero().get().unsigned_abs(),
            made: 0,
            hierarchies: Vec::new(),
            memory: absent("memory"),
            pids: absent("processes"),
            cpu: absent("processor time"),
        };
        for own in own_groups(memberships, mounts) {
            groups.try_out(&own);
        }
        groups
    }

    fn try_out(&mut self, own: &Own) {
        for base in own.bases() {
            sweep(&base);
            let (mut memory, mut pids) = (own.has("memory"), own.has("pids"));
            if own.version == Version::V2 {
                let (enabled, refusal) = enable(&base, base == own.path);
                memory = enabled.contains("memory");
                pids = enabled.contains("pids");
                if let Some(refusal) = refusal {
                    self.excuse(&refusal);
                }
            }
            // Version 2 counts time in every group, version 1 where cpuacct is.
            let cpu = own.version == Version::V2 || own.has("cpuacct");
            let hierarchy = Hierarchy { version: own.version, base, memory, pids, cpu };
            if hierarchy.adds_to(self) {
                self.learn(hierarchy);
            }
        }
    }

    /// Remembers why the nearest group cannot limit, until one further away can.
    fn excuse(&mut self, refusal: &Failure) {
        for known in [&mut self.memory, &mut self.pids] {
            if known.is_err() {
                *known = Err(refusal.sentence());
            }
        }
    }

    /// Tries a hierarchy out, and keeps it or the reason against it.
    fn learn(&mut self, hierarchy: Hierarchy) {
        let found = probe(self.keeper, &hierarchy).map_err(|failure| failure.sentence());
        for (here, known) in
            [(hierarchy.memory, &mut self.memory), (hierarchy.pids, &mut self.pids), (hierarchy.cpu, &mut self.cpu)]
        {
            if here && known.is_err() {
                known.clone_from(&found);
            }
        }
        if found.is_ok() {
            // The nearer group of the same tree does less.
            self.hierarchies.retain(|nearer| nearer.version == Version::V1 || hierarchy.version == Version::V1);
            self.hierarchies.push(hierarchy);
        }
    }
}

impl Hierarchy {
    /// Whether more can be done with this than without. A group further up the tree of version 2
    /// takes the place of a nearer one, so it must be able to do all that the nearer one can.
    fn adds_to(&self, groups: &Groups) -> bool {
        let nearer = groups.hierarchies.iter().find(|it| it.version == Version::V2 && self.version == Version::V2);
        let loses = nearer.is_some_and(|nearer| (nearer.memory && !self.memory) || (nearer.pids && !self.pids));
        let gains = (self.memory && groups.memory.is_err())
            || (self.pids && groups.pids.is_err())
            || (self.cpu && groups.cpu.is_err());
        gains && !loses
    }
}

/// The group of this process in one hierarchy.
#[derive(Debug, PartialEq, Eq)]
struct Own {
    version: Version,
    controllers: Vec<String>,
    mount: PathBuf,
    path: PathBuf,
}

impl Own {
    /// The groups in which ours could be made, the nearest first.
    ///
    /// An ordinary login's own group holds processes, and such a group cannot have limited
    /// children; one above it can. A limit that somebody set is not climbed past.
    fn bases(&self) -> Vec<PathBuf> {
        if self.version == Version::V1 {
            return vec![self.path.clone()];
        }
        let mut bases = Vec::new();
        for base in self.path.ancestors().take_while(|path| path.starts_with(&self.mount)) {
            bases.push(base.to_owned());
            let limited = |name| fs::read_to_string(base.join(name)).is_ok_and(|text| !text.starts_with("max"));
            if ["memory.max", "memory.high", "pids.max", "cpu.max"].into_iter().any(limited) {
                break;
            }
        }
        bases
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|it| it == controller)
    }
}

/// The groups of a process, from its /proc/self/cgroup and /proc/self/mountinfo.
fn own_groups(memberships: &str, mounts: &str) -> Vec<Own> {
    let mut found: Vec<Own> = Vec::new();
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let version = if controllers.is_empty() { Version::V2 } else { Version::V1 };
        let controllers: Vec<_> = controllers.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let useful = ["memory", "pids", "cpuacct"];
        if version == Version::V1 && !controllers.iter().any(|it| useful.contains(&it.as_str())) {
            continue;
        }
        let place = mounts.lines().filter_map(Mount::parse).find_map(|mount| {
            let fits = match version {
                Version::V1 => mount.kind == "cgroup" && mount.options.split(',').any(|it| it == controllers[0]),
                Version::V2 => mount.kind == "cgroup2",
            };
            // In a container the mount shows a part of the tree, and the paths start above it.
            let below = Path::new(path).strip_prefix(mount.root).ok()?;
            fits.then(|| (PathBuf::from(mount.point), below.to_owned()))
        });
        if let Some((mount, below)) = place {
            let path = mount.components().chain(below.components()).collect();
            found.push(Own { version, controllers, mount, path });
        }
    }
    found
}

struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    /// `36 35 98:0 /root /point options shared:1 - type source super-options`
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let mut filesystem = filesystem.split(' ');
        Some(Mount { root: mount.next()?, point: mount.next()?, kind: filesystem.next()?, options: filesystem.nth(1)? })
    }
}

/// The controllers that children of this group have, after asking for those that it could give,
/// and why it did not give them.
fn enable(base: &Path, own: bool) -> (HashSet<String>, Option<Failure>) {
    let read = |name| -> HashSet<String> {
        let text = fs::read_to_string(base.join(name)).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    };
    let enabled = read("cgroup.subtree_control");
    let wanted: Vec<_> = read("cgroup.controllers")
        .difference(&enabled)
        .filter(|it| ["memory", "pids"].contains(&it.as_str()))
        .map(|it| format!("+{it}"))
        .collect();
    if !own || wanted.is_empty() {
        return (enabled, None);
    }
    let ask = || wanted.iter().try_for_each(|it| write(&base.join("cgroup.subtree_control"), it));
    let asked = match ask() {
        Err(failure) if failure.errno == libc::EBUSY => settle(base).and_then(|()| ask()),
        other => other,
    };
    (read("cgroup.subtree_control"), asked.err())
}

/// Moves this process and its family into a group of their own below: only a group without
/// processes may limit its children. Somebody else's processes stay where they are.
fn settle(base: &Path) -> Result<(), Failure> {
    let me = getpid().as_raw_nonzero().get();
    let above = ancestors(me);
    let engine = above.get(1).copied();
    let members = fs::read_to_string(base.join("cgroup.procs"))
        .map_err(|error| Failure::io("read the processes of a group", &error))?;
    let members: Vec<i32> = members.lines().filter_map(|line| line.parse().ok()).collect();
    let family = |pid: &i32| {
        above.contains(pid) || engine.is_some_and(|engine| engine != 1 && ancestors(*pid).contains(&engine))
    };
    if !members.iter().all(family) {
        return Err(Failure::new("limit groups beside other processes", Errno::BUSY));
    }
    let home = base.join(format!("overnight-{me}-home"));
    fs::create_dir(&home).map_err(|error| Failure::io("make a group", &error))?;
    members.iter().try_for_each(|pid| write(&home.join("cgroup.procs"), &pid.to_string()))
}

/// A process and those above it.
fn ancestors(pid: i32) -> Vec<i32> {
    let mut line = vec![pid];
    while let Some(parent) = line.last().and_then(|pid| parent_of(*pid)).filter(|parent| *parent > 0) {
        line.push(parent);
    }
    line
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, also brackets; the state and the parent follow it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Makes a group, puts a child into it, reads the counters and removes it all.
fn probe(keeper: u32, hierarchy: &Hierarchy) -> Result<(), Failure> {
    let mut groups =
        Groups { keeper, made: 0, hierarchies: vec![hierarchy.clone()], memory: Ok(()), pids: Ok(()), cpu: Ok(()) };
    let group = groups.make(PROBE_LIMITS)?;
    let probed = (|| {
        let (lifeline, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| Failure::new("make a pipe", errno))?;
        let born = group.birthplace().ok_or(Errno::NOSYS);
        // SAFETY: the caller has a single thread, and the child ends below.
        let born = born.and_then(|birthplace| unsafe { clone_into(0, birthplace) });
        let in_group = born.is_ok();
        // SAFETY: the same.
        let child = born.or_else(|_| unsafe { clone_me(0) }).map_err(|errno| Failure::new("make a process", errno))?;
        let Some(child) = child else {
            drop(writer);
            let _ = rustix::io::read(&lifeline, &mut [0; 1]);
            exit_now(0)
        };
        let added = if in_group { Ok(()) } else { group.add(child) };
        drop(writer);
        let _ = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
        added?;
        let usage = group.meter()?.usage();
        if hierarchy.cpu && usage.cpu.is_none() {
            return Err(Failure::new("read the processor time of a group", Errno::NODATA));
        }
        Ok(())
    })();
    let removed = group.remove();
    probed.and(removed)
}

/// Removes the empty groups of keepers that are gone. One that still holds processes is left
/// alone: its keeper may live where its number means something else.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let keeper = name.to_str().and_then(|name| name.strip_prefix("overnight-")?.split_once('-')?.0.parse().ok());
        let Some(keeper) = keeper.and_then(Pid::from_raw) else { continue };
        let gone = keeper == getpid() || test_kill_process(keeper) == Err(Errno::SRCH);
        if gone {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_where_its_mount_shows_it() {
        let memberships = "4:memory:/a/b\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/user/x\n";
        let mounts = "1 0 0:1 / / rw - ext4 /dev/vda rw\n\
            30 25 0:26 / /sys/fs/cgroup/unified rw,nosuid shared:4 - cgroup2 cgroup2 rw\n\
            31 25 0:27 /a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n";
        let found: Vec<_> = own_groups(memberships, mounts).into_iter().map(|own| (own.version, own.path)).collect();
        assert_eq!(
            found,
            [
                (Version::V1, PathBuf::from("/sys/fs/cgroup/memory/b")),
                (Version::V1, PathBuf::from("/sys/fs/cgroup/cpu,cpuacct")),
                (Version::V2, PathBuf::from("/sys/fs/cgroup/unified/user/x")),
            ]
        );
    }

    #[test]
    fn a_mount_that_shows_another_part_of_the_tree_is_no_place() {
        let mounts = "31 25 0:27 /other /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        assert_eq!(own_groups("4:memory:/a/b\n", mounts), []);
    }
}
