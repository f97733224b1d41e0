//! One idea of what the noise is, and everything believed under it.

use super::deck::SEEDS;
use super::gauss::{Component, Level, Seen, blend_levels};
use super::luck::Luck;
use super::noise::Shape;
use super::normal::density;
use super::prior::{COMPONENTS, HYPOTHESES, prior, rates, with_share_forgotten};
use crate::id::ExperimentId;
use crate::stats::Tally;

/// How much of what was learned about the share of good edits is let go with each further candidate: they run out. What
/// they and harmful ones are like is learned for good, except that no hypothesis is ever out of the question.
const FORGETS_SHARE: f64 = 0.03;
const FORGETS_ALL: f64 = 0.002;
/// One candidate makes no hypothesis less likely than another by more than this: one huge gain is no rich study.
const ONE_SAYS: f64 = 40.0;
/// How much the first score of a candidate says about the noise, next to a repeat.
const FIRST_SAYS: f64 = 0.4;
/// An effect beyond so many sd of one trial is far.
const FAR: f64 = 6.0;
/// So many keeps below the champion can still be taken back, once those on top of them were.
const PAST: usize = 4;
/// How much of what is believed of a candidate is taken back where it is put on another champion: edits interact.
const INTERACTS: f64 = 0.2;
/// By how much the luck of a seed is another one once another commit is champion, as a variance in units of the noise's.
const STIRS: f64 = 0.1;
/// The share of the noise that a seed may settle for one commit alone, and how likely that is.
const OWN_LUCK: [(f64, f64); 3] = [(0.0, 0.5), (0.6, 0.25), (0.9, 0.25)];
/// How much of a probe may be an odd score, and how far off such are.
const ODD_PROBE: f64 = 0.02;
const ODD_PROBE_SD: f64 = 8.0;

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) chance: f64,
    /// How likely the last score was here, as a logarithm, until it is weighed against the other worlds.
    pub(super) news: f64,
    /// The sd of one trial with a seed whose luck is known.
    pub(super) sd: f64,
    /// The sd of the luck of seeds; 0 where they make none that commits have in common.
    pub(super) luck: f64,
    pub(super) shape: &'static Shape,
    /// What the best rule would gain per trial under each hypothesis, in sd of one trial.
    pub(super) rates: &'static [f64; HYPOTHESES],
    /// The variance by which the level moves from one trial to the next.
    pub(super) drift: f64,
    /// The champion's.
    pub(super) level: Level,
    /// How likely each hypothesis about the study's edits is.
    pub(super) hypotheses: Box<[f64; HYPOTHESES]>,
    pub(super) banks: Vec<(ExperimentId, Bank)>,
    /// What was believed of the champions before this one when another took their place, the latest last.
    pub(super) past: Vec<(ExperimentId, Bank)>,
}

/// Everything believed of one candidate, for each kind that it may be.
#[derive(Debug, Clone)]
pub(super) struct Bank {
    pub(super) components: [Component; COMPONENTS],
    /// What is known of the champion's level without this candidate.
    base: Level,
    /// The champion has moved on: this one is still compared with the one before.
    pub(super) stale: bool,
    /// Whether its kind is news about the study.
    tells: bool,
    /// Whether a score of it was seen.
    is_seen: bool,
}

impl World {
    /// One in which nothing was seen yet; `share` of the variance of a trial is the luck of its seed.
    pub(super) fn new(chance: f64, sd: f64, share: f64, shape: &'static Shape, drift: f64, level: (f64, f64)) -> World {
        let (hypotheses, rates) = (Box::new(prior().chances), rates(shape));
        let (sd, luck) = ((1.0 - share).sqrt() * sd, share.sqrt() * sd);
        let (drift, banks, past) = (drift * sd * sd, Vec::new(), Vec::new());
        let level = Level::new(level.0, level.1, luck);
        World { chance, news: 0.0, sd, luck, shape, rates, drift, level, hypotheses, banks, past }
    }

    /// A score as it is seen here, with its place in the deck.
    fn seen(&self, score: f64, seed: Option<usize>) -> Seen {
        Seen { score, seed, shape: self.shape, sd: self.sd, luck: self.luck }
    }

    /// The sd of one trial with any seed.
    pub(super) fn all(&self) -> f64 {
        self.sd.hypot(self.luck)
    }

    /// Another seed takes the place of one of the deck.
    pub(super) fn renew(&mut self, seed: usize) {
        let variance = self.luck * self.luck;
        self.each_luck(|luck| luck.renew(seed, variance));
    }

    fn each_luck(&mut self, change: impl Fn(&mut Luck)) {
        if self.luck == 0.0 {
            return;
        }
        change(&mut self.level.luck);
        for (_, bank) in self.banks.iter_mut().chain(&mut self.past) {
            change(&mut bank.base.luck);
            bank.components.iter_mut().for_each(|component| change(&mut component.luck));
        }
    }

    /// A trial's worth of time has passed.
    pub(super) fn pass(&mut self, variance: f64) {
        self.level.variance += variance;
        for (_, bank) in self.banks.iter_mut().chain(&mut self.past) {
            bank.base.variance += variance;
            bank.components.iter_mut().for_each(|component| component.level_variance += variance);
        }
    }

    /// Learns a score of the champion, which `kept` is since it was kept.
    pub(super) fn learn_champion(&mut self, kept: Option<ExperimentId>, score: f64, seed: Option<usize>) {
        let seen = self.seen(score, seed);
        self.news += self.level.learn(&seen);
        for (id, bank) in &mut self.banks {
            if kept == Some(*id) {
                bank.learn(true, &seen);
            } else if !bank.stale {
                bank.learn(false, &seen);
                bank.base.learn(&seen);
            }
        }
    }

    /// Learns the second score of all, where one of the two is far off and nobody knows which.
    pub(super) fn learn_either(&mut self, one: f64, other: f64) {
        let all = self.all();
        let far =
            self.shape.parts.iter().fold(&self.shape.parts[0], |far, part| if part.sd > far.sd { part } else { far });
        let (gap, sd) = (other - one, far.sd.hypot(1.0) * all);
        self.news += (2.0 * far.weight * density(gap / sd) / sd).ln();
        self.level = Level::new(one + gap / 2.0, (gap / 2.0).powi(2) + all * all, self.luck);
    }

    /// Learns a score of what was champion before `kept` took its place: that says what the keep was worth.
    pub(super) fn learn_former(&mut self, kept: ExperimentId, score: f64) {
        let (seen, has_luck) = (self.seen(score, None), self.luck > 0.0);
        let Some(bank) = self.bank_mut(kept) else { return };
        let (likelihood, level) = (bank.learn(false, &seen), bank.level(true, has_luck));
        self.news += likelihood;
        self.level = level;
    }

    /// Learns a score of a commit that is no longer compared with anything, so many scores after it was last measured: of
    /// noise alone.
    pub(super) fn learn_repeat(&mut self, score: f64, known: &Tally, since: u32) {
        let Some(mean) = known.mean() else { return };
        let variance = self.all().powi(2) / f64::from(known.n()) + self.drift * f64::from(since);
        self.news += Level::new(mean, variance, 0.0).learn(&self.seen(score, None));
    }

    /// Learns by how much a commit differed from itself with one seed, so many trials apart. A seed whose luck is common
    /// leaves no more than the noise; where none is, it may still make luck that a commit has for itself. Of the noise
    /// this is no news: the score itself is learned as any other.
    pub(super) fn learn_probe(&mut self, gap: f64, since: f64) {
        if self.luck == 0.0 {
            return;
        }
        let likely = |variance: f64| {
            let sd = (2.0 * variance + self.drift * since).sqrt();
            let off = gap / sd;
            (density(off) + ODD_PROBE * density(off / ODD_PROBE_SD)) / sd
        };
        let all = self.all().powi(2);
        let otherwise: f64 = OWN_LUCK.iter().map(|(share, chance)| chance * likely((1.0 - share) * all)).sum();
        self.news += (likely(self.sd * self.sd) / otherwise).ln();
    }

    /// Learns a score of a candidate; a first one that is a wreck says nothing of the noise.
    pub(super) fn learn_candidate(&mut self, id: ExperimentId, score: f64, seed: Option<usize>, is_wreck: bool) {
        let seen = self.seen(score, seed);
        let Some(bank) = self.bank_mut(id) else { return };
        let is_first = !std::mem::replace(&mut bank.is_seen, true);
        let likelihood = bank.learn(true, &seen);
        // A first score says more of the candidate than of the noise.
        let says = match is_first {
            true if is_wreck => 0.0,
            true => FIRST_SAYS,
            false => 1.0,
        };
        self.news += says * likelihood;
    }

    /// A candidate of which nothing is known but the study it belongs to.
    pub(super) fn open(&mut self, id: ExperimentId) {
        let known = prior();
        let chances = self.kinds();
        let component = |kind: usize| Component {
            chance: chances[kind],
            evidence: 1.0,
            level: self.level.mean,
            effect: known.means[kind] * self.sd,
            level_variance: self.level.variance,
            covariance: 0.0,
            effect_variance: (known.sds[kind] * self.sd).powi(2),
            luck: self.level.luck,
        };
        let components = std::array::from_fn(component);
        self.insert(id, Bank { components, base: self.level, stale: false, tells: true, is_seen: false });
    }

    /// A candidate of which something is known: how likely each kind is, its effect and the variance of that.
    pub(super) fn open_with(&mut self, id: ExperimentId, known: &[(f64, f64, f64); COMPONENTS]) {
        let component = |kind: usize| {
            let (chance, effect, effect_variance) = known[kind];
            Component {
                chance,
                evidence: 1.0,
                level: self.level.mean,
                effect,
                level_variance: self.level.variance,
                covariance: 0.0,
                effect_variance,
                luck: self.level.luck,
            }
        };
        let components = std::array::from_fn(component);
        self.insert(id, Bank { components, base: self.level, stale: false, tells: false, is_seen: false });
    }

    /// A candidate goes on against the present champion, with what was learned of it against the one before.
    pub(super) fn restack(&mut self, id: ExperimentId) {
        let Some(bank) = self.bank(id).cloned() else { return self.open(id) };
        let doubt = self.kinds();
        self.learn_kind(&bank);
        let known = std::array::from_fn(|kind| {
            let Component { chance, effect, effect_variance, .. } = bank.components[kind];
            ((1.0 - INTERACTS) * chance + INTERACTS * doubt[kind], effect, effect_variance)
        });
        self.open_with(id, &known);
    }

    /// The candidate is the champion now; all others are compared with what was before.
    pub(super) fn keep(&mut self, id: ExperimentId, before: Option<ExperimentId>) {
        match before.and_then(|before| Some((before, self.close(before)?))) {
            Some(before) => self.past.push(before),
            // Between this one and those there is a champion that nobody judged.
            None => self.past.clear(),
        }
        if self.past.len() > PAST {
            self.past.remove(0);
        }
        self.banks.iter_mut().for_each(|(_, bank)| bank.stale = true);
        let Some(bank) = self.bank(id).cloned() else { return };
        self.learn_kind(&bank);
        self.level = bank.level(true, self.luck > 0.0);
        let stirred = STIRS * self.sd * self.sd;
        self.each_luck(|luck| luck.stir(stirred));
    }

    /// The candidate is gone, and what it told about the level and about the study stays.
    pub(super) fn discard(&mut self, id: ExperimentId) {
        let Some(bank) = self.close(id) else { return };
        self.learn_kind(&bank);
        // What is far from the champion says nothing of its level; many such would push it all the same.
        let effect = bank.effect();
        if bank.stale || effect.abs() > FAR * self.sd {
            return;
        }
        let (after, before) = (bank.level(false, self.luck > 0.0), bank.base);
        if before == self.level {
            self.level = after;
            return;
        }
        // Others moved the level meanwhile: only what this one added counts, with the seed by which it added most.
        let added = |seed: Option<usize>| 1.0 / after.foretold(seed).1 - 1.0 / before.foretold(seed).1;
        let seeds = (0..SEEDS).filter(|_| self.luck > 0.0).map(Some);
        let most = seeds.fold(None, |most, seed| if added(seed) > added(most) { seed } else { most });
        self.level.learn_from(most, self.luck > 0.0, &before, &after);
    }

    /// The champion gives its place back to the one before it, which is believed to be what it was: what the other's
    /// trials were like says nothing of it. Who that is, where it was kept as well.
    pub(super) fn retract(&mut self, id: ExperimentId) -> Option<ExperimentId> {
        if let Some(bank) = self.close(id) {
            self.level = bank.level(false, self.luck > 0.0);
        }
        self.banks.iter_mut().for_each(|(_, bank)| bank.stale = true);
        let (before, bank) = self.past.pop()?;
        self.banks.push((before, bank));
        Some(before)
    }

    /// What was measured of the champion before its keep does not count any more.
    pub(super) fn doubt(&mut self, kept: ExperimentId) {
        let has_luck = self.luck > 0.0;
        let Some(former) = self.bank(kept).map(|bank| bank.level(false, has_luck)) else { return };
        self.level = former;
        self.open(kept);
        let Some(bank) = self.bank_mut(kept) else { return };
        (bank.stale, bank.tells, bank.is_seen) = (true, false, true);
        self.level = bank.level(true, has_luck);
    }

    /// The level of the champion before this one: its mean and its variance.
    pub(super) fn former(&self, kept: ExperimentId) -> Option<(f64, f64)> {
        let Level { mean, variance, .. } = self.bank(kept)?.level(false, false);
        Some((mean, variance))
    }

    /// Another champion: nothing is known of its level but about where it is.
    pub(super) fn replace(&mut self, about: f64) {
        self.banks.clear();
        self.past.clear();
        self.level = Level::new(about, 1e4 * self.all() * self.all(), self.luck);
    }

    pub(super) fn close(&mut self, id: ExperimentId) -> Option<Bank> {
        let at = self.banks.iter().position(|(open, _)| *open == id)?;
        Some(self.banks.swap_remove(at).1)
    }

    pub(super) fn bank(&self, id: ExperimentId) -> Option<&Bank> {
        self.banks.iter().find(|(open, _)| *open == id).map(|(_, bank)| bank)
    }

    /// What the best rule would gain per trial in this study.
    pub(super) fn price(&self) -> f64 {
        let rate: f64 = self.hypotheses.iter().zip(self.rates).map(|(chance, rate)| chance * rate).sum();
        self.sd * rate
    }

    fn bank_mut(&mut self, id: ExperimentId) -> Option<&mut Bank> {
        self.banks.iter_mut().find(|(open, _)| *open == id).map(|(_, bank)| bank)
    }

    fn insert(&mut self, id: ExperimentId, bank: Bank) {
        self.close(id);
        self.banks.push((id, bank));
    }

    /// How likely each kind of edit is in this study.
    fn kinds(&self) -> [f64; COMPONENTS] {
        let weights = &prior().weights;
        let mut kinds = [0.0; COMPONENTS];
        for (chance, weights) in self.hypotheses.iter().zip(weights) {
            kinds.iter_mut().zip(weights).for_each(|(kind, weight)| *kind += chance * weight);
        }
        kinds
    }

    fn learn_kind(&mut self, bank: &Bank) {
        if !bank.tells {
            return;
        }
        let known = prior();
        let likelihood = |weights: &[f64; COMPONENTS]| -> f64 {
            weights.iter().zip(&bank.components).map(|(weight, component)| weight * component.evidence).sum()
        };
        let mut likely: Vec<f64> = known.weights.iter().map(likelihood).collect();
        let least = likely.iter().copied().fold(0.0, f64::max) / ONE_SAYS;
        likely.iter_mut().for_each(|likely| *likely = likely.max(least));
        self.hypotheses.iter_mut().zip(&likely).for_each(|(chance, likely)| *chance *= likely);
        let total: f64 = self.hypotheses.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        self.hypotheses.iter_mut().for_each(|chance| *chance /= total);
        let forgotten = with_share_forgotten(&self.hypotheses);
        for ((chance, forgotten), first) in self.hypotheses.iter_mut().zip(&forgotten).zip(&known.chances) {
            let stays = (1.0 - FORGETS_SHARE - FORGETS_ALL) * *chance;
            *chance = stays + FORGETS_SHARE * forgotten + FORGETS_ALL * first;
        }
    }
}

impl Bank {
    fn effect(&self) -> f64 {
        self.components.iter().map(|component| component.chance * component.effect).sum()
    }

    /// How likely the score was, whatever kind the candidate is of, as a logarithm.
    fn learn(&mut self, of_candidate: bool, seen: &Seen) -> f64 {
        let likelihoods = self.components.each_mut().map(|component| component.learn(of_candidate, seen));
        let possible = self.components.iter().zip(&likelihoods).filter(|(component, _)| component.chance > 0.0);
        let most = possible.map(|(_, likelihood)| *likelihood).fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for (component, likelihood) in self.components.iter_mut().zip(likelihoods) {
            let likely = (likelihood - most).min(0.0).exp();
            component.chance *= likely;
            component.evidence *= likely;
            total += component.chance;
        }
        for component in &mut self.components {
            component.chance /= total;
            component.evidence /= total;
        }
        most + total.ln()
    }

    /// The level of the champion it is compared with, or its own.
    fn level(&self, of_candidate: bool, has_luck: bool) -> Level {
        let parts = self.components.iter().map(|component| (component.chance, component.level(of_candidate)));
        blend_levels(parts, has_luck)
    }
}
