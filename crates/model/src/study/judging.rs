//! What the judge's memory learns from events: the part of the fold that weighs numbers.

use std::collections::VecDeque;

use super::alarm::Alarm;
use super::experiment::{Experiment, Trial};
use super::state::State;
use crate::event::Purpose;
use crate::id::{ContentId, ExperimentId};
use crate::judge::{Estimate, Look, Mind, Remembered};
use crate::stats::Tally;
use crate::units::Timestamp;
use crate::verdict::{Group, Reason, Verdict};

/// How many candidates that were let go are remembered: those that came close, and those since the champion was last
/// seen to be what it was.
const REMEMBERED: usize = 64;
const RECENT: usize = 32;
/// Of those that came close, how many are tried again on a plateau.
const NEAR: usize = 5;
/// The same number so many times is no chance, where the baseline has given as many and none twice.
const FROZEN: usize = 3;
/// How far the machine may have moved between two runs, in sd of one trial.
const OVERNIGHT: f64 = 1.0;
const A_NIGHT: f64 = 8.0 * 3_600_000.0;

/// Everything of the fold that only the judge needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Judging {
    /// None while every repeat was equal.
    pub(super) mind: Option<Mind>,
    /// Trials since the champion was last measured, and how often it was.
    pub(super) unwatched: u32,
    pub(super) looks: u32,
    /// The keeps that stand, in the order in which they were made.
    pub(super) kept: Vec<ExperimentId>,
    /// The champion before this one, as long as its place can be given back; and those before that.
    pub(super) before: Option<ExperimentId>,
    earlier: Vec<ExperimentId>,
    /// What champion and baseline gave in turns since the champion took its place.
    pub(super) closing: Closing,
    /// Trials since the baseline was last measured.
    pub(super) unseen: u32,
    /// The champion gave what it hardly could: the machine seems to be another one, or it is not what it was kept for.
    pub(super) alarm: Option<Alarm>,
    /// How many of the champion's scores in a row were odd: above what was expected, or below it where negative.
    pub(super) odd: i32,
    /// The champion was found not to be what it was kept for: it stands only if it is better all the same.
    pub(super) refuted: bool,
    /// Candidates that were let go though they came close.
    close: VecDeque<(ContentId, ExperimentId, Remembered)>,
    /// Candidates that were let go since the champion was last seen to be what it was.
    pub(super) recent: VecDeque<Again>,
    /// Those to try again.
    pub(super) again: VecDeque<Again>,
    /// Those that came close and are for a plateau, the latest last.
    pub(super) near: VecDeque<Again>,
    pub(super) spent: Spent,
    /// What simpler champions have cost, at most, since the last one that won on the metric.
    pub(super) slack: f64,
}

/// A candidate whose verdict may have been the machine's fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Again {
    pub experiment: ExperimentId,
    pub champion: ExperimentId,
    pub surface: Vec<crate::proposal::SurfaceBlob>,
    pub content: ContentId,
    pub form: Option<ContentId>,
    pub agent: String,
    pub description: String,
}

/// Scores of both, from the trials that close a night.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Closing {
    pub(super) champion: Tally,
    pub(super) baseline: Tally,
    /// One of them did not run: there is nothing to be measured by such trials.
    pub(super) is_broken: bool,
}

/// Where trials went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Spent {
    /// The baseline's first.
    pub calibrate: u64,
    /// The first of each candidate.
    pub screen: u64,
    /// Further ones of a candidate.
    pub confirm: u64,
    /// Those of the champion, for a candidate's sake.
    pub remeasure: u64,
    /// Those of the champion for their own sake, and those that close a night.
    pub sentinel: u64,
}

impl Judging {
    /// A win on the metric makes a new margin; what is only simpler spends it, and more the less is known of it.
    pub(super) fn spend_slack(&mut self, reason: &Reason, estimate: Option<Estimate>) {
        self.slack = match (reason, estimate) {
            (Reason::Simpler { .. }, Some(Estimate { gain, low, .. })) => {
                let doubt = low.map_or(0.0, |low| (gain - low) / 4.0);
                self.slack + (-gain).max(0.0) + doubt
            }
            _ => 0.0,
        };
    }
}

impl Spent {
    pub fn trials(&self) -> u64 {
        self.calibrate + self.screen + self.confirm + self.remeasure + self.sentinel
    }

    fn count(&mut self, purpose: Purpose) {
        *match purpose {
            Purpose::Baseline => &mut self.calibrate,
            Purpose::Screen => &mut self.screen,
            Purpose::Confirm => &mut self.confirm,
            Purpose::Remeasure => &mut self.remeasure,
            Purpose::Sentinel | Purpose::Close | Purpose::Check => &mut self.sentinel,
        } += 1;
    }
}

impl State {
    /// The judge's memory; none while every repeat was equal.
    pub fn mind(&self) -> Option<&Mind> {
        self.judging.mind.as_ref()
    }

    /// Where the trials of this segment went.
    pub fn spent(&self) -> Spent {
        self.judging.spent
    }

    /// Whether every repeat of a candidate gives its own number again, in a metric whose noise never does: then it has
    /// fixed its luck, and repeats of it tell nothing.
    pub fn is_frozen(&self, experiment: &Experiment) -> bool {
        let scores = experiment.scores();
        if scores.len() < FROZEN || scores.iter().any(|score| *score != scores[0]) {
            return false;
        }
        // A metric of few digits gives a number again by chance.
        let Some(baseline) = self.find(self.baseline()) else { return false };
        let mut known: Vec<f64> = baseline.looks().filter_map(Trial::score).collect();
        known.sort_by(f64::total_cmp);
        known.len() >= FROZEN && known.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// A candidate takes its place before the judge with its first trial.
    pub(super) fn place(&mut self, id: ExperimentId, purpose: Purpose, aid: Option<ExperimentId>) {
        if let Some(aided) = aid {
            self.with_open(aided, |open| open.aided += 1);
        }
        if purpose != Purpose::Screen || self.carried() == Some(id) {
            return;
        }
        let champion = self.champion;
        let known = self.open.get(&id).and_then(|open| open.identity().cloned());
        let Judging { mind: Some(mind), close, .. } = &mut self.judging else { return };
        if mind.knows(id) {
            return;
        }
        let same = |(content, against, _): &&(ContentId, ExperimentId, Remembered)| {
            Some(content) == known.as_ref() && Some(*against) == champion
        };
        match close.iter().find(same) {
            Some((_, _, before)) => mind.open_again(id, before),
            None => mind.open(id),
        }
    }

    /// Weighs a score.
    pub(super) fn weigh(&mut self, id: ExperimentId, purpose: Purpose) {
        self.judging.spent.count(purpose);
        let since = self.judging.unseen;
        self.judging.unseen = if id == self.baseline() { 0 } else { self.judging.unseen.saturating_add(1) };
        if purpose == Purpose::Check {
            return;
        }
        let last = self.find(id).and_then(|found| found.trials.last());
        let (score, seed) = (last.and_then(Trial::score), last.map(|trial| trial.seed));
        self.judging.closing.is_broken |= purpose == Purpose::Close && score.is_none();
        let is_asked = self.judging.alarm.is_some() && self.judging.before == Some(id);
        if is_asked && score.is_none() {
            self.hear_former(None);
        }
        let Some(score) = score else { return };
        let told = self.told(score);
        let look = Look { score: told, seed };
        if purpose == Purpose::Close {
            let (baseline, closing) = (self.segment.as_ref().map(|facts| facts.experiment), &mut self.judging.closing);
            // One that was champion when it began may be neither by now.
            if Some(id) == self.champion {
                closing.champion.add(told);
            } else if Some(id) == baseline {
                closing.baseline.add(told);
            }
        }
        let probed = self.find(id).and_then(Experiment::probed);
        if let (Some((gap, since)), Some(mind)) = (probed, &mut self.judging.mind) {
            mind.probe(gap, since);
        }
        // What repeats itself in a metric that never does is one look at it, however often.
        let is_new = self.find(id).is_none_or(|found| !self.is_frozen(found) && !found.repeats_itself());
        let is_champion = self.champion == Some(id);
        if self.judging.mind.is_none() {
            return self.wake();
        }
        if is_asked {
            self.hear_former(Some(look));
        } else if is_champion {
            self.judging.unwatched = 0;
            // The same number again with the same seed was no look.
            self.judging.looks += u32::from(self.find(id).is_none_or(|found| !found.repeats_itself()));
            if is_new {
                self.watch(look);
            }
        } else if self.judging.before == Some(id) {
            self.judging.mind.iter_mut().filter(|_| is_new).for_each(|mind| mind.former(look));
        } else if id == self.baseline() {
            // It is far behind, and still scatters as everything does.
            let before = self.find(id).map(Experiment::scores).unwrap_or_default();
            let before = before.split_last().map_or(&[][..], |(_, before)| before);
            let known = Tally::of(before.iter().map(|score| self.told(*score)));
            self.judging.mind.iter_mut().filter(|_| is_new).for_each(|mind| mind.repeat(told, &known, since));
        } else if self.open.contains_key(&id) && self.carried() != Some(id) {
            self.judging.unwatched += 1;
            let Some(mind) = &mut self.judging.mind else { return };
            // It was begun when nobody knew yet that there is something to weigh.
            if !mind.knows(id) {
                mind.open(id);
            }
            if is_new {
                mind.candidate(id, look);
            }
        }
    }

    /// What a verdict teaches.
    pub(super) fn let_go(&mut self, experiment: &Experiment, verdict: Verdict) {
        let id = experiment.id;
        let opinion = self.judging.mind.as_ref().and_then(|mind| mind.opinion(id, 0.0));
        let near = opinion.is_some_and(|opinion| opinion.is_close());
        let is_undecided = opinion.is_some_and(|opinion| opinion.is_undecided());
        let champion = self.champion;
        // Made for another champion, it would undo what was kept since.
        let is_current =
            self.champion().zip(experiment.parent.as_ref()).is_some_and(|(found, parent)| found.is(parent));
        if let (Verdict::Discarded, Some(content), Some(champion)) = (verdict, &experiment.content, champion)
            && is_current
        {
            let again = Again {
                experiment: id,
                champion,
                surface: experiment.surface.clone(),
                content: content.clone(),
                form: experiment.form.clone(),
                agent: experiment.agent.clone(),
                description: experiment.description.clone(),
            };
            // Once is enough: it would come close again and again.
            if near && is_undecided && !experiment.is_second_try {
                push(&mut self.judging.near, again.clone(), NEAR);
            }
            push(&mut self.judging.recent, again, RECENT);
        }
        let Some(mind) = &mut self.judging.mind else { return };
        match verdict.group() {
            Group::Kept => {}
            Group::NotBetter => {
                let remembered = mind.discard(id).filter(|_| near);
                if let (Some(remembered), Some(content), Some(champion)) = (remembered, experiment.identity(), champion)
                {
                    push(&mut self.judging.close, (content.clone(), champion, remembered), REMEMBERED);
                }
            }
            Group::Broken | Group::Refused | Group::NotCounted => mind.forget(id),
        }
    }

    /// The champion is another one.
    pub(super) fn crown(&mut self, id: ExperimentId, before: Option<ExperimentId>) {
        let is_keep = self.find(id).is_some_and(|found| matches!(found.verdict, Some((Verdict::Kept, _))));
        let is_retreat = self.judging.before == Some(id);
        self.judging.closing = Closing::default();
        self.judging.unwatched = 0;
        (self.judging.refuted, self.judging.alarm) = (false, None);
        if is_retreat {
            self.judging.kept.pop();
            self.judging.before = self.judging.earlier.pop();
        } else if is_keep {
            self.judging.kept.push(id);
            match std::mem::replace(&mut self.judging.before, before) {
                Some(earlier) => self.judging.earlier.push(earlier),
                None => self.judging.earlier.clear(),
            }
        } else {
            self.judging.before = None;
            self.judging.earlier.clear();
        }
        self.judging.recent.clear();
        self.judging.again.clear();
        self.judging.near.clear();
        match &mut self.judging.mind {
            None => self.wake(),
            Some(mind) if is_retreat => mind.retract(),
            Some(mind) if mind.knows(id) => mind.keep(id),
            // A person put it there, or it was carried over: its own scores tell its level.
            Some(_) => {
                let looks = self.champion_looks(id);
                if let Some(mind) = &mut self.judging.mind {
                    mind.replace(&looks);
                }
            }
        }
    }

    /// A new run: what the machine did meanwhile is not known.
    pub(super) fn resume(&mut self, at: Timestamp) {
        let away = (at.since(self.last_at).0 as f64 / A_NIGHT).min(1.0);
        if let Some(mind) = &mut self.judging.mind {
            mind.unsettle(OVERNIGHT * away);
        }
        self.judging.unwatched = u32::MAX / 2;
        self.judging.alarm = None;
        self.judging.closing.is_broken = false;
    }

    /// Whether a surface that was let go may be tried again: it came close, and the champion is still the same.
    pub(super) fn came_close(&self, content: &ContentId) -> Option<&Remembered> {
        let found =
            self.judging.close.iter().find(|(known, against, _)| known == content && Some(*against) == self.champion);
        found.map(|(_, _, remembered)| remembered)
    }

    /// A score as the judge hears it: more is better.
    pub(super) fn told(&self, score: f64) -> f64 {
        self.segment.as_ref().map_or(score, |facts| facts.metric.goal.gain(0.0, score))
    }

    fn champion_looks(&self, id: ExperimentId) -> Vec<Look> {
        self.find(id).map(|found| self.looks(found)).unwrap_or_default()
    }

    /// The scores of an experiment as the judge hears them, with the seed of each.
    pub(super) fn looks(&self, experiment: &Experiment) -> Vec<Look> {
        let look = |trial: &Trial| Some(Look { score: self.told(trial.score()?), seed: Some(trial.seed) });
        experiment.fresh().iter().filter_map(look).collect()
    }

    /// Begins to weigh, as soon as a repeat was unequal. What was decided by one trial until then may have been luck.
    fn wake(&mut self) {
        let Some(champion) = self.champion else { return };
        let looks = self.champion_looks(champion);
        let scores: Vec<f64> = looks.iter().map(|look| look.score).collect();
        let unequal = |scores: &[f64]| scores.windows(2).any(|pair| pair[0] != pair[1]);
        let candidates = self.open.values().map(|open| open.scores()).find(|scores| unequal(scores));
        let told = candidates.unwrap_or_else(|| self.scattered_scores());
        let told: Vec<f64> = told.into_iter().map(|score| self.told(score)).collect();
        let was_deterministic = scores.len() >= 3 && !unequal(&scores);
        let Some(mut mind) = Mind::begin(&looks, &told) else { return };
        let begun = self.open.values().filter(|open| !open.fresh().is_empty() && Some(open.id) != self.carried());
        for open in begun {
            mind.open(open.id);
            self.looks(open).into_iter().for_each(|look| mind.candidate(open.id, look));
        }
        self.judging.mind = Some(mind);
        self.judging.looks = scores.len() as u32;
        if was_deterministic {
            self.try_again();
        }
    }

    /// What was let go lately may be tried again.
    pub(super) fn try_again(&mut self) {
        let recent = std::mem::take(&mut self.judging.recent);
        for again in &recent {
            self.may_come_again(again);
        }
        self.judging.again = recent;
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    queue.push_back(item);
    if queue.len() > most {
        queue.pop_front();
    }
}
