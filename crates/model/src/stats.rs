//! The little statistics the first judge needs.

/// Mean and spread of a growing sample (Welford), so no sample has to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    n: u32,
    mean: f64,
    squares: f64,
}

impl Tally {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Tally {
        let mut tally = Tally::default();
        values.into_iter().for_each(|value| tally.add(value));
        tally
    }

    pub fn add(&mut self, value: f64) {
        self.n += 1;
        let delta = value - self.mean;
        self.mean += delta / f64::from(self.n);
        self.squares += delta * (value - self.mean);
    }

    pub fn n(&self) -> u32 {
        self.n
    }

    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// The sum of squared deviations from the mean: what pools across groups.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// How many degrees of freedom the group adds to a pooled spread.
    pub fn degrees(&self) -> u32 {
        self.n.saturating_sub(1)
    }
}

/// The spread within groups, pooled over them: `(sd, degrees of freedom)`.
pub fn pooled_sd<'a>(groups: impl IntoIterator<Item = &'a Tally>) -> Option<(f64, u32)> {
    let (squares, degrees) = groups
        .into_iter()
        .fold((0.0, 0), |(squares, degrees), group| (squares + group.squares(), degrees + group.degrees()));
    (degrees > 0).then(|| ((squares / f64::from(degrees)).sqrt(), degrees))
}

/// How sure a bound has to be, on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    P95,
    P975,
}

/// The quantile of Student's t: few repeats mean a poorly known noise, and a wider bound.
pub fn student_t(confidence: Confidence, degrees: u32) -> f64 {
    const P95: [f64; 30] = [
        6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746,
        1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697,
    ];
    const P975: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    let (table, normal): (_, f64) = match confidence {
        Confidence::P95 => (&P95, 1.645),
        Confidence::P975 => (&P975, 1.960),
    };
    match degrees {
        0 => f64::INFINITY,
        1..=30 => table[degrees as usize - 1],
        // The expansion in 1/degrees (Cornish and Fisher); off by less than 0.001 beyond 30.
        more => {
            let (z, n) = (normal, f64::from(more));
            z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_spread_agrees_with_the_two_pass_one() {
        let values = [3.0, 4.5, 1.25, 9.0, -2.0];
        let mean = values.iter().sum::<f64>() / 5.0;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let tally = Tally::of(values);
        assert!((tally.mean().unwrap() - mean).abs() < 1e-12);
        assert!((tally.squares() - squares).abs() < 1e-9);
    }

    #[test]
    fn groups_of_one_say_nothing_about_the_noise() {
        assert_eq!(pooled_sd(&[Tally::of([1.0]), Tally::of([5.0])]), None);
        let (sd, degrees) = pooled_sd(&[Tally::of([1.0, 3.0]), Tally::of([10.0, 12.0])]).unwrap();
        assert_eq!((sd, degrees), (2f64.sqrt(), 2));
    }

    #[test]
    fn the_quantile_meets_its_table_and_falls_towards_the_normal() {
        assert!((student_t(Confidence::P975, 31) - 2.0395).abs() < 0.001);
        assert!((student_t(Confidence::P95, 60) - 1.6706).abs() < 0.001);
        assert!(student_t(Confidence::P95, 0).is_infinite());
    }
}
