//! The life of one engine, and what has to be there after it, however it ended.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use overnight_engine::dispatch::{Dispatch, Fault, Offer};
use overnight_engine::ledger::{ChainHash, verify_ledger};
use overnight_engine::lock::Holder;
use overnight_engine::open::{self, How, OnDirty, Opened};
use overnight_engine::sandbox::Found;
use overnight_model::event::{Purpose, RunFacts, Scope, StopReason};
use overnight_model::proposal::Contents;
use overnight_model::spec::{AgentKind, Tier};
use overnight_model::{Event, State, Step, Study, Timestamp, Verdict, What};

use super::ending::decisions;
use super::machine::Simulated;
use super::referee::Stored;
use super::setup::STUDY;
use super::world::{Crash, World, Wreck};
use super::{Simulation, chain_of, event_of};

/// A study that needs more engines than this is not getting anywhere.
const MOST_LIVES: u32 = 400;

/// What an engine is started for.
pub(super) enum Mission {
    Loop { experiments: u64 },
    Try(Contents),
}

/// How one engine ended.
pub(super) enum Ended {
    Stopped(StopReason),
    Fault(Fault),
    Crashed,
}

impl Simulation {
    /// The life of one engine, from opening the study to its end or its death.
    pub(super) fn live(&mut self, mission: Mission) -> Ended {
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
            Mission::Loop { experiments } => {
                let is_open_ended = setup.is_open_ended() && self.world.borrow().troubled;
                (Scope::Loop { experiments: (!is_open_ended).then_some(experiments) }, Vec::new())
            }
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
            metered: Some(vec![AgentKind::Tuner.name().to_owned()]),
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
    pub(super) fn stored(&self) -> Vec<Stored> {
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
