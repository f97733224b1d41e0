//! Doors: a listener for each job that may ask models, and the threads that answer at all of them.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use overnight_model::call::Caller;
use overnight_model::spec::{AgentKind, Spec, TapeSpec};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

use super::busy::Count;
use super::line::Line;
use super::record::{settle_all, shelf};
use super::serve::{Entry, Hall, Patience};
use super::traces::Tape;
use super::{Accounts, PORT, Plain, Tapes, Upstream, variables};
use crate::load;

/// Streams are light: two threads carry some hundreds.
const THREADS: usize = 2;
/// Calls wait here until they are written down; names of providers are looked up here as well.
const BLOCKING: usize = 32;
/// Those that calls may not take.
const LOOKUPS: usize = 8;
/// Connections of one job at the same time; more of them wait.
const CONNECTIONS: usize = 256;
/// Descriptors for all of them, each with one to its provider.
const DESCRIPTORS: u64 = 8192;
/// Long enough to write down what is under way; a disk that hangs must not keep the engine.
const CLOSING: Duration = Duration::from_secs(10);
const BUFFER: usize = 64 * 1024;

/// What a company's network may ask of whoever leaves it.
pub const PROXIES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"];

/// The gateway. Its threads are started by the first door.
pub struct Gateway {
    accounts: Arc<dyn Accounts>,
    tapes: Arc<dyn Tapes>,
    patience: Patience,
    environment: Vec<(String, String)>,
    running: Mutex<Option<Running>>,
}

struct Running {
    runtime: Runtime,
    hall: Arc<Hall>,
    clerk: JoinHandle<()>,
}

/// Who comes in by a door, and whom they may ask.
#[derive(Debug, Clone)]
pub struct Guest {
    pub caller: Caller,
    pub upstreams: Vec<Upstream>,
}

/// What a job is told: where the gateway is, and a key that is good for nothing else.
#[derive(Debug)]
pub struct Pass {
    pub port: u16,
    pub key: String,
    /// On the host's loopback, where the job has none of its own.
    listener: Option<TcpListener>,
}

/// An open door. Dropped, nobody is behind it any more, and every call that came in by it is settled.
pub struct Door {
    accepting: AbortHandle,
    count: Count,
    missed: Arc<Mutex<Option<String>>>,
    held_back: Arc<OnceLock<String>>,
}

impl Gateway {
    /// `environment` may name a proxy that leads out of here.
    pub fn new(accounts: Arc<dyn Accounts>, tapes: Arc<dyn Tapes>, environment: Vec<(String, String)>) -> Gateway {
        // Before anything runs that could look: where keys are in our environment, we hold them from the start.
        if !load::named_environment(&variables()).is_empty() {
            keep_from_dumps();
        }
        Gateway { accounts, tapes, patience: Patience::default(), environment, running: Mutex::new(None) }
    }

    /// For calls of which nothing is kept; recorded answers are served where that is asked for.
    pub fn rehearsing(accounts: Arc<dyn Accounts>, site: &load::Site, tapes: &TapeSpec) -> Gateway {
        let tapes: Arc<dyn Tapes> = match Tape::offline(site, tapes) {
            Some(tape) => Arc::new(tape),
            None => Arc::new(Plain::default()),
        };
        Gateway::new(accounts, tapes, load::named_environment(&PROXIES))
    }

    /// Hands on what of a caller's brief a recording is not to depend on.
    pub fn tells(&self, caller: &Caller, text: &str, instead: &str) {
        self.tapes.tells(caller, text, instead);
    }

    /// Waits for others as long as it is told.
    pub fn with_patience(mut self, patience: Patience) -> Gateway {
        self.patience = patience;
        self
    }

    /// For a study that says where its keys are: from now on nobody looks into this process, also before the first of them is
    /// used. What runs until then may be a candidate's, too.
    pub fn with_keys_of(self, spec: &Spec) -> Gateway {
        let of_providers = spec.gateway.providers.iter().any(|provider| provider.key.is_some());
        if of_providers || spec.agent.members.iter().any(|member| matches!(member.kind, AgentKind::Api(_))) {
            keep_from_dumps();
        }
        self
    }

    /// What a job is told that has a loopback of its own, where its init listens for us.
    pub fn pass_inside(&self) -> Pass {
        Pass { port: PORT, key: made_up(), listener: None }
    }

    /// What a job is told that shares the host's loopback: there anybody can knock, so the key is asked for.
    pub fn pass_beside(&self) -> io::Result<Pass> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(Pass { port: listener.local_addr()?.port(), key: made_up(), listener: Some(listener) })
    }

    /// Opens a door for whoever has this pass. `inside` is the listener of a job that has a loopback of its own.
    pub fn open(&self, pass: &Pass, inside: Option<TcpListener>, guest: Guest) -> io::Result<Door> {
        let (listener, password) = match (inside, &pass.listener) {
            (Some(inside), _) => (inside, None),
            (None, Some(beside)) => (beside.try_clone()?, Some(pass.key.clone())),
            (None, None) => return Err(io::ErrorKind::NotConnected.into()),
        };
        listener.set_nonblocking(true)?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(self.start()?),
        };
        let Guest { caller, upstreams } = guest;
        let mut secrets = upstreams.iter().flat_map(Upstream::secrets).peekable();
        if secrets.peek().is_some() {
            keep_from_dumps();
        }
        secrets.for_each(|secret| self.tapes.hide(secret));
        let (count, missed, held_back) = (Count::default(), Arc::default(), Arc::<OnceLock<String>>::default());
        let entry = Arc::new(Entry {
            hall: running.hall.clone(),
            caller,
            upstreams,
            password,
            memory: Entry::memory(),
            count: count.clone(),
            in_vain: Arc::default(),
            missed: Arc::clone(&missed),
            held_back: held_back.clone(),
        });
        let _inside = running.runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let accepting = running.runtime.spawn(accept(listener, entry)).abort_handle();
        Ok(Door { accepting, count, missed, held_back })
    }

    fn start(&self) -> io::Result<Running> {
        raise_descriptors();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(BLOCKING)
            .thread_name("gateway")
            .enable_all()
            .build()?;
        let (clerk, calls) = mpsc::channel();
        let line = Line::new(&self.environment)?;
        let (accounts, tapes) = (self.accounts.clone(), self.tapes.clone());
        let hall = Hall {
            line,
            accounts: accounts.clone(),
            tapes: tapes.clone(),
            clerk,
            shelf: shelf(),
            waiting: Arc::new(Semaphore::new(BLOCKING - LOOKUPS)),
            patience: self.patience,
            counted: Arc::default(),
        };
        let clerk = std::thread::Builder::new()
            .name("gateway-clerk".to_owned())
            .spawn(move || settle_all(calls, &accounts, &tapes))?;
        Ok(Running { runtime, hall: Arc::new(hall), clerk })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { runtime, hall, clerk }) = running {
            // What is under way ends with its tasks, and is on the clerk's desk then.
            runtime.shutdown_timeout(CLOSING);
            drop(hall);
            let _ = clerk.join();
        }
    }
}

impl Pass {
    /// `http://127.0.0.1:8217`
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Door {
    /// Why a call did not go out for want of a key, if one did not: no fault of whoever made it.
    pub fn missed(&self) -> Option<String> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why a call that came in here did not go out, where that was so: a limit, or a recording that lacks it.
    pub fn held_back(&self) -> Option<&str> {
        self.held_back.get().map(String::as_str)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.accepting.abort();
        self.count.wait(CLOSING);
    }
}

async fn accept(listener: tokio::net::TcpListener, entry: Arc<Entry>) {
    let _accepting = entry.count.begin();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    // Dropped with this task, and all connections with it.
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = room.clone().acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // One that went away again, or no descriptor left: others may do better a moment later.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let entry = entry.clone();
        let busy = entry.count.begin();
        connections.spawn(async move {
            let patience = entry.hall.patience;
            let service = service_fn(move |request| entry.clone().answer(request));
            // An error is a client that went away or spoke no HTTP; it has been told.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(patience.head)
                .max_buf_size(BUFFER)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            drop((place, busy));
        });
    }
}

/// A key that nobody can guess and that opens nothing but one door.
fn made_up() -> String {
    let mut bytes = [0; 20];
    // Without chance no key is safe; the kernel has it since it was started.
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert!(filled == Ok(bytes.len()), "the kernel gives no random bytes");
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sk-overnight-{hex}")
}

/// Whoever holds a key leaves no core file, and is looked into by nobody.
fn keep_from_dumps() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
    // Neither can fail for a process that only takes from itself.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..getrlimit(Resource::Core) });
}

fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}
