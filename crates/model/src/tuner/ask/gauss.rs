//! A Gaussian process: what the values at some points say about all the others.
//!
//! Matérn 5/2 with a length of its own for each literal, fitted by maximum a posteriori. The prior of the lengths grows
//! with the root of the number of literals (Hvarfner, Hellsten and Nardi 2024, "Vanilla Bayesian Optimization Performs
//! Great in High Dimensions"), so that twenty literals are taken for no more complicated than five until they show it.

use std::hash::{Hash, Hasher};

use super::matrix::{Factor, dot};
use super::trend::Trend;

/// Points as places from 0 to 1, row by row; the last `choices` coordinates are equal or not, and nothing in between.
pub(super) struct Sample {
    pub(super) numbers: usize,
    pub(super) choices: usize,
    rows: Vec<f64>,
    pub(super) values: Vec<f64>,
    /// The variance of each value that is known beforehand.
    variances: Vec<f64>,
    /// Which of what was told each is.
    pub(super) told: Vec<usize>,
    /// What was taken off the values.
    trend: Trend,
}

/// What is learned besides the values: how far each literal reaches, how much there is to explain, and how rough it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// The logarithms of the lengths, then of the variance explained, then of what is left over.
    theta: Vec<f64>,
}

pub(super) struct Process<'a> {
    sample: &'a Sample,
    shape: Shape,
    inverse_lengths: Vec<f64>,
    variance: f64,
    factor: Factor,
    weights: Vec<f64>,
}

pub(super) struct Slopes {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) of_mean: Vec<f64>,
    pub(super) of_sd: Vec<f64>,
}

/// The spread of the logarithm of a length.
const LENGTH_SD: f64 = 1.2;

/// Lengths beyond these mean that a literal does nothing, or that nothing is known between two points.
const LENGTHS: (f64, f64) = (0.03, 20.0);

const ROOT_5: f64 = 2.236_067_977_499_79;

impl Sample {
    pub(super) fn empty(numbers: usize, choices: usize) -> Sample {
        Sample {
            numbers,
            choices,
            rows: Vec::new(),
            values: Vec::new(),
            variances: Vec::new(),
            told: Vec::new(),
            trend: Trend::default(),
        }
    }

    pub(super) fn push(&mut self, told: usize, row: &[f64], value: f64, variance: f64) {
        self.values.push(value - self.trend_at(row));
        self.rows.extend(row);
        self.variances.push(variance);
        self.told.push(told);
    }

    /// Takes off the values what they get worse by, away from a centre: from here on they are what is left.
    pub(super) fn detrend(&mut self, centre: Vec<f64>) {
        let squares: Vec<f64> = (0..self.len()).map(|at| self.square(self.row(at), &centre)).collect();
        self.trend = Trend::fit(centre, &self.values, &self.variances, &squares);
        for (value, square) in self.values.iter_mut().zip(squares) {
            *value -= self.trend.at(square);
        }
    }

    fn trend_at(&self, row: &[f64]) -> f64 {
        if self.trend.is_flat() { 0.0 } else { self.trend.at(self.square(row, self.trend.centre())) }
    }

    /// How far two rows are from each other, squared.
    fn square(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut squares = vec![0.0; self.width()];
        self.apart(a, b, &mut squares);
        squares.iter().sum()
    }

    /// The middle of the standard errors.
    pub(super) fn usual_error(&self) -> f64 {
        let mut variances = self.variances.clone();
        variances.sort_by(f64::total_cmp);
        variances.get(variances.len() / 2).map_or(0.0, |variance| variance.sqrt())
    }

    /// Tells samples apart by all that a shape is learned from.
    pub(super) fn digest(&self) -> u64 {
        let mut digest = std::hash::DefaultHasher::new();
        (self.numbers, self.choices).hash(&mut digest);
        for number in self.rows.iter().chain(&self.values).chain(&self.variances) {
            number.to_bits().hash(&mut digest);
        }
        digest.finish()
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn width(&self) -> usize {
        self.numbers + self.choices
    }

    pub(super) fn row(&self, at: usize) -> &[f64] {
        let width = self.width();
        &self.rows[at * width..(at + 1) * width]
    }

    /// How far all pairs are from each other in each coordinate, squared: the second of each pair runs fastest.
    fn all_apart(&self) -> Vec<f64> {
        let (n, width) = (self.len(), self.width());
        let mut squares = vec![0.0; n * n.saturating_sub(1) / 2 * width];
        let mut pairs = squares.chunks_exact_mut(width.max(1));
        for i in 0..n {
            for (j, squares) in (0..i).zip(&mut pairs) {
                self.apart(self.row(i), self.row(j), squares);
            }
        }
        squares
    }

    /// How far two rows are from each other in each coordinate, squared.
    fn apart(&self, a: &[f64], b: &[f64], squares: &mut [f64]) {
        for i in 0..self.numbers {
            let difference = a[i] - b[i];
            squares[i] = difference * difference;
        }
        for i in self.numbers..self.width() {
            squares[i] = f64::from(a[i] != b[i]) * CHOICE_APART;
        }
    }
}

/// How far two choices are from each other, squared: as far as numbers a third of their range apart.
pub(super) const CHOICE_APART: f64 = 0.1;

impl Shape {
    /// What is expected before anything was measured.
    pub(super) fn prior(width: usize) -> Shape {
        let mut theta = vec![expected_length(width); width];
        theta.extend([0.0, -7.0]);
        Shape { theta }
    }

    /// The share of the values' variance that neither the literals nor the known errors explain.
    pub(super) fn roughness(&self) -> f64 {
        self.theta[self.theta.len() - 1].exp()
    }

    /// Climbs to the most plausible shape in a bounded number of steps (Rprop: each parameter has a step of its own,
    /// which needs no line search and no curvature).
    pub(super) fn fit(sample: &Sample, steps: usize) -> Shape {
        let width = sample.width();
        let mut shape = Shape::prior(width);
        let mut best = (f64::INFINITY, shape.clone());
        let apart = sample.all_apart();
        let (mut pace, mut last) = (vec![0.4; width + 2], vec![0.0; width + 2]);
        for _ in 0..steps {
            let Some((loss, gradient)) = shape.loss(sample, &apart) else { break };
            if loss < best.0 {
                best = (loss, shape.clone());
            }
            for at in 0..width + 2 {
                let agrees = gradient[at] * last[at];
                pace[at] = if agrees > 0.0 {
                    f64::min(pace[at] * 1.3, 1.0)
                } else if agrees < 0.0 {
                    f64::max(pace[at] * 0.5, 0.01)
                } else {
                    pace[at]
                };
                last[at] = if agrees < 0.0 { 0.0 } else { gradient[at] };
                if last[at] != 0.0 {
                    shape.theta[at] -= pace[at] * last[at].signum();
                }
            }
            shape.bound(width);
        }
        best.1
    }

    fn bound(&mut self, width: usize) {
        for at in 0..width {
            self.theta[at] = self.theta[at].clamp(LENGTHS.0.ln(), LENGTHS.1.ln());
        }
        self.theta[width] = self.theta[width].clamp(-4.0, 5.0);
        self.theta[width + 1] = self.theta[width + 1].clamp(-14.0, 0.7);
    }

    /// How implausible this shape is, and where it gets worse.
    fn loss(&self, sample: &Sample, apart: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (n, width) = (sample.len(), sample.width());
        let inverse: Vec<f64> = self.theta[..width].iter().map(|theta| (-2.0 * theta).exp()).collect();
        let (variance, rough) = (self.theta[width].exp(), self.theta[width + 1].exp());
        let mut kernel = vec![0.0; n * n];
        let mut slopes = vec![0.0; n * n];
        let mut pairs = apart.chunks_exact(width);
        for i in 0..n {
            for (j, squares) in (0..i).zip(&mut pairs) {
                let root = (5.0 * dot(squares, &inverse)).sqrt();
                let fades = variance * (-root).exp();
                kernel[i * n + j] = fades * (1.0 + root + root * root / 3.0);
                slopes[i * n + j] = fades * (5.0 / 3.0) * (1.0 + root);
            }
            kernel[i * n + i] = variance + rough + sample.variances[i] + JITTER;
        }
        let diagonal: Vec<f64> = (0..n).map(|i| kernel[i * n + i]).collect();
        let factor = Factor::of(n, kernel.clone())?;
        let mut weights = sample.values.clone();
        factor.forward(&mut weights);
        let fits = dot(&weights, &weights);
        factor.backward(&mut weights);
        let mut loss = 0.5 * (fits + factor.log_determinant());
        let precision = factor.inverse();
        let mut gradient = vec![0.0; width + 2];
        let mut pairs = apart.chunks_exact(width);
        for i in 0..n {
            for (j, squares) in (0..i).zip(&mut pairs) {
                // Both halves of the matrix, hence no factor of one half.
                let pull = precision[i * n + j] - weights[i] * weights[j];
                gradient[width] += pull * kernel[i * n + j];
                let slope = pull * slopes[i * n + j];
                for (sum, square) in gradient.iter_mut().zip(squares) {
                    *sum += slope * square;
                }
            }
            let pull = 0.5 * (precision[i * n + i] - weights[i] * weights[i]);
            gradient[width] += pull * (diagonal[i] - rough - sample.variances[i] - JITTER);
            gradient[width + 1] += pull * rough;
        }
        for at in 0..width {
            gradient[at] *= inverse[at];
            let off = (self.theta[at] - expected_length(width)) / LENGTH_SD;
            loss += 0.5 * off * off;
            gradient[at] += off / LENGTH_SD;
        }
        for (at, middle, sd) in [(width, 0.0, 1.0), (width + 1, -5.0, 2.5)] {
            let off = (self.theta[at] - middle) / sd;
            loss += 0.5 * off * off;
            gradient[at] += off / sd;
        }
        loss.is_finite().then_some((loss, gradient))
    }
}

/// Keeps two equal points from making a matrix that cannot be factored.
const JITTER: f64 = 1e-8;

fn expected_length(width: usize) -> f64 {
    (0.45 * (width as f64).sqrt()).ln()
}

impl<'a> Process<'a> {
    pub(super) fn new(sample: &'a Sample, shape: Shape) -> Option<Process<'a>> {
        let (n, width) = (sample.len(), sample.width());
        let inverse_lengths: Vec<f64> = shape.theta[..width].iter().map(|theta| (-2.0 * theta).exp()).collect();
        let (variance, rough) = (shape.theta[width].exp(), shape.theta[width + 1].exp());
        let mut kernel = vec![0.0; n * n];
        let mut squares = vec![0.0; width];
        for i in 0..n {
            for j in 0..i {
                sample.apart(sample.row(i), sample.row(j), &mut squares);
                kernel[i * n + j] = matern(variance, dot(&squares, &inverse_lengths));
            }
            kernel[i * n + i] = variance + rough + sample.variances[i] + JITTER;
        }
        let factor = Factor::of(n, kernel)?;
        let mut weights = sample.values.clone();
        factor.forward(&mut weights);
        factor.backward(&mut weights);
        Some(Process { sample, shape, inverse_lengths, variance, factor, weights })
    }

    /// The expected value at a point of the sample.
    pub(super) fn mean_at(&self, at: usize) -> f64 {
        let left =
            self.sample.values[at] - (self.shape.roughness() + self.sample.variances[at] + JITTER) * self.weights[at];
        left + self.sample.trend_at(self.sample.row(at))
    }

    /// The expected value at a place, without its uncertainty: cheap.
    pub(super) fn mean(&self, row: &[f64]) -> f64 {
        let mut squares = vec![0.0; self.sample.width()];
        let near = |at| self.near(row, at, &mut squares);
        let left: f64 = (0..self.sample.len()).map(near).zip(&self.weights).map(|(near, weight)| near * weight).sum();
        left + self.sample.trend_at(row)
    }

    /// The expected value at a place, and the sd of that.
    pub(super) fn predict(&self, row: &[f64]) -> (f64, f64) {
        let mut squares = vec![0.0; self.sample.width()];
        let mut near: Vec<f64> = (0..self.sample.len()).map(|at| self.near(row, at, &mut squares)).collect();
        let mean = dot(&near, &self.weights) + self.sample.trend_at(row);
        self.factor.forward(&mut near);
        (mean, (self.variance - dot(&near, &near)).max(1e-12).sqrt())
    }

    /// The expected value at a place and the sd of that, each with its slope in every number.
    pub(super) fn slopes(&self, row: &[f64]) -> Slopes {
        let (n, numbers) = (self.sample.len(), self.sample.numbers);
        let mut squares = vec![0.0; self.sample.width()];
        let (mut near, mut fading) = (vec![0.0; n], vec![0.0; n]);
        for at in 0..n {
            self.sample.apart(row, self.sample.row(at), &mut squares);
            let root = ROOT_5 * dot(&squares, &self.inverse_lengths).sqrt();
            let fades = self.variance * (-root).exp();
            near[at] = fades * (1.0 + root + root * root / 3.0);
            fading[at] = -(5.0 / 3.0) * fades * (1.0 + root);
        }
        let mean = dot(&near, &self.weights) + self.sample.trend_at(row);
        self.factor.forward(&mut near);
        let sd = (self.variance - dot(&near, &near)).max(1e-12).sqrt();
        self.factor.backward(&mut near);
        let (mut of_mean, mut of_sd) = (vec![0.0; numbers], vec![0.0; numbers]);
        for at in 0..n {
            let to_mean = self.weights[at] * fading[at];
            let to_sd = -near[at] * fading[at] / sd;
            for (i, (here, there)) in row.iter().zip(self.sample.row(at)).take(numbers).enumerate() {
                let off = (here - there) * self.inverse_lengths[i];
                of_mean[i] += to_mean * off;
                of_sd[i] += to_sd * off;
            }
        }
        let trend = &self.sample.trend;
        if !trend.is_flat() {
            for ((slope, here), centre) in of_mean.iter_mut().zip(row).zip(trend.centre()) {
                *slope += trend.steepness(here - centre);
            }
        }
        Slopes { mean, sd, of_mean, of_sd }
    }

    /// How far a number reaches.
    pub(super) fn length(&self, at: usize) -> f64 {
        self.shape.theta[at].exp()
    }

    fn near(&self, row: &[f64], at: usize, squares: &mut [f64]) -> f64 {
        self.sample.apart(row, self.sample.row(at), squares);
        matern(self.variance, dot(squares, &self.inverse_lengths))
    }
}

fn matern(variance: f64, square: f64) -> f64 {
    let root = ROOT_5 * square.sqrt();
    variance * (1.0 + root + root * root / 3.0) * (-root).exp()
}
