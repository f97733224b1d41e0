//! What the tuner may learn from: experiments that changed nothing but values of literals, whoever proposed them.

use std::collections::{BTreeMap, HashMap};

use super::experiment::Experiment;
use super::state::State;
use crate::id::{CommitId, ExperimentId};
use crate::judge::{Look, Noise};
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

    /// By how much the values of each commit that stands are better than the baseline's, as far as is known, and how sure
    /// that is: gains of keeps, one on top of the other. What a keep gained by anything but values is left out: it is the
    /// same for all values that are tried on it, and those before it did without.
    pub fn climbed(&self) -> BTreeMap<ExperimentId, (f64, f64)> {
        let mut ids: HashMap<&CommitId, ExperimentId> = HashMap::new();
        for (id, standing) in &self.standing {
            ids.extend(standing.commit.iter().chain(&standing.was).map(|commit| (commit, *id)));
        }
        let below = |kept: &Experiment| kept.parent.as_ref().and_then(|parent| ids.get(parent)).copied();
        let mut climbed = BTreeMap::from([(self.baseline(), (0.0, self.error_of(self.find(self.baseline()))))]);
        // A keep that was put on another champion may be older than what it stands on.
        let mut waiting: Vec<&Experiment> = self.standing.values().filter(|kept| kept.id != self.baseline()).collect();
        loop {
            let before = waiting.len();
            waiting.retain(|kept| {
                let found = below(kept).and_then(|id| Some((id, climbed.get(&id)?.0)));
                let Some((under, gain)) = found else { return true };
                let is_of_values = self.tuning.tried.contains_key(&kept.id);
                let own = if is_of_values { self.step_of(kept, under) } else { Some(0.0) };
                climbed.extend(own.map(|own| (kept.id, (gain + own, self.error_of(Some(kept))))));
                false
            });
            if waiting.len() == before {
                return climbed;
            }
        }
    }

    /// What a keep gained over what it stands on. Where nobody has estimated it, as with a person's word, levels tell.
    fn step_of(&self, kept: &Experiment, under: ExperimentId) -> Option<f64> {
        let level = |found: &Experiment| found.level().mean().map(|level| self.told(level));
        let estimated = kept.estimate.map(|estimate| estimate.gain);
        estimated.or_else(|| Some(level(kept)? - level(self.find(under)?)?))
    }

    /// What a verdict says about the values of an experiment: its own scores against the champion's level, which nobody
    /// has shrunk yet.
    pub(super) fn came(&self, experiment: &Experiment, verdict: Verdict) -> Option<Came> {
        match verdict.group() {
            Group::Kept | Group::NotBetter => {}
            Group::Broken | Group::Refused => return Some(Came::Failed),
            Group::NotCounted => return None,
        }
        // Where the luck of seeds is known, it is nobody's merit.
        let less_luck = |look: Look| self.mind().map_or(look.score, |mind| mind.less_luck(look));
        let scores = Tally::of(self.looks(experiment).into_iter().map(less_luck));
        // The champion may have moved since: the gain is that over what it changed.
        let parent = experiment.parent.as_ref().and_then(|parent| self.standing_at(parent));
        let level = match self.mind() {
            Some(mind) if parent == self.champion => Some(mind.level().0),
            _ => parent.and_then(|id| self.find(id)?.level().mean()).map(|level| self.told(level)),
        };
        let gain = scores.mean()? - level?;
        Some(Came::Gain { gain, error: self.error_of(Some(experiment)) })
    }

    /// The standard error of an experiment's own scores, less the luck that is known of them.
    fn error_of(&self, experiment: Option<&Experiment>) -> f64 {
        let n = experiment.map_or(1, |found| found.scores().len()).max(1) as f64;
        match (self.mind(), self.noise()) {
            (Some(mind), _) => mind.noise() / n.sqrt(),
            (None, Noise::Noisy { sd, .. }) => sd / n.sqrt(),
            (None, Noise::Deterministic | Noise::Unknown) => 0.0,
        }
    }
}
