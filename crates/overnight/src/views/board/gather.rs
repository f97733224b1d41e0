//! Rows, one at a time, and then the board.

use std::collections::{HashMap, VecDeque};

use overnight_model::brief::Brief;
use overnight_model::study::{Row, Summary};
use overnight_model::{BlobId, ExperimentId, Verdict};

use super::causes::Causes;
use super::fold::{Fold, spending_of};
use super::plot::{Level, Plot};
use super::{Board, Faded, Headline, Night, Setting};
use crate::views::night;

/// So many failures are asked for what they printed: the latest tell enough.
const ASKED: usize = 200;
/// One run that looked better by less than this share of the noise tempted nobody.
const TEMPTING: f64 = 1.0;

/// A board in the making.
#[derive(Debug)]
pub(crate) struct Gather {
    fold: Fold,
    summary: Option<Summary>,
    setting: Setting,
    plot: Plot,
    levels: HashMap<ExperimentId, Level>,
    kept: Vec<Row>,
    faded: Vec<Faded>,
    near: Vec<Row>,
    suspects: Vec<Row>,
    failed: Vec<(Row, Verdict)>,
    recent: VecDeque<Row>,
    said: HashMap<ExperimentId, String>,
}

/// How far back ideas to be done again are looked for.
const RECENT: usize = 300;

impl Gather {
    pub(crate) fn new(fold: Fold, summary: Option<Summary>, setting: Setting) -> Gather {
        let plot = Plot::new(summary.as_ref());
        Gather {
            fold,
            summary,
            setting,
            plot,
            levels: HashMap::new(),
            kept: Vec::new(),
            faded: Vec::new(),
            near: Vec::new(),
            suspects: Vec::new(),
            failed: Vec::new(),
            recent: VecDeque::new(),
            said: HashMap::new(),
        }
    }

    /// Takes one row; they come in order.
    pub(crate) fn row(&mut self, row: Row) {
        let segment = self.summary.as_ref().map_or(0, |summary| summary.segment);
        self.plot.add(&row, segment);
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(row.clone());
        let Some(verdict) = row.verdict else { return };
        if let Some(level) = Level::of(&row) {
            self.levels.insert(row.experiment, level);
        }
        if Causes::takes(verdict) {
            self.failed.push((row, verdict));
            return;
        }
        match verdict {
            Verdict::Kept => self.kept.push(row),
            Verdict::Suspect => self.suspects.push(row),
            Verdict::Discarded | Verdict::Retracted => self.not_better(row, segment),
            _ => {}
        }
    }

    /// Failures whose last words would tell the cause, the latest.
    pub(crate) fn wants_words(&self) -> Vec<(ExperimentId, BlobId)> {
        let latest = self.failed.iter().rev().filter(|(_, verdict)| is_loud(*verdict)).take(ASKED);
        let output = |id: ExperimentId| self.fold.seen(id).and_then(|seen| seen.output.clone());
        latest.filter_map(|(row, _)| Some((row.experiment, output(row.experiment)?))).collect()
    }

    /// The last line that an experiment printed.
    pub(crate) fn words(&mut self, id: ExperimentId, said: String) {
        self.said.insert(id, said);
    }

    pub(crate) fn board(mut self) -> Board {
        self.plot.finish(&self.fold.moves, &self.levels, self.summary.as_ref());
        let mut causes = Causes::default();
        for (row, verdict) in &self.failed {
            causes.add(row, *verdict, self.said.get(&row.experiment).map(String::as_str));
        }
        let most = |faded: &Faded| faded.once.unwrap_or(f64::MIN);
        self.faded.sort_by(|a, b| b.is_retracted.cmp(&a.is_retracted).then(most(b).total_cmp(&most(a))));
        self.near.sort_by(|a, b| b.gain.unwrap_or(f64::MIN).total_cmp(&a.gain.unwrap_or(f64::MIN)));
        let redo = Brief::to_redo(self.recent.iter());
        let sure = self.summary.as_ref().and_then(|summary| night::sure(summary, self.setting.asked));
        let night = self.fold.last_night();
        Board {
            headline: Headline::of(self.summary.as_ref()),
            sure,
            night: night.map(|night| Night { spending: spending_of(night), ..night.clone() }),
            total: self.fold.total(),
            runs: self.fold.nights.len(),
            plot: self.plot,
            kept: self.kept,
            faded: self.faded,
            causes: causes.sorted(),
            near: self.near,
            redo: redo.into_iter().map(|open| (open.experiment, open.description)).collect(),
            suspects: self.suspects,
            health: self.fold.health,
            summary: self.summary,
            setting: self.setting,
        }
    }

    /// Measured and not better: hidden by noise, or refuted by what was measured after one run spoke for it.
    fn not_better(&mut self, row: Row, segment: u32) {
        if row.segment != segment {
            return;
        }
        let is_retracted = row.verdict == Some(Verdict::Retracted);
        if Brief::is_undecided(&row) {
            self.near.push(row);
            return;
        }
        let once = self.once(&row);
        let sd = self.plot.sd.unwrap_or(0.0);
        if is_retracted || once.is_some_and(|once| once > 0.0 && once >= TEMPTING * sd) {
            self.faded.push(Faded { row, once, is_retracted });
        }
    }

    /// The gain of its best single run over the champion that it stood on.
    fn once(&self, row: &Row) -> Option<f64> {
        let best = self.fold.seen(row.experiment)?.best?;
        let champion = self.fold.heads.get(row.parent.as_ref()?)?;
        let level = self.levels.get(champion).filter(|level| level.segment == row.segment)?;
        Some(self.plot.goal.gain(level.metric, best))
    }
}

/// Whether what it printed says why it failed.
fn is_loud(verdict: Verdict) -> bool {
    use overnight_model::verdict::Group;
    verdict.group() == Group::Broken || matches!(verdict, Verdict::GuardFailed | Verdict::AgentError)
}
