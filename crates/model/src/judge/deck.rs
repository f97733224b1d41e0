//! The seeds whose luck is known.
//!
//! Where the seed makes much of the noise, and makes it alike for all commits, two that run with the same seed differ by
//! less than two that do not. So a score is a level, the candidate's effect, the luck of its seed and what is left; how
//! much of the noise is such luck is one more thing that worlds differ in, and scores of different commits with one seed
//! tell which of them is right. Repeats of one commit hardly do: a commit may have luck of its own with a seed.
//!
//! A few seeds that the champion was measured with are the deck. A candidate gets the one first whose luck is known best,
//! which is the same one for all between two looks at the champion: where there is luck, they have it in common, whether that
//! was found out already or not. No commit gets one twice, save the one probe, by which the level with that seed is known.
//! So what a seed does to one commit alone is seen once, as any other noise, and is never taken for an effect; and a champion
//! that has seen the whole deck brings a new seed in with every further look, and the oldest goes. Where seeds turn out to
//! make no common luck, every trial has a fresh one.

use crate::id::{ExperimentId, Seed};

/// How many seeds there are in the deck.
pub(super) const SEEDS: usize = 3;
/// The shares of the noise's variance that may be the seed's, and how likely each is at first.
pub(super) const SHARES: [(f64, f64); 3] = [(0.0, 0.65), (0.6, 0.19), (0.9, 0.16)];
/// As long as this likely some of it is, seeds of the deck are used; as long as it is not more likely than that, nothing is
/// decided by their luck.
pub(super) const POSSIBLE: f64 = 0.02;
pub(super) const LIKELY: f64 = 0.6;

/// A score with the seed that it was made with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    pub score: f64,
    pub seed: Option<Seed>,
}

impl From<f64> for Look {
    fn from(score: f64) -> Look {
        Look { score, seed: None }
    }
}

/// Which of its seeds a commit has seen, one bit each.
type Mask = u8;

#[derive(Debug, Clone, Default)]
pub(super) struct Deck {
    seeds: [Option<Seed>; SEEDS],
    oldest: usize,
    champion: Mask,
    candidates: Vec<(ExperimentId, Mask)>,
}

impl Deck {
    /// The place of the seed of a champion's trial, and whether it is new there.
    pub(super) fn of_champion(&mut self, look: Look) -> Option<(usize, bool)> {
        let seed = look.seed?;
        let known = self.place(seed);
        let at = known.unwrap_or(self.oldest);
        if known.is_none() {
            self.oldest = (at + 1) % SEEDS;
            self.seeds[at] = Some(seed);
            self.champion &= !(1 << at);
            self.candidates.iter_mut().for_each(|(_, mask)| *mask &= !(1 << at));
        }
        self.champion |= 1 << at;
        Some((at, known.is_none()))
    }

    /// The place of the seed of a candidate's trial, where it is in the deck and the candidate had it for the first time.
    pub(super) fn of_candidate(&mut self, id: ExperimentId, look: Look) -> Option<usize> {
        let at = self.place(look.seed?)?;
        let mask = self.mask_mut(id);
        let is_first = *mask & (1 << at) == 0;
        *mask |= 1 << at;
        is_first.then_some(at)
    }

    pub(super) fn place(&self, seed: Seed) -> Option<usize> {
        self.seeds.iter().position(|known| *known == Some(seed))
    }

    /// The places that have a seed.
    pub(super) fn dealt(&self) -> impl Iterator<Item = usize> + '_ {
        (0..SEEDS).filter(|at| self.seeds[*at].is_some())
    }

    pub(super) fn seed(&self, at: usize) -> Option<Seed> {
        self.seeds[at]
    }

    /// The places that a candidate has not seen, or those that the champion has not: first those that this candidate has.
    pub(super) fn left(&self, id: ExperimentId) -> impl Iterator<Item = usize> + use<> {
        let (seeds, mask) = (self.seeds, self.mask(id));
        (0..SEEDS).filter(move |at| seeds[*at].is_some() && mask & (1 << at) == 0)
    }

    pub(super) fn left_for_champion(&self, candidate: Option<ExperimentId>) -> impl Iterator<Item = usize> + use<> {
        let (seeds, mask) = (self.seeds, self.champion);
        let paired = candidate.map_or(0, |id| self.mask(id));
        let of = move |wanted: Mask| {
            (0..SEEDS).filter(move |at| {
                seeds[*at].is_some() && mask & (1 << at) == 0 && (paired & (1 << at) != 0) == (wanted != 0)
            })
        };
        of(1).chain(of(0))
    }

    pub(super) fn keep(&mut self, id: ExperimentId) {
        self.champion = self.mask(id);
        self.close(id);
    }

    /// Another champion, of which it is not known what it has seen.
    pub(super) fn replace(&mut self, has_seen: bool) {
        self.champion = if has_seen { Mask::MAX } else { 0 };
    }

    /// It was here before under another name: whatever it may have seen is not for it.
    pub(super) fn has_seen_all(&mut self, id: ExperimentId) {
        *self.mask_mut(id) = Mask::MAX;
    }

    pub(super) fn close(&mut self, id: ExperimentId) {
        self.candidates.retain(|(open, _)| *open != id);
    }

    fn mask(&self, id: ExperimentId) -> Mask {
        self.candidates.iter().find(|(open, _)| *open == id).map_or(0, |(_, mask)| *mask)
    }

    fn mask_mut(&mut self, id: ExperimentId) -> &mut Mask {
        let at = self.candidates.iter().position(|(open, _)| *open == id).unwrap_or_else(|| {
            self.candidates.push((id, 0));
            self.candidates.len() - 1
        });
        &mut self.candidates[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(seed: u32) -> Look {
        Look { score: 0.0, seed: Some(Seed(seed)) }
    }

    #[test]
    fn a_champion_that_has_seen_the_whole_deck_brings_a_new_seed_in_and_the_oldest_goes() {
        let mut deck = Deck::default();
        for seed in 1..=SEEDS as u32 {
            assert_eq!(deck.of_champion(look(seed)), Some((seed as usize - 1, true)));
        }
        assert_eq!(deck.left_for_champion(None).count(), 0);
        assert_eq!(deck.of_champion(look(1)), Some((0, false)), "the probe");
        assert_eq!(deck.of_champion(look(9)), Some((0, true)));
        assert_eq!((deck.place(Seed(1)), deck.place(Seed(9))), (None, Some(0)));
    }

    #[test]
    fn a_candidate_gets_every_seed_once_and_keeps_count_as_champion() {
        let (mut deck, id) = (Deck::default(), ExperimentId(1));
        [1, 2, 3].into_iter().for_each(|seed| assert!(deck.of_champion(look(seed)).is_some()));
        assert_eq!(deck.of_candidate(id, look(2)), Some(1));
        assert_eq!(deck.of_candidate(id, look(2)), None, "what a seed does to one commit alone is seen once");
        assert_eq!(deck.of_candidate(id, look(7)), None, "nobody knows the luck of that one");
        assert_eq!(deck.left(id).collect::<Vec<_>>(), [0, 2]);
        deck.keep(id);
        assert_eq!(deck.left_for_champion(None).collect::<Vec<_>>(), [0, 2]);
        let next = ExperimentId(2);
        assert_eq!(deck.of_candidate(next, look(3)), Some(2));
        assert_eq!(deck.left_for_champion(Some(next)).collect::<Vec<_>>(), [2, 0], "first what the candidate had");
    }
}
