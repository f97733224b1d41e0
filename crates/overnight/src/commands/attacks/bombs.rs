//! Bombs in one slot, with an honest trial in the other.

use std::path::Path;

use overnight_engine::clock::Stopwatch;
use overnight_model::spec::{Assurance, Tier};

use super::cells::Cell;
use super::fixture::{Fixture, Host};
use super::list::candidate;
use crate::error::Outcome;

/// Each is limited by the attack itself too: a wall that is missing must not cost the machine.
const BOMBS: [(&str, &str, &str); 6] = [
    ("fork-bomb", "attack processes 500; attack processes 500", "pids_limit"),
    ("memory-bomb", "attack memory-forks 600000000", "out_of_memory"),
    ("log-flood", "timeout 100 yes \"$(head -c 4000 /dev/zero | tr '\\0' y)\"", "output_limit"),
    ("log-flood-without-lines", "timeout 100 tr '\\0' x < /dev/zero", "output_limit"),
    ("inode-bomb", "attack inodes 60000 || exit 1", "disk_limit"),
    // In memory a hole takes no room; on disk the limit on files ends it.
    ("sparse-file-bomb", "\"$ATTACKER\" __attack sparse 1000000000000 || exit $?", "discarded or disk_limit"),
];

/// The first experiment is the bomb, the second does its work meanwhile.
const AGENT: &str = "case $(cat) in\n\
    *'\"study\":\"main\",\"experiment\":1,'*) cp bomb.sh solution.sh; echo a bomb ;;\n\
    *) cp honest.sh solution.sh; echo its neighbour ;;\nesac\n";

pub(crate) fn beside_another(root: &Path, host: &Host, tier: Tier) -> Outcome<Vec<Cell>> {
    let mut cells = Vec::new();
    for (name, script, verdict) in BOMBS {
        cells.extend(one(root, host, tier, (name, script, verdict))?);
    }
    Ok(cells)
}

fn one(
    root: &Path,
    host: &Host,
    tier: Tier,
    (name, script, verdict): (&str, &str, &'static str),
) -> Outcome<Vec<Cell>> {
    let level = Assurance::Separated;
    let files = [
        ("agent.sh", AGENT.to_owned()),
        ("bomb.sh", candidate(name, script)),
        ("honest.sh", candidate("honest", "sleep 1")),
    ];
    let fixture = Fixture::make_with(root.join(name), host, level, tier, &files, |triplet| {
        // Floods take their time, and what ends a bomb must be its limit.
        triplet.replace("kill = \"5s\"", "kill = \"60s\"") + "[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\n"
    })?;
    let since = Stopwatch::start();
    let before = fixture.before();
    let run = ["run", "--no-tui", "--slots", "2", "--experiments", "2", "--sandbox", tier.name()];
    let ended = fixture.overnight(&run)?;
    let log = fixture.overnight(&["log", "--json"])?.stdout;
    let rows: Vec<serde_json::Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let cell = |experiment: u64, attack: String, expected: &str| {
        let row = rows.iter().find(|row| row["experiment"] == experiment);
        let got = row.and_then(|row| row["verdict"].as_str()).unwrap_or("null").to_owned();
        let problem = match expected.split(" or ").any(|wanted| wanted == got) {
            true => fixture.broken_since(&before, true),
            false => Some(row.and_then(|row| row["reason"].as_str()).unwrap_or(ended.stderr.trim()).to_owned()),
        };
        Cell {
            attack,
            level: level.name(),
            tier: tier.name(),
            expected: expected.to_owned(),
            got,
            problem,
            is_said: false,
            seconds: since.elapsed().as_secs_f64(),
        }
    };
    Ok(vec![cell(1, name.to_owned(), verdict), cell(2, format!("{name}: its neighbour"), "discarded")])
}
