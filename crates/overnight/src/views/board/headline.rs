//! What the night comes to, as a fact: how much better, and how sure that is.

use overnight_model::judge::Estimate;
use overnight_model::study::Summary;

/// The one thing to say first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Headline {
    /// Nothing was measured yet.
    Nothing,
    /// The baseline gives no number: nothing can be compared with it.
    NoBaseline,
    /// The champion is the baseline.
    NoneBetter,
    /// The champion is another one, and this is what is known of it.
    Gained(Gained),
}

/// The champion against the baseline of its segment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gained {
    pub(crate) estimate: Estimate,
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    /// The gain as a share of the baseline, where that has a meaning.
    pub(crate) share: Option<f64>,
    pub(crate) surety: Surety,
}

/// How far a gain is to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surety {
    /// The metric has no noise.
    Exact,
    /// Measured again by trials that had no part in choosing it, and its interval is on one side of nothing.
    Measured,
    /// The same, and the interval does not leave nothing out.
    Doubtful,
    /// What its steps are expected to bring: it was not measured again.
    Expected,
}

impl Headline {
    pub(super) fn of(summary: Option<&Summary>) -> Headline {
        let Some(summary) = summary else { return Headline::Nothing };
        let Some(baseline) = &summary.baseline else { return Headline::Nothing };
        if baseline.metric.is_none() && summary.champion.is_none() {
            let is_over = summary.stopped.is_some();
            return if is_over { Headline::NoBaseline } else { Headline::Nothing };
        }
        let Some(champion) = summary.champion.as_ref().filter(|champion| champion.experiment != baseline.experiment)
        else {
            return Headline::NoneBetter;
        };
        let Some(estimate) = summary.gained else { return Headline::NoneBetter };
        let share = baseline.metric.filter(|level| *level != 0.0).map(|level| estimate.gain / level.abs());
        let surety = surety(estimate, summary.is_measured);
        Headline::Gained(Gained { estimate, from: baseline.metric, to: champion.metric, share, surety })
    }
}

fn surety(Estimate { low, high, .. }: Estimate, is_measured: bool) -> Surety {
    match (low.zip(high), is_measured) {
        (Some((low, high)), _) if low == high => Surety::Exact,
        (None, true) => Surety::Exact,
        (_, false) => Surety::Expected,
        (Some((low, _)), true) if low > 0.0 => Surety::Measured,
        (Some(_), true) => Surety::Doubtful,
    }
}
