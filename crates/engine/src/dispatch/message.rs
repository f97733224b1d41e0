//! Commit messages: `git log overnight/<study>` reads as the research diary.

use overnight_model::event::{Judged, Retracted};
use overnight_model::spec::Metric;
use overnight_model::units::short_number;
use overnight_model::{ExperimentId, Goal, Reason, Score, Verdict};

use crate::ledger::ChainHash;

/// A subject line that log views show whole.
const SUBJECT_LIMIT: usize = 72;

/// The message of a proposal's own commit.
pub fn proposal_message(experiment: ExperimentId, description: &str) -> String {
    format!("{}\n\nOvernight-Experiment: {experiment}\n", subject(description))
}

/// The message of a kept commit, a pure function of the recorded verdict.
pub fn kept_message(metric: &Metric, description: &str, judged: &Judged, verdict_hash: &ChainHash) -> String {
    let Judged { experiment, verdict, reason, .. } = judged;
    let mut body = String::new();
    if subject(description) != description {
        body = format!("{description}\n\n");
    }
    format!(
        "{}\n\n{body}Overnight-Experiment: {experiment}\nOvernight-Metric: {}\nOvernight-Verdict: {} ({reason})\nOvernight-Ledger: {verdict_hash}\n",
        subject(description),
        metric_line(metric, judged),
        verdict.name(),
    )
}

/// The message of the commit that takes a keep back, a pure function of what was recorded.
pub fn retreat_message(description: &str, retracted: &Retracted, hash: &ChainHash) -> String {
    let Retracted { experiment, reason, .. } = retracted;
    format!(
        "{}\n\nThe surface is again what it was before experiment {experiment}: {reason}.\n\nOvernight-Retracted: {experiment}\nOvernight-Verdict: {} ({reason})\nOvernight-Ledger: {hash}\n",
        subject(&format!("Take back: {description}")),
        Verdict::Retracted.name(),
    )
}

/// `val_bpb 0.9979 → 0.9932 (−0.0047 ± 0.0008, 4 trials)`.
fn metric_line(metric: &Metric, judged: &Judged) -> String {
    let name = &metric.name;
    let Some(new) = judged.metric.map(Score::get) else { return format!("{name} not measured") };
    let Some(estimate) = judged.estimate else { return format!("{name} {}", short_number(new)) };
    let change = match metric.goal {
        Goal::Min => -estimate.gain,
        Goal::Max => estimate.gain,
    };
    let sign = if change < 0.0 { '−' } else { '+' };
    let half = estimate.high.map(|high| high - estimate.gain).filter(|half| *half > 0.0);
    let half = half.map_or_else(String::new, |half| format!(" ± {}", short_number(half)));
    let trials = match judged.reason {
        Reason::Better { trials, .. } | Reason::Carried { trials, .. } | Reason::Expected { trials, .. } => trials,
        _ => 1,
    };
    let plural = if trials == 1 { "" } else { "s" };
    format!(
        "{name} {} → {} ({sign}{}{half}, {trials} trial{plural})",
        short_number(new - change),
        short_number(new),
        short_number(change.abs()),
    )
}

fn subject(description: &str) -> String {
    match description.char_indices().nth(SUBJECT_LIMIT) {
        Some((end, _)) => format!("{}…", &description[..end]),
        None => description.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use overnight_model::Verdict;
    use overnight_model::judge::Estimate;
    use overnight_model::spec::Pick;

    #[test]
    fn a_kept_commit_says_what_changed_by_how_much_and_how_sure() {
        let metric = Metric {
            name: "val_bpb".into(),
            goal: Goal::Min,
            min_gain: None,
            target: None,
            plausible: None,
            pick: Pick::Only,
        };
        let judged = Judged {
            experiment: ExperimentId(7),
            verdict: Verdict::Kept,
            reason: Reason::Better { gain: 0.0047, bound: 0.002, trials: 2 },
            metric: Score::new(0.9932),
            estimate: Some(Estimate { gain: 0.0047, low: Some(0.0039), high: Some(0.0055) }),
            opinion: None,
        };
        let message = kept_message(&metric, "raise the learning rate", &judged, &ChainHash([0xab; 32]));
        let hash = "ab".repeat(32);
        assert_eq!(
            message,
            format!(
                "raise the learning rate\n\nOvernight-Experiment: 7\n\
                 Overnight-Metric: val_bpb 0.9979 → 0.9932 (−0.0047 ± 0.0008, 2 trials)\n\
                 Overnight-Verdict: kept (better by 0.0047, beyond the noise of 0.002, confirmed in 2 trials)\n\
                 Overnight-Ledger: {hash}\n"
            )
        );
    }
}
