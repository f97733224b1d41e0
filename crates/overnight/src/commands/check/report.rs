//! What a check learned: on the screen as it comes, and in `check.json` for whoever asks later.

use std::fs;
use std::path::Path;

use overnight_engine::clock;
use overnight_model::forecast::Forecast;
use overnight_model::judge::Noise;
use overnight_model::{BlobId, Score, Seed};
use serde_json::{Value, json};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Ok,
    /// Worth knowing.
    Note,
    /// It runs, and its result is worth less than it could be.
    Warn,
    /// The night would be refused.
    Refused,
    /// There would be no night.
    Fail,
}

impl Level {
    pub(super) fn name(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warn => "warn",
            Level::Refused => "refused",
            Level::Fail => "fail",
        }
    }

    /// The same on the screen, where a night that is refused is as good as none.
    pub(super) fn word(self) -> &'static str {
        match self {
            Level::Refused => Level::Fail.name(),
            level => level.name(),
        }
    }
}

/// One thing that was found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) topic: &'static str,
    pub(super) level: Level,
    pub(super) what: String,
    /// One concrete step.
    pub(super) next: Option<String>,
    /// Lines of foreign text that belong to it.
    pub(super) output: Vec<String>,
}

impl Finding {
    pub(super) fn new(topic: &'static str, level: Level, what: impl Into<String>) -> Finding {
        Finding { topic, level, what: what.into(), next: None, output: Vec::new() }
    }

    pub(super) fn ok(topic: &'static str, what: impl Into<String>) -> Finding {
        Finding::new(topic, Level::Ok, what)
    }

    pub(super) fn next(mut self, next: impl Into<String>) -> Finding {
        self.next = Some(next.into());
        self
    }
}

/// One trial of the check.
pub(super) struct TrialRow {
    /// Which surface: `as it is`, `empty` or `no-op`.
    pub(super) surface: &'static str,
    pub(super) seed: Seed,
    pub(super) metric: Option<Score>,
    pub(super) seconds: f64,
    pub(super) ending: String,
}

/// Everything that is known so far; what is not known is `None`.
#[derive(Default)]
pub(super) struct Report {
    pub(super) study: String,
    pub(super) triplet: String,
    /// The names of its files, as many as a line has room for.
    pub(super) surface: String,
    pub(super) metric: String,
    pub(super) goal: String,
    pub(super) value: Option<f64>,
    pub(super) assurance: Option<&'static str>,
    pub(super) sandbox: Option<&'static str>,
    pub(super) dirty: Vec<String>,
    pub(super) trials: Vec<TrialRow>,
    pub(super) seconds: Option<f64>,
    pub(super) noise: Option<Noise>,
    pub(super) same_twice: Option<bool>,
    pub(super) seed_read: Option<bool>,
    pub(super) night: Option<(f64, Forecast)>,
    /// The tuner is the agent, and the surface has no numbers.
    pub(super) has_nothing_to_tune: bool,
    pub(super) findings: Vec<Finding>,
    pub(super) complete: bool,
}

impl Report {
    pub(super) fn worst(&self) -> Level {
        self.findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
    }

    /// What the first trial gave.
    pub(super) fn value_of_first(&self) -> Option<f64> {
        self.trials.first()?.metric.map(Score::get)
    }

    /// What to fix before anything else.
    pub(super) fn first(&self) -> Option<&Finding> {
        let worst = self.worst();
        let worst = self.findings.iter().filter(|finding| finding.level == worst && worst >= Level::Warn);
        // What was only read weighs less than what was measured, and that the tuner is idle may be just as well.
        worst.min_by_key(|finding| match finding.topic {
            "agent" => 2,
            "surface" => 1,
            _ => 0,
        })
    }

    pub(super) fn as_json(&self) -> Value {
        let Report { study, triplet, metric, goal, value, assurance, sandbox, dirty, .. } = self;
        let findings = self.findings.iter().map(|Finding { topic, level, what, next, output }| {
            json!({ "topic": topic, "level": level.name(), "what": what, "next": next, "output": output })
        });
        let trials = self.trials.iter().map(|TrialRow { surface, seed, metric, seconds, ending }| {
            json!({
                "surface": surface, "seed": seed.0, "metric": metric.map(Score::get), "seconds": seconds,
                "ending": ending,
            })
        });
        let sd = match self.noise {
            Some(Noise::Noisy { sd, .. }) => Some(sd),
            Some(Noise::Deterministic) => Some(0.0),
            Some(Noise::Unknown) | None => None,
        };
        let night = self.night.map(|(wall, forecast)| {
            let Forecast { trials, experiments, spent, sure } = forecast;
            json!({
                "wall_seconds": wall, "trials": trials, "experiments": experiments, "spent": spent,
                "smallest_gain": sure.map(|sure| sure.gain), "trials_per_smallest_gain": sure.map(|sure| sure.trials),
            })
        });
        json!({
            "study": study,
            "at": jiff::Timestamp::from_millisecond(clock::now().0).map(|at| at.to_string()).ok(),
            "triplet": BlobId::of(triplet.as_bytes()).0,
            "complete": self.complete,
            "ready": self.complete && self.worst() < Level::Refused,
            "metric": { "name": metric, "goal": goal, "value": value },
            "assurance": assurance,
            "sandbox": sandbox,
            "dirty": dirty,
            "trials": trials.collect::<Vec<_>>(),
            "seconds": self.seconds,
            "noise": { "sd": sd },
            "same_twice": self.same_twice,
            "seed_read": self.seed_read,
            "night": night,
            "nothing_to_tune": self.has_nothing_to_tune,
            "findings": findings.collect::<Vec<_>>(),
            "first": self.first().and_then(|finding| finding.next.as_deref()),
        })
    }

    /// Writes it where `overnight` looks for it, whole or not at all.
    pub(super) fn store(&self, state: &Path) -> std::io::Result<()> {
        fs::create_dir_all(state)?;
        let new = state.join(format!("check.json.{}", std::process::id()));
        fs::write(&new, format!("{}\n", self.as_json()))?;
        fs::rename(&new, state.join("check.json"))
    }
}
