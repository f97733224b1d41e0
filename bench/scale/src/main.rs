//! Makes a study look as if it had run for weeks, through the real ledger, store and keep code.
//!
//! `generate DIR N`: adds N experiments to the study in DIR, whose baseline has been measured, and leaves it as a
//! `kill -9` would: one trial in flight. `generate DIR N --no-git`: the same with commits that exist in the ledger
//! only, for sizes at which git is not what is measured. `live DIR N MS`: is a run for whoever looks, adds an experiment
//! every MS milliseconds and says when, N times, then does nothing until its standard input closes. `memory DIR`: what the
//! fold of a ledger takes.

use std::error::Error;
use std::path::Path;

use overnight_engine::dispatch::{Keep, proposal_message};
use overnight_engine::ledger::{Ledger, Turn};
use overnight_engine::load::{Site, locate};
use overnight_engine::lock::{Holder, Lock};
use overnight_engine::workspace::{CommitPlan, Store, UserRepo, oid};
use overnight_engine::{plans, worker};
use overnight_model::event::{Judged, Proposed, Purpose, RunFacts, Scope};
use overnight_model::judge::Estimate;
use overnight_model::measure::Usage;
use overnight_model::proposal::Contents;
use overnight_model::tuner::{Edit, Value};
use overnight_model::{
    CommitId, Ending, Event, ExperimentId, Measurement, Millis, Reason, Score, Seed, Slot, State, Timestamp, TrialId,
    Verdict, What,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// One in so many is kept, as in a good night.
const KEPT_EVERY: u64 = 100;
/// Experiments in one transaction: this is about sizes, not about syncs.
const BATCH: u64 = 100;
/// Loose objects at which the store is packed, as in a run.
const PACK_AT: usize = 1500;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["generate", dir, count] => Generator::open(dir, true)?.run(count.parse()?),
        ["generate", dir, count, "--no-git"] => Generator::open(dir, false)?.run(count.parse()?),
        ["live", dir, count, every] => Generator::open(dir, false)?.live(dir, count.parse()?, every.parse()?),
        ["memory", dir] => memory(dir),
        _ => Err("usage: generate DIR N [--no-git] | live DIR N MS | memory DIR".into()),
    }
}

struct Generator {
    ledger: Ledger,
    state: State,
    user: UserRepo,
    store: Option<Store>,
    study: String,
    now: i64,
    draft: Draft,
}

#[derive(Default)]
struct Draft {
    events: Vec<Event>,
    blobs: Vec<Vec<u8>>,
    rows: Vec<overnight_model::study::Row>,
}

impl Generator {
    fn open(dir: &str, with_git: bool) -> Outcome<Generator> {
        let site: Site = locate(Path::new(dir), None)?;
        let user = UserRepo::discover(&site.dir)?;
        let (ledger, state) = Ledger::open(&site.state())?;
        let store = match with_git {
            true => Some(Store::open_or_init(&site.state().join("store.git"), &user)?),
            false => None,
        };
        let now = overnight_engine::clock::now().0;
        Ok(Generator { ledger, state, user, store, study: site.study, now, draft: Draft::default() })
    }

    fn run(mut self, count: u64) -> Outcome<()> {
        let first = self.state.next_experiment().0;
        for id in first..first + count {
            self.propose(id)?;
            self.finish_trial(id);
            self.judge(id)?;
            if id.is_multiple_of(BATCH) {
                self.store()?;
            }
        }
        // The last one is in flight when the power goes.
        self.propose(first + count)?;
        self.store()?;
        Ok(())
    }

    /// Five events every so many milliseconds, each experiment in one transaction, and when that was durable.
    fn live(mut self, dir: &str, count: u64, every: u64) -> Outcome<()> {
        let me = Holder { pid: std::process::id(), what: "overnight run".to_owned(), dir: dir.into() };
        let _lock = Lock::take(self.user.common_dir(), &self.study, &me)?;
        let first = self.state.next_experiment().0;
        self.now = overnight_engine::clock::now().0;
        self.note(What::RunStarted(RunFacts {
            run: 1_000_000,
            scope: Scope::Loop { experiments: None },
            slots: 1,
            version: "bench".to_owned(),
            pid: std::process::id(),
            boot: overnight_engine::clock::boot_id(),
            containment: String::new(),
            sandbox: "none".to_owned(),
            agent: String::new(),
            metered: None,
        }));
        self.store()?;
        report("0 0");
        // Whoever looks has to be there first.
        std::io::stdin().read_line(&mut String::new())?;
        for id in first..first + count {
            std::thread::sleep(std::time::Duration::from_millis(every));
            self.propose(id)?;
            self.finish_trial(id);
            self.judge(id)?;
            self.store()?;
            report(&format!("{id} {}", overnight_engine::clock::now().0));
        }
        self.propose(first + count)?;
        self.store()?;
        std::io::stdin().read_line(&mut String::new())?;
        Ok(())
    }

    fn propose(&mut self, id: u64) -> Outcome<()> {
        let experiment = ExperimentId(id);
        let champion = self.state.champion().ok_or("the study has no champion")?;
        let parent = champion.commit.clone().ok_or("the champion has no commit")?;
        let path = champion.surface[0].path.clone();
        let text = format!("VALUE = {}\n# {}\n", 1_000_000 + id, "x".repeat(400)).into_bytes();
        let contents = Contents(vec![(path.clone(), text)]);
        let description = format!("VALUE 1000000 → {}", 1_000_000 + id);
        let (content, surface) = (contents.id(), contents.blobs());
        self.note(What::Asked { experiment, agent: "tuner".to_owned(), parent: parent.clone(), why: String::new() });
        let commit_time = self.now / 1000;
        let message = proposal_message(experiment, &description);
        let plan = CommitPlan { parent: oid(&parent)?, files: contents.0, message, at: commit_time };
        let commit = match &self.store {
            Some(store) => {
                if store.loose() > PACK_AT {
                    store.pack()?;
                }
                let commit = store.write(&plan)?;
                store.set_ref(id, commit)?;
                CommitId(commit.to_string())
            }
            None => CommitId(format!("{id:040x}")),
        };
        self.draft.blobs.extend(plan.files.into_iter().map(|(_, bytes)| bytes));
        let edits =
            vec![Edit { path, name: "VALUE".to_owned(), from: Value::Number(1e6), to: Value::Number(1e6 + id as f64) }];
        self.note(What::Proposed(Proposed {
            experiment,
            agent: "tuner".to_owned(),
            parent,
            commit,
            commit_time,
            description,
            content,
            surface,
            form: None,
            tokens: None,
            reseeds: false,
            edits,
            took: Millis(0),
            output: None,
            used: None,
        }));
        let (trial, seed, slot) = (TrialId(id + 10), Seed(id as u32), Slot(0));
        self.note(What::TrialStarted { trial, experiment, purpose: Purpose::Screen, seed, slot, aid: None });
        Ok(())
    }

    fn finish_trial(&mut self, id: u64) {
        let measurement = Measurement {
            ending: Ending::Exited { code: 0 },
            metric: Score::new(1e6 + id as f64),
            problem: None,
            numbers: Default::default(),
            usage: Usage { wall: Millis(300_000), cpu: Millis(290_000), peak_bytes: 1 << 30 },
            output: None,
            claim: None,
            scorer: None,
            replayed: false,
        };
        self.now += 300_000;
        self.note(What::TrialFinished { trial: TrialId(id + 10), experiment: ExperimentId(id), measurement });
    }

    fn judge(&mut self, id: u64) -> Outcome<()> {
        let experiment = ExperimentId(id);
        let (gain, kept) = (1.0 + id as f64, id.is_multiple_of(KEPT_EVERY));
        let (verdict, reason, gain) = match kept {
            true => (Verdict::Kept, Reason::Better { gain, bound: 0.0, trials: 1 }, gain),
            false => (Verdict::Discarded, Reason::NotBetter { gain: -gain }, -gain),
        };
        let estimate = Some(Estimate { gain, low: Some(gain), high: Some(gain) });
        let metric = Score::new(1e6 + id as f64);
        self.note(What::Judged(Judged { experiment, verdict, reason, metric, estimate, opinion: None }));
        if kept {
            // As in a run: the verdict is durable before the branch moves.
            self.store()?;
            self.advance(experiment)?;
        }
        Ok(())
    }

    fn advance(&mut self, experiment: ExperimentId) -> Outcome<()> {
        let from = self.state.champion().and_then(|champion| champion.commit.clone()).ok_or("no champion")?;
        let to = match &self.store {
            Some(store) => {
                let facts = self.state.segment.as_ref().ok_or("no segment")?;
                let plan = plans::kept_plan(self.ledger.reader(), &facts.metric, experiment, &from)?;
                store.set_ref(experiment.0, store.write(&plan)?)?;
                worker::keep_commit(&self.user, &self.study, experiment, Some(&from), &Keep::Commit(plan))?
            }
            None => CommitId(format!("{:040x}", experiment.0)),
        };
        self.note(What::BranchAdvanced { experiment, from: Some(from), to, retracted: None });
        Ok(())
    }

    fn note(&mut self, what: What) {
        self.now += 5;
        let event = Event { at: Timestamp(self.now), what };
        self.state.apply(&event);
        for id in self.state.touched() {
            self.draft.rows.extend(self.state.row(id));
        }
        self.draft.events.push(event);
    }

    fn store(&mut self) -> Outcome<()> {
        let Draft { events, blobs, rows } = std::mem::take(&mut self.draft);
        let summary = self.state.summary();
        self.ledger.append(&Turn { events: &events, blobs: &blobs, rows: &rows, summary: summary.as_ref() })?;
        self.state.forget_judged();
        Ok(())
    }
}

/// Prints the memory before and after a ledger is folded, in KiB.
fn memory(dir: &str) -> Outcome<()> {
    let site = locate(Path::new(dir), None)?;
    let before = resident()?;
    let (ledger, state) = Ledger::open(&site.state())?;
    let after = resident()?;
    report(&format!("{} {}", after - before, state.next_experiment().0));
    drop(ledger);
    Ok(())
}

fn resident() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

#[expect(clippy::disallowed_macros, reason = "a benchmark's own tool, whose whole purpose is this line")]
fn report(line: &str) {
    println!("{line}");
}
