//! `verify --judge`: the judge on nights whose truth is known, and what it says of itself.

use crate::support::{Json, Repo};

#[test]
fn the_judge_says_what_was_planted_gained_reported_and_held() {
    let ran = Repo::empty().overnight(&["verify", "--judge", "--quick"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("the judge `overnight` on nights whose truth is known: "), "{ran}");
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>().join(" "),
        "planted gained reported off by best of the other rules interval held"
    );
    let row = |begin: &str| lines.iter().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{ran}"));
    for planted in ["1 sd, 10 % good, 45 % harmful  ", "no edit has any effect  "] {
        let row = row(planted);
        assert!(row.contains(" (") && (row.ends_with(" %") || row.ends_with(" -")), "{row}");
    }
    assert!(row("compare   gaussian ").trim_end().ends_with(" %"));
    assert!(row("the whole benchmark").ends_with("bench/loopbench/run --nights 1000 --targets"));
    let broken = lines.iter().filter(|line| line.starts_with("BROKEN: ")).count();
    assert_eq!(ran.code, Some(if broken == 0 { 0 } else { 5 }), "{ran}");
}

#[test]
fn programs_are_told_every_figure() {
    let ran = Repo::empty().overnight(&["verify", "--judge", "--quick", "--json"]);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"));
    assert_eq!(found["sound"].as_bool(), Some(ran.code == Some(0)));
    assert_eq!(found["sound"].as_bool(), Some(found["broken"].as_array().unwrap().is_empty()));
    assert_eq!(found["nights"].as_array().unwrap().len(), 2);
    for row in found["nights"].as_array().unwrap() {
        for key in ["gain", "reported_minus_true"] {
            assert!(row[key]["low"].as_f64().unwrap() <= row[key]["high"].as_f64().unwrap(), "{row}");
        }
        assert!(row["beside"]["peer"].is_string());
    }
    for row in found["claims"].as_array().unwrap() {
        assert!(row["false_claims"]["value"].as_f64().is_some_and(|share| share <= 1.0), "{row}");
    }
}

#[test]
fn a_judge_that_reports_its_luck_is_unsound() {
    let ran = Repo::empty().overnight(&["verify", "--judge", "--quick", "--rule", "greedy"]).ended(5);
    assert!(ran.stdout.contains("BROKEN: no edit has any effect: what is reported is off by +"), "{ran}");
}

#[test]
fn a_rule_that_nobody_knows_is_a_matter_of_usage() {
    let ran = Repo::empty().overnight(&["verify", "--judge", "--rule", "luck"]).ended(2);
    assert!(ran.stderr.contains("no rule is called `luck`"), "{ran}");
    Repo::empty().overnight(&["verify", "--judge", "--attacks"]).ended(2);
}
