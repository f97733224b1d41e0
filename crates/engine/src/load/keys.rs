//! Every key there is, and what to do meanwhile about those that do not work yet.

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Works,
    /// Refused, with a hint that may be empty: a key that is read and does nothing would be a lie.
    Later(&'static str),
}

use Key::{Later, Works};

/// What one agent may say of itself, and what may be said for all.
const OF_ONE: [(&str, Key); 14] = [
    ("use", Works),
    ("command", Works),
    ("timeout", Works),
    ("network", Works),
    ("model", Works),
    ("args", Works),
    ("tools", Works),
    ("provider", Works),
    ("base_url", Works),
    ("key_env", Works),
    ("key_command", Works),
    ("edits", Works),
    ("max_tokens", Works),
    ("temperature", Works),
];
const OF_ALL: [(&str, Key); 5] =
    [("ahead", Works), ("brief_tokens", Works), ("weights", Works), ("repairs", Works), ("context", Works)];
const OF_AGENTS: [(&str, Key); OF_ONE.len() + OF_ALL.len()] = {
    let mut all = [("", Works); OF_ONE.len() + OF_ALL.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < OF_ONE.len() { OF_ONE[at] } else { OF_ALL[at - OF_ONE.len()] };
        at += 1;
    }
    all
};

/// The keys by section; the top of the file has no name.
pub(super) const SECTIONS: &[(&str, &[(&str, Key)])] = &[
    (
        "",
        &[
            ("surface", Works),
            ("program", Works),
            ("metric", Works),
            ("evaluate", Works),
            ("guard", Works),
            ("holdout", Works),
            ("judge", Works),
            ("agent", Works),
            ("gateway", Works),
            ("sandbox", Works),
            ("slots", Works),
            ("limits", Works),
            ("notify", Works),
            ("cases", Later("let `evaluate.run` go through all cases and print their mean")),
            ("audit", Later("")),
        ],
    ),
    ("surface", &[("path", Works), ("above", Works), ("below", Works), ("max_lines_changed", Works)]),
    (
        "metric",
        &[
            ("name", Works),
            ("goal", Works),
            ("min_gain", Works),
            ("target", Works),
            ("plausible", Works),
            ("pick", Works),
            ("source", Works),
        ],
    ),
    (
        "evaluate",
        &[
            ("run", Works),
            ("budget", Works),
            ("kill", Works),
            ("env", Works),
            ("prepare", Works),
            ("score", Works),
            ("inputs", Works),
            ("hidden", Works),
            ("network", Works),
            ("warm", Works),
            ("answer", Later("let `run` leave its answers in $OVERNIGHT_OUT, and `score` read them there")),
            ("smoke", Works),
        ],
    ),
    ("evaluate.prepare", &[("run", Works), ("network", Works)]),
    ("evaluate.score", &[("run", Works), ("kill", Works)]),
    ("evaluate.smoke", &[("run", Works), ("kill", Works)]),
    ("evaluate.inputs", &[("path", Works), ("content", Works)]),
    ("holdout", &[("score", Works), ("files", Works), ("budget", Works)]),
    ("holdout.score", &[("run", Works), ("kill", Works)]),
    ("guard", &[("run", Works), ("metric", Works), ("max", Works), ("max_regression", Works), ("when", Works)]),
    ("judge", &[("mode", Works), ("max_share", Works), ("max_step_gain", Works)]),
    ("agent", &OF_AGENTS),
    // Of one agent, by the name that a person gave it.
    ("agent.NAME", &OF_ONE),
    // Its tables are providers, by their names.
    (
        "gateway",
        &[
            ("expect_model", Works),
            ("prices", Works),
            ("record", Works),
            ("replay", Works),
            ("redact", Works),
            ("keep_traces", Works),
        ],
    ),
    (
        "gateway.NAME",
        &[("url", Works), ("protocol", Works), ("key_env", Works), ("key_command", Works), ("subscription", Works)],
    ),
    // Its tables are models, by their names.
    ("gateway.prices", &[]),
    (
        "gateway.prices.MODEL",
        &[("input", Works), ("cached", Works), ("written", Works), ("output", Works), ("most_output", Works)],
    ),
    (
        "sandbox",
        &[("min", Works), ("layer", Works), ("memory", Works), ("disk", Works), ("pids", Works), ("devices", Works)],
    ),
    (
        "slots",
        &[
            ("count", Works),
            ("gpus", Later("choose the GPU in `evaluate.env`: CUDA_VISIBLE_DEVICES = \"0\"")),
            ("usd_per_hour", Later("leave it out")),
        ],
    ),
    (
        "limits",
        &[
            ("wall", Works),
            ("experiments", Works),
            ("no_gain_for", Works),
            ("total", Works),
            ("cost_usd", Works),
            ("tokens", Works),
            ("proposal", Works),
            ("trial", Works),
        ],
    ),
    (
        "limits.total",
        &[("wall", Works), ("experiments", Works), ("no_gain_for", Works), ("cost_usd", Works), ("tokens", Works)],
    ),
    (
        "notify",
        &[
            ("on", Works),
            ("command", Works),
            ("desktop", Works),
            ("webhook_env", Works),
            ("webhook_command", Works),
            ("shape", Works),
            ("gather", Works),
        ],
    ),
    ("limits.proposal", &[("cost_usd", Works), ("tokens", Works)]),
    ("limits.trial", &[("cost_usd", Works), ("tokens", Works)]),
];

/// The keys of a section.
pub(super) fn of(section: &str) -> &'static [(&'static str, Key)] {
    SECTIONS.iter().find(|(name, _)| *name == section).map_or(&[], |(_, keys)| keys)
}

/// What a person most likely meant by a key that a section does not have.
pub(super) fn hint(section: &str, key: &str) -> String {
    if let Some(near) = nearest(key, of(section).iter().map(|(known, _)| *known)) {
        return format!("did you mean `{near}`?");
    }
    // A key at the end of a file belongs to the section above it, which surprises everyone once.
    let home = SECTIONS.iter().find(|(_, keys)| keys.iter().any(|(known, _)| *known == key));
    match home {
        Some(("", _)) => {
            format!("`{key}` belongs at the top of the file, before the first [section]")
        }
        Some((home, _)) => format!("`{key}` belongs in [{home}]"),
        None => {
            let known: Vec<_> = of(section).iter().map(|(known, _)| *known).collect();
            format!("known keys are {}", known.join(", "))
        }
    }
}

/// The known word that is near enough to be a slip of the keyboard.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let near = known.into_iter().map(|known| (strsim::osa_distance(&word, &known.to_lowercase()), known));
    let (distance, known) = near.min()?;
    // One slip in three letters; more is another word.
    (distance <= (word.chars().count().max(known.chars().count()) / 3).max(1)).then_some(known)
}
