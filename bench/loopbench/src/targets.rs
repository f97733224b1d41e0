//! What was promised of the judge, scenario by scenario, and whether it holds.

use std::fmt::Write;

use serde::Serialize;

use crate::night::Night;
use crate::noise::Shape;
use crate::rules::Entry;
use crate::scenario::{Scenario, Target};
use crate::score::{self, Figure};

/// How far the reported gain may be from the true one on average: so many sd, or this share of it where that is more.
const REPORTED_WITHIN: f64 = 0.3;
const REPORTED_SHARE: f64 = 0.05;
/// How often the 95 % interval has to hold the truth.
const COVERAGE: f64 = 0.93;
/// Where the best peer gains less, in sd, a share of it is noise.
const WORTH_A_SHARE: f64 = 0.5;

/// All promises about one scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub scenario: &'static str,
    pub about: &'static str,
    pub target: Target,
    /// What our judge truly gained.
    pub gain: Figure,
    pub beside: Option<Beside>,
    pub reported_minus_true: Promise,
    /// Of nights; one that kept nothing and says so is right.
    pub coverage: Option<Promise>,
    /// Of the nights that gave an interval, where there are enough of them.
    pub coverage_of_intervals: Option<Figure>,
}

/// Our gain beside that of the peer that is best on this scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    pub peer: &'static str,
    pub gain: Figure,
    /// Ours divided by theirs, on the same nights; `None` where there is too little to divide by.
    pub ratio: Option<Figure>,
    /// By how much ours exceeds the promised share of theirs, on the same nights; or what may be lost, where there is
    /// nothing to gain.
    pub ahead: Option<Promise>,
}

/// A figure that has to keep to a bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Promise {
    #[serde(flatten)]
    pub figure: Figure,
    pub bound: f64,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Met,
    /// Not met by these nights, but their interval reaches the bound.
    Open,
    Missed,
    /// Not met, where the noise makes that impossible; the interval says so and covers.
    Said,
}

impl Verdict {
    pub fn of(is_met: bool, is_reached: bool) -> Verdict {
        match () {
            () if is_met => Verdict::Met,
            () if is_reached => Verdict::Open,
            () => Verdict::Missed,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Open => "open",
            Verdict::Missed => "MISSED",
            Verdict::Said => "said",
        }
    }
}

/// The promises as this judge keeps them; the other rules are its peers. `nights` holds those of each rule, in the order
/// of `rules`. `None` where the judge is not among them.
pub fn row(scenario: &Scenario, judge: &str, rules: &[&Entry], nights: &[Vec<Night>]) -> Option<Row> {
    let of = |name: &str| rules.iter().position(|entry| entry.name == name).map(|index| nights[index].as_slice());
    let ours = of(judge)?;
    let gain = score::mean(ours, |night| night.gain);
    let peers = rules.iter().zip(nights).filter(|(entry, _)| entry.name != judge);
    let best = peers
        .map(|(entry, nights)| (entry.name, nights, score::mean(nights, |night| night.gain)))
        .max_by(|a, b| a.2.value.total_cmp(&b.2.value));
    let coverage = score::coverage_of_nights(ours).map(|figure| Promise {
        figure,
        bound: COVERAGE,
        verdict: Verdict::of(figure.value >= COVERAGE, figure.high >= COVERAGE),
    });
    let is_covered = coverage.as_ref().is_some_and(|coverage| coverage.verdict == Verdict::Met);
    let is_excused = matches!(scenario.shape, Shape::Autocorrelated(_)) && is_covered;
    let Scenario { name, about, target, .. } = *scenario;
    Some(Row {
        scenario: name,
        about,
        target,
        gain,
        beside: best.map(|(peer, theirs, gain)| beside(target, ours, peer, theirs, gain)),
        reported_minus_true: reported(ours, gain.value, is_excused),
        coverage,
        coverage_of_intervals: score::coverage(ours),
    })
}

fn beside(target: Target, ours: &[Night], peer: &'static str, theirs: &[Night], gain: Figure) -> Beside {
    let pairs = || ours.iter().zip(theirs);
    let ratio = || score::figure(pairs().map(|(ours, theirs)| (ours.gain, theirs.gain)).collect());
    let ahead = |share: f64| {
        let figure = score::figure(pairs().map(|(ours, theirs)| (ours.gain - share * theirs.gain, 1.0)).collect())?;
        Some(Promise { figure, bound: 0.0, verdict: Verdict::of(figure.value >= 0.0, figure.high >= 0.0) })
    };
    let lost = |loss: f64| {
        let figure = score::mean(ours, |night| night.gain);
        Promise { figure, bound: -loss, verdict: Verdict::of(figure.value >= -loss, figure.high >= -loss) }
    };
    let ratio = if gain.low >= WORTH_A_SHARE { ratio() } else { None };
    Beside { peer, gain, ratio, ahead: target.share().and_then(ahead).or(target.loss().map(lost)) }
}

fn reported(nights: &[Night], gain: f64, is_excused: bool) -> Promise {
    let figure = score::mean(nights, |night| night.reported - night.gain);
    let bound = REPORTED_WITHIN.max(REPORTED_SHARE * gain);
    let is_reached = figure.low <= bound && figure.high >= -bound;
    let verdict = match Verdict::of(figure.value.abs() <= bound, is_reached) {
        Verdict::Open | Verdict::Missed if is_excused => Verdict::Said,
        verdict => verdict,
    };
    Promise { figure, bound, verdict }
}

/// A line for each scenario, and how many promises of each kind were kept.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "  {:<21}{:>12}{:>24}{:>20}{:>8}{:>8}{:>16}{:>8}{:>8}{:>12}{:>8}{:>16}\n",
        "scenario",
        "true gain",
        "best peer",
        "ours/peer",
        "wanted",
        "",
        "reported-true",
        "within",
        "",
        "covered %",
        "",
        "of intervals %"
    );
    for row in rows {
        let Row {
            scenario,
            about: _,
            target,
            gain,
            beside,
            reported_minus_true: reported,
            coverage,
            coverage_of_intervals,
        } = row;
        let dash = || "-".to_owned();
        let peer = beside.as_ref().map_or(dash(), |beside| format!("{} {:.2}", beside.peer, beside.gain.value));
        let ratio = beside.as_ref().map_or(dash(), |beside| match (beside.ratio, &beside.ahead) {
            (Some(Figure { value, low, high }), _) => format!("{value:.2} [{low:.2},{high:.2}]"),
            (None, Some(Promise { figure: Figure { value, low, high }, .. })) => {
                format!("{value:+.2} [{low:.2},{high:.2}]")
            }
            (None, None) => dash(),
        });
        let ahead = beside.as_ref().and_then(|beside| beside.ahead.as_ref());
        let wanted = target.share().or(target.loss().map(|loss| -loss)).map_or(dash(), |share| format!("{share:.2}"));
        let figure = |Figure { value, low, high }: Figure| format!("{value:.2} ±{:.2}", (high - low) / 2.0);
        let percent = |Figure { value, low, high }: Figure| format!("{:.0} ±{:.0}", 100.0 * value, 50.0 * (high - low));
        let covered = coverage.as_ref().map_or(dash(), |coverage| percent(coverage.figure));
        let of_intervals = coverage_of_intervals.map_or(dash(), percent);
        let verdict = |promise: Option<&Promise>| promise.map_or("", |promise| promise.verdict.name());
        let _ = writeln!(
            text,
            "  {scenario:<21}{:>12}{peer:>24}{ratio:>20}{wanted:>8}{:>8}{:>16}{:>8}{:>8}{covered:>12}{:>8}{of_intervals:>16}",
            format!("{:.2}", gain.value),
            verdict(ahead),
            figure(reported.figure),
            format!("{:.2}", reported.bound),
            verdict(Some(reported)),
            verdict(coverage.as_ref()),
        );
    }
    let ahead = rows.iter().filter_map(|row| row.beside.as_ref()?.ahead.as_ref());
    let reported = rows.iter().map(|row| &row.reported_minus_true);
    let coverage = rows.iter().filter_map(|row| row.coverage.as_ref());
    let _ = writeln!(text, "  true gain: {}", counted(ahead));
    let _ = writeln!(text, "  reported minus true: {}", counted(reported));
    let _ = writeln!(text, "  95 % interval: {}", counted(coverage));
    text.push_str(
        "  ours/peer is a difference in sd, with its sign, where the peer gains too little for a share;\n  \
         where nothing is good, it is what was lost, of at most as much as is wanted\n  \
         open: not met by these nights, but their interval reaches the bound\n",
    );
    text
}

fn counted<'a>(promises: impl Iterator<Item = &'a Promise>) -> String {
    let mut counts = [0; 4];
    let names = [Verdict::Met, Verdict::Open, Verdict::Missed, Verdict::Said];
    promises.for_each(|promise| counts[names.iter().position(|name| *name == promise.verdict).unwrap_or(0)] += 1);
    let shown = names.iter().zip(counts).filter(|(_, count)| *count > 0);
    shown.map(|(verdict, count)| format!("{count} {}", verdict.name())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{OURS, RULES};
    use crate::scenario::SCENARIOS;

    fn scenario(name: &str) -> &'static Scenario {
        SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap()
    }

    fn nights(gain: f64, reported: f64, covered: bool) -> Vec<Night> {
        (0..100).map(|_| Night { gain, reported, covered: Some(covered), trials: 10, ..Night::default() }).collect()
    }

    fn judged(name: &str, ours: Vec<Night>, peer: f64) -> Row {
        row(scenario(name), OURS, &[&RULES[0], &RULES[1]], &[ours, nights(peer, peer, true)]).unwrap()
    }

    fn verdicts(row: &Row) -> [Verdict; 3] {
        let ahead = row.beside.as_ref().unwrap().ahead.as_ref().unwrap();
        [ahead.verdict, row.reported_minus_true.verdict, row.coverage.as_ref().unwrap().verdict]
    }

    #[test]
    fn a_small_effect_wants_all_of_the_best_peer_and_a_large_one_nearly_all() {
        use Verdict::{Met, Missed};
        assert_eq!(verdicts(&judged("1sd", nights(9.9, 9.9, true), 10.0)), [Missed, Met, Met]);
        assert_eq!(verdicts(&judged("3sd", nights(9.6, 9.6, true), 10.0)), [Met, Met, Met]);
        assert_eq!(verdicts(&judged("3sd", nights(9.4, 9.4, true), 10.0)), [Missed, Met, Met]);
        assert_eq!(verdicts(&judged("skewed", nights(9.1, 9.1, true), 10.0)), [Met, Met, Met]);
    }

    #[test]
    fn a_report_may_be_off_by_a_third_of_an_sd_or_a_twentieth_of_the_gain() {
        use Verdict::{Met, Missed};
        assert_eq!(verdicts(&judged("1sd", nights(1.0, 1.4, true), 1.0)), [Met, Missed, Met]);
        assert_eq!(verdicts(&judged("1sd", nights(1.0, 0.75, true), 1.0)), [Met, Met, Met]);
        assert_eq!(verdicts(&judged("1sd", nights(20.0, 20.9, true), 1.0)), [Met, Met, Met]);
    }

    #[test]
    fn only_autocorrelation_excuses_a_report_and_only_where_the_interval_covers() {
        use Verdict::{Met, Missed, Said};
        assert_eq!(verdicts(&judged("1sd", nights(1.0, 3.0, true), 1.0)), [Met, Missed, Met]);
        assert_eq!(verdicts(&judged("autocorrelated", nights(1.0, 3.0, true), 1.0)), [Met, Said, Met]);
        assert_eq!(verdicts(&judged("autocorrelated", nights(1.0, 3.0, false), 1.0)), [Met, Missed, Missed]);
    }

    #[test]
    fn where_nothing_is_good_next_to_nothing_may_be_lost() {
        use Verdict::{Met, Missed};
        assert_eq!(verdicts(&judged("only-harm", nights(-0.09, -0.09, true), 0.0)), [Met, Met, Met]);
        assert_eq!(verdicts(&judged("only-harm", nights(-0.11, -0.11, true), -0.2)), [Missed, Met, Met]);
    }

    #[test]
    fn what_the_nights_cannot_tell_is_open() {
        let mut ours = nights(1.0, 1.0, true);
        ours.iter_mut().step_by(2).for_each(|night| night.gain = 2.8);
        assert_eq!(verdicts(&judged("1sd", ours, 2.0))[0], Verdict::Open);
    }

    #[test]
    fn nothing_is_divided_by_a_peer_that_gains_nothing() {
        let found = judged("0.1sd", nights(0.1, 0.1, true), -0.2);
        assert_eq!(found.beside.as_ref().unwrap().ratio, None);
        assert!(table(&[found]).contains("+0.30 [0.30,0.30]"));
    }
}
