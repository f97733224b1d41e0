//! What the owner of the repository does between two runs.

use overnight_engine::inbox::{Delivery, Inbox, Letter, SentFile};
use overnight_engine::lock::Holder;
use overnight_engine::open::OpenError;
use overnight_engine::review::{self, ReviewError};
use overnight_engine::workspace::GitError;
use overnight_model::{CommitId, Event, Timestamp};

use super::random::Random;
use super::{Simulation, chain_of, checkout, event_of, people};
use crate::repo::git_in;

impl Simulation {
    /// The owner finds in the morning what broke, more often than not.
    pub(super) fn mend(&mut self) {
        self.outages += 1;
        let mut world = self.world.borrow_mut();
        if !world.random.one_in(3) {
            (world.outage, world.guard_outage) = (0, 0);
        }
    }

    /// What the owner of the repository may do between two runs.
    pub(super) fn meddle(&mut self) {
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
}
