//! Letters of a person, taken up before anything is decided: an agent that is asked in this turn knows of them. Proposals
//! among them wait for their turn.

use std::path::Path;

use overnight_model::proposal::Contents;
use overnight_model::study::is_by_hand;
use overnight_model::{CommitId, ExperimentId, Millis, Timestamp, What};

use super::{Answer, Dispatch, Draft, Fault, Machine};
use crate::inbox::{Delivery, Inbox, Waiting};

impl<M: Machine> Dispatch<M> {
    /// Notes what letters say. They are removed once the turn is durable.
    pub(super) fn take_letters(&mut self, draft: &mut Draft) -> Vec<Waiting> {
        // A night does not end because a letter cannot be read.
        let waiting = self.inbox().waiting().unwrap_or_default();
        for event in Inbox::events(self.study.state(), &waiting) {
            self.note(draft, event.at, event.what);
        }
        waiting
    }

    pub(super) fn remove_letters(&mut self, taken: &[Waiting]) {
        // One that stays is known by its name the next time.
        let inbox = self.inbox();
        let _ = inbox.remove(taken);
        self.delivered.drain(..).for_each(|name| {
            let _ = inbox.remove_proposal(&name);
        });
    }

    /// Takes up the next proposal that came by letter, if its turn has come.
    pub(super) fn take_proposal(&mut self, draft: &mut Draft, now: Timestamp, in_place: bool) -> Result<bool, Fault> {
        if !self.study.takes_letter(in_place, now) {
            return Ok(false);
        }
        let inbox = self.inbox();
        // What was taken up before was not removed for a crash.
        let (known, new): (Vec<_>, Vec<_>) =
            inbox.proposals().unwrap_or_default().into_iter().partition(|name| self.study.state().has_read(name));
        self.delivered.extend(known);
        let Some(letter) = new.into_iter().next() else { return Ok(false) };
        self.delivered.push(letter.clone());
        let made = inbox.read_proposal(&letter).map_err(|why| why.to_string());
        match made.and_then(|delivery| Ok((self.base_of(&delivery)?, delivery))) {
            Err(why) => self.note(draft, now, What::Returned { letter, why }),
            Ok((base, delivery)) => {
                let experiment = self.study.state().next_experiment();
                let contents = self.completed(base.1, &delivery)?;
                self.note(draft, now, What::Delivered { becomes: experiment, letter });
                let (edits, took, output) = (Vec::new(), Millis(0), None);
                let Delivery { agent: from, description, .. } = delivery;
                let base = Some(base.0);
                let answer = Answer { experiment, from, base, contents, description, edits, took, output, used: None };
                self.learn_proposal(draft, now, answer)?;
            }
        }
        Ok(true)
    }

    /// The commit a proposal was made from and whose it is, or why the proposal cannot be taken.
    fn base_of(&self, delivery: &Delivery) -> Result<(CommitId, ExperimentId), String> {
        if let Some(why) = self.no_models.as_ref().filter(|_| !is_by_hand(&delivery.agent)) {
            return Err(why.clone());
        }
        let (state, surface) = (self.study.state(), &self.study.spec().surface);
        if let Some(file) = delivery.files.iter().find(|file| !surface.paths().any(|path| path == file.path)) {
            return Err(format!("`{}` is not part of the surface", file.path));
        }
        let champion = || state.champion().filter(|_| delivery.base.is_none());
        let standing = |commit| state.standing().find(|standing| standing.is(commit));
        let base = delivery.base.as_ref().and_then(standing).or_else(champion);
        match base.and_then(|base| Some((base.commit.clone()?, base))) {
            Some((commit, base)) if base.segment == state.segment_number() => {
                Ok((delivery.base.clone().unwrap_or(commit), base.id))
            }
            _ => {
                Err("it was made from a commit that is no champion of this segment: read the champion again".to_owned())
            }
        }
    }

    /// The whole surface: files that were not sent are as they were.
    fn completed(&self, base: ExperimentId, delivery: &Delivery) -> Result<Contents, Fault> {
        let mut contents = self.contents_of(base)?;
        for (path, bytes) in &mut contents.0 {
            if let Some(file) = delivery.files.iter().find(|file| file.path == *path) {
                *bytes = file.bytes.clone();
            }
        }
        Ok(contents)
    }

    fn inbox(&self) -> Inbox {
        Inbox::of(self.ledger.path().parent().unwrap_or(Path::new(".")))
    }
}
