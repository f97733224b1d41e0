//! From values to pixels, with ticks at numbers that people like.

/// A linear scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
}

impl Scale {
    /// Values `from.0` to `from.1` fall on pixels `to.0` to `to.1`.
    pub(super) fn new(from: (f64, f64), to: (f64, f64)) -> Scale {
        // Nothing can be divided by an empty range; then everything falls into the middle.
        let from = if from.1 > from.0 { from } else { (from.0 - 0.5, from.0 + 0.5) };
        Scale { from, to }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value - self.from.0) / (self.from.1 - self.from.0);
        self.to.0 + share * (self.to.1 - self.to.0)
    }

    /// The same, at the edge where it would fall outside.
    pub(super) fn inside(&self, value: f64) -> f64 {
        self.at(value.clamp(self.from.0, self.from.1))
    }

    pub(super) fn holds(&self, value: f64) -> bool {
        (self.from.0..=self.from.1).contains(&value)
    }

    /// About so many ticks at round values, with as many decimals as they need.
    pub(super) fn ticks(&self, about: usize, whole: bool) -> Vec<(f64, String)> {
        let span = self.from.1 - self.from.0;
        let rough = span / about.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let step = if whole { step.max(1.0).round() } else { step };
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let first = (self.from.0 / step).ceil();
        let count = ((self.from.1 / step).floor() - first).clamp(0.0, 50.0) as usize + 1;
        let largest = self.from.0.abs().max(self.from.1.abs());
        let text = |value: f64| match largest {
            large if large >= 1e7 || (large > 0.0 && large < 1e-4) => format!("{value:.2e}"),
            _ => format!("{value:.decimals$}"),
        };
        let value = |index: usize| (first + index as f64) * step;
        let values = (0..count).map(value).filter(|value| self.holds(*value));
        // A zero that is none, by the last bit of its sum.
        let values = values.map(|value| if value.abs() < step / 1e6 { 0.0 } else { value });
        values.map(|value| (value, text(value).replace('-', "−"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = |from, to, about| -> Vec<String> {
            Scale::new((from, to), (0.0, 1.0)).ticks(about, false).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(ticks(0.0, 1.0, 5), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(ticks(-3.0, 4.0, 4), ["−2", "0", "2", "4"]);
        assert_eq!(ticks(2.41, 2.98, 4), ["2.6", "2.8"]);
        assert_eq!(ticks(1e9, 3e9, 2), ["1.00e9", "2.00e9", "3.00e9"]);
    }

    #[test]
    fn one_value_alone_has_a_place() {
        let scale = Scale::new((5.0, 5.0), (0.0, 10.0));
        assert_eq!(scale.at(5.0), 5.0);
        assert!(!scale.ticks(4, false).is_empty());
    }
}
