//! What views read: one row per experiment and one summary per study, both pure functions of the state.

use serde::{Deserialize, Serialize};

use super::costs::CostRow;
use super::experiment::{Experiment, Trial, is_fair};
use super::guards::FlakyGuard;
use super::judging::Spent;
use super::plateau::Plateau;
use super::state::State;
use super::turns::AgentRow;
use crate::event::{Purpose, StopReason};
use crate::id::{CommitId, ExperimentId, TrialId};
use crate::judge::{CALIBRATION_TRIALS, Estimate, Noise};
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
    /// What models were asked for it, at list price.
    #[serde(default)]
    pub cost_usd: Option<f64>,
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
    /// How much better the champion is than the baseline, by trials that had no part in choosing it where there are any;
    /// `None` where it is the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gained: Option<Estimate>,
    /// Whether that comes from trials of the champion that had no part in choosing it; else it is what its steps were
    /// expected to bring.
    #[serde(default)]
    pub is_measured: bool,
    /// Where the trials of this segment went.
    #[serde(default)]
    pub spent: Spent,
    /// How long a trial takes, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_time: Option<Millis>,
    /// Nothing new begins until it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Who was asked of late, where they were several or one of them is waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub team: Vec<AgentRow>,
    /// Nothing was kept for much longer than this study is used to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plateau: Option<Plateau>,
    /// Which judge it was that believes this: verdicts are facts, what is believed of noise and gain is a judge's own.
    #[serde(default)]
    pub judge: u32,
    /// What models were asked, and what that cost.
    #[serde(default)]
    pub costs: CostRow,
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
        self.gained.map(|estimate| estimate.gain).or_else(|| self.difference())
    }

    fn difference(&self) -> Option<f64> {
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
    #[serde(default)]
    pub seed: SeedUse,
}

/// Whether `OVERNIGHT_SEED` settles the number, as far as trials tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedUse {
    /// No commit was run twice with one seed.
    #[default]
    Unknown,
    /// Every seed gave the same: nothing is drawn, or not from this seed.
    Ignored,
    /// The same seed gave the same number again, another seed another.
    Settles,
    /// The same seed gave another number: something else is left to chance.
    NotAlone,
}

impl SeedUse {
    /// Reads it from trials of one commit, by the seed and the score of each.
    fn of(trials: impl IntoIterator<Item = (u32, f64)>) -> SeedUse {
        let mut trials: Vec<(u32, f64)> = trials.into_iter().collect();
        trials.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let same_seed = |pair: &&[(u32, f64)]| pair[0].0 == pair[1].0;
        let equal = |pair: &[(u32, f64)]| pair[0].1 == pair[1].1;
        let again: Vec<bool> = trials.windows(2).filter(same_seed).map(equal).collect();
        let all_equal = trials.windows(2).all(equal);
        let seeds = trials.windows(2).filter(|pair| !same_seed(pair)).count() + usize::from(!trials.is_empty());
        match (again.is_empty(), again.iter().all(|equal| *equal), all_equal) {
            (_, _, true) if seeds >= CALIBRATION_TRIALS as usize => SeedUse::Ignored,
            (true, ..) | (_, _, true) => SeedUse::Unknown,
            (false, true, false) => SeedUse::Settles,
            (false, false, _) => SeedUse::NotAlone,
        }
    }

    /// What two commits tell together: one unequal number is enough.
    fn and(self, other: SeedUse) -> SeedUse {
        use SeedUse::{Ignored, NotAlone, Settles, Unknown};
        match (self, other) {
            (NotAlone, _) | (_, NotAlone) => NotAlone,
            (Settles, _) | (_, Settles) => Settles,
            (Ignored, Ignored) => Ignored,
            _ => Unknown,
        }
    }
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
            noise: NoiseRow { sd, trials: self.repeats(), seed: self.seed_use() },
            assurance: facts.assurance.clone(),
            sandbox: self.tier().map_or_else(|| facts.sandbox.clone(), |tier| tier.name().to_owned()),
            slots: self.run.as_ref().map_or(0, |run| run.facts.slots),
            run_started_at: self.run.as_ref().map(|run| run.started_at),
            pid: self.run.as_ref().map(|run| run.facts.pid),
            past: self.past.clone(),
            suspects: self.suspects().count() as u64,
            flaky: self.flaky_guards(),
            imported: self.imported,
            gained: self.gain_over_baseline(),
            is_measured: self.is_champion_measured(),
            spent: self.spent(),
            trial_time: self.mean_trial_time(),
            paused: self.is_paused(),
            team: self.team(),
            plateau: self.plateau(),
            judge: crate::judge::EDITION,
            costs: self.cost_row(),
        })
    }

    /// Whether the seed settles the number, by every trial of the baseline and of what was kept.
    pub fn seed_use(&self) -> SeedUse {
        let segment = self.segment_number();
        let of = |experiment: &Experiment| {
            let trials = experiment.fresh().iter();
            SeedUse::of(trials.filter_map(|trial| Some((trial.seed.0, trial.score()?))))
        };
        // One that was run too seldom to tell takes nothing from what another told.
        let told = self.standing().filter(|kept| kept.segment == segment && kept.fresh().len() > 2).map(of);
        let told = told.reduce(SeedUse::and).unwrap_or_default();
        match told {
            SeedUse::Ignored if self.noise() != Noise::Deterministic => SeedUse::Unknown,
            told => told,
        }
    }

    /// Whether the champion was measured after it was chosen, or gives the same whenever it is.
    fn is_champion_measured(&self) -> bool {
        let fair = |trial: &Trial| is_fair(trial.purpose) && trial.score().is_some();
        self.mind().is_none() || self.champion().is_some_and(|champion| champion.fresh().iter().any(fair))
    }

    fn mean_trial_time(&self) -> Option<Millis> {
        let (Millis(total), trials) = self.trial_times();
        (trials > 0).then(|| Millis(total / trials))
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
        Some(Verdict::Baseline | Verdict::Kept | Verdict::Retracted) => experiment.metric(),
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
        cost_usd: experiment.bill.cost_usd().filter(|_| experiment.is_counted == Some(true)),
        started_at: experiment.started_at,
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_read_where_it_gives_its_number_again_and_another_does_not() {
        let told = |trials: &[(u32, f64)]| SeedUse::of(trials.iter().copied());
        assert_eq!(told(&[(1, 4.0), (2, 5.0), (3, 6.0)]), SeedUse::Unknown);
        assert_eq!(told(&[(1, 4.0), (2, 5.0), (1, 4.0)]), SeedUse::Settles);
        assert_eq!(told(&[(1, 4.0), (2, 5.0), (1, 4.1)]), SeedUse::NotAlone);
        assert_eq!(told(&[(1, 4.0), (2, 4.0), (3, 4.0)]), SeedUse::Ignored);
        assert_eq!(told(&[(1, 4.0), (1, 4.0), (1, 4.0)]), SeedUse::Unknown, "no other seed was tried");
        assert_eq!(told(&[]), SeedUse::Unknown);
    }

    #[test]
    fn one_unequal_number_outweighs_all_equal_ones() {
        assert_eq!(SeedUse::Ignored.and(SeedUse::Settles), SeedUse::Settles);
        assert_eq!(SeedUse::Settles.and(SeedUse::NotAlone), SeedUse::NotAlone);
        assert_eq!(SeedUse::Ignored.and(SeedUse::Unknown), SeedUse::Unknown);
    }
}
