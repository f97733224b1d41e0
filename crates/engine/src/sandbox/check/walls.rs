//! The walls of a tier, each with the attack that it has to stand.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};

use super::host::{self, Listeners};
use super::{Attacked, CheckError, DISK, MEMORY, PROCESSES, Ring, Stood, Wall};
use crate::process::{Containment, Ending, Holder};

/// The exit code of an attack that was held; 0 is one that got through.
pub const ATTACK_HELD: i32 = 77;

/// A file of the host that every sandbox shows.
const SHARED: &str = "/usr/bin/env";

/// Without a sandbox there is nothing to try: everything is as open as it looks.
pub(super) fn none() -> Vec<Wall> {
    let open = |what| Wall { what, stood: Stood::Open, how: "there is no sandbox".to_owned() };
    ["files outside", "the network", "processes of the host", "memory", "processes", "disk"].map(open).to_vec()
}

pub(super) fn try_all(ring: &Ring<'_>) -> Result<Vec<Wall>, CheckError> {
    let token = ring.token();
    let listeners =
        Listeners::open(&token).map_err(|source| CheckError::Scratch { path: ring.scratch.into(), source })?;
    let canary = host::canary(ring.scratch);
    let (canary, state) = (canary.display(), ring.scratch.join("state"));
    let me = std::process::id();
    let mut walls = vec![
        plain(ring, "a file outside", &format!("read {canary} /proc/1/root{canary} {}", state.display()))?,
        plain(ring, "folders of the system", "write /usr /usr/bin /etc /etc/passwd /dev /proc /sys /")?,
        plain(ring, "settings of the kernel", "sysctl")?,
        plain(ring, "the host's network", &format!("connect {}", listeners.port))?,
        plain(ring, "sockets by name", &format!("abstract '{}'", listeners.name))?,
        plain(ring, "odd families of sockets", "families")?,
        own_processes(ring, plain(ring, "processes of the host", &format!("see {me} {}", host::started()))?),
        plain(ring, "signals to the engine", &format!("signal {me}"))?,
        plain(ring, "the process that watches", "init")?,
        plain(ring, "a signal to what watches", &format!("kill-init '{}'", host::namespace()))?,
        plain(ring, "left-over descriptors", "descriptors")?,
        plain(ring, "dangerous system calls", "calls")?,
        plain(ring, "new namespaces", "namespaces")?,
        plain(ring, "privileges", "privileges")?,
        daemon(ring)?,
    ];
    if ring.is_apart() {
        walls.push(locked_file(ring)?);
    }
    let shared = host::InSharedMemory::plant();
    let apart = [
        plain(ring, "shared memory of others", &format!("read {}", shared.0.display()))?,
        locks(ring, SHARED, "locks on shared files")?,
        own_devices(locks(ring, "/dev/null", "locks on devices")?),
        own_devices(locks_felt(ring, "/dev/null", "lock-input", "locks on standard input")?),
        locks(ring, "/sys/devices/system/cpu/online", "locks on the kernel's files")?,
        watched(ring)?,
    ];
    let why = "everybody sees the same files at this tier";
    walls.extend(apart.map(|wall| if ring.is_apart() { wall } else { not_claimed(wall, why) }));
    for (what, attack) in [
        ("memory", "memory"),
        ("memory of a process that hides", "memory-hidden"),
        ("memory of many processes", "memory-forks"),
    ] {
        let attacked = ring.attack(&format!("{attack} {}", MEMORY * 2))?;
        walls.push(limit(what, attacked, &Ending::OutOfMemory));
    }
    let segments = ring.attack(&format!("memory-segments {}", MEMORY * 2))?;
    let segments = refused_or("shared segments of memory", segments, &Ending::OutOfMemory);
    let by_group = ring.keeper.held_by()?.memory == Holder::Group;
    walls.push(if by_group || is_root() && ring.is_apart() {
        segments
    } else {
        not_claimed(segments, "only root or a control group can limit them")
    });
    let files = ring.attack(&format!("memory-files {}", MEMORY * 2))?;
    let files = refused_or("files in memory", files, &Ending::OutOfMemory);
    walls.push(if by_group { files } else { not_claimed(files, "only a control group counts them") });
    for (what, attack) in [("processes", "processes"), ("threads", "threads")] {
        let attacked = ring.attack(&format!("{attack} {}", PROCESSES * 2))?;
        walls.push(refused_or(what, attacked, &Ending::TooManyProcesses));
    }
    let disk = limit("disk", ring.attack(&format!("disk {}", DISK * 2))?, &Ending::LayerFull);
    walls.push(if ring.has_room_of_its_own() {
        disk
    } else {
        not_claimed(disk, "a layer on the disk has the disk's own end")
    });
    // In memory a hole takes no room, and programs that map large files make them.
    if !ring.has_room_of_its_own() {
        let attacked = ring.attack(&format!("sparse {}", DISK * 2))?;
        walls.push(refused_or("a file without end", attacked, &Ending::LayerFull));
    }
    Ok(walls)
}

/// An attack that says itself how it went.
fn plain(ring: &Ring<'_>, what: &'static str, arguments: &str) -> Result<Wall, CheckError> {
    Ok(judge(what, ring.attack(arguments)?))
}

fn judge(what: &'static str, Attacked { ending, said }: Attacked) -> Wall {
    match ending {
        Ending::Exited { code: ATTACK_HELD } => Wall { what, stood: Stood::Held, how: said },
        Ending::Exited { code: 0 } => Wall { what, stood: Stood::Broken, how: said },
        other => Wall { what, stood: Stood::Broken, how: format!("the attack ended oddly: {other:?} {said}") },
    }
}

/// An attack that has to be ended from outside, with the right reason.
fn limit(what: &'static str, Attacked { ending, said }: Attacked, wanted: &Ending) -> Wall {
    if ending == *wanted || matches!(ending, Ending::Exited { code: ATTACK_HELD } if *wanted == Ending::LayerFull) {
        return Wall { what, stood: Stood::Held, how: format!("ended: {}", name(wanted)) };
    }
    Wall { what, stood: Stood::Broken, how: format!("{} {said}", name(&ending)).trim().to_owned() }
}

/// One that may be refused by the kernel, or be ended for it.
fn refused_or(what: &'static str, attacked: Attacked, wanted: &Ending) -> Wall {
    match attacked.ending {
        Ending::Exited { code: ATTACK_HELD } => judge(what, attacked),
        _ => limit(what, attacked, wanted),
    }
}

fn not_claimed(wall: Wall, why: &str) -> Wall {
    match wall.stood {
        Stood::Broken => Wall { stood: Stood::Open, how: format!("{}; {why}", wall.how), ..wall },
        _ => wall,
    }
}

/// Without a namespace their names are there for everyone; nothing can be done to them.
fn own_processes(ring: &Ring<'_>, wall: Wall) -> Wall {
    match ring.keeper.containment() {
        Containment::PidNamespace => wall,
        Containment::Subreaper => not_claimed(wall, "without namespaces every process can be seen"),
    }
}

/// Only root can make device nodes; an ordinary user's sandbox shows the host's.
fn own_devices(wall: Wall) -> Wall {
    if is_root() { wall } else { not_claimed(wall, "an ordinary user cannot make devices of its own") }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Inside it may change; on the host it may not.
fn locked_file(ring: &Ring<'_>) -> Result<Wall, CheckError> {
    let what = "a locked file";
    let Attacked { said, .. } = ring.shell("rm -f locked; echo forged > locked; chmod 777 . ..; cat locked")?;
    let path = ring.tree().join("locked");
    Ok(match fs::read_to_string(&path) {
        Ok(text) if text == host::LOCKED => {
            Wall { what, stood: Stood::Held, how: "only its own copy changed".to_owned() }
        }
        _ => Wall { what, stood: Stood::Broken, how: format!("{} changed: {said}", path.display()) },
    })
}

fn locks(ring: &Ring<'_>, path: &str, what: &'static str) -> Result<Wall, CheckError> {
    locks_felt(ring, path, &format!("lock {path}"), what)
}

fn locks_felt(ring: &Ring<'_>, path: &str, attack: &str, what: &'static str) -> Result<Wall, CheckError> {
    let _held = host::lock(path);
    plain(ring, what, attack)
}

/// The host opens the file all the while.
fn watched(ring: &Ring<'_>) -> Result<Wall, CheckError> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = File::open(SHARED);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let wall = plain(ring, "notices of shared files", &format!("watch {SHARED}"));
        done.store(true, Ordering::Relaxed);
        wall
    })
}

fn daemon(ring: &Ring<'_>) -> Result<Wall, CheckError> {
    let what = "a process left behind";
    let token = ring.token();
    for attack in ["daemon", "stubborn"] {
        ring.attack(&format!("{attack} '{token}'"))?;
    }
    let left = host::survivors(&token);
    Ok(match left.is_empty() {
        true => Wall { what, stood: Stood::Held, how: "gone with its job".to_owned() },
        false => Wall { what, stood: Stood::Broken, how: format!("processes {left:?} are alive") },
    })
}

fn name(ending: &Ending) -> String {
    match ending {
        Ending::OutOfMemory => "out of memory".to_owned(),
        Ending::TooManyProcesses => "too many processes".to_owned(),
        Ending::LayerFull => "no room left".to_owned(),
        Ending::Exited { code } => format!("exit code {code}"),
        other => format!("{other:?}"),
    }
}
