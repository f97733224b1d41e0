//! One experiment while it is open, and for as long as it can still be champion.

use super::guards::GuardRun;
use super::smoke::SmokeRun;
use crate::call::account::{Charge, Reached};
use crate::call::bill::Bill;
use crate::event::{AttemptFailure, Purpose, Trouble};
use crate::id::{CommitId, ContentId, ExperimentId, Seed, Segment, TrialId};
use crate::judge::Estimate;
use crate::measure::Measurement;
use crate::proposal::SurfaceBlob;
use crate::spec::Tier;
use crate::stats::Tally;
use crate::tuner::Edit;
use crate::units::{Millis, Score, Timestamp};
use crate::verdict::{Reason, Verdict};

/// Beyond it, differences and squares are no longer finite. JSON has no infinity: one lie of that size would
/// spoil the noise for every later verdict, and make the ledger unreadable.
pub(super) const LARGEST_SCORE: f64 = 1e100;

/// The life of one proposal, from the question to the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub id: ExperimentId,
    pub segment: Segment,
    pub agent: String,
    pub parent: Option<CommitId>,
    pub commit: Option<CommitId>,
    /// The commits that it was before: as a proposal, or as champion for the first time.
    pub was: Vec<CommitId>,
    pub commit_time: i64,
    pub description: String,
    pub content: Option<ContentId>,
    pub surface: Vec<SurfaceBlob>,
    /// What the surface is, layout and comments aside, where that is known.
    pub form: Option<ContentId>,
    /// The tokens of its code, where they can be compared with those of what it was made from.
    pub tokens: Option<u64>,
    /// Nothing but numbers that seed something was changed.
    pub reseeds: bool,
    pub edits: Vec<Edit>,
    pub started_at: Timestamp,
    /// The agent is at work on it right now.
    pub asked: bool,
    /// Since when, or when that was.
    pub asked_at: Timestamp,
    /// It came close before, and is tried again because nothing else was kept for long.
    pub is_second_try: bool,
    pub failure: Option<AttemptFailure>,
    /// An agent was asked for it: it did not come of itself.
    pub was_asked: bool,
    /// How often it was repaired.
    pub repairs: u32,
    /// Nobody could repair it.
    pub is_beyond_repair: bool,
    pub trials: Vec<Trial>,
    /// From which trial on its surface is the one it has now: it may have been put on another champion.
    pub(super) surface_from: usize,
    /// From which trial on they count: those before were of another surface, or of another machine.
    pub fresh_from: usize,
    /// Trials of the champion for its sake.
    pub aided: u32,
    /// It could not be put on the champion that there is now.
    pub clashes: bool,
    /// Trials, guards and quick looks that are running.
    pub in_flight: u32,
    /// Guards that were run for it, and how they ended.
    pub guards: Vec<GuardRun>,
    /// Quick looks at the surface that it has now, and how they ended.
    pub smokes: Vec<SmokeRun>,
    /// Losses through our own fault, in a row.
    pub faults: u32,
    pub last_fault: String,
    pub seconds: Millis,
    pub verdict: Option<(Verdict, Reason)>,
    pub judged_metric: Option<Score>,
    pub estimate: Option<Estimate>,
    /// The weakest tier that one of its trials had.
    pub tier: Option<Tier>,
    /// What models were asked for it, by whom ever.
    pub bill: Bill,
    /// Whether everything of it happened where calls were counted; unknown before anything did.
    pub is_counted: Option<bool>,
    /// What limits count of the calls of its agent.
    pub charged: Charge,
    /// Calls of its agent since it was last asked.
    pub agent_calls: u64,
    /// The limit that held one of them back.
    pub limited: Option<Reached>,
    /// What was wrong at the provider when it was asked last.
    pub trouble: Option<Trouble>,
}

/// One finished trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub id: TrialId,
    pub purpose: Purpose,
    pub seed: Seed,
    pub measurement: Measurement,
}

impl Trial {
    /// Its score, where that can be compared with others.
    pub fn score(&self) -> Option<f64> {
        self.measurement.metric.map(Score::get).filter(|value| value.abs() <= LARGEST_SCORE)
    }
}

impl Experiment {
    pub fn new(id: ExperimentId, segment: Segment, agent: &str, at: Timestamp) -> Experiment {
        Experiment {
            id,
            segment,
            agent: agent.to_owned(),
            parent: None,
            commit: None,
            was: Vec::new(),
            commit_time: 0,
            description: String::new(),
            content: None,
            surface: Vec::new(),
            form: None,
            tokens: None,
            reseeds: false,
            edits: Vec::new(),
            started_at: at,
            asked: false,
            asked_at: at,
            is_second_try: false,
            failure: None,
            was_asked: false,
            repairs: 0,
            is_beyond_repair: false,
            trials: Vec::new(),
            surface_from: 0,
            fresh_from: 0,
            aided: 0,
            clashes: false,
            in_flight: 0,
            guards: Vec::new(),
            smokes: Vec::new(),
            faults: 0,
            last_fault: String::new(),
            seconds: Millis(0),
            verdict: None,
            judged_metric: None,
            estimate: None,
            tier: None,
            bill: Bill::default(),
            is_counted: None,
            charged: Charge::default(),
            agent_calls: 0,
            limited: None,
            trouble: None,
        }
    }

    /// Whether anything of it was run, or is running.
    pub(super) fn has_begun(&self) -> bool {
        self.in_flight > 0 || !self.trials.is_empty() || !self.guards.is_empty()
    }

    /// Whether its agent was stopped and has to be asked again.
    pub(super) fn is_unasked(&self) -> bool {
        !self.asked && self.content.is_none() && self.failure.is_none()
    }

    /// Whether its agent is at work on what it has proposed already.
    pub(super) fn is_in_repair(&self) -> bool {
        self.asked && self.content.is_some()
    }

    /// The trials of the surface it has now.
    pub fn fresh(&self) -> &[Trial] {
        self.trials.get(self.fresh_from..).unwrap_or_default()
    }

    /// Whether it is, or was, this commit.
    pub fn is(&self, commit: &CommitId) -> bool {
        self.commit.as_ref() == Some(commit) || self.was.contains(commit)
    }

    /// Its trials that tell something: not those that gave, with a seed, the number that it had given before.
    pub(super) fn looks(&self) -> impl Iterator<Item = &Trial> {
        let fresh = self.fresh();
        let is_again = move |at: usize, trial: &Trial| {
            let same = |before: &Trial| before.seed == trial.seed && before.score() == trial.score();
            trial.score().is_some() && fresh[..at].iter().any(same)
        };
        fresh.iter().enumerate().filter(move |(at, trial)| !is_again(*at, trial)).map(|(_, trial)| trial)
    }

    /// Whether the last trial gave what the same seed gave before: the seed makes the number, and nothing new was seen.
    pub fn repeats_itself(&self) -> bool {
        let Some((last, before)) = self.fresh().split_last() else { return false };
        before.iter().any(|trial| trial.seed == last.seed && trial.score() == last.score())
    }

    /// By how much the last score differs from one that the same seed gave before, and how many trials ago that was.
    pub(super) fn probed(&self) -> Option<(f64, u64)> {
        let (last, before) = self.fresh().split_last()?;
        let same = before.iter().find(|trial| trial.seed == last.seed && trial.score().is_some())?;
        Some((last.score()? - same.score()?, last.id.0.saturating_sub(same.id.0)))
    }

    /// What it is: layout and comments aside where that is known, else its bytes.
    pub fn identity(&self) -> Option<&ContentId> {
        self.form.as_ref().or(self.content.as_ref())
    }

    /// Its level as it is shown: by trials that had no part in choosing it, else what the judge made of those that had.
    pub fn metric(&self) -> Option<f64> {
        let is_measured = self.fresh().iter().any(|trial| is_fair(trial.purpose) && trial.score().is_some());
        let judged = self.judged_metric.map(Score::get).filter(|_| !is_measured);
        judged.or_else(|| self.level().mean())
    }

    /// The scores of its successful trials, in order.
    pub fn scores(&self) -> Vec<f64> {
        self.fresh().iter().filter_map(Trial::score).collect()
    }

    /// Its level from the trials that had no part in choosing it.
    ///
    /// Screening and confirming trials were selected for being good; they count only where there are no others, as
    /// for a deterministic metric, whose trials are all the same.
    pub fn level(&self) -> Tally {
        let of = |wanted: fn(Purpose) -> bool| {
            let chosen = self.looks().filter(|trial| trial.purpose != Purpose::Check && wanted(trial.purpose));
            Tally::of(chosen.filter_map(Trial::score))
        };
        let fair = of(is_fair);
        if fair.n() > 0 { fair } else { of(|_| true) }
    }
}

/// Whether a trial had no part in choosing what it measured.
pub(super) fn is_fair(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Baseline | Purpose::Remeasure | Purpose::Sentinel | Purpose::Close)
}
