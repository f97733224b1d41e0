//! One value that can be tuned, and how another one is written in its place.

use std::ops::Range;

use super::Site;
use super::notation::Notation;
use crate::tuner::space::Domain;

/// A value in a text, and what it may be.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    pub path: String,
    /// Unique within its file, and the same as long as the code around it is.
    pub name: String,
    /// Where it stands, in bytes.
    pub span: Range<usize>,
    /// As it is written now.
    pub text: String,
    /// What it is now; of a choice, the position of the present option.
    pub value: f64,
    pub domain: Domain,
    /// What a choice may be, as it is written; empty for numbers.
    pub options: Vec<String>,
    pub site: Site,
    /// Whether its range was said and not inferred.
    pub hinted: bool,
    pub(super) notation: Option<Notation>,
}

impl Literal {
    /// Writes a value of its domain as this one is written: exponents stay exponents, quotes stay quotes.
    pub fn write(&self, value: f64) -> String {
        // `0.10` may stay what it is.
        if value == self.value {
            return self.text.clone();
        }
        let Some(notation) = &self.notation else {
            // Casting saturates: what is no position is the first or the last.
            let at = (value.round() as usize).min(self.options.len().saturating_sub(1));
            return self.options.get(at).unwrap_or(&self.text).clone();
        };
        notation.write(value)
    }
}
