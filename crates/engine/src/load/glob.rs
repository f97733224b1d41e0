//! Patterns for paths: `*`, `?` and `**`.
//!
//! Written here because the crates for it also read `[…]` and `{…}`, and a path such as `app/[id]/page.tsx` is not a
//! pattern but a file of half the web projects there are.

/// Whether this is a pattern and not a path.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether a path fits a pattern. `**` stands for any folders; no sign stands for the dot that hides a file.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let mut signs: Vec<_> = pattern.split('/').collect();
    let parts: Vec<_> = path.split('/').collect();
    if signs.last() == Some(&"**") {
        // `src/**` means the files below it, not a file called `src`.
        signs.push("*");
    }
    let any = Any { is: |sign: &&str| *sign == "**", takes: |part: &&str| !part.starts_with('.') };
    matches_list(&signs, &parts, any, |sign, part| matches_part(sign, part))
}

fn matches_part(pattern: &str, part: &str) -> bool {
    if part.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let signs: Vec<_> = pattern.chars().collect();
    let characters: Vec<_> = part.chars().collect();
    let any = Any { is: |sign: &char| *sign == '*', takes: |_: &char| true };
    matches_list(&signs, &characters, any, |sign, c| *sign == '?' || sign == c)
}

/// The sign that stands for any number of items, and the items it may stand for.
struct Any<S, T> {
    is: fn(&S) -> bool,
    takes: fn(&T) -> bool,
}

/// Only the last sign for any number is ever taken back, which keeps the time at the product of the lengths.
fn matches_list<S, T>(signs: &[S], items: &[T], any: Any<S, T>, fits: fn(&S, &T) -> bool) -> bool {
    let (mut sign, mut item) = (0, 0);
    let mut retry = None;
    while item < items.len() {
        if signs.get(sign).is_some_and(any.is) {
            retry = Some((sign, item));
            sign += 1;
        } else if signs.get(sign).is_some_and(|sign| fits(sign, &items[item])) {
            (sign, item) = (sign + 1, item + 1);
        } else {
            match retry {
                Some((start, from)) if (any.takes)(&items[from]) => {
                    retry = Some((start, from + 1));
                    (sign, item) = (start + 1, from + 1);
                }
                _ => return false,
            }
        }
    }
    signs[sign..].iter().all(any.is)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_signs_mean_what_shells_mean() {
        for (pattern, path) in [
            ("*.py", "train.py"),
            ("src/*.py", "src/a.py"),
            ("src/**", "src/a/b.py"),
            ("**/*.py", "a.py"),
            ("**/*.py", "a/b/c.py"),
            ("src/**/test_?.py", "src/a/b/test_1.py"),
            ("src/**/x", "src/x"),
            ("**", "a/b"),
            (".env*", ".env.local"),
            ("a*b*c", "aXbYbZc"),
            ("**/a/**", "a/b"),
            ("app/[id]/*.tsx", "app/[id]/page.tsx"),
        ] {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.py", "src/a.py"),
            ("*.py", "a.pyc"),
            ("src/**", "src"),
            ("?.py", "ab.py"),
            ("*", ".hidden"),
            ("**", ".git/config"),
            ("**", "a/.cache/b"),
            ("src/*", "src/a/b"),
            ("a*b", "acd"),
            ("**/x", "ax"),
            ("a/**/b", "a/.h/b"),
        ] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }

    /// The definition itself, which takes exponential time.
    fn slow(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern, path) {
            ([], []) => true,
            (["**"], path) => !path.is_empty() && path.iter().all(|part| !part.starts_with('.')),
            (["**", rest @ ..], path) if slow(rest, path) => true,
            (["**", ..], [part, below @ ..]) => !part.starts_with('.') && slow(pattern, below),
            ([sign, rest @ ..], [part, below @ ..]) => {
                let signs: Vec<_> = sign.chars().collect();
                let part_chars: Vec<_> = part.chars().collect();
                (!part.starts_with('.') || sign.starts_with('.')) && slow_part(&signs, &part_chars) && slow(rest, below)
            }
            _ => false,
        }
    }

    fn slow_part(sign: &[char], part: &[char]) -> bool {
        match (sign, part) {
            ([], []) => true,
            (['*', rest @ ..], part) if slow_part(rest, part) => true,
            (['*', ..], [_, after @ ..]) => slow_part(sign, after),
            (['?', rest @ ..], [_, after @ ..]) => slow_part(rest, after),
            ([s, rest @ ..], [c, after @ ..]) => s == c && slow_part(rest, after),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn the_fast_way_agrees_with_the_definition(
            pattern in "([ab.*?]{1,4}|\\*\\*)(/([ab.*?]{1,3}|\\*\\*)){0,3}",
            path in "[ab.]{1,4}(/[ab.]{1,3}){0,3}",
        ) {
            let (signs, parts): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
            prop_assert_eq!(matches(&pattern, &path), slow(&signs, &parts));
        }
    }
}
