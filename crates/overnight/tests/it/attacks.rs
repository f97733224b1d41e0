//! `verify --attacks`: every attack gets the verdict it must get, at every level and on every tier of this machine.

use std::collections::BTreeMap;

use crate::support::{Json, Repo};

#[test]
fn every_attack_is_held_or_said_not_to_be() {
    let ran = Repo::empty().overnight(&["verify", "--attacks", "--json"]);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"));
    let cells = found["cells"].as_array().unwrap();
    let failed: Vec<_> = cells.iter().filter(|cell| cell["outcome"] == "failed").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!((ran.code, found["sound"].as_bool()), (Some(0), Some(true)));
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for cell in cells {
        *counts.entry((cell["level"].as_str().unwrap(), cell["tier"].as_str().unwrap())).or_default() += 1;
    }
    for (level, tier, at_least) in [
        ("cooperative", "standard", 50),
        ("separated", "standard", 80),
        ("cooperative", "landlock", 30),
        ("separated", "landlock", 40),
        ("cooperative", "none", 20),
        ("separated", "none", 25),
    ] {
        let count = counts.get(&(level, tier)).copied().unwrap_or(0);
        assert!(count >= at_least, "{counts:?} {}", found["not_run"]);
    }
    // The gateway is attacked on every tier, and held on every one of them.
    let held = |attack: &str, tier: &str| {
        cells.iter().any(|cell| cell["attack"] == attack && cell["tier"] == tier && cell["outcome"] == "held")
    };
    for tier in ["standard", "landlock", "none"] {
        for attack in ["key-repeated", "another-host", "more-than-its-limit", "asks-after-its-end", "trace-forged"] {
            assert!(held(&format!("models: {attack}"), tier), "{attack} {tier}");
        }
    }
    assert!(held("models: key-looked-for", "standard") && held("models: asks-as-the-scorer", "standard"));
    // What no level below can defend is said, and not passed over.
    let is_said = |attack: &str, level: &str| {
        cells.iter().any(|cell| cell["attack"] == attack && cell["level"] == level && cell["outcome"] == "said")
    };
    assert!(is_said("metric-instead", "cooperative") && is_said("labels-read", "cooperative"));
    assert!(is_said("labels-looked-for", "separated"));
}
