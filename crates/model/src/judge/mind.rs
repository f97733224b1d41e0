//! The judge's memory: everything measured so far, as beliefs about the noise, the champion and the study's edits.
//!
//! Exactly what a careful reader of the ledger would believe who knew nothing before: many ideas of what the noise is
//! like are held at once, each with its own view of everything, and each score makes some of them more likely. What
//! cannot be any more is let go. Here more is always better.

use std::cell::RefCell;

use super::deck::{Deck, Look, SHARES};
use super::gauss::{Component, blend};
use super::luck::Luck;
use super::noise::{DRIFTS, SHAPES};
use super::normal;
use super::opinion::{Opinion, View};
use super::prior::COMPONENTS;
use super::world::World;
use crate::id::ExperimentId;
use crate::stats::Tally;

/// The noise of two trials may be this much smaller or larger than they show, in steps of this factor.
const SMALLEST: f64 = 0.4;
const LARGEST: f64 = 30.0;
const STEP: f64 = 1.3;
/// Where some scores are far off, one of the two may be such: then the noise is smaller by as many steps more.
const FAR_STEPS: i32 = 11;
/// A world so much less likely than the likeliest is let go, and there are never more than so many for long.
const NEGLIGIBLE: f64 = 0.01;
const MOST_WORLDS: usize = 24;
/// All worlds in which seeds make common luck, or all others, are let go when their best is less likely than negligible by
/// this factor.
const UNLIKELY: f64 = 0.3;
/// Until so many scores were seen, next to nothing is ruled out; from then on a neighbour begins with this chance.
const EARLY: u32 = 12;
const NEIGHBOUR: f64 = 0.011;
/// After about so many candidates the price of a trial is half of what the study seems to be worth.
/// At first it is a little as well: else the first candidate would get trials as long as they tell anything at all.
const FEW: f64 = 0.5;
const AT_FIRST: f64 = 0.1;
/// Beyond so many sd no noise is the reason.
const WRECK: f64 = 30.0;
/// A champion on another scale than the one before may scatter on another scale, too.
const SAME_SCALE: f64 = 0.7;
const FARTHEST_SCALE: f64 = 30.0;

/// What was believed of a candidate when it was let go, for when the same one comes again.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered(Box<[(f64, f64, f64); COMPONENTS]>);

#[derive(Debug, Clone)]
pub struct Mind {
    pub(super) worlds: Vec<World>,
    /// The champion, where it was kept by this mind: what it is worth is still being learned.
    kept: Option<ExperimentId>,
    /// How many candidates were kept or let go.
    pub(super) judged: u32,
    scores: u32,
    pub(super) deck: Deck,
    /// Opinions since the last score: they are asked for over and over until something happens.
    pub(super) opinions: RefCell<Vec<(ExperimentId, f64, Opinion)>>,
}

impl Mind {
    /// Begins with the first scores of the baseline. `None` while they are all equal: then nothing is known of noise.
    ///
    /// `unequal` are scores of another commit, where the champion's own are all the same.
    pub fn begin<L: Into<Look> + Copy>(looks: &[L], unequal: &[f64]) -> Option<Mind> {
        let looks: Vec<Look> = looks.iter().map(|look| (*look).into()).collect();
        let scores: Vec<f64> = looks.iter().map(|look| look.score).collect();
        let (&first, &other) = (scores.first()?, unequal.first().or(scores.first())?);
        let spread = |scores: &[f64], from: f64| {
            let squares: f64 = scores.iter().map(|score| (score - from).powi(2)).sum();
            (squares, scores.len().saturating_sub(1) as f64)
        };
        let mean = |scores: &[f64], first: f64| {
            first + scores.iter().map(|score| score - first).sum::<f64>() / scores.len().max(1) as f64
        };
        let (own, others) = (spread(&scores, mean(&scores, first)), spread(unequal, mean(unequal, other)));
        let chosen = if own.0 > 0.0 { own } else { others };
        let sd = (chosen.0 / chosen.1.max(1.0)).sqrt();
        if !(sd > 0.0 && sd.is_finite()) {
            return None;
        }
        let unknown = (mean(&scores, first), 1e4 * LARGEST * LARGEST * sd * sd);
        let has_seeds = looks.iter().any(|look| look.seed.is_some());
        let mut worlds = Vec::new();
        let steps = (LARGEST / SMALLEST).log(STEP) as i32;
        for step in -FAR_STEPS..=steps {
            let factor = SMALLEST * STEP.powi(step);
            for shape in SHAPES.iter().filter(|shape| step >= 0 || shape.has_outliers()) {
                for (drift, likely) in DRIFTS {
                    for (share, governs) in
                        SHARES.into_iter().filter(|(share, _)| *share == 0.0 || has_seeds && step >= 0)
                    {
                        let chance = shape.chance * likely * governs;
                        worlds.push(World::new(chance, factor * sd, share, shape, drift, unknown));
                    }
                }
            }
        }
        let mut mind =
            Mind { worlds, kept: None, judged: 0, scores: 0, deck: Deck::default(), opinions: RefCell::default() };
        // Where the champion's scores are all the same, they say nothing of noise.
        let told = if own.0 > 0.0 { &looks[..] } else { &looks[..1] };
        match told {
            [one, other] => {
                mind.champion(*one);
                let seed = mind.deal(*other);
                mind.learn(|world| match world.all() < 0.99 * SMALLEST * sd {
                    true => world.learn_either(one.score, other.score),
                    false => world.learn_champion(None, other.score, seed),
                });
            }
            told => told.iter().for_each(|look| mind.champion(*look)),
        }
        Some(mind)
    }

    /// Learns a score of the champion.
    pub fn champion(&mut self, look: impl Into<Look>) {
        self.opinions.get_mut().clear();
        let (kept, look) = (self.kept, look.into());
        let seed = self.deal(look);
        self.learn(|world| world.learn_champion(kept, look.score, seed));
    }

    /// Learns a score of the commit that was champion before the one that was kept.
    pub fn former(&mut self, look: impl Into<Look>) {
        self.opinions.get_mut().clear();
        let score = look.into().score;
        if let Some(kept) = self.kept {
            self.learn(|world| world.learn_former(kept, score));
        }
    }

    /// Learns a score of a commit that nothing is compared with any more, of which others were `known` before.
    pub fn repeat(&mut self, score: f64, known: &Tally, since: u32) {
        self.opinions.get_mut().clear();
        self.learn(|world| world.learn_repeat(score, known, since));
    }

    /// A candidate takes its place before the judge: it is compared with the champion of this moment.
    pub fn open(&mut self, id: ExperimentId) {
        self.opinions.get_mut().clear();
        self.worlds.iter_mut().for_each(|world| world.open(id));
    }

    /// A candidate that was here before, with what was learned of it then.
    pub fn open_again(&mut self, id: ExperimentId, before: &Remembered) {
        self.opinions.get_mut().clear();
        self.deck.has_seen_all(id);
        self.worlds.iter_mut().for_each(|world| world.open_with(id, &before.0));
    }

    /// Whether it has its place before the judge.
    pub fn knows(&self, id: ExperimentId) -> bool {
        self.worlds.first().is_some_and(|world| world.bank(id).is_some())
    }

    /// Learns a score of a candidate.
    pub fn candidate(&mut self, id: ExperimentId, look: impl Into<Look>) {
        self.opinions.get_mut().clear();
        let look = look.into();
        let (score, seed) = (look.score, self.deck.of_candidate(id, look));
        // What is a wreck must be one in every world: a small noise that is spared it would seem the likelier for that.
        let is_wreck = (score - self.level().0).abs() > WRECK * self.noise();
        self.learn(|world| world.learn_candidate(id, score, seed, is_wreck));
    }

    /// The candidate is the champion from now on. What it is worth is learned further with every score of it.
    pub fn keep(&mut self, id: ExperimentId) {
        self.opinions.get_mut().clear();
        self.judged = self.judged.saturating_add(1);
        let (before, was) = (self.kept.replace(id), self.level().0);
        self.worlds.iter_mut().for_each(|world| world.keep(id, before));
        self.deck.keep(id);
        let ratio = self.level().0 / was;
        // Near 0 a level says nothing about scale.
        let is_scale = was.abs() > 10.0 * self.noise() && ratio > 0.0;
        if is_scale && !(SAME_SCALE..=1.0 / SAME_SCALE).contains(&ratio) {
            self.rescale(ratio.clamp(1.0 / FARTHEST_SCALE, FARTHEST_SCALE));
        }
    }

    /// The candidate is let go; what was believed of it.
    pub fn discard(&mut self, id: ExperimentId) -> Option<Remembered> {
        self.opinions.get_mut().clear();
        self.judged = self.judged.saturating_add(1);
        let remembered = self.view(id).map(|view| view.remembered());
        self.worlds.iter_mut().for_each(|world| world.discard(id));
        self.deck.close(id);
        remembered.map(|known| Remembered(Box::new(known)))
    }

    /// The candidate is gone without a word about it: it broke, or was refused.
    pub fn forget(&mut self, id: ExperimentId) {
        self.opinions.get_mut().clear();
        self.worlds.iter_mut().for_each(|world| {
            world.close(id);
        });
        self.deck.close(id);
    }

    /// The candidate was put on the present champion, and goes on from there.
    pub fn restack(&mut self, id: ExperimentId) {
        self.opinions.get_mut().clear();
        self.worlds.iter_mut().for_each(|world| world.restack(id));
    }

    /// What was measured of the candidate does not count: the machine was another one.
    pub fn start_over(&mut self, id: ExperimentId) {
        self.opinions.get_mut().clear();
        self.worlds.iter_mut().for_each(|world| world.open(id));
    }

    /// Another champion, of which these scores are known and nothing else.
    pub fn replace(&mut self, looks: &[Look]) {
        self.opinions.get_mut().clear();
        let Some(first) = looks.first() else { return };
        self.kept = None;
        self.deck.replace(false);
        self.worlds.iter_mut().for_each(|world| world.replace(first.score));
        looks.iter().for_each(|look| self.champion(*look));
    }

    /// The champion's place goes back to the one before it. Where that was kept as well, it may be taken back in its turn.
    pub fn retract(&mut self) {
        self.opinions.get_mut().clear();
        let Some(id) = self.kept.take() else { return };
        self.deck.replace(true);
        // All worlds saw the same keeps.
        for world in &mut self.worlds {
            self.kept = world.retract(id);
        }
    }

    /// What chose the champion does not count: of what it is worth nothing is known but the study it belongs to.
    pub fn doubt(&mut self) {
        self.opinions.get_mut().clear();
        if let Some(id) = self.kept {
            self.worlds.iter_mut().for_each(|world| world.doubt(id));
        }
    }

    /// Time passed, of which nothing is known: another night, or a shift of the machine by so many sd.
    pub fn unsettle(&mut self, sds: f64) {
        self.opinions.get_mut().clear();
        self.worlds.iter_mut().for_each(|world| world.pass((sds * world.all()).powi(2)));
    }

    /// What it thinks of a candidate, of one that is worth its place only with a gain above `bar`.
    pub fn opinion(&self, id: ExperimentId, bar: f64) -> Option<Opinion> {
        let known = |(known, at, _): &&(ExperimentId, f64, Opinion)| *known == id && *at == bar;
        if let Some((_, _, opinion)) = self.opinions.borrow().iter().find(known) {
            return Some(*opinion);
        }
        let opinion = self.view(id)?.opinion(bar, self.price());
        self.opinions.borrow_mut().push((id, bar, opinion));
        Some(opinion)
    }

    /// What it would think of a candidate that was here before.
    pub fn again(&self, before: &Remembered, bar: f64) -> Opinion {
        const NOBODY: ExperimentId = ExperimentId(u64::MAX);
        let mut mind = self.clone();
        mind.open_again(NOBODY, before);
        mind.view(NOBODY).expect("it was just opened").opinion(bar, self.price())
    }

    /// The level of the champion before this one, as far as the machine is what it was.
    pub fn former_level(&self) -> Option<f64> {
        let kept = self.kept?;
        let parts: Option<Vec<_>> =
            self.believed().map(|(chance, world)| Some((chance, world.former(kept)?))).collect();
        Some(blend(parts?.into_iter()).0)
    }

    /// How likely the champion is better than the one before it, by now.
    pub fn second_thoughts(&self) -> Option<(ExperimentId, f64)> {
        let kept = self.kept?;
        Some((kept, 1.0 - self.view(kept)?.below(0.0)))
    }

    /// The champion's level, and the sd of what is believed of it.
    pub fn level(&self) -> (f64, f64) {
        let parts = self.believed().map(|(chance, world)| (chance, (world.level.mean, world.level.variance)));
        let (mean, variance) = blend(parts);
        (mean, variance.sqrt())
    }

    /// The sd of one trial, as it most likely is: the few worlds in which it would be many times larger do not rule it.
    pub fn noise(&self) -> f64 {
        self.believed().map(|(chance, world)| chance * world.all().ln()).sum::<f64>().exp()
    }

    /// The sd of normal noise in which a night would gain as much: less than that of a trial where the noise has a sharp
    /// edge, or where the luck of its seed is known. There small gains can be told, and are most of what there is.
    pub fn grain(&self) -> f64 {
        let grain = |world: &World| world.sd * world.shape.pays_as.sqrt();
        self.believed().map(|(chance, world)| chance * grain(world).ln()).sum::<f64>().exp()
    }

    /// The sd of what is left of one trial's noise where the luck of its seed is known.
    pub fn left(&self) -> f64 {
        self.believed().map(|(chance, world)| chance * world.sd.ln()).sum::<f64>().exp()
    }

    /// The variance of one trial, with what is not known of it: for intervals.
    pub fn variance(&self) -> f64 {
        self.believed().map(|(chance, world)| chance * world.all().powi(2)).sum()
    }

    /// By how much the level of everything may have moved over so many trials, as a variance.
    pub fn drift(&self, trials: f64) -> f64 {
        self.believed().map(|(chance, world)| chance * world.drift * trials).sum()
    }

    /// What one more trial costs: what the study gains by one elsewhere.
    ///
    /// While few candidates were judged, nothing says that this study is a rich one: trials are cheap at first.
    pub fn price(&self) -> f64 {
        let judged = f64::from(self.judged) + AT_FIRST;
        let known = judged / (judged + FEW);
        known * self.believed().map(|(chance, world)| chance * world.price()).sum::<f64>()
    }

    /// How likely a score of the champion is to be as far off as this one, by noise alone.
    pub fn surprise(&self, look: impl Into<Look>) -> f64 {
        let look = look.into();
        let seed = look.seed.and_then(|seed| self.deck.place(seed));
        let tail = |(chance, world): (f64, &World)| {
            let (mean, variance) = world.level.foretold(seed);
            let luck = if seed.is_none() { world.luck } else { 0.0 };
            let parts = world.shape.parts.iter().map(|part| {
                let sd = (variance + luck * luck + (part.sd * world.sd).powi(2)).sqrt();
                let off = (look.score - mean - part.mean * world.sd).abs() / sd;
                2.0 * part.weight * normal::probability(-off)
            });
            chance * parts.sum::<f64>()
        };
        self.believed().map(tail).sum()
    }

    /// What takes a tenth of the time may scatter a tenth as much, or as before, or something between.
    fn rescale(&mut self, ratio: f64) {
        let scaled = |world: &World| {
            [(1.0, 0.6), (ratio.sqrt(), 0.2), (ratio, 0.2)].map(|(factor, share)| World {
                chance: share * world.chance,
                sd: world.sd * factor,
                luck: world.luck * factor,
                drift: world.drift * factor * factor,
                ..world.clone()
            })
        };
        self.worlds = self.worlds.iter().flat_map(scaled).collect();
        self.weigh();
    }

    fn learn(&mut self, score: impl Fn(&mut World)) {
        for world in &mut self.worlds {
            world.pass(world.drift);
            score(world);
        }
        self.scores = self.scores.saturating_add(1);
        self.weigh();
    }

    /// Chances add up to 1, and what is negligible goes.
    pub(super) fn weigh(&mut self) {
        let told = |world: &World| world.chance.ln() + world.news;
        let most = self.worlds.iter().map(told).fold(f64::NEG_INFINITY, f64::max);
        for world in &mut self.worlds {
            world.chance = (told(world) - most).exp();
            world.news = 0.0;
        }
        // The first scores may be odd ones: nothing is ruled out by them yet.
        let rare = if self.scores < EARLY { NEGLIGIBLE * NEGLIGIBLE } else { NEGLIGIBLE };
        for has_luck in [false, true] {
            let alike = |world: &World| (world.luck > 0.0) == has_luck;
            let mut chances: Vec<f64> =
                self.worlds.iter().filter(|world| alike(world)).map(|world| world.chance).collect();
            chances.sort_by(|a, b| b.total_cmp(a));
            // Whether seeds make common luck shows slowly: among their like no world is let go for that.
            let Some(&most) = chances.first().filter(|most| **most > rare * UNLIKELY) else {
                self.worlds.retain(|world| !alike(world));
                continue;
            };
            let mut least = rare * most;
            if chances.len() > MOST_WORLDS && self.scores >= EARLY {
                // While all are about as likely, nothing can be said against any of them.
                least = least.max(chances[MOST_WORLDS].min(0.1 * most));
            }
            self.worlds.retain(|world| !alike(world) || world.chance > least && world.level.variance.is_finite());
        }
        self.spread();
        let total: f64 = self.worlds.iter().map(|world| world.chance).sum();
        self.worlds.iter_mut().for_each(|world| world.chance /= total);
    }

    /// Beside the likeliest world there is always one with a little more noise and one with a little less: wherever it
    /// began, and whatever the machine becomes, it can be found.
    fn spread(&mut self) {
        for has_luck in [false, true] {
            let alike = |world: &&World| (world.luck > 0.0) == has_luck;
            let best = self.worlds.iter().filter(alike).max_by(|a, b| a.chance.total_cmp(&b.chance)).cloned();
            let Some(best) = best else { continue };
            for factor in [STEP, 1.0 / STEP] {
                let sd = best.sd * factor;
                let is_there =
                    |world: &World| std::ptr::eq(world.shape, best.shape) && (world.sd / sd - 1.0).abs() < 0.1;
                if !self.worlds.iter().filter(alike).any(is_there) {
                    let (chance, drift) = (NEIGHBOUR * best.chance, best.drift * factor * factor);
                    self.worlds.push(World { chance, sd, drift, ..best.clone() });
                }
            }
        }
    }

    /// All worlds' beliefs about a candidate as one: for each kind, of one mean and variance.
    fn view(&self, id: ExperimentId) -> Option<View> {
        let banks: Vec<_> =
            self.believed().map(|(chance, world)| Some((chance, world.bank(id)?))).collect::<Option<_>>()?;
        let stale = banks.first()?.1.stale;
        let kind = |kind: usize, seed: Option<usize>| {
            let parts =
                || banks.iter().map(|(chance, bank)| (chance * bank.components[kind].chance, &bank.components[kind]));
            let chance: f64 = parts().map(|(weight, _)| weight).sum();
            let average = |of: &dyn Fn(&Component) -> f64| {
                parts().map(|(weight, component)| weight * of(component)).sum::<f64>() / chance.max(f64::MIN_POSITIVE)
            };
            let level_of = |found: &Component| found.foretold(false, seed);
            let covariance_of =
                |found: &Component| found.covariance + seed.map_or(0.0, |seed| found.luck.with_effect[seed]);
            let (level, effect) = (average(&|found| level_of(found).0), average(&|found| found.effect));
            Component {
                chance,
                evidence: 1.0,
                level,
                effect,
                level_variance: average(&|found| level_of(found).1 + (level_of(found).0 - level).powi(2)),
                covariance: average(&|found| {
                    covariance_of(found) + (level_of(found).0 - level) * (found.effect - effect)
                }),
                effect_variance: average(&|found| found.effect_variance + (found.effect - effect).powi(2)),
                luck: Luck::default(),
            }
        };
        let noise = |seed: Option<usize>| {
            let luck = |world: &World| if seed.is_none() { world.luck * world.luck } else { 0.0 };
            let noise = |world: &World| world.sd * world.sd * world.shape.as_good_as + luck(world);
            self.believed().map(|(chance, world)| chance * noise(world)).sum::<f64>()
        };
        let (next, next_champion) =
            (self.places_for(id).first().copied(), self.places_for_champion(Some(id)).first().copied());
        let components = std::array::from_fn(|found| kind(found, next));
        let beside = match next == next_champion {
            true => components,
            false => std::array::from_fn(|found| kind(found, next_champion)),
        };
        let noise = (noise(next), noise(next_champion));
        Some(View { components, beside, noise, stale, champion_is_it: self.kept == Some(id) })
    }
}
