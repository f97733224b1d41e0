//! Carrying attacks out: one study for each level and tier, one `try` for each cell.

use std::path::Path;

use overnight_engine::clock::Stopwatch;
use overnight_model::spec::{Assurance, Tier};

use super::fixture::{Fixture, Host};
use super::list::{Attack, Want, attacks, candidate, want};
use crate::error::Outcome;

/// One attack at one level and one tier: what it had to come to, and what it came to.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) attack: String,
    pub(crate) level: &'static str,
    pub(crate) tier: &'static str,
    pub(crate) expected: String,
    pub(crate) got: String,
    /// What is wrong with it.
    pub(crate) problem: Option<String>,
    /// It is not held, and the engine says so.
    pub(crate) is_said: bool,
    pub(crate) seconds: f64,
}

/// How many studies share the attacks of one level and one tier, so that waiting for one is not waiting for all.
pub(crate) const PARTS: usize = 2;

/// Cells of one level and one tier that leave the champion alone, one part of them.
pub(crate) fn in_one_study(root: &Path, host: &Host, level: Assurance, tier: Tier, part: usize) -> Outcome<Vec<Cell>> {
    let folder = root.join(format!("{}-{}-{part}", level.name(), tier.name()));
    let fixture = Fixture::make(folder, host, level, tier)?;
    let mut cells = Vec::new();
    let attacks = attacks().filter_map(|attack| match want(attack, level, tier) {
        Want::Verdict(wanted) => Some((attack, wanted)),
        Want::Said(_) | Want::Skip => None,
    });
    for (attack, wanted) in attacks.skip(part).step_by(PARTS) {
        cells.push(carry_out(&fixture, attack, level, wanted, false)?);
    }
    // What the last attack left would be found by this one.
    let skip = Want::Skip;
    let honest = Attack {
        name: "honest-at-the-end",
        script: "",
        cooperative: skip,
        separated: skip,
        bare_cooperative: skip,
        bare_separated: skip,
    };
    cells.push(carry_out(&fixture, &honest, level, &["discarded"], false)?);
    Ok(cells)
}

/// The attacks that win at this level and tier: each moves the champion, so each has a study of its own.
pub(crate) fn alone(attack: &Attack, root: &Path, host: &Host, level: Assurance, tier: Tier) -> Outcome<Option<Cell>> {
    let Want::Said(verdict) = want(attack, level, tier) else { return Ok(None) };
    let folder = root.join(format!("{}-{}-{}", attack.name, level.name(), tier.name()));
    let fixture = Fixture::make(folder, host, level, tier)?;
    let mut cell = carry_out(&fixture, attack, level, &[verdict], true)?;
    cell.is_said = true;
    let (assurance, sandbox) = fixture.trust()?;
    if (assurance.as_str(), sandbox.as_str()) != (level.name(), tier.name()) {
        cell.problem = Some(format!("the engine says `{assurance} · sandbox {sandbox}`"));
    }
    Ok(Some(cell))
}

fn carry_out(fixture: &Fixture, attack: &Attack, level: Assurance, wanted: &[&str], wins: bool) -> Outcome<Cell> {
    let since = Stopwatch::start();
    let before = fixture.before();
    let row = fixture.try_candidate(attack.name, &candidate(attack.name, attack.script))?;
    let got = row["verdict"].as_str().unwrap_or("null").to_owned();
    let problem = match wanted.contains(&got.as_str()) {
        false => Some(row["reason"].as_str().unwrap_or_default().to_owned()),
        true => fixture.broken_since(&before, wins),
    };
    let problem = match problem {
        None if attack.name == "screen-escapes" => escapes(fixture, &row)?,
        problem => problem,
    };
    Ok(Cell {
        attack: attack.name.to_owned(),
        level: level.name(),
        tier: fixture.tier().name(),
        expected: wanted.join(" or "),
        got,
        problem,
        is_said: false,
        seconds: since.elapsed().as_secs_f64(),
    })
}

/// Nothing that a candidate prints may move a person's cursor.
fn escapes(fixture: &Fixture, row: &serde_json::Value) -> Outcome<Option<String>> {
    let number = row["experiment"].to_string();
    for arguments in [&["show", number.as_str(), "--output"][..], &["log"], &["show", number.as_str()]] {
        let shown = fixture.overnight(arguments)?;
        if shown.stdout.contains(['\x1b', '\x07']) || shown.stderr.contains(['\x1b', '\x07']) {
            return Ok(Some(format!("`overnight {}` prints escapes", arguments.join(" "))));
        }
    }
    Ok(None)
}

/// Attacks on what is cleaned up after a trial, which is another matter where it was written to a disk.
const ON_DISK: [&str; 8] = [
    "nest-of-folders",
    "nest-of-artifacts",
    "everything-unreadable",
    "artifacts-unreadable",
    "surface-becomes-a-link",
    "tree-becomes-a-link",
    "others-left-something",
    "daemon",
];

/// The same once more with layers on a disk, as older kernels need them.
pub(crate) fn on_disk(root: &Path, host: &Host, tier: Tier) -> Outcome<Vec<Cell>> {
    let level = Assurance::Separated;
    let change = |triplet: String| triplet.replace("[sandbox]\n", "[sandbox]\nlayer = \"disk\"\n");
    let fixture = Fixture::make_with(root.join("on-disk"), host, level, tier, &[], change)?;
    let mut cells = Vec::new();
    for attack in attacks().filter(|attack| ON_DISK.contains(&attack.name)) {
        if let Want::Verdict(wanted) = want(attack, level, tier) {
            let cell = carry_out(&fixture, attack, level, wanted, false)?;
            cells.push(Cell { attack: format!("{} (on disk)", cell.attack), ..cell });
        }
    }
    Ok(cells)
}
