//! What bench/sandbox/run measures. Numbers go to standard output as JSON, in milliseconds.

use std::process::Command;
use std::time::{Duration, Instant};

use overnight_engine::process::{Ending, Job, Keeper, Sandbox};

/// Starts a command that does nothing in different ways, in turns: by posix_spawn, through a keeper without and with a
/// sandbox, and by another program's sandbox, whose words are `other`. The engine's heap is that many megabytes.
pub(crate) fn starts(rounds: usize, heap: usize, stage: &str, other: &[&str]) {
    // As in the engine: the keeper comes first, and the heap grows afterwards.
    let keeper = Keeper::fork().unwrap();
    let memory = vec![1_u8; heap << 20];
    let plain = super::job("true");
    let sandboxed = Job { sandbox: Sandbox::View(super::view(stage)), ..plain.clone() };
    let through_keeper = |job: &Job| {
        let started = Instant::now();
        let report = keeper.start(job).unwrap().wait(|_, _| {}).unwrap();
        let took = started.elapsed();
        assert_eq!(report.ending, Ending::Exited { code: 0 });
        took
    };
    let by_spawn = |words: &[&str]| {
        let started = Instant::now();
        let done = Command::new(words[0]).args(&words[1..]).output().unwrap();
        let took = started.elapsed();
        assert!(done.status.success(), "{done:?}");
        took
    };
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..rounds {
        times[0].push(milliseconds(by_spawn(&["/bin/sh", "-c", "true"])));
        times[1].push(milliseconds(through_keeper(&plain)));
        times[2].push(milliseconds(through_keeper(&sandboxed)));
        if !other.is_empty() {
            times[3].push(milliseconds(by_spawn(other)));
        }
    }
    std::hint::black_box(&memory);
    println!("{}", serde_json::to_string(&times).unwrap());
}

/// How long it takes from the order to kill until nothing is left of a tree of so many processes, all of which ignore
/// TERM and a third of which left for sessions of their own.
pub(crate) fn kill(processes: usize, rounds: usize, stage: &str) {
    let keeper = Keeper::fork().unwrap();
    let tree = format!(
        "trap '' TERM; i=0
         while [ $i -lt {processes} ]; do
             if [ $((i % 3)) -eq 0 ]; then setsid sleep 1000 & else sleep 1000 & fi
             i=$((i + 1))
         done
         echo ready; wait"
    );
    let mut job = Job { sandbox: Sandbox::View(super::view(stage)), ..super::job(&tree) };
    job.deadline = Duration::from_secs(300);
    let times: Vec<f64> = (0..rounds)
        .map(|_| {
            let child = keeper.start(&job).unwrap();
            let killer = child.killer();
            let mut ordered = None;
            let report = child.wait(|_, _| {
                ordered.get_or_insert_with(Instant::now);
                killer.kill();
            });
            let took = ordered.expect("it became ready").elapsed();
            assert_eq!(report.unwrap().ending, Ending::Stopped);
            milliseconds(took)
        })
        .collect();
    println!("{}", serde_json::to_string(&times).unwrap());
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
