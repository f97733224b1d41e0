//! What outlives an engine: the clock, chance, the disk, the referee, and the plan of what goes wrong.

use std::path::PathBuf;

use overnight_model::proposal::Contents;
use overnight_model::spec::Spec;
use overnight_model::study::{Step, Summary};
use overnight_model::{Event, State, Study, Timestamp};

use super::disk::{self, Image};
use super::random::Random;
use super::referee::Referee;
use super::setup::Setup;

/// One turn in so many is folded again at the end.
const MOMENTS_APART: u64 = 29;

/// Thrown where the engine is killed; nothing of it runs after that.
pub struct Crash;

/// A place where an engine can be killed, counted over the whole study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// What arrived is known, but not stored.
    BeforeAppend(u64),
    /// In the middle of storing it: the power fails.
    Torn(u64),
    /// Stored, and nothing done about it.
    AfterAppend(u64),
    /// Some of it done.
    Act(u64),
    /// A proposal's commit is written, its event is not.
    Proposal(u64),
    Keep(u64, KeepStage),
}

/// How far a keep got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepStage {
    Nothing,
    /// Some objects in the user's repository are missing or short.
    SomeObjects,
    Objects,
    /// The store has the commit too.
    Stored,
    /// The branch's new value is written under its hidden name.
    Hidden,
    /// The branch is locked with its new value.
    Locked,
    /// The branch has moved, its event is not stored.
    Branch,
}

pub const KEEP_STAGES: [KeepStage; 7] = [
    KeepStage::Nothing,
    KeepStage::SomeObjects,
    KeepStage::Objects,
    KeepStage::Stored,
    KeepStage::Hidden,
    KeepStage::Locked,
    KeepStage::Branch,
];

/// How often each place was passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    pub appends: u64,
    pub acts: u64,
    pub proposals: u64,
    pub keeps: u64,
    /// The first keep that led back to the champion before, and how many turns were stored by then.
    pub retreat: Option<(u64, u64)>,
    /// The first trial that closed a night, counted among all that was done.
    pub close: Option<u64>,
}

pub struct World {
    pub setup: Setup,
    /// Faults by chance are on.
    pub troubled: bool,
    /// The one place where this study is killed.
    pub exact: Option<Point>,
    pub random: Random,
    /// Milliseconds of the machine, and how far the clock on the wall is off.
    pub monotonic: i64,
    pub skew: i64,
    pub state_dir: PathBuf,
    pub referee: Referee,
    pub passed: Passed,
    /// So many of the next trials fail through a fault of the machine.
    pub bad_spell: u64,
    /// So many of the next evaluations fail, because something they need is gone.
    pub outage: u64,
    /// By how much every number is another one since the machine is.
    pub shift: f64,
    /// So many of the next guards fail, because something they need is gone.
    pub guard_outage: u64,
    /// Calls to models so far.
    pub calls: u64,
    /// Contents that were proposed before.
    pub past: Vec<Contents>,
    /// Stored by the engine, not yet acknowledged.
    pending: Vec<Event>,
    pending_summary: Option<Summary>,
    pending_moment: Option<(Timestamp, Option<Step>)>,
    /// What the triplet of the present engine says.
    pub spec: Option<Spec>,
    /// Moments that are to be the same when the ledger is folded again.
    pub moments: Vec<Moment>,
    before_append: Option<Image>,
    /// Set when the engine was killed: the ledger as it is found.
    pub wreck: Option<Wreck>,
    pub log: Option<Vec<String>>,
}

/// The study after so many events: what views show, and what comes next.
pub struct Moment {
    pub events: usize,
    pub at: Timestamp,
    pub spec: Spec,
    pub summary: Option<Summary>,
    pub next: Option<Step>,
}

/// What a crash left of the ledger.
pub struct Wreck {
    pub image: Image,
    pub power_loss: bool,
    /// A turn that may be there whole, or not at all.
    pub unacknowledged: Vec<Event>,
    /// The ledger before the turn that was torn.
    pub before: Option<Image>,
}

impl World {
    pub fn new(setup: Setup, state_dir: PathBuf) -> World {
        World {
            troubled: setup.faults.crash > 0 || setup.faults.review > 0,
            exact: None,
            random: Random::new(setup.seed),
            monotonic: 0,
            skew: 1_767_225_600_000,
            state_dir,
            referee: Referee::default(),
            passed: Passed::default(),
            // Some machines are not ready when the study begins.
            bad_spell: if setup.faults.broken_baseline { 4 } else { 0 },
            outage: 0,
            shift: 0.0,
            guard_outage: 0,
            calls: 0,
            spec: None,
            moments: Vec::new(),
            past: Vec::new(),
            pending: Vec::new(),
            pending_summary: None,
            pending_moment: None,
            before_append: None,
            wreck: None,
            log: None,
            setup,
        }
    }

    pub fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(line());
        }
    }

    /// True once in `n` times while faults are on.
    pub fn trouble(&mut self, n: u64) -> bool {
        self.troubled && n > 0 && self.random.one_in(n)
    }

    /// Whether the engine dies here.
    pub fn dies_at(&mut self, point: Point) -> bool {
        if self.exact == Some(point) {
            self.exact = None;
            return true;
        }
        let rate = self.setup.faults.crash;
        self.trouble(rate)
    }

    /// The engine has shown a durable event.
    pub fn watched(&mut self, event: &Event, state: &State) {
        if self.pending.is_empty() {
            self.pending_summary = state.summary();
            // Seldom enough to cost little, and for every study at other moments.
            let is_its_turn = (self.passed.appends + self.setup.seed).is_multiple_of(MOMENTS_APART);
            self.pending_moment = self.spec.clone().filter(|_| is_its_turn).map(|spec| {
                let at = Timestamp(self.monotonic + self.skew);
                (at, Study::new(spec, state.clone()).next_step(at))
            });
        }
        self.say(|| format!("  {:?}", event.what));
        self.pending.push(event.clone());
    }

    /// A turn begins: what it will store may be torn.
    pub fn turn_begins(&mut self) {
        let next = self.passed.appends + 1;
        if self.dies_at(Point::BeforeAppend(next)) {
            self.crash("before an append");
        }
        if self.before_append.is_some() || self.dies_at(Point::Torn(next)) {
            self.before_append = Some(Image::take(&self.state_dir));
        }
    }

    /// The engine does something: whatever it stored before is acknowledged, unless it was torn.
    pub fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.passed.appends += 1;
        if let Some(before) = self.before_append.take() {
            let torn = Image::take(&self.state_dir).torn(&before, &mut self.random);
            let unacknowledged = std::mem::take(&mut self.pending);
            self.die("inside an append", Wreck { image: torn, power_loss: true, unacknowledged, before: Some(before) });
        }
        let events = std::mem::take(&mut self.pending);
        let summary = self.pending_summary.take();
        self.referee.acknowledge(&self.setup, &events, summary.as_ref());
        if let Some(((at, next), spec)) = self.pending_moment.take().zip(self.spec.clone()) {
            self.moments.push(Moment { events: self.referee.stored.len(), at, spec, summary, next });
        }
        if self.dies_at(Point::AfterAppend(self.passed.appends)) {
            self.crash("after an append");
        }
    }

    /// Kills the engine here. What it acknowledged stays.
    pub fn crash(&mut self, place: &str) -> ! {
        let image = Image::take(&self.state_dir);
        let power_loss = self.setup.faults.power_loss > 0 && self.random.one_in(self.setup.faults.power_loss);
        self.die(place, Wreck { image, power_loss, unacknowledged: Vec::new(), before: None })
    }

    fn die(&mut self, place: &str, wreck: Wreck) -> ! {
        self.say(|| format!("== killed {place}{}", if wreck.power_loss { ", power lost" } else { "" }));
        self.before_append = None;
        self.pending.clear();
        self.pending_moment = None;
        self.wreck = Some(wreck);
        // No panic hook: this is not a failure.
        std::panic::resume_unwind(Box::new(Crash))
    }

    /// Puts on the disk what the crash left there, once nothing of the engine is alive.
    pub fn wreck_disk(&mut self, wreck: &Wreck) {
        wreck.image.restore(&self.state_dir);
        if let Some(before) = &wreck.before {
            before.tear_new_blobs(&self.state_dir, &mut self.random);
        }
        if wreck.power_loss {
            self.lose_unsynced();
        }
    }

    /// Power fails while nothing runs, or has failed: the store was never synced.
    pub fn lose_unsynced(&mut self) {
        self.say(|| "== what was not synced is lost".to_owned());
        disk::tear_store(&self.state_dir.join("store.git"), &mut self.random);
    }
}
