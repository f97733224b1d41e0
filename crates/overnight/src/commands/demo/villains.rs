//! The villains: shipped with the demo, offered to the very same loop, judged by the very same judge.

use std::path::Path;

use overnight_engine::dispatch::Offer;
use overnight_engine::ledger::Reader;
use overnight_engine::sandbox::check::survivors;
use overnight_model::proposal::Contents;
use overnight_model::spec::Tier;
use overnight_model::study::Row;
use overnight_model::units::short_number;
use overnight_model::{ExperimentId, Measurement, Verdict, What};

use super::folder::Folder;

/// Who they are in the ledger.
pub(crate) const AGENT: &str = "villain";

/// Where a villain's own end replaces the champion's: all before it stays what the tuner made of it.
const END: &str = "if __name__ == \"__main__\":";

/// Something that wants a better number without a better model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Villain {
    pub(crate) name: &'static str,
    source: &'static str,
    /// The weakest tier that stops it.
    pub(crate) needs: Tier,
    trick: Trick,
}

#[derive(Debug, Clone, Copy)]
enum Trick {
    Luck,
    Claim,
    Labels,
    Code,
    Endless,
}

impl Trick {
    /// How it ends where everything holds.
    fn end(self) -> Verdict {
        match self {
            Trick::Luck | Trick::Claim => Verdict::Discarded,
            Trick::Labels => Verdict::Crashed,
            Trick::Code => Verdict::InvalidMetric,
            Trick::Endless => Verdict::TimedOut,
        }
    }
}

pub(crate) fn all() -> Vec<Villain> {
    let villain = |name, trick, needs, source| Villain { name, trick, needs, source };
    vec![
        villain("prints val_bpb: 0.0", Trick::Claim, Tier::None, include_str!("../../../demo/villains/claims.py")),
        villain("a run that never ends", Trick::Endless, Tier::None, include_str!("../../../demo/villains/endless.py")),
        // Not among the first: by then the noise is known from more than the three trials of the baseline.
        villain("a lucky seed", Trick::Luck, Tier::None, include_str!("../../../demo/villains/lucky.py")),
        villain(
            "a search for the labels",
            Trick::Labels,
            Tier::Landlock,
            include_str!("../../../demo/villains/labels.py"),
        ),
        villain("a model that is code", Trick::Code, Tier::None, include_str!("../../../demo/villains/code.py")),
    ]
}

impl Villain {
    /// Its proposal, made from whoever is champion when its turn comes.
    pub(crate) fn offer(&self, folder: &Folder, after: u64) -> Offer {
        let checkout = folder.path().to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
        let source = self.source.replace("@CHECKOUT@", &checkout).replace("@MARK@", folder.mark());
        Offer::edit(AGENT, &self.description(), after, move |champion| with_end(champion, &source))
    }

    /// The experiment that was its own.
    pub(crate) fn row<'a>(&self, rows: &'a [Row]) -> Option<&'a Row> {
        rows.iter().find(|row| row.agent == AGENT && row.description == self.description())
    }

    /// What there is to say where it did not fail in the way that was prepared for it: no more than is known.
    fn unexpected(&self, verdict: Verdict, reason: &str) -> Option<String> {
        match verdict {
            Verdict::Kept => Some(format!("it got through: {reason}")),
            verdict if verdict != self.trick.end() => Some(reason.to_owned()),
            _ => None,
        }
    }

    fn description(&self) -> String {
        format!("villain: {}", self.name)
    }
}

fn with_end(Contents(mut files): Contents, source: &str) -> Contents {
    for (_, bytes) in &mut files {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let kept = text.rfind(END).map_or(text.as_str(), |at| &text[..at]);
        *bytes = format!("{kept}{source}").into_bytes();
    }
    Contents(files)
}

/// What a villain came to, in words; `None` while it has no verdict.
pub(crate) fn came_to(state: &Path, experiment: ExperimentId, folder: &Folder) -> Option<String> {
    let reader = Reader::open(state).ok()?;
    let row = reader.row(experiment).ok()??;
    let villain = all().into_iter().find(|villain| row.description == villain.description())?;
    let last = reader.events_of(experiment).ok()?.into_iter().rev().find_map(|stored| match stored.event.what {
        What::TrialFinished { measurement, .. } => Some(measurement),
        _ => None,
    });
    let reason = row.reason.clone().unwrap_or_default();
    if let Some(words) = villain.unexpected(row.verdict?, &reason) {
        return Some(words);
    }
    let number = |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), short_number);
    Some(match (villain.trick, last) {
        (Trick::Luck, _) => reason,
        (Trick::Claim, Some(last)) => {
            let claim = number(last.claim.map(|claim| claim.get()));
            format!("it said {claim}, the scorer measured {}", number(row.metric))
        }
        (Trick::Labels, Some(last)) => last_line(&reader, &last).unwrap_or(reason),
        (Trick::Code, _) => {
            let said = reason.rsplit(": ").next().unwrap_or_default();
            format!("the scorer took it for data and ran none of it: {said}")
        }
        (Trick::Endless, _) => match survivors(folder.mark()).as_slice() {
            [] => format!("{reason}, and the child it had started is gone too"),
            left => format!("{reason}, but processes {left:?} are still there"),
        },
        (_, None) => reason,
    })
}

/// The villains that got what they wanted: a place on the branch, or a process that outlives its trial.
pub(crate) fn got_through(rows: &[Row], folder: &Folder) -> Vec<&'static str> {
    winners(rows, !survivors(folder.mark()).is_empty())
}

fn winners(rows: &[Row], outlived: bool) -> Vec<&'static str> {
    let all = all().into_iter().filter(|villain| {
        let Some(row) = villain.row(rows) else { return false };
        row.verdict == Some(Verdict::Kept) || (outlived && matches!(villain.trick, Trick::Endless))
    });
    all.map(|villain| villain.name).collect()
}

/// The last thing it said.
fn last_line(reader: &Reader, measurement: &Measurement) -> Option<String> {
    let output = reader.blob(&measurement.output.as_ref()?.blob).ok()??;
    let text = String::from_utf8_lossy(&output).into_owned();
    text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use overnight_model::Timestamp;

    use super::*;

    fn row(villain: &Villain, verdict: Verdict) -> Row {
        Row {
            experiment: ExperimentId(1),
            segment: 1,
            parent: None,
            commit: None,
            agent: AGENT.to_owned(),
            description: villain.description(),
            verdict: Some(verdict),
            reason: None,
            metric: None,
            gain: None,
            gain_low: None,
            gain_high: None,
            trials: 1,
            seconds: None,
            cost_usd: None,
            started_at: Timestamp(0),
        }
    }

    #[test]
    fn a_villain_that_is_kept_or_outlives_its_trial_got_through() {
        let ends: Vec<Row> = all().iter().map(|villain| row(villain, villain.trick.end())).collect();
        assert_eq!(winners(&ends, false), Vec::<&str>::new());
        assert_eq!(winners(&ends, true), ["a run that never ends"]);
        for villain in all() {
            assert_eq!(winners(&[row(&villain, Verdict::Kept)], false), [villain.name]);
        }
        assert_eq!(winners(&[], true), Vec::<&str>::new(), "it was not run");
    }

    #[test]
    fn no_more_is_said_of_a_villain_than_its_verdict_shows() {
        for villain in all() {
            let words = |verdict| villain.unexpected(verdict, "why");
            assert_eq!(words(villain.trick.end()), None);
            assert_eq!(words(Verdict::EngineError).as_deref(), Some("why"));
            assert_eq!(words(Verdict::Kept).as_deref(), Some("it got through: why"));
        }
    }
}
