//! Taking more than one's share. Every attack ends at the amount it was given: a wall that is missing costs no more.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::FromRawFd;
use std::time::Duration;

use super::{Outcome, last_error};

const PIECE: usize = 4 << 20;

/// Long enough for whoever watches to look again, many times.
const LINGER: Duration = Duration::from_secs(3);

fn took(what: String) -> Outcome {
    std::thread::sleep(LINGER);
    Outcome::through(what)
}

/// Plain memory, written to so that it exists; `hidden` from those who look into processes.
pub(super) fn memory(bytes: u64, hidden: bool) -> Outcome {
    if hidden {
        // SAFETY: prctl takes numbers here.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    }
    match take(bytes) {
        Some(_taken) => took(format!("took {bytes} bytes of memory")),
        None => Outcome::held("no more memory was given"),
    }
}

fn take(bytes: u64) -> Option<Vec<Vec<u8>>> {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while ((taken.len() * PIECE) as u64) < bytes {
        let mut piece = Vec::new();
        piece.try_reserve_exact(PIECE).ok()?;
        piece.resize(PIECE, 1);
        taken.push(piece);
    }
    Some(taken)
}

/// A little in each of many processes, which hold it until all have theirs: on a busy machine the first would else be
/// gone before the last has begun.
pub(super) fn memory_in_forks(bytes: u64) -> Outcome {
    const EACH: u64 = 8;
    let (mut ready, done) = match std::io::pipe() {
        Ok(ends) => ends,
        Err(error) => return Outcome::held(error.to_string()),
    };
    for _ in 0..EACH {
        // SAFETY: an attack has a single thread, and the child never returns.
        if unsafe { libc::fork() } == 0 {
            let taken = take(bytes / EACH);
            let _ = (&done).write_all(&[u8::from(taken.is_some())]);
            // Whoever ends without a word was ended.
            drop(done);
            loop {
                std::thread::sleep(LINGER);
                std::hint::black_box(&taken);
            }
        }
    }
    drop(done);
    let mut words = vec![0; EACH as usize];
    let has_all = std::io::Read::read_exact(&mut ready, &mut words).is_ok() && words.iter().all(|word| *word == 1);
    match has_all {
        true => took(format!("took {bytes} bytes of memory in {EACH} processes")),
        false => Outcome::held("a process was ended, or given no more memory"),
    }
}

/// Files in memory, which belong to no process that one could measure.
pub(super) fn memory_files(bytes: u64) -> Outcome {
    let piece = vec![1; PIECE];
    let mut files = Vec::new();
    while ((files.len() * PIECE) as u64) < bytes {
        // SAFETY: the name ends in zero; a descriptor that comes back is new and belongs to the file.
        let mut file = unsafe {
            match libc::memfd_create(c"attack".as_ptr(), 0) {
                -1 => return Outcome::held(last_error().to_string()),
                fd => File::from_raw_fd(fd),
            }
        };
        if let Err(error) = file.write_all(&piece) {
            return Outcome::held(error.to_string());
        }
        files.push(file);
    }
    Outcome::through(format!("took {bytes} bytes of memory as files"))
}

/// Segments that stay when nobody has them mapped.
pub(super) fn memory_segments(bytes: u64) -> Outcome {
    let mut taken = 0;
    while taken < bytes {
        // SAFETY: a new segment is mapped, written within its length, and let go; the numbers are checked first.
        unsafe {
            let id = libc::shmget(libc::IPC_PRIVATE, PIECE, libc::IPC_CREAT | 0o600);
            if id == -1 {
                return Outcome::held(last_error().to_string());
            }
            let at = libc::shmat(id, std::ptr::null(), 0);
            if at as isize == -1 {
                return Outcome::held(last_error().to_string());
            }
            at.cast::<u8>().write_bytes(1, PIECE);
            libc::shmdt(at);
        }
        taken += PIECE as u64;
    }
    Outcome::through(format!("took {bytes} bytes of shared memory"))
}

/// Processes that only wait.
pub(super) fn processes(count: u64) -> Outcome {
    for made in 0..count {
        // SAFETY: an attack has a single thread; the child waits to be killed and never returns.
        match unsafe { libc::fork() } {
            -1 => {
                let error = last_error();
                std::thread::sleep(LINGER);
                return Outcome::held(format!("after {made}: {error}"));
            }
            0 => loop {
                std::thread::sleep(LINGER);
            },
            _ => {}
        }
    }
    took(format!("made {count} processes"))
}

/// Threads that only wait.
pub(super) fn threads(count: u64) -> Outcome {
    for made in 0..count {
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(|| std::thread::sleep(LINGER * 2));
        if let Err(error) = thread {
            std::thread::sleep(LINGER);
            return Outcome::held(format!("after {made}: {error}"));
        }
    }
    took(format!("made {count} threads"))
}

/// One growing file, until there is no more room.
pub(super) fn disk(bytes: u64) -> Outcome {
    let piece = vec![1; 1 << 20];
    let mut written = 0;
    let mut number = 0;
    while written < bytes {
        let Ok(mut file) = File::create(format!("fill-{number}")) else { return refused_room() };
        // Many files: a limit on each alone is none.
        for _ in 0..4 {
            if file.write_all(&piece).is_err() {
                return refused_room();
            }
            written += piece.len() as u64;
        }
        number += 1;
    }
    Outcome::through(format!("wrote {bytes} bytes"))
}

/// Files without anything in them.
pub(super) fn inodes(count: u64) -> Outcome {
    for number in 0..count {
        if number % 1000 == 0 && fs::create_dir(format!("many-{}", number / 1000)).is_err() {
            return refused_room();
        }
        if File::create(format!("many-{}/{number}", number / 1000)).is_err() {
            return refused_room();
        }
    }
    Outcome::through(format!("made {count} files"))
}

/// Folders in folders, far deeper than a path can be long.
pub(super) fn nest(depth: u64) -> Outcome {
    for made in 0..depth {
        let entered = fs::create_dir("deeper").and_then(|()| std::env::set_current_dir("deeper"));
        if let Err(error) = entered {
            return Outcome::held(format!("after {made}: {error}"));
        }
    }
    Outcome::held(format!("made a nest of {depth} folders"))
}

/// The most that a file without end is filled with, where nothing stops it.
const FILLED: u64 = 256 << 20;

/// A file that is long and takes no room, until somebody fills it, as a tool that copies it would.
pub(super) fn sparse(bytes: u64) -> Outcome {
    let piece = vec![0; 1 << 20];
    let fill = || -> std::io::Result<()> {
        let mut file = File::create("hole")?;
        file.set_len(bytes)?;
        for _ in 0..bytes.min(FILLED) / piece.len() as u64 {
            file.write_all(&piece)?;
        }
        Ok(())
    };
    match fill() {
        Ok(()) => Outcome::through(format!("made and filled a hole of {bytes} bytes")),
        Err(error) => Outcome::held(error.to_string()),
    }
}

fn refused_room() -> Outcome {
    Outcome::held(last_error().to_string())
}

/// A process that belongs to nobody any more: a second fork, a session of its own, no streams. The token is in its
/// arguments, so that it can be looked for.
pub(super) fn daemon(_token: &str) -> Outcome {
    // SAFETY: an attack has a single thread; the children close what is theirs and only wait.
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                for signal in 1..libc::SIGRTMAX() {
                    libc::signal(signal, libc::SIG_IGN);
                }
                libc::close(0);
                libc::close(1);
                libc::close(2);
                loop {
                    libc::pause();
                }
            }
            libc::_exit(0);
        }
    }
    Outcome::held("left a process behind; whether it lives is for others to see")
}

/// Does not end when told to, and starts itself again and again.
pub(super) fn stubborn(_token: &str) -> Outcome {
    // SAFETY: as for `daemon`; each child ends, or goes on in this loop alone.
    unsafe {
        for signal in 1..libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_IGN);
        }
        loop {
            if libc::fork() > 0 {
                // The parent goes away, so that every number is soon somebody else's.
                libc::usleep(2000);
                libc::_exit(0);
            }
            libc::setsid();
            libc::usleep(2000);
        }
    }
}
