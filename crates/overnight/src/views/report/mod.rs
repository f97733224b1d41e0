//! The morning report: the board as a page, and the page in a terminal, as Markdown and as HTML.

mod doc;
mod health;
mod html;
mod lists;
mod markdown;
mod term;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use self::doc::{Block, Document, Fold, Line, Section, Tone};
pub(crate) use self::html::html;
pub(crate) use self::markdown::markdown;
pub(crate) use self::term::{Screen, terminal, tone as tone_of};
pub(crate) use self::words::{Depth, Diffs, digest, page, sentence};
