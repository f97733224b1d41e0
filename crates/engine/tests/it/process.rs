//! Real children that misbehave, under both containments.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use overnight_engine::process::{Containment, Ending, Job, Keeper, KeeperError, Report, Sandbox, Stdin, Stream};
use rustix::process::{Pid, Signal, kill_process};

/// For things that take milliseconds, on a machine that may be very busy.
const PATIENCE: Duration = Duration::from_secs(30);

const PROBE: &str = env!("CARGO_BIN_EXE_engine-probe");
const PYTHON: &str = "/usr/bin/python3";

/// The keeper of a test. A machine without such a containment fails the test: it must not look green.
fn keeper(containment: Containment) -> Keeper {
    let keeper = Keeper::reexec(Path::new(PROBE), &["serve", name(containment)]);
    let keeper = keeper.unwrap_or_else(|error| panic!("no keeper with {containment:?} here: {error:?}"));
    assert_eq!(keeper.containment(), containment);
    keeper
}

fn name(containment: Containment) -> &'static str {
    match containment {
        Containment::PidNamespace => "pid-namespace",
        Containment::Subreaper => "subreaper",
    }
}

macro_rules! in_both_containments {
    ($(fn $name:ident($keeper:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            fn body($keeper: Keeper) $body

            #[test]
            fn in_a_pid_namespace() {
                body(keeper(Containment::PidNamespace));
            }

            #[test]
            fn under_a_subreaper() {
                body(keeper(Containment::Subreaper));
            }
        }
    )*};
}

// Here, below the macro that it uses.
mod limits;
mod models;

fn job(command: impl Into<String>) -> Job {
    Job {
        command: command.into(),
        cwd: "/".into(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("TAG".to_owned(), tag())],
        stdin: Stdin::Null,
        deadline: Duration::from_secs(120),
        grace: Duration::from_secs(60),
        sandbox: Sandbox::None,
    }
}

/// In the environment of every process of this test, and of no other: one process per test.
fn tag() -> String {
    format!("keeper-test-{}", std::process::id())
}

struct Done {
    report: Report,
    stdout: String,
    stderr: String,
}

#[track_caller]
fn run(keeper: &Keeper, job: &Job) -> Done {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let report = keeper
        .start(job)
        .unwrap()
        .wait(|stream, bytes| match stream {
            Stream::Stdout => stdout.extend_from_slice(bytes),
            Stream::Stderr => stderr.extend_from_slice(bytes),
        })
        .unwrap();
    assert_eq!(survivors(&tag()), Vec::<String>::new());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { report, stdout: text(stdout), stderr: text(stderr) }
}

/// The live processes that carry the tag; a zombie has no environment.
fn survivors(tag: &str) -> Vec<String> {
    let needle = format!("TAG={tag}\0");
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let environ = fs::read(path.join("environ")).ok()?;
            let found = environ.windows(needle.len()).any(|part| part == needle.as_bytes());
            found.then(|| fs::read_to_string(path.join("stat")).unwrap_or_default())
        })
        .collect()
}

#[track_caller]
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Alive, and not only waiting to be reaped.
fn running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

fn only_child_of(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().unwrap()
}

in_both_containments! {
    fn an_exit_code_is_reported(keeper) {
        let done = run(&keeper, &job("echo out; echo err >&2; exit 7"));
        assert_eq!(done.report.ending, Ending::Exited { code: 7 });
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(done.report.stragglers, 0);
        assert!(!done.report.suspended);
        assert!(done.report.wall > Duration::ZERO);
    }

    fn a_signal_is_reported(keeper) {
        let done = run(&keeper, &job("kill -SEGV $$"));
        assert_eq!(done.report.ending, Ending::Signaled { signal: 11 });
    }

    fn the_environment_is_exactly_what_was_given(keeper) {
        let mut job = job("cat /proc/$$/environ; :");
        job.env.push(("NAME".to_owned(), "a value = with\nodd parts".to_owned()));
        let expected: String = job.env.iter().map(|(name, value)| format!("{name}={value}\0")).collect();
        assert_eq!(run(&keeper, &job).stdout, expected);
    }

    fn standard_input_is_null_or_the_bytes_given(keeper) {
        assert_eq!(run(&keeper, &job("cat; readlink /proc/self/fd/0")).stdout, "/dev/null\n");
        let mut given = job("cat | wc -c; cat");
        given.stdin = Stdin::Bytes(vec![b'x'; 3_000_000]);
        assert_eq!(run(&keeper, &given).stdout, "3000000\n");
        given.command = "exit 0".to_owned();
        assert_eq!(run(&keeper, &given).report.ending, Ending::Exited { code: 0 });
    }

    fn the_payload_starts_in_the_given_directory(keeper) {
        let mut job = job("pwd");
        job.cwd = "/usr/bin".into();
        assert_eq!(run(&keeper, &job).stdout, "/usr/bin\n");
    }

    fn the_payload_has_three_descriptors_plain_signals_its_own_session_and_a_plain_umask(keeper) {
        // Something inheritable in the engine must not come through either.
        let stray = rustix::io::dup(File::open("/dev/null").unwrap()).unwrap();
        keeper.hold(stray.as_fd()).unwrap();
        let done = run(&keeper, &job(
            "ls /proc/$$/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status; umask; \
             set -- $(cat /proc/$$/stat); test $6 = $$ && echo leader",
        ));
        let zeros = "0000000000000000";
        assert_eq!(
            done.stdout,
            format!("0\n1\n2\nSigBlk:\t{zeros}\nSigIgn:\t{zeros}\n0022\nleader\n"),
        );
    }

    fn a_payload_that_ignores_sigterm_is_killed_after_the_grace_period(keeper) {
        let mut job = job("trap '' TERM; echo before; while :; do sleep 1; done");
        job.deadline = Duration::from_millis(300);
        job.grace = Duration::from_millis(300);
        let done = run(&keeper, &job);
        assert_eq!(done.report.ending, Ending::TimedOut);
        assert_eq!(done.stdout, "before\n");
        assert!(done.report.wall >= Duration::from_millis(600), "{:?}", done.report);
        assert!(done.report.wall < PATIENCE, "{:?}", done.report);
    }

    fn a_payload_that_tidies_up_within_the_grace_period_has_still_timed_out(keeper) {
        let mut job = job("trap 'echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
        job.deadline = Duration::from_millis(500);
        let done = run(&keeper, &job);
        assert_eq!(done.report.ending, Ending::TimedOut);
        assert_eq!(done.stdout, "ready\ntidied\n");
    }

    fn a_stopped_payload_ends_at_its_deadline(keeper) {
        let mut job = job("kill -STOP $$");
        job.deadline = Duration::from_millis(300);
        let done = run(&keeper, &job);
        assert_eq!(done.report.ending, Ending::TimedOut);
        // Without CONT it would have taken the whole grace.
        assert!(done.report.wall < job.grace, "{:?}", done.report);
    }

    fn a_daemon_does_not_survive(keeper) {
        let done = run(&keeper, &job("(setsid sleep 1000 </dev/null >/dev/null 2>&1 &) ; echo started"));
        assert_eq!(done.report.ending, Ending::Exited { code: 0 });
        assert_eq!(done.stdout, "started\n");
        assert_eq!(done.report.stragglers, 1);
    }

    fn processes_left_behind_are_counted_and_killed(keeper) {
        let done = run(&keeper, &job("sleep 1000 & sleep 1000 & sleep 1000 & exit 3"));
        assert_eq!(done.report.ending, Ending::Exited { code: 3 });
        assert_eq!(done.report.stragglers, 3);
    }

    fn three_hundred_megabytes_of_output_neither_block_nor_grow_the_engine(keeper) {
        let before = resident_kib();
        let (mut stdout, mut stderr) = (0, 0);
        let command = "head -c 150000000 /dev/zero >&2 & head -c 150000000 /dev/zero; wait";
        let report = keeper.start(&job(command)).unwrap().wait(|stream, bytes| match stream {
            Stream::Stdout => stdout += bytes.len(),
            Stream::Stderr => stderr += bytes.len(),
        }).unwrap();
        assert_eq!(report.ending, Ending::Exited { code: 0 });
        assert_eq!((stdout, stderr), (150_000_000, 150_000_000));
        assert!(resident_kib() < before + 16 * 1024);
    }

    fn a_killer_terminates(keeper) {
        let child = keeper.start(&job("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done")).unwrap();
        let killer = child.killer();
        let report = child.wait(|_, _| std::thread::scope(|scope| {
            scope.spawn(|| killer.terminate());
        })).unwrap();
        assert_eq!(report.ending, Ending::Stopped);
        killer.terminate();
        killer.kill();
    }

    fn a_killer_kills_at_once(keeper) {
        let child = keeper.start(&job("trap '' TERM; echo ready; while :; do sleep 0.01; done")).unwrap();
        let killer = child.killer();
        let report = child.wait(|_, _| { killer.terminate(); killer.kill(); killer.kill() }).unwrap();
        assert_eq!(report.ending, Ending::Stopped);
        assert!(report.wall < job("").grace, "{report:?}");
        assert_eq!(survivors(&tag()), Vec::<String>::new());
    }

    fn orders_that_cross_the_report_do_not_hide_it(keeper) {
        for round in 0..40 {
            let child = keeper.start(&job("exit 0")).unwrap();
            let killer = child.killer();
            std::thread::scope(|scope| {
                let flood = scope.spawn(move || for _ in 0..20 * round { killer.terminate() });
                child.wait(|_, _| {}).unwrap();
                flood.join().unwrap();
            });
        }
    }

    fn a_dropped_child_is_killed_though_a_killer_is_kept(keeper) {
        let child = keeper.start(&job("sleep 1000")).unwrap();
        let _killer = child.killer();
        until("the payload runs", || !survivors(&tag()).is_empty());
        drop(child);
        until("the payload is killed", || survivors(&tag()).is_empty());
    }

    fn the_peak_of_one_process_is_seen(keeper) {
        let done = run(&keeper, &job(format!("{PYTHON} -c 'b = b\"x\" * (200 << 20)'")));
        assert_eq!(done.report.ending, Ending::Exited { code: 0 }, "{}", done.stderr);
        let mib = done.report.peak_bytes >> 20;
        assert!((200..300).contains(&mib), "{mib} MiB");
    }

    fn the_peak_of_a_tree_is_the_sum_over_its_processes(keeper) {
        let one = format!("{PYTHON} -c 'import time; b = b\"x\" * (100 << 20); time.sleep(1.5)'");
        let done = run(&keeper, &job(format!("{one} & {one} & wait")));
        let mib = done.report.peak_bytes >> 20;
        assert!((200..300).contains(&mib), "{mib} MiB");
    }

    fn the_time_of_a_grandchild_counts(keeper) {
        let burn = "import time\nwhile time.process_time() < 0.5: pass";
        let done = run(&keeper, &job(format!("sh -c '{PYTHON} -c \"{burn}\"; :'; :")));
        assert_eq!(done.report.ending, Ending::Exited { code: 0 }, "{}", done.stderr);
        assert!(done.report.cpu >= Duration::from_millis(500), "{:?}", done.report);
        assert!(done.report.cpu < Duration::from_secs(5), "{:?}", done.report);
    }

    fn a_directory_that_does_not_exist_is_told_as_not_started(keeper) {
        let mut job = job("true");
        job.cwd = "/no/such/directory".into();
        let expected = Ending::NotStarted {
            errno: 2,
            what: "enter the directory /no/such/directory".to_owned(),
        };
        assert_eq!(run(&keeper, &job).report.ending, expected);
    }

    fn what_exec_refuses_is_told_as_not_started(keeper) {
        let too_long = run(&keeper, &job(format!(": {}", "x".repeat(1 << 20)))).report.ending;
        assert_eq!(too_long, Ending::NotStarted { errno: 7, what: "run /bin/sh".to_owned() });
        let mut odd = job("true");
        odd.env.push(("=".repeat(100_000), String::new()));
        let odd = run(&keeper, &odd).report.ending;
        assert!(matches!(odd, Ending::NotStarted { errno: 22, .. }), "{odd:?}");
        let zero = run(&keeper, &job("true\0")).report.ending;
        assert!(matches!(zero, Ending::NotStarted { errno: 22, .. }), "{zero:?}");
        assert_eq!(run(&keeper, &job("exit 4")).report.ending, Ending::Exited { code: 4 });
    }

    fn a_large_environment_comes_through(keeper) {
        let mut job = job("printf '%s' \"$LAST\"");
        for number in 0..10 {
            job.env.push((format!("V{number}"), "x".repeat(100_000)));
        }
        job.env.push(("LAST".to_owned(), "here".to_owned()));
        assert_eq!(run(&keeper, &job).stdout, "here");
    }

    fn a_tree_of_a_thousand_processes_is_killed(keeper) {
        let command = "for a in 0 1 2 3 4 5 6 7 8 9; do \
            (i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done; echo; wait) & \
            done; wait";
        let child = keeper.start(&job(command)).unwrap();
        let killer = child.killer();
        let mut ready = 0;
        let report = child.wait(|_, bytes| {
            ready += bytes.len();
            if ready == 10 {
                // One that is just becoming another program has no environment to be known by.
                assert!(survivors(&tag()).len() >= 950);
                killer.kill();
            }
        }).unwrap();
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        assert_eq!(report.ending, Ending::Stopped);
    }

    fn a_fork_bomb_is_killed(keeper) {
        let bomb = "import os\nfor _ in range(60): os.fork()\n";
        let limited = format!("ulimit -u 400; {PYTHON} -c '{bomb}' 2>/dev/null; sleep 1000");
        // Root has no process limit, so the bomb is bounded by what it does: chains of re-forks.
        let chains = "f() { sleep 0.001; f & }; f & f & f & f & f & echo ready; sleep 1000";
        let command = if rustix::process::getuid().is_root() { chains.to_owned() } else { limited };
        let child = keeper.start(&job(command)).unwrap();
        let killer = child.killer();
        let report = child.wait(|_, _| killer.kill()).unwrap();
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        assert_eq!(report.ending, Ending::Stopped);
    }

    fn output_held_open_outside_the_tree_is_given_up_after_a_while(keeper) {
        // The init's tree writes to a pipe that a process outside has opened through /proc.
        let child = keeper.start(&job("echo $$ 1>&2; echo said; sleep 1")).unwrap();
        let mut outside = None;
        let mut stdout = Vec::new();
        let report = child.wait(|stream, bytes| {
            if stream == Stream::Stdout { stdout.extend_from_slice(bytes) }
            if outside.is_none() {
                let pid = survivors(&tag())[0].split(' ').next().unwrap().to_owned();
                let pipe = fs::OpenOptions::new().write(true).open(format!("/proc/{pid}/fd/1"));
                outside = Some(pipe.unwrap());
            }
        }).unwrap();
        assert_eq!(report.ending, Ending::Exited { code: 0 });
        assert_eq!(stdout, b"said\n");
        writeln!(outside.unwrap(), "to nobody").unwrap_err();
    }

    fn the_terminals_signals_do_not_end_keeper_or_init(keeper) {
        let flag = format!("/tmp/{}-flag", tag());
        let mut job = job("echo; while [ ! -e $FLAG ]; do sleep 0.01; done");
        job.env.push(("FLAG".to_owned(), flag.clone()));
        let report = keeper.start(&job).unwrap().wait(|_, _| {
            for pid in [keeper.pid(), only_child_of(keeper.pid())] {
                for signal in [Signal::INT, Signal::HUP, Signal::TERM, Signal::QUIT] {
                    send(pid, signal);
                }
            }
            File::create(&flag).unwrap();
        });
        fs::remove_file(&flag).unwrap();
        assert_eq!(report.unwrap().ending, Ending::Exited { code: 0 });
    }

    fn a_keeper_whose_handle_is_dropped_ends_every_job(keeper) {
        let pid = keeper.pid();
        let child = keeper.start(&job("trap '' TERM; setsid sleep 1000 & sleep 1000")).unwrap();
        until("the payload runs", || survivors(&tag()).len() >= 2);
        drop(keeper);
        assert!(!running(pid));
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        assert!(matches!(child.wait(|_, _| {}), Err(KeeperError::Gone)));
    }

    fn the_death_of_the_keeper_ends_every_job(keeper) {
        let child = keeper.start(&job("trap '' TERM; setsid sleep 1000 & echo; sleep 1000")).unwrap();
        let outcome = child.wait(|_, _| send(keeper.pid(), Signal::KILL));
        assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}");
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        // One that is just ending may still take the question; nobody is told that it ran.
        let next = keeper.start(&job("true")).and_then(|child| child.wait(|_, _| {}));
        assert!(matches!(next, Err(KeeperError::Gone)), "{next:?}");
    }

    fn the_death_of_an_init_ends_its_job_and_no_other(keeper) {
        // None of them holds the output open: its end alone must not be what tells.
        let command = "exec 3>&1 >/dev/null 2>&1; i=0; \
            while [ $i -lt 200 ]; do setsid sleep 1000 3>&- & i=$((i+1)); done; \
            echo >&3; exec 3>&-; sleep 1000";
        let child = keeper.start(&job(command)).unwrap();
        let outcome = child.wait(|_, _| send(only_child_of(keeper.pid()), Signal::KILL));
        assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}");
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        assert_eq!(run(&keeper, &job("exit 4")).report.ending, Ending::Exited { code: 4 });
    }

    fn the_lock_of_a_killed_engine_is_free_only_when_everything_is_gone(keeper) {
        let containment = name(keeper.containment());
        let lock = format!("/tmp/{}-lock", tag());
        let (mut engine, keeper_pid) = start_engine("engine", containment, &lock);
        let file = File::open(&lock).unwrap();
        file.try_lock().unwrap_err();
        engine.kill().unwrap();
        until("the lock is free", || file.try_lock().is_ok());
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        until("the keeper is gone", || !running(keeper_pid));
        engine.wait().unwrap();
        fs::remove_file(&lock).unwrap();
    }

    fn an_engine_and_its_keeper_killed_at_once_leave_nothing(keeper) {
        let containment = name(keeper.containment());
        let lock = format!("/tmp/{}-lock", tag());
        let (mut engine, keeper_pid) = start_engine("engine", containment, &lock);
        engine.kill().unwrap();
        // At any moment of the keeper's own tidying up.
        std::thread::sleep(Duration::from_micros(u64::from(std::process::id()) % 2000));
        let _ = kill_process(Pid::from_raw(keeper_pid as i32).unwrap(), Signal::KILL);
        let file = File::open(&lock).unwrap();
        until("the lock is free", || file.try_lock().is_ok());
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        engine.wait().unwrap();
        fs::remove_file(&lock).unwrap();
    }

    fn an_init_that_was_stopped_does_not_keep_the_keeper_from_ending_everything(keeper) {
        let pid = keeper.pid();
        let child = keeper.start(&job("setsid sleep 1000 & sleep 1000")).unwrap();
        until("the payload runs", || survivors(&tag()).len() >= 2);
        send(only_child_of(pid), Signal::STOP);
        drop(keeper);
        assert!(!running(pid));
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        assert!(matches!(child.wait(|_, _| {}), Err(KeeperError::Gone)));
    }

    fn many_jobs_run_side_by_side(keeper) {
        std::thread::scope(|scope| {
            for code in 0..16 {
                let keeper = keeper.clone();
                scope.spawn(move || for _ in 0..5 {
                    let child = keeper.start(&job(format!("sleep 0.02 & exit {code}"))).unwrap();
                    let report = child.wait(|_, _| {}).unwrap();
                    assert_eq!(report.ending, Ending::Exited { code });
                });
            }
        });
        assert_eq!(survivors(&tag()), Vec::<String>::new());
    }

    fn a_malformed_request_does_not_harm_the_keeper(keeper) {
        let containment = name(keeper.containment());
        const START: &[u8] = br#"{"Start":{"kind":"None","network":"Full","files_in_memory":0,
            "limits":{"memory":null,"processes":null,"disk":null}}}"#;
        let (ours, theirs) = socket_pair();
        let mut by_hand = Command::new(PROBE).args(["serve", containment]).stdin(theirs).spawn().unwrap();
        let null = File::open("/dev/null").unwrap();
        ask(&ours, b"not json", &[]);
        ask(&ours, &[b' '; 100_000], &[]);
        ask(&ours, b"\"Start\"", &[]);
        ask(&ours, b"\"Hold\"", &[]);
        ask(&ours, b"\"Start\"", &[null.as_fd(); 4]);
        ask(&ours, b"\"Start\"", &[null.as_fd(); 5]);
        ask(&ours, START, &[null.as_fd(); 4]);
        ask(&ours, START, &[null.as_fd(); 5]);
        ask(&ours, b"\"HeldBy\"", &[]);
        ask(&ours, b"\"Hold\"", &[null.as_fd(); 20]);
        let (control, init_end) = socket_pair();
        ask(&ours, START, &[null.as_fd(), init_end.as_fd(), null.as_fd(), null.as_fd(), null.as_fd()]);
        drop(init_end);
        let mut answer = String::new();
        let mut packet = [0; 1000];
        let length = File::from(control).read(&mut packet).unwrap();
        answer.push_str(std::str::from_utf8(&packet[..length]).unwrap());
        assert!(answer.contains("read the request"), "{answer}");
        drop(ours);
        assert!(by_hand.wait().unwrap().success());
    }

    fn an_ordinary_user_gets_the_same(keeper) {
        if !rustix::process::getuid().is_root() {
            return;
        }
        let containment = name(keeper.containment());
        let command = format!(
            "id -u; (setsid sleep 1000 >/dev/null 2>&1 &); {PYTHON} -c 'b = b\"x\" * (50 << 20)'; exit 6"
        );
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .args([PROBE, "run", containment, &command])
            .env("TAG", tag())
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let (id, report) = stdout.split_once('\n').unwrap_or_else(|| panic!("{stderr}"));
        assert_eq!(id, "65534");
        let (kind, report) = report.trim().split_once(' ').unwrap();
        assert_eq!(kind, format!("{:?}", keeper.containment()));
        let report: Report = serde_json::from_str(report).unwrap();
        assert_eq!(report.ending, Ending::Exited { code: 6 });
        assert_eq!(report.stragglers, 1);
        assert!(report.peak_bytes > 50 << 20);
        assert_eq!(survivors(&tag()), Vec::<String>::new());
    }
}

/// An engine of its own that holds a lock and runs a stubborn job, and the number of its keeper.
fn start_engine(kind: &str, containment: &str, lock: &str) -> (std::process::Child, u32) {
    let mut engine = Command::new(PROBE)
        .args([kind, containment, lock])
        .args(["trap '' TERM; setsid sleep 1000 & echo; sleep 1000", &tag()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(engine.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (engine, line.trim().parse().unwrap())
}

#[test]
fn where_proc_is_masked_the_keeper_falls_back_to_a_subreaper() {
    // What Docker and Kubernetes do to /proc, for which the kernel then refuses a new one. The
    // mask counts once it cannot be taken off again: in a second namespace, inside the first.
    const INSIDE: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];
    let script = format!("mount -t tmpfs none /proc/sys && exec {} {PROBE} run any 'echo $$ >&2'", INSIDE.join(" "));
    let output = Command::new(INSIDE[0]).args(&INSIDE[1..]).args(["sh", "-c", &script]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    if !output.status.success() {
        panic!("{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(stdout.starts_with("Subreaper "), "{stdout}");
    assert!(stdout.contains(r#""Exited":{"code":0}"#), "{stdout}");
}

#[test]
fn a_keeper_is_not_forked_where_threads_exist() {
    let outcome = std::thread::spawn(Keeper::fork).join().unwrap();
    assert!(matches!(outcome, Err(KeeperError::Threads { threads: 2.. })), "{outcome:?}");
}

#[test]
fn a_program_that_is_no_keeper_is_told_as_gone() {
    let outcome = Keeper::reexec(Path::new("/bin/true"), &[]);
    assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}");
}

#[test]
fn in_a_pid_namespace_the_payload_sees_only_its_own_processes() {
    let done = run(&keeper(Containment::PidNamespace), &job("echo $$ /proc/[0-9]*"));
    assert_eq!(done.stdout, "2 /proc/1 /proc/2\n");
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

fn socket_pair() -> (OwnedFd, OwnedFd) {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
}

fn ask(socket: &OwnedFd, bytes: &[u8], fds: &[std::os::fd::BorrowedFd<'_>]) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(20))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(fds.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(fds)));
    sendmsg(socket, &[std::io::IoSlice::new(bytes)], &mut ancillary, SendFlags::empty()).unwrap();
}
