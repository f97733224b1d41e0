//! docs/triplet.md has every key.

use super::super::keys::{Key, SECTIONS};

#[test]
fn every_key_stands_in_the_docs_among_those_that_work_or_among_those_to_come() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/triplet.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (works, later) = text.split_once("## Known, but not yet").unwrap();
    assert!(works.contains("`[agent.NAME]`"));
    // What one agent may say of itself may be said for all, and stands there.
    for (section, keys) in SECTIONS.iter().filter(|(section, _)| *section != "agent.NAME") {
        for (key, state) in *keys {
            let name = if section.is_empty() { (*key).to_owned() } else { format!("{section}.{key}") };
            let ways = [format!("`{name}`"), format!("`{name}."), format!("`{name} ="), format!("`[[{name}]]`")];
            let place = if *state == Key::Works { works } else { later };
            assert!(ways.iter().any(|way| place.contains(way)), "docs/triplet.md says nothing of `{name}`");
        }
    }
}
