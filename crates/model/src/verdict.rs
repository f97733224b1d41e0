//! What the judge said of an experiment, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ending::Ending;
use crate::metric::MetricError;
use crate::units::short_number;

/// The end of an experiment, one of a closed list that other tools rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Baseline,
    Kept,
    Discarded,
    NoChange,
    Duplicate,
    Crashed,
    TimedOut,
    OutOfMemory,
    OutputLimit,
    DiskLimit,
    PidsLimit,
    InvalidMetric,
    GuardFailed,
    Policy,
    Tampered,
    Suspect,
    Retracted,
    AgentError,
    EngineError,
    Interrupted,
}

/// The five groups that screens show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    Kept,
    NotBetter,
    Broken,
    Refused,
    NotCounted,
}

impl Verdict {
    /// In the order of the contract.
    pub const ALL: [Verdict; 20] = [
        Verdict::Baseline,
        Verdict::Kept,
        Verdict::Discarded,
        Verdict::NoChange,
        Verdict::Duplicate,
        Verdict::Crashed,
        Verdict::TimedOut,
        Verdict::OutOfMemory,
        Verdict::OutputLimit,
        Verdict::DiskLimit,
        Verdict::PidsLimit,
        Verdict::InvalidMetric,
        Verdict::GuardFailed,
        Verdict::Policy,
        Verdict::Tampered,
        Verdict::Suspect,
        Verdict::Retracted,
        Verdict::AgentError,
        Verdict::EngineError,
        Verdict::Interrupted,
    ];

    pub fn group(self) -> Group {
        use Verdict::*;
        match self {
            Kept => Group::Kept,
            Discarded | Retracted => Group::NotBetter,
            Crashed | TimedOut | OutOfMemory | OutputLimit | DiskLimit | PidsLimit | InvalidMetric => Group::Broken,
            GuardFailed | Policy | Tampered | Suspect => Group::Refused,
            Baseline | NoChange | Duplicate | AgentError | EngineError | Interrupted => Group::NotCounted,
        }
    }

    /// Whether it counts as an experiment: the baseline, failed attempts and our own faults do not.
    pub fn is_counted(self) -> bool {
        self.group() != Group::NotCounted
    }

    /// Whether an agent's turn gave nothing usable.
    pub fn is_failed_attempt(self) -> bool {
        matches!(self, Verdict::NoChange | Verdict::Duplicate | Verdict::AgentError)
    }

    /// The verdict of that name.
    pub fn from_name(name: &str) -> Option<Verdict> {
        serde_json::from_value(serde_json::Value::from(name)).ok()
    }

    /// The name in the JSON contract.
    pub fn name(self) -> &'static str {
        use Verdict::*;
        match self {
            Baseline => "baseline",
            Kept => "kept",
            Discarded => "discarded",
            NoChange => "no_change",
            Duplicate => "duplicate",
            Crashed => "crashed",
            TimedOut => "timed_out",
            OutOfMemory => "out_of_memory",
            OutputLimit => "output_limit",
            DiskLimit => "disk_limit",
            PidsLimit => "pids_limit",
            InvalidMetric => "invalid_metric",
            GuardFailed => "guard_failed",
            Policy => "policy",
            Tampered => "tampered",
            Suspect => "suspect",
            Retracted => "retracted",
            AgentError => "agent_error",
            EngineError => "engine_error",
            Interrupted => "interrupted",
        }
    }
}

impl Group {
    pub fn name(self) -> &'static str {
        match self {
            Group::Kept => "kept",
            Group::NotBetter => "not better",
            Group::Broken => "broken",
            Group::Refused => "refused",
            Group::NotCounted => "not counted",
        }
    }
}

/// Why a verdict is what it is, with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    Measured {
        trials: u32,
    },
    Better {
        gain: f64,
        bound: f64,
        trials: u32,
    },
    NotBetter {
        gain: f64,
    },
    WithinNoise {
        gain: f64,
        bound: f64,
    },
    BelowMinGain {
        gain: f64,
        min_gain: f64,
    },
    NotConfirmed {
        first: f64,
        second: f64,
        bound: f64,
    },
    Ended {
        ending: Ending,
    },
    Metric {
        error: MetricError,
    },
    Implausible {
        value: f64,
        low: f64,
        high: f64,
    },
    GuardCommand {
        command: String,
        ending: Ending,
    },
    /// It did not pass the quick look before a slot is taken.
    Smoke {
        command: String,
        ending: Ending,
    },
    GuardMissing {
        metric: String,
    },
    GuardLimit {
        metric: String,
        value: f64,
        limit: f64,
    },
    SameAsChampion {
        /// The bytes differ, and nothing that is run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_form: bool,
    },
    SameAs {
        experiment: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_form: bool,
    },
    Agent {
        what: String,
    },
    Policy {
        what: String,
    },
    Engine {
        what: String,
    },
    Interrupted,
    /// The champion of the segment before holds here too: it is at least not worse than the baseline.
    Carried {
        gain: f64,
        bound: f64,
        trials: u32,
    },
    /// It was begun under another evaluation.
    NewSegment,
    /// Everything measured so far says that it is better.
    Expected {
        gain: f64,
        chance: f64,
        trials: u32,
    },
    /// It may be better, but too little or too unlikely to be worth another trial.
    Unlikely {
        gain: f64,
        chance: f64,
        trials: u32,
    },
    /// No worse than the last champion that won on the metric, as far as can be told, and shorter.
    Simpler {
        gain: f64,
        tokens: u64,
        before: u64,
    },
    /// More than one step can be expected to bring.
    TooGood {
        gain: f64,
        limit: f64,
    },
    /// It won against a champion that is no longer there, and cannot be put on the new one.
    Moved {
        gain: Option<f64>,
    },
    /// It gives one number with every seed, where the metric never does: it may be better, or have picked its luck.
    FixedLuck {
        gain: f64,
    },
    /// Its repeats do not bear out what it was kept for.
    NotReplicated {
        gain: f64,
        chance: f64,
    },
    /// It was suspect, and a person looked at it.
    Person {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        said: String,
        was: String,
    },
}

impl Reason {
    /// How the words of an idea end that is given back to be done again: rows have reasons as words.
    pub const NOT_MERGED: &str = "it does not merge with the new one";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |value: &f64| short_number(*value);
        match self {
            Reason::Measured { trials: 1 } => write!(f, "measured once"),
            Reason::Measured { trials } => write!(f, "measured {trials} times"),
            Reason::Better { gain, bound, trials: 1 } if *bound == 0.0 => write!(f, "better by {}", n(gain)),
            Reason::Better { gain, bound, .. } if *bound == 0.0 => {
                write!(f, "better by {}, twice the same", n(gain))
            }
            Reason::Better { gain, bound, trials } => {
                let (gain, bound) = (n(gain), n(bound));
                write!(f, "better by {gain}, beyond the noise of {bound}, confirmed in {}", times(*trials))
            }
            Reason::NotBetter { gain } if *gain == 0.0 => write!(f, "equal to the champion"),
            Reason::NotBetter { gain } => write!(f, "worse by {}", n(&gain.abs())),
            Reason::WithinNoise { gain, bound } => {
                write!(f, "better by {}, within the noise of {}", n(gain), n(bound))
            }
            Reason::BelowMinGain { gain, min_gain } => {
                write!(f, "better by {}, less than min_gain {}", n(gain), n(min_gain))
            }
            Reason::NotConfirmed { first, second, bound } => {
                let (first, second, bound) = (n(first), n(second), n(bound));
                write!(f, "better by {first} once, by {second} when run again; the noise is {bound}")
            }
            Reason::Ended { ending } => ending.fmt(f),
            Reason::Metric { error } => error.fmt(f),
            Reason::Implausible { value, low, high } => {
                write!(f, "{} is outside the plausible range {} to {}", n(value), n(low), n(high))
            }
            Reason::GuardCommand { command, ending } => write!(f, "guard `{command}`: {ending}"),
            Reason::Smoke { command, ending } => write!(f, "smoke failed: `{command}`: {ending}"),
            Reason::GuardMissing { metric } => write!(f, "guard `{metric}`: the trial gave no such number"),
            Reason::GuardLimit { metric, value, limit } => {
                write!(f, "guard `{metric}`: {} is more than {}", n(value), n(limit))
            }
            Reason::SameAsChampion { in_form } => write!(f, "the surface is the champion's{}", aside(*in_form)),
            Reason::SameAs { experiment, in_form } => {
                write!(f, "the same surface as experiment {experiment}{}", aside(*in_form))
            }
            Reason::Agent { what } | Reason::Policy { what } | Reason::Engine { what } => f.write_str(what),
            Reason::Interrupted => write!(f, "stopped by a person"),
            Reason::Carried { gain: 0.0, trials, .. } => {
                write!(f, "equal to the baseline here, measured {trials} times")
            }
            Reason::Carried { gain, bound, trials } => {
                let how = if gain.abs() <= *bound { ", within the noise" } else { "" };
                let sign = if *gain < 0.0 { "worse" } else { "better" };
                let gain = n(&gain.abs());
                write!(f, "{sign} than the baseline by {gain} here{how}, measured {trials} times")
            }
            Reason::NewSegment => write!(f, "the evaluation changed before its verdict"),
            Reason::Expected { gain, chance, trials } => {
                let (gain, trials) = (rough(*gain), times(*trials));
                match *chance < 0.5 {
                    true => write!(f, "expected better by {gain}, {} likely, {trials}", percent(*chance)),
                    false => write!(f, "better by {gain}, {} sure, {trials}", percent(*chance)),
                }
            }
            Reason::Unlikely { gain, chance, trials } => {
                let (size, trials) = (rough(gain.abs()), times(*trials));
                match *gain < 0.0 {
                    true if *chance < HOPELESS => write!(f, "worse by {size}, {trials}"),
                    true => write!(f, "expected worse by {size}, {} likely better, {trials}", percent(*chance)),
                    false => write!(f, "perhaps better by {size}, {} likely enough, {trials}", percent(*chance)),
                }
            }
            Reason::Simpler { gain, tokens, before } if *gain == 0.0 => {
                write!(f, "equal and simpler: {tokens} tokens instead of {before}")
            }
            Reason::Simpler { tokens, before, .. } => {
                write!(f, "no worse as far as can be told, and simpler: {tokens} tokens instead of {before}")
            }
            Reason::TooGood { gain, limit } => {
                write!(f, "better by {}, more than max_step_gain {}: a person should look", n(gain), n(limit))
            }
            Reason::Moved { gain: Some(gain) } => {
                write!(f, "better by {} than a champion that has moved on; {}", rough(*gain), Reason::NOT_MERGED)
            }
            Reason::Moved { gain: None } => {
                write!(f, "made for a champion that has moved on; {}", Reason::NOT_MERGED)
            }
            Reason::FixedLuck { gain } => {
                let gain = n(gain);
                write!(f, "the same number with every seed: a gain of {gain} cannot be told from luck that was fixed")
            }
            Reason::NotReplicated { gain, chance } => {
                let (sign, gain) = (if *gain < 0.0 { "worse" } else { "better" }, rough(gain.abs()));
                write!(
                    f,
                    "it did not hold: {sign} by {gain} by all that was measured, {} likely better",
                    percent(*chance)
                )
            }
            Reason::Person { said, was } if said.is_empty() => write!(f, "by a person; it was suspect: {was}"),
            Reason::Person { said, was } => write!(f, "by a person: {said}; it was suspect: {was}"),
        }
    }
}

/// Less likely than this it is not worth a word.
const HOPELESS: f64 = 0.01;

/// A chance as people say it: never quite none, never quite certain.
pub fn percent(chance: f64) -> String {
    match chance * 100.0 {
        low if low < 1.0 => "less than 1 %".to_owned(),
        high if high > 99.0 => "more than 99 %".to_owned(),
        share => format!("{share:.0} %"),
    }
}

/// A number that is believed, not measured: more than three digits would say more than is known.
pub fn rough(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return short_number(value);
    }
    let unit = 10f64.powf(value.abs().log10().floor() - 2.0);
    short_number((value / unit).round() * unit)
}

/// `1 trial`, `2 trials`.
pub fn times(trials: u32) -> String {
    if trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") }
}

fn aside(in_form: bool) -> &'static str {
    if in_form { ", whitespace and comments aside" } else { "" }
}
