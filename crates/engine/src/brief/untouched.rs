//! What no proposal has touched yet: said on a plateau, when more of the same will hardly do.

use std::collections::BTreeSet;

use overnight_model::brief::untrusted::line;
use overnight_model::proposal::Contents;
use overnight_model::study::Row;
use overnight_model::tuner::report::Report;
use overnight_model::{ContentId, ExperimentId, What};

use super::Source;
use crate::dispatch::Fault;
use crate::plans;

/// A brief may take milliseconds: what it does not get to, the next one does.
const AT_ONCE: usize = 40;
/// More are hardly read.
const MOST: usize = 12;
/// A heading is enough to find a part.
const HEADING: usize = 80;
/// Shorter ones are hardly a theme.
const LEAST_LINES: usize = 2;
/// Parts that nobody needs to touch.
const PLUMBING: [&str; 6] = ["import ", "from ", "use ", "#include", "package ", "#!"];

/// The parts of one champion that nothing has touched that was looked at so far.
#[derive(Default)]
pub(super) struct Untouched {
    champion: Option<ContentId>,
    parts: Vec<Part>,
    seen: BTreeSet<ExperimentId>,
}

struct Part {
    path: String,
    /// Counted from 1.
    line: usize,
    text: String,
}

impl Untouched {
    /// Looks at some more of the latest proposals; says how many it has seen by now, and what is left.
    pub(super) fn look(
        &mut self,
        source: Source<'_>,
        champion: &Contents,
        rows: &[Row],
        tuning: Option<&Report>,
    ) -> Result<(u64, Vec<String>), Fault> {
        let id = champion.id();
        if self.champion.as_ref() != Some(&id) {
            *self = Untouched { champion: Some(id), parts: parts(champion), seen: BTreeSet::new() };
        }
        let segment = source.state.segment_number().0;
        let is_new =
            |row: &&Row| row.segment == segment && row.commit.is_some() && !self.seen.contains(&row.experiment);
        let new: Vec<ExperimentId> = rows.iter().rev().filter(is_new).map(|row| row.experiment).take(AT_ONCE).collect();
        if let Some(reader) = source.reader {
            for experiment in new {
                let events = reader.events_of(experiment)?;
                let proposed = events.iter().find_map(|stored| match &stored.event.what {
                    What::Proposed(proposed) => Some(proposed),
                    _ => None,
                });
                let surface = proposed.map(|proposed| proposed.surface.as_slice()).unwrap_or_default();
                if let Some(contents) = plans::contents_if_there(reader, surface)?.filter(|_| !surface.is_empty()) {
                    self.learn(&contents);
                }
                self.seen.insert(experiment);
            }
        }
        let within = |path: &str| crate::load::within(&source.spec.evaluate.folder, path);
        let mut left: Vec<&Part> = self.parts.iter().collect();
        left.sort_by_key(|part| std::cmp::Reverse(part.text.len()));
        left.truncate(MOST);
        left.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        let heading = |part: &Part| {
            let first = part.text.lines().next().unwrap_or_default();
            format!("{}:{} {}", within(&part.path), part.line, line(first, HEADING))
        };
        let values = tuning.into_iter().flat_map(|report| &report.literals).filter(|literal| literal.tried < 2);
        let values =
            values.take(MOST).map(|literal| format!("the value of {} in {}", literal.name, within(&literal.path)));
        Ok((self.seen.len() as u64, left.into_iter().map(heading).chain(values).collect()))
    }

    /// A part that stands word for word in a proposal was not touched by it.
    fn learn(&mut self, proposal: &Contents) {
        let texts: Vec<(&str, String)> = proposal
            .0
            .iter()
            .map(|(path, bytes)| (path.as_str(), String::from_utf8_lossy(bytes).into_owned()))
            .collect();
        self.parts.retain(|part| {
            texts.iter().find(|(path, _)| *path == part.path).is_none_or(|(_, text)| text.contains(&part.text))
        });
    }
}

/// Functions and the like, in any language: what begins at the margin after an empty line, up to the next one.
fn parts(contents: &Contents) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (path, bytes) in &contents.0 {
        let text = String::from_utf8_lossy(bytes);
        let mut was_empty = true;
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let is_margin = !line.starts_with(char::is_whitespace);
            if was_empty && is_margin {
                parts.push(Part { path: path.clone(), line: at + 1, text: String::new() });
            }
            was_empty = line.trim().is_empty();
            if let Some(part) = parts.last_mut().filter(|part| part.path == *path) {
                part.text += line;
            }
        }
    }
    for part in &mut parts {
        part.text.truncate(part.text.trim_end().len());
    }
    let is_theme = |part: &Part| {
        part.text.lines().count() >= LEAST_LINES && !PLUMBING.iter().any(|plumbing| part.text.starts_with(plumbing))
    };
    parts.retain(is_theme);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAMPION: &str = "import os\nimport sys\n\ndef one(x):\n    y = x\n\n    return y\n\n\ndef two(x):\n    \
        return 2 * x\n\nRATE = 3\n";

    fn contents(text: &str) -> Contents {
        Contents(vec![("f.py".to_owned(), text.as_bytes().to_vec())])
    }

    #[test]
    fn a_part_goes_from_the_margin_to_the_next_and_may_hold_empty_lines() {
        let found: Vec<_> = parts(&contents(CHAMPION)).into_iter().map(|part| (part.line, part.text)).collect();
        let one = "def one(x):\n    y = x\n\n    return y".to_owned();
        assert_eq!(found, [(4, one), (10, "def two(x):\n    return 2 * x".to_owned())]);
    }

    #[test]
    fn what_a_proposal_changed_was_touched_and_what_moved_was_not() {
        let mut untouched = Untouched { parts: parts(&contents(CHAMPION)), ..Untouched::default() };
        untouched.learn(&contents(&format!("# new\n{CHAMPION}")));
        assert_eq!(untouched.parts.len(), 2);
        untouched.learn(&contents(&CHAMPION.replace("2 * x", "3 * x")));
        assert_eq!(untouched.parts.iter().map(|part| part.line).collect::<Vec<_>>(), [4]);
    }
}
