//! The machine of the simulation: real git and a real ledger, but time, work and death are made up.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use overnight_engine::dispatch::{Action, Arrival, Fault, Keep, Machine};
use overnight_engine::worker::keep_commit;
use overnight_engine::workspace::{CommitPlan, Store, UserRepo, oid};
use overnight_model::event::{Loss, Purpose};
use overnight_model::measure::Usage;
use overnight_model::{CommitId, Ending, ExperimentId, Millis, Slot, Timestamp};

use super::disk;
use super::people::{self, Answer};
use super::setup::{Faults, STUDY};
use super::world::{KEEP_STAGES, KeepStage, Point, World};

/// More empty waits than this in a row is a loop that burns a processor.
const IDLE_TURNS: u32 = 4;
/// Loose objects at which this machine packs, far fewer than the real one.
const PACK_AT: usize = 40;

pub type Shared = Rc<RefCell<World>>;

pub struct Simulated {
    world: Shared,
    user: UserRepo,
    store: Store,
    work: Vec<Work>,
    idle: u32,
}

/// Something that is going to arrive.
struct Work {
    due: i64,
    kind: Kind,
    slot: Option<Slot>,
    arrival: Arrival,
    /// What arrives instead when it is stopped.
    stopped: Option<Arrival>,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Agent,
    Evaluation,
    Person,
}

impl Simulated {
    pub fn new(world: Shared, user: UserRepo, store: Store) -> Simulated {
        let mut machine = Simulated { world, user, store, work: Vec::new(), idle: 0 };
        machine.plan_stops();
        machine
    }

    /// A person may ask the run to stop, and then again.
    fn plan_stops(&mut self) {
        let mut world = self.world.borrow_mut();
        let rate = world.setup.faults.stop_request;
        if !world.trouble(rate) {
            return;
        }
        let mut due = world.monotonic + 1000 * world.random.below(600) as i64;
        let mut hurry = world.random.one_in(4);
        loop {
            let arrival = Arrival::StopRequested { hurry };
            self.work.push(Work { due, kind: Kind::Person, slot: None, arrival, stopped: None });
            if hurry || world.random.one_in(2) {
                return;
            }
            due += 1000 * world.random.below(20) as i64;
            hurry = true;
        }
    }

    fn begin(&mut self, kind: Kind, slot: Option<Slot>, took: i64, arrival: Arrival, stopped: Arrival) {
        if let Some(slot) = slot {
            assert!(self.work.iter().all(|work| work.slot != Some(slot)), "two works in slot {slot}");
        }
        let due = self.world.borrow().monotonic + took;
        self.work.push(Work { due, kind, slot, arrival, stopped: Some(stopped) });
    }

    /// The branch as it is in git; every turn leaves it where the record says.
    fn check_branch(&self) {
        let found = self.user.branch_head(STUDY).expect("read the branch").map(|id| id.to_string());
        self.world.borrow_mut().referee.check_branch(found);
    }

    fn objects(&self) -> PathBuf {
        self.user.common_dir().join("objects")
    }

    fn branch_file(&self, name: &str) -> PathBuf {
        let path = self.user.common_dir().join("refs/heads/overnight").join(name);
        fs::create_dir_all(path.parent().expect("a ref lies in a folder")).expect("make the folder");
        path
    }

    /// Does a keep up to a stage, and dies there.
    fn die_in_keep(&self, experiment: ExperimentId, from: Option<&CommitId>, keep: &Keep, stage: KeepStage) -> Fault {
        let to = match keep {
            Keep::Baseline(commit) => oid(commit).expect("a commit's name"),
            Keep::Commit(plan) if stage != KeepStage::Nothing => {
                let before = disk::files_below(&self.objects());
                let to = self.user.write_kept(plan).expect("write the kept commit");
                if stage == KeepStage::SomeObjects {
                    disk::tear_new_objects(&self.objects(), &before, &mut self.world.borrow_mut().random);
                } else if stage != KeepStage::Objects {
                    self.store.write(plan).expect("write to the store");
                    self.store.set_ref(experiment.0, to).expect("write the ref");
                }
                to
            }
            Keep::Commit(_) => self.world.borrow_mut().crash("before a keep"),
        };
        match stage {
            KeepStage::Hidden => {
                fs::write(self.branch_file(&format!(".{STUDY}.overnight")), "half a na").expect("write")
            }
            KeepStage::Locked => {
                fs::write(self.branch_file(&format!("{STUDY}.lock")), format!("{to}\n")).expect("write the lock");
            }
            KeepStage::Branch => {
                if let Err(fault) = keep_commit(&self.user, STUDY, experiment, from, keep) {
                    return fault;
                }
            }
            _ => {}
        }
        self.world.borrow_mut().crash(&format!("inside a keep: {stage:?}"))
    }
}

impl Machine for Simulated {
    fn now(&self) -> Timestamp {
        let mut world = self.world.borrow_mut();
        world.settle();
        world.turn_begins();
        Timestamp(world.monotonic + world.skew)
    }

    fn wait(&mut self, until: Option<Timestamp>) -> Result<Vec<Arrival>, Fault> {
        self.world.borrow_mut().settle();
        self.check_branch();
        let mut world = self.world.borrow_mut();
        let rate = world.setup.faults.clock_step;
        if world.trouble(rate) {
            let hours = world.random.below(48) as i64 - 24;
            world.skew += hours * 3_600_000;
        }
        let next = self.work.iter().map(|work| work.due).min();
        let until = until.map(|until| until.0 - world.skew);
        let due = match (next, until) {
            (None, None) => panic!("the loop waits for something that will never come"),
            (next, until) => next.into_iter().chain(until).min().expect("one of them"),
        };
        world.monotonic = world.monotonic.max(due);
        let (arrived, rest): (Vec<Work>, _) =
            std::mem::take(&mut self.work).into_iter().partition(|work| work.due <= world.monotonic);
        self.work = rest;
        self.idle = if arrived.is_empty() { self.idle + 1 } else { 0 };
        assert!(self.idle <= IDLE_TURNS, "the loop turns and turns with nothing to do");
        Ok(arrived.into_iter().map(|work| work.arrival).collect())
    }

    fn act(&mut self, action: Action) -> Result<(), Fault> {
        let mut world = self.world.borrow_mut();
        world.settle();
        world.passed.acts += 1;
        let acts = world.passed.acts;
        if world.dies_at(Point::Act(acts)) {
            world.crash("while acting");
        }
        let rate = world.setup.faults.engine_fault;
        if world.trouble(rate) {
            return Err(Fault::Full { path: "/".into(), free: 0, needed: 1 });
        }
        let setup = world.setup.clone();
        // Where a night is about hours, everything takes longer.
        let pace = if setup.unreached.is_some() { 4 } else { 1 };
        let took = pace * 500 * world.random.below(60) as i64;
        let loses = setup.faults.lost_trial;
        if loses > 0 && world.trouble(60) {
            world.bad_spell = 3 + world.random.below(12);
        }
        let fault = || Loss::Fault { what: "the slot could not be made ready".to_owned() };
        let is_agent = matches!(action, Action::Ask { .. });
        let loss = match world.bad_spell {
            spell if spell > 0 && world.troubled && !is_agent => {
                world.bad_spell -= 1;
                Some(fault())
            }
            _ => world.trouble(loses).then(|| match world.random.below(3) {
                0 => Loss::Suspended,
                1 => Loss::Interrupted,
                _ => fault(),
            }),
        };
        match action {
            Action::Ask { experiment, member, contents, brief, .. } => {
                let now = Timestamp(world.monotonic + world.skew);
                let down = setup.unreached.filter(|(from, to)| (*from..*to).contains(&world.monotonic));
                let unreached = down.filter(|_| member.name == people::GOOD).map(|_| {
                    world.calls += 1;
                    people::unreached(world.calls, &member.name, experiment)
                });
                let (called, unreached) = unreached.unzip();
                let answer = match (unreached, &brief.repair) {
                    (Some(answer), _) => answer,
                    (None, None) if member.name == people::BAD && world.trouble(4) => {
                        people::provider_down(now, &mut world.random)
                    }
                    (None, None) => people::propose(&setup, &member.name, experiment, &contents, &world.past),
                    (None, Some(_)) => people::repair(&setup, experiment, &contents, &world.past),
                };
                let arrival = match (loss, answer) {
                    (Some(_), _) => Arrival::AttemptLost { experiment },
                    (None, Answer::Failed(failure)) => {
                        Arrival::AttemptFailed { experiment, failure, output: None, used: None }
                    }
                    (None, Answer::Proposal { contents, description }) => {
                        let (edits, took, output) = (Vec::new(), Millis(took as u64), None);
                        Arrival::Proposal { experiment, contents, description, edits, took, output, used: None }
                    }
                };
                let due = world.monotonic + took;
                drop(world);
                // A call is settled before whoever made it is over.
                self.work.extend(called.map(|called| Work {
                    due,
                    kind: Kind::Person,
                    slot: None,
                    arrival: Arrival::Called(Box::new(called)),
                    stopped: None,
                }));
                self.begin(Kind::Agent, None, took, arrival, Arrival::AttemptLost { experiment });
            }
            Action::Smoke { experiment, contents, .. } => {
                let flaky_guard = setup.faults.flaky_guard;
                let spoilt = match world.guard_outage {
                    left if left > 0 && world.troubled => {
                        world.guard_outage -= u64::from(loss.is_none());
                        true
                    }
                    _ => world.trouble(flaky_guard * 20),
                };
                let usage = Usage { wall: Millis(took as u64 / 20), ..Usage::default() };
                let arrival = match loss {
                    Some(loss) => Arrival::SmokeLost { experiment, loss },
                    None => {
                        let ending = if spoilt { Ending::Exited { code: 1 } } else { people::smoke(&contents) };
                        Arrival::SmokeFinished { experiment, ending, usage, output: None }
                    }
                };
                drop(world);
                let stopped = Arrival::SmokeLost { experiment, loss: Loss::Interrupted };
                self.begin(Kind::Evaluation, None, took / 20, arrival, stopped);
            }
            Action::Trial { trial, experiment, slot, contents, .. } => {
                world.referee.saw(&contents, Some(experiment));
                if world.referee.running.get(&trial).is_some_and(|(_, _, purpose)| *purpose == Purpose::Close) {
                    world.passed.close.get_or_insert(acts);
                }
                let nth = world.referee.measured(experiment, trial);
                if world.referee.calibrated() && !setup.plausible && world.trouble(setup.faults.shift) {
                    let sds = 8.0 + 12.0 * world.random.unit();
                    world.shift += if world.random.one_in(2) { sds * setup.noise } else { -sds * setup.noise };
                    world.referee.seen.shifts += u32::from(setup.noise > 0.0);
                    world.say(|| "== the machine is another one".to_owned());
                }
                let stands = world.referee.lives[&experiment].verdict.is_some();
                let took_ms = Millis(took as u64);
                let (mut measurement, output) = people::measure(&setup, &contents, (nth, stands), world.shift, took_ms);
                if experiment == world.referee.baseline && setup.faults.broken_baseline && world.trouble(4) {
                    measurement.ending = overnight_model::Ending::Exited { code: 127 };
                    measurement.metric = None;
                }
                let rate = setup.faults.outage;
                if world.outage == 0 && world.referee.calibrated() && world.trouble(rate) {
                    world.outage = 3 + world.random.below(20);
                }
                if world.outage > 0 && world.troubled && loss.is_none() {
                    world.outage -= 1;
                    (measurement.ending, measurement.metric) = (overnight_model::Ending::Exited { code: 1 }, None);
                }
                let arrival = match loss {
                    Some(loss) => Arrival::TrialLost { trial, experiment, loss },
                    None => Arrival::TrialFinished { trial, experiment, measurement, output, scorer_output: None },
                };
                drop(world);
                let stopped = Arrival::TrialLost { trial, experiment, loss: Loss::Interrupted };
                self.begin(Kind::Evaluation, Some(slot), took, arrival, stopped);
            }
            Action::Guard { experiment, guard, slot, contents, .. } => {
                let usage = Usage { wall: Millis(took as u64), ..Usage::default() };
                let Faults { flaky_guard, guard_outage, .. } = setup.faults;
                if world.guard_outage == 0 && world.referee.calibrated() && world.trouble(guard_outage) {
                    world.guard_outage = 2 + world.random.below(12);
                }
                let spoilt = match world.guard_outage {
                    left if left > 0 && world.troubled => {
                        world.guard_outage -= u64::from(loss.is_none());
                        true
                    }
                    _ => world.trouble(flaky_guard),
                };
                let arrival = match loss {
                    Some(loss) => Arrival::GuardLost { experiment, guard, loss },
                    None => {
                        let ending = if spoilt { Ending::Exited { code: 1 } } else { people::guard(&contents) };
                        Arrival::GuardFinished { experiment, guard, ending, usage, output: None }
                    }
                };
                drop(world);
                let stopped = Arrival::GuardLost { experiment, guard, loss: Loss::Interrupted };
                self.begin(Kind::Evaluation, Some(slot), took, arrival, stopped);
            }
        }
        Ok(())
    }

    fn stop(&mut self, hurry: bool) {
        let mut world = self.world.borrow_mut();
        world.settle();
        let now = world.monotonic;
        for work in &mut self.work {
            let stops = work.kind == Kind::Agent || (hurry && work.kind == Kind::Evaluation);
            if let Some(stopped) = work.stopped.take_if(|_| stops) {
                (work.arrival, work.due) = (stopped, now);
            }
        }
    }

    fn commit_id(&self, plan: &CommitPlan) -> Result<CommitId, Fault> {
        let mut world = self.world.borrow_mut();
        let contents = overnight_model::proposal::Contents(plan.files.clone());
        world.referee.saw(&contents, None);
        // Asked again after a crash, an agent gives the same answer; that makes it no second idea.
        if !world.past.contains(&contents) {
            world.past.push(contents);
        }
        Ok(CommitId(self.store.id_of(plan)?.to_string()))
    }

    fn write_proposal(&mut self, experiment: ExperimentId, plan: &CommitPlan) -> Result<CommitId, Fault> {
        self.world.borrow_mut().settle();
        if self.world.borrow().setup.faults.packing && self.store.loose() > PACK_AT {
            self.store.pack()?;
        }
        let commit = self.store.write(plan)?;
        self.store.set_ref(experiment.0, commit)?;
        let mut world = self.world.borrow_mut();
        world.passed.proposals += 1;
        let proposals = world.passed.proposals;
        if world.dies_at(Point::Proposal(proposals)) {
            world.crash("after a proposal's commit");
        }
        Ok(CommitId(commit.to_string()))
    }

    fn keep(&mut self, experiment: ExperimentId, from: Option<&CommitId>, keep: &Keep) -> Result<CommitId, Fault> {
        let stage = {
            let mut world = self.world.borrow_mut();
            world.settle();
            world.passed.keeps += 1;
            let keeps = world.passed.keeps;
            if world.referee.retreating.is_some() {
                let appends = world.passed.appends;
                world.passed.retreat.get_or_insert((keeps, appends));
            }
            let exact = KEEP_STAGES.into_iter().find(|stage| world.exact == Some(Point::Keep(keeps, *stage)));
            let stage = *world.random.pick(&KEEP_STAGES);
            // A keep is rare and has many places to die in.
            let rate = world.setup.faults.crash / 10;
            match exact {
                Some(stage) => {
                    world.exact = None;
                    Some(stage)
                }
                None => world.trouble(rate).then_some(stage),
            }
        };
        match stage {
            Some(stage) => Err(self.die_in_keep(experiment, from, keep, stage)),
            None => keep_commit(&self.user, STUDY, experiment, from, keep),
        }
    }
}
