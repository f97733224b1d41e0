use super::*;
use crate::judge::normal::density;

#[test]
fn every_hypothesis_is_a_distribution() {
    let prior = prior();
    assert_eq!(prior.weights.len(), HYPOTHESES);
    for weights in &prior.weights {
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(weights.iter().all(|weight| *weight >= 0.0));
    }
    assert!((prior.chances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

/// Every seventh is computed anew: enough to notice a grid that moved under its table.
#[test]
fn rates_are_what_the_best_rule_gains_per_trial() {
    let prior = prior();
    for hypothesis in (0..HYPOTHESES).step_by(7) {
        let (found, known) = (rate(prior, &prior.weights[hypothesis]), RATES[hypothesis]);
        assert!((found - known).abs() < 1e-4 + 0.01 * known, "{hypothesis}: {found} and not {known}");
    }
}

const NOISE: f64 = 1.0;
/// How well the champion is known.
const CHAMPION: f64 = 0.15;
const MOST: usize = 8;
/// Gauss and Hermite, three points.
const POINTS: [(f64, f64); 3] = [(-1.732_050_8, 1.0 / 6.0), (0.0, 2.0 / 3.0), (1.732_050_8, 1.0 / 6.0)];

struct Posterior {
    chances: [f64; COMPONENTS],
    means: [f64; COMPONENTS],
    variances: [f64; COMPONENTS],
}

impl Posterior {
    /// After `n` trials with this mean gain.
    fn of(prior: &Prior, weights: &[f64; COMPONENTS], n: usize, mean: f64) -> Posterior {
        let (mut chances, mut means, mut variances) = ([0.0; COMPONENTS], [0.0; COMPONENTS], [0.0; COMPONENTS]);
        let noise = NOISE / n as f64 + CHAMPION;
        for component in 0..KINDS {
            let own = prior.sds[component].powi(2);
            let all = own + noise;
            let off = mean - prior.means[component];
            chances[component] = weights[component] * density(off / all.sqrt()) / all.sqrt();
            means[component] = prior.means[component] + own / all * off;
            variances[component] = own * noise / all;
        }
        let total = chances.iter().sum::<f64>().max(1e-300);
        chances.iter_mut().for_each(|chance| *chance /= total);
        Posterior { chances, means, variances }
    }

    fn kept(&self) -> f64 {
        self.chances.iter().zip(&self.means).map(|(chance, mean)| chance * mean).sum::<f64>().max(0.0)
    }
}

/// The price at which going on is worth nothing: what the best rule gains per trial.
fn rate(prior: &Prior, weights: &[f64; COMPONENTS]) -> f64 {
    let means: Vec<f64> = (-40..=60).map(|step| (f64::from(step) / 12.0).sinh()).collect();
    let at = |n| means.iter().map(|mean| Posterior::of(prior, weights, n, *mean)).collect::<Vec<_>>();
    let posteriors: Vec<Vec<Posterior>> = (1..=MOST).map(at).collect();
    let between = |values: &[f64], mean: f64| {
        let place = (mean.asinh() * 12.0 + 40.0).clamp(0.0, values.len() as f64 - 1.0 - 1e-9);
        let (index, part) = (place as usize, place.fract());
        values[index] * (1.0 - part) + values[index + 1] * part
    };
    let worth = |price: f64| {
        let mut next: Vec<f64> = posteriors[MOST - 1].iter().map(Posterior::kept).collect();
        for n in (1..MOST).rev() {
            let one_more = |posterior: &Posterior, mean: f64| {
                let mut value = -price;
                for component in (0..KINDS).filter(|component| posterior.chances[*component] > 1e-6) {
                    let level = posterior.means[component];
                    let expected = level + (mean - level) * CHAMPION / (CHAMPION + NOISE / n as f64);
                    for (z, weight) in POINTS {
                        let score = expected + (posterior.variances[component] + NOISE).sqrt() * z;
                        let then = (n as f64 * mean + score) / (n as f64 + 1.0);
                        value += posterior.chances[component] * weight * between(&next, then);
                    }
                }
                value
            };
            let states = posteriors[n - 1].iter().zip(&means);
            next = states.map(|(posterior, mean)| posterior.kept().max(one_more(posterior, *mean))).collect();
        }
        let first = |component: usize| {
            let sd = (prior.sds[component].powi(2) + NOISE + CHAMPION).sqrt();
            let at = |(z, weight): (f64, f64)| weight * between(&next, prior.means[component] + sd * z);
            weights[component] * POINTS.into_iter().map(at).sum::<f64>()
        };
        (0..KINDS).map(first).sum::<f64>() - price
    };
    let (mut low, mut high) = (0.0, 6.4);
    for _ in 0..18 {
        let middle = 0.5 * (low + high);
        if worth(middle) > 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[test]
fn what_is_forgotten_is_how_common_good_edits_are_and_nothing_else() {
    // One study: good edits of the fourth size, a quarter of all.
    let mut sure = [0.0; HYPOTHESES];
    let (of_scale, of_harm) = (HYPOTHESES / SCALES.len(), GOOD.len() * HARMFUL.len());
    sure[3 * of_scale + of_harm + 3 * HARMFUL.len() + 1] = 1.0;
    let forgotten = with_share_forgotten(&sure);
    let found: Vec<usize> = (0..HYPOTHESES).filter(|hypothesis| forgotten[*hypothesis] > 0.0).collect();
    let first = 3 * of_scale + of_harm + 1;
    assert_eq!(found, (0..GOOD.len()).map(|more| first + more * HARMFUL.len()).collect::<Vec<_>>());
    assert!((forgotten.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(found.windows(2).all(|pair| forgotten[pair[0]] > forgotten[pair[1]]), "rarer is likelier");
}
