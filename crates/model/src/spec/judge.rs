//! How the judge decides, as a person asked for it.

use crate::units::{Goal, Score};

/// What the triplet says about the judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgeSpec {
    pub mode: Mode,
    /// The share of a night's trials that one candidate may get; more than 0, at most 1.
    pub max_share: f64,
    /// A larger gain over the champion in one step is not believed: a person has to look.
    pub max_step_gain: Option<StepGain>,
}

impl Default for JudgeSpec {
    fn default() -> JudgeSpec {
        JudgeSpec { mode: Mode::default(), max_share: DEFAULT_SHARE, max_step_gain: None }
    }
}

/// Ten candidates that are hard to tell from the champion are not the whole of a night.
const DEFAULT_SHARE: f64 = 0.1;

/// How sure a keep has to be: one knob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Mode {
    Explore,
    #[default]
    Balanced,
    Strict,
}

impl Mode {
    /// The most daring first.
    pub const ALL: [Mode; 3] = [Mode::Explore, Mode::Balanced, Mode::Strict];

    /// The name in the triplet and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Explore => "explore",
            Mode::Balanced => "balanced",
            Mode::Strict => "strict",
        }
    }
}

/// How large a single gain is believable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepGain {
    /// In the metric's own unit.
    Absolute(Score),
    /// Of the champion's level: 0.3 for thirty percent.
    Share(f64),
}

impl StepGain {
    /// The largest gain over a champion of this level that is believed; `None` where nothing can be said of it: of a
    /// champion at 0 every gain is infinitely many percent.
    pub fn limit(self, champion: f64) -> Option<f64> {
        match self {
            StepGain::Absolute(gain) => Some(gain.get()),
            StepGain::Share(share) => Some(champion.abs() * share).filter(|limit| *limit > 0.0 && limit.is_finite()),
        }
    }

    /// By how much a value is better than the champion's, where that is more than is believed.
    pub fn exceeded(self, goal: Goal, champion: f64, value: f64) -> Option<f64> {
        let (gain, limit) = (goal.gain(champion, value), self.limit(champion)?);
        (gain > limit).then_some(gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_one_of_the_champions_level_whatever_its_sign() {
        assert_eq!(StepGain::Share(0.5).limit(-4.0), Some(2.0));
        assert_eq!(StepGain::Share(0.5).limit(0.0), None, "half of nothing would suspect every gain");
        assert_eq!(StepGain::Absolute(Score::new(0.25).unwrap()).limit(0.0), Some(0.25));
    }

    #[test]
    fn only_a_gain_is_too_good_to_be_true() {
        let third = StepGain::Share(0.25);
        assert_eq!(third.exceeded(Goal::Min, 4.0, 2.0), Some(2.0));
        assert_eq!(third.exceeded(Goal::Min, 4.0, 3.0), None, "the limit itself is believed");
        assert_eq!(third.exceeded(Goal::Min, 4.0, 9.0), None, "a loss is not suspicious");
        assert_eq!(third.exceeded(Goal::Max, 4.0, 6.0), Some(2.0));
    }
}
