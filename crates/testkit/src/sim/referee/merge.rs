//! Whether a proposal that was put on another champion holds what both changed, told line by line.

use std::collections::BTreeMap;

use overnight_model::proposal::Contents;

/// The settings of a surface, and how many lines are none.
pub type Settings = (BTreeMap<(String, String), String>, usize);

fn settings(contents: &Contents) -> Settings {
    let (mut known, mut others) = (BTreeMap::new(), 0);
    for (path, bytes) in &contents.0 {
        for line in String::from_utf8_lossy(bytes).lines() {
            match line.split_once(" = ") {
                Some((name, value)) => {
                    known.insert((path.clone(), name.to_owned()), value.to_owned());
                }
                None => others += 1,
            }
        }
    }
    (known, others)
}

/// The settings in one line.
pub fn told(contents: &Contents) -> String {
    let (known, others) = settings(contents);
    let known: Vec<String> = known.into_iter().map(|((_, name), value)| format!("{name} = {value}")).collect();
    format!("{}, and {others} lines", known.join(", "))
}

/// What both sides make of a setting; `None` where they disagree.
pub fn expected(old: &Contents, ours: &Contents, theirs: &Contents) -> Option<Settings> {
    let (old, ours, theirs) = (settings(old), settings(ours), settings(theirs));
    let mut made = BTreeMap::new();
    for (name, theirs) in &theirs.0 {
        let (old, ours) = (&old.0[name], &ours.0[name]);
        if theirs != old && ours != old && theirs != ours {
            return None;
        }
        made.insert(name.clone(), if theirs == old { ours } else { theirs }.clone());
    }
    Some((made, ours.1.max(theirs.1)))
}

/// Whether both made the same change somewhere.
pub fn shares(old: &Contents, ours: &Contents, theirs: &Contents) -> bool {
    let [old, ours, theirs] = [old, ours, theirs].map(|contents| settings(contents).0);
    theirs.iter().any(|(name, value)| old.get(name) != Some(value) && ours.get(name) == Some(value))
}

/// Whether contents are what both sides make together.
pub fn is(contents: &Contents, expected: &Settings) -> bool {
    settings(contents) == *expected
}
