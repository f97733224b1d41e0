//! The short form: a chosen part of the benchmark in a few seconds, and whether the hard promises hold in it.
//!
//! Hard are the promises about what is said: reported gains, their intervals, claims. What is gained is shown beside the
//! best peer; it depends on the study.

use serde::Serialize;

use crate::claims::{self, CLAIMANTS};
use crate::night::{self, Size};
use crate::rules::{Entry, OURS, RULES};
use crate::scenario::{SCENARIOS, Scenario};
use crate::targets::{self, Promise, Verdict};

/// The benchmark in full, for somebody who wants to know more.
pub const FULL: &str = "bench/loopbench/run --nights 1000 --targets";

/// How much is played.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Short {
    pub nights: usize,
    pub trials: usize,
    /// Of each kind.
    pub claims: usize,
    #[serde(skip)]
    scenarios: &'static [&'static str],
}

impl Short {
    /// Some seconds on two cores. A build without optimisation plays fewer nights in about the time.
    pub const USUAL: Short = Short {
        nights: if cfg!(debug_assertions) { 30 } else { 100 },
        trials: 200,
        claims: if cfg!(debug_assertions) { 50 } else { 400 },
        scenarios: &[
            "0.3sd",
            "1sd",
            "3sd",
            "5sd",
            "nothing",
            "heavy",
            "skewed",
            "outliers",
            "autocorrelated",
            "drift-down",
            "drift-up",
            "deterministic",
        ],
    };
    /// The least that says anything.
    pub const QUICK: Short = Short { nights: 20, trials: 100, claims: 20, scenarios: &["nothing", "1sd"] };
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    pub size: Short,
    pub judge: &'static str,
    pub nights: Vec<targets::Row>,
    pub claims: Vec<claims::Row>,
    /// Every hard promise that does not hold, beyond what chance allows.
    pub broken: Vec<String>,
}

/// Plays the judge of this name, ours where none is given. `None` where there is none of that name.
pub fn check(size: Short, judge: Option<&str>) -> Option<Checked> {
    let judge = RULES.iter().find(|entry| entry.name == judge.unwrap_or(OURS))?;
    let rules: Vec<&Entry> = RULES.iter().filter(|entry| entry.name != OURS || judge.name == OURS).collect();
    let scenarios: Vec<&Scenario> =
        SCENARIOS.iter().filter(|scenario| size.scenarios.contains(&scenario.name)).collect();
    let pairs: Vec<(&Scenario, &Entry)> =
        scenarios.iter().flat_map(|scenario| rules.iter().map(|entry| (*scenario, *entry))).collect();
    let nights = night::nights(&pairs, size.nights, 1, Size { trials: size.trials, slots: 1 });
    let of_scenario = scenarios.iter().zip(nights.chunks(rules.len()));
    let nights: Vec<targets::Row> =
        of_scenario.filter_map(|(scenario, nights)| targets::row(scenario, judge.name, &rules, nights)).collect();
    let claims = claims::rows(CLAIMANTS, size.claims, 1);
    let broken = broken(&nights, &claims);
    Some(Checked { size, judge: judge.name, nights, claims, broken })
}

fn broken(nights: &[targets::Row], claims: &[claims::Row]) -> Vec<String> {
    let is_low = |promise: &Promise| promise.figure.wide().1 < promise.bound;
    let mut found = Vec::new();
    for row in nights {
        let reported = &row.reported_minus_true;
        let (low, high) = reported.figure.wide();
        if reported.verdict != Verdict::Said && (low > reported.bound || high < -reported.bound) {
            found.push(format!(
                "{}: what is reported is off by {:+.2} sd, where {:.2} is promised",
                row.about, reported.figure.value, reported.bound
            ));
        }
        if let Some(coverage) = row.coverage.as_ref().filter(|coverage| is_low(coverage)) {
            found.push(format!(
                "{}: the 95 % interval held the truth in {:.0} % of nights, where {:.0} % is promised",
                row.about,
                100.0 * coverage.figure.value,
                100.0 * coverage.bound
            ));
        }
    }
    for row in claims.iter().filter(|row| row.false_claims.figure.wide().0 > row.false_claims.bound) {
        found.push(format!(
            "{}, {} noise, {} sd: {:.0} % of claims are false, where at most {:.0} % is promised",
            row.command,
            row.noise,
            row.effect,
            100.0 * row.false_claims.figure.value,
            100.0 * row.false_claims.bound
        ));
    }
    found
}

impl Checked {
    /// In plain words, a line each.
    pub fn lines(&self) -> Vec<String> {
        let Short { nights, trials, claims, .. } = self.size;
        let mut lines = vec![
            format!(
                "the judge `{}` on nights whose truth is known: {nights} nights of {trials} trials of each kind; \
                 gains in sd of one trial's noise",
                self.judge
            ),
            String::new(),
            format!(
                "{:<40}{:>8}{:>10}{:>9}  {:<25}{}",
                "planted", "gained", "reported", "off by", "best of the other rules", "interval held"
            ),
        ];
        lines.extend(self.nights.iter().map(night_line));
        lines.push(String::new());
        lines.push(format!("claims of two sides that were run in turns, {claims} of each kind"));
        lines.push(String::new());
        lines.push(format!("{:<10}{:<30}{:>22}{:>16}", "command", "noise", "false, of equal sides", "found at 1 sd"));
        lines.extend(self.claims.iter().filter(|row| row.effect == 0.0).map(|row| self.claim_line(row)));
        lines.push(String::new());
        lines.extend(self.broken.iter().map(|broken| format!("BROKEN: {broken}")));
        lines.push(match self.broken.len() {
            0 => "every promise about what is said holds, as far as these nights can tell".to_owned(),
            count => format!("{count} promises do not hold, beyond what chance allows"),
        });
        lines.push(format!("the whole benchmark, in a checkout of the source: {FULL}"));
        lines
    }

    fn claim_line(&self, row: &claims::Row) -> String {
        let beside = self
            .claims
            .iter()
            .find(|other| (other.command, other.noise, other.effect) == (row.command, row.noise, 1.0));
        let found = beside.and_then(|row| row.found).map_or("-".to_owned(), |found| percent(found.value));
        let wrong = percent(row.false_claims.figure.value);
        format!("{:<10}{:<30}{wrong:>22}{found:>16}", row.command, row.noise)
    }
}

fn night_line(row: &targets::Row) -> String {
    let gain = row.gain.value;
    let off = row.reported_minus_true.figure.value;
    let beside = row.beside.as_ref();
    let beside = beside.map_or("-".to_owned(), |beside| format!("{:.2} ({})", beside.gain.value, beside.peer));
    let held = row.coverage.as_ref().map_or("-".to_owned(), |coverage| percent(coverage.figure.value));
    format!("{:<40}{gain:>8.2}{:>10.2}{off:>+9.2}  {beside:<25}{held:>13}", row.about, gain + off)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_reports_its_luckiest_run_is_seen() {
        let found = check(Short::QUICK, Some("greedy")).unwrap();
        assert!(found.broken.iter().any(|broken| broken.contains("what is reported is off by +")), "{found:?}");
        assert!(found.lines().iter().any(|line| line.starts_with("BROKEN: no edit has any effect: ")));
        assert!(found.nights.iter().all(|row| row.beside.as_ref().unwrap().peer != "greedy"));
    }

    #[test]
    fn a_line_says_what_was_planted_gained_reported_and_held() {
        let found = check(Short::QUICK, None).unwrap();
        let lines = found.lines();
        let planted = lines.iter().find(|line| line.starts_with("1 sd, 10 % good, 45 % harmful ")).unwrap();
        assert!(planted.contains(" (") && planted.split_whitespace().count() > 8, "{planted}");
        assert!(lines.iter().any(|line| line.starts_with("compare   gaussian ")), "{lines:?}");
        assert!(lines.last().unwrap().ends_with(FULL));
    }

    #[test]
    fn chance_is_allowed_for() {
        let mut found = check(Short::QUICK, None).unwrap();
        let coverage =
            |hits: f64| Promise { figure: crate::score::binomial(hits, 20), bound: 0.93, verdict: Verdict::Open };
        found.nights.truncate(1);
        found.nights[0].coverage = Some(coverage(17.0));
        assert_eq!(broken(&found.nights, &[]).len(), 0, "three of twenty may be chance");
        found.nights[0].coverage = Some(coverage(9.0));
        assert_eq!(broken(&found.nights, &[]).len(), 1);
    }

    #[test]
    fn every_scenario_that_is_named_exists_and_nobody_judges_by_another_name() {
        for size in [Short::USUAL, Short::QUICK] {
            assert!(size.scenarios.iter().all(|name| SCENARIOS.iter().any(|scenario| scenario.name == *name)));
        }
        assert!(check(Short::QUICK, Some("luck")).is_none());
    }
}
