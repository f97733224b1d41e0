//! Where the inits of limited jobs are born, so that the kernel itself holds the limits of the whole job.
//!
//! To move a process into a control group costs more than everything else that a job needs, and to be born in one
//! costs nothing. With version 2 the keeper bears each init in a fresh group. With version 1 only a parent that is in
//! a group has children in it: a **nurse**, a keeper below the keeper, is moved into a group once and makes the inits
//! of one job after the other there.
//!
//! What passes from one job to the next through a nurse's group: page cache that the first one filled stays charged to
//! the group until the kernel wants the room. Nothing of it can be read, and it is given up before anybody is ended
//! for want of memory; all that a job can notice is that its first pages took a little longer. Counters go on from job
//! to job and are read at both ends.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};

use super::confine::cgroup::{self, Group, GroupUsage, Groups, Meter};
use super::ground::Failure;
use super::job::{Ending, HeldBy, Holder, Report};
use super::spawn::clone_me;
use super::wire::{self, Kind, Request, Walls};

/// For the init, the nurse and what the kernel keeps for a job's namespaces and mounts, all of which count into the
/// group: a job can use all that it was given.
const OVERHEAD: u64 = 16 << 20;

/// The init and the nurse.
const OVERHEAD_PROCESSES: u64 = 2;

/// The keeper's groups and nurses. A nurse has none of its own.
#[derive(Debug, Default)]
pub(super) struct Nursery {
    /// Found for the first job that has limits: it takes as long as several jobs.
    groups: Option<Groups>,
    nurses: Vec<Nurse>,
}

/// A keeper below the keeper, in a group of its own, with one job at a time.
#[derive(Debug)]
struct Nurse {
    pid: Pid,
    socket: OwnedFd,
    user: Option<u32>,
    limits: cgroup::Limits,
    group: Group,
    /// The control socket of the job that it has, and when and how that began.
    job: Option<(OwnedFd, Begun)>,
}

/// What is left to the keeper when an init or a nurse has ended.
#[derive(Debug)]
pub(super) struct Charge {
    /// The control socket of its job.
    pub job: Option<(OwnedFd, Begun)>,
    /// The group that was made for it.
    pub group: Option<Group>,
}

/// When a job began, and what its group had counted before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    at: Instant,
    used: GroupUsage,
}

impl Begun {
    pub(super) fn now(meter: Option<&Meter>) -> Begun {
        Begun { at: Instant::now(), used: meter.map(Meter::usage).unwrap_or_default() }
    }

    /// What can be said of a job whose init is no more: the kernel ends an init for want of memory where the payload is
    /// gone already and the files in memory that it had are not. Without a kill that was counted, nothing.
    pub(super) fn out_of_memory(self, status: WaitStatus, meter: &Meter) -> Option<Report> {
        let used = meter.usage().since(self.used);
        let is_killed = status.terminating_signal() == Some(Signal::KILL.as_raw());
        (is_killed && used.oom_kills > 0)
            .then(|| Report::of(Ending::OutOfMemory, self.at.elapsed(), used.cpu.unwrap_or_default()))
    }
}

/// Where an init is to be born.
#[derive(Debug)]
pub(super) enum Cradle {
    /// Where the keeper is.
    Here,
    /// In this group, which is removed after the job.
    Fresh(Group, Meter),
    /// Where the nurse of this number is.
    Nurse(Pid),
    /// The calling process is a new nurse now, and serves on this.
    New(OwnedFd, Meter),
}

impl Nursery {
    /// What holds the limits of jobs from now on.
    pub(super) fn held_by(&mut self) -> HeldBy {
        let groups = self.groups.get_or_insert_with(Groups::find);
        let holder = |found: Result<(), &str>| match found {
            Ok(()) => Holder::Group,
            Err(reason) => Holder::Polling { reason: reason.to_owned() },
        };
        HeldBy { memory: holder(groups.memory()), processes: holder(groups.pids()), cpu: holder(groups.cpu()) }
    }

    /// Finds or makes a place for the next init. Where a group cannot be had the init does what it can alone.
    ///
    /// # Safety
    ///
    /// The caller has a single thread, and ends without returning where it has become a nurse.
    pub(super) unsafe fn cradle(&mut self, walls: &Walls) -> Cradle {
        if walls.limits.memory.is_none() && walls.limits.processes.is_none() {
            return Cradle::Here;
        }
        self.listen();
        let groups = self.groups.get_or_insert_with(Groups::find);
        if groups.is_empty() {
            return Cradle::Here;
        }
        let limits = group_limits(walls, groups);
        if groups.has_birthplaces() {
            let made = groups.make(limits).and_then(|group| match group.meter() {
                Ok(meter) => Ok(Cradle::Fresh(group, meter)),
                Err(failure) => group.remove().and(Err(failure)),
            });
            return made.unwrap_or_else(|failure| self.without(&failure));
        }
        let user = match walls.kind {
            Kind::View { user } => user,
            Kind::None | Kind::Fenced { .. } => None,
        };
        // Not the nurse of another user, though it is idle: what that one's last job left in memory is in its group
        // until the engine has read it.
        let fits = |nurse: &&Nurse| nurse.job.is_none() && nurse.limits == limits && nurse.user == user;
        if let Some(nurse) = self.nurses.iter().find(fits) {
            return Cradle::Nurse(nurse.pid);
        }
        // SAFETY: passed on to the caller.
        match unsafe { hire(groups, limits) } {
            Ok(Hired::Nurse(socket, meter)) => Cradle::New(socket, meter),
            Ok(Hired::Keeper { pid, socket, group }) => {
                self.nurses.push(Nurse { pid, socket, user, limits, group, job: None });
                Cradle::Nurse(pid)
            }
            Err(failure) => self.without(&failure),
        }
    }

    /// Does without groups from now on, since one could not be used: trying again would cost every job.
    pub(super) fn without(&mut self, failure: &Failure) -> Cradle {
        if let Some(groups) = &mut self.groups {
            groups.give_up(failure);
        }
        Cradle::Here
    }

    /// Hands a job to a nurse. One that is gone cannot take it, and the job is gone as well.
    pub(super) fn hand_over(&mut self, pid: Pid, walls: Walls, fds: [OwnedFd; 5]) {
        let Some(nurse) = self.nurses.iter_mut().find(|nurse| nurse.pid == pid) else { return };
        let borrowed = fds.each_ref().map(AsFd::as_fd);
        let sent = wire::send(&nurse.socket, &Request::Start(walls), &borrowed, SendFlags::DONTWAIT);
        let [_, control, ..] = fds;
        let begun = Begun::now(nurse.group.meter().ok().as_ref());
        nurse.job = sent.is_ok().then_some((control, begun));
    }

    pub(super) fn hold(&self, fds: &[OwnedFd]) {
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        for nurse in &self.nurses {
            let _ = wire::send(&nurse.socket, &Request::Hold, &fds, SendFlags::DONTWAIT);
        }
    }

    /// Hears which nurses are idle: whatever one says means that.
    pub(super) fn listen(&mut self) {
        for nurse in &mut self.nurses {
            while let Ok(Some(_)) = wire::receive(&nurse.socket, RecvFlags::DONTWAIT) {
                nurse.job = None;
            }
        }
    }

    pub(super) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        self.nurses.iter().map(|nurse| &nurse.socket)
    }

    pub(super) fn pids(&self) -> impl Iterator<Item = Pid> {
        self.nurses.iter().map(|nurse| nurse.pid)
    }

    /// Tells every nurse to end its job and itself.
    pub(super) fn dismiss(&self) {
        for nurse in &self.nurses {
            let _ = shutdown(&nurse.socket, Shutdown::Both);
        }
    }

    /// Takes a nurse that has ended off the list.
    pub(super) fn part_with(&mut self, pid: Pid) -> Option<Charge> {
        let at = self.nurses.iter().position(|nurse| nurse.pid == pid)?;
        let Nurse { group, job, .. } = self.nurses.swap_remove(at);
        Some(Charge { job, group: Some(group) })
    }
}

/// Both sides of a hiring.
enum Hired {
    Keeper { pid: Pid, socket: OwnedFd, group: Group },
    Nurse(OwnedFd, Meter),
}

/// Splits off a nurse and moves it into a new group. It waits for its first job, which comes when it is there.
///
/// # Safety
///
/// As for [`Nursery::cradle`].
unsafe fn hire(groups: &mut Groups, limits: cgroup::Limits) -> Result<Hired, Failure> {
    let group = groups.make(limits)?;
    let prepared = group.meter().and_then(|meter| {
        let (ours, theirs) = wire::pair().map_err(|errno| Failure::new("make a socket", errno))?;
        // SAFETY: passed on to the caller.
        let child = unsafe { clone_me(0) }.map_err(|errno| Failure::new("make a process", errno))?;
        Ok((child, meter, ours, theirs))
    });
    let (pid, socket) = match prepared {
        Ok((None, meter, _, socket)) => {
            // The keeper removes it.
            std::mem::forget(group);
            return Ok(Hired::Nurse(socket, meter));
        }
        Ok((Some(pid), _, socket, _)) => (pid, socket),
        Err(failure) => return group.remove().and(Err(failure)),
    };
    match group.add(pid) {
        Ok(()) => Ok(Hired::Keeper { pid, socket, group }),
        Err(failure) => {
            let _ = kill_process(pid, Signal::KILL);
            let _ = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
            group.remove().and(Err(failure))
        }
    }
}

/// What a job's group is held to, as far as there are groups for it.
fn group_limits(walls: &Walls, groups: &Groups) -> cgroup::Limits {
    let machine = total_memory();
    cgroup::Limits {
        memory: walls.limits.memory.filter(|_| groups.memory().is_ok()).map(|memory| ceiling(memory, walls, machine)),
        pids: walls.limits.processes.filter(|_| groups.pids().is_ok()).map(|limit| limit + OVERHEAD_PROCESSES),
    }
}

/// The most that the kernel lets a job take, files in memory included.
///
/// Those have a limit of their own and must not count against the processes, so there is room for both: the init ends
/// a job whose processes alone take too much, unless they are faster than it looks, and what they leave in files when
/// they are ended does not take the init's own room. But never so much that the machine runs out first.
fn ceiling(memory: u64, walls: &Walls, machine: u64) -> u64 {
    let own = memory.saturating_add(OVERHEAD);
    own.saturating_add(walls.files_in_memory).min(machine - machine / 20).max(own)
}

fn total_memory() -> u64 {
    let info = rustix::system::sysinfo();
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}

/// Whether a failure to make a process says nothing against groups.
pub(super) fn is_exhaustion(errno: Errno) -> bool {
    matches!(errno, Errno::AGAIN | Errno::NOMEM)
}

#[cfg(test)]
mod tests {
    use super::super::view::{Limits, Network};
    use super::*;

    #[test]
    fn files_in_memory_have_room_beside_the_processes_but_not_beyond_the_machine() {
        let walls = |files_in_memory| Walls {
            kind: Kind::Fenced { own_user: false },
            network: Network::None,
            limits: Limits::default(),
            files_in_memory,
        };
        let (memory, machine) = (1 << 30, 100 << 30);
        assert_eq!(ceiling(memory, &walls(0), machine), memory + OVERHEAD);
        assert_eq!(ceiling(memory, &walls(5 << 30), machine), memory + (5 << 30) + OVERHEAD);
        assert_eq!(ceiling(memory, &walls(u64::MAX), machine), 95 << 30);
        assert_eq!(ceiling(machine, &walls(1), machine), machine + OVERHEAD);
    }
}
