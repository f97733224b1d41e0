//! The same rules once more, slowly: the whole text at once, on characters, with every block in a list.

use std::collections::BTreeMap;

use super::super::{MetricError, Reading};
use crate::spec::Pick;
use crate::units::Score;

/// One statement: whether marked, the name, and the text of the value.
type Statement = (bool, String, String);

pub(super) fn read(name: &str, pick: Pick, text: &str) -> Reading {
    let lines: Vec<String> = text.split(['\n', '\r']).map(strip).filter(|line| !line.trim().is_empty()).collect();
    let mut blocks: Vec<Vec<Statement>> = vec![vec![]];
    for line in &lines {
        match statement(line) {
            Some(said) if said.1 == name || !matches!(number(&said.2), Err(true)) => {
                blocks.last_mut().unwrap().push(said);
            }
            _ => blocks.push(vec![]),
        }
    }
    let mut numbers = BTreeMap::new();
    for (_, other, text) in blocks.iter().flatten().filter(|said| said.1 != name) {
        if let Ok(value) = number(text) {
            numbers.insert(other.clone(), Score::new(value).unwrap());
        }
    }
    let marked_and_named = |said: &&Statement| said.0 && said.1 == name;
    let any_marked = blocks.iter().flatten().any(|said| marked_and_named(&said));
    let mut values: Vec<Vec<&str>> = Vec::new();
    for block in &blocks {
        let said = block.iter().filter(|said| said.1 == name && said.0 == any_marked);
        values.push(said.map(|said| said.2.trim()).collect());
    }
    let last = values.iter().rfind(|block| !block.is_empty());
    let metric = last.map(|block| match pick {
        Pick::Only => fold(name, block),
        Pick::Last => fold(name, &block[block.len() - 1..]),
    });
    Reading { metric, numbers }
}

fn fold(name: &str, block: &[&str]) -> Result<Score, MetricError> {
    let name = name.to_owned();
    let mut first: Option<f64> = None;
    for text in block {
        let second = number(text).map_err(|is_text| match is_text {
            true => MetricError::NotANumber { name: name.clone(), text: shown(text) },
            false => MetricError::NotFinite { name: name.clone(), text: shown(text) },
        })?;
        match first {
            Some(first) if first != second => {
                return Err(MetricError::Conflict { name, first, second });
            }
            _ => first = Some(second),
        }
    }
    Ok(Score::new(first.unwrap()).unwrap())
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    if start == text { start } else { start + "…" }
}

/// A finite number, or whether it is mere text rather than a number that is not finite.
fn number(text: &str) -> Result<f64, bool> {
    let text = text.trim();
    let word = text.trim_start_matches(['+', '-']).to_lowercase();
    let signs = text.len() - word.len();
    if signs <= 1 && ["nan", "inf", "infinity"].contains(&word.as_str()) {
        return Err(false);
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(false),
        Err(_) => Err(true),
    }
}

fn statement(line: &str) -> Option<Statement> {
    let marked = line.strip_prefix("METRIC ").and_then(|rest| rest.split_once('='));
    if let Some((name, text)) = marked.filter(|(name, _)| named(name.trim())) {
        return Some((true, name.trim().to_owned(), text.to_owned()));
    }
    let colon = line.split_once(':').filter(|(name, _)| named(name));
    let equals = line.split_once('=').map(|(name, text)| (name.trim_end(), text)).filter(|(name, _)| named(name));
    colon.or(equals).map(|(name, text)| (false, name.to_owned(), text.to_owned()))
}

fn named(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_.µμ/-".contains(c);
    name.chars().all(inner) && name.starts_with(|c: char| c.is_ascii_alphabetic() || "_µμ".contains(c))
}

fn strip(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let body = part.strip_prefix('[').map(|body| body.trim_start_matches(|c| (' '..='?').contains(&c)));
        match body {
            Some(body) if body.starts_with(|c| ('@'..='~').contains(&c)) => text.push_str(&body[1..]),
            _ => text.push_str(part),
        }
    }
    text
}
