//! What tests have to run as a process of its own: a keeper, an engine to be killed, a keep to be traced.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program for tests, which prints and times what it does"
)]

mod bench;

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use overnight_engine::process::{
    Containment, Fenced, Job, Keeper, Layer, Limits, Mount, Network, Sandbox, Stdin, Stream, View, serve_stdin_with,
};
use overnight_engine::workspace::{CommitPlan, UserRepo};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["serve", containment] => serve_stdin_with(parse(containment)),
        ["run", containment, command] => run(containment, command),
        ["engine", containment, lock, command, tag] => engine(containment, lock, command, tag, Sandbox::None),
        ["limited", containment, command] => limited(containment, command, fenced()),
        ["limited", containment, stage, command] => {
            limited(containment, command, Sandbox::View(Box::new(View { limits: LIMITS, ..*view(stage) })));
        }
        ["engine-limited", containment, lock, command, tag] => engine(containment, lock, command, tag, fenced()),
        ["sandbox", containment, stage, command] => sandbox(containment, stage, command),
        ["keep", dir] => keep(dir),
        ["starts", rounds, heap, stage, ref other @ ..] => bench::starts(number(rounds), number(heap), stage, other),
        ["kill", processes, rounds, stage] => bench::kill(number(processes), number(rounds), stage),
        _ => panic!("usage: engine-probe keep DIR | starts|kill N … | serve|run|engine any|pid-namespace|subreaper …"),
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| panic!("no number {text}"))
}

fn parse(containment: &str) -> Option<Containment> {
    match containment {
        "any" => None,
        "pid-namespace" => Some(Containment::PidNamespace),
        "subreaper" => Some(Containment::Subreaper),
        other => panic!("no containment {other}"),
    }
}

fn job(command: &str) -> Job {
    Job {
        command: command.to_owned(),
        cwd: "/".into(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        stdin: Stdin::Null,
        deadline: Duration::from_secs(2),
        grace: Duration::from_millis(200),
        sandbox: Sandbox::None,
    }
}

/// Runs one command under a forked keeper: its output, then the containment and the report.
fn run(containment: &str, command: &str) {
    let keeper = Keeper::fork_with(parse(containment)).unwrap();
    let child = keeper.start(&job(command)).unwrap();
    let report = child
        .wait(|stream, bytes| match stream {
            Stream::Stdout => std::io::stdout().write_all(bytes).unwrap(),
            Stream::Stderr => std::io::stderr().write_all(bytes).unwrap(),
        })
        .unwrap();
    println!("{:?} {}", keeper.containment(), serde_json::to_string(&report).unwrap());
}

/// An engine to be killed: holds a lock, starts a job, says the keeper's pid once the job speaks.
fn engine(containment: &str, lock: &str, command: &str, tag: &str, sandbox: Sandbox) {
    let keeper = Keeper::fork_with(parse(containment)).unwrap();
    let lock = File::create(lock).unwrap();
    lock.lock().unwrap();
    keeper.hold(lock.as_fd()).unwrap();
    let mut job = job(command);
    job.deadline = Duration::MAX;
    job.sandbox = sandbox;
    job.env.push(("TAG".to_owned(), tag.to_owned()));
    let child = keeper.start(&job).unwrap();
    child.wait(|_, _| println!("{}", keeper.pid())).unwrap();
}

const LIMITS: Limits = Limits { memory: Some(64 << 20), processes: Some(50), disk: None };

/// Behind a fence, with limits.
fn fenced() -> Sandbox {
    Sandbox::Fenced(Box::new(Fenced {
        read: vec!["/".into()],
        write: vec!["/dev".into(), "/tmp".into()],
        devices: vec![],
        network: Network::Full,
        user: None,
        limits: LIMITS,
    }))
}

/// Runs one command with limits: what holds them, and the report.
fn limited(containment: &str, command: &str, sandbox: Sandbox) {
    let keeper = Keeper::fork_with(parse(containment)).unwrap();
    let mut job = Job { sandbox, ..job(command) };
    job.deadline = Duration::from_secs(120);
    let child = keeper.start(&job).unwrap();
    let report = child.wait(|_, bytes| std::io::stderr().write_all(bytes).unwrap()).unwrap();
    println!("{}", serde_json::to_string(&(keeper.held_by().unwrap(), report)).unwrap());
}

fn view(stage: &str) -> Box<View> {
    let shared = |path: &str| Mount::Shared { lowers: vec![path.into()], at: path.into() };
    let link = |at: &str, target: &str| Mount::Link { at: at.into(), target: target.into() };
    let tree = PathBuf::from(stage).join("tree");
    Box::new(View {
        stage: PathBuf::from(stage).join("stage"),
        layer: Layer::Memory { bytes: 64 << 20, inodes: 10_000 },
        mounts: vec![
            shared("/usr"),
            shared("/etc"),
            link("/bin", "usr/bin"),
            link("/lib", "usr/lib"),
            link("/lib64", "usr/lib64"),
            link("/sbin", "usr/sbin"),
            Mount::Private { lowers: vec![], at: "/tmp".into() },
            Mount::Private { lowers: vec![], at: "/root".into() },
            Mount::Private { lowers: vec![tree.clone()], at: tree },
            Mount::Private { lowers: vec![], at: "/overnight".into() },
        ],
        files: vec![],
        hand_back: vec!["/overnight".into()],
        devices: vec![],
        network: Network::None,
        user: Some(1_900_000_000),
        limits: Limits::default(),
    })
}

/// Runs one command in a sandbox whose tree is `stage`/tree.
fn sandbox(containment: &str, stage: &str, command: &str) {
    let keeper = Keeper::fork_with(parse(containment)).unwrap();
    let sandbox = Sandbox::View(view(stage));
    let child = keeper.start(&Job { sandbox, ..job(command) }).unwrap();
    let done = child.finish(|_, bytes| std::io::stdout().write_all(bytes).unwrap()).unwrap();
    println!("{:?} {}", keeper.containment(), serde_json::to_string(&done.report).unwrap());
}

/// One keep, for counting its syncs.
fn keep(dir: &str) {
    let user = UserRepo::discover(dir.as_ref()).unwrap();
    let from = user.branch_head("study").unwrap();
    let parent = from.unwrap_or(user.head().unwrap());
    let files = vec![("train.py".to_owned(), format!("{from:?}").into_bytes())];
    let plan = CommitPlan { parent, files, message: "keep".to_owned(), at: 1_760_000_000 };
    let kept = user.write_kept(&plan).unwrap();
    user.advance("study", from, kept, "kept").unwrap();
}
