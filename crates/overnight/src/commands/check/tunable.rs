//! What the tuner can change in the surface.

use overnight_engine::rehearse::Subject;
use overnight_engine::source;
use overnight_model::proposal;
use overnight_model::tuner::found::{Found, Left, LeftOut, Literal};
use overnight_model::tuner::space::Domain;

/// One file of the surface, read for the tuner.
pub(super) struct File {
    pub(super) path: String,
    /// The lines before the part that may change.
    lines_before: usize,
    text: String,
    pub(super) found: Found,
}

impl File {
    /// Where a literal stands in the whole file.
    pub(super) fn line(&self, literal: &Literal) -> usize {
        let before = self.text.get(..literal.span.start).unwrap_or_default();
        self.lines_before + before.matches('\n').count() + 1
    }

    pub(super) fn line_left(&self, left: &Left) -> usize {
        self.lines_before + left.line
    }

    /// Hints that cannot be followed.
    pub(super) fn complaints(&self) -> impl Iterator<Item = &Left> {
        self.found.left_out.iter().filter(|left| matches!(left.why, LeftOut::Hint(_)))
    }
}

/// The files that are text, with the part of each that may change.
pub(super) fn files(subject: &Subject) -> Vec<File> {
    let read = |file: &overnight_model::spec::SurfaceFile| {
        let bytes = subject.surface.get(&file.path)?;
        let range = proposal::editable(&file.part, bytes)?;
        let lines_before = bytes[..range.start].iter().filter(|byte| **byte == b'\n').count();
        let text = String::from_utf8(bytes[range].to_vec()).ok()?;
        let found = source::literals(&file.path, &text);
        Some(File { path: file.path.clone(), lines_before, text, found })
    };
    subject.spec.surface.files.iter().filter_map(read).collect()
}

/// How many values there are to tune, in words: `3 numbers`, `1 value`.
pub(super) fn count(files: &[File]) -> Option<String> {
    let all = || files.iter().flat_map(|file| &file.found.literals);
    let is_number = |literal: &Literal| matches!(literal.domain, Domain::Number { .. });
    let what = if all().all(is_number) { "number" } else { "value" };
    match all().count() {
        0 => None,
        1 => Some(format!("1 {what}")),
        many => Some(format!("{many} {what}s")),
    }
}
