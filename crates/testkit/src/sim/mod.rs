//! The seeded simulator: the real study, loop, ledger, opening, recovery and git, on a machine whose time,
//! work and crashes follow from a seed.
//!
//! An engine is killed by unwinding out of the middle of it, with the ledger's files copied first and put back
//! after everything was dropped; so neither a destructor nor SQLite's own closing can tidy up. A power loss also
//! takes what was not synced: the sectors of an append that had not returned, and anything in the store.

mod disk;
mod ending;
mod life;
mod machine;
mod owner;
mod people;
mod random;
mod referee;
mod setup;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::rc::Rc;

use overnight_engine::load::{Site, locate};
use overnight_model::event::{AttemptFailure, StopReason};
use overnight_model::{Event, Timestamp, Verdict};

pub use referee::Seen;
pub use setup::{Faults, Limits, Setup};
pub use world::{KEEP_STAGES, KeepStage, Passed, Point};

use life::{Ended, Mission};
use machine::Shared;
use random::Random;
use referee::Stored;
use world::World;

use crate::repo::Repo;

/// One simulated study.
pub struct Simulation {
    repo: Repo,
    site: Site,
    world: Shared,
    lives: u32,
    crashes: u32,
    outages: u32,
    before_crash: Vec<Decision>,
    /// The engine before this one did not end well.
    recovers: bool,
    /// The evaluation has changed, and the next run is to take it.
    wants_rebase: bool,
    rebases: u32,
    reviews: u32,
    /// Letters that the owner left.
    letters: usize,
    /// The checkout before anything ran, or as its owner last changed it.
    checkout: BTreeMap<PathBuf, Vec<u8>>,
}

/// What a study came to.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Experiments with a verdict, the baseline aside.
    pub experiments: u64,
    pub verdicts: BTreeMap<&'static str, u64>,
    pub lives: u32,
    pub crashes: u32,
    /// Runs that ended because the champion itself no longer ran.
    pub outages: u32,
    /// What happened, and how often.
    pub seen: Seen,
    /// Segments that took over from another.
    pub rebases: u32,
    /// Words of a person on a suspect.
    pub reviews: u32,
    pub passed: Passed,
    pub decisions: Vec<Decision>,
    /// Those that were made when the first engine was killed.
    pub before_crash: Vec<Decision>,
    /// The surface that the branch ended with.
    pub champion: Vec<u8>,
    pub log: Vec<String>,
    /// Who was asked, in order.
    pub asked: Vec<String>,
    pub turns: Vec<Turn>,
}

/// A turn of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// When it was asked, in milliseconds of the machine.
    pub at: i64,
    pub agent: String,
    /// Why it gave nothing.
    pub failure: Option<AttemptFailure>,
}

/// What was decided of one experiment, without times and names of commits.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub experiment: u64,
    pub content: Option<String>,
    pub verdict: Verdict,
    pub metric: Option<f64>,
}

impl Simulation {
    /// A study with every kind of trouble.
    pub fn new(seed: u64) -> Simulation {
        Simulation::of(Setup::draw(seed))
    }

    pub fn of(setup: Setup) -> Simulation {
        let repo = setup.repo();
        let site = locate(repo.path(), None).expect("the triplet is there");
        let world = Rc::new(RefCell::new(World::new(setup, site.state())));
        let checkout = checkout(&repo);
        Simulation {
            repo,
            site,
            world,
            lives: 0,
            crashes: 0,
            outages: 0,
            before_crash: Vec::new(),
            recovers: false,
            wants_rebase: false,
            rebases: 0,
            reviews: 0,
            letters: 0,
            checkout,
        }
    }

    /// Kills the engine at one place, and nowhere else.
    pub fn crash_at(self, point: Point) -> Simulation {
        self.world.borrow_mut().exact = Some(point);
        self
    }

    /// Keeps a line for everything that happens.
    pub fn verbose(self) -> Simulation {
        self.world.borrow_mut().log = Some(Vec::new());
        self
    }

    /// Runs the study to its end and checks it on the way; a broken promise is a panic.
    pub fn run(mut self) -> Report {
        match catch_unwind(AssertUnwindSafe(|| self.live_and_drain())) {
            Ok(()) => self.report(),
            Err(failure) => {
                let log = self.world.try_borrow_mut().ok().and_then(|mut world| world.log.take());
                if let Some(log) = log {
                    eprintln!("{}", log.join("\n"));
                }
                resume_unwind(failure)
            }
        }
    }

    fn live_and_drain(&mut self) {
        let target = self.world.borrow().setup.experiments;
        let mut fruitless = 0;
        while self.world.borrow().referee.counted() < target && fruitless < 12 {
            let before = self.world.borrow().referee.counted();
            self.meddle();
            let mission = self.mission(target - before);
            let ended = self.live(mission);
            match ended {
                Ended::Stopped(StopReason::NothingToTry { .. }) => break,
                Ended::Stopped(StopReason::ChampionFailed { .. } | StopReason::GuardBroken { .. }) => self.mend(),
                _ => {}
            }
            fruitless = if self.world.borrow().referee.counted() > before { 0 } else { fruitless + 1 };
        }
        self.drain();
        self.lose_without_a_trace();
        self.check_end();
    }

    /// The power fails after the study has ended well, and leaves nothing torn: some files are simply not there.
    fn lose_without_a_trace(&mut self) {
        let (store, seed) = (self.site.state().join("store.git"), self.world.borrow().setup.seed);
        disk::vanish(&store, &mut Random::new(seed));
        self.drain();
    }

    /// The last runs: no troubles, no limits; whatever is open gets its verdict.
    fn drain(&mut self) {
        let setup = self.world.borrow().setup.clone();
        self.repo.write("overnight.toml", setup.triplet(false));
        self.world.borrow_mut().troubled = false;
        for _ in 0..8 {
            let experiments = self.world.borrow().referee.open() as u64;
            match self.live(Mission::Loop { experiments }) {
                Ended::Stopped(StopReason::Done) if self.world.borrow().referee.open() == 0 => return,
                Ended::Stopped(reason) => assert!(
                    matches!(
                        reason,
                        StopReason::Done
                            | StopReason::NothingToTry { .. }
                            | StopReason::EngineErrors { .. }
                            | StopReason::ChampionFailed { .. }
                    ),
                    "the last run ended with {reason:?}"
                ),
                Ended::Fault(fault) => panic!("the last run ended with a fault: {fault}"),
                // An exact crash may have been planned for a place this late.
                Ended::Crashed => {}
            }
        }
        panic!("the study cannot be brought to an end");
    }

    fn mission(&mut self, left: u64) -> Mission {
        let mut world = self.world.borrow_mut();
        let world = &mut *world;
        let tries = world.setup.faults.tries && world.referee.calibrated();
        if tries && world.trouble(4) && !world.past.is_empty() {
            let start = world.random.pick(&world.past).clone();
            let contents = match world.random.below(4) {
                0 => start,
                _ => people::edited(&world.setup, &start, false, &mut world.random.split()),
            };
            return Mission::Try(contents);
        }
        let rate = world.setup.faults.few;
        let experiments = if world.trouble(rate) { 1 + world.random.below(left) } else { left };
        Mission::Loop { experiments }
    }
}

/// Every file of the checkout, the triplet aside, which the simulation itself rewrites.
fn checkout(repo: &Repo) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = disk::files_below(repo.path()).into_iter();
    let inside = files.filter_map(|path| {
        let name = path.strip_prefix(repo.path()).ok()?.to_owned();
        let ours = name.starts_with(".git") && !name.ends_with("HEAD") && !name.ends_with("index");
        let locked = !ours && !name.starts_with(".overnight") && !name.ends_with("overnight.toml");
        (locked && !name.starts_with(".git/logs")).then(|| (name, std::fs::read(path).expect("read the file")))
    });
    inside.collect()
}

fn event_of(stored: &Stored) -> Event {
    let what = serde_json::from_str(&stored.body).expect("an event is JSON");
    Event { at: Timestamp(stored.at), what }
}

/// An error with its causes.
fn chain_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
