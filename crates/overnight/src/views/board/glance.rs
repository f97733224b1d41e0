//! The board while a run goes on: the parts of it that can be followed event by event. It begins with little, so that it
//! is there at once on a ledger of any size.

use std::collections::{HashMap, VecDeque};

use overnight_engine::ledger::Mark;
use overnight_model::event::Event;
use overnight_model::spec::{AgentSpec, Limits};
use overnight_model::study::{Row, Summary};
use overnight_model::{ExperimentId, Millis, Timestamp, Verdict};

use super::doing::Doing;
use super::plot::{Level, Plot};
use super::{Fold, Headline, Setting};

/// More points than this are more than a terminal has dots for: of what was not kept, one in so many is drawn.
const POINTS: u64 = 4000;
/// Over how long experiments are counted for their rate.
const HOUR: Millis = Millis::seconds(3600);
/// A rate of less than this would be made up of one or two experiments.
const SOON: Millis = Millis::seconds(30);

/// What the triplet says of a run, where it can be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub(crate) budget: Option<Millis>,
    pub(crate) limits: Limits,
    pub(crate) agents: Option<AgentSpec>,
}

/// A study at one moment, as far as a live view shows it.
#[derive(Debug, Clone)]
pub(crate) struct Glance {
    pub(crate) setting: Setting,
    pub(crate) terms: Terms,
    pub(crate) summary: Option<Summary>,
    pub(crate) headline: Headline,
    pub(crate) plot: Plot,
    /// Of what was not kept, one in so many is drawn.
    pub(crate) one_in: u64,
    pub(crate) doing: Doing,
    /// Verdicts of this run that count as experiments.
    pub(crate) experiments: u64,
    /// What those that are open are about.
    ideas: HashMap<ExperimentId, String>,
    fold: Fold,
    levels: HashMap<ExperimentId, Level>,
    /// When experiments of the last hour began.
    begun: VecDeque<Timestamp>,
    /// Which experiments were counted last: a champion that is measured again is no new one.
    counted: VecDeque<ExperimentId>,
}

/// How many experiments are remembered as counted: far more than are open at once.
const COUNTED: usize = 4096;

impl Glance {
    /// A study with so many experiments, of which nothing is known yet.
    pub(crate) fn new(setting: Setting, terms: Terms, summary: Option<Summary>, experiments: u64) -> Glance {
        Glance {
            headline: Headline::of(summary.as_ref()),
            plot: Plot::new(summary.as_ref()),
            summary,
            setting,
            terms,
            one_in: experiments.div_ceil(POINTS).max(1),
            doing: Doing::default(),
            experiments: 0,
            ideas: HashMap::new(),
            fold: Fold::default(),
            levels: HashMap::new(),
            begun: VecDeque::new(),
            counted: VecDeque::new(),
        }
    }

    /// What moved the champion before, and which experiment had begun by then.
    pub(crate) fn moved(&mut self, begun: ExperimentId, event: &Event) {
        self.fold.reach(begun);
        self.fold.apply(event);
    }

    /// What of the past is still going on.
    pub(crate) fn goes_on(&mut self, event: &Event) {
        self.doing.apply(event);
    }

    /// An experiment of before. What is champion, or was, comes as a row, too.
    pub(crate) fn mark(&mut self, mark: &Mark) {
        let Mark { experiment, segment, verdict: Some(verdict), metric, started_at } = *mark else { return };
        self.plot.mark(experiment, segment, (verdict, metric), self.present(), self.is_drawn(experiment, verdict));
        if verdict.is_counted() && self.doing.run.is_some() && started_at >= self.doing.started_at {
            self.count(experiment, started_at);
        }
    }

    /// What is known of one that is or was champion.
    pub(crate) fn level(&mut self, row: &Row) {
        if let Some(level) = Level::of(row) {
            self.levels.insert(row.experiment, level);
        }
    }

    /// Something that has just happened.
    pub(crate) fn event(&mut self, event: &Event) {
        self.fold.apply(event);
        self.doing.apply(event);
        if matches!(event.what, overnight_model::What::RunStarted(_)) {
            self.experiments = 0;
            self.begun.clear();
            self.counted.clear();
        }
    }

    /// An experiment as it is now.
    pub(crate) fn row(&mut self, row: &Row) {
        let experiment = row.experiment;
        let Some(verdict) = row.verdict else {
            self.ideas.insert(experiment, row.description.clone());
            return;
        };
        self.ideas.remove(&experiment);
        self.level(row);
        let (present, is_drawn) = (self.present(), self.is_drawn(experiment, verdict));
        if row.segment == present {
            self.plot.mark(experiment, row.segment, (verdict, row.metric), present, is_drawn);
        }
        if verdict.is_counted() && self.doing.run.is_some() && !self.counted.contains(&experiment) {
            self.count(experiment, row.started_at);
        }
    }

    /// The study as a whole, as it is now.
    pub(crate) fn update(&mut self, summary: Option<Summary>, is_running: bool, now: Timestamp) {
        self.setting.is_running = is_running;
        self.setting.now = now;
        if self.summary.as_ref().map(|summary| summary.segment) != summary.as_ref().map(|summary| summary.segment) {
            // Nothing is compared across segments: their points are those of another picture.
            let earlier = self.plot.earlier + self.plot.points.len() as u64;
            self.plot = Plot { earlier, ..Plot::new(summary.as_ref()) };
        }
        self.headline = Headline::of(summary.as_ref());
        self.plot.follow(summary.as_ref());
        self.plot.finish(self.fold.moves(), &self.levels, summary.as_ref());
        self.summary = summary;
    }

    pub(crate) fn tick(&mut self, now: Timestamp) {
        self.setting.now = now;
        while self.begun.front().is_some_and(|begun| now.since(*begun) > HOUR) {
            self.begun.pop_front();
        }
    }

    /// How long the run has lasted.
    pub(crate) fn lasted(&self) -> Option<Millis> {
        self.doing.run.as_ref().map(|_| self.setting.now.since(self.doing.started_at))
    }

    /// Experiments in an hour, of late.
    pub(crate) fn per_hour(&self) -> Option<f64> {
        let time = self.lasted()?.0.min(HOUR.0);
        (time >= SOON.0 && !self.begun.is_empty()).then(|| self.begun.len() as f64 * HOUR.0 as f64 / time as f64)
    }

    /// Whether somebody is asked who may cost money.
    pub(crate) fn has_model(&self) -> bool {
        self.terms.agents.as_ref().is_none_or(AgentSpec::has_model)
    }

    /// What an open experiment is about.
    pub(crate) fn idea(&self, experiment: ExperimentId) -> Option<&str> {
        self.ideas.get(&experiment).map(String::as_str).filter(|idea| !idea.is_empty())
    }

    fn count(&mut self, experiment: ExperimentId, began: Timestamp) {
        self.experiments += 1;
        // What was open when the run began did not begin in it.
        self.begun.push_back(Timestamp(began.0.max(self.doing.started_at.0)));
        self.counted.push_back(experiment);
        if self.counted.len() > COUNTED {
            self.counted.pop_front();
        }
    }

    fn present(&self) -> u32 {
        self.summary.as_ref().map_or(0, |summary| summary.segment)
    }

    fn is_drawn(&self, experiment: ExperimentId, verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Kept | Verdict::Retracted) || experiment.0.is_multiple_of(self.one_in)
    }
}
