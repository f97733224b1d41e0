//! What the provider answers: one idea for each conversation, each as many turns as the client's tools need.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::client;
use super::seen::Conversation;

/// What comes of one conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Idea {
    /// Replaces text in a file with the client's own tools, then says something.
    Edit { path: String, old: String, new: String, say: String },
    /// Writes new files one after another, each a path and its text, then says something.
    Write { files: Vec<(String, String)>, say: String },
    /// Calls a tool of this name, then says something.
    Call { tool: String, input: Value, say: String },
    /// Says something and changes nothing.
    Say(String),
    /// The model will not.
    Refuse(String),
    /// The server fails, as often as it is asked.
    Fail(Failure),
}

/// How a server fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// 429, with the seconds to wait where it says.
    RateLimit { retry_after: Option<u32> },
    /// 429 of a subscription that is used up until a second of the epoch.
    UsageLimit { resets_at: i64 },
    /// 500.
    Broken,
    /// 401.
    Denied,
    /// 404: it knows no such model.
    UnknownModel,
    /// 400: the prompt is too long.
    Overflow,
    /// It takes the request and never answers.
    Stall,
    /// The stream ends in the middle.
    Cut,
    /// 200, and a body that nobody can read.
    Malformed,
    /// A complete answer with nothing in it.
    Empty,
    /// 307: somebody at another port of the loopback is to be asked instead.
    Redirect { port: u16 },
    /// 200, and a body that has no end.
    Endless,
    /// 400: it knows nothing of answers by a schema. Who asks without one is answered.
    NoSchema,
}

/// Ideas in order; the last one is had again when they are used up.
pub struct Script {
    /// The folder that tools work in, as the client sees it: some tools want absolute paths.
    folder: String,
    ideas: Vec<Idea>,
    begun: usize,
    /// What the latest conversation began with: a client that asks the same again is answered the same.
    latest: Option<u64>,
    /// Who is said to have answered, where it is not who was asked.
    pub(super) model: Option<String>,
    /// The tokens that each answer is said to have read and written.
    pub(super) usage: (u64, u64),
}

/// One answer of a model, or none.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Text(String),
    Call { tool: String, arguments: Value, say: String },
    Refusal(String),
    Fail(Failure),
}

impl Script {
    pub fn new(folder: impl Into<String>, ideas: impl Into<Vec<Idea>>) -> Script {
        Script { folder: folder.into(), ideas: ideas.into(), begun: 0, latest: None, model: None, usage: (100, 10) }
    }

    /// Every answer is given in the name of another model.
    pub fn answered_by(mut self, model: impl Into<String>) -> Script {
        self.model = Some(model.into());
        self
    }

    /// Every answer is said to have read and written so many tokens.
    pub fn using(mut self, input: u64, output: u64) -> Script {
        self.usage = (input, output);
        self
    }

    pub(super) fn begun(&self) -> usize {
        self.begun
    }

    pub(super) fn answer(&mut self, conversation: &Conversation) -> Answer {
        // Titles, topics and the like are asked for on the side.
        if conversation.is_aside {
            return Answer::Text("an experiment".to_owned());
        }
        let mut hasher = DefaultHasher::new();
        conversation.prompt.hash(&mut hasher);
        let prompt = hasher.finish();
        if conversation.calls == 0 && self.latest != Some(prompt) {
            self.latest = Some(prompt);
            self.begun += 1;
        }
        let at = self.begun.saturating_sub(1).min(self.ideas.len().saturating_sub(1));
        match self.ideas.get(at) {
            Some(Idea::Edit { path, old, new, say }) => {
                let path = format!("{}/{path}", self.folder);
                client::turn(conversation, &path, (old, new), say)
            }
            Some(Idea::Write { files, say }) => client::write(conversation, &self.folder, files, say),
            Some(Idea::Call { tool, input, say }) if conversation.calls == 0 => {
                Answer::Call { tool: tool.clone(), arguments: input.clone(), say: String::new() }
            }
            Some(Idea::Call { say, .. }) => Answer::Text(say.clone()),
            Some(Idea::Say(text)) => client::say(conversation, text),
            Some(Idea::Refuse(text)) => Answer::Refusal(text.clone()),
            Some(Idea::Fail(failure)) => Answer::Fail(*failure),
            None => Answer::Text(String::new()),
        }
    }
}
