//! What the tuner may learn from: experiments that changed nothing but values of literals, whoever proposed them.

use std::collections::{BTreeMap, HashMap};

use super::experiment::Experiment;
use super::state::State;
use crate::id::ExperimentId;
use crate::judge::Noise;
use crate::stats::Tally;
use crate::tuner::{Came, Edit, Moved, Tried, Value};
use crate::verdict::{Group, Verdict};

/// Thousands of experiments move the same few literals, so that their names are kept once.
#[derive(Debug, Clone, Default)]
pub(super) struct Tuning {
    names: Vec<(String, String)>,
    texts: Vec<String>,
    numbers: HashMap<(String, String), u32>,
    tried: BTreeMap<ExperimentId, Compact>,
}

#[derive(Debug, Clone)]
struct Compact {
    parent: ExperimentId,
    moves: Box<[(u32, CompactValue)]>,
    came: Came,
}

#[derive(Debug, Clone, Copy)]
enum CompactValue {
    Number(f64),
    Text(u32),
}

impl Tuning {
    pub(super) fn propose(&mut self, id: ExperimentId, parent: ExperimentId, edits: &[Edit]) {
        let moves = edits.iter().map(|edit| (self.name(&edit.path, &edit.name), self.compact(&edit.to)));
        let moves: Vec<_> = moves.collect();
        if !moves.is_empty() {
            self.tried.insert(id, Compact { parent, moves: moves.into_boxed_slice(), came: Came::Open });
        }
    }

    pub(super) fn restack(&mut self, id: ExperimentId, parent: ExperimentId) {
        self.tried.entry(id).and_modify(|tried| tried.parent = parent);
    }

    /// `None`: nothing was learned of it.
    pub(super) fn end(&mut self, id: ExperimentId, came: Option<Came>) {
        match came {
            Some(came) => drop(self.tried.entry(id).and_modify(|tried| tried.came = came)),
            None => drop(self.tried.remove(&id)),
        }
    }

    pub(super) fn forget(&mut self, which: &[ExperimentId]) {
        self.tried.retain(|id, _| !which.contains(id));
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Tried> {
        self.tried.iter().map(|(id, tried)| {
            let moves = tried.moves.iter().map(|(name, to)| {
                let (path, name) = self.names[*name as usize].clone();
                let to = match to {
                    CompactValue::Number(number) => Value::Number(*number),
                    CompactValue::Text(at) => Value::Text(self.texts[*at as usize].clone()),
                };
                Moved { path, name, to }
            });
            Tried { experiment: *id, parent: tried.parent, moves: moves.collect(), came: tried.came }
        })
    }

    fn name(&mut self, path: &str, name: &str) -> u32 {
        let key = (path.to_owned(), name.to_owned());
        let next = self.names.len() as u32;
        *self.numbers.entry(key).or_insert_with_key(|key| {
            self.names.push(key.clone());
            next
        })
    }

    fn compact(&mut self, value: &Value) -> CompactValue {
        let text = match value {
            Value::Number(number) => return CompactValue::Number(*number),
            Value::Text(text) => text,
        };
        // Few: the options of choices.
        let at = self.texts.iter().position(|known| known == text).unwrap_or_else(|| {
            self.texts.push(text.clone());
            self.texts.len() - 1
        });
        CompactValue::Text(at as u32)
    }
}

impl State {
    /// What was tried of values of literals so far, oldest first.
    pub fn tuned(&self) -> impl Iterator<Item = Tried> {
        self.tuning.all()
    }

    /// By how much each commit that stands is better than the baseline, as far as is known, and how sure that is: gains
    /// of keeps, one on top of the other.
    pub fn climbed(&self) -> BTreeMap<ExperimentId, (f64, f64)> {
        let mut climbed = BTreeMap::from([(self.baseline(), (0.0, self.error_of(self.find(self.baseline()))))]);
        for (id, kept) in &self.standing {
            let stands = matches!(kept.verdict, Some((Verdict::Kept, _)));
            let under =
                self.standing.values().find(|below| kept.parent.as_ref().is_some_and(|parent| below.is(parent)));
            let below = under.and_then(|under| climbed.get(&under.id)).map(|(gain, _)| *gain);
            if let (true, Some(below), Some(estimate)) = (stands, below, kept.estimate) {
                climbed.insert(*id, (below + estimate.gain, self.error_of(Some(kept))));
            }
        }
        climbed
    }

    /// What a verdict says about the values of an experiment: its own scores against the champion's level, which nobody
    /// has shrunk yet.
    pub(super) fn came(&self, experiment: &Experiment, verdict: Verdict) -> Option<Came> {
        match verdict.group() {
            Group::Kept | Group::NotBetter => {}
            Group::Broken | Group::Refused => return Some(Came::Failed),
            Group::NotCounted => return None,
        }
        let scores = Tally::of(experiment.scores().into_iter().map(|score| self.told(score)));
        let level = match self.mind() {
            Some(mind) => Some(mind.level().0),
            None => self.champion().and_then(|champion| champion.level().mean()).map(|level| self.told(level)),
        };
        let gain = scores.mean()? - level?;
        Some(Came::Gain { gain, error: self.error_of(Some(experiment)) })
    }

    /// The standard error of an experiment's own scores.
    fn error_of(&self, experiment: Option<&Experiment>) -> f64 {
        let n = experiment.map_or(1, |found| found.scores().len()).max(1) as f64;
        match self.noise() {
            Noise::Noisy { sd, .. } => sd / n.sqrt(),
            Noise::Deterministic | Noise::Unknown => 0.0,
        }
    }
}
