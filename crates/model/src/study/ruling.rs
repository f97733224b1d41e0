//! What the judge says of a candidate at this moment: another trial, of which side, or a verdict.

use super::Study;
use super::experiment::Experiment;
use super::need::{Need, is_hopeless, judged};
use crate::event::{Judged, Purpose, Retracted};
use crate::judge::{self, Estimate, Evidence, Mind, Opinion, Ruling, Side};
use crate::spec::Mode;
use crate::units::{Goal, Score};
use crate::verdict::{Reason, Verdict};

/// A trial of the champion is worth a little more than it shows: it serves the candidates after this one as well.
const CHAMPION_SERVES: f64 = 1.25;
/// The most trials of one candidate and for its sake, however long the night; and the fewest that it may have.
const MOST_TRIALS: f64 = 24.0;
const FEWEST_TRIALS: f64 = 4.0;
/// A gain of more than so many sd is kept only where the champion was measured within so many trials.
const HUGE: f64 = 15.0;
const LATELY: u32 = 3;
/// So many commits have to give their number twice before one trial decides.
const EQUAL_TWICE: usize = 4;
/// As long as the champion was looked at fewer times than this, hardly anything is known of the noise, and one trial keeps
/// only what is this sure.
const KNOWN: u32 = 4;
const SURE_AT_ONCE: f64 = 0.5;
/// What has fixed its luck has to be this likely to be better: it was one look, and there cannot be another.
const SURE_OF_FROZEN: f64 = 0.99;
/// A keep this unlikely to be better is taken back, and no sooner.
const RETRACT_BELOW: f64 = 0.3;
/// One that was found not to be what it was kept for has to be this likely to be better all the same.
const RETRACT_REFUTED: f64 = 0.6;
/// How sure it has to be that what is simpler costs no more than the margin; and the margin, in sd of one trial.
const SURE_OF_SIMPLER: f64 = 0.9;
const SIMPLER_MARGIN: f64 = 0.25;

/// Where a trial brings one sd elsewhere, it is dearer than the mode says by so much, up to so much in all: what is known of
/// a candidate is soon enough, and the next one is the better use of a trial.
const DEARER: f64 = 4.0;
const DEAREST: f64 = 2.0;

/// What one mode of the judge asks for.
struct Demands {
    /// How large a gain has to be, at the least, in sd of one trial of normal noise: what is kept has to be read by somebody.
    bar: f64,
    /// How dear a trial is, as a multiple of what it brings elsewhere.
    price: f64,
    /// How likely it has to be better by that much, and whether it gets trials until that is known.
    sure: f64,
    insists: bool,
}

fn demands(mode: Mode) -> Demands {
    match mode {
        Mode::Explore => Demands { bar: 0.0, price: 1.5, sure: 0.0, insists: false },
        Mode::Balanced => Demands { bar: 0.018, price: 0.5, sure: 0.0, insists: false },
        Mode::Strict => Demands { bar: 0.03, price: 0.35, sure: 0.95, insists: true },
    }
}

impl Study {
    pub(super) fn ruling_need(&self, experiment: &Experiment) -> Need {
        if self.state.carried() == Some(experiment.id) {
            return self.carried_need(experiment);
        }
        if experiment.fresh().is_empty() {
            return Need::Trial(Purpose::Screen);
        }
        match self.state.mind() {
            Some(mind) => self.weighed_need(mind, experiment),
            None => self.exact_need(experiment),
        }
    }

    /// The champion does not hold what it was kept for, by everything measured since.
    pub(super) fn retraction(&self) -> Option<Retracted> {
        let champion = self.state.champion()?;
        let before = self.state.judging.before?;
        let (kept, chance) = self.state.mind()?.second_thoughts()?;
        let is_shown = champion.fresh().iter().any(|trial| super::experiment::is_fair(trial.purpose));
        let frozen = self.state.is_frozen(champion);
        let least = match self.state.judging.refuted {
            _ if frozen => SURE_OF_FROZEN,
            true => RETRACT_REFUTED,
            false => RETRACT_BELOW,
        };
        if kept != champion.id || !is_shown || chance >= least || self.state.find(before).is_none() {
            return None;
        }
        let opinion = self.state.mind()?.opinion(kept, 0.0)?;
        let reason = match frozen {
            true => Reason::FixedLuck { gain: opinion.expected },
            false => Reason::NotReplicated { gain: opinion.expected, chance },
        };
        Some(Retracted { experiment: kept, reason, estimate: opinion.estimate() })
    }

    /// How large a gain has to be to be worth keeping.
    pub(super) fn bar(&self, mind: &Mind) -> f64 {
        let asked = self.spec.metric.min_gain.map_or(0.0, Score::get);
        // The finer the grain, the more of what there is to gain is small.
        asked.max(demands(self.spec.judge.mode).bar * mind.grain() * (mind.grain() / mind.noise()))
    }

    /// What another trial has to be worth.
    fn price(&self, mind: &Mind, opinion: &Opinion) -> f64 {
        let asked = demands(self.spec.judge.mode).price;
        (asked + DEARER * opinion.price / mind.left()).min(DEAREST) * opinion.price
    }

    /// Whether there is no champion but the one it was made for.
    pub(super) fn is_current(&self, experiment: &Experiment) -> bool {
        self.state.champion().zip(experiment.parent.as_ref()).is_some_and(|(champion, parent)| champion.is(parent))
    }

    /// Whether a surface that was let go is worth another look: its replicates are those of the first.
    pub(super) fn deserves_more(&self, content: &crate::id::ContentId) -> bool {
        let known = self.state.mind().zip(self.state.came_close(content));
        known.is_some_and(|(mind, before)| {
            let opinion = mind.again(before, self.bar(mind));
            opinion.of_candidate > self.price(mind, &opinion)
        })
    }

    /// The most trials of one candidate and for its sake.
    fn most_trials(&self) -> u32 {
        let share = self.night_trials().map_or(MOST_TRIALS, |night| self.spec.judge.max_share * night);
        share.clamp(FEWEST_TRIALS, MOST_TRIALS) as u32
    }

    fn weighed_need(&self, mind: &Mind, experiment: &Experiment) -> Need {
        let trials = experiment.trials.len() as u32;
        let (spent, most) = (trials + experiment.aided, self.most_trials());
        // A trial that we ourselves lose every time must not hold up the night.
        let can_tell = self.state.champion().is_some_and(|champion| !is_hopeless(champion));
        // Nothing is decided while the machine may be another one.
        if self.state.judging.alarm.is_some() && can_tell && spent < most {
            return Need::Champion;
        }
        let bar = self.bar(mind);
        let Some(opinion) = mind.opinion(experiment.id, bar) else {
            let what = "the judge has no opinion of what was measured; this is a fault of overnight".to_owned();
            return Need::Verdict(judged(experiment, Verdict::EngineError, Reason::Engine { what }, None));
        };
        let Demands { sure, insists, .. } = demands(self.spec.judge.mode);
        let frozen = self.state.is_frozen(experiment);
        let sure = if frozen { sure.max(SURE_OF_FROZEN) } else { sure };
        let price = self.price(mind, &opinion);
        let pays = |worth: f64| worth > price;
        let hasty = self.state.judging.looks < KNOWN && experiment.scores().len() == 1 && opinion.chance < SURE_AT_ONCE;
        let undecided = opinion.expected > bar && (hasty || insists && opinion.chance < sure);
        let of_champion = if can_tell { CHAMPION_SERVES * opinion.of_champion } else { 0.0 };
        let side = match (opinion.of_candidate, of_champion) {
            _ if spent >= most => None,
            (_, champion) if frozen => pays(champion).then_some(Side::Champion),
            (candidate, champion) if pays(candidate.max(champion)) || undecided => {
                Some(if candidate >= champion { Side::Candidate } else { Side::Champion })
            }
            _ => None,
        };
        match side {
            Some(Side::Candidate) => return Need::Trial(Purpose::Confirm),
            Some(Side::Champion) => return Need::Champion,
            None => {}
        }
        let Opinion { expected: gain, chance, .. } = opinion;
        // What is many times the noise may be the machine's: then the champion has it too.
        let is_huge = gain > HUGE * mind.noise() && experiment.aided == 0 && self.state.judging.unwatched > LATELY;
        if is_huge && can_tell && self.is_current(experiment) && spent < most {
            return Need::Champion;
        }
        if gain > bar && chance >= sure {
            return self.keep_need(experiment, Reason::Expected { gain, chance, trials }, Some(opinion));
        }
        if let Some(reason) = self.simpler(mind, experiment) {
            return self.keep_need(experiment, reason, Some(opinion));
        }
        let reason = match frozen && gain > bar {
            true => Reason::FixedLuck { gain },
            false => Reason::Unlikely { gain, chance, trials },
        };
        let judged = self.judged(experiment, Verdict::Discarded, reason, Some(opinion));
        Need::Verdict(judged)
    }

    /// Fewer tokens, and no worse than the last champion that won on the metric by more than the margin: which is spent
    /// once, however many simpler ones follow each other.
    fn simpler(&self, mind: &Mind, experiment: &Experiment) -> Option<Reason> {
        let (tokens, before) = (experiment.tokens?, self.state.champion()?.tokens?);
        let margin = self.spec.metric.min_gain.map_or(SIMPLER_MARGIN * mind.noise(), Score::get);
        let left = margin - self.state.judging.slack;
        if tokens >= before || left <= 0.0 {
            return None;
        }
        let opinion = mind.opinion(experiment.id, -left)?;
        (opinion.chance >= SURE_OF_SIMPLER && opinion.expected > -left / 2.0).then_some(Reason::Simpler {
            gain: opinion.expected,
            tokens,
            before,
        })
    }

    /// Where every repeat gives the same, the same value twice decides.
    fn exact_need(&self, experiment: &Experiment) -> Need {
        let Some(facts) = &self.state.segment else { return Need::Patience };
        let goal = facts.metric.goal;
        let against = match self.is_current(experiment) {
            true => self.state.champion(),
            false => experiment.parent.as_ref().and_then(|parent| self.state.standing().find(|found| found.is(parent))),
        };
        let Some(against) = against.or_else(|| self.state.champion()) else { return Need::Patience };
        let (Some(level), Some(&score)) = (against.level().mean(), experiment.scores().last()) else {
            return Need::Patience;
        };
        let gain = goal.gain(level, score);
        let estimate = Estimate { gain, low: Some(gain), high: Some(gain) };
        let asked = self.spec.metric.min_gain.map_or(0.0, Score::get);
        let simpler = || {
            let (tokens, before) = (experiment.tokens?, against.tokens?);
            let is_equal = gain >= -(asked - self.state.judging.slack).max(0.0);
            (tokens < before && is_equal).then_some(Reason::Simpler { gain, tokens, before })
        };
        let reason = match gain {
            gain if gain > 0.0 && gain >= asked => {
                Reason::Better { gain, bound: 0.0, trials: experiment.trials.len() as u32 }
            }
            gain => match simpler() {
                Some(reason) => reason,
                None => {
                    let reason = match gain > 0.0 {
                        true => Reason::BelowMinGain { gain, min_gain: asked },
                        false => Reason::NotBetter { gain },
                    };
                    return Need::Verdict(judged(experiment, Verdict::Discarded, reason, Some(estimate)));
                }
            },
        };
        // Chance that spares the baseline may still be in what candidates do, until several of them were equal twice.
        let equal_twice = self.state.standing().filter(|standing| standing.scores().len() > 1).count();
        match experiment.scores().len() {
            1 if equal_twice < EQUAL_TWICE => Need::Trial(Purpose::Confirm),
            _ => self.keep_need_of(experiment, judged(experiment, Verdict::Kept, reason, Some(estimate))),
        }
    }

    fn carried_need(&self, experiment: &Experiment) -> Need {
        let (Some(champion), Some(facts)) = (self.state.champion(), &self.state.segment) else {
            return Need::Patience;
        };
        let evidence = Evidence {
            goal: facts.metric.goal,
            noise: self.state.noise(),
            champion: &champion.level(),
            candidate: &experiment.scores(),
        };
        match judge::rule_on_carried(&evidence) {
            None => Need::Patience,
            // It was not chosen for these runs: all of them count.
            Some(Ruling::Measure) => Need::Trial(Purpose::Remeasure),
            Some(Ruling::Discard(reason, estimate)) => {
                Need::Verdict(judged(experiment, Verdict::Discarded, reason, Some(estimate)))
            }
            Some(Ruling::Keep(reason, estimate)) => {
                self.keep_need_of(experiment, judged(experiment, Verdict::Kept, reason, Some(estimate)))
            }
        }
    }

    fn keep_need(&self, experiment: &Experiment, reason: Reason, opinion: Option<Opinion>) -> Need {
        self.keep_need_of(experiment, self.judged(experiment, Verdict::Kept, reason, opinion))
    }

    /// What stands between a candidate that won and its keep: a champion that moved, a step too large to be believed,
    /// guards.
    fn keep_need_of(&self, experiment: &Experiment, judged: Judged) -> Need {
        let is_carried = self.state.carried() == Some(experiment.id);
        if !is_carried && !self.is_current(experiment) {
            return Need::Restack;
        }
        if let Some((gain, limit)) =
            judged.estimate.zip(self.largest_step()).map(|(estimate, limit)| (estimate.gain, limit))
            && gain > limit
            && !is_carried
        {
            let reason = Reason::TooGood { gain, limit };
            return Need::Verdict(Judged { verdict: Verdict::Suspect, reason, ..judged });
        }
        let estimate = judged.estimate.unwrap_or(Estimate { gain: 0.0, low: None, high: None });
        self.need_before_keep(experiment, estimate).unwrap_or(Need::Verdict(judged))
    }

    /// `max_step_gain` in the metric's own unit.
    fn largest_step(&self) -> Option<f64> {
        let level = self.state.champion()?.metric();
        self.spec.judge.max_step_gain.and_then(|limit| limit.limit(level?))
    }

    /// A verdict with the level that everything known gives it, never the value of the run that won.
    fn judged(&self, experiment: &Experiment, verdict: Verdict, reason: Reason, opinion: Option<Opinion>) -> Judged {
        let plain = judged(experiment, verdict, reason, opinion.map(|opinion| opinion.estimate()));
        let level = self.state.mind().filter(|_| verdict == Verdict::Kept).zip(opinion);
        let goal = self.state.segment.as_ref().map_or(Goal::Max, |facts| facts.metric.goal);
        let metric = level.map(|(mind, opinion)| goal.gain(0.0, mind.level().0 + opinion.expected));
        Judged { metric: metric.and_then(Score::new).or(plain.metric), opinion, ..plain }
    }
}
