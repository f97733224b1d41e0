//! The part of a surface that a search can change, and putting it back.

use std::collections::HashMap;
use std::ops::Range;

use overnight_model::proposal::{self, Contents};
use overnight_model::spec;
use overnight_model::tuner::found::Literal;
use overnight_model::tuner::{Edit, Surface, value};

use super::literals;

/// The parts of files that may change and are text, with the literals in them.
pub struct Tunable {
    pub literals: Vec<Literal>,
    files: Vec<(String, String)>,
    ranges: HashMap<String, Range<usize>>,
}

impl Tunable {
    pub fn of(spec: &spec::Surface, contents: &Contents) -> Tunable {
        let mut found = Tunable { literals: Vec::new(), files: Vec::new(), ranges: HashMap::new() };
        for (file, (path, bytes)) in spec.files.iter().zip(&contents.0) {
            let range = proposal::editable(&file.part, bytes);
            let text = range.clone().and_then(|range| String::from_utf8(bytes[range].to_vec()).ok());
            if let (Some(range), Some(text)) = (range, text) {
                found.literals.extend(literals(path, &text).literals);
                found.ranges.insert(path.clone(), range);
                found.files.push((path.clone(), text));
            }
        }
        // Constants of all files before the arguments of any.
        found.literals.sort_by_key(|literal| literal.site);
        found
    }

    pub fn surface(&self) -> Surface<'_> {
        Surface { files: &self.files, literals: &self.literals }
    }

    /// Whole files again, with some of their parts changed.
    pub fn with(&self, contents: &Contents, changed: &[(String, String)]) -> Contents {
        let mut contents = contents.clone();
        for (path, text) in changed {
            if let (Some(range), Some((_, bytes))) =
                (self.ranges.get(path), contents.0.iter_mut().find(|(name, _)| name == path))
            {
                bytes.splice(range.clone(), text.bytes());
            }
        }
        contents
    }

    /// The edits that make another surface of this one, where values of literals are all that differs: whoever made them,
    /// the tuner can learn from what comes of it.
    pub fn edits_to(&self, other: &Tunable) -> Option<Vec<Edit>> {
        let same_files = self.files.len() == other.files.len() && self.literals.len() == other.literals.len();
        let between = self.literals.iter().zip(&other.literals);
        let same_names = between.clone().all(|(a, b)| (&a.path, &a.name) == (&b.path, &b.name));
        if !same_files || !same_names || self.skeleton() != other.skeleton() {
            return None;
        }
        let changed = between.filter(|(a, b)| a.text != b.text);
        let edits = changed.map(|(a, b)| Edit {
            path: a.path.clone(),
            name: a.name.clone(),
            from: value(a, a.value),
            to: value(b, b.value),
        });
        Some(edits.collect())
    }

    /// What is left without the literals.
    fn skeleton(&self) -> Vec<(String, String)> {
        let mut files = self.files.clone();
        let mut order: Vec<&Literal> = self.literals.iter().collect();
        order.sort_by_key(|literal| std::cmp::Reverse(literal.span.start));
        for literal in order {
            if let Some((_, text)) = files.iter_mut().find(|(path, _)| *path == literal.path) {
                text.replace_range(literal.span.clone(), "");
            }
        }
        files
    }
}
