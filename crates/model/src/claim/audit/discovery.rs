//! Holding down false discoveries where many things are asked at once.

/// e-BH (Wang and Ramdas): the largest number of claims such that each has odds of `enough` times the number of things
/// asked, divided by the number of claims. Of what is called, on average at most one in `enough` is false, however the
/// odds depend on each other and whenever somebody stops. `None` was not asked.
pub(super) fn discoveries(odds: &[Option<f64>], enough: f64) -> Vec<bool> {
    let mut sorted: Vec<f64> = odds.iter().flatten().copied().collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let asked = sorted.len() as f64;
    let is_enough = |(at, odds): (usize, &f64)| *odds * (at + 1) as f64 >= enough * asked;
    let claims = sorted.iter().enumerate().rposition(is_enough).map_or(0, |last| last + 1);
    let least = match claims {
        0 => f64::INFINITY,
        claims => enough * asked / claims as f64,
    };
    odds.iter().map(|odds| claims > 0 && odds.is_some_and(|odds| odds >= least)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_needs_what_a_comparison_needs() {
        assert_eq!(discoveries(&[Some(48.0)], 48.0), [true]);
        assert_eq!(discoveries(&[Some(47.9)], 48.0), [false]);
        assert_eq!(discoveries(&[], 48.0), Vec::<bool>::new());
        assert_eq!(discoveries(&[None, Some(50.0)], 48.0), [false, true]);
    }

    #[test]
    fn many_need_more_and_help_each_other() {
        assert_eq!(discoveries(&[Some(50.0), Some(1.0), Some(1.0), Some(1.0)], 48.0), [false; 4]);
        assert_eq!(discoveries(&[Some(200.0), Some(1.0), Some(1.0), Some(1.0)], 48.0), [true, false, false, false]);
        assert_eq!(discoveries(&[Some(100.0), Some(1.0), Some(97.0), Some(1.0)], 48.0), [true, false, true, false]);
        assert_eq!(discoveries(&[Some(f64::INFINITY), Some(0.0)], 48.0), [true, false]);
    }

    /// The rule as it is usually written, one number of claims after the other.
    #[test]
    fn it_is_the_rule_of_the_books() {
        let odds: Vec<f64> = (1..30).map(|n| f64::from(n * n * 37 % 101)).collect();
        let by_hand = (0..=odds.len()).rev().find(|claims| {
            let least = 20.0 * odds.len() as f64 / *claims as f64;
            odds.iter().filter(|odds| **odds >= least).count() >= *claims
        });
        let called = discoveries(&odds.iter().copied().map(Some).collect::<Vec<_>>(), 20.0);
        assert_eq!(called.iter().filter(|called| **called).count(), by_hand.unwrap());
        assert!(by_hand.unwrap() > 3);
    }
}
