//! The calls that make and end processes, and the ones about signals that rustix leaves to libc.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::Pid;

use super::ground::Failure;
use super::wire::Body;

const SHELL: &CStr = c"/bin/sh";

/// Splits the calling process in two, like fork; `None` is the child.
///
/// The raw call, since glibc's fork takes no namespaces. It skips glibc's own bookkeeping, all of
/// which is about other threads.
///
/// # Safety
///
/// The caller has a single thread, and the child ends by [`exit_now`], never by returning.
pub(super) unsafe fn clone_me(flags: libc::c_int) -> Result<Option<Pid>, Errno> {
    // SAFETY: without CLONE_VM and a stack this is fork: the child has its own copy of everything.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) };
    match pid {
        -1 => Err(last_errno()),
        pid => Ok(Pid::from_raw(pid as i32)),
    }
}

/// How many threads the calling process has.
pub(super) fn threads() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/task")?.count())
}

/// Takes the engine's arguments off the calling process, a copy of it: a candidate could read there what is being run,
/// and by whom.
pub(super) fn forget_arguments() {
    let Some((start, end)) = memory(48) else { return };
    let name = b"overnight";
    let length = (end - start).min(name.len());
    // SAFETY: the kernel put the arguments into this writable memory and says where; nobody reads them here again.
    unsafe {
        ptr::write_bytes(start as *mut u8, 0, end - start);
        ptr::copy_nonoverlapping(name.as_ptr(), start as *mut u8, length);
    }
}

/// Overwrites the environment that this process was started with, for good: it may hold keys, and /proc shows it to every
/// process of the same user. Jobs bring their own.
pub(super) fn forget_environment() {
    let Some((start, end)) = memory(50) else { return };
    // SAFETY: the caller has a single thread, and reads no variable from here on; the list is made empty first, so that
    // nobody follows it into what is overwritten, which is writable memory that the kernel itself put there.
    unsafe {
        if !environ.is_null() {
            *environ = ptr::null_mut();
        }
        ptr::write_bytes(start as *mut u8, 0, end - start);
    }
}

unsafe extern "C" {
    static mut environ: *mut *mut libc::c_char;
}

/// Where the kernel put something for this process, by the number of the field that says where it starts.
fn memory(number: usize) -> Option<(usize, usize)> {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may hold anything; after it come the third field and those that follow.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<usize>().ok());
    let (start, end) = (field(number)?, field(number + 1)?);
    (start != 0 && end > start).then_some((start, end))
}

/// Ends the calling process without running what the engine registered for its own exit.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and touches no memory.
    unsafe { libc::_exit(code) }
}

/// A command and its environment, ready for an exec.
pub(super) struct Program {
    command: CString,
    env: Vec<CString>,
}

impl Program {
    pub(super) fn new(body: &Body) -> Result<Program, Failure> {
        let command = c_string(body.command.as_bytes(), "run a command that holds a zero byte")?;
        let pair = |(name, value): &(String, String)| {
            if name.is_empty() || name.contains('=') {
                return Err(Failure::new(format!("set a variable named {name:?}"), Errno::INVAL));
            }
            c_string(format!("{name}={value}").as_bytes(), "set a variable that holds a zero byte")
        };
        Ok(Program { command, env: body.env.iter().map(pair).collect::<Result<_, _>>()? })
    }

    fn argv(&self) -> [*const libc::c_char; 4] {
        [SHELL.as_ptr(), c"-c".as_ptr(), self.command.as_ptr(), ptr::null()]
    }

    fn envp(&self) -> Vec<*const libc::c_char> {
        self.env.iter().map(|pair| pair.as_ptr()).chain([ptr::null()]).collect()
    }

    /// Becomes the command; comes back only where it cannot.
    pub(super) fn exec(&self) -> Errno {
        let (argv, envp) = (self.argv(), self.envp());
        // SAFETY: argv and envp are null-terminated arrays of strings that outlive the call.
        unsafe { libc::execve(SHELL.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
        last_errno()
    }
}

/// Gives the calling process the signals that a program expects to start with.
pub(super) fn ordinary_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: installs no handler; numbers that are no signal are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: reads one set, which is initialised.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &no_signal(), ptr::null_mut()) };
}

/// Starts the payload in a session of its own, with ordinary signals and three descriptors.
///
/// posix_spawn shares the memory until the exec, which costs less than a second fork.
pub(super) fn spawn_payload(body: &Body, [stdin, stdout, stderr]: [BorrowedFd<'_>; 3]) -> Result<Pid, Failure> {
    let program = Program::new(body)?;
    let (argv, envp) = (program.argv(), program.envp());

    let mut pid = 0;
    let mut attributes = MaybeUninit::<libc::posix_spawnattr_t>::uninit();
    let mut actions = MaybeUninit::<libc::posix_spawn_file_actions_t>::uninit();
    let flags = libc::POSIX_SPAWN_SETSID
        | libc::POSIX_SPAWN_SETSIGDEF as libc::c_short
        | libc::POSIX_SPAWN_SETSIGMASK as libc::c_short;
    // SAFETY: both objects are initialised by their init calls before anything else uses them and
    // are destroyed once; argv and envp are null-terminated arrays of strings that outlive the
    // call.
    let error = unsafe {
        let attributes = attributes.as_mut_ptr();
        let actions = actions.as_mut_ptr();
        libc::posix_spawnattr_init(attributes);
        libc::posix_spawnattr_setflags(attributes, flags);
        libc::posix_spawnattr_setsigdefault(attributes, &every_signal());
        libc::posix_spawnattr_setsigmask(attributes, &no_signal());
        libc::posix_spawn_file_actions_init(actions);
        for (fd, target) in [(stdin, 0), (stdout, 1), (stderr, 2)] {
            libc::posix_spawn_file_actions_adddup2(actions, fd.as_raw_fd(), target);
        }
        let error = libc::posix_spawn(
            &mut pid,
            SHELL.as_ptr(),
            actions,
            attributes,
            argv.as_ptr().cast(),
            envp.as_ptr().cast(),
        );
        libc::posix_spawn_file_actions_destroy(actions);
        libc::posix_spawnattr_destroy(attributes);
        error
    };
    match Pid::from_raw(pid) {
        Some(pid) if error == 0 => Ok(pid),
        _ => Err(Failure::new("run /bin/sh", Errno::from_raw_os_error(error))),
    }
}

/// Blocks SIGCHLD and gives a descriptor that is readable while one is pending.
pub(super) fn child_signals() -> Result<OwnedFd, Errno> {
    // SAFETY: the set is initialised before use, and a descriptor that signalfd returns is new.
    unsafe {
        let mut set = no_signal();
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut());
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(last_errno()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Leaves the terminal's and the user's signals to the engine: its end is what ends the keeper.
pub(super) fn ignore_signals() {
    let ignored = [libc::SIGINT, libc::SIGHUP, libc::SIGTERM, libc::SIGQUIT, libc::SIGPIPE];
    for signal in ignored {
        // SAFETY: installs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // A handler or SIG_IGN here would let the kernel reap behind our back.
    // SAFETY: installs no handler.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Closes every descriptor above 2 but these.
///
/// # Safety
///
/// No owner of a closed descriptor is used or dropped afterwards.
pub(super) unsafe fn keep_only(keep: impl IntoIterator<Item = RawFd>) {
    let mut keep: Vec<u32> = keep.into_iter().filter_map(|fd| fd.try_into().ok()).collect();
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep.into_iter().filter(|fd| *fd >= 3).chain([u32::MAX]) {
        if first < fd {
            // SAFETY: passed on to the caller.
            unsafe { close_between(first, fd - 1) };
        }
        first = fd.saturating_add(1);
    }
}

/// Time and memory of every process the caller has waited for, and of those they waited for.
pub(super) fn children_usage() -> (Duration, u64) {
    usage_of(libc::RUSAGE_CHILDREN)
}

/// Time that the calling process itself has used.
pub(super) fn own_time() -> Duration {
    usage_of(libc::RUSAGE_SELF).0
}

fn usage_of(whom: libc::c_int) -> (Duration, u64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes the structure it is given; zeroed, it is valid even if it does not.
    let usage = unsafe {
        libc::getrusage(whom, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    (time(usage.ru_utime) + time(usage.ru_stime), usage.ru_maxrss as u64 * 1024)
}

/// # Safety
///
/// As for [`keep_only`].
unsafe fn close_between(first: u32, last: u32) {
    // SAFETY: passed on to the caller.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    // Kernels before 5.9. Listed first, closed after: the listing itself is a descriptor.
    let open: Vec<RawFd> = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in open {
        if u32::try_from(fd).is_ok_and(|fd| (first..=last).contains(&fd)) {
            // SAFETY: passed on to the caller.
            unsafe { libc::close(fd) };
        }
    }
}

fn no_signal() -> libc::sigset_t {
    // SAFETY: a set of signals is plain bits; without any it is empty.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// With the two that glibc keeps for itself: sigfillset leaves them out, and posix_spawn then
/// starts every program with them ignored.
fn every_signal() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: a set of signals is plain bits, and all of them are written.
    unsafe {
        set.as_mut_ptr().write_bytes(0xff, 1);
        set.assume_init()
    }
}

fn c_string(bytes: &[u8], what: &str) -> Result<CString, Failure> {
    CString::new(bytes).map_err(|_| Failure::new(what, Errno::INVAL))
}

fn last_errno() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
