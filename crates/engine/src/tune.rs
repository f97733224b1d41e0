//! What is known of the values that a champion's literals could have, out of the ledger alone.

use std::collections::HashMap;

use overnight_model::proposal::Contents;
use overnight_model::study::State;
use overnight_model::tuner::ask::{Memo, Result as Outcome, Told};
use overnight_model::tuner::report::Report;
use overnight_model::tuner::{Came, Moved, Surface, Value, value};
use overnight_model::{ExperimentId, spec};

use crate::ledger::{LedgerError, Reader};
use crate::source::Tunable;

/// The values of commits that stand: a commit has what it has, so that each is read once.
#[derive(Default)]
pub struct Memory {
    values: HashMap<ExperimentId, HashMap<(String, String), Value>>,
    /// What the search need not work out again.
    pub(crate) memo: Memo,
}

impl Memory {
    /// Everything measured of values that these literals could have, whoever proposed it.
    ///
    /// What other literals were at the time is read from the commit that was changed; what no longer applies, because a
    /// literal is gone or has no such option, is left out. Gains are counted from the baseline, one keep on top of the
    /// other, so that what was measured on different champions can be compared.
    pub fn told<E>(
        &mut self,
        state: &State,
        surface: &spec::Surface,
        tunable: &Tunable,
        mut read: impl FnMut(ExperimentId) -> Result<Contents, E>,
    ) -> Result<Vec<Told>, E> {
        let climbed = state.climbed();
        let mut told = Vec::new();
        for (id, (gain, error)) in &climbed {
            if !self.values.contains_key(id) {
                self.values.insert(*id, named(&Tunable::of(surface, &read(*id)?)));
            }
            let point = point(&tunable.surface(), &self.values[id], &[]);
            let result = Outcome::Value { value: -gain, error: *error };
            told.extend(point.map(|point| Told { point, result }));
        }
        for tried in state.tuned() {
            let (Some((below, _)), Some(values)) = (climbed.get(&tried.parent), self.values.get(&tried.parent)) else {
                continue;
            };
            // What was kept was measured again since.
            if climbed.contains_key(&tried.experiment) {
                continue;
            }
            let result = match tried.came {
                Came::Open => Outcome::Pending,
                Came::Failed => Outcome::Failed,
                Came::Gain { gain, error } => Outcome::Value { value: -(below + gain), error },
            };
            let point = point(&tunable.surface(), values, &tried.moves);
            told.extend(point.map(|point| Told { point, result }));
        }
        Ok(told)
    }
}

/// What the search knows of the champion's literals, out of a ledger; `None` where there is no champion yet.
pub fn report(reader: &Reader, surface: &spec::Surface) -> Result<Option<(ExperimentId, Report)>, LedgerError> {
    let state = reader.state()?;
    let read = |id: ExperimentId| {
        let mut files = Vec::new();
        for file in state.find(id).map(|found| found.surface.as_slice()).unwrap_or_default() {
            files.push((file.path.clone(), reader.blob(&file.blob)?.unwrap_or_default()));
        }
        Ok::<_, LedgerError>(Contents(files))
    };
    let Some(champion) = state.champion else { return Ok(None) };
    let tunable = Tunable::of(surface, &read(champion)?);
    let told = Memory::default().told(&state, surface, &tunable, read)?;
    Ok(Some((champion, Report::of(&tunable.surface(), &told))))
}

fn named(tunable: &Tunable) -> HashMap<(String, String), Value> {
    let key = |at: usize| (tunable.literals[at].path.clone(), tunable.literals[at].name.clone());
    (0..tunable.literals.len()).map(|at| (key(at), value(&tunable.literals[at], tunable.literals[at].value))).collect()
}

/// The values of a commit, and what was changed in it, as a point of the champion's surface. A literal that it did not
/// have is taken to be what it is now; `None` where something was changed that there is no longer.
fn point(surface: &Surface<'_>, values: &HashMap<(String, String), Value>, moves: &[Moved]) -> Option<Vec<f64>> {
    let mut start = surface.here();
    for (at, literal) in surface.literals.iter().enumerate() {
        if let Some(value) = values.get(&(literal.path.clone(), literal.name.clone())) {
            start[at] = surface.place(at, value)?;
        }
    }
    moved(surface, start, moves)
}

/// A point with some of its values changed; `None` where a literal is not there, or has no such option.
pub fn moved(surface: &Surface<'_>, mut point: Vec<f64>, moves: &[Moved]) -> Option<Vec<f64>> {
    for Moved { path, name, to } in moves {
        let at = surface.literals.iter().position(|literal| literal.path == *path && literal.name == *name)?;
        point[at] = surface.place(at, to)?;
    }
    Some(point)
}
