//! The end of a study: everything that must hold then, and what it came to.

use std::collections::BTreeMap;
use std::path::Path;

use overnight_engine::inbox::Inbox;
use overnight_engine::ledger::Reader;
use overnight_engine::verify;
use overnight_engine::workspace::{UserRepo, oid};
use overnight_model::proposal::Contents;
use overnight_model::verdict::Group;
use overnight_model::{ExperimentId, State, Study, Verdict, What};

use super::referee::{self, Move};
use super::setup::STUDY;
use super::world::{Moment, World};
use super::{Decision, Report, Simulation, Turn, chain_of, checkout, event_of};
use crate::repo::git_in;

impl Simulation {
    pub(super) fn check_end(&mut self) {
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
    /// it points to, which git would rightly call broken. Of a rebase that died early not even the experiment is known.
    fn drop_unrecorded_refs(&self, store: &Path) {
        let lives = &self.world.borrow().referee.lives;
        let is_recorded = |id: u64| lives.get(&ExperimentId(id)).is_some_and(|life| life.commit.is_some());
        for found in std::fs::read_dir(store.join("refs/overnight")).expect("list the refs").flatten() {
            if found.file_name().to_str().and_then(|name| name.parse().ok()).is_some_and(|id| !is_recorded(id)) {
                std::fs::remove_file(found.path()).expect("remove a ref");
            }
        }
    }

    pub(super) fn report(self) -> Report {
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
            asked: asked(&world),
            turns: turns(&world),
        }
    }
}

/// Who was asked, in order.
fn asked(world: &World) -> Vec<String> {
    let events = world.referee.stored.iter().map(event_of);
    let asked = events.filter_map(|event| match event.what {
        What::Asked { agent, .. } if agent != "person" => Some(agent),
        _ => None,
    });
    asked.collect()
}

/// What came of every turn of an agent, and when, since the machine was started.
fn turns(world: &World) -> Vec<Turn> {
    let mut asked = BTreeMap::new();
    let mut turns = Vec::new();
    for event in world.referee.stored.iter().map(event_of) {
        let at = event.at.0 - world.skew;
        let (experiment, failure) = match event.what {
            What::Asked { experiment, agent, .. } => {
                asked.insert(experiment, (at, agent));
                continue;
            }
            What::Proposed(proposed) => (proposed.experiment, None),
            What::AttemptFailed { experiment, failure, .. } => (experiment, Some(failure)),
            _ => continue,
        };
        turns.extend(asked.remove(&experiment).map(|(at, agent)| Turn { at, agent, failure }));
    }
    turns
}

/// What was decided so far.
pub(super) fn decisions(world: &World) -> Vec<Decision> {
    let decided = |(id, life): (&ExperimentId, &referee::Life)| {
        let content = life.content.as_ref().map(|content| content.0.clone());
        Some(Decision { experiment: id.0, content, verdict: life.verdict?, metric: life.metric })
    };
    world.referee.lives.iter().filter_map(decided).collect()
}
