//! What a proposal changed, as a brief tells it: whole, or not at all.

use overnight_model::brief::untrusted::visible;
use overnight_model::proposal::{Contents, SurfaceBlob, lines_changed};

use crate::dispatch::Fault;
use crate::ledger::Reader;
use crate::plans;

/// A longer one is a new program, which is read better in its file. Half a diff misleads more than none.
const MOST_BYTES: usize = 24 * 1024;
/// Where more lines than this differ on either side, finding the shortest difference takes longer than a brief may.
const MOST_LINES: usize = 3000;

/// What differs, or why that is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Difference {
    Text(String),
    Not(String),
}

/// What differs between two recorded surfaces.
pub(super) fn between(reader: &Reader, old: &[SurfaceBlob], new: &[SurfaceBlob]) -> Result<Difference, Fault> {
    let changed: Vec<SurfaceBlob> = new.iter().filter(|file| !old.contains(file)).cloned().collect();
    let before: Vec<SurfaceBlob> =
        old.iter().filter(|file| changed.iter().any(|new| new.path == file.path)).cloned().collect();
    let Some(after) = plans::contents_if_there(reader, &changed)? else {
        return Ok(Difference::Not("it was forgotten on request".to_owned()));
    };
    Ok(of(&plans::contents(reader, &before)?, &after))
}

fn of(before: &Contents, after: &Contents) -> Difference {
    let mut text = String::new();
    for (path, new) in &after.0 {
        let old = before.get(path).unwrap_or_default();
        let lines = lines_changed(old, new);
        if lines > MOST_LINES {
            return Difference::Not(format!("some {lines} lines of {path} differ: too many to be shown"));
        }
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        let mut options = diffy::DiffOptions::new();
        options.set_original_filename(format!("a/{path}")).set_modified_filename(format!("b/{path}"));
        text += &visible(&options.create_patch(&old, &new).to_string());
        if text.len() > MOST_BYTES {
            return Difference::Not(format!("the diff is longer than {MOST_BYTES} bytes"));
        }
    }
    Difference::Text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(text: &str) -> Contents {
        Contents(vec![("f.py".to_owned(), text.as_bytes().to_vec())])
    }

    #[test]
    fn a_difference_is_told_whole_or_not_at_all() {
        let Difference::Text(text) = of(&contents("a\nb\nc\n"), &contents("a\n\u{1b}x\nc\n")) else { panic!() };
        assert_eq!(text, "--- a/f.py\n+++ b/f.py\n@@ -1,3 +1,3 @@\n a\n-b\n+<U+001B>x\n c\n");
        let long = "another line of some length\n".repeat(1000);
        assert!(matches!(of(&contents("a\n"), &contents(&long)), Difference::Not(why) if why.contains("24576 bytes")));
        let many: String = (0..4000).map(|line| format!("{line}\n")).collect();
        assert!(matches!(of(&contents("a\n"), &contents(&many)), Difference::Not(why) if why.contains("too many")));
    }
}
