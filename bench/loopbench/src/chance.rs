//! Chance as a value: the same seed gives the same numbers on every machine.

/// A stream of random numbers (SplitMix64): small, fast, and good enough for simulation.
#[derive(Debug, Clone)]
pub struct Chance(u64);

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Chance {
    /// The stream that belongs to these numbers; different numbers give unrelated streams.
    pub fn of(parts: &[u64]) -> Chance {
        Chance(parts.iter().fold(GOLDEN, |state, part| mix(state ^ mix(part.wrapping_add(GOLDEN)))))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Between 0 and 1, neither of them.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.unit().ln()).sqrt(), std::f64::consts::TAU * self.unit());
        radius * angle.cos()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_numbers_give_the_same_stream_and_others_another() {
        let draw = |parts: &[u64]| Chance::of(parts).bits();
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        assert_ne!(draw(&[0]), draw(&[0, 0]));
    }

    #[test]
    fn the_normal_and_the_exponential_have_the_moments_they_should() {
        let mut chance = Chance::of(&[7]);
        let n = 200_000;
        let normals: Vec<f64> = (0..n).map(|_| chance.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(n);
        let square = normals.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.01 && (square - 1.0).abs() < 0.02, "{mean} {square}");
        let exponential = (0..n).map(|_| chance.exponential()).sum::<f64>() / f64::from(n);
        assert!((exponential - 1.0).abs() < 0.02, "{exponential}");
    }
}
