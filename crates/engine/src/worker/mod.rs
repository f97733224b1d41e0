//! The real machine: slots in folders of their own, children through the keeper, git through the workspace.

mod artifacts;
mod capture;
mod complaint;
mod constant;
mod desk;
mod hint;
mod holdout;
mod kept;
mod models;
mod place;
mod score;
mod trial;

pub(crate) use capture::Capture;
pub use desk::Dry;
pub(crate) use desk::propose;
pub(crate) use holdout::run as run_holdout;
pub(crate) use kept::Kept;
pub(crate) use models::{Models, upstreams};
pub use place::{DISK_FLOOR, Room, free_bytes};
pub(crate) use place::{Left, Order, Place, Ran, Role, describe};
pub(crate) use score::{constant as score_constant, nothing as score_nothing};
pub use trial::HINT_MARK;
pub(crate) use trial::{Done, guard as run_guard, run as run_trial, smoke as run_smoke};

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use overnight_model::call::Caller;
use overnight_model::event::{AttemptFailure, Loss};
use overnight_model::proposal::Contents;
use overnight_model::{CommitId, ExperimentId, Slot, Spec, Timestamp, TrialId};

use crate::agent;
use crate::clock;
use crate::dispatch::{Action, Arrival, Fault, Keep, Machine};
use crate::gateway::Gateway;
use crate::process::{Keeper, Killer};
use crate::sandbox::{Sandbox, fingerprint_inputs};
use crate::workspace::{CommitPlan, GitError, Names, ObjectId, Store, UserRepo, oid};

/// What every worker needs to know.
#[derive(Clone)]
pub struct Shop {
    pub keeper: Keeper,
    pub spec: Arc<Spec>,
    /// The study's own folder.
    pub dir: PathBuf,
    pub user: UserRepo,
    /// The folder of the triplet, where the program is read from.
    pub triplet_dir: PathBuf,
    pub baseline: ObjectId,
    /// What children may know of the engine's environment.
    pub environment: Vec<(String, String)>,
    pub sandbox: Arc<Sandbox>,
    /// What the inputs held when the run began.
    pub inputs: Option<String>,
    /// What is tracked at the baseline.
    pub names: Arc<Names>,
    /// The way to models.
    pub gateway: Arc<Gateway>,
}

impl Shop {
    /// A place for candidate code, and for a scorer where there is one.
    pub(crate) fn spot(&self, number: u32) -> Spot {
        Spot { place: self.place(Role::Candidate, number), booth: self.booth(number) }
    }

    /// A place for candidate code or an agent, where nobody sees what is hidden.
    fn place(&self, role: Role, number: u32) -> Place {
        Place::new(&self.dir, role, number, self.spec.hidden_from_candidates())
    }

    /// A place for the scorer, where there is one and no candidate code.
    fn booth(&self, number: u32) -> Option<Place> {
        self.spec.evaluate.score.as_ref()?;
        Some(Place::new(&self.dir, Role::Scorer, number, self.spec.hidden_from_scorers()))
    }

    /// A place for the holdout's command, where there is one: the only one that sees what is held out.
    pub(crate) fn holdout(&self) -> Option<Place> {
        self.spec.holdout.as_ref()?;
        let left_out = match self.spec.evaluate.score {
            Some(_) => self.spec.hidden_from_scorers(),
            None => self.spec.hidden_from_candidates(),
        };
        Some(Place::new(&self.dir, Role::Holdout, 0, left_out))
    }
}

/// This machine.
pub struct Local {
    shop: Shop,
    store: Store,
    study: String,
    slots: HashMap<Slot, Seat>,
    desks: Seats,
    smokes: Seats,
    arrivals: (Sender<Message>, Receiver<Message>),
    stops: Arc<Mutex<Stops>>,
    kept: Arc<Kept>,
}

/// Where a thread works: a place for candidate code, and one beside it for a scorer, where candidate code is not.
pub(crate) struct Spot {
    pub(crate) place: Place,
    pub(crate) booth: Option<Place>,
}

impl Spot {
    /// Whose calls to models are made here from now on.
    pub(crate) fn calls_for(&mut self, trial: TrialId, experiment: ExperimentId) {
        self.place.calls_as(Caller::Task { trial, experiment });
        if let Some(booth) = &mut self.booth {
            booth.calls_as(Caller::Scorer { trial, experiment });
        }
    }

    pub(crate) fn tidy(&mut self, room: &Room) {
        self.place.tidy(room);
        if let Some(booth) = &mut self.booth {
            booth.tidy(room);
            // They may be large, and nobody reads them again.
            let _ = crate::workspace::wipe(&booth.artifacts());
        }
    }
}

/// A spot and the thread that works there, one piece of work after another.
struct Seat(Sender<Work>);

type Work = Box<dyn FnOnce(&mut Spot, &Room) -> Message + Send>;

/// Seats that are taken as they are needed, beside the slots.
struct Seats {
    role: Role,
    seats: Vec<Seat>,
    /// Whose work is done at which.
    taken: HashMap<ExperimentId, usize>,
}

impl Seats {
    fn new(role: Role) -> Seats {
        Seats { role, seats: Vec::new(), taken: HashMap::new() }
    }
}

/// What workers send back.
pub enum Message {
    Arrival(Arrival),
    Fault(Fault),
}

/// Who can be stopped, and what was asked for.
#[derive(Default)]
struct Stops {
    agents: bool,
    everything: bool,
    running: HashMap<u64, (Kind, End)>,
    next: u64,
}

/// Ends something that runs; called by whoever stops it, so it must not wait for anything.
type End = Box<dyn Fn() + Send>;

/// Whether a child is an agent's or part of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Agent,
    Evaluation,
}

/// A loose object is three files of a proposal; at this many they are packed.
pub const PACK_AT: usize = 1500;

impl Local {
    pub fn new(shop: Shop, store: Store) -> Local {
        let study = shop.spec.study.clone();
        let arrivals = mpsc::channel();
        let (slots, desks, smokes) = (HashMap::new(), Seats::new(Role::Agent), Seats::new(Role::Smoke));
        let kept = Arc::new(Kept::new(shop.dir.join("artifacts")));
        Local { shop, store, study, slots, desks, smokes, arrivals, stops: Arc::default(), kept }
    }

    /// Where signals and other commands for the loop are sent.
    pub fn inbox(&self) -> Sender<Message> {
        self.arrivals.0.clone()
    }

    fn in_slot(&mut self, slot: Slot, work: impl FnOnce(&mut Spot, &Room) -> Message + Send + 'static) {
        if !self.slots.contains_key(&slot) {
            let seat = self.seat(self.shop.spot(slot.0));
            self.slots.insert(slot, seat);
        }
        self.slots[&slot].work(Box::new(work));
    }

    /// Works where nobody does: at a desk, or at a place for quick looks.
    fn beside(
        &mut self,
        role: Role,
        experiment: ExperimentId,
        work: impl FnOnce(&mut Spot, &Room) -> Message + Send + 'static,
    ) {
        let seats = self.seats(role);
        let free = (0..).find(|number| !seats.taken.values().any(|taken| taken == number)).unwrap_or(seats.seats.len());
        if free >= seats.seats.len() {
            let place = self.shop.place(role, free as u32);
            let seat = self.seat(Spot { place, booth: None });
            self.seats(role).seats.push(seat);
        }
        let seats = self.seats(role);
        seats.taken.insert(experiment, free);
        seats.seats[free].work(Box::new(work));
    }

    fn seats(&mut self, role: Role) -> &mut Seats {
        if role == self.smokes.role { &mut self.smokes } else { &mut self.desks }
    }

    fn seat(&self, spot: Spot) -> Seat {
        let (shop, stops, kept) = (self.shop.clone(), StopHandle(self.stops.clone()), self.kept.clone());
        Seat::new(spot, Room { shop, stops, kept }, self.inbox())
    }
}

impl Seat {
    fn new(mut spot: Spot, room: Room, inbox: Sender<Message>) -> Seat {
        let (orders, inbox_of_seat) = mpsc::channel::<Work>();
        std::thread::spawn(move || {
            for work in inbox_of_seat {
                // A seat that dies of a bug must not leave the loop waiting for ever.
                let message = catch_unwind(AssertUnwindSafe(|| work(&mut spot, &room)))
                    .unwrap_or_else(|_| Message::Fault(Fault::Other("a worker panicked".into())));
                // Nobody listens any more when the run has ended; then there is nobody to tell.
                let _ = inbox.send(message);
                // While others think or measure: the next one finds it ready.
                spot.tidy(&room);
            }
        });
        Seat(orders)
    }

    fn work(&self, work: Work) {
        // The thread lives as long as its seat: it ends only when the orders do.
        let _ = self.0.send(work);
    }
}

impl Machine for Local {
    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn wait(&mut self, until: Option<Timestamp>) -> Result<Vec<Arrival>, Fault> {
        let inbox = &self.arrivals.1;
        let first = match until {
            None => inbox.recv().ok(),
            Some(until) => inbox.recv_timeout(until.since(clock::now()).into()).ok(),
        };
        let rest = std::iter::from_fn(|| inbox.try_recv().ok());
        let messages: Vec<Message> = first.into_iter().chain(rest).collect();
        let mut arrivals = Vec::new();
        for message in messages {
            match message {
                Message::Arrival(arrival) => arrivals.push(arrival),
                Message::Fault(fault) => return Err(fault),
            }
        }
        for arrival in &arrivals {
            if let Arrival::Proposal { experiment, .. }
            | Arrival::AttemptFailed { experiment, .. }
            | Arrival::AttemptLost { experiment } = arrival
            {
                self.desks.taken.remove(experiment);
            }
            if let Arrival::SmokeFinished { experiment, .. } | Arrival::SmokeLost { experiment, .. } = arrival {
                self.smokes.taken.remove(experiment);
            }
        }
        Ok(arrivals)
    }

    fn act(&mut self, action: Action) -> Result<(), Fault> {
        match action {
            Action::Trial { trial, experiment, seed, slot, contents, stakes } => {
                let champion = stakes.champion.as_ref().map(Contents::id);
                self.kept.retain(|id| Some(id) == champion.as_ref() || stakes.open.contains(id));
                self.in_slot(slot, move |spot, room| {
                    spot.calls_for(trial, experiment);
                    let outcome = trial::run(spot, room, seed, &contents, stakes.champion.as_ref());
                    settle(outcome, |outcome| match outcome {
                        Ok(trial::Done { measurement, output, scorer_output }) => {
                            Arrival::TrialFinished { trial, experiment, measurement, output, scorer_output }
                        }
                        Err(loss) => Arrival::TrialLost { trial, experiment, loss },
                    })
                });
            }
            Action::Guard { experiment, guard, slot, command, contents } => {
                self.in_slot(slot, move |spot, room| {
                    let outcome = trial::guard(&mut spot.place, room, &command, &contents);
                    settle(outcome, |outcome| match outcome {
                        Ok((ending, usage, output)) => {
                            Arrival::GuardFinished { experiment, guard, ending, usage, output }
                        }
                        Err(loss) => Arrival::GuardLost { experiment, guard, loss },
                    })
                });
            }
            Action::Smoke { experiment, command, contents } => {
                self.beside(Role::Smoke, experiment, move |spot, room| {
                    let outcome = trial::smoke(&mut spot.place, room, &command, &contents);
                    settle(outcome, |outcome| match outcome {
                        Ok((ending, usage, output)) => Arrival::SmokeFinished { experiment, ending, usage, output },
                        Err(loss) => Arrival::SmokeLost { experiment, loss },
                    })
                });
            }
            Action::Ask { experiment, member, brief, contents } => {
                self.beside(Role::Agent, experiment, move |desk, room| {
                    let outcome = agent::ask(&member, &mut desk.place, room, brief, &contents);
                    settle(outcome, |outcome| match outcome {
                        Ok(agent::Answer::Proposal { contents, description, took, output, used }) => {
                            let edits = Vec::new();
                            Arrival::Proposal { experiment, contents, description, edits, took, output, used }
                        }
                        Ok(agent::Answer::Failed { failure, output, used }) => {
                            Arrival::AttemptFailed { experiment, failure, output, used }
                        }
                        Err(Loss::Fault { what }) => {
                            let failure = AttemptFailure::error(what);
                            Arrival::AttemptFailed { experiment, failure, output: None, used: None }
                        }
                        Err(Loss::Interrupted | Loss::Suspended) => Arrival::AttemptLost { experiment },
                    })
                });
            }
        }
        Ok(())
    }

    fn stop(&mut self, hurry: bool) {
        StopHandle(self.stops.clone()).stop(hurry);
    }

    fn commit_id(&self, plan: &CommitPlan) -> Result<CommitId, Fault> {
        Ok(CommitId(self.store.id_of(plan)?.to_string()))
    }

    fn write_proposal(&mut self, experiment: ExperimentId, plan: &CommitPlan) -> Result<CommitId, Fault> {
        if self.store.loose() > PACK_AT {
            self.store.pack()?;
        }
        let commit = self.store.write(plan)?;
        self.store.set_ref(experiment.0, commit)?;
        Ok(CommitId(commit.to_string()))
    }

    fn keep(&mut self, experiment: ExperimentId, from: Option<&CommitId>, keep: &Keep) -> Result<CommitId, Fault> {
        self.refuse_changes()?;
        keep_commit(&self.shop.user, &self.study, experiment, from, keep)
    }
}

impl Local {
    /// Nothing is kept on the word of an evaluation that is not the one the study began with.
    fn refuse_changes(&self) -> Result<(), Fault> {
        if let Some(path) = self.shop.sandbox.changed()? {
            return Err(Fault::Changed { what: format!("the locked file {}", path.display()) });
        }
        let now = fingerprint_inputs(&self.shop.spec, &self.shop.triplet_dir, crate::load::home().as_deref())
            .map_err(|error| Fault::Changed { what: format!("an input, which cannot be read any more ({error}),") })?;
        match now == self.shop.inputs {
            true => Ok(()),
            false => Err(Fault::Changed { what: "something in `evaluate.inputs`".to_owned() }),
        }
    }
}

/// Makes a keep last, in the order that no crash can undo: commit in the user's repository, read back; then the
/// branch. A second time it finds its own work and says so.
pub fn keep_commit(
    user: &UserRepo,
    study: &str,
    experiment: ExperimentId,
    from: Option<&CommitId>,
    keep: &Keep,
) -> Result<CommitId, Fault> {
    user.refuse_checked_out(study)?;
    let from = from.map(oid).transpose()?;
    let there = user.branch_head(study)?;
    if there.is_none() && from.is_some() {
        // Said before anything is read: with the branch its commits may have been collected.
        let name = format!("refs/heads/overnight/{study}");
        return Err(GitError::BranchMoved { name, expected: from, found: None }.into());
    }
    let (to, why) = match keep {
        Keep::Baseline(commit) => (oid(commit)?, "baseline".to_owned()),
        Keep::Commit(plan) => (user.write_kept(plan)?, format!("kept experiment {experiment}")),
    };
    // Also where the branch is there already: the run that moved it may have been killed before it was synced.
    user.advance(study, from, to, &format!("overnight: {why}"))?;
    Ok(CommitId(to.to_string()))
}

/// Tells the loop apart from us: a loss is run again, a fault ends the run.
fn settle<T>(outcome: Result<T, Trouble>, arrival: impl FnOnce(Result<T, Loss>) -> Arrival) -> Message {
    match outcome {
        Ok(value) => Message::Arrival(arrival(Ok(value))),
        Err(Trouble::Loss(loss)) => Message::Arrival(arrival(Err(loss))),
        Err(Trouble::Fault(fault)) => Message::Fault(fault),
    }
}

/// Why work gave no result.
pub(crate) enum Trouble {
    Loss(Loss),
    Fault(Fault),
}

/// A worker's way to be stopped.
#[derive(Clone, Default)]
pub(crate) struct StopHandle(Arc<Mutex<Stops>>);

impl StopHandle {
    /// Ends the agents, or in a hurry everything, and whatever is started after that.
    pub(crate) fn stop(&self, hurry: bool) {
        let mut stops = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stops.agents = true;
        stops.everything |= hurry;
        for (kind, end) in stops.running.values() {
            if hurry || *kind == Kind::Agent {
                end();
            }
        }
    }

    /// Registers a child; it is killed at once when the stop came first. The guard takes it off the list again.
    pub(crate) fn register(&self, kind: Kind, killer: Killer) -> Registered {
        self.on_stop(kind, move || killer.kill())
    }

    /// The same for whatever is no child.
    pub(crate) fn on_stop(&self, kind: Kind, end: impl Fn() + Send + 'static) -> Registered {
        let mut stops = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stops.everything || (stops.agents && kind == Kind::Agent) {
            end();
        }
        let id = stops.next;
        stops.next += 1;
        stops.running.insert(id, (kind, Box::new(end)));
        Registered { stops: self.0.clone(), id }
    }

    pub(crate) fn agents_are_stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).agents
    }
}

pub(crate) struct Registered {
    stops: Arc<Mutex<Stops>>,
    id: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).running.remove(&self.id);
    }
}
