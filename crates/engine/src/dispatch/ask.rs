//! Asking an agent: what it is told, and the one that answers at once.

use std::collections::HashMap;

use overnight_model::brief::{Brief, Open, Past, Standing};
use overnight_model::event::AttemptFailure;
use overnight_model::judge::Noise;
use overnight_model::proposal::{self, Contents};
use overnight_model::spec::AgentKind;
use overnight_model::study::{Experiment, Row};
use overnight_model::{CommitId, ExperimentId, Millis, Verdict, tuner};

use super::{Action, Arrival, Dispatch, Fault, Machine};

impl<M: Machine> Dispatch<M> {
    pub(super) fn ask(&mut self, experiment: ExperimentId, arrived: &[Arrival]) -> Result<Option<Arrival>, Fault> {
        let champion = self.study.state().champion.unwrap_or(self.study.state().baseline());
        let contents = self.contents_of(champion)?;
        match &self.study.spec().agent.kind {
            AgentKind::Tuner => Ok(Some(self.ask_tuner(experiment, contents, arrived))),
            AgentKind::Command(_) => {
                let brief = self.brief(experiment);
                self.machine.act(Action::Ask { experiment, brief, contents })?;
                Ok(None)
            }
        }
    }

    /// The tuner is a pure function of the champion and of what was tried: it answers at once.
    fn ask_tuner(&self, experiment: ExperimentId, champion: Contents, arrived: &[Arrival]) -> Arrival {
        let state = self.study.state();
        // It sees the part of each file that may change, and nothing that is not text.
        let mut ranges = HashMap::new();
        let mut files = Vec::new();
        for (file, (path, bytes)) in self.study.spec().surface.files.iter().zip(&champion.0) {
            let range = proposal::editable(&file.part, bytes);
            let text = range.clone().and_then(|range| String::from_utf8(bytes[range].to_vec()).ok());
            if let (Some(range), Some(text)) = (range, text) {
                ranges.insert(path.clone(), range);
                files.push((path.clone(), text));
            }
        }
        let with = |changed: &[(String, String)]| {
            let mut contents = champion.clone();
            for (path, text) in changed {
                if let (Some(range), Some((_, bytes))) =
                    (ranges.get(path), contents.0.iter_mut().find(|(name, _)| name == path))
                {
                    bytes.splice(range.clone(), text.bytes());
                }
            }
            contents
        };
        // Ideas of this very turn are not in the state yet, and two slots must not get the same one.
        let (mut history, mut given) = (state.tuned(), Vec::new());
        for arrival in arrived {
            if let Arrival::Proposal { contents, edits, .. } = arrival {
                history.push(tuner::Tried { edits: edits.clone(), outcome: None });
                given.push(contents.id());
            }
        }
        let mut known = |changed: &[(String, String)]| {
            let id = with(changed).id();
            state.tried(&id).is_some() || given.contains(&id)
        };
        match tuner::propose(&files, &history, state.seed ^ experiment.0, &mut known) {
            Some(idea) => Arrival::Proposal {
                experiment,
                contents: with(&idea.files),
                description: idea.description,
                edits: idea.edits,
                took: Millis(0),
                output: None,
            },
            None => {
                let what = "the tuner finds nothing left to try in the surface".to_owned();
                Arrival::AttemptFailed { experiment, failure: AttemptFailure::Exhausted { what }, output: None }
            }
        }
    }

    fn brief(&self, experiment: ExperimentId) -> Brief {
        let (spec, state) = (self.study.spec(), self.study.state());
        let standing = |found: Option<&Experiment>| Standing {
            experiment: found.map_or(ExperimentId::BASELINE, |found| found.id),
            commit: found.and_then(|found| found.commit.clone()).unwrap_or(CommitId(String::new())),
            metric: found.and_then(Experiment::metric),
        };
        let past = |row: &Row| {
            let verdict = row.verdict?;
            let reason = row.reason.clone().unwrap_or_default();
            // Numbers of another evaluation would mislead; what was tried and what came of it need not.
            let is_present = row.segment == state.segment_number().0;
            (verdict != Verdict::Baseline).then(|| Past {
                experiment: row.experiment,
                description: row.description.clone(),
                verdict: verdict.name(),
                reason: if is_present { reason } else { "judged under an earlier evaluation".to_owned() },
                metric: row.metric.filter(|_| is_present),
                gain: row.gain.filter(|_| is_present),
                undecided: is_present && Brief::is_undecided(row),
            })
        };
        let under_way = |open: &Experiment| Open { experiment: open.id, description: open.description.clone() };
        let folder = &spec.evaluate.folder;
        Brief {
            study: spec.study.clone(),
            experiment,
            metric: spec.metric.name.clone(),
            goal: spec.metric.goal,
            min_gain: spec.metric.min_gain,
            budget_seconds: spec.evaluate.budget.as_secs(),
            surface: spec.surface.paths().map(|path| crate::load::within(folder, path)).collect(),
            program: None,
            baseline: standing(state.find(state.baseline())),
            champion: standing(state.champion()),
            noise_sd: match state.noise() {
                Noise::Unknown => None,
                Noise::Deterministic => Some(0.0),
                Noise::Noisy { sd, .. } => Some(sd),
            },
            recent: self.recent.iter().filter_map(past).collect(),
            redo: Brief::to_redo(self.recent.iter()),
            open: state
                .open()
                .filter(|open| open.id != state.baseline() && open.content.is_some())
                .map(under_way)
                .collect(),
        }
    }
}
