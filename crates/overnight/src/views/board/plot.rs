//! What the chart shows: every experiment as a point, the champion as a step line.

use std::collections::HashMap;

use overnight_model::study::{Row, Summary};
use overnight_model::{ExperimentId, Goal, Verdict};

use super::fold::Move;

/// Points and steps of the present segment: nothing is compared across segments, so nothing of another is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plot {
    pub(crate) metric: String,
    pub(crate) goal: Goal,
    pub(crate) points: Vec<Point>,
    pub(crate) steps: Vec<Step>,
    /// The level of the segment's baseline.
    pub(crate) baseline: Option<f64>,
    /// How far single runs of one commit scatter.
    pub(crate) sd: Option<f64>,
    /// The first and the last experiment of the segment.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Experiments of earlier segments, which are not drawn.
    pub(crate) earlier: u64,
}

/// One experiment. Without a value it broke, or was never run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) experiment: u64,
    pub(crate) value: Option<f64>,
    pub(crate) verdict: Verdict,
}

/// The champion from one experiment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) from: u64,
    pub(crate) champion: ExperimentId,
    /// Its level as it is known now, and half of the 95 % interval of what it gained.
    pub(crate) level: f64,
    pub(crate) half: Option<f64>,
}

impl Plot {
    pub(super) fn new(summary: Option<&Summary>) -> Plot {
        let baseline = summary.and_then(|summary| summary.baseline.as_ref());
        Plot {
            metric: summary.map_or_else(|| "metric".to_owned(), |summary| summary.metric.clone()),
            goal: summary.map_or(Goal::Min, |summary| summary.goal),
            points: Vec::new(),
            steps: Vec::new(),
            baseline: baseline.and_then(|level| level.metric),
            sd: summary.and_then(|summary| summary.noise.sd).filter(|sd| *sd > 0.0),
            first: baseline.map_or(0, |level| level.experiment.0),
            last: baseline.map_or(0, |level| level.experiment.0),
            earlier: 0,
        }
    }

    pub(super) fn add(&mut self, row: &Row, segment: u32) {
        if let Some(verdict) = row.verdict {
            self.mark(row.experiment, row.segment, (verdict, row.metric), segment, true);
        }
    }

    /// An experiment, which may have been there before with another verdict or level.
    pub(super) fn mark(
        &mut self,
        ExperimentId(experiment): ExperimentId,
        of: u32,
        (verdict, value): (Verdict, Option<f64>),
        segment: u32,
        is_drawn: bool,
    ) {
        if of != segment {
            self.earlier += u64::from(verdict.is_counted());
            return;
        }
        self.last = self.last.max(experiment);
        // A turn that gave nothing to try is no experiment, and the baseline is the line itself.
        if !verdict.is_counted() || !is_drawn {
            return;
        }
        let point = Point { experiment, value, verdict };
        match self.points.binary_search_by_key(&experiment, |known| known.experiment) {
            Ok(at) => self.points[at] = point,
            Err(at) => self.points.insert(at, point),
        }
    }

    /// What is known of the study as a whole by now.
    pub(super) fn follow(&mut self, summary: Option<&Summary>) {
        let Plot { metric, goal, baseline, sd, first, .. } = Plot::new(summary);
        (self.metric, self.goal, self.baseline, self.sd, self.first) = (metric, goal, baseline, sd, first);
        self.last = self.last.max(first);
    }

    /// The step line, once every level is known.
    pub(super) fn finish(&mut self, moves: &[Move], levels: &HashMap<ExperimentId, Level>, summary: Option<&Summary>) {
        let Some(summary) = summary else { return };
        self.steps.clear();
        for &Move { at, champion, .. } in moves {
            let Some(known) = levels.get(&champion).filter(|known| known.segment == summary.segment) else { continue };
            self.steps.push(Step { from: at, champion, level: known.metric, half: known.half });
        }
        // What is known of the champion of today is more than what it was kept for.
        let half = summary.gained.and_then(|gained| Some((gained.high? - gained.low?) / 2.0));
        if let (Some(last), Some(half), true) = (self.steps.last_mut(), half, summary.is_measured) {
            last.half = Some(half);
        }
    }
}

/// What is known of one that is or was champion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    pub(super) segment: u32,
    pub(super) metric: f64,
    pub(super) half: Option<f64>,
}

impl Level {
    /// What a row tells of one that stands, or stood.
    pub(super) fn of(row: &Row) -> Option<Level> {
        let stands = matches!(row.verdict?, Verdict::Baseline | Verdict::Kept | Verdict::Retracted);
        let metric = row.metric.filter(|_| stands)?;
        let half = row.gain_low.zip(row.gain_high).map(|(low, high)| (high - low) / 2.0);
        Some(Level { segment: row.segment, metric, half })
    }
}
