//! What the judge thought of one experiment, what it was compared with, and what became of it later.

use overnight_engine::ledger::{Reader, StoredEvent};
use overnight_model::event::{Judged, Proposed};
use overnight_model::judge::{Estimate, Opinion};
use overnight_model::study::{Row, Summary};
use overnight_model::units::short_number;
use overnight_model::verdict::percent;
use overnight_model::{CommitId, ExperimentId, Measurement, Reason, Score, Seed, TrialId, What};
use serde_json::{Value, json};

use super::sheet::Fact;
use crate::commands::origin;
use crate::error::Outcome;
use crate::views::night::{self, rough};
use crate::views::term;

/// Everything about a verdict that is not in the row.
#[derive(Default)]
pub(super) struct Case {
    opinion: Option<Opinion>,
    /// What it was kept for, where it was taken back later.
    kept_for: Option<Reason>,
    /// The champions that it was put on after its own had moved, and the first trial on each.
    restacked: Vec<(CommitId, Option<ExperimentId>)>,
    aids: Vec<Aid>,
    only_seed: bool,
    over_baseline: Option<Estimate>,
    /// The same in words.
    in_all: Option<String>,
}

/// A trial of the champion for its sake.
struct Aid {
    champion: ExperimentId,
    trial: TrialId,
    seed: Seed,
    measurement: Measurement,
}

impl Case {
    pub(super) fn of(reader: &Reader, row: &Row, events: &[StoredEvent], summary: Option<&Summary>) -> Outcome<Case> {
        let mut case = Case::default();
        let mut champions: Vec<ExperimentId> = Vec::new();
        for stored in events {
            match &stored.event.what {
                What::Proposed(Proposed { parent, reseeds, .. }) => {
                    case.only_seed = *reseeds;
                    champions.extend(origin::experiment_of(reader, parent)?);
                }
                What::Restacked(Proposed { parent, .. }) => {
                    let champion = origin::experiment_of(reader, parent)?;
                    champions.extend(champion);
                    case.restacked.push((parent.clone(), champion));
                }
                What::Judged(Judged { opinion, reason, .. }) => {
                    case.opinion = *opinion;
                    case.kept_for = Some(reason.clone());
                }
                _ => {}
            }
        }
        let is_retracted = events.iter().any(|stored| matches!(stored.event.what, What::Retracted(_)));
        case.kept_for = case.kept_for.filter(|_| is_retracted);
        champions.dedup();
        for champion in champions {
            case.aids.extend(aids(champion, row.experiment, &reader.events_of(champion)?));
        }
        let champion = summary.and_then(|summary| summary.champion.as_ref()).map(|level| level.experiment);
        if let Some(summary) = summary.filter(|_| champion == Some(row.experiment)) {
            (case.over_baseline, case.in_all) = (summary.gained, night::gained(summary));
        }
        Ok(case)
    }

    /// Why it is so sure, or so unsure.
    pub(super) fn facts(&self) -> Vec<Fact<'static>> {
        let mut lines = Vec::new();
        lines.extend(self.kept_for.as_ref().map(|reason| ("kept for", reason.to_string())));
        if let Some(Opinion { chance, of_candidate, of_champion, price, .. }) = self.opinion {
            let chance = percent(chance);
            lines
                .push(("chance", format!("{chance} that it is better than that champion, by as much as is asked for")));
            let champion =
                if of_champion > 0.0 { format!(", one of the champion {}", rough(of_champion)) } else { String::new() };
            let (worth, price) = (rough(of_candidate), rough(price));
            lines.push((
                "next trial",
                format!("one more of it was worth {worth}{champion}; elsewhere in this study a trial brings {price}"),
            ));
        }
        lines.extend(self.in_all.as_ref().map(|gained| ("in all", gained.clone())));
        for (commit, champion) in &self.restacked {
            let whose = champion.map_or_else(String::new, |champion| format!(" ({})", term::whose(champion)));
            let commit = commit.short();
            lines.push((
                "restacked",
                format!("onto {commit}{whose}, which had become the champion meanwhile; it is judged there"),
            ));
        }
        if self.only_seed {
            let what = "only a seed-like literal was changed: another draw, and no other program";
            lines.push(("note", what.to_owned()));
        }
        lines
    }

    /// The champion's trials, below its own.
    pub(super) fn trial_lines(&self) -> Vec<String> {
        let line = |Aid { champion, trial, seed, measurement }: &Aid| {
            let result = match measurement.metric {
                Some(score) => short_number(score.get()),
                None => measurement.ending.to_string(),
            };
            let whose = match champion.is_baseline() {
                true => "the champion, which was the baseline".to_owned(),
                false => format!("the champion, experiment {champion}"),
            };
            format!("  trial {trial:<5} remeasure {result:>12}  seed {} · of {whose}, for its sake", seed.0)
        };
        self.aids.iter().map(line).collect()
    }

    pub(super) fn json(&self) -> Vec<(&'static str, Value)> {
        let aids = self.aids.iter().map(|Aid { champion, trial, seed, measurement }| {
            let metric = measurement.metric.map(Score::get);
            json!({ "trial": trial.0, "champion": champion.0, "seed": seed.0, "metric": metric })
        });
        let restacked = self
            .restacked
            .iter()
            .map(|(commit, champion)| json!({ "parent": commit, "champion": champion.map(|champion| champion.0) }));
        vec![
            ("opinion", json!(self.opinion)),
            ("champion_trials", json!(aids.collect::<Vec<_>>())),
            ("restacked", json!(restacked.collect::<Vec<_>>())),
            ("kept_for", json!(self.kept_for.as_ref().map(ToString::to_string))),
            ("only_seed", json!(self.only_seed)),
            ("over_baseline", json!(self.over_baseline)),
        ]
    }
}

/// The trials of a champion that were run for one candidate.
fn aids(champion: ExperimentId, candidate: ExperimentId, events: &[StoredEvent]) -> Vec<Aid> {
    let started = events.iter().filter_map(|stored| match stored.event.what {
        What::TrialStarted { trial, seed, aid, .. } if aid == Some(candidate) => Some((trial, seed)),
        _ => None,
    });
    let finished = |trial: TrialId| {
        events.iter().find_map(|stored| match &stored.event.what {
            What::TrialFinished { trial: ended, measurement, .. } if *ended == trial => Some(measurement.clone()),
            _ => None,
        })
    };
    started.filter_map(|(trial, seed)| Some(Aid { champion, trial, seed, measurement: finished(trial)? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_can_read_how_sure_it_was_and_what_became_of_it() {
        let opinion = Opinion {
            expected: 0.0123,
            low: -0.001,
            high: 0.03,
            chance: 0.934,
            of_candidate: 0.000_12,
            of_champion: 0.000_21,
            price: 0.003_1,
        };
        let case = Case {
            opinion: Some(opinion),
            kept_for: Some(Reason::Expected { gain: 0.0123, chance: 0.934, trials: 2 }),
            restacked: vec![(CommitId("d1b705600706c11a6fd52df89ac973cc4f065b4d".to_owned()), Some(ExperimentId(4)))],
            only_seed: true,
            ..Case::default()
        };
        insta::assert_snapshot!(super::super::sheet::lines_of(&case.facts()).join("\n"), @"
        kept for    better by 0.0123, 93 % sure, 2 trials
        chance      93 % that it is better than that champion, by as much as is asked for
        next trial  one more of it was worth 0.00012, one of the champion 0.00021; elsewhere in this study a trial brings 0.0031
        restacked   onto d1b7056007 (experiment 4), which had become the champion meanwhile; it is judged there
        note        only a seed-like literal was changed: another draw, and no other program
        ");
        assert_eq!(Case::default().facts(), Vec::new());
    }
}
