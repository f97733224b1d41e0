//! What the judge can tell apart, what the gain is, and where the trials went: lines for people.

use overnight_engine::holdout::Openings;
use overnight_model::Millis;
use overnight_model::forecast::{Sure, smallest_sure_gain};
use overnight_model::judge::{Estimate, Noise};
use overnight_model::spec::{JudgeSpec, Spec};
use overnight_model::study::{SeedUse, Spent, Summary};
use overnight_model::units::short_number;

/// What a person asks of a keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Asked {
    min_gain: f64,
    judge: JudgeSpec,
}

impl Asked {
    /// Without noise every gain is sure that is large enough, and known after two trials.
    pub(crate) fn without_noise(self) -> Sure {
        Sure { gain: self.min_gain, trials: 2.0 }
    }
}

impl Default for Asked {
    fn default() -> Asked {
        Asked { min_gain: 0.0, judge: JudgeSpec::default() }
    }
}

impl From<&Spec> for Asked {
    fn from(spec: &Spec) -> Asked {
        Asked { min_gain: spec.metric.min_gain.map_or(0.0, |gain| gain.get()), judge: spec.judge }
    }
}

/// How far the numbers can be trusted, in one line.
pub(crate) fn trust(assurance: &str, sandbox: &str, repeats: u32, seed: SeedUse, holdout: Option<Openings>) -> String {
    let seeds = match (repeats, seed) {
        (0, _) => "no repeats yet".to_owned(),
        (1, _) => "1 seed".to_owned(),
        (seeds, SeedUse::Settles) => format!("{seeds} seeds"),
        (seeds, SeedUse::Ignored) => format!("{seeds} seeds, all the same"),
        (repeats, SeedUse::NotAlone) => format!("{repeats} repeats, the seed does not settle them"),
        (repeats, SeedUse::Unknown) => format!("{repeats} repeats, seed not probed"),
    };
    let holdout = match holdout {
        None => "no holdout".to_owned(),
        Some(Openings { opened: 0, .. }) => "holdout unopened".to_owned(),
        Some(Openings { opened, budget }) => format!("holdout opened {opened} of {budget}"),
    };
    format!("trust: {assurance} · sandbox {sandbox} · {seeds} · {holdout}")
}

/// The same of a study.
pub(crate) fn trust_of(summary: &Summary, holdout: Option<Openings>) -> String {
    trust(&summary.assurance, &summary.sandbox, summary.noise.trials, summary.noise.seed, holdout)
}

/// The champion against the baseline, where there is another champion.
pub(crate) fn gained(summary: &Summary) -> Option<String> {
    Some(gain(summary.gained?, summary.is_measured))
}

fn gain(Estimate { gain, high, .. }: Estimate, is_measured: bool) -> String {
    match high.map(|high| high - gain).filter(|half| *half > 0.0) {
        None => format!("{} over the baseline", short_number(gain)),
        // No more digits than the uncertainty leaves a meaning.
        Some(half) => {
            let digits = (1.0 - half.log10().floor()).clamp(0.0, 9.0) as usize;
            let how = match is_measured {
                true => "without the runs that chose it",
                false => "as expected of its steps: it was not measured again yet",
            };
            format!("{gain:.digits$} ± {half:.digits$} (95 %) over the baseline, {how}")
        }
    }
}

/// The smallest gain that this study would be sure of; `None` where every gain is sure, or nothing is known yet.
pub(crate) fn sure(summary: &Summary, asked: Asked) -> Option<Sure> {
    let sd = summary.noise.sd.filter(|sd| *sd > 0.0)?;
    let degrees = summary.noise.trials.saturating_sub(1).max(1);
    smallest_sure_gain(Noise::Noisy { sd, degrees }, asked.min_gain, asked.judge)
}

/// The same as a sentence, with what it costs.
pub(crate) fn sure_words(sure: &Sure, trial: Option<Millis>) -> String {
    let trials = match sure.trials.round() as u64 {
        0 | 1 => "1 trial".to_owned(),
        trials => format!("about {trials} trials"),
    };
    let time = trial.map_or_else(String::new, |trial| format!(", {} of machine time", tidy(sure.time(trial))));
    format!("a gain of {} is kept nine times in ten, after {trials}{time}", rough(sure.gain))
}

/// Where trials went, those purposes that had any.
pub(crate) fn spent(spent: &Spent) -> String {
    let Spent { calibrate, screen, confirm, remeasure, sentinel } = *spent;
    let parts = [
        (calibrate, "calibrate"),
        (screen, "screen"),
        (confirm, "confirm"),
        (remeasure, "remeasure"),
        (sentinel, "sentinel"),
    ];
    let some: Vec<String> =
        parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{} {name}", count(n))).collect();
    some.join(", ")
}

/// What the judge can tell, and what that took.
pub(crate) fn lines(summary: &Summary, asked: Asked) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(sure) = sure(summary, asked) {
        lines.push(format!("sure       {}", sure_words(&sure, summary.trial_time)));
    }
    if summary.spent.trials() > 0 {
        let trials = count(summary.spent.trials());
        let whose = match (summary.past.is_empty(), summary.experiments) {
            (false, _) => "in this segment".to_owned(),
            (true, 1) => "for 1 experiment".to_owned(),
            (true, experiments) => format!("for {} experiments", count(experiments)),
        };
        lines.push(format!("trials     {trials} {whose}: {}", spent(&summary.spent)));
    }
    lines
}

/// A count as people say it: exact while small.
pub(crate) fn count(n: u64) -> String {
    if n < 1000 {
        return n.to_string();
    }
    let unit = 10u64.pow(n.ilog10() - 1);
    let digits = (n / unit * unit).to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration without false precision.
pub(crate) fn tidy(time: Millis) -> Millis {
    match time.0 {
        0..1000 => time,
        1000..60_000 => Millis(time.0 / 100 * 100),
        more => Millis(more / 1000 * 1000),
    }
}

/// A number with two digits that count.
pub(crate) fn rough(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return short_number(value);
    }
    let unit = 10f64.powf(value.abs().log10().floor() - 1.0);
    short_number((value / unit).round() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_they_are_small() {
        assert_eq!([7, 999, 1234, 261_818].map(count), ["7", "999", "1,200", "260,000"]);
    }

    #[test]
    fn numbers_are_rough_where_more_digits_would_lie() {
        assert_eq!([0.012345, 123.4, 0.0].map(rough), ["0.012", "120", "0"]);
        assert_eq!(
            [Millis(437), Millis(12_345), Millis(75_678)].map(tidy),
            [Millis(437), Millis(12_300), Millis(75_000)]
        );
    }

    #[test]
    fn a_gain_has_no_more_digits_than_its_uncertainty_leaves() {
        let found = |is_measured| gain(Estimate { gain: 0.5, low: Some(0.4), high: Some(0.6) }, is_measured);
        assert!(found(true).starts_with("0.50 ± 0.10 (95 %) over the baseline, without"), "{}", found(true));
        assert!(found(false).ends_with("as expected of its steps: it was not measured again yet"), "{}", found(false));
        assert_eq!(gain(Estimate { gain: 4.0, low: Some(4.0), high: Some(4.0) }, true), "4 over the baseline");
    }

    #[test]
    fn a_claim_says_what_is_known_of_its_seeds() {
        let said = |repeats, seed| trust("separated", "standard", repeats, seed, None);
        assert_eq!(said(3, SeedUse::Settles), "trust: separated · sandbox standard · 3 seeds · no holdout");
        assert!(said(3, SeedUse::Ignored).contains("· 3 seeds, all the same ·"));
        assert!(said(3, SeedUse::NotAlone).contains("· 3 repeats, the seed does not settle them ·"));
        assert!(said(3, SeedUse::Unknown).contains("· 3 repeats, seed not probed ·"));
        assert!(said(0, SeedUse::Unknown).contains("· no repeats yet ·"));
    }

    #[test]
    fn a_claim_says_how_often_its_holdout_was_looked_at() {
        let said = |opened| trust("separated", "standard", 3, SeedUse::Settles, Some(Openings { opened, budget: 20 }));
        assert!(said(0).ends_with(" · holdout unopened"));
        assert!(said(3).ends_with(" · holdout opened 3 of 20"));
    }

    #[test]
    fn purposes_without_trials_are_not_named() {
        let found = Spent { calibrate: 3, screen: 8, confirm: 1, ..Spent::default() };
        assert_eq!(spent(&found), "3 calibrate, 8 screen, 1 confirm");
    }
}
