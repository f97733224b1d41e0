//! Which seed a trial gets, and what is known of its luck.

use super::deck::{LIKELY, Look, POSSIBLE};
use super::mind::Mind;
use super::world::World;
use crate::id::{ExperimentId, Seed};

impl Mind {
    /// A score less the luck of its seed, as far as that is known.
    pub fn less_luck(&self, look: Look) -> f64 {
        let Some(at) = look.seed.and_then(|seed| self.deck.place(seed)) else { return look.score };
        look.score - self.believed().map(|(chance, world)| chance * world.level.luck.mean[at]).sum::<f64>()
    }

    /// The sd of trials with seeds of their own, for people. Verdicts go by `noise`: a world is believed for the noise that
    /// it leaves beside the luck, of which there is one for every trial, and how much luck there is, is seen by few seeds.
    pub fn scatter(&self) -> f64 {
        let seeds: Vec<usize> = self.deck.dealt().collect();
        let all = |world: &World| match world.luck > 0.0 {
            true => (world.sd.powi(2) + world.level.luck.variance(world.luck.powi(2), &seeds)).sqrt(),
            false => world.sd,
        };
        self.believed().map(|(chance, world)| chance * all(world).ln()).sum::<f64>().exp()
    }

    /// The seeds that a candidate may have next, the best first; none where any other is as good.
    pub fn seeds_for(&self, id: ExperimentId) -> Vec<Seed> {
        self.places_for(id).into_iter().filter_map(|at| self.deck.seed(at)).collect()
    }

    /// Those that the champion may have next, for the sake of a candidate where there is one.
    pub fn seeds_for_champion(&self, candidate: Option<ExperimentId>) -> Vec<Seed> {
        self.places_for_champion(candidate).into_iter().filter_map(|at| self.deck.seed(at)).collect()
    }

    pub(super) fn places_for(&self, id: ExperimentId) -> Vec<usize> {
        if !self.is_paired() {
            return Vec::new();
        }
        let mut places: Vec<usize> = self.deck.left(id).collect();
        // The better its luck is known, the more a trial with it tells.
        places.sort_by(|a, b| self.not_known(*a).total_cmp(&self.not_known(*b)));
        places
    }

    /// The variance of what a trial of the champion with this seed gives before noise.
    fn not_known(&self, at: usize) -> f64 {
        self.worlds.iter().map(|world| world.chance * world.level.foretold(Some(at)).1).sum()
    }

    pub(super) fn places_for_champion(&self, candidate: Option<ExperimentId>) -> Vec<usize> {
        if self.is_paired() { self.deck.left_for_champion(candidate).collect() } else { Vec::new() }
    }

    /// The worlds that verdicts are made by, and how likely each is. Those in which seeds make common luck have no say
    /// until they are more likely than not: who believes in them too early takes noise for gains.
    pub(super) fn believed(&self) -> impl Iterator<Item = (f64, &World)> + Clone {
        let shared = self.shared();
        let (all, total) = (shared >= LIKELY, if shared >= LIKELY { 1.0 } else { 1.0 - shared });
        let has_say = move |world: &&World| all || world.luck == 0.0;
        self.worlds.iter().filter(has_say).map(move |world| (world.chance / total, world))
    }

    /// Whether seeds may make luck that commits have in common.
    pub fn is_paired(&self) -> bool {
        self.shared() >= POSSIBLE
    }

    /// How likely seeds make luck that commits have in common.
    pub fn shared(&self) -> f64 {
        self.worlds.iter().filter(|world| world.luck > 0.0).map(|world| world.chance).sum()
    }

    /// Learns by how much a commit differed from itself with one seed, so many trials apart.
    pub fn probe(&mut self, gap: f64, since: u64) {
        if self.shared() > 0.0 {
            self.opinions.get_mut().clear();
            self.worlds.iter_mut().for_each(|world| world.learn_probe(gap, since as f64));
            self.weigh();
        }
    }

    /// The place of a champion's seed in the deck, which it takes where it is a new one.
    pub(super) fn deal(&mut self, look: Look) -> Option<usize> {
        let (at, is_new) = self.deck.of_champion(look)?;
        if is_new {
            self.worlds.iter_mut().for_each(|world| world.renew(at));
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of about -1.7 to 1.7 with sd 1, always the same for the same words.
    fn draw(of: &[u64]) -> f64 {
        let mut x = 0x9E37_79B9_7F4A_7C15_u64;
        for word in of {
            x = (x ^ word.wrapping_mul(0xBF58_476D_1CE4_E5B9)).rotate_left(31).wrapping_mul(0x94D0_49BB_1331_11EB);
            x ^= x >> 29;
        }
        12_f64.sqrt() * ((x >> 11) as f64 / (1_u64 << 53) as f64 - 0.5)
    }

    /// A night of candidates that change nothing, each with two trials, the champion's looks in between. `luck` is what a
    /// seed does to a commit.
    fn night(luck: impl Fn(u64, Seed) -> f64) -> Mind {
        night_with(0.3, luck)
    }

    fn night_with(noise: f64, luck: impl Fn(u64, Seed) -> f64) -> Mind {
        let mut fresh = 1000;
        let mut fresh_seed = || {
            fresh += 1;
            Seed(fresh)
        };
        let trial = |commit: u64, seed: Seed, nth: u64| {
            let score = luck(commit, seed) + noise * draw(&[commit, seed.0.into(), nth, 77]);
            Look { score, seed: Some(seed) }
        };
        let first: Vec<Look> = (0..2).map(|nth| trial(0, fresh_seed(), nth)).collect();
        let mut mind = Mind::begin(&first, &[]).unwrap();
        for commit in 1..=60 {
            let id = ExperimentId(commit);
            mind.open(id);
            for nth in 0..2 {
                let seed = mind.seeds_for(id).first().copied().unwrap_or_else(&mut fresh_seed);
                mind.candidate(id, trial(commit, seed, nth));
            }
            mind.discard(id);
            if commit % 6 == 0 {
                let seed = mind.seeds_for_champion(None).first().copied().unwrap_or_else(&mut fresh_seed);
                mind.champion(trial(0, seed, commit));
            }
        }
        mind
    }

    #[test]
    fn luck_that_all_commits_have_in_common_is_found_and_taken_off() {
        let luck = |seed: Seed| draw(&[seed.0.into()]);
        let mind = night(|_, seed| luck(seed));
        assert!(mind.shared() > 0.9, "{}", mind.shared());
        assert!(mind.grain() < 0.5 && mind.noise() > 0.6, "{} {}", mind.grain(), mind.noise());
        let seeds = mind.seeds_for(ExperimentId(99));
        let [one, other] = seeds[..2] else { panic!("{seeds:?}") };
        let less = |seed: Seed| mind.less_luck(Look { score: luck(seed), seed: Some(seed) });
        assert!((less(one) - less(other)).abs() < 0.4, "{} {}", less(one), less(other));
    }

    #[test]
    fn where_seeds_make_all_of_the_luck_people_are_told_by_how_much_trials_scatter() {
        let mind = night_with(0.001, |_, seed| 100.0 + draw(&[seed.0.into()]));
        assert!(mind.shared() > 0.9, "{}", mind.shared());
        assert!((0.6..1.7).contains(&mind.scatter()), "{}", mind.scatter());
        assert!(mind.noise() < 0.5, "what a verdict goes by is not that: {}", mind.noise());
        let without = night(|_, _| 100.0);
        assert!((without.scatter() / without.noise() - 1.0).abs() < 0.2, "{} {}", without.scatter(), without.noise());
    }

    #[test]
    fn luck_that_every_commit_has_for_itself_is_noise_and_seeds_are_fresh_again() {
        let mind = night(|commit, seed| draw(&[commit, seed.0.into()]));
        assert!(mind.shared() < POSSIBLE, "{}", mind.shared());
        assert_eq!(mind.seeds_for(ExperimentId(99)), []);
        assert!((0.7..1.5).contains(&mind.grain()), "{}", mind.grain());
    }

    #[test]
    fn a_commit_far_from_itself_with_one_seed_says_that_the_seed_makes_no_luck() {
        let mut mind = Mind::begin(&[Look { score: -0.7, seed: Some(Seed(1)) }, 0.7.into()], &[]).unwrap();
        (0..12).for_each(|nth| mind.champion(draw(&[nth])));
        let before = mind.shared();
        mind.probe(2.0, 8);
        assert!(mind.shared() < 0.7 * before, "{before} {}", mind.shared());
    }

    #[test]
    fn with_one_seed_a_candidate_is_compared_with_what_the_champion_gave_there() {
        let at = |score: f64, seed: u32| Look { score, seed: Some(Seed(seed)) };
        let mut world = Mind::begin(&[at(-3.0, 1), at(3.0, 2)], &[]).unwrap();
        // Only worlds in which nearly everything is the luck of the seed.
        world.worlds.retain(|world| world.luck > 2.0 * world.sd);
        world.weigh();
        let id = ExperimentId(1);
        let expected = |score: f64, seed: u32| {
            let mut mind = world.clone();
            mind.open(id);
            mind.candidate(id, at(score, seed));
            mind.opinion(id, 0.0).unwrap().expected
        };
        let (gained, lost) = (expected(-1.0, 1), expected(1.0, 2));
        assert!(gained > lost, "two above the champion with its seed, and two below it: {gained} {lost}");
    }
}
