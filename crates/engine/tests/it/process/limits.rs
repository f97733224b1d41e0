//! Limits on a whole job: by control groups where this machine gives them, by looking where it does not.

use std::path::PathBuf;

use overnight_engine::process::{Fenced, HeldBy, Holder, Layer, Limits, Mount, Network, View};

use super::*;

const MEMORY: u64 = 64 << 20;
const PROCESSES: u64 = 50;

/// More than the limit leaves room for, far less than the machine has. It begins when an init that only looks has come
/// to look less often.
const MEMORY_BOMB: &str = "import time; time.sleep(0.4); b\"x\" * (512 << 20)";

/// The same in a file without a name, which no process has in its own memory.
const HIDDEN_MEMORY: &str =
    "import os; f = os.memfd_create(\"f\")\nfor _ in range(256): os.write(f, b\"x\" * (1 << 20))";

/// Stops by itself far above the limit.
const FORK_BOMB: &str = "import os, time\n\
    for _ in range(300):\n    \
        if os.fork() == 0: time.sleep(1000)\n";

/// Half a second in a child whose time no parent is told.
const HIDDEN_TIME: &str = "import os, signal, time\n\
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
    if os.fork() == 0:\n    \
        while time.process_time() < 0.5: pass\n    \
        os._exit(0)\n\
    try: os.wait()\n\
    except ChildProcessError: pass";

fn python(program: &str) -> String {
    format!("{PYTHON} -c '{program}'")
}

fn fenced(command: impl Into<String>) -> Job {
    let sandbox = Sandbox::Fenced(Box::new(Fenced {
        read: vec!["/".into()],
        write: vec!["/dev".into(), "/tmp".into()],
        devices: vec![],
        network: Network::Full,
        user: None,
        limits: limits(),
    }));
    Job { sandbox, ..job(command) }
}

fn limits() -> Limits {
    Limits { memory: Some(MEMORY), processes: Some(PROCESSES), disk: None }
}

/// A stage for views, and the user of this seat where root runs the tests.
fn view(stage: &Path, seat: u32, command: impl Into<String>) -> Job {
    fs::create_dir_all(stage).unwrap();
    let shared = |path: &str| Mount::Shared { lowers: vec![path.into()], at: path.into() };
    let link = |at: &str, target: &str| Mount::Link { at: at.into(), target: target.into() };
    let sandbox = Sandbox::View(Box::new(View {
        stage: stage.to_owned(),
        layer: Layer::Memory { bytes: 16 << 20, inodes: 10_000 },
        mounts: vec![
            link("/bin", "usr/bin"),
            link("/lib", "usr/lib"),
            link("/lib64", "usr/lib64"),
            Mount::Private { lowers: vec![], at: "/tmp".into() },
            shared("/usr"),
        ],
        files: vec![],
        hand_back: vec![],
        devices: vec![],
        network: Network::None,
        user: Some(1_900_000_000 + seat),
        limits: limits(),
    }));
    Job { sandbox, ..job(command) }
}

fn by_group(holder: &Holder) -> bool {
    *holder == Holder::Group
}

/// The groups that this keeper made.
fn groups_of(keeper: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let ours = entry.file_name().to_string_lossy().starts_with(&format!("overnight-{keeper}-"));
                if ours { found.push(entry.path()) } else { folders.push(entry.path()) }
            }
        }
    }
    found
}

in_both_containments! {
    fn a_job_that_takes_too_much_memory_is_ended_before_it_has_it(keeper) {
        let report = run(&keeper, &fenced(python(MEMORY_BOMB))).report;
        assert_eq!(report.ending, Ending::OutOfMemory, "{report:?}");
        // Between two looks it can take more; in a group it cannot, but for the room of the init, and for the code of
        // python, which others have in memory already.
        let most = if by_group(&keeper.held_by().unwrap().memory) { MEMORY + (32 << 20) } else { 512 << 20 };
        assert!(report.peak_bytes <= most, "{report:?}");
    }

    fn memory_that_a_payload_hides_is_seen_where_a_group_counts_it(keeper) {
        let done = run(&keeper, &fenced(python(HIDDEN_MEMORY)));
        let by_group = by_group(&keeper.held_by().unwrap().memory);
        let ending = if by_group { Ending::OutOfMemory } else { Ending::Exited { code: 0 } };
        assert_eq!(done.report.ending, ending, "{}", done.stderr);
    }

    fn a_job_that_makes_too_many_processes_is_told_so(keeper) {
        let report = run(&keeper, &fenced(python(FORK_BOMB))).report;
        assert_eq!(report.ending, Ending::TooManyProcesses, "{report:?}");
        assert!(u64::from(report.stragglers) <= PROCESSES, "{report:?}");
    }

    fn time_that_a_payload_hides_is_seen_where_a_group_counts_it(keeper) {
        let report = run(&keeper, &fenced(python(HIDDEN_TIME))).report;
        assert_eq!(report.ending, Ending::Exited { code: 0 });
        let seen = report.cpu >= Duration::from_millis(500);
        assert_eq!(seen, by_group(&keeper.held_by().unwrap().cpu), "{report:?}");
    }

    fn what_one_job_was_counted_is_not_held_against_the_next(keeper) {
        let endings = [(MEMORY_BOMB, Ending::OutOfMemory), (FORK_BOMB, Ending::TooManyProcesses)];
        for (bomb, ending) in endings {
            assert_eq!(run(&keeper, &fenced(python(bomb))).report.ending, ending);
            let report = run(&keeper, &fenced("exit 3")).report;
            assert_eq!(report.ending, Ending::Exited { code: 3 });
        }
        run(&keeper, &fenced(python(HIDDEN_TIME)));
        let report = run(&keeper, &fenced("exit 3")).report;
        assert!(report.cpu < Duration::from_millis(400), "{report:?}");
    }

    fn a_limited_payload_has_three_descriptors(keeper) {
        let stray = rustix::io::dup(File::open("/dev/null").unwrap()).unwrap();
        for _ in 0..2 {
            assert_eq!(run(&keeper, &fenced("ls /proc/$$/fd")).stdout, "0\n1\n2\n");
            keeper.hold(stray.as_fd()).unwrap();
        }
    }

    fn what_is_held_reaches_the_init_of_a_limited_job(keeper) {
        run(&keeper, &fenced("true"));
        let path = format!("/tmp/{}-lock", tag());
        let lock = File::create(&path).unwrap();
        lock.lock().unwrap();
        keeper.hold(lock.as_fd()).unwrap();
        drop(lock);
        let ours = File::open(&path).unwrap();
        let outcome = keeper.start(&fenced("echo; sleep 1000")).unwrap().wait(|_, _| {
            let init = init_of(&tag());
            send(init, Signal::STOP);
            // The keeper first: it would end what comes down to it when the nurse goes.
            for above in [keeper.pid(), parent_of(&stat(init))] {
                let _ = kill_process(Pid::from_raw(above as i32).unwrap(), Signal::KILL);
                until("the nurse and the keeper are gone", || !running(above));
            }
            ours.try_lock().unwrap_err();
            send(init, Signal::CONT);
        });
        assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}");
        until("the lock is free", || ours.try_lock().is_ok());
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        fs::remove_file(&path).unwrap();
    }

    fn the_death_of_a_nurse_ends_its_job_and_no_other(keeper) {
        let beside = keeper.start(&job("trap 'exit 0' TERM; while :; do sleep 0.01; done")).unwrap();
        until("the one beside runs", || !survivors(&tag()).is_empty());
        let command = "exec 3>&1 >/dev/null 2>&1; i=0; \
            while [ $i -lt 40 ]; do setsid sleep 1000 3>&- & i=$((i+1)); done; echo >&3; exec 3>&-; sleep 1000";
        let mut lost = fenced(command);
        let lost_tag = format!("{}-lost", tag());
        lost.env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("TAG".to_owned(), lost_tag.clone())];
        let outcome = keeper.start(&lost).unwrap().wait(|_, _| {
            let init = init_of(&lost_tag);
            let nurse = parent_of(&stat(init));
            // Without groups there is no nurse, and the init is what is nearest to one.
            send(if nurse == keeper.pid() { init } else { nurse }, Signal::KILL);
        });
        assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}");
        assert_eq!(survivors(&lost_tag), Vec::<String>::new());
        beside.killer().terminate();
        assert_eq!(beside.wait(|_, _| {}).unwrap().ending, Ending::Stopped);
        assert_eq!(run(&keeper, &fenced("exit 4")).report.ending, Ending::Exited { code: 4 });
        // Nobody lives in the group of a dead nurse, and nobody will.
        let groups = groups_of(keeper.pid());
        assert!(!groups.iter().any(|group| is_empty(group)), "{groups:?}");
    }

    // The kernel itself ends an init where the memory of the payload's files outlives it by a moment, for which one cannot
    // wait: here the kernel ends a payload, and then we its init.
    fn a_job_whose_init_was_ended_for_want_of_memory_is_out_of_memory(keeper) {
        let by_group = by_group(&keeper.held_by().unwrap().memory);
        for _ in 0..2 {
            let command = format!("exec 2>/dev/null; {}; echo; sleep 1000", python(HIDDEN_MEMORY));
            let child = keeper.start(&fenced(command)).unwrap();
            let outcome = child.wait(|_, _| send(init_of(&tag()), Signal::KILL));
            match by_group {
                true => assert_eq!(outcome.unwrap().ending, Ending::OutOfMemory),
                false => assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}"),
            }
            assert_eq!(survivors(&tag()), Vec::<String>::new());
        }
        // What an earlier job was ended for is not why this one was.
        let outcome = keeper.start(&fenced("echo; sleep 1000")).unwrap().wait(|_, _| send(init_of(&tag()), Signal::KILL));
        assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}");
        assert_eq!(run(&keeper, &fenced("exit 4")).report.ending, Ending::Exited { code: 4 });
    }

    fn the_death_of_the_keeper_ends_limited_jobs_and_the_next_keeper_sweeps_their_groups(keeper) {
        let containment = keeper.containment();
        let pid = keeper.pid();
        let child = keeper.start(&fenced("trap \"\" TERM; setsid sleep 1000 & echo; sleep 1000")).unwrap();
        let outcome = child.wait(|_, _| send(pid, Signal::KILL));
        assert!(matches!(outcome, Err(KeeperError::Gone)), "{outcome:?}");
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        drop(keeper);
        // A nurse ends after its last init.
        until("every group is empty", || groups_of(pid).iter().all(|group| is_empty(group)));
        super::keeper(containment).held_by().unwrap();
        assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    }

    fn a_killed_engine_leaves_neither_processes_nor_groups(keeper) {
        let containment = name(keeper.containment());
        let lock = format!("/tmp/{}-lock", tag());
        let (mut engine, keeper_pid) = start_engine("engine-limited", containment, &lock);
        let file = File::open(&lock).unwrap();
        file.try_lock().unwrap_err();
        engine.kill().unwrap();
        until("the lock is free", || file.try_lock().is_ok());
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        until("the keeper is gone", || !running(keeper_pid));
        assert_eq!(groups_of(keeper_pid), Vec::<PathBuf>::new());
        engine.wait().unwrap();
        fs::remove_file(&lock).unwrap();
    }

    fn a_nurse_that_was_stopped_does_not_keep_the_keeper_from_ending_everything(keeper) {
        let pid = keeper.pid();
        let child = keeper.start(&fenced("setsid sleep 1000 & echo; sleep 1000")).unwrap();
        until("the payload runs", || survivors(&tag()).len() >= 2);
        send(only_child_of(pid), Signal::STOP);
        drop(keeper);
        assert!(!running(pid));
        assert_eq!(survivors(&tag()), Vec::<String>::new());
        assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
        assert!(matches!(child.wait(|_, _| {}), Err(KeeperError::Gone)));
    }

    fn limits_are_held_for_an_ordinary_user_too(keeper) {
        if !rustix::process::getuid().is_root() {
            return;
        }
        let containment = name(keeper.containment());
        // Without namespaces all processes of a user count, so it has to be one that nobody else is.
        let user = (1_800_000_000 + std::process::id()).to_string();
        for (bomb, ending) in [(MEMORY_BOMB, Ending::OutOfMemory), (FORK_BOMB, Ending::TooManyProcesses)] {
            let output = Command::new("setpriv")
                .args(["--reuid", &user, "--regid", &user, "--clear-groups"])
                .args([PROBE, "limited", containment, &python(bomb)])
                .env("TAG", tag())
                .output()
                .unwrap();
            let stderr = String::from_utf8(output.stderr).unwrap();
            let (held, report): (HeldBy, Report) =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
            assert_eq!(report.ending, ending, "{report:?} {stderr}");
            // This user was given no group to make others in.
            let Holder::Polling { reason } = held.memory else { panic!("{held:?}") };
            assert!(reason.starts_with("could not ") || reason.contains("no control groups"), "{reason}");
        }
        assert_eq!(survivors(&tag()), Vec::<String>::new());
    }
}

#[test]
fn a_job_may_use_all_the_processes_it_was_given() {
    // The shell, python and these, two below the number at which an init that only looks ends it.
    let some = FORK_BOMB.replace("300", "46");
    let report = run(&keeper(Containment::PidNamespace), &fenced(python(&some))).report;
    assert_eq!(report.ending, Ending::Exited { code: 0 }, "{report:?}");
}

#[test]
fn a_neighbour_does_not_notice_a_memory_bomb_beside_it() {
    let keeper = keeper(Containment::PidNamespace);
    let stage = PathBuf::from(format!("/tmp/{}-stage", tag()));
    let neighbour = keeper.start(&view(&stage, 1, "trap 'exit 0' TERM; while :; do sleep 0.01; done")).unwrap();
    until("the neighbour runs", || !survivors(&tag()).is_empty());
    for _ in 0..3 {
        let report = keeper.start(&view(&stage, 2, python(MEMORY_BOMB))).unwrap().wait(|_, _| {}).unwrap();
        assert_eq!(report.ending, Ending::OutOfMemory, "{report:?}");
    }
    neighbour.killer().terminate();
    assert_eq!(neighbour.wait(|_, _| {}).unwrap().ending, Ending::Stopped);
    fs::remove_dir_all(&stage).unwrap();
}

#[test]
fn two_hundred_jobs_in_a_row_leave_no_group_and_no_process() {
    let keeper = keeper(Containment::PidNamespace);
    let pid = keeper.pid();
    let stage = PathBuf::from(format!("/tmp/{}-stage", tag()));
    for number in 0..200 {
        let report = run(&keeper, &view(&stage, 1, "dd if=/dev/zero of=/tmp/file bs=1M count=10 2>&1")).report;
        assert_eq!(report.ending, Ending::Exited { code: 0 }, "{number}: {report:?}");
    }
    // A job that starts while the last one's init is still ending finds the nurse busy, and gets another: a few.
    assert!(children_of(pid).len() <= 10, "{:?}", children_of(pid));
    drop(keeper);
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    fs::remove_dir_all(&stage).unwrap();
}

#[test]
fn files_in_memory_do_not_count_against_the_processes() {
    let keeper = keeper(Containment::PidNamespace);
    let stage = PathBuf::from(format!("/tmp/{}-stage", tag()));
    let mut job = view(&stage, 1, "dd if=/dev/zero of=/tmp/file bs=1M count=150 2>&1");
    let Sandbox::View(view) = &mut job.sandbox else { unreachable!() };
    view.layer = Layer::Memory { bytes: 200 << 20, inodes: 1000 };
    let done = run(&keeper, &job);
    assert_eq!(done.report.ending, Ending::Exited { code: 0 }, "{}", done.stdout);
    job.command = job.command.replace("150", "250");
    assert_eq!(run(&keeper, &job).report.ending, Ending::LayerFull);
    fs::remove_dir_all(&stage).unwrap();
}

fn is_empty(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|text| text.is_empty())
}

fn children_of(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn stat(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/stat")).unwrap()
}

/// The one process that has a child with this tag and none itself.
fn init_of(tag: &str) -> u32 {
    let tagged = survivors(tag);
    let is_tagged = |pid: u32| tagged.iter().any(|stat| stat.starts_with(&format!("{pid} ")));
    tagged.iter().map(|stat| parent_of(stat)).find(|parent| *parent > 1 && !is_tagged(*parent)).unwrap()
}

/// `pid (name) state parent …`
fn parent_of(stat: &str) -> u32 {
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}
