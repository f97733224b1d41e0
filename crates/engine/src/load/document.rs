//! The tables of the parsed file: every key that is unknown, missing or for later becomes a problem.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::evaluate::{holds_secret, names_secret};
use super::keys::{self, Key, nearest};
use super::problem::Collector;

/// A value with its place.
pub(super) type Item<'a> = &'a Spanned<DeValue<'a>>;

/// One table of the file.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    /// As in `limits.total`; empty for the top of the file.
    pub(super) name: &'static str,
    /// Whose section it is, where the person chose the last word of its name: `agent.NAME`.
    pub(super) whose: Option<&'a str>,
    table: &'a DeTable<'a>,
    /// Where a key that is missing should be.
    pub(super) place: (usize, usize),
}

impl<'a> Section<'a> {
    pub(super) fn top(table: &'a DeTable<'a>) -> Section<'a> {
        Section { name: "", whose: None, table, place: (0, 0) }
    }

    pub(super) fn get(&self, key: &str) -> Option<Item<'a>> {
        self.table.get(key)
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.place.0..self.place.1
    }

    /// `evaluate.budget`
    pub(super) fn path(&self, key: &str) -> String {
        match self.name {
            "" => key.to_owned(),
            _ => format!("{}.{key}", self.shown()),
        }
    }

    /// Its name as the person wrote it.
    pub(super) fn shown(&self) -> String {
        match (self.whose, self.name.rsplit_once('.')) {
            (Some(whose), Some((above, _))) => format!("{above}.{whose}"),
            _ => self.name.to_owned(),
        }
    }

    pub(super) fn key_span(&self, key: &str) -> Range<usize> {
        self.table.get_key_value(key).map_or(self.span(), |(key, _)| key.span())
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a Spanned<toml::de::DeString<'a>>, Item<'a>)> + use<'a> {
        self.table.iter()
    }
}

impl Collector<'_> {
    /// A table within a table. Its keys are checked here, so that no reader has to.
    pub(super) fn section<'a>(
        &mut self,
        parent: &Section<'a>,
        key: &'static str,
        name: &'static str,
    ) -> Option<Section<'a>> {
        let item = parent.get(key)?;
        self.table(parent, key, item, name)
    }

    /// A table whose name a person chose; the caller knows that it is one.
    pub(super) fn section_of<'a>(
        &mut self,
        parent: &Section<'a>,
        key: &str,
        name: &'static str,
    ) -> Option<Section<'a>> {
        let (key, item) = parent.entries().find(|(known, _)| known.get_ref() == key)?;
        let (table, span) = (item.get_ref().as_table()?, key.span());
        let section = Section { name, whose: Some(key.get_ref()), table, place: (span.start, span.end) };
        self.check_keys(&section);
        Some(section)
    }

    /// An item of the parent's `key` as a table: its value, or one of a list.
    pub(super) fn table<'a>(
        &mut self,
        parent: &Section<'a>,
        key: &str,
        item: Item<'a>,
        name: &'static str,
    ) -> Option<Section<'a>> {
        let Some(table) = item.get_ref().as_table() else {
            self.wrong_type(&parent.path(key), item, "a table", &format!("write `[{name}]`, and its keys below it"));
            return None;
        };
        let is_only = parent.get(key).is_some_and(|whole| whole.get_ref().is_table());
        let span = match is_only {
            true => parent.key_span(key),
            // One of a list, whose key stands only once.
            false => item.span(),
        };
        let place = (span.start, span.end);
        let section = Section { name, whose: None, table, place };
        self.check_keys(&section);
        Some(section)
    }

    pub(super) fn check_keys(&mut self, section: &Section<'_>) {
        for (key, item) in section.entries() {
            let name: &str = key.get_ref();
            match keys::of(section.name).iter().find(|(known, _)| *known == name) {
                Some((_, Key::Works)) => {}
                Some((_, Key::Later(hint))) => {
                    let shown = match item.get_ref() {
                        DeValue::Table(_) if section.name.is_empty() => format!("[{name}]"),
                        _ => section.path(name),
                    };
                    self.add(key.span(), format!("`{shown}` is not yet supported"), *hint);
                }
                // A table of an agent's own or of a provider's, or one of none: that is found where they are known.
                None if ["agent", "gateway", "gateway.prices"].contains(&section.name) && item.get_ref().is_table() => {
                }
                None => {
                    let place = match section.name {
                        "" => String::new(),
                        "guard" => " in [[guard]]".to_owned(),
                        _ => format!(" in [{}]", section.shown()),
                    };
                    if section.name == "notify" && super::notify::is_address(name, item) {
                        super::notify::refuse_address(self, key.span(), item);
                        continue;
                    }
                    // A key that has no business here must not be shown with its line.
                    let names_key = ["key", "token", "secret", "password"].contains(&name.to_lowercase().as_str());
                    let hint =
                        match names_key || names_secret(name) || item.get_ref().as_str().is_some_and(holds_secret) {
                            true => {
                                self.conceal(item.span());
                                "secrets are not for this file: name the variable that holds it, `key_env = \"NAME\"`"
                                    .to_owned()
                            }
                            false => keys::hint(section.name, name),
                        };
                    self.add(key.span(), format!("unknown key `{}`{place}", name.escape_debug()), hint);
                }
            }
        }
    }

    /// Asks for a key, unless it is there with a slip in its name, which is reported already.
    pub(super) fn missing(&mut self, section: &Section<'_>, key: &str, line: &str) {
        let known = || keys::of(section.name).iter().map(|(known, _)| *known);
        let first = key.split('.').next();
        let slip = |name: &str| known().all(|known| known != name) && nearest(name, known()) == first;
        if section.entries().any(|(name, _)| slip(name.get_ref())) {
            return;
        }
        self.add(section.span(), format!("`{}` is missing", section.path(key)), format!("add `{line}`"));
    }
}
