use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::process::Pid;
use rustix::time::{ClockId, clock_gettime};

use super::super::cgroup::{Group, Groups, Limits, clone_into};
use super::super::limits::prefer_as_victim;
use super::wait_for;
use crate::process::spawn::exit_now;

/// Somebody who may not make groups is told so, and gets no limit that would not hold.
fn refused(groups: &mut Groups, limits: Limits, reason: Result<(), String>) -> bool {
    let Err(reason) = reason else { return false };
    assert!(reason.contains("could not") || reason.contains("no control groups"), "{reason}");
    let failure = groups.make(limits).unwrap_err();
    assert_eq!(failure.errno, libc::EOPNOTSUPP);
    assert!(failure.what.contains(&reason), "{failure:?}");
    true
}

/// Does this in a child that has waited until it is in the group.
fn in_group(group: &Group, work: impl FnOnce()) -> rustix::process::WaitStatus {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    // SAFETY: the child ends in this block; glibc's fork leaves it a usable allocator.
    let child = unsafe { libc::fork() };
    if child == 0 {
        rustix::io::read(&reader, &mut [0; 1]).unwrap();
        work();
        exit_now(0);
    }
    group.add(Pid::from_raw(child).unwrap()).unwrap();
    rustix::io::write(&writer, b"x").unwrap();
    wait_for(child)
}

#[test]
fn a_job_that_wants_too_much_memory_is_ended_and_it_is_seen() {
    let mut groups = Groups::find();
    let limit = 32 << 20;
    let limits = Limits { memory: Some(limit), pids: None };
    let reason = groups.memory().map_err(str::to_owned);
    if refused(&mut groups, limits, reason) {
        return;
    }
    let group = groups.make(limits).unwrap();
    let meter = group.meter().unwrap();
    let status = in_group(&group, || {
        prefer_as_victim().unwrap();
        std::hint::black_box(vec![1_u8; 200 << 20]);
    });
    let usage = meter.usage();
    assert_eq!(status.terminating_signal(), Some(libc::SIGKILL), "{usage:?}");
    assert!(usage.oom_kills > 0, "{usage:?}");
    group.remove().unwrap();
}

#[test]
fn a_job_that_wants_too_many_processes_gets_no_more_and_it_is_seen() {
    let mut groups = Groups::find();
    let limits = Limits { memory: None, pids: Some(3) };
    let reason = groups.pids().map_err(str::to_owned);
    if refused(&mut groups, limits, reason) {
        return;
    }
    let group = groups.make(limits).unwrap();
    let meter = group.meter().unwrap();
    let status = in_group(&group, || {
        let mut made = Vec::new();
        let mut errno = 0;
        while errno == 0 && made.len() < 10 {
            // SAFETY: the children end at once or at the signal.
            match unsafe { libc::fork() } {
                -1 => errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(-1),
                // SAFETY: pause takes nothing.
                0 => exit_now(unsafe { libc::pause() }),
                child => made.push(child),
            }
        }
        for child in &made {
            // SAFETY: kill takes two numbers, and the child is this one's.
            unsafe { libc::kill(*child, libc::SIGKILL) };
        }
        exit_now(if (errno, made.len()) == (libc::EAGAIN, 2) { 0 } else { 1 });
    });
    assert_eq!(status.exit_status(), Some(0));
    assert!(meter.usage().pids_refused > 0);
    group.remove().unwrap();
}

#[test]
fn processor_time_counts_also_for_children_that_nobody_waited_for() {
    for groups in of_each_version() {
        counts_time(groups);
    }
}

fn counts_time(mut groups: Groups) {
    if groups.cpu().is_err() {
        let group = groups.make(Limits::default()).unwrap();
        assert_eq!(group.meter().unwrap().usage().cpu, None);
        return group.remove().unwrap();
    }
    let burn = Duration::from_millis(50);
    let group = groups.make(Limits::default()).unwrap();
    let meter = group.meter().unwrap();
    in_group(&group, || {
        // SAFETY: installs no handler: children vanish without being waited for, and with them
        // their time from this process's own account.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        // SAFETY: the child ends in this block.
        if unsafe { libc::fork() } == 0 {
            while Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap() < burn {}
            exit_now(0);
        }
        // SAFETY: ends with ECHILD when the child is gone.
        unsafe { libc::wait(std::ptr::null_mut()) };
    });
    let cpu = meter.usage().cpu.unwrap();
    assert!(cpu >= burn, "{cpu:?}");
    group.remove().unwrap();
}

/// Of each version alone: most machines have one, and hybrid ones both.
fn of_each_version() -> Vec<Groups> {
    let memberships = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let of = |second: bool| {
        let lines: Vec<_> = memberships.lines().filter(|line| line.starts_with("0::") == second).collect();
        Groups::find_in(&lines.join("\n"), &mounts)
    };
    vec![of(false), of(true)]
}

#[test]
fn what_is_left_in_a_group_is_ended_with_it() {
    for groups in of_each_version() {
        ends_what_is_left(groups);
    }
}

fn ends_what_is_left(mut groups: Groups) {
    if groups.cpu().is_err() {
        // Nothing can be in a group that cannot be made.
        return groups.make(Limits::default()).unwrap().remove().unwrap();
    }
    let group = groups.make(Limits::default()).unwrap();
    // SAFETY: the child waits for the signal; pause takes nothing.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: pause takes nothing.
        exit_now(unsafe { libc::pause() });
    }
    group.add(Pid::from_raw(child).unwrap()).unwrap();
    group.remove().unwrap();
    assert_eq!(wait_for(child).terminating_signal(), Some(libc::SIGKILL));
}

#[test]
fn a_process_is_born_where_it_is_told() {
    for mut groups in of_each_version() {
        let group = groups.make(Limits::default()).unwrap();
        if let Some(birthplace) = group.birthplace() {
            is_born_in(birthplace);
        }
        group.remove().unwrap();
    }
}

fn is_born_in(birthplace: BorrowedFd<'_>) {
    let name = format!("/overnight-{}-0", std::process::id());
    // SAFETY: the child ends in this block, and allocates nothing that another thread could hold.
    let Some(child) = unsafe { clone_into(0, birthplace) }.unwrap() else {
        let mut own = [0; 4096];
        let file = rustix::fs::open("/proc/self/cgroup", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
        let length = file.and_then(|file| rustix::io::read(&file, &mut own)).unwrap_or(0);
        let own = std::str::from_utf8(&own[..length]).unwrap_or_default();
        exit_now(i32::from(!own.trim_end().ends_with(&name)));
    };
    assert_eq!(wait_for(child.as_raw_nonzero().get()).exit_status(), Some(0));
}
