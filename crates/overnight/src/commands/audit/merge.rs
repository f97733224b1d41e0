//! Three-way merges of a surface.

use overnight_model::proposal::Contents;

/// Stands between lines while they are merged, so that neighbours are merged each for itself.
const BETWEEN: &[u8] = b"\0\n";

/// What leads from `old` to `theirs`, done to `ours`; `None` where both changed the same lines.
pub(super) fn merged(old: &Contents, ours: &Contents, theirs: &Contents) -> Option<Contents> {
    let file = |(path, ours): &(String, Vec<u8>)| {
        let (old, theirs) = (old.get(path)?, theirs.get(path)?);
        let bytes = match () {
            () if old == theirs => ours.clone(),
            () if old == ours => theirs.to_vec(),
            () => diffy::merge_bytes(old, ours, theirs).ok().or_else(|| line_by_line(old, ours, theirs))?,
        };
        Some((path.clone(), bytes))
    };
    ours.0.iter().map(file).collect::<Option<_>>().map(Contents)
}

/// A merge takes changes of neighbouring lines for a conflict. In a block of settings, one on each line, they are none.
fn line_by_line(old: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if [old, ours, theirs].iter().any(|text| text.contains(&0)) {
        return None;
    }
    let merge = |old: &[u8], ours: &[u8], theirs: &[u8]| {
        let merged = diffy::merge_bytes(&apart(old), &apart(ours), &apart(theirs)).ok()?;
        Some(together(&merged))
    };
    let merged = merge(old, ours, theirs)?;
    // Going back has to lead back: lines that look alike may have been taken for each other.
    (merge(theirs, &merged, old)? == ours).then_some(merged)
}

fn apart(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| [line, if line.ends_with(b"\n") { BETWEEN } else { b"" }]).flatten().copied().collect()
}

fn together(text: &[u8]) -> Vec<u8> {
    text.split_inclusive(|byte| *byte == b'\n').filter(|line| *line != BETWEEN).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words are lines.
    fn merge(old: &str, ours: &str, theirs: &str) -> Option<String> {
        let contents = |text: &str| Contents(vec![("f".into(), text.replace(' ', "\n").into())]);
        let made = merged(&contents(old), &contents(ours), &contents(theirs))?;
        Some(String::from_utf8(made.0[0].1.clone()).unwrap().replace('\n', " "))
    }

    #[test]
    fn neighbouring_lines_are_merged_each_for_itself() {
        assert_eq!(merge("A b c ", "A B C ", "a b c ").as_deref(), Some("a B C "));
        assert_eq!(merge("A B c ", "A B C ", "A b c ").as_deref(), Some("A b C "));
        assert_eq!(merge("A b", "A B", "a b").as_deref(), Some("a B"));
    }

    #[test]
    fn the_same_line_changed_twice_is_a_conflict() {
        assert_eq!(merge("1 b c ", "2 b c ", "a b c "), None);
        assert_eq!(merge("a 1 c ", "a 2 C ", "a b c "), None);
        assert_eq!(merge("a 1 c ", "a c ", "a b c "), None);
        assert_eq!(merge("a c ", "a x c ", "a y c "), None);
        assert_eq!(merge("a b c d ", "a p q r d ", "a b C d "), None);
    }

    #[test]
    fn equal_changes_are_made_once() {
        assert_eq!(merge("a b c ", "a B c ", "a B c ").as_deref(), Some("a B c "));
    }
}
