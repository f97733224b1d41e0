//! A study whose truth is known: what each candidate is worth, and what a trial of it would show.

use crate::chance::Chance;
use crate::noise;
use crate::scenario::{Fading, Scenario};

/// Something that can be measured; 0 is the baseline.
pub type Subject = usize;

/// Sets contents that were put together apart from those that were proposed.
const RESTACKED: u64 = 1 << 32;

/// One night of a scenario. The k-th proposal and the luck of the k-th trial are the same for every rule.
pub struct World<'a> {
    scenario: &'a Scenario,
    seed: u64,
    noise: Vec<f64>,
    drift: Vec<f64>,
    trials: usize,
    subjects: Vec<Candidate>,
    /// The baseline and every champion since, less those that were taken back.
    champions: Vec<Subject>,
    proposals: u64,
    wins: i32,
    discarded: Vec<Subject>,
}

#[derive(Debug, Clone)]
struct Candidate {
    level: f64,
    /// What it changes of the champion that it was proposed for.
    edit: f64,
    /// The sd of its own noise.
    sd: f64,
    /// The luck that every repeat gives again, where a seed is fixed.
    frozen: Option<f64>,
    content: u64,
    /// The families of edits it holds, one bit each.
    families: u64,
}

impl<'a> World<'a> {
    pub fn new(scenario: &'a Scenario, seed: u64, budget: usize) -> World<'a> {
        let baseline = Candidate { level: 0.0, edit: 0.0, sd: 1.0, frozen: None, content: 0, families: 0 };
        World {
            scenario,
            seed,
            noise: noise::noise(scenario.shape, budget, Chance::of(&[seed, 1])),
            drift: noise::drift(scenario.drift, budget, Chance::of(&[seed, 2])),
            trials: 0,
            subjects: vec![baseline],
            champions: vec![0],
            proposals: 0,
            wins: 0,
            discarded: Vec::new(),
        }
    }

    /// What a trial of it with this seed shows now; more is better. `None` when the night is over.
    pub fn measure(&mut self, subject: Subject, seed: u64) -> Option<f64> {
        let (mut noise, drift) = (*self.noise.get(self.trials)?, *self.drift.get(self.trials)?);
        self.trials += 1;
        let Candidate { level, sd, frozen, content, .. } = self.subjects[subject];
        let Scenario { paired, own_luck, .. } = *self.scenario;
        if paired > 0.0 {
            let mut luck = (1.0 - own_luck).sqrt() * Chance::of(&[self.seed, 4, seed]).normal();
            if own_luck > 0.0 {
                luck += own_luck.sqrt() * Chance::of(&[self.seed, 7, seed, content]).normal();
            }
            noise = (1.0 - paired).sqrt() * noise + paired.sqrt() * luck;
        }
        Some(level + drift + frozen.unwrap_or(sd * noise))
    }

    /// An edit of the present champion.
    pub fn propose(&mut self) -> Subject {
        self.proposals += 1;
        // Everything is drawn in the same order whatever becomes of it, so that all rules meet the same proposals.
        let mut chance = Chance::of(&[self.seed, 3, self.proposals]);
        let [kind, again, identical, trick] = std::array::from_fn(|_| chance.unit());
        let (size, luck, own) = (chance.exponential(), chance.normal(), chance.normal());
        let (family, clash) = (chance.below(self.scenario.families.unwrap_or(1)) as u64, chance.unit() < 0.5);

        let content = self.proposals;
        let champion = self.subjects[self.champion()].clone();
        if again < self.scenario.rerolls
            && let Some(&before) = self.discarded.last()
        {
            let same = self.subjects[before].clone();
            // Half of them are the same bytes, half differ by a comment.
            let content = if identical < 0.5 { same.content } else { content };
            return self.add(Candidate { content, ..same });
        }
        let Scenario { effect, harmful, .. } = *self.scenario;
        let is_good = kind < self.good();
        let effect = match kind {
            _ if is_good && champion.families & (1 << family) == 0 => effect * size,
            // The second of a family brings a quarter of its worth, or takes half of it away.
            _ if is_good => effect * size * if clash { -0.5 } else { 0.25 },
            kind if kind > 1.0 - harmful => -effect * size,
            _ => 0.0,
        };
        let is_trick = effect == 0.0 && trick < self.scenario.seed_tricks;
        // Whoever starts from a fixed seed has a fixed seed; another program makes other luck of it.
        let frozen = (is_trick || champion.frozen.is_some()).then_some(luck);
        let families = match self.scenario.families {
            Some(_) if is_good => champion.families | (1 << family),
            _ => champion.families,
        };
        let sd = (self.scenario.own_noise * own).exp();
        self.add(Candidate { level: champion.level + effect, edit: effect, sd, frozen, content, families })
    }

    /// An edit of the baseline that is worth this much.
    pub fn plant(&mut self, effect: f64) -> Subject {
        let own = Chance::of(&[self.seed, 6, self.subjects.len() as u64]).normal();
        let sd = (self.scenario.own_noise * own).exp();
        self.add(Candidate { level: effect, edit: effect, sd, frozen: None, content: 1, families: 0 })
    }

    /// The same edit on top of the present champion: what merging a candidate of an older one gives. Another program,
    /// whose edit is worth what it was worth.
    pub fn restack(&mut self, subject: Subject) -> Subject {
        let (stale, champion) = (self.subjects[subject].clone(), self.subjects[self.champion()].clone());
        let content = RESTACKED | self.subjects.len() as u64;
        let luck = Chance::of(&[self.seed, 5, content]).normal();
        self.add(Candidate {
            level: champion.level + stale.edit,
            edit: stale.edit,
            sd: stale.sd,
            frozen: (stale.frozen.is_some() || champion.frozen.is_some()).then_some(luck),
            content,
            families: stale.families | champion.families,
        })
    }

    /// What tells one surface from another.
    pub fn content(&self, subject: Subject) -> u64 {
        self.subjects[subject].content
    }

    /// How much better it really is than the present champion, whichever it was proposed for.
    pub fn effect(&self, subject: Subject) -> f64 {
        self.subjects[subject].level - self.subjects[self.champion()].level
    }

    pub fn keep(&mut self, subject: Subject) {
        self.wins += i32::from(self.effect(subject) > 0.0);
        self.champions.push(subject);
        self.discarded.clear();
    }

    /// Takes the latest keep back: the champion is the one before. Says what that keep was worth; `None` where nothing
    /// was kept.
    pub fn retract(&mut self) -> Option<f64> {
        let before = *self.champions.iter().nth_back(1)?;
        let worth = self.gain() - self.subjects[before].level;
        self.wins -= i32::from(worth > 0.0);
        self.champions.pop();
        self.discarded.clear();
        Some(worth)
    }

    pub fn discard(&mut self, subject: Subject) {
        self.discarded.push(subject);
    }

    /// How much better the champion really is than the baseline.
    pub fn gain(&self) -> f64 {
        self.subjects[self.champion()].level
    }

    /// What each champion had on top of the one before it, the first keep first.
    pub fn steps(&self) -> Vec<f64> {
        let level = |subject: Subject| self.subjects[subject].level;
        self.champions.windows(2).map(|pair| level(pair[1]) - level(pair[0])).collect()
    }

    fn champion(&self) -> Subject {
        self.champions.last().copied().unwrap_or(0)
    }

    fn add(&mut self, candidate: Candidate) -> Subject {
        self.subjects.push(candidate);
        self.subjects.len() - 1
    }

    /// The share of good edits at this moment.
    fn good(&self) -> f64 {
        let time = self.trials as f64 / self.noise.len().max(1) as f64;
        self.scenario.good
            * match self.scenario.fading {
                Fading::Steady => 1.0,
                Fading::WithTime => 0.05_f64.powf(time),
                Fading::WithWins => 0.9_f64.powi(self.wins),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::SCENARIOS;

    fn scenario(name: &str) -> &'static Scenario {
        SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap()
    }

    fn effects(name: &str, keeps: bool) -> Vec<f64> {
        let mut world = World::new(scenario(name), 5, 200);
        let mut one = || {
            let subject = world.propose();
            let effect = world.effect(subject);
            if keeps {
                world.keep(subject)
            } else {
                world.discard(subject)
            }
            effect
        };
        (0..20_000).map(|_| one()).collect()
    }

    fn share(effects: &[f64], wanted: impl Fn(f64) -> bool) -> f64 {
        effects.iter().filter(|effect| wanted(**effect)).count() as f64 / effects.len() as f64
    }

    #[test]
    fn proposals_have_the_shares_and_the_sizes_of_their_scenario() {
        let found = effects("3sd", false);
        assert!((share(&found, |effect| effect > 0.0) - 0.10).abs() < 0.01);
        assert!((share(&found, |effect| effect < 0.0) - 0.45).abs() < 0.015);
        let good: Vec<f64> = found.into_iter().filter(|effect| *effect > 0.0).collect();
        let mean = good.iter().sum::<f64>() / good.len() as f64;
        assert!((mean - 3.0).abs() < 0.2, "{mean}");
    }

    #[test]
    fn good_edits_run_out_where_wins_use_them_up_and_families_overlap() {
        assert!(share(&effects("used-up", true)[5_000..], |effect| effect > 0.0) < 0.01);
        let overlapping = effects("interactions", true);
        assert!(share(&overlapping[1_000..], |effect| effect > 0.0) < 0.06, "half of the good ones clash");
    }

    #[test]
    fn good_edits_get_rarer_with_time_where_the_scenario_says_so() {
        let good_after = |trials: usize| {
            let mut world = World::new(scenario("rarer"), 5, 200);
            (0..trials).for_each(|_| assert!(world.measure(0, 1).is_some()));
            let mut one = || {
                let subject = world.propose();
                world.effect(subject)
            };
            let found: Vec<f64> = (0..20_000).map(|_| one()).collect();
            share(&found, |effect| effect > 0.0)
        };
        assert!((good_after(0) - 0.20).abs() < 0.01);
        assert!((good_after(200) - 0.01).abs() < 0.003);
    }

    #[test]
    fn a_candidate_has_its_own_noise_where_the_scenario_says_so() {
        let spread = |name: &str| {
            let mut world = World::new(scenario(name), 5, 200);
            let mut log_square = || {
                let subject = world.propose();
                world.subjects[subject].sd.ln().powi(2)
            };
            ((0..20_000).map(|_| log_square()).sum::<f64>() / 20_000.0).sqrt()
        };
        assert_eq!(spread("1sd"), 0.0);
        assert!((spread("own-noise") - 0.45).abs() < 0.01);
    }

    #[test]
    fn a_fixed_seed_repeats_its_luck_and_hands_it_down() {
        let mut world = World::new(scenario("seed-tricks"), 5, 200);
        let trick = loop {
            let subject = world.propose();
            if world.subjects[subject].frozen.is_some() {
                break subject;
            }
        };
        assert_eq!(world.effect(trick), 0.0);
        assert_eq!(world.measure(trick, 1), world.measure(trick, 1));
        assert_ne!(world.measure(0, 1), world.measure(0, 1));
        world.keep(trick);
        let child = world.propose();
        assert_eq!(world.measure(child, 1), world.measure(child, 1));
    }

    #[test]
    fn a_re_roll_is_worth_what_it_was_worth_before() {
        let mut world = World::new(scenario("re-rolls"), 5, 200);
        let (mut seen, mut same_bytes) = (std::collections::HashMap::new(), 0);
        for _ in 0..1_000 {
            let subject = world.propose();
            let effect = world.effect(subject);
            if let Some(before) = seen.insert(world.content(subject), effect) {
                same_bytes += 1;
                assert_eq!(before, effect);
            }
            world.discard(subject);
        }
        assert!((150..250).contains(&same_bytes), "{same_bytes}");
    }

    #[test]
    fn a_restacked_edit_adds_to_the_champion_that_came_meanwhile() {
        let mut world = World::new(scenario("5sd"), 5, 200);
        let proposed: Vec<Subject> = (0..50).map(|_| world.propose()).collect();
        let mut good =
            proposed.into_iter().filter(|subject| world.effect(*subject) > 0.0).collect::<Vec<_>>().into_iter();
        let (first, second) = (good.next().unwrap(), good.next().unwrap());
        let (one, other) = (world.effect(first), world.effect(second));
        world.keep(first);
        assert_eq!(world.effect(second), other - one);
        let stacked = world.restack(second);
        assert!((world.effect(stacked) - other).abs() < 1e-12);
        assert_ne!(world.content(stacked), world.content(second));
        world.keep(stacked);
        assert!((world.gain() - one - other).abs() < 1e-12);
    }

    #[test]
    fn a_retracted_keep_gives_back_what_it_gained_and_no_more() {
        let mut world = World::new(scenario("5sd"), 5, 200);
        assert_eq!(world.retract(), None);
        let (first, second) = (world.propose(), world.propose());
        let (one, other) = (world.effect(first), world.effect(second));
        world.keep(first);
        world.keep(second);
        assert_eq!(world.gain(), other);
        assert_eq!(world.retract(), Some(other - one));
        assert_eq!(world.gain(), one);
        assert_eq!((world.retract(), world.gain()), (Some(one), 0.0));
    }

    #[test]
    fn a_seed_brings_its_share_of_the_noise_to_both_sides() {
        let variance = |same: bool| {
            let mut world = World::new(scenario("seeded"), 5, 40_000);
            let mut square = |pair: u64| {
                let second = if same { pair } else { pair + 20_000 };
                (world.measure(0, pair).unwrap() - world.measure(0, second).unwrap()).powi(2)
            };
            (0..20_000).map(&mut square).sum::<f64>() / 20_000.0
        };
        assert!((variance(false) - 2.0).abs() < 0.1 && (variance(true) - 0.4).abs() < 0.02);
    }

    #[test]
    fn of_the_luck_of_a_seed_a_candidate_may_have_its_own_which_it_has_again() {
        let mut world = World::new(scenario("seeded-own"), 5, 80_000);
        let other = world.plant(0.0);
        let mut between = |pair: u64, subject: Subject| {
            (world.measure(0, pair).unwrap() - world.measure(subject, pair).unwrap()).powi(2)
        };
        let mut variance = |subject| (0..20_000).map(|pair| between(pair, subject)).sum::<f64>() / 20_000.0;
        let (itself, another) = (variance(0), variance(other));
        assert!((itself - 0.4).abs() < 0.02 && (another - 1.2).abs() < 0.05, "{itself} {another}");
    }

    #[test]
    fn the_night_is_over_when_its_trials_are_spent() {
        let mut world = World::new(scenario("1sd"), 5, 2);
        assert!(world.measure(0, 1).is_some() && world.measure(0, 1).is_some());
        assert_eq!(world.measure(0, 1), None);
    }
}
