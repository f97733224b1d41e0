//! What views read: one row per experiment and one summary per study, both pure functions of the state.

use serde::{Deserialize, Serialize};

use super::experiment::Experiment;
use super::guards::FlakyGuard;
use super::state::State;
use crate::event::{Purpose, StopReason};
use crate::id::{CommitId, ExperimentId, TrialId};
use crate::judge::Noise;
use crate::units::{Goal, Millis, Score, Timestamp};
use crate::verdict::Verdict;

/// An experiment as `log` shows it. A number that is not known is `None`, never 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub experiment: ExperimentId,
    pub segment: u32,
    pub parent: Option<CommitId>,
    pub commit: Option<CommitId>,
    pub agent: String,
    pub description: String,
    pub verdict: Option<Verdict>,
    pub reason: Option<String>,
    pub metric: Option<f64>,
    pub gain: Option<f64>,
    pub gain_low: Option<f64>,
    pub gain_high: Option<f64>,
    pub trials: u32,
    pub seconds: Option<f64>,
    pub started_at: Timestamp,
}

/// A study as `status` shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub study: String,
    pub segment: u32,
    pub metric: String,
    pub goal: Goal,
    /// Whether the last run said that it ended; a run that did not is running or was killed.
    pub stopped: Option<StopReason>,
    pub baseline: Option<Level>,
    pub champion: Option<Level>,
    pub experiments: u64,
    pub kept: u64,
    pub not_better: u64,
    pub broken: u64,
    pub refused: u64,
    pub not_counted: u64,
    pub open: u64,
    pub running: Vec<Running>,
    pub noise: NoiseRow,
    pub assurance: String,
    pub sandbox: String,
    pub slots: u32,
    pub run_started_at: Option<Timestamp>,
    pub pid: Option<u32>,
    /// The segments before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<SegmentRow>,
    /// Experiments that wait for a person's word.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspects: u64,
    /// Guards that failed on a commit and then passed on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<FlakyGuard>,
    /// Rows of other tools' histories, which are counted nowhere else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub imported: u64,
}

/// How a segment ended. Its numbers are not to be compared with those of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentRow {
    pub segment: u32,
    pub metric: String,
    pub goal: Goal,
    pub baseline: Option<Level>,
    pub champion: Option<Level>,
}

impl SegmentRow {
    /// From its baseline to its last champion; positive is better.
    pub fn gain(&self) -> Option<f64> {
        gain(self.goal, self.baseline.as_ref(), self.champion.as_ref())
    }
}

impl Summary {
    /// What was measured in a segment, and which way is better there.
    pub fn measured_in(&self, segment: u32) -> (&str, Goal) {
        let past = self.past.iter().find(|past| past.segment == segment);
        past.map_or((&self.metric, self.goal), |past| (&past.metric, past.goal))
    }

    /// From the present segment's baseline to the champion; positive is better.
    pub fn gain(&self) -> Option<f64> {
        gain(self.goal, self.baseline.as_ref(), self.champion.as_ref())
    }
}

fn gain(goal: Goal, baseline: Option<&Level>, champion: Option<&Level>) -> Option<f64> {
    Some(goal.gain(baseline?.metric?, champion?.metric?))
}

/// A commit and its level of the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    pub experiment: ExperimentId,
    pub commit: CommitId,
    pub metric: Option<f64>,
    pub trials: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Running {
    pub trial: TrialId,
    pub experiment: ExperimentId,
    pub purpose: Purpose,
    pub started_at: Timestamp,
}

/// How far repeats of one commit scatter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NoiseRow {
    /// 0 where the metric is deterministic.
    pub sd: Option<f64>,
    pub trials: u32,
}

impl State {
    /// The row of an experiment that is open, is or was champion, or has just been judged.
    pub fn row(&self, id: ExperimentId) -> Option<Row> {
        self.find(id).map(row)
    }

    /// The study as a whole, once it has a segment.
    pub fn summary(&self) -> Option<Summary> {
        let facts = self.segment.as_ref()?;
        let present = self.segment_row()?;
        let sd = match self.noise() {
            Noise::Unknown => None,
            Noise::Deterministic => Some(0.0),
            Noise::Noisy { sd, .. } => Some(sd),
        };
        Some(Summary {
            study: self.study.clone(),
            segment: facts.segment.0,
            metric: facts.metric.name.clone(),
            goal: facts.metric.goal,
            stopped: self.stopped.clone(),
            baseline: present.baseline,
            champion: present.champion,
            experiments: self.counts.counted,
            kept: self.counts.kept,
            not_better: self.counts.not_better,
            broken: self.counts.broken,
            refused: self.counts.refused,
            not_counted: self.counts.not_counted,
            open: self.open.keys().filter(|id| **id != self.baseline() && Some(**id) != self.carried()).count() as u64,
            running: self.running.values().cloned().map(|(running, _)| running).collect(),
            noise: NoiseRow { sd, trials: self.repeats() },
            assurance: facts.assurance.clone(),
            sandbox: self.tier().map_or_else(|| facts.sandbox.clone(), |tier| tier.name().to_owned()),
            slots: self.run.as_ref().map_or(0, |run| run.facts.slots),
            run_started_at: self.run.as_ref().map(|run| run.started_at),
            pid: self.run.as_ref().map(|run| run.facts.pid),
            past: self.past.clone(),
            suspects: self.suspects().count() as u64,
            flaky: self.flaky_guards(),
            imported: self.imported,
        })
    }

    /// Where the present segment stands. A champion of the one before has no level in it.
    pub(super) fn segment_row(&self) -> Option<SegmentRow> {
        let facts = self.segment.as_ref()?;
        let level = |id: ExperimentId| {
            let experiment = self.find(id)?;
            let tally = experiment.level();
            let is_known = experiment.segment == facts.segment;
            let (commit, metric) = (experiment.commit.clone()?, experiment.metric().filter(|_| is_known));
            Some(Level { experiment: id, commit, metric, trials: if is_known { tally.n() } else { 0 } })
        };
        Some(SegmentRow {
            segment: facts.segment.0,
            metric: facts.metric.name.clone(),
            goal: facts.metric.goal,
            baseline: level(facts.experiment),
            champion: self.champion.and_then(level),
        })
    }
}

fn row(experiment: &Experiment) -> Row {
    let estimate = experiment.estimate;
    let judged = experiment.verdict.as_ref();
    let verdict = judged.map(|(verdict, _)| *verdict);
    let metric = match verdict {
        // What stands is re-measured after its verdict, and shown as it is known now.
        Some(Verdict::Baseline | Verdict::Kept) => experiment.metric(),
        Some(_) => experiment.judged_metric.map(Score::get),
        None => None,
    };
    Row {
        experiment: experiment.id,
        segment: experiment.segment.0,
        parent: experiment.parent.clone(),
        commit: experiment.commit.clone(),
        agent: experiment.agent.clone(),
        description: experiment.description.clone(),
        verdict,
        reason: judged.map(|(_, reason)| reason.to_string()),
        metric,
        gain: estimate.map(|estimate| estimate.gain),
        gain_low: estimate.and_then(|estimate| estimate.low),
        gain_high: estimate.and_then(|estimate| estimate.high),
        trials: experiment.trials.len() as u32,
        // A run of less than a millisecond is known to be one.
        seconds: (experiment.seconds > Millis(0) || !experiment.trials.is_empty())
            .then(|| experiment.seconds.as_secs()),
        started_at: experiment.started_at,
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
