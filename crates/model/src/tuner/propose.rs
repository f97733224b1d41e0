//! From a point of the search to an edit of a surface.

use super::ask::{self, Asked, Memo, Told};
use super::found::Literal;
use super::space::{Domain, Point};
use super::{Edit, Idea, Known, Value};

/// Further edits of one proposal are counted, not named.
const NAMED: usize = 4;

/// A surface and what can be tuned in it.
pub struct Surface<'a> {
    /// Each file as path and text.
    pub files: &'a [(String, String)],
    /// Those of all files, in the order in which they are tried.
    pub literals: &'a [Literal],
}

impl Surface<'_> {
    pub fn space(&self) -> Vec<Domain> {
        self.literals.iter().map(|literal| literal.domain.clone()).collect()
    }

    /// The values that the literals have.
    pub fn here(&self) -> Point {
        self.literals.iter().map(|literal| literal.value).collect()
    }

    /// The place of a value among those that a literal may have; `None` where it has no such option.
    pub fn place(&self, literal: usize, value: &Value) -> Option<f64> {
        let options = &self.literals[literal].options;
        match value {
            Value::Number(number) => options.is_empty().then_some(*number),
            Value::Text(text) => options.iter().position(|option| option == text).map(|at| at as f64),
        }
    }

    /// The files with other values, all of them.
    pub fn with(&self, point: &Point) -> Vec<(String, String)> {
        let mut files = self.files.to_vec();
        // From the back, so that the spans of what is still to be replaced stay true.
        let mut order: Vec<usize> =
            (0..self.literals.len()).filter(|at| point[*at] != self.literals[*at].value).collect();
        order.sort_by_key(|at| std::cmp::Reverse(self.literals[*at].span.start));
        for at in order {
            let literal = &self.literals[at];
            if let Some((_, text)) = files.iter_mut().find(|(path, _)| *path == literal.path) {
                text.replace_range(literal.span.clone(), &literal.write(point[at]));
            }
        }
        files
    }

    fn idea(&self, Asked { point, why }: Asked) -> Idea {
        let changed = self.with(&point).into_iter().zip(self.files).filter(|(new, old)| new != *old);
        let moved: Vec<usize> = (0..point.len()).filter(|at| point[*at] != self.literals[*at].value).collect();
        let mut edits = Vec::new();
        let mut words = Vec::new();
        for at in moved {
            let literal = &self.literals[at];
            let (from, to) = (value(literal, literal.value), value(literal, point[at]));
            words.push(format!("{} {} → {}", literal.name, literal.text, literal.write(point[at])));
            edits.push(Edit { path: literal.path.clone(), name: literal.name.clone(), from, to });
        }
        let more = words.len().saturating_sub(NAMED);
        words.truncate(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let description = format!("{}{more}: {why}", words.join(", "));
        Idea { files: changed.map(|(new, _)| new).collect(), description, edits }
    }
}

/// What a literal is at a place of its domain.
pub fn value(literal: &Literal, place: f64) -> Value {
    match literal.options.is_empty() {
        true => Value::Number(place),
        false => Value::Text(literal.write(place)),
    }
}

/// Proposes the next edit of a surface.
///
/// `known` is shown the whole surface, in the order of its files, and says whether it was tried. `None`: there is nothing
/// to tune, or nothing new could be found. The same arguments give the same idea.
pub fn propose(
    surface: &Surface<'_>,
    told: &[Told],
    seed: u64,
    known: &mut Known<'_>,
    memo: &mut Memo,
) -> Option<Idea> {
    let mut known = |point: &Point| known(&surface.with(point));
    let asked = ask::ask(&surface.space(), &surface.here(), told, seed, &mut known, memo)?;
    Some(surface.idea(asked))
}
