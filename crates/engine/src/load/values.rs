//! Typed values: every wrong type and every value out of range becomes a problem.

use std::ops::RangeInclusive;

use overnight_model::metric::is_name;
use overnight_model::units::{Millis, Score};
use toml::de::DeValue;

use super::document::{Item, Section};
use super::duration;
use super::keys::nearest;
use super::problem::Collector;

const NAME_HINT: &str = "a name is a letter or `_`, then letters, digits and `_ . / -`";

impl Collector<'_> {
    pub(super) fn wrong_type(&mut self, path: &str, item: Item<'_>, expected: &str, hint: &str) {
        let found = match item.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.add(item.span(), format!("`{path}` must be {expected}, found {found}"), hint);
    }

    /// A string with something in it.
    pub(super) fn string(&mut self, section: &Section<'_>, key: &str) -> Option<String> {
        let item = section.get(key)?;
        let path = section.path(key);
        match item.get_ref().as_str() {
            Some(text) if text.trim().is_empty() => {
                self.add(item.span(), format!("`{path}` must not be empty"), "");
                None
            }
            Some(text) => Some(text.to_owned()),
            None => {
                self.wrong_type(&path, item, "a string", "");
                None
            }
        }
    }

    /// The name of a number that a command prints.
    pub(super) fn number_name(&mut self, section: &Section<'_>, key: &str) -> Option<String> {
        let name = self.string(section, key)?;
        if !is_name(&name) {
            let span = section.get(key)?.span();
            self.add(span, format!("`{}` is not a name that output can give", name.escape_debug()), NAME_HINT);
            return None;
        }
        Some(name)
    }

    /// One of a few words; `other` may explain a word that is none of them.
    pub(super) fn word<T: Copy>(
        &mut self,
        section: &Section<'_>,
        key: &str,
        words: &[(&str, T)],
        other: impl Fn(&str) -> Option<String>,
    ) -> Option<T> {
        let item = section.get(key)?;
        let text = self.string(section, key)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
        let near =
            || nearest(&text, words.iter().map(|(word, _)| *word)).map(|near| format!("did you mean \"{near}\"?"));
        let hint = other(&text).or_else(near).unwrap_or_default();
        self.add(item.span(), format!("`{}` must be {}", section.path(key), names.join(" or ")), hint);
        None
    }

    pub(super) fn boolean(&mut self, section: &Section<'_>, key: &str) -> Option<bool> {
        let item = section.get(key)?;
        let value = item.get_ref().as_bool();
        if value.is_none() {
            self.wrong_type(&section.path(key), item, "a boolean", "write `true` or `false`, without quotes");
        }
        value
    }

    /// A finite number, integer or not.
    pub(super) fn number(&mut self, section: &Section<'_>, key: &str) -> Option<Score> {
        let item = section.get(key)?;
        self.number_of(&section.path(key), item)
    }

    pub(super) fn number_of(&mut self, path: &str, item: Item<'_>) -> Option<Score> {
        let Some(value) = float(item) else {
            self.wrong_type(path, item, "a number", "");
            return None;
        };
        let score = Score::new(value);
        if score.is_none() {
            self.add(item.span(), format!("`{path}` must be a finite number"), "");
        }
        score
    }

    /// A number that is not negative.
    pub(super) fn share(&mut self, section: &Section<'_>, key: &str) -> Option<Score> {
        let score = self.number(section, key)?;
        if score.get() < 0.0 {
            let span = section.get(key)?.span();
            self.add(span, format!("`{}` must not be negative", section.path(key)), "");
            return None;
        }
        Some(score)
    }

    /// An integer within a range.
    pub(super) fn count(&mut self, section: &Section<'_>, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let item = section.get(key)?;
        let path = section.path(key);
        let Some(count) = integer(item) else {
            self.wrong_type(&path, item, "an integer", "");
            return None;
        };
        let (least, most) = range.into_inner();
        match u64::try_from(count) {
            Ok(count) if (least..=most).contains(&count) => return Some(count),
            Ok(count) if count > most => self.add(item.span(), format!("`{path}` must be at most {most}"), ""),
            _ => self.add(item.span(), format!("`{path}` must be at least {least}"), ""),
        }
        None
    }

    /// A span of time: text with units, or bare seconds.
    pub(super) fn duration(&mut self, section: &Section<'_>, key: &str, what: &str) -> Option<Millis> {
        let item = section.get(key)?;
        let read = match (item.get_ref().as_str(), float(item)) {
            (Some(text), _) => duration::parse(what, text),
            (None, Some(seconds)) => duration::from_seconds(what, seconds),
            (None, None) => {
                self.wrong_type(&section.path(key), item, "a span of time", "write it as \"90s\", \"5m\" or \"1h30m\"");
                return None;
            }
        };
        read.map_err(|refused| self.add(item.span(), refused.message, refused.hint)).ok()
    }
}

/// An integer; one beyond 64 bits is as good as the largest, which every key refuses.
pub(super) fn integer(item: Item<'_>) -> Option<i64> {
    let integer = item.get_ref().as_integer()?;
    let beyond = if integer.as_str().starts_with('-') { i64::MIN } else { i64::MAX };
    Some(i64::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(beyond))
}

fn float(item: Item<'_>) -> Option<f64> {
    match item.get_ref() {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        _ => integer(item).map(|integer| integer as f64),
    }
}
