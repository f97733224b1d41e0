//! The seeded simulator: the real study, loop, ledger, opening, recovery and git, on a machine whose time,
//! work and crashes follow from a seed.
//!
//! An engine is killed by unwinding out of the middle of it, with the ledger's files copied first and put back
//! after everything was dropped; so neither a destructor nor SQLite's own closing can tidy up. A power loss also
//! takes what was not synced: the sectors of an append that had not returned, and anything in the store.

mod disk;
mod machine;
mod people;
mod random;
mod referee;
mod setup;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use overnight_engine::dispatch::{Dispatch, Fault, Offer};
use overnight_engine::inbox::{Delivery, Inbox, Letter, SentFile};
use overnight_engine::ledger::{ChainHash, Reader, verify_ledger};
use overnight_engine::load::{Site, locate};
use overnight_engine::lock::Holder;
use overnight_engine::open::{self, How, OnDirty, OpenError, Opened};
use overnight_engine::review::{self, ReviewError};
use overnight_engine::sandbox::Found;
use overnight_engine::verify;
use overnight_engine::workspace::{GitError, UserRepo, oid};
use overnight_model::event::{Purpose, RunFacts, Scope, StopReason};
use overnight_model::proposal::Contents;
use overnight_model::spec::Tier;
use overnight_model::verdict::Group;
use overnight_model::{CommitId, Event, ExperimentId, State, Step, Study, Timestamp, Verdict, What};

pub use referee::Seen;
pub use setup::{Faults, Limits, Setup};
pub use world::{KEEP_STAGES, KeepStage, Passed, Point};

use machine::{Shared, Simulated};
use random::Random;
use referee::{Move, Stored};
use setup::STUDY;
use world::{Crash, Moment, World, Wreck};

use crate::repo::{Repo, git_in};

/// A study that needs more engines than this is not getting anywhere.
const MOST_LIVES: u32 = 400;

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
}

/// What was decided of one experiment, without times and names of commits.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub experiment: u64,
    pub content: Option<String>,
    pub verdict: Verdict,
    pub metric: Option<f64>,
}

/// How one engine ended.
enum Ended {
    Stopped(StopReason),
    Fault(Fault),
    Crashed,
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

    /// The owner finds in the morning what broke, more often than not.
    fn mend(&mut self) {
        self.outages += 1;
        let mut world = self.world.borrow_mut();
        if !world.random.one_in(3) {
            (world.outage, world.guard_outage) = (0, 0);
        }
    }

    /// What the owner of the repository may do between two runs.
    fn meddle(&mut self) {
        self.change_evaluation();
        self.review();
        self.write_letter();
        let mut world = self.world.borrow_mut();
        let rate = world.setup.faults.meddling;
        if world.trouble(rate) {
            let arguments: &[&str] = match world.random.below(2) {
                0 => &["pack-refs", "--all"],
                _ => &["gc", "--quiet", "--prune=now"],
            };
            // Refused while a lock of a killed engine is there, and rightly so.
            let _ = git_in(self.repo.path(), arguments);
        }
        // The power may also fail long after a run has ended well.
        if world.referee.calibrated() && world.trouble(10) {
            world.lose_unsynced();
        }
    }

    /// The owner's word to the agents, left where the next run finds it.
    fn write_letter(&mut self) {
        let world = self.world.borrow();
        let mut random = Random::new(world.setup.seed ^ (world.referee.stored.len() as u64).wrapping_mul(0x1e77e5));
        if world.setup.faults.meddling == 0 || !random.one_in(3) {
            return;
        }
        let now = Timestamp(world.monotonic + world.skew);
        let inbox = Inbox::of(&self.site.state());
        // An idea of the owner's, made from what was champion then.
        if let Some(base) = world.referee.branch.clone().filter(|_| random.one_in(3) && !world.past.is_empty()) {
            let start = random.pick(&world.past).clone();
            let contents = people::edited(&world.setup, &start, false, &mut random);
            let files = contents.0.into_iter().map(|(path, bytes)| SentFile { path, bytes }).collect();
            let base = (!random.one_in(4)).then_some(CommitId(base));
            let delivery = Delivery { agent: "person".to_owned(), description: "by letter".to_owned(), base, files };
            inbox.put_proposal(&delivery, now).expect("leave a proposal").expect("there is room");
            self.letters += 1;
            return;
        }
        let letter = match random.one_in(3) {
            true => Letter::TakeBack { word: random.below(4) },
            false => Letter::Say { text: format!("word {}", self.letters) },
        };
        inbox.put(&letter, now).expect("leave a letter");
        self.letters += 1;
    }

    /// The owner's word on a suspect, recorded and, unless they are called away, carried out.
    fn review(&mut self) {
        let (now, word) = {
            let mut world = self.world.borrow_mut();
            let suspects = world.referee.suspects();
            let rate = world.setup.faults.review;
            let half_done = world.referee.unadvanced.is_some();
            if (suspects.is_empty() && !half_done) || !world.trouble(rate) {
                return;
            }
            // Whoever looks also finishes what an engine was killed in.
            let word = match suspects.as_slice() {
                [] => (None, false),
                _ => {
                    let suspect = *world.random.pick(&suspects);
                    let (reviewed, called_away) = people::word(suspect, &mut world.random);
                    (Some(reviewed), called_away)
                }
            };
            (Timestamp(world.monotonic + world.skew), word)
        };
        let (reviewed, called_away) = word;
        let me = Holder { pid: std::process::id(), what: "the simulator".to_owned(), dir: self.site.dir.clone() };
        let mut review = match review::Review::open(&self.site, &me) {
            Ok(review) => review,
            // A lock that a killed engine left on the branch is the next run's to find out about.
            Err(ReviewError::Git(GitError::Locked { .. })) => return,
            Err(error) => panic!("review: {}", chain_of(&error)),
        };
        match reviewed.map(|reviewed| review.record(reviewed, now)) {
            None => {}
            Some(Ok(())) => self.reviews += 1,
            Some(Err(
                ReviewError::ChampionMoved { .. }
                | ReviewError::NoNumber { .. }
                | ReviewError::Open(OpenError::HalfKept),
            )) => {}
            Some(Err(error)) => panic!("review: {}", chain_of(&error)),
        }
        if !called_away {
            review.finish(now).unwrap_or_else(|error| panic!("review: {}", chain_of(&error)));
        }
        drop(review);
        let found = self.stored();
        let mut world = self.world.borrow_mut();
        let world = &mut *world;
        let events: Vec<Event> = found[world.referee.stored.len()..].iter().map(event_of).collect();
        for event in &events {
            world.say(|| format!("  {:?}", event.what));
        }
        world.referee.is_between_runs = true;
        world.referee.acknowledge(&world.setup, &events, None);
        world.referee.is_between_runs = false;
    }

    /// A locked file changes. A keep that is half done has to be finished before a segment can end.
    fn change_evaluation(&mut self) {
        let mut world = self.world.borrow_mut();
        let rate = world.setup.faults.rebase;
        if !world.referee.calibrated() || world.referee.unadvanced.is_some() || !world.trouble(rate) {
            return;
        }
        self.repo.write("src/data.py", format!("import random\nversion = {}\n", world.random.below(1000)));
        // Refused while a lock of a killed engine is there, and where the same number was drawn twice.
        self.wants_rebase = git_in(self.repo.path(), &["commit", "-qm", "another evaluation", "src/data.py"]).is_ok();
        self.checkout = checkout(&self.repo);
    }

    /// The life of one engine, from opening the study to its end or its death.
    fn live(&mut self, mission: Mission) -> Ended {
        self.lives += 1;
        assert!(self.lives <= MOST_LIVES, "the study is not getting anywhere");
        let me = Holder { pid: std::process::id(), what: "the simulator".to_owned(), dir: self.site.dir.clone() };
        let rebase = std::mem::take(&mut self.wants_rebase);
        self.rebases += u32::from(rebase);
        let how = How { on_dirty: OnDirty::Refuse, rebase };
        let opened =
            open::open(&self.site, &me, how, |_, layer| Found { tier: Tier::None, layer, reasons: Vec::new() })
                .unwrap_or_else(|error| panic!("open: {}", chain_of(&error)));
        self.check_opened(&opened);
        let Opened { study, ledger, user, store, lock, mut opening, contents, .. } = opened;
        self.world.borrow_mut().spec = Some(study.spec().clone());
        let setup = self.world.borrow().setup.clone();
        for what in &mut opening {
            if let What::StudyOpened { seed, .. } = what {
                *seed = setup.seed;
            }
        }
        let run = study.state().run.as_ref().map_or(1, |run| run.facts.run + 1);
        let (scope, offers) = match mission {
            Mission::Loop { experiments } => (Scope::Loop { experiments: Some(experiments) }, Vec::new()),
            Mission::Try(contents) => (Scope::One, vec![Offer::of_a_person(contents, "mine")]),
        };
        self.world.borrow_mut().say(|| format!("-- engine {} with {scope:?}", self.lives));
        let (version, boot) = ("0".to_owned(), "simulated".to_owned());
        let (containment, sandbox) = ("none".to_owned(), "none".to_owned());
        let facts = RunFacts {
            run,
            scope,
            slots: setup.slots,
            version,
            pid: 1,
            boot,
            containment,
            sandbox,
            agent: String::new(),
        };
        opening.push(What::RunStarted(facts));
        let world = self.world.clone();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let machine = Simulated::new(world.clone(), user, store);
            let mut dispatch = Dispatch::new(study, ledger, machine)?;
            let outcome = dispatch.run(opening, contents, offers, &mut |event, state| {
                world.borrow_mut().watched(event, state);
            });
            if outcome.is_ok() {
                // The last turn is acknowledged by the end of the run itself.
                world.borrow_mut().settle();
                check_memory(&world.borrow(), dispatch.study());
            }
            outcome
        }));
        drop(lock);
        match outcome {
            Ok(Ok(reason)) => {
                self.world.borrow_mut().say(|| format!("-- stopped: {reason:?}"));
                Ended::Stopped(reason)
            }
            Ok(Err(fault)) => {
                self.world.borrow_mut().say(|| format!("-- fault: {fault}"));
                assert!(fault.is_full(), "a fault that nobody made: {}", chain_of(&fault));
                self.recovers = true;
                self.learn_fault();
                Ended::Fault(fault)
            }
            Err(thrown) if thrown.is::<Crash>() => {
                self.crashes += 1;
                self.recovers = true;
                let wreck = self.world.borrow_mut().wreck.take().expect("a crash leaves a wreck");
                self.world.borrow_mut().wreck_disk(&wreck);
                self.learn_wreck(&wreck);
                if self.crashes == 1 {
                    self.before_crash = decisions(&self.world.borrow());
                }
                let mut world = self.world.borrow_mut();
                let closes = world.referee.running.values().any(|(_, _, purpose)| *purpose == Purpose::Close);
                world.referee.seen.closes_killed += u32::from(closes);
                Ended::Crashed
            }
            Err(failure) => resume_unwind(failure),
        }
    }

    /// Everything acknowledged must still be there, byte for byte; a turn that was being stored is there whole or not.
    fn learn_wreck(&mut self, wreck: &Wreck) {
        let found = self.stored();
        let mut world = self.world.borrow_mut();
        let world = &mut *world;
        let known = world.referee.stored.len();
        assert!(found.len() >= known, "{} acknowledged events, {} are left", known, found.len());
        assert!(found[..known] == world.referee.stored[..], "an acknowledged event was changed by a crash");
        let rest = &found[known..];
        if !rest.is_empty() {
            assert_eq!(rest, world.referee.would_store(&wreck.unacknowledged), "a turn was stored in part");
            world.referee.acknowledge(&world.setup, &wreck.unacknowledged, None);
        }
    }

    /// A fault leaves word of itself, and nothing else.
    fn learn_fault(&mut self) {
        let found = self.stored();
        let mut world = self.world.borrow_mut();
        let world = &mut *world;
        let known = world.referee.stored.len();
        assert!(found[..known] == world.referee.stored[..], "an acknowledged event was changed by a fault");
        let rest: Vec<Event> = found[known..].iter().map(event_of).collect();
        assert!(
            matches!(rest.as_slice(), [] | [Event { what: What::RunStopped { .. }, .. }]),
            "after a fault: {rest:?}"
        );
        world.referee.acknowledge(&world.setup, &rest, None);
    }

    /// The ledger's events as they lie in its file, read without the engine.
    fn stored(&self) -> Vec<Stored> {
        let path = self.site.state().join("ledger.db");
        if !path.exists() {
            return Vec::new();
        }
        let db = rusqlite::Connection::open(&path).expect("open the ledger's file");
        let Ok(mut statement) = db.prepare("SELECT at, body, hash FROM events ORDER BY seq") else {
            return Vec::new();
        };
        let row =
            |row: &rusqlite::Row<'_>| Ok(Stored { at: row.get(0)?, body: row.get(1)?, hash: ChainHash(row.get(2)?) });
        let rows = statement.query_map([], row).expect("read the events");
        rows.collect::<Result<_, _>>().expect("read the events")
    }

    /// A study as a new engine finds it: the fold of the ledger, twice the same, with git and the rows in step.
    fn check_opened(&mut self, opened: &Opened) {
        let mut world = self.world.borrow_mut();
        let (seq, hash) = opened.ledger.end();
        assert_eq!(seq, world.referee.stored.len() as u64, "the engine found another number of events");
        assert_eq!(hash, world.referee.stored.last().map_or(ChainHash::ROOT, |stored| stored.hash));
        let found = opened.user.branch_head(STUDY).expect("read the branch").map(|id| id.to_string());
        world.referee.check_branch(found);
        if seq == 0 || !std::mem::take(&mut self.recovers) {
            return;
        }
        let verified = verify_ledger(&self.site.state()).unwrap_or_else(|error| panic!("verify: {}", chain_of(&error)));
        let (folded, again) = (opened.study.state(), &verified.state);
        assert_eq!(folded.summary(), again.summary(), "the same ledger, another summary");
        let rows = |state: &State| -> Vec<_> {
            state.open().chain(state.standing()).map(|found| state.row(found.id)).collect()
        };
        assert_eq!(rows(folded), rows(again), "the same ledger, other rows");
        let now = Timestamp(world.monotonic + world.skew);
        let spec = opened.study.spec().clone();
        let next = opened.study.next_step(now);
        assert_eq!(next, Study::new(spec, again.clone()).next_step(now));
        let seen = &mut world.referee.seen;
        seen.retreats_killed += u32::from(folded.retreating.is_some());
        seen.restacks_killed += u32::from(matches!(next, Some(Step::Restack { .. })));
        let in_repair = |found: &overnight_model::study::Experiment| found.asked && found.content.is_some();
        seen.repairs_killed += u32::from(folded.open().any(in_repair));
    }

    fn check_end(&mut self) {
        let world = self.world.borrow();
        for (id, life) in &world.referee.lives {
            assert!(life.verdict.is_some(), "experiment {id} never got a verdict");
        }
        let state = self.site.state();
        let reader = Reader::open(&state).expect("open the ledger");
        let mut rows = Vec::new();
        reader.each_row(ExperimentId(0), |row| rows.push(row)).expect("read the rows");
        assert_eq!(rows.len(), world.referee.lives.len(), "a row for every experiment");
        for row in &rows {
            let life = &world.referee.lives[&row.experiment];
            assert_eq!(row.verdict, life.verdict, "experiment {}", row.experiment);
            assert_eq!(row.commit.as_ref().map(|id| &id.0), life.commit.as_ref(), "experiment {}", row.experiment);
            for number in [row.metric, row.gain, row.gain_low, row.gain_high, row.seconds] {
                assert!(number.is_none_or(f64::is_finite), "a number that is not finite: {row:?}");
            }
        }
        let summary = reader.summary().expect("read the summary").expect("there is one");
        let count = |group: Group| {
            let counts = |row: &&overnight_model::study::Row| {
                let is_candidate = !world.referee.carried.contains(&row.experiment);
                let judged = row.verdict.filter(|verdict| *verdict != Verdict::Baseline && is_candidate);
                judged.is_some_and(|verdict| verdict.group() == group)
            };
            rows.iter().filter(counts).count() as u64
        };
        let recount = [count(Group::Kept), count(Group::NotBetter), count(Group::Broken), count(Group::Refused)];
        assert_eq!([summary.kept, summary.not_better, summary.broken, summary.refused], recount);
        assert_eq!(summary.not_counted, count(Group::NotCounted));
        let inbox = Inbox::of(&state);
        let waiting = inbox.waiting().expect("read the inbox").into_iter().map(|letter| letter.name);
        let proposals = inbox.proposals().expect("read the inbox");
        let taken_up = &world.referee.letters;
        let left = waiting.chain(proposals).filter(|letter| !taken_up.contains(letter)).count();
        assert_eq!(taken_up.len() + left, self.letters, "a letter was lost");
        drop(world);
        self.check_moments();
        self.check_line();
        self.check_git();
        assert_eq!(checkout(&self.repo), self.checkout, "the checkout was changed");
    }

    /// Folded again, the ledger gives at every moment what the engine had then.
    fn check_moments(&mut self) {
        let mut world = self.world.borrow_mut();
        let moments = std::mem::take(&mut world.moments);
        world.referee.seen.folded += moments.len() as u32;
        let mut state = State::default();
        let mut folded = 0;
        for Moment { events, at, spec, summary, next } in moments {
            world.referee.stored[folded..events].iter().for_each(|stored| state.apply(&event_of(stored)));
            folded = events;
            assert_eq!(state.summary(), summary, "the first {events} events give another summary");
            let again = Study::new(spec, state.clone()).next_step(at);
            assert_eq!(again, next, "after the first {events} events something else comes next");
        }
    }

    /// Every commit of the branch stands on the one before, and has the surface that the ledger says.
    fn check_line(&self) {
        let world = self.world.borrow();
        let user = UserRepo::discover(self.repo.path()).expect("open the repository");
        let found = git_in(self.repo.path(), &["rev-list", "--parents", &format!("refs/heads/overnight/{STUDY}")]);
        let found = found.expect("list the branch");
        let parents: BTreeMap<&str, &str> = found.lines().filter_map(|line| line.split_once(' ')).collect();
        for Move { from, to, content } in &world.referee.moves {
            assert_eq!(parents.get(to.as_str()), Some(&from.as_str()), "the branch forgot what was kept before {to}");
            let commit = oid(&overnight_model::CommitId(to.clone())).expect("a commit's name");
            let paths: &[&str] = if world.setup.two_files { &["train.py", "src/model.py"] } else { &["train.py"] };
            let read = |path: &&str| ((*path).to_owned(), user.read(commit, path).expect("read the surface"));
            let mut files: Vec<_> = paths.iter().map(read).collect();
            let made = |files: &Vec<_>| Some(Contents(files.clone()).id());
            if made(&files) != *content {
                files.reverse();
            }
            assert_eq!(made(&files), *content, "commit {to} has another surface than its experiment");
        }
    }

    /// `verify` and git itself have the last word.
    fn check_git(&self) {
        let sound = verify::verify(&self.site).unwrap_or_else(|error| panic!("verify: {}", chain_of(&error)));
        assert_eq!(sound.events, self.world.borrow().referee.stored.len() as u64);
        let store = self.site.state().join("store.git");
        self.drop_unrecorded_refs(&store);
        for dir in [self.repo.path().to_owned(), store] {
            if let Err(said) = git_in(&dir, &["fsck", "--strict", "--no-progress", "--no-dangling"]) {
                panic!("git fsck in {}: {said}", dir.display());
            }
        }
    }

    /// A proposal whose event never became durable leaves a ref that nobody reads; a power loss may have taken what
    /// it points to, which git would rightly call broken.
    fn drop_unrecorded_refs(&self, store: &Path) {
        for (id, life) in &self.world.borrow().referee.lives {
            if life.commit.is_none() {
                let _ = std::fs::remove_file(store.join("refs/overnight").join(id.to_string()));
            }
        }
    }

    fn report(self) -> Report {
        let user = UserRepo::discover(self.repo.path()).expect("open the repository");
        let mut world = self.world.borrow_mut();
        let head = world.referee.branch.clone().expect("the branch is somewhere");
        let head = oid(&overnight_model::CommitId(head)).expect("a commit's name");
        let mut verdicts = BTreeMap::new();
        let decisions = decisions(&world);
        decisions.iter().for_each(|decision| *verdicts.entry(decision.verdict.name()).or_default() += 1);
        Report {
            experiments: decisions.len() as u64 - 1,
            verdicts,
            lives: self.lives,
            crashes: self.crashes,
            outages: self.outages,
            seen: world.referee.seen,
            rebases: self.rebases,
            reviews: self.reviews,
            passed: world.passed,
            decisions,
            before_crash: self.before_crash.clone(),
            champion: user.read(head, "train.py").expect("read the champion"),
            log: world.log.take().unwrap_or_default(),
        }
    }
}

enum Mission {
    Loop { experiments: u64 },
    Try(Contents),
}

/// What was decided so far.
fn decisions(world: &World) -> Vec<Decision> {
    let decided = |(id, life): (&ExperimentId, &referee::Life)| {
        let content = life.content.as_ref().map(|content| content.0.clone());
        Some(Decision { experiment: id.0, content, verdict: life.verdict?, metric: life.metric })
    };
    world.referee.lives.iter().filter_map(decided).collect()
}

/// Only what is open or stands may be held in full: all else is a line in a map.
fn check_memory(world: &World, study: &Study) {
    let state = study.state();
    for (id, life) in &world.referee.lives {
        let stands = matches!(
            life.verdict,
            None | Some(Verdict::Kept | Verdict::Baseline | Verdict::Suspect | Verdict::Retracted)
        );
        assert_eq!(state.find(*id).is_some(), stands, "experiment {id} is held, its verdict is {:?}", life.verdict);
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
