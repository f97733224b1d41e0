//! The init of one job: starts the payload, holds its deadline, and leaves nobody behind.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, chdir, setsid, umask, wait};
use rustix::time::{ClockId, clock_gettime};

use super::confine::cgroup::{GroupUsage, Meter};
use super::confine::limits::{drop_capabilities, hide_from_tracing};
use super::confine::seccomp::Program;
use super::course::{Cause, Course, News, Step};
use super::enclose::{enclose, enter_fenced};
use super::ground::{Failure, Ground};
use super::inside::{Inside, spawn_confined};
use super::job::{Ending, Report};
use super::root::{Root, own_null};
use super::spawn::{child_signals, children_usage, exit_now, keep_only, own_time, spawn_payload};
use super::tree::Tree;
use super::view::{Limits, Sandbox};
use super::wire::{self, Body, Order, Word};

/// The first look at memory: many payloads live for a few milliseconds only.
const FIRST_SAMPLE: Duration = Duration::from_millis(5);

/// Often enough to see a training step's peak, seldom enough not to disturb it.
const SAMPLE_PERIOD: Duration = Duration::from_millis(100);

/// With half of the allowed memory taken: a program can take the other half in a moment.
const HASTY_SAMPLE: Duration = Duration::from_millis(10);

/// Sampling may use one part in this many of a core: in a large tree, or on a crowded host without
/// namespaces, one look at /proc takes milliseconds.
const SAMPLE_SHARE: u32 = 50;

/// However dear a look is: a limit on memory that nobody watches for seconds is none.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A process forked while /proc was being read has escaped that round; the next one finds it.
const FIRST_KILL_AGAIN: Duration = Duration::from_millis(2);

/// A process can stay in the kernel for seconds after KILL, freeing a GPU; asking more often does
/// not help it.
const KILL_AGAIN: Duration = Duration::from_millis(100);

/// Clocks are read one after the other, and a sleep of less harms no measurement.
const SUSPENDED_FROM: Duration = Duration::from_secs(1);

/// What the engine sent for one job, and what the keeper adds.
pub(super) struct Post<'a> {
    pub body: OwnedFd,
    pub control: OwnedFd,
    pub stdio: [OwnedFd; 3],
    /// Hangs up when the keeper is gone.
    pub lifeline: BorrowedFd<'a>,
    /// Kept open for as long as this process lives.
    pub held: &'a [OwnedFd],
    /// The map of owners for the job's user.
    pub owners: Option<&'a OwnedFd>,
    /// The filter of system calls for the job's payload.
    pub program: Option<&'a Program>,
    /// The counters of the group that this process was born in.
    pub meter: Option<&'a Meter>,
}

/// The life of an init, from its first instruction to its last.
pub(super) fn run(ground: Ground, post: Post<'_>) -> ! {
    // A panic must not unwind into the keeper's code, of which this process is a copy.
    let lived = catch_unwind(AssertUnwindSafe(|| live(ground, post)));
    exit_now(if lived.is_ok() { 0 } else { 101 })
}

fn live(ground: Ground, post: Post<'_>) {
    let Post { body, control, stdio, lifeline, held, owners, program, meter } = post;
    let mine = [&body, &control].into_iter().chain(&stdio).chain(held).chain(owners).map(AsRawFd::as_raw_fd);
    let counters = meter.into_iter().flat_map(Meter::descriptors);
    // SAFETY: what is closed belongs to the keeper's frames, and this process never returns there.
    unsafe { keep_only(mine.chain([lifeline.as_raw_fd()]).chain(counters)) };
    let mut root = None;
    let report = match start(ground, (body, stdio), (&control, lifeline), (owners, program), meter, &mut root) {
        Ok(running) => running.watch(),
        Err(Failure { errno, what }) => Some(Report::not_started(errno, &what)),
    };
    // The engine may remove the directory as soon as it has the report.
    let _ = chdir("/");
    if let Some(report) = report.map(Word::Ended) {
        let left: Vec<BorrowedFd<'_>> = root.iter().flat_map(|root| &root.handed_back).map(AsFd::as_fd).collect();
        // A user that has too many descriptors under way cannot send more: the report goes alone then, and what the
        // job left is lost with it. An engine that has just gone needs no report.
        if wire::send(&control, &report, &left, SendFlags::empty()).is_err() && !left.is_empty() {
            let _ = wire::send(&control, &report, &[], SendFlags::empty());
        }
    }
}

fn start<'a>(
    ground: Ground,
    (body, mut stdio): (OwnedFd, [OwnedFd; 3]),
    (control, lifeline): (&'a OwnedFd, BorrowedFd<'a>),
    (owners, program): (Option<&OwnedFd>, Option<&Program>),
    meter: Option<&'a Meter>,
    root: &'a mut Option<Root>,
) -> Result<Running<'a>, Failure> {
    let signals = child_signals().map_err(|errno| Failure::new("watch for children", errno))?;
    setsid().map_err(|errno| Failure::new("make a session", errno))?;
    let body = Body::from_file(body).map_err(|error| Failure::io("read the request", &error))?;
    match &body.sandbox {
        Sandbox::None => ground.enter()?,
        Sandbox::View(view) => {
            let (built, listener) = enclose(ground, view, owners.map(AsFd::as_fd))?;
            *root = Some(built);
            if let Some(listener) = listener {
                // Ours is closed at the end of this block: a payload must not find it.
                wire::send(control, &Word::Listening, &[listener.as_fd()], SendFlags::empty())
                    .map_err(|errno| Failure::new("hand the listener over", errno))?;
            }
            if let Some(null) = own_null(stdio[0].as_fd()) {
                stdio[0] = null;
            }
        }
        Sandbox::Fenced(fenced) => {
            ground.enter()?;
            enter_fenced(fenced)?;
        }
    }
    let tree = Tree::below_me(ground.containment())
        .map_err(|errno| Failure::new("be the first process of the namespace", errno))?;
    umask(Mode::WGRP | Mode::WOTH);
    let cwd = Path::new(OsStr::from_bytes(&body.cwd));
    chdir(cwd).map_err(|errno| Failure::new(format!("enter the directory {}", cwd.display()), errno))?;
    let slept = time_asleep();
    let stdio = stdio.each_ref().map(AsFd::as_fd);
    let inside = match &body.sandbox {
        Sandbox::None => None,
        Sandbox::View(view) => Some(Inside::of_view(view)),
        Sandbox::Fenced(fenced) => Some(Inside::of_fenced(fenced)),
    };
    let inside = match meter {
        Some(meter) if meter.counts_processes() => inside.map(Inside::counted_by_group),
        _ => inside,
    };
    let account = meter.map(Account::open);
    let (payload, start) = match (inside, program) {
        (Some(inside), Some(program)) => {
            // What is below it runs as the same user, and must not reach into this process.
            drop_capabilities()?;
            hide_from_tracing()?;
            (spawn_confined(&body, stdio, &inside, program)?, Instant::now())
        }
        (Some(_), None) => return Err(Failure::new("find the filter of system calls", Errno::NOENT)),
        (None, _) => {
            let start = Instant::now();
            (spawn_payload(&body, stdio)?, start)
        }
    };
    // `stdio` is dropped here: the pipes must show end of file when the payload's tree is gone.
    Ok(Running {
        tree,
        payload,
        signals,
        control,
        lifeline,
        engine_there: true,
        keeper_there: true,
        course: Course::new(start, body.deadline, body.grace),
        start,
        slept,
        sampler: Sampler { next: start + FIRST_SAMPLE, pause: FIRST_SAMPLE, peak: 0 },
        kill_again: start,
        kill_pause: FIRST_KILL_AGAIN,
        limits: body.sandbox.limits(),
        layer: root.as_ref().map(|root| root.layer.as_fd()),
        account,
    })
}

/// A payload and all that came of it.
struct Running<'a> {
    tree: Tree,
    payload: Pid,
    signals: OwnedFd,
    control: &'a OwnedFd,
    lifeline: BorrowedFd<'a>,
    engine_there: bool,
    keeper_there: bool,
    course: Course,
    start: Instant,
    slept: Duration,
    sampler: Sampler,
    kill_again: Instant,
    kill_pause: Duration,
    limits: Limits,
    layer: Option<BorrowedFd<'a>>,
    account: Option<Account<'a>>,
}

impl Running<'_> {
    /// Waits until the tree is gone. Nobody waits for the report of an abandoned job: `None`.
    fn watch(mut self) -> Option<Report> {
        let mut end = None;
        let (mut stragglers, mut crowded) = (0, false);
        loop {
            let reaped = self.reap();
            if let Some(status) = reaped.payload {
                end = Some((status, self.start.elapsed()));
                if reaped.others_left && !self.course.killing() {
                    stragglers = self.tree.alive();
                    crowded = self.account.is_none() && self.is_crowded();
                    self.learn(News::PayloadEnded);
                }
            }
            // Orphans come back to this process, so no child left means no descendant left.
            if !reaped.others_left {
                break;
            }
            self.learn(News::TimePassed);
            self.act_on_time();
            self.wait_for_news();
        }
        let (status, wall) = end?;
        let used = self.account.as_ref().map(Account::close).unwrap_or_default();
        let ending = match self.course.cause() {
            Some(Cause::Abandoned) => return None,
            Some(Cause::TimedOut) => Ending::TimedOut,
            Some(Cause::Stopped) => Ending::Stopped,
            Some(Cause::OutOfMemory) => Ending::OutOfMemory,
            Some(Cause::TooManyProcesses) => Ending::TooManyProcesses,
            None => self.blame_limits(ending_of(status), used, crowded),
        };
        let (waited_for, peak_of_one) = children_usage();
        Some(Report {
            ending,
            wall,
            cpu: used.cpu.unwrap_or(waited_for),
            peak_bytes: peak_of_one.max(self.sampler.peak),
            suspended: time_asleep().saturating_sub(self.slept) > SUSPENDED_FROM,
            stragglers,
        })
    }

    /// A failure beside a limit that was reached is that and not a crash: the kernel ended or refused a process, the
    /// layer is full, a file went past its limit.
    fn blame_limits(&self, ending: Ending, used: GroupUsage, crowded: bool) -> Ending {
        let is_full = || {
            self.layer.is_some_and(|layer| {
                rustix::fs::fstatvfs(layer).is_ok_and(|stat| stat.f_bavail == 0 || stat.f_ffree == 0)
            })
        };
        match ending {
            Ending::Exited { code: 0 } => ending,
            _ if used.oom_kills > 0 => Ending::OutOfMemory,
            _ if used.pids_refused > 0 || crowded => Ending::TooManyProcesses,
            Ending::Signaled { signal: libc::SIGXFSZ } => Ending::LayerFull,
            Ending::Exited { code } if code == 128 + libc::SIGXFSZ => Ending::LayerFull,
            _ if is_full() => Ending::LayerFull,
            _ => ending,
        }
    }

    /// Whether most of the processes that there may be are there: a payload that was refused another one leaves them
    /// behind, and without a group nobody counts the refusals. Not all, since the user's others may count as well.
    fn is_crowded(&self) -> bool {
        self.limits.processes.is_some_and(|limit| self.tree.tasks() > limit - limit / 4)
    }

    fn sample(&mut self, now: Instant) {
        let resident = self.sampler.sample(&self.tree, now);
        if let Some(limit) = self.limits.memory {
            if resident > limit / 2 {
                self.sampler.next = self.sampler.next.min(now + HASTY_SAMPLE);
            }
            // Pages that many processes share count once: a fork is no memory of its own.
            if resident > limit && self.tree.proportional_bytes() > limit {
                self.learn(News::TookTooMuchMemory);
            }
        }
        if let Some(limit) = self.limits.processes
            && self.tree.tasks() >= limit
        {
            self.learn(News::MadeTooManyProcesses);
        }
    }

    fn reap(&self) -> Reaped {
        // Read before waiting for children: a child that ends in between signals again.
        let mut pending = [0; 128];
        let _ = rustix::io::read(&self.signals, &mut pending);
        let mut payload = None;
        // __WALL: a child made by clone with another signal is a child all the same.
        let options = WaitOptions::NOHANG | WaitOptions::from_bits_retain(libc::__WALL as u32);
        loop {
            match wait(options) {
                Ok(Some((pid, status))) if pid == self.payload => payload = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Reaped { payload, others_left: true },
                Err(_) => return Reaped { payload, others_left: false },
            }
        }
    }

    fn learn(&mut self, news: News) {
        match self.course.learn(news, Instant::now()) {
            Some(Step::Terminate) => {
                // TERM first, then CONT: a stopped child acts on TERM only once it is continued.
                self.tree.signal(Signal::TERM);
                self.tree.signal(Signal::CONT);
            }
            Some(Step::Kill) => self.kill(),
            None => {}
        }
    }

    fn kill(&mut self) {
        self.tree.signal(Signal::KILL);
        self.kill_again = Instant::now() + self.kill_pause;
        self.kill_pause = (self.kill_pause * 2).min(KILL_AGAIN);
    }

    fn act_on_time(&mut self) {
        let now = Instant::now();
        if self.course.killing() {
            if now >= self.kill_again {
                self.kill();
            }
        } else if now >= self.sampler.next {
            self.sample(now);
        }
    }

    fn wait_for_news(&mut self) {
        let alarm = match self.course.alarm() {
            Some(alarm) => alarm.min(self.sampler.next),
            None => self.kill_again,
        };
        let timeout = Timespec::try_from(alarm.saturating_duration_since(Instant::now())).ok();
        // A hang-up is shown whatever is asked for, so what has hung up is left out.
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if self.engine_there {
            fds.push(PollFd::new(self.control, PollFlags::IN));
        }
        if self.keeper_there {
            fds.push(PollFd::new(&self.lifeline, PollFlags::IN));
        }
        // Whatever woke it, everything below asks without blocking.
        let _ = poll(&mut fds, timeout.as_ref());
        if self.engine_there {
            self.read_orders();
        }
        if self.keeper_there && rustix::io::read(self.lifeline, &mut [0; 1]) == Ok(0) {
            self.keeper_there = false;
            self.learn(News::Abandoned);
        }
    }

    fn read_orders(&mut self) {
        loop {
            match wire::receive(self.control, RecvFlags::DONTWAIT) {
                Ok(Some(message)) => match message.parse() {
                    Ok(Order::Terminate) => self.learn(News::ToldToTerminate),
                    Ok(Order::Kill) => self.learn(News::ToldToKill),
                    // Only the engine writes here, and it writes nothing else.
                    Err(_) => {}
                },
                Err(Errno::WOULDBLOCK) => return,
                Err(Errno::MSGSIZE) => {}
                Ok(None) | Err(_) => {
                    self.engine_there = false;
                    return self.learn(News::Abandoned);
                }
            }
        }
    }
}

/// What the job's group had counted when the payload started.
struct Account<'a> {
    meter: &'a Meter,
    before: GroupUsage,
    own: Duration,
}

impl Account<'_> {
    fn open(meter: &Meter) -> Account<'_> {
        Account { meter, before: meter.usage(), own: own_time() }
    }

    /// What the payload and all that came of it used: this process is in the group as well.
    fn close(&self) -> GroupUsage {
        let used = self.meter.usage().since(self.before);
        let own = own_time().saturating_sub(self.own);
        GroupUsage { cpu: used.cpu.map(|cpu| cpu.saturating_sub(own)), ..used }
    }
}

/// What one round of waiting found.
struct Reaped {
    payload: Option<WaitStatus>,
    others_left: bool,
}

/// The largest sum of memory seen, and when to look next.
struct Sampler {
    next: Instant,
    pause: Duration,
    peak: u64,
}

impl Sampler {
    fn sample(&mut self, tree: &Tree, now: Instant) -> u64 {
        let before = time_worked();
        let resident = tree.resident_bytes();
        self.peak = self.peak.max(resident);
        // Worked, not passed: on a busy machine, one kept busy by the payload perhaps, most of it is waiting.
        let cost = time_worked().saturating_sub(before);
        self.pause = (self.pause * 2).min(SAMPLE_PERIOD);
        self.next = now + self.pause.max(cost * SAMPLE_SHARE).min(LONGEST_PAUSE);
        resident
    }
}

fn ending_of(status: WaitStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Exited { code },
        (None, signal) => Ending::Signaled { signal: signal.unwrap_or(0) },
    }
}

/// The processor time that the calling thread has used.
fn time_worked() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// How long the machine has slept since it started.
fn time_asleep() -> Duration {
    let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    read(ClockId::Boottime).saturating_sub(read(ClockId::Monotonic))
}
