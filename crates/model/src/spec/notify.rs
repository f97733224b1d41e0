//! Who is told what of a run while nobody looks at it.

use super::KeySource;
use crate::units::Millis;

/// Where notices go, and of what there are any. Nothing of it is part of the evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifySpec {
    /// In the order of [`Occasion::ALL`].
    pub on: Vec<Occasion>,
    /// Run as the person's own for each notice.
    pub command: Option<String>,
    /// A notice on the person's desktop.
    pub desktop: bool,
    pub webhook: Option<Webhook>,
    /// Champions that follow each other within this time come in one notice.
    pub gather: Millis,
}

impl NotifySpec {
    pub const GATHER: Millis = Millis::seconds(600);

    /// Whether anybody is told anything.
    pub fn has_target(&self) -> bool {
        self.command.is_some() || self.desktop || self.webhook.is_some()
    }
}

impl Default for NotifySpec {
    fn default() -> NotifySpec {
        NotifySpec {
            on: Occasion::ALL.to_vec(),
            command: None,
            desktop: false,
            webhook: None,
            gather: NotifySpec::GATHER,
        }
    }
}

/// What a person may want to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The champion is another one: by a keep, or because one was taken back.
    Champion,
    /// A number that was not believed waits for the person's word.
    Suspect,
    /// A run ended before it did what it was asked to do.
    Stop,
    /// The engine itself could not go on.
    Fault,
    /// A run did what it was asked to do, or came to a limit.
    End,
}

impl Occasion {
    pub const ALL: [Occasion; 5] =
        [Occasion::Champion, Occasion::Suspect, Occasion::Stop, Occasion::Fault, Occasion::End];

    pub fn name(self) -> &'static str {
        match self {
            Occasion::Champion => "champion",
            Occasion::Suspect => "suspect",
            Occasion::Stop => "stop",
            Occasion::Fault => "fault",
            Occasion::End => "end",
        }
    }
}

/// An address that takes notices over HTTP. Whoever has it can post there, so it comes from where keys come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub address: KeySource,
    /// By the host of the address where none is said.
    pub shape: Option<Shape>,
}

/// What the body of a notice looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Slack,
    Discord,
    /// The facts, as a command gets them.
    Json,
}

impl Shape {
    pub const ALL: [Shape; 3] = [Shape::Slack, Shape::Discord, Shape::Json];

    pub fn name(self) -> &'static str {
        match self {
            Shape::Slack => "slack",
            Shape::Discord => "discord",
            Shape::Json => "json",
        }
    }
}
