//! Asking an agent: what it is told, and the one that answers at once.

use overnight_model::brief::{Brief, Open, Past, Standing};
use overnight_model::judge::Noise;
use overnight_model::spec::AgentKind;
use overnight_model::study::{Experiment, Row};
use overnight_model::tuner::report::Report;
use overnight_model::{CommitId, ExperimentId, Verdict};

use super::{Action, Arrival, Dispatch, Fault, Machine};

impl<M: Machine> Dispatch<M> {
    pub(super) fn ask(&mut self, experiment: ExperimentId, arrived: &[Arrival]) -> Result<Option<Arrival>, Fault> {
        let champion = self.study.state().champion.unwrap_or(self.study.state().baseline());
        let contents = self.contents_of(champion)?;
        match &self.study.spec().agent.kind {
            AgentKind::Tuner => Ok(Some(self.ask_tuner(experiment, &contents, arrived)?)),
            AgentKind::Command(_) | AgentKind::Coding(_) => {
                let tuning = self.tuning(&contents)?;
                let brief = self.brief(experiment, tuning);
                self.machine.act(Action::Ask { experiment, brief, contents })?;
                Ok(None)
            }
        }
    }

    fn brief(&self, experiment: ExperimentId, tuning: Option<Report>) -> Brief {
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
            tuning,
        }
    }
}
