//! The JSON contract. Names are stable; a number that is not known is `null`.

use overnight_engine::holdout::Openings;
use overnight_model::judge::Estimate;
use overnight_model::spec::AgentSpec;
use overnight_model::study::{FlakyGuard, Level, Plateau, Row, SeedUse, SegmentRow, Spent, Summary};
use overnight_model::{CommitId, Timestamp};
use serde::Serialize;

use super::costs::{self, CostsJson};
use super::night::{self, Asked};
use super::team::{self, AgentJson};

/// One line of `log --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ExperimentJson<'a> {
    experiment: u64,
    study: &'a str,
    segment: u32,
    parent: Option<&'a CommitId>,
    commit: Option<&'a CommitId>,
    agent: &'a str,
    description: &'a str,
    verdict: Option<&'static str>,
    reason: Option<&'a str>,
    metric: Option<f64>,
    gain: Option<f64>,
    gain_low: Option<f64>,
    gain_high: Option<f64>,
    trials: u32,
    seconds: Option<f64>,
    cost_usd: Option<f64>,
    started_at: String,
}

impl<'a> ExperimentJson<'a> {
    pub(crate) fn new(study: &'a str, row: &'a Row) -> ExperimentJson<'a> {
        let Row {
            experiment,
            segment,
            parent,
            commit,
            agent,
            description,
            verdict,
            reason,
            metric,
            gain,
            gain_low,
            gain_high,
            trials,
            seconds,
            cost_usd,
            started_at,
        } = row;
        ExperimentJson {
            experiment: experiment.0,
            study,
            segment: *segment,
            parent: parent.as_ref(),
            commit: commit.as_ref(),
            agent,
            description,
            verdict: verdict.map(|verdict| verdict.name()),
            reason: reason.as_deref(),
            metric: *metric,
            gain: *gain,
            gain_low: *gain_low,
            gain_high: *gain_high,
            trials: *trials,
            seconds: *seconds,
            cost_usd: *cost_usd,
            started_at: rfc3339(*started_at),
        }
    }
}

/// The object of `status --json`.
#[derive(Debug, Serialize)]
pub(crate) struct StatusJson<'a> {
    study: &'a str,
    state: &'a str,
    baseline: LevelJson<'a>,
    champion: LevelJson<'a>,
    experiments: u64,
    kept: u64,
    running: usize,
    noise: NoiseJson,
    assurance: &'a str,
    sandbox: &'a str,
    cost_usd: Option<f64>,
    /// The champion against the baseline, measured after it was chosen.
    over_baseline: Option<Estimate>,
    spent: Spent,
    /// How long one takes, on average.
    trial_seconds: Option<f64>,
    /// Only where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    holdout: Option<Openings>,
    /// Only where there was a segment before.
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    segments: Vec<SegmentJson<'a>>,
    /// How many wait for a person; only where any do.
    #[serde(skip_serializing_if = "Option::is_none")]
    suspects: Option<u64>,
    /// Only where nothing new begins.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) paused: bool,
    /// Only where there are any.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    flaky_guards: &'a [FlakyGuard],
    /// Only where several were asked of late, or one of them is waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    team: Vec<AgentJson>,
    /// Only where a model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<CostsJson>,
    /// Only on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    plateau: Option<Plateau>,
}

/// A segment before the present one: its numbers are not to be compared with others.
#[derive(Debug, Serialize)]
struct SegmentJson<'a> {
    segment: u32,
    metric: &'a str,
    baseline: Option<f64>,
    champion: Option<f64>,
    gain: Option<f64>,
}

fn past(row: &SegmentRow) -> SegmentJson<'_> {
    let level = |level: &Option<Level>| level.as_ref().and_then(|level| level.metric);
    let (baseline, champion) = (level(&row.baseline), level(&row.champion));
    SegmentJson { segment: row.segment, metric: &row.metric, baseline, champion, gain: row.gain() }
}

#[derive(Debug, Default, Serialize)]
struct LevelJson<'a> {
    commit: Option<&'a CommitId>,
    metric: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
struct NoiseJson {
    sd: Option<f64>,
    trials: u32,
    /// Whether OVERNIGHT_SEED settles the number.
    seed: SeedUse,
    /// What would be kept nine times in ten, and how many trials that takes; 0 where every gain is sure.
    smallest_sure_gain: Option<f64>,
    trials_per_sure_gain: Option<f64>,
}

fn noise(summary: &Summary, asked: Asked) -> NoiseJson {
    let sure = match summary.noise.sd {
        Some(0.0) => Some(asked.without_noise()),
        _ => night::sure(summary, asked),
    };
    NoiseJson {
        sd: summary.noise.sd,
        trials: summary.noise.trials,
        seed: summary.noise.seed,
        smallest_sure_gain: sure.map(|sure| sure.gain),
        trials_per_sure_gain: sure.map(|sure| sure.trials),
    }
}

impl<'a> StatusJson<'a> {
    pub(crate) fn new(
        study: &'a str,
        state: &'a str,
        is_running: bool,
        summary: Option<&'a Summary>,
        (asked, holdout, agents): (Asked, Option<Openings>, Option<&AgentSpec>),
    ) -> StatusJson<'a> {
        let level = |level: Option<&'a overnight_model::study::Level>| {
            level.map_or_else(LevelJson::default, |level| LevelJson {
                commit: Some(&level.commit),
                metric: level.metric,
            })
        };
        StatusJson {
            study,
            state,
            baseline: level(summary.and_then(|summary| summary.baseline.as_ref())),
            champion: level(summary.and_then(|summary| summary.champion.as_ref())),
            experiments: summary.map_or(0, |summary| summary.experiments),
            kept: summary.map_or(0, |summary| summary.kept),
            running: summary.filter(|_| is_running).map_or(0, |summary| summary.running.len()),
            noise: summary.map(|summary| noise(summary, asked)).unwrap_or_default(),
            over_baseline: summary.and_then(|summary| summary.gained),
            spent: summary.map(|summary| summary.spent).unwrap_or_default(),
            trial_seconds: summary.and_then(|summary| summary.trial_time).map(|time| time.as_secs()),
            assurance: summary
                .map_or(overnight_model::spec::Assurance::Cooperative.name(), |summary| &summary.assurance),
            sandbox: summary.map_or("none", |summary| &summary.sandbox),
            cost_usd: summary.and_then(|summary| summary.costs.cost_usd()),
            costs: summary.and_then(costs::json),
            holdout,
            segment: summary.filter(|summary| !summary.past.is_empty()).map(|summary| summary.segment),
            suspects: summary.map(|summary| summary.suspects).filter(|suspects| *suspects > 0),
            paused: summary.is_some_and(|summary| summary.paused),
            flaky_guards: summary.map_or(&[], |summary| &summary.flaky),
            team: summary.map(|summary| team::json(summary, agents)).unwrap_or_default(),
            plateau: summary.and_then(|summary| summary.plateau),
            segments: summary.into_iter().flat_map(|summary| &summary.past).map(past).collect(),
        }
    }
}

/// A moment in UTC, to the millisecond.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    overnight_model::history::rfc3339(at).unwrap_or_else(|| "unknown".to_owned())
}

/// One object on one line.
pub(crate) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}
