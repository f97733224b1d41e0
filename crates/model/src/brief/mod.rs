//! What an agent is told before it proposes: as JSON for programs, and as text for models.

mod fit;
mod limits;
mod past;
pub mod program;
#[cfg(test)]
mod schema_tests;
mod text;
#[cfg(test)]
mod text_tests;
pub mod untrusted;

use serde::Serialize;

pub use limits::{Editable, Limits};
pub use past::{Failure, Kept, NearMiss, Open, Past, Repair, Repeat};

use crate::id::{CommitId, ExperimentId};
use crate::tuner::report::Report;
use crate::units::{Goal, Score};

/// The brief of the `command` agent is this as JSON on its standard input; a model gets `text`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    pub study: String,
    pub experiment: ExperimentId,
    pub metric: String,
    pub goal: Goal,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_gain: Option<Score>,
    pub budget_seconds: f64,
    /// The files that may be edited, relative to the working folder of the agent.
    pub surface: Vec<String>,
    /// What a proposal has to keep to.
    pub limits: Limits,
    /// The contents of `program.md`, where there is one, without the sections about the engine's own work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The headings of those sections.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub program_left_out: Vec<String>,
    /// The champion's surface.
    pub files: Vec<File>,
    pub baseline: Standing,
    pub champion: Standing,
    /// How far repeats of one commit scatter; absent while unknown, 0 where the metric is deterministic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_sd: Option<f64>,
    /// A gain that would be kept nine times in ten; absent while the noise is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_sure_gain: Option<f64>,
    /// What stands on the branch, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
    /// How many keeps came before those.
    #[serde(skip_serializing_if = "is_zero")]
    pub kept_before: u64,
    /// What was measured and not kept, latest last, with what it changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What may well be better, and could not be told from noise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_misses: Vec<NearMiss>,
    /// Nothing was kept for much longer than this study is used to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau: Option<Stuck>,
    /// The latest verdicts, oldest first.
    pub recent: Vec<Past>,
    /// What was proposed a second time, and cost an attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeat>,
    /// Ideas that were given back because they did not merge with a champion that had moved: to be done again on the
    /// present one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redo: Vec<Open>,
    /// What is proposed and has no verdict yet: proposing it again would be a duplicate.
    pub open: Vec<Open>,
    /// What a person said to all agents and did not take back, latest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Word>,
    /// What is known of the values of literals, whoever tried them: what each does, the best and the latest points. Absent
    /// where no values were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Report>,
    /// Files that may be read besides, and not edited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextFile>,
    /// What crashed at once: this is to be repaired, and `files` hold it as it is. Absent where something new is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// How long the text may be, in tokens.
    pub brief_tokens: u64,
}

/// One file of the champion's surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// Relative to the working folder of the agent.
    pub path: String,
    /// What is no text in it is replaced by the sign for that.
    pub text: String,
    /// How long the file is, where only its beginning is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_from_bytes: Option<u64>,
}

/// A file that may be read, at its place in the agent's copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextFile {
    /// Relative to the working folder of the agent.
    pub path: String,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    pub experiment: ExperimentId,
    pub commit: CommitId,
    pub metric: Option<f64>,
}

/// How long nothing was kept, and what might be looked at instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// Experiments since the last keep.
    pub experiments: u64,
    /// How many it took for a keep until then.
    pub usual: u64,
    /// The latest proposals that were looked at for what they touched.
    pub looked_at: u64,
    /// Parts and values of the champion's surface that none of those touched.
    pub untouched: Vec<String>,
}

/// A person's word to the agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Word {
    pub word: u64,
    pub text: String,
}

/// How many bytes of a brief make a token. Models differ; English and code have three to four.
const BYTES_PER_TOKEN: f64 = 3.5;

impl Brief {
    /// How many tokens a text has, as they are counted for a brief.
    pub fn tokens(text: &str) -> u64 {
        (text.len() as f64 / BYTES_PER_TOKEN).ceil() as u64
    }

    /// How many bytes a brief of so many tokens may have.
    pub fn bytes(tokens: u64) -> usize {
        (tokens as f64 * BYTES_PER_TOKEN) as usize
    }

    /// The brief for a model: what stays the same comes first, so that a provider finds it in its cache.
    pub fn text(&self) -> String {
        fit::fitted(self)
    }

    /// The same in three parts, for providers that are told what to keep: what hardly ever changes, the surface, the rest.
    pub fn text_parts(&self) -> [String; 3] {
        fit::parts(self)
    }

    /// What of the text is one run's own, namely where things stand and what was tried, with numbers that every run measures
    /// anew; and what a recording has in its place: which attempt this is, and what the person said.
    pub fn of_this_run(&self) -> (String, String) {
        let [_, _, rest] = self.text_parts();
        let kind = if self.repair.is_some() { "repair" } else { "attempt" };
        (rest.trim().to_owned(), format!("<overnight:{kind} {}>{}", self.experiment, text::said(self)))
    }

    /// Whether the text shows all of the surface.
    pub fn shows_all_of_surface(&self) -> bool {
        fit::shows_all_of_surface(self)
    }

    /// Puts in the files that may be read besides.
    pub fn set_context(&mut self, files: Vec<ContextFile>) {
        let shown = files.into_iter().map(|file| ContextFile { path: untrusted::visible(&file.path), ..file });
        self.context = shown.collect();
    }

    /// Puts in the person's program, or the lack of one.
    pub fn set_program(&mut self, text: Option<&str>) {
        let program::Program { text, left_out } = text.map(program::Program::of).unwrap_or_default();
        (self.program, self.program_left_out) = (Some(text).filter(|text| !text.trim().is_empty()), left_out);
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
