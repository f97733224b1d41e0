//! The keeper's own loop: makes an init for each request and cleans up after those that die.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, SendFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, chdir, getpid, set_child_subreaper, setsid, wait};

use super::confine::cgroup::{Group, Meter};
use super::confine::fence;
use super::confine::limits::leave_no_core;
use super::confine::seccomp::{Program, Sockets};
use super::ground::{Failure, Ground};
use super::idmap;
use super::init::{self, Post};
use super::job::{Containment, Report};
use super::nursery::{Begun, Charge, Cradle, Nursery, is_exhaustion};
use super::spawn::{child_signals, exit_now, forget_arguments, forget_environment, ignore_signals, keep_only, threads};
use super::tree;
use super::view::Network;
use super::wire::{self, Hello, Kind, Message, Request, Walls, Word};

/// Long enough for an init to kill and reap a large tree; one that was stopped never will.
const INIT_LIMIT: Duration = Duration::from_secs(2);

/// How soon the last round looks again, for processes that escaped a sweep by forking.
const FINISH_AGAIN: Duration = Duration::from_millis(5);

/// Serves on standard input until its end of file: what the hidden subcommand calls.
///
/// Like a fork, it is refused where other threads exist.
pub fn serve_stdin() -> ! {
    serve_stdin_with(None)
}

/// The same with a chosen containment instead of the strongest one the machine gives.
pub fn serve_stdin_with(containment: Option<Containment>) -> ! {
    // The keeper's own descriptors stay clear of 0, 1 and 2, which become /dev/null.
    match fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) {
        Ok(engine) => serve(engine, containment),
        Err(errno) => exit_now(errno.raw_os_error()),
    }
}

/// The life of the keeper. The caller has a single thread.
pub(super) fn serve(engine: OwnedFd, containment: Option<Containment>) -> ! {
    // A panic must not unwind into the engine's code, of which a forked keeper is a copy.
    let served = catch_unwind(AssertUnwindSafe(|| match Server::set_up(&engine, containment) {
        Ok(mut server) => {
            let hello = Hello::Ready { containment: server.ground.containment() };
            if wire::send(&engine, &hello, &[], SendFlags::empty()).is_ok() {
                server.serve();
            }
            server.finish();
        }
        Err(Failure { errno, what }) => {
            // An engine that has gone meanwhile needs no answer.
            let _ = wire::send(&engine, &Hello::Refused { errno, what }, &[], SendFlags::empty());
        }
    }));
    exit_now(if served.is_ok() { 0 } else { 101 })
}

/// A keeper, or a nurse below it.
struct Server<'a> {
    /// Whom it serves; a nurse serves the keeper.
    engine: &'a OwnedFd,
    ground: Ground,
    signals: OwnedFd,
    lifeline: OwnedFd,
    /// Never written to: every init sees it close when the keeper is gone or ends.
    lifeline_writer: Option<OwnedFd>,
    held: Vec<OwnedFd>,
    /// For each user that jobs run as, a namespace in which root's files are theirs.
    owners: HashMap<u32, Option<OwnedFd>>,
    programs: HashMap<(Sockets, bool), Program>,
    /// What each live init leaves. The engine sees end of file on a control socket only when the
    /// keeper lets go as well, which is after the job's last process is dead.
    inits: HashMap<Pid, Charge>,
    /// Control sockets of inits that died before their tree, kept until the orphans are dead, and what is said then.
    bereft: Vec<(OwnedFd, Option<Report>)>,
    nursery: Nursery,
    duty: Option<Duty>,
}

/// What only a nurse has.
struct Duty {
    /// Of the group that it and its inits are in.
    meter: Meter,
    busy: bool,
}

impl<'a> Server<'a> {
    fn set_up(engine: &'a OwnedFd, containment: Option<Containment>) -> Result<Self, Failure> {
        let cannot = |what: &'static str| move |errno| Failure::new(what, errno);
        if threads().map_err(|error| Failure::io("count the threads", &error))? != 1 {
            return Err(Failure::new("serve with more than one thread", Errno::BUSY));
        }
        forget_arguments();
        forget_environment();
        leave_no_core();
        // Already so where the keeper was started as the leader of its own session.
        let _ = setsid();
        ignore_signals();
        // SAFETY: this process never returns to whoever owns the rest.
        unsafe { keep_only([engine.as_raw_fd()]) };
        replace_stdio().map_err(cannot("open /dev/null"))?;
        chdir("/").map_err(cannot("enter the directory /"))?;
        Server::new(engine, Ground::find(containment)?)
    }

    fn new(engine: &'a OwnedFd, ground: Ground) -> Result<Self, Failure> {
        let cannot = |what: &'static str| move |errno| Failure::new(what, errno);
        set_child_subreaper(Some(getpid())).map_err(cannot("become a subreaper"))?;
        let signals = child_signals().map_err(cannot("watch for children"))?;
        let (lifeline, writer) =
            pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(cannot("make the lifeline"))?;
        Ok(Server {
            engine,
            ground,
            signals,
            lifeline,
            lifeline_writer: Some(writer),
            held: Vec::new(),
            owners: HashMap::new(),
            programs: HashMap::new(),
            inits: HashMap::new(),
            bereft: Vec::new(),
            nursery: Nursery::default(),
            duty: None,
        })
    }

    /// The life of a nurse, from a copy of its keeper to its last instruction.
    fn nurse(&mut self, keeper: &OwnedFd, meter: Meter) -> ! {
        // A panic must not unwind into the keeper's code.
        let served = catch_unwind(AssertUnwindSafe(|| -> Result<(), Failure> {
            let (held, owners) = (mem::take(&mut self.held), mem::take(&mut self.owners));
            let mine = held.iter().chain(owners.values().flatten()).chain([keeper]).map(AsRawFd::as_raw_fd);
            // What the keeper holds would tell others that it is still there when it is not.
            // SAFETY: what is closed belongs to the keeper's frames, and this process never returns there.
            unsafe { keep_only(mine.chain(meter.descriptors())) };
            let programs = mem::take(&mut self.programs);
            let duty = Some(Duty { meter, busy: false });
            let mut server = Server { held, owners, programs, duty, ..Server::new(keeper, self.ground)? };
            server.serve();
            server.finish();
            Ok(())
        }));
        exit_now(if matches!(served, Ok(Ok(()))) { 0 } else { 101 })
    }

    /// Answers requests until the engine is gone.
    fn serve(&mut self) {
        loop {
            self.wait_for_news(None);
            self.reap();
            self.nursery.listen();
            loop {
                match wire::receive(self.engine, RecvFlags::DONTWAIT) {
                    Ok(Some(message)) => self.answer(message),
                    Err(Errno::WOULDBLOCK) => break,
                    // A message out of bounds is lost alone.
                    Err(Errno::MSGSIZE) => {}
                    Ok(None) | Err(_) => return,
                }
            }
            self.say_when_idle();
        }
    }

    /// Tells the keeper that the job it handed over is no more.
    fn say_when_idle(&mut self) {
        if let Some(duty) = &mut self.duty
            && duty.busy
            && self.inits.is_empty()
            && self.bereft.is_empty()
        {
            duty.busy = false;
            let _ = wire::send(self.engine, &(), &[], SendFlags::DONTWAIT);
        }
    }

    /// Ends every job and waits until nothing is left.
    fn finish(&mut self) {
        // The inits do the work: killing them would leave every tree without a namespace to the
        // keeper alone, and to nobody if it were killed a moment later.
        self.lifeline_writer = None;
        self.nursery.dismiss();
        let limit = Instant::now() + INIT_LIMIT;
        while self.reap() {
            if Instant::now() >= limit {
                self.sweep(&HashSet::new());
            }
            self.wait_for_news(Some(FINISH_AGAIN));
        }
    }

    /// A request that makes no sense is dropped, and its descriptors with it: whoever waits for
    /// the job sees end of file.
    fn answer(&mut self, message: Message) {
        match message.parse() {
            Ok(Request::Start(walls)) => {
                if let Ok(fds) = <[OwnedFd; 5]>::try_from(message.fds) {
                    self.start(walls, fds);
                }
            }
            Ok(Request::Hold) => {
                self.nursery.hold(&message.fds);
                self.held.extend(message.fds);
            }
            Ok(Request::HeldBy) => {
                if let Some(asker) = message.fds.first() {
                    let _ = wire::send(asker, &self.nursery.held_by(), &[], SendFlags::DONTWAIT);
                }
            }
            Err(_) => {}
        }
    }

    fn start(&mut self, walls: Walls, fds: [OwnedFd; 5]) {
        if let Some(duty) = &mut self.duty {
            duty.busy = true;
            return self.make_init(walls, fds, None);
        }
        // SAFETY: the keeper has a single thread, and `nurse` does not return.
        match unsafe { self.nursery.cradle(&walls) } {
            Cradle::Here => self.make_init(walls, fds, None),
            Cradle::Fresh(group, meter) => self.make_init(walls, fds, Some((group, meter))),
            Cradle::Nurse(nurse) => self.nursery.hand_over(nurse, walls, fds),
            Cradle::New(keeper, meter) => self.nurse(&keeper, meter),
        }
    }

    fn make_init(&mut self, walls: Walls, fds: [OwnedFd; 5], fresh: Option<(Group, Meter)>) {
        let (group, meter) = fresh.unzip();
        let owners = match walls.kind {
            Kind::View { user: Some(user) } => self.owners_for(user),
            Kind::View { user: None } | Kind::None | Kind::Fenced { .. } => None,
        };
        let program = match self.program_for(walls) {
            Ok(program) => program,
            Err(failure) => {
                group.map(Group::remove);
                return not_started(&fds, &failure);
            }
        };
        let birthplace = group.as_ref().and_then(Group::birthplace);
        let split = match walls.kind {
            // SAFETY: the keeper has a single thread, and the init ends in `init::run`.
            Kind::View { .. } => unsafe { self.ground.split_off(walls.network, birthplace) },
            // SAFETY: the same.
            Kind::None | Kind::Fenced { .. } => unsafe { self.ground.split(birthplace) },
        };
        let failed = |errno| Failure::new("make a process", errno);
        match split {
            Ok(None) => {
                let [body, control, stdin, stdout, stderr] = fds;
                init::run(
                    self.ground,
                    Post {
                        body,
                        control,
                        stdio: [stdin, stdout, stderr],
                        lifeline: self.lifeline.as_fd(),
                        held: &self.held,
                        owners: owners.and_then(|user| self.owners.get(&user)).and_then(Option::as_ref),
                        program: program.and_then(|sockets| self.programs.get(&sockets)),
                        meter: meter.as_ref().or(self.duty.as_ref().map(|duty| &duty.meter)),
                    },
                )
            }
            Ok(Some(init)) => {
                let [_, control, ..] = fds;
                let begun = Begun::now(meter.as_ref().or(self.duty.as_ref().map(|duty| &duty.meter)));
                self.inits.insert(init, Charge { job: Some((control, begun)), group });
            }
            Err(errno) => match group.map(Group::remove) {
                // Some kernels and containers know the call and not this use of it.
                Some(_) if !is_exhaustion(errno) => {
                    self.nursery.without(&failed(errno));
                    self.make_init(walls, fds, None);
                }
                _ => not_started(&fds, &failed(errno)),
            },
        }
    }

    /// Makes sure that there is a map of owners for this user, or that there cannot be one.
    fn owners_for(&mut self, user: u32) -> Option<u32> {
        if self.ground != Ground::Namespaces {
            return None;
        }
        // SAFETY: the keeper has a single thread.
        self.owners.entry(user).or_insert_with(|| unsafe { idmap::root_as(user) }.ok());
        Some(user)
    }

    /// Makes sure that the filter of system calls for these walls is there; it is the same for every job.
    fn program_for(&mut self, walls: Walls) -> Result<Option<(Sockets, bool)>, Failure> {
        let sockets = match (walls.kind, walls.network) {
            (Kind::None, _) => return Ok(None),
            (Kind::View { .. }, Network::Full) => Sockets::Host,
            (Kind::Fenced { .. }, Network::Full) => Sockets::Shared,
            (Kind::View { .. }, Network::None | Network::Models { .. }) => Sockets::Own,
            (Kind::Fenced { .. }, Network::None) if fence::abi() >= fence::LOCAL_SOCKETS_ABI => Sockets::Local,
            (Kind::Fenced { .. }, Network::None) => Sockets::Closed,
            (Kind::Fenced { .. }, Network::Models { .. }) if fence::abi() >= fence::LOCAL_SOCKETS_ABI => Sockets::Tcp,
            (Kind::Fenced { .. }, Network::Models { .. }) => Sockets::OnlyTcp,
        };
        // Without a user or a namespace of its own a payload owns what the person owns.
        let owns_others = walls.kind == Kind::Fenced { own_user: false };
        let sockets = (sockets, owns_others);
        if let Entry::Vacant(place) = self.programs.entry(sockets) {
            place.insert(Program::compile(sockets.0, owns_others)?);
        }
        Ok(Some(sockets))
    }

    /// Waits for every child that has ended; says whether any is left.
    fn reap(&mut self) -> bool {
        let mut pending = [0; 128];
        let _ = rustix::io::read(&self.signals, &mut pending);
        let options = WaitOptions::NOHANG | WaitOptions::from_bits_retain(libc::__WALL as u32);
        let mut orphans = false;
        let mut groups = Vec::new();
        let left = loop {
            match wait(options) {
                Ok(Some((pid, status))) => match self.inits.remove(&pid).or_else(|| self.nursery.part_with(pid)) {
                    Some(Charge { job, group }) => {
                        if status.exit_status() != Some(0) {
                            let own = group.as_ref().and_then(|group| group.meter().ok());
                            let meter = own.as_ref().or(self.duty.as_ref().map(|duty| &duty.meter));
                            self.bereft.extend(job.map(|(control, begun)| {
                                (control, meter.and_then(|meter| begun.out_of_memory(status, meter)))
                            }));
                            orphans = true;
                        }
                        groups.extend(group);
                    }
                    None => orphans = true,
                },
                Err(Errno::INTR) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        if orphans {
            let ours = self.inits.keys().copied().chain(self.nursery.pids()).collect();
            // Killed, they are reaped in a later round, and that round sweeps again: an orphan
            // that forked in between leaves its child here.
            if self.sweep(&ours) == 0 {
                for (control, report) in self.bereft.drain(..) {
                    // Without a word, whoever waits for the job sees end of file.
                    if let Some(report) = report.map(Word::Ended) {
                        let _ = wire::send(&control, &report, &[], SendFlags::DONTWAIT);
                    }
                }
            }
        }
        for group in groups {
            // One that cannot be removed is swept by the keeper of a later run.
            let _ = group.remove();
        }
        left
    }

    /// Kills what came down to the keeper when an init or a nurse died, all but `ours` and what is below them; says how
    /// many there were.
    fn sweep(&self, ours: &HashSet<Pid>) -> usize {
        let orphans = tree::below(getpid(), ours);
        for orphan in &orphans {
            orphan.signal(Signal::KILL);
        }
        orphans.len()
    }

    fn wait_for_news(&self, timeout: Option<Duration>) {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if timeout.is_none() {
            fds.push(PollFd::new(self.engine, PollFlags::IN));
            fds.extend(self.nursery.sockets().map(|socket| PollFd::new(socket, PollFlags::IN)));
        }
        // Whatever woke it, what follows asks without blocking.
        let _ = poll(&mut fds, timeout.as_ref());
    }
}

/// Reports a job that never ran, on its control socket.
fn not_started([_, control, ..]: &[OwnedFd; 5], failure: &Failure) {
    let report = Word::Ended(Report::not_started(failure.errno, &failure.what));
    // An engine that has just gone needs no report.
    let _ = wire::send(control, &report, &[], SendFlags::DONTWAIT);
}

/// Lets go of the engine's input, output and terminal, which may be pipes others wait on.
fn replace_stdio() -> Result<(), Errno> {
    let null = open("/dev/null", OFlags::RDWR, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    if null.as_raw_fd() < 3 {
        // It took the place of one that was closed, and stays there.
        std::mem::forget(null);
    }
    Ok(())
}
