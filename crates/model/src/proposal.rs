//! A proposal: new contents for the surface, and the rules they must keep to before anything runs.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::brief::untrusted::is_unseen;
use crate::id::{BlobId, ContentId};
use crate::spec::{Part, Surface, SurfaceFile};

/// The longest hypothesis that is kept; agents like to talk.
pub const DESCRIPTION_LIMIT: usize = 300;

/// Contents of a whole surface, in the surface's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents(pub Vec<(String, Vec<u8>)>);

/// One file of a recorded proposal: its contents are a blob, so they can be erased and the chain stays provable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceBlob {
    pub path: String,
    pub blob: BlobId,
}

impl Contents {
    pub fn blobs(&self) -> Vec<SurfaceBlob> {
        let blob = |(path, bytes): &(String, Vec<u8>)| SurfaceBlob { path: path.clone(), blob: BlobId::of(bytes) };
        self.0.iter().map(blob).collect()
    }

    pub fn id(&self) -> ContentId {
        content_id(&self.blobs())
    }

    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.0.iter().find(|(name, _)| name == path).map(|(_, bytes)| bytes.as_slice())
    }
}

/// The name of a recorded surface.
pub fn content_id(blobs: &[SurfaceBlob]) -> ContentId {
    ContentId::of(blobs.iter().map(|file| (file.path.as_str(), &file.blob)))
}

/// Why contents may not be tried, if they may not: the locked part of a file changed, or too many lines.
pub fn breach(surface: &Surface, champion: &Contents, proposed: &Contents) -> Option<String> {
    let mut changed = 0;
    for file in &surface.files {
        let path = &file.path;
        let (Some(old), Some(new)) = (champion.get(path), proposed.get(path)) else {
            return Some(format!("`{path}` is missing from the proposal"));
        };
        if old == new {
            continue;
        }
        if let Some(what) = part_breach(&file.part, old, new) {
            return Some(format!("`{path}`: {what}"));
        }
        changed += lines_changed(old, new);
    }
    match surface.max_lines_changed {
        Some(limit) if changed > limit as usize => {
            Some(format!("{changed} lines changed, max_lines_changed is {limit}"))
        }
        _ => None,
    }
}

/// Where in a file edits are allowed; `None` when its marker is not there exactly once.
pub fn editable(part: &Part, text: &[u8]) -> Option<Range<usize>> {
    match part {
        Part::Whole => Some(0..text.len()),
        Part::Above(marker) => marker_line(text, marker).map(|(start, _)| 0..start),
        Part::Below(marker) => marker_line(text, marker).map(|(_, end)| end..text.len()),
    }
}

/// A surface on another tree: what may change comes from `old`, what is locked from `new`, and so does a file that the
/// old surface did not have. `None` where a marker is not there exactly once.
pub fn carry_over(old: (&Surface, &Contents), new: (&Surface, &Contents)) -> Option<Contents> {
    let carry = |file: &SurfaceFile| {
        let onto = new.1.get(&file.path)?;
        let before = old.0.files.iter().find(|before| before.path == file.path);
        let Some((before, bytes)) = before.zip(old.1.get(&file.path)) else { return Some(onto.to_vec()) };
        let part = match (&before.part, &file.part) {
            (_, Part::Whole) => &Part::Whole,
            (Part::Whole, part) => part,
            (part @ Part::Above(_), Part::Above(_)) | (part @ Part::Below(_), Part::Below(_)) => part,
            // What might change then is what is locked now.
            (Part::Above(_), Part::Below(_)) | (Part::Below(_), Part::Above(_)) => return Some(onto.to_vec()),
        };
        let (from, into) = (editable(part, bytes)?, editable(&file.part, onto)?);
        Some([&onto[..into.start], &bytes[from], &onto[into.end..]].concat())
    };
    let files = new.0.files.iter().map(|file| Some((file.path.clone(), carry(file)?)));
    files.collect::<Option<_>>().map(Contents)
}

/// A hypothesis as it is kept: one clean line that nobody takes for a word of ours.
pub fn hypothesis(text: &str) -> String {
    const OURS: &str = "overnight-";
    let line = one_line(text);
    // It becomes the first line of a commit's message, and some read trailers wherever they stand.
    match line.get(..OURS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OURS)) {
        true => format!("“{line}”"),
        false => line,
    }
}

/// The first line of a text that says something: no escapes, nothing that cannot be seen, capped.
pub fn one_line(text: &str) -> String {
    let text = without_escapes(text);
    let is_shown = |c: &char| !c.is_control() && !is_unseen(*c);
    let mut lines = text.lines().map(|line| line.chars().filter(is_shown).collect::<String>().trim().to_owned());
    let clean = lines.find(|line| !line.is_empty()).unwrap_or_default();
    match clean.char_indices().nth(DESCRIPTION_LIMIT) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

/// A text without what a terminal would act on: whole sequences, so that no letters of them are left in a word.
fn without_escapes(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let introduced = match c {
            '\u{1b}' => chars.next(),
            '\u{9b}' => Some('['),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => Some(']'),
            c => {
                shown.push(c);
                continue;
            }
        };
        match introduced {
            // Parameters, and the one letter that ends them.
            Some('[') => while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {},
            // What chooses a set of letters, and which.
            Some(' '..='/') => while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {},
            // A text, to its end or that of the line.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                while chars.next_if(|c| !matches!(c, '\n' | '\u{7}' | '\u{1b}' | '\u{9c}')).is_some() {}
                if chars.next_if_eq(&'\u{1b}').is_none() && chars.peek() == Some(&'\n') {
                    continue;
                }
            }
            Some('\n') => {
                shown.push('\n');
                continue;
            }
            _ => continue,
        }
        chars.next_if(|c| *c != '\n');
    }
    shown
}

/// Why the locked part of a file is not what it was, if it is not.
pub fn part_breach(part: &Part, old: &[u8], new: &[u8]) -> Option<String> {
    let (Part::Above(marker) | Part::Below(marker)) = part else { return None };
    // Everything outside the editable range, in order.
    let locked = |text: &[u8]| {
        let range = editable(part, text)?;
        Some([&text[..range.start], &text[range.end..]].concat())
    };
    match (locked(old), locked(new)) {
        (Some(old), Some(new)) if old == new => None,
        (Some(_), Some(_)) => Some(format!("the part locked by the line `{marker}` was changed")),
        _ => Some(format!("the line `{marker}` must be there exactly once")),
    }
}

/// Where the one line that holds the marker starts and ends.
fn marker_line(text: &[u8], marker: &str) -> Option<(usize, usize)> {
    let mut found = None;
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        if line.windows(marker.len().max(1)).any(|window| window == marker.as_bytes())
            && found.replace((start, end)).is_some()
        {
            return None;
        }
        start = end;
    }
    found
}

/// Lines outside the common beginning and end, on the larger side: cheap, and never less than the true difference.
pub fn lines_changed(old: &[u8], new: &[u8]) -> usize {
    let lines = |text| <[u8]>::split(text, |byte| *byte == b'\n').collect::<Vec<_>>();
    let (old, new) = (lines(old), lines(new));
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    (old.len() - head - tail).max(new.len() - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::SurfaceFile;

    fn contents(text: &str) -> Contents {
        Contents(vec![("f".into(), text.as_bytes().to_vec())])
    }

    fn breached(part: Part, max: Option<u32>, old: &str, new: &str) -> Option<String> {
        let files = vec![SurfaceFile { path: "f".into(), part }];
        breach(&Surface { files, max_lines_changed: max }, &contents(old), &contents(new))
    }

    #[test]
    fn only_the_part_above_the_marker_may_change() {
        let above = || Part::Above("# ---".into());
        assert_eq!(breached(above(), None, "a\n# ---\nb\n", "x\ny\n# ---\nb\n"), None);
        assert!(breached(above(), None, "a\n# ---\nb\n", "a\n# ---\nc\n").is_some());
        assert!(breached(above(), None, "a\n# ---\nb\n", "a\nb\n").is_some());
        assert!(breached(above(), None, "a\n# ---\nb\n", "# ---\na\n# ---\nb\n").is_some());
    }

    #[test]
    fn what_may_change_is_carried_over_and_what_is_locked_is_not() {
        let surface =
            |part: Part| Surface { files: vec![SurfaceFile { path: "f".into(), part }], max_lines_changed: None };
        let above = || Part::Above("# ---".into());
        let carried = |old: Part, new: Part, from: &str, onto: &str| {
            let made = carry_over((&surface(old), &contents(from)), (&surface(new), &contents(onto)))?;
            Some(String::from_utf8(made.0[0].1.clone()).unwrap())
        };
        assert_eq!(carried(Part::Whole, Part::Whole, "x", "a\nb").as_deref(), Some("x"));
        let (from, onto) = ("x\n# ---\nold\n", "a\n# ---\nnew\n");
        assert_eq!(carried(above(), above(), from, onto).as_deref(), Some("x\n# ---\nnew\n"));
        assert_eq!(carried(Part::Whole, above(), from, onto).as_deref(), Some("x\n# ---\nnew\n"));
        assert_eq!(carried(above(), Part::Whole, from, onto).as_deref(), Some(from));
        assert_eq!(carried(above(), above(), from, "a\n"), None);
        assert_eq!(carried(above(), Part::Below("# ---".into()), from, onto).as_deref(), Some(onto));
        let other =
            Surface { files: vec![SurfaceFile { path: "g".into(), part: Part::Whole }], max_lines_changed: None };
        let made =
            carry_over((&other, &Contents(vec![("g".into(), b"x".to_vec())])), (&surface(above()), &contents(onto)));
        assert_eq!(made, Some(contents(onto)));
    }

    #[test]
    fn only_the_part_below_the_marker_may_change() {
        let below = || Part::Below("# ---".into());
        assert_eq!(breached(below(), None, "a\n# ---\nb\n", "a\n# ---\nc\n"), None);
        assert!(breached(below(), None, "a\n# ---\nb\n", "x\n# ---\nb\n").is_some());
    }

    #[test]
    fn too_many_changed_lines_are_a_breach() {
        assert_eq!(breached(Part::Whole, Some(1), "a\nb\nc\n", "a\nx\nc\n"), None);
        assert!(breached(Part::Whole, Some(1), "a\nb\nc\n", "x\nx\nc\n").is_some());
    }

    #[test]
    fn a_hypothesis_is_one_clean_line() {
        assert_eq!(one_line("\n  raise \u{1b}[31mlr\nmore"), "raise lr");
        assert_eq!(
            one_line("\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}1Athe \u{1b}(Bcache\u{1b}]8;;x\u{1b}\\ is"),
            "the cache is"
        );
        assert_eq!(one_line("\u{1b}]never ended\nnext"), "next");
        assert_eq!(one_line("\u{1b}\nnext"), "next");
        assert_eq!(one_line("\u{200b}\u{202e}\nless \u{2066}is\u{200b} more"), "less is more");
        assert_eq!(one_line(&"x".repeat(1000)).chars().count(), DESCRIPTION_LIMIT + 1);
        assert_eq!(one_line(""), "");
        assert_eq!(hypothesis("overnight-Verdict: kept (better)"), "“overnight-Verdict: kept (better)”");
        assert_eq!(hypothesis("over and out"), "over and out");
    }
}
