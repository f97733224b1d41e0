//! What only events tell: single runs, nights, how the champion moved. One event at a time, in order.

use std::collections::HashMap;

use overnight_model::call::CallEnd;
use overnight_model::event::{Event, Judged, Loss, Proposed, Purpose, SegmentFacts, What};
use overnight_model::{BlobId, CommitId, ContentId, ExperimentId, Goal, Millis, Score, TrialId, Verdict};

use super::Health;
use super::nights::{Night, Spending};

/// Beyond it a score is a lie or an accident, and is compared with nothing.
const LARGEST_SCORE: f64 = 1e100;

/// Everything seen so far. It may be fed to the last event and then followed, event by event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fold {
    running: HashMap<TrialId, Purpose>,
    seen: HashMap<ExperimentId, Seen>,
    contents: HashMap<ContentId, ExperimentId>,
    /// Whose commit a head of the branch is or was.
    pub(super) heads: HashMap<CommitId, ExperimentId>,
    pub(super) nights: Vec<Night>,
    /// How the champion moved: from which experiment on it is which.
    pub(super) moves: Vec<Move>,
    pub(super) health: Health,
    goal: Option<Goal>,
    last: u64,
}

/// The champion's place was taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    /// The last experiment that had begun by then.
    pub(super) at: u64,
    pub(super) champion: ExperimentId,
    pub(super) is_retreat: bool,
}

/// What is remembered of one experiment beside its row.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// The best that a single run of it gave.
    pub(super) best: Option<f64>,
    /// What its last run, guard or agent printed.
    pub(super) output: Option<BlobId>,
    was_asked: bool,
    is_reviewed: bool,
    /// It came by letter: whoever sent it asked for it.
    is_delivered: bool,
    /// It was let go although it may well be better.
    is_near_miss: bool,
    /// The first of the same contents, where nobody was asked for this one.
    again: Option<ExperimentId>,
}

impl Fold {
    pub(crate) fn apply(&mut self, event: &Event) {
        if let Some(night) = self.nights.last_mut().filter(|night| night.stopped.is_none()) {
            // What comes between runs is not to make the last one longer.
            let is_between = matches!(
                event.what,
                // Found out about when the next run begins.
                What::Called(ref called) if called.outcome.end == CallEnd::Lost
            ) || matches!(
                event.what,
                What::Said(_)
                    | What::TakenBack { .. }
                    | What::Paused { .. }
                    | What::Resumed { .. }
                    | What::Reviewed(_)
                    | What::Imported(_)
            );
            if !is_between {
                night.last_at = event.at;
            }
        }
        if let Some(id) = event.what.experiment() {
            self.last = self.last.max(id.0);
        }
        match &event.what {
            What::SegmentOpened(facts) => self.open_segment(facts),
            What::RunStarted(facts) => {
                // What was in flight is lost with the run before it.
                self.running.clear();
                self.nights.push(Night::begin(facts, event.at));
            }
            What::RunStopped { reason } => self.night(|night| night.stopped = Some(reason.clone())),
            What::Asked { experiment, .. } => {
                self.seen.entry(*experiment).or_default().was_asked = true;
                self.spend(|spending| spending.attempts += 1);
            }
            What::AttemptFailed { experiment, output: Some(output), .. } => {
                self.seen.entry(*experiment).or_default().output = Some(output.blob.clone());
            }
            What::Proposed(proposed) => self.propose(proposed),
            // What it gave on another champion says nothing of it on this one.
            What::Restacked(proposed) => self.seen.entry(proposed.experiment).or_default().best = None,
            What::Reviewed(reviewed) => self.seen.entry(reviewed.experiment).or_default().is_reviewed = true,
            What::TrialStarted { trial, purpose, .. } => {
                self.running.insert(*trial, *purpose);
            }
            What::TrialFinished { trial, experiment, measurement } => {
                let purpose = self.running.remove(trial);
                let seen = self.seen.entry(*experiment).or_default();
                seen.output = measurement.output.as_ref().map(|output| output.blob.clone()).or(seen.output.take());
                let score = measurement.metric.map(Score::get).filter(|score| score.abs() <= LARGEST_SCORE);
                if let Some((score, goal)) = score.zip(self.goal) {
                    let is_better = seen.best.is_none_or(|best| goal.gain(best, score) > 0.0);
                    seen.best = if is_better { Some(score) } else { seen.best };
                }
                self.health.closing_trials += u64::from(purpose == Some(Purpose::Close));
                let took = measurement.wall();
                if let Some(purpose) = purpose {
                    self.spend(|spending| spending.trial(purpose, took));
                }
            }
            What::TrialLost { trial, loss, .. } => {
                self.running.remove(trial);
                match loss {
                    Loss::Interrupted | Loss::Suspended => self.health.lost += 1,
                    Loss::Fault { .. } => self.health.faults += 1,
                }
            }
            // One that passed is the champion's, tried because the candidate failed.
            What::SmokeFinished { experiment, output: Some(output), ending, .. } if !ending.succeeded() => {
                self.seen.entry(*experiment).or_default().output = Some(output.blob.clone());
            }
            What::GuardFinished { experiment, output: Some(output), .. } => {
                self.seen.entry(*experiment).or_default().output = Some(output.blob.clone());
            }
            What::Delivered { becomes, .. } => self.seen.entry(*becomes).or_default().is_delivered = true,
            What::Judged(judged) => self.judge(judged),
            What::Retracted(_) => self.health.retracted += 1,
            What::BranchAdvanced { experiment, to, retracted, .. } => {
                self.heads.insert(to.clone(), *experiment);
                let is_retreat = retracted.is_some();
                let is_reviewed = self.seen(*experiment).is_some_and(|seen| seen.is_reviewed);
                // A keep has its own place on the axis; a retreat and a person's word come where the study is by then.
                let at = if is_retreat || is_reviewed { self.last } else { experiment.0 };
                let at = self.moves.last().map_or(at, |before| at.max(before.at));
                self.moves.push(Move { at, champion: *experiment, is_retreat });
            }
            _ => {}
        }
    }

    /// How the champion moved so far.
    pub(super) fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Experiments to this one had begun, for whoever did not see them begin.
    pub(super) fn reach(&mut self, id: ExperimentId) {
        self.last = self.last.max(id.0);
    }

    /// The last run of the loop, else the last of any kind.
    pub(super) fn last_night(&self) -> Option<&Night> {
        self.nights.iter().rfind(|night| night.is_loop).or(self.nights.last())
    }

    pub(super) fn total(&self) -> Spending {
        self.nights.iter().fold(Spending::default(), |sum, night| sum.and(&spending_of(night)))
    }

    pub(super) fn seen(&self, id: ExperimentId) -> Option<&Seen> {
        self.seen.get(&id)
    }

    fn open_segment(&mut self, facts: &SegmentFacts) {
        self.goal = Some(facts.metric.goal);
        // Contents may come again: they are measured by another evaluation.
        self.contents.clear();
        self.heads.insert(facts.baseline.clone(), facts.experiment);
        self.last = self.last.max(facts.experiment.0);
        self.moves.push(Move { at: facts.experiment.0, champion: facts.experiment, is_retreat: false });
        self.health.network = facts.evaluate.network;
        self.health.has_guards = !facts.guards.is_empty();
    }

    fn propose(&mut self, proposed: &Proposed) {
        let Proposed { experiment, content, took, output, .. } = proposed;
        let seen = self.seen.entry(*experiment).or_default();
        seen.output = output.as_ref().map(|output| output.blob.clone());
        // Nobody was asked for it and it is an old one: the engine itself tries it again.
        if !seen.was_asked && proposed.agent != "person" {
            seen.again = self.contents.get(content).copied();
        }
        self.contents.entry(content.clone()).or_insert(*experiment);
        self.spend(|spending| spending.agents.0 += took.0);
    }

    fn judge(&mut self, judged: &Judged) {
        let Judged { experiment, verdict, opinion, .. } = judged;
        let seen = self.seen.entry(*experiment).or_default();
        let is_close = opinion.is_some_and(|opinion| opinion.is_close() && opinion.is_undecided());
        seen.is_near_miss = *verdict == Verdict::Discarded && is_close;
        // One that is a duplicate was not run.
        let again = seen.again.filter(|_| !seen.is_delivered && *verdict != Verdict::Duplicate);
        // After drift those that were let go lately come back, near-misses among them: those are not told apart from what
        // gets more trials on a plateau, and are taken for that.
        match again.map(|first| self.seen(first).is_some_and(|first| first.is_near_miss)) {
            None => {}
            Some(true) => self.health.second_looks += 1,
            Some(false) => self.health.tried_again += 1,
        }
        self.spend(|spending| {
            spending.experiments += u64::from(verdict.is_counted());
            spending.kept += u64::from(*verdict == Verdict::Kept);
        });
    }

    fn night(&mut self, change: impl FnOnce(&mut Night)) {
        if let Some(night) = self.nights.last_mut() {
            change(night);
        }
    }

    fn spend(&mut self, change: impl FnOnce(&mut Spending)) {
        self.night(|night| change(&mut night.spending));
    }
}

/// What a night spent, its own length included.
pub(super) fn spending_of(night: &Night) -> Spending {
    let wall: Millis = night.last_at.since(night.started_at);
    Spending { wall, ..night.spending }
}
