//! The `tpe` crate: one estimator for each literal, as its documentation has it.

use std::error::Error;

use overnight_model::tuner::space::{Domain, Grain, Point, Scale};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tpe::TpeOptimizer;

use crate::method::Method;

/// Drawn at random before the estimators are asked, as their documentation advises; as many as Optuna draws.
const STARTUP: usize = 10;

pub struct TpeCrate {
    axes: Vec<Axis>,
    random: StdRng,
    told: Vec<(Point, Option<f64>)>,
}

/// One literal: its values, moved to a range in which steps are felt alike.
struct Axis {
    optimizer: TpeOptimizer,
    domain: Domain,
    low: f64,
    high: f64,
}

impl TpeCrate {
    pub fn new(space: &[Domain], seed: u64) -> Result<TpeCrate, Box<dyn Error>> {
        let axes = space.iter().map(Axis::new).collect::<Result<_, _>>()?;
        Ok(TpeCrate { axes, random: StdRng::seed_from_u64(seed), told: Vec::new() })
    }
}

impl Method for TpeCrate {
    fn tell(&mut self, point: Point, value: Option<f64>, _error: f64) -> Result<(), Box<dyn Error>> {
        for (axis, at) in self.axes.iter_mut().zip(&point) {
            // Only the order counts here, so a failure is worse than any value without being one.
            axis.optimizer.tell(axis.inside(*at), value.unwrap_or(f64::INFINITY))?;
        }
        self.told.push((point, value));
        Ok(())
    }

    fn ask(&mut self) -> Result<(Option<Point>, String), Box<dyn Error>> {
        let startup = self.told.len() < STARTUP;
        let mut point = Point::new();
        for axis in &mut self.axes {
            let inside = match startup {
                true => self.random.random_range(axis.low..axis.high),
                false => axis.optimizer.ask(&mut self.random)?,
            };
            point.push(axis.outside(inside));
        }
        Ok((Some(point), String::new()))
    }

    fn best(&self) -> Option<Point> {
        let measured = self.told.iter().filter_map(|(point, value)| value.map(|value| (value, point)));
        measured.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, point)| point.clone())
    }
}

impl Axis {
    fn new(domain: &Domain) -> Result<Axis, Box<dyn Error>> {
        let (low, high) = match *domain {
            Domain::Choice { options } => (0.0, options as f64),
            Domain::Number { low, high, scale, grain } => match (scale, grain) {
                (_, Grain::PowerOfTwo) => (low.log2().ceil() - 0.5, high.log2().floor() + 0.5),
                (Scale::Log, Grain::Whole) => ((low - 0.5).ln(), (high + 0.5).ln()),
                (Scale::Log, Grain::Any) => (low.ln(), high.ln()),
                (Scale::Linear, Grain::Whole) => (low - 0.5, high + 0.5),
                (Scale::Linear, Grain::Any) => (low, high),
            },
        };
        let estimator = match domain {
            Domain::Choice { .. } => tpe::histogram_estimator(),
            Domain::Number { .. } => tpe::parzen_estimator(),
        };
        let optimizer = TpeOptimizer::new(estimator, tpe::range(low, high)?);
        Ok(Axis { optimizer, domain: domain.clone(), low, high })
    }

    fn inside(&self, at: f64) -> f64 {
        let inside = match &self.domain {
            Domain::Choice { .. } => at,
            Domain::Number { grain: Grain::PowerOfTwo, .. } => at.log2(),
            Domain::Number { scale: Scale::Log, .. } => at.ln(),
            Domain::Number { .. } => at,
        };
        // The end is not part of its range.
        inside.clamp(self.low, self.high.next_down())
    }

    fn outside(&self, inside: f64) -> f64 {
        match &self.domain {
            Domain::Choice { options } => inside.floor().clamp(0.0, (options - 1) as f64),
            Domain::Number { grain: Grain::PowerOfTwo, low, high, .. } => inside.round().exp2().clamp(*low, *high),
            Domain::Number { low, high, scale, grain } => {
                let value = if *scale == Scale::Log { inside.exp() } else { inside };
                let value = if *grain == Grain::Whole { value.round() } else { value };
                value.clamp(*low, *high)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_any_kind_comes_back_as_it_went_in() {
        let number = |low, high, scale, grain| Domain::Number { low, high, scale, grain };
        let cases = [
            (number(1e-4, 0.1, Scale::Log, Grain::Any), vec![1e-4, 0.003, 0.1]),
            (number(0.0, 1.0, Scale::Linear, Grain::Any), vec![0.0, 0.25, 1.0]),
            (number(1.0, 24.0, Scale::Linear, Grain::Whole), vec![1.0, 7.0, 24.0]),
            (number(1.0, 64.0, Scale::Log, Grain::Whole), vec![1.0, 2.0, 63.0, 64.0]),
            (number(8.0, 512.0, Scale::Log, Grain::PowerOfTwo), vec![8.0, 64.0, 512.0]),
            (Domain::Choice { options: 3 }, vec![0.0, 1.0, 2.0]),
        ];
        for (domain, values) in cases {
            let axis = Axis::new(&domain).unwrap();
            for value in values {
                let back = axis.outside(axis.inside(value));
                assert!(
                    (back - value).abs() <= 1e-9 * value.abs().max(1e-3),
                    "{value} of {domain:?} came back as {back}"
                );
            }
        }
    }

    #[test]
    fn after_a_failure_it_still_asks_inside_the_ranges() {
        let space = [
            Domain::Choice { options: 2 },
            Domain::Number { low: 1.0, high: 9.0, scale: Scale::Linear, grain: Grain::Whole },
        ];
        let mut search = TpeCrate::new(&space, 1).unwrap();
        search.tell(vec![0.0, 5.0], Some(1.0), 0.0).unwrap();
        for _ in 0..40 {
            let point = search.ask().unwrap().0.unwrap();
            assert!((0.0..=1.0).contains(&point[0]) && (1.0..=9.0).contains(&point[1]), "{point:?}");
            let value = (point[1] < 6.0).then_some(point[1]);
            search.tell(point, value, 0.0).unwrap();
        }
        assert!(search.best().unwrap()[1] < 6.0);
    }
}
