//! Whether an edit changes nothing but luck.

use overnight_model::proposal::Contents;
use overnight_model::tuner::found::words;
use tree_sitter::{Node, Tree};

use super::walk::{Item, walk};
use super::{Language, parse};

/// More changed numbers than a program has seeds.
const NUMBERS_LIMIT: usize = 16;

/// How far up a name is looked for: through signs, sums, brackets and lists.
const STEPS: usize = 8;

/// A longer expression is no name.
const NAME_LIMIT: usize = 120;

/// What names the value below it, in any of the grammars.
const NAMING_FIELDS: [&str; 9] =
    ["function", "constructor", "macro", "name", "left", "key", "pattern", "declarator", "field"];

/// Names that speak of chance without the word `seed`, in lower case.
const SEED_NAMES: [&str; 9] = [
    "random_state",
    "randomstate",
    "prngkey",
    "srand",
    "mt19937",
    "mt19937_64",
    "default_random_engine",
    "minstd_rand",
    "newsource",
];

/// How many seeds there are is no seed.
const COUNTING_WORDS: [&str; 7] = ["n", "num", "number", "count", "per", "max", "min"];

/// Whether the only differences are numbers that seed something: such an edit is another draw, and no other program.
pub fn reseeds(old: &Contents, new: &Contents) -> bool {
    let mut changed = false;
    for (path, after) in &new.0 {
        let Some(before) = old.get(path) else { return false };
        if before == after {
            continue;
        }
        match reseeds_file(path, before, after) {
            Some(reseeded) => changed |= reseeded,
            None => return false,
        }
    }
    changed && new.0.len() == old.0.len()
}

/// Whether a seed changed, or nothing that counts; `None` where anything else did.
fn reseeds_file(path: &str, before: &[u8], after: &[u8]) -> Option<bool> {
    let language = Language::of(path)?;
    let (old, new) = (parse(language, before)?, parse(language, after)?);
    let (was, is) = (items(language, &old, before), items(language, &new, after));
    if was.len() != is.len() {
        return None;
    }
    let mut changed = Vec::new();
    for ((_, was), (start, is)) in was.iter().zip(&is) {
        match (was, is) {
            (was, is) if was == is => {}
            (Item::Leaf { node: a, text: old, .. }, Item::Leaf { node: b, text: new, .. })
                if a == b && is_number(old) && is_number(new) =>
            {
                changed.push(*start..start + new.len());
            }
            _ => return None,
        }
    }
    let is_seed = |span: &std::ops::Range<usize>| {
        let leaf = new.root_node().descendant_for_byte_range(span.start, span.end);
        leaf.is_some_and(|leaf| is_seed(leaf, after))
    };
    (changed.len() <= NUMBERS_LIMIT && changed.iter().all(is_seed)).then_some(!changed.is_empty())
}

fn items<'a>(language: Language, tree: &'a Tree, text: &'a [u8]) -> Vec<(usize, Item<'a>)> {
    let mut found = Vec::new();
    walk(language, tree, text, |start, item| found.push((start, item)));
    found
}

/// In C the value of a `#define` is any text; in YAML and shells a number is a word like others.
fn is_number(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.first().is_some_and(u8::is_ascii_digit)
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'\''))
}

/// Whether the nearest name that a number is given to is that of a seed.
fn is_seed(number: Node<'_>, text: &[u8]) -> bool {
    let mut below = number;
    for _ in 0..STEPS {
        let Some(node) = below.parent() else { return false };
        let named = NAMING_FIELDS.iter().find_map(|field| node.child_by_field_name(field));
        // TOML's pairs have no fields.
        let named = named.or_else(|| node.kind().contains("pair").then(|| node.named_child(0)).flatten());
        if let Some(name) = named.filter(|name| !contains(name, &number)) {
            return match name_of(&name, text) {
                // `add_argument("--seed", default=42)`
                Some("default") => is_default_of_seed(node, text),
                // `std::mt19937 engine(42)`
                Some(name) => names_seed(name) || declared(node, text).is_some_and(names_seed),
                None => false,
            };
        }
        below = node;
    }
    false
}

fn is_default_of_seed(keyword: Node<'_>, text: &[u8]) -> bool {
    let first = keyword.parent().and_then(|arguments| arguments.named_child(0));
    first.and_then(|first| name_of(&first, text)).is_some_and(names_seed)
}

fn declared<'t>(declarator: Node<'_>, text: &'t [u8]) -> Option<&'t str> {
    name_of(&declarator.parent()?.child_by_field_name("type")?, text)
}

fn contains(outer: &Node<'_>, inner: &Node<'_>) -> bool {
    outer.start_byte() <= inner.start_byte() && inner.end_byte() <= outer.end_byte()
}

/// The last name of a path: `seed` of `self.config["seed"]`. Several names at once are no name.
fn name_of<'t>(node: &Node<'_>, text: &'t [u8]) -> Option<&'t str> {
    let text = std::str::from_utf8(text.get(node.byte_range())?).ok()?;
    if text.len() > NAME_LIMIT || text.contains(',') {
        return None;
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.rsplit(|c| !is_part(c)).find(|part| part.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

fn names_seed(name: &str) -> bool {
    let lower = name.to_lowercase();
    let words = words(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    SEED_NAMES.contains(&lower.as_str())
        || name == "Random"
        || (has(&["seed", "seeds", "rng", "prng"]) && !has(&COUNTING_WORDS))
        // Run together: `PYTHONHASHSEED`, `myseed`.
        || (lower.ends_with("seed") && !has(&COUNTING_WORDS))
}
