//! The rules of peers, each from its documented behaviour.

use std::f64::consts::SQRT_2;

use super::peer::{Choice, Peer, Seen};

/// karpathy/autoresearch, program.md: run it once; if the metric improved, keep the commit and go on from there, if it
/// is equal or worse, reset. The best recorded value is the bar for the next.
pub const GREEDY: Peer = Peer {
    calibration: 1,
    bar: mean,
    decide: |seen| once(seen, seen.bar),
    record: |seen| last(&seen.candidate),
    refuses_known: false,
    in_pairs: false,
};

/// The threshold that users and forks add first: learn the sd from runs of the unchanged baseline, and take one run
/// as better only beyond two of them.
pub const TWO_SIGMA: Peer = Peer {
    calibration: 8,
    bar: mean,
    decide: |seen| once(seen, seen.bar + 2.0 * sd(&seen.calibration)),
    record: |seen| last(&seen.candidate),
    refuses_known: false,
    in_pairs: false,
};

/// pi-autoresearch, README: improvements are kept; from the third value on, confidence is the best improvement over the
/// baseline divided by the median absolute deviation of all values of the session. It is advice to the agent: below 1
/// (red) it is told to run again to confirm. Here the agent always follows that advice, once.
pub const MAD: Peer = Peer {
    calibration: 1,
    bar: mean,
    decide: |seen| match seen.candidate[..] {
        [] => Choice::MeasureCandidate,
        [first] if first <= seen.bar => Choice::Discard,
        [first] if confidence(seen, first).is_none_or(|confidence| confidence >= 1.0) => Choice::Keep,
        [_] => Choice::MeasureCandidate,
        [.., again] if again > seen.bar => Choice::Keep,
        _ => Choice::Discard,
    },
    record: |seen| last(&seen.candidate),
    refuses_known: false,
    in_pairs: false,
};

/// labloop, `run --confirm`: a win is run a second time and has to win again; the incumbent moves to the weaker of the
/// two values. Without `--min-delta` any improvement wins.
pub const WIN_TWICE: Peer = Peer {
    calibration: 1,
    bar: mean,
    decide: |seen| twice(seen, seen.bar),
    record: |seen| seen.candidate.iter().copied().fold(f64::INFINITY, f64::min),
    refuses_known: false,
    in_pairs: false,
};

/// The same after its `noise` command: six runs of the unchanged program give the sd, which is the `--min-delta` of its
/// own published figures; then one run is the baseline.
pub const WIN_TWICE_BY_ONE_SD: Peer = Peer {
    calibration: 7,
    bar: last,
    decide: |seen| twice(seen, seen.bar + sd(&seen.calibration[..6])),
    record: WIN_TWICE.record,
    refuses_known: false,
    in_pairs: false,
};

/// autoresearch-mlx, rigor.py: three runs of each side. A first run that does not beat the best mean is discarded at
/// once; after three, keep where the bootstrap says that the mean is better with a probability of 0.95. A file that was
/// scored before is refused. Three values have 27 resamples, so the bootstrap is done in full.
pub const BOOTSTRAP: Peer = Peer {
    calibration: 3,
    bar: mean,
    decide: |seen| match seen.candidate[..] {
        [first, ..] if first <= seen.bar && seen.candidate.len() == 1 => Choice::Discard,
        [first, second, third] => {
            let better = probability_better([first, second, third], &seen.champion);
            if better >= 0.95 { Choice::Keep } else { Choice::Discard }
        }
        _ => Choice::MeasureCandidate,
    },
    record: |seen| mean(&seen.candidate),
    refuses_known: true,
    in_pairs: false,
};

/// Controllers with a fixed number of samples: the median of three runs is the score, and the better score is kept.
pub const MEDIAN: Peer = Peer {
    calibration: 3,
    bar: median,
    decide: |seen| match seen.candidate.len() {
        0..3 => Choice::MeasureCandidate,
        _ if median(&seen.candidate) > seen.bar => Choice::Keep,
        _ => Choice::Discard,
    },
    record: |seen| median(&seen.candidate),
    refuses_known: false,
    in_pairs: false,
};

/// The gain worth finding of the sequential test, in sd of a difference: the user's to choose. Four sd of a trial decide
/// most candidates at the first pair: of 400 trials they make 6.4, 38 and 70 sd of true gain at effects of 1, 3 and 5 sd,
/// where one sd of a difference makes 3.1, 13 and 23; only at 0.3 sd is less the better choice, 0.3 against 0.2.
const WORTH_FINDING: f64 = 4.0 / SQRT_2;

/// Wald's sequential test as engine testers run it, on pairs of candidate and champion: no gain against a gain worth
/// finding, both errors 5 %, no limit on pairs. The sd of a difference comes from four pairs of the baseline with itself.
/// The gain of a keep is the mean difference of its pairs.
pub const SPRT: Peer = Peer {
    calibration: 8,
    bar: mean,
    decide: |seen| {
        let pairs = seen.beside.len();
        if seen.candidate.len() == pairs && pairs > 0 {
            let sd = sd_of_differences(&seen.calibration);
            let total: f64 = differences(seen).sum();
            // Without noise the likelihoods are those of one look.
            let ratio = match sd {
                0.0 if total > 0.0 => f64::INFINITY,
                0.0 => f64::NEG_INFINITY,
                sd => WORTH_FINDING * (total / sd - WORTH_FINDING * pairs as f64 / 2.0),
            };
            let bound = (0.95_f64 / 0.05).ln();
            if ratio >= bound {
                return Choice::Keep;
            } else if ratio <= -bound {
                return Choice::Discard;
            }
        }
        if seen.candidate.len() > pairs { Choice::MeasureChampion } else { Choice::MeasureCandidate }
    },
    record: |seen| seen.bar + differences(seen).sum::<f64>() / seen.beside.len() as f64,
    refuses_known: false,
    in_pairs: true,
};

fn once(seen: &Seen, bar: f64) -> Choice {
    match seen.candidate[..] {
        [] => Choice::MeasureCandidate,
        [first, ..] if first > bar => Choice::Keep,
        _ => Choice::Discard,
    }
}

fn twice(seen: &Seen, bar: f64) -> Choice {
    match seen.candidate[..] {
        [.., latest] if latest <= bar => Choice::Discard,
        [_, _, ..] => Choice::Keep,
        _ => Choice::MeasureCandidate,
    }
}

fn differences(seen: &Seen) -> impl Iterator<Item = f64> {
    seen.candidate.iter().zip(&seen.beside).map(|(candidate, champion)| candidate - champion)
}

/// Of pairs that lie side by side and do not differ.
fn sd_of_differences(values: &[f64]) -> f64 {
    let squares: Vec<f64> = values.chunks_exact(2).map(|pair| (pair[0] - pair[1]).powi(2)).collect();
    mean(&squares).sqrt()
}

/// `None` before the third value, or where nothing scatters.
fn confidence(seen: &Seen, value: f64) -> Option<f64> {
    let middle = median(&seen.all);
    let deviations: Vec<f64> = seen.all.iter().map(|value| (value - middle).abs()).collect();
    let mad = median(&deviations);
    (seen.all.len() >= 3 && mad > 0.0).then(|| (value - mean(&seen.calibration)).abs() / mad)
}

/// The share of pairs of resamples in which the candidate's mean is better.
fn probability_better(candidate: [f64; 3], champion: &[f64]) -> f64 {
    let sums = |values: &[f64]| -> Vec<f64> {
        let pick = |index: usize| values[index % 3] + values[index / 3 % 3] + values[index / 9];
        (0..27).map(pick).collect()
    };
    let champion = sums(champion);
    let wins = |sum: &f64| champion.iter().filter(|other| sum > *other).count();
    sums(&candidate).iter().map(wins).sum::<usize>() as f64 / (27.0 * 27.0)
}

fn last(values: &[f64]) -> f64 {
    values.last().copied().unwrap_or(0.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn sd(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len().max(2) - 1) as f64).sqrt()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::peer::Sequential;
    use crate::rules::{Move, Rule};

    /// What a rule does with these runs of the baseline and then of one candidate, and what it records.
    fn judge(peer: &'static Peer, baseline: &[f64], candidate: &[f64], beside: &[f64]) -> (Move, usize, f64) {
        let mut rule = Sequential::new(peer);
        let (mut baseline, mut candidate, mut beside) = (baseline.iter(), candidate.iter(), beside.iter());
        let mut spent = 0;
        loop {
            match rule.next().expect("nothing runs") {
                Move::Propose => rule.proposed(1, 1),
                Move::Measure { subject: 1, .. } => {
                    spent += 1;
                    rule.measured(0, *candidate.next().expect("too many runs of the candidate"));
                }
                Move::Measure { .. } => {
                    let score = baseline.next().or_else(|| beside.next()).expect("too many runs of the champion");
                    rule.measured(0, *score);
                }
                verdict => return (verdict, spent, rule.report().gain),
            }
        }
    }

    const KEEP: Move = Move::Keep(1);
    const DISCARD: Move = Move::Discard(1);

    #[test]
    fn greedy_keeps_the_smallest_improvement_and_records_the_lucky_run() {
        assert_eq!(judge(&GREEDY, &[1.0], &[1.5], &[]), (KEEP, 1, 0.5));
        assert_eq!(judge(&GREEDY, &[1.0], &[1.0], &[]), (DISCARD, 1, 0.0));
    }

    #[test]
    fn two_sigma_wants_two_sd_of_the_baseline() {
        // Mean 0, sd 1.069.
        let baseline = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        assert_eq!(judge(&TWO_SIGMA, &baseline, &[2.1], &[]), (DISCARD, 1, 0.0));
        assert_eq!(judge(&TWO_SIGMA, &baseline, &[2.2], &[]), (KEEP, 1, 2.2));
    }

    #[test]
    fn mad_keeps_early_wins_and_runs_red_ones_again() {
        assert_eq!(judge(&MAD, &[0.0], &[0.5], &[]), (KEEP, 1, 0.5));
        let seen = |candidate: &[f64]| Seen {
            calibration: vec![0.0],
            bar: 0.2,
            all: vec![0.0, -2.0, 2.0, -2.0, 2.0, 0.5],
            candidate: candidate.to_vec(),
            ..Seen::default()
        };
        // The median is 0.25 and the deviation 1.75: a gain of 0.5 is red, one of 2 is not.
        assert_eq!((MAD.decide)(&seen(&[0.1])), Choice::Discard);
        assert_eq!((MAD.decide)(&seen(&[0.5])), Choice::MeasureCandidate);
        assert_eq!((MAD.decide)(&seen(&[2.0])), Choice::Keep);
        assert_eq!((MAD.decide)(&seen(&[0.5, 0.3])), Choice::Keep);
        assert_eq!((MAD.decide)(&seen(&[0.5, 0.1])), Choice::Discard);
    }

    #[test]
    fn win_twice_wants_two_wins_and_records_the_weaker() {
        assert_eq!(judge(&WIN_TWICE, &[0.0], &[-0.1], &[]), (DISCARD, 1, 0.0));
        assert_eq!(judge(&WIN_TWICE, &[0.0], &[2.0, -0.1], &[]), (DISCARD, 2, 0.0));
        assert_eq!(judge(&WIN_TWICE, &[0.0], &[2.0, 0.5], &[]), (KEEP, 2, 0.5));
        // An sd of 1.095, then a baseline of 3.
        let baseline = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 3.0];
        assert_eq!(judge(&WIN_TWICE_BY_ONE_SD, &baseline, &[5.0, 4.0], &[]), (DISCARD, 2, 0.0));
        assert_eq!(judge(&WIN_TWICE_BY_ONE_SD, &baseline, &[4.5, 5.0], &[]), (KEEP, 2, 1.5));
    }

    #[test]
    fn the_bootstrap_stops_after_a_bad_first_run_and_wants_three_that_agree() {
        let baseline = [0.0, 0.3, -0.3];
        assert_eq!(judge(&BOOTSTRAP, &baseline, &[-0.1], &[]), (DISCARD, 1, 0.0));
        let (verdict, spent, gain) = judge(&BOOTSTRAP, &baseline, &[1.0, 1.5, 2.0], &[]);
        assert_eq!((verdict, spent, gain), (KEEP, 3, 1.5));
        assert_eq!(judge(&BOOTSTRAP, &baseline, &[1.0, -1.0, 0.5], &[]).0, DISCARD);
        assert_eq!(probability_better([1.0; 3], &[0.0; 3]), 1.0);
        assert_eq!(probability_better([0.0; 3], &[0.0; 3]), 0.0);
    }

    #[test]
    fn the_bootstrap_refuses_what_it_scored_before() {
        let mut rule = Sequential::new(&BOOTSTRAP);
        while rule.next() != Some(Move::Propose) {
            rule.measured(0, 0.0);
        }
        rule.proposed(1, 77);
        assert!(matches!(rule.next(), Some(Move::Measure { subject: 1, .. })));
        rule.measured(0, -1.0);
        assert_eq!((rule.next(), rule.next()), (Some(Move::Discard(1)), Some(Move::Propose)));
        rule.proposed(2, 77);
        assert_eq!((rule.next(), rule.next()), (Some(Move::Refuse(2)), Some(Move::Propose)));
    }

    #[test]
    fn the_median_of_three_ignores_one_outlier() {
        assert_eq!(judge(&MEDIAN, &[0.0, 0.1, -9.0], &[9.0, -1.0, -0.5], &[]), (DISCARD, 3, 0.0));
        assert_eq!(judge(&MEDIAN, &[0.0, 0.1, -9.0], &[0.5, -9.0, 0.6], &[]), (KEEP, 3, 0.5));
    }

    #[test]
    fn the_sequential_test_goes_on_until_one_side_is_sure() {
        let baseline = [1.512, 0.0, 0.0, 1.512, 1.512, 0.0, 0.0, 1.512];
        // A difference has sd 1.512: one pair by 6 is enough, and so is one by -4; those by 3 need two pairs.
        let (verdict, spent, gain) = judge(&SPRT, &baseline, &[6.0], &[0.0]);
        assert_eq!((verdict, spent, gain), (KEEP, 1, 6.0));
        assert_eq!(judge(&SPRT, &baseline, &[-4.0], &[0.0]).0, DISCARD);
        let (verdict, spent, gain) = judge(&SPRT, &baseline, &[3.0; 9], &[0.0; 9]);
        assert_eq!((verdict, spent), (KEEP, 2));
        assert_eq!(judge(&SPRT, &baseline, &[1.0; 9], &[0.0; 9]), (DISCARD, 2, 0.0));
        assert!((gain - 3.0).abs() < 1e-12);
        assert_eq!(judge(&SPRT, &[0.0; 8], &[0.1], &[0.0]).0, KEEP);
        assert_eq!(judge(&SPRT, &[0.0; 8], &[0.0], &[0.0]).0, DISCARD);
    }
}
