//! Attacks on the gateway: a candidate that may ask models, and wants something else. Whether it got it is seen from outside
//! as well: by the provider that it was asked of, and in everything that is stored.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_engine::clock::Stopwatch;
use overnight_engine::process::attack::{KEY_BEGINS, KEY_DIGITS};
use overnight_model::BlobId;
use overnight_model::spec::{Assurance, Tier};
use serde_json::Value;

use super::cells::Cell;
use super::fixture::{Fixture, Host, PLAIN, could_not};
use super::list::candidate;
use super::provider::{Provider, TOKENS, base64};
use crate::error::Outcome;

/// Tokens that one trial may take.
const LIMIT: u64 = 2_000;

const VARIABLE: &str = "ATTACKED_KEY";

/// A name, its script, and whether it is held without a sandbox, too.
type Attack = (&'static str, &'static str, bool);

const ATTACKS: [Attack; 8] = [
    // First, so that it has something to look for in what is stored.
    ("key-repeated", "attack models-echo \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\" && got_through", true),
    // Without walls it finds what the person's own programs could find.
    (
        "key-looked-for",
        "attack models-look . .. \"$HOME\" /tmp /var/tmp /run /dev/shm \"$ATTACK_REPO\" /overnight && got_through",
        false,
    ),
    ("another-host", "attack models-host \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\" DECOY && got_through", true),
    ("more-than-its-limit", "attack models-spend \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\" MOST && got_through", true),
    ("asks-after-its-end", "attack models-late \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\"", true),
    ("trace-forged", "attack models-forge \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\" && got_through", true),
    (
        "traces-written",
        "for found in \"$ATTACK_REPO\"/.overnight/*/traces* \"$ATTACK_REPO\"/.overnight/*/calls* /overnight/traces; do
attack write \"$found\" && got_through
done",
        false,
    ),
    (
        "recordings-poisoned",
        "attack models-ask \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\" 'which answers? 1999-01-01'
for folder in recordings \"$ATTACK_REPO/recordings\"; do
mkdir -p \"$folder/requests\" \"$folder/answers\"
for found in \"$folder\"/*/*; do echo poisoned > \"$found\"; done
echo poisoned > \"$folder/answers/poisoned\"; ln -s /etc/passwd \"$folder/requests/poisoned.json\"
done 2> /dev/null",
        false,
    ),
];

/// All of them, one after another in one study.
pub(crate) fn attacked(root: &Path, host: &Host, tier: Tier) -> Outcome<Vec<Cell>> {
    let level = Assurance::Cooperative;
    let folder = root.join(format!("models-{}", tier.name()));
    let provider = Provider::start().map_err(|error| could_not("listen for attacks on", &folder, &error))?;
    let key = made_up();
    let change = |triplet: String| {
        let triplet = triplet.replace("kill = \"5s\"", "kill = \"60s\"\nnetwork = \"models\"");
        triplet + &gateway(provider.port, "record") + &format!("[limits.trial]\ntokens = {LIMIT}\n")
    };
    let fixture = Fixture::make_with(folder, host, level, tier, &[], change)?.with_variable(VARIABLE, &key);
    let mut cells = Vec::new();
    for (name, script, _) in ATTACKS.into_iter().filter(|(_, _, is_bare)| *is_bare || tier > Tier::None) {
        let since = Stopwatch::start();
        let (before, seen) = (fixture.before(), provider.seen().len());
        let most = LIMIT / TOKENS;
        let script = script.replace("DECOY", &provider.decoy.to_string()).replace("MOST", &most.to_string());
        let row = fixture.try_candidate(name, &candidate(name, &script))?;
        let got = row["verdict"].as_str().unwrap_or("null").to_owned();
        let problem = match got.as_str() {
            "discarded" => match fixture.broken_since(&before, false) {
                None => wrong(&fixture, &provider, &key, &row, seen)?,
                broken => broken,
            },
            _ => Some(row["reason"].as_str().unwrap_or_default().to_owned()),
        };
        cells.push(cell(format!("models: {name}"), (level, tier), got, problem, &since));
    }
    // Who was left behind asks on behalf of this one, or not at all.
    let (since, seen) = (Stopwatch::start(), provider.seen().len());
    let row = fixture.try_candidate("honest", &candidate("honest", "sleep 1"))?;
    let got = row["verdict"].as_str().unwrap_or("null").to_owned();
    let problem = match provider.seen().len() - seen {
        0 => wrong(&fixture, &provider, &key, &row, seen)?,
        more => Some(format!("{more} calls came after the end of those who made them")),
    };
    cells.push(cell("models: honest-at-the-end".to_owned(), (level, tier), got, problem, &since));
    Ok(cells)
}

/// What a scorer asked, in a recording that candidates are answered from.
pub(crate) fn replayed(root: &Path, host: &Host, tier: Tier) -> Outcome<Vec<Cell>> {
    let level = Assurance::Separated;
    let since = Stopwatch::start();
    let provider = Provider::start().map_err(|error| could_not("listen for attacks on", root, &error))?;
    let asks = "\"$ATTACKER\" __attack models-ask \"$OPENAI_BASE_URL\" \"$OPENAI_API_KEY\"";
    let scorer = |triplet: String, mode: &str| {
        let triplet = triplet.replace("kill = \"5s\"", "kill = \"60s\"\nnetwork = \"models\"");
        let triplet = triplet.replace("run = \"sh score.sh\"", "run = \"sh ask.sh && sh score.sh\"");
        triplet.replace("\"labels\"]", "\"labels\", \"ask.sh\"]") + &gateway(provider.port, mode)
    };
    let files = [("ask.sh", format!("{asks} \"grade by: $(cat labels)\" | grep -q ' 200 '\n"))];
    let make = |name: &str, mode: &str| {
        let folder = root.join(format!("models-{name}"));
        let made = Fixture::make_with(folder, host, level, tier, &files, |triplet| scorer(triplet, mode));
        made.map(|fixture| fixture.with_variable(VARIABLE, &made_up()))
    };
    let (recorded, replaying) = (make("recorded", "record")?, make("replayed", "replay")?);
    recorded.try_candidate("honest", &candidate("honest", ":"))?;
    let from = recorded.repo().join("recordings");
    let to = replaying.repo().join("recordings");
    fs::rename(&from, &to).map_err(|error| could_not("move", &from, &error))?;
    let before = replaying.before();
    // Whoever asks something like it is told where it differs.
    let script = format!(
        "found=$({asks} 'grade by: x' | sed -n 's/.*grade by: \\([01 ]*\\).*/\\1/p'); answers=${{found:-{PLAIN:?}}}"
    );
    let row = replaying.try_candidate("asks-as-the-scorer", &candidate("asks-as-the-scorer", &script))?;
    let got = row["verdict"].as_str().unwrap_or("null").to_owned();
    let problem = match got.as_str() {
        "discarded" => replaying.broken_since(&before, false),
        _ => Some(row["reason"].as_str().unwrap_or_default().to_owned()),
    };
    Ok(vec![cell("models: asks-as-the-scorer".to_owned(), (level, tier), got, problem, &since)])
}

fn gateway(port: u16, mode: &str) -> String {
    format!(
        "[gateway]\n{mode} = \"recordings\"\n[gateway.there]\nurl = \"http://127.0.0.1:{port}/v1\"\n\
         protocol = [\"chat\", \"messages\", \"responses\", \"gemini\"]\nkey_env = \"{VARIABLE}\"\n"
    )
}

/// What somebody got who must not, as it is seen from outside.
fn wrong(fixture: &Fixture, provider: &Provider, key: &str, row: &Value, before: usize) -> Outcome<Option<String>> {
    if provider.strays() > 0 {
        return Ok(Some("somebody came to another host".to_owned()));
    }
    let seen = provider.seen();
    if let Some(odd) = seen.iter().find(|seen| seen.key() != Some(key)) {
        return Ok(Some(format!("`{}` came without the key", odd.line)));
    }
    let number = row["experiment"].to_string();
    let traced = fixture.overnight(&["show", &number, "--trace", "--json"])?.stdout;
    let calls: Vec<Value> = traced.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let out = calls.iter().filter(|call| !call["status"].is_null()).count();
    let came = seen[before..].iter().filter(|seen| seen.is_call()).count();
    if out != came {
        return Ok(Some(format!("{came} calls came to the provider, and {out} are recorded")));
    }
    if let Some(call) = calls.iter().find(|call| call["caller"]["is"] != "task") {
        return Ok(Some(format!("a call is recorded as that of {}", call["caller"])));
    }
    let status = fixture.overnight(&["status", "--json"])?.stdout;
    let status: Value = serde_json::from_str(&status).unwrap_or_default();
    let of_agents = status["costs"]["agents"].as_array().is_some_and(|agents| agents.iter().any(|it| it["calls"] != 0));
    if of_agents {
        return Ok(Some("a call is counted as an agent's".to_owned()));
    }
    let shown =
        [&["show", number.as_str(), "--trace", "--full"][..], &["show", number.as_str(), "--output"], &["status"]];
    let mut texts = vec![traced];
    for arguments in shown {
        let ended = fixture.overnight(arguments)?;
        if ended.stdout.contains(['\x1b', '\x07']) {
            return Ok(Some(format!("`overnight {}` prints escapes", arguments.join(" "))));
        }
        texts.extend([ended.stdout, ended.stderr]);
    }
    let forms = forms(key);
    let has = |bytes: &[u8]| forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form));
    if texts.iter().any(|text| has(text.as_bytes())) {
        return Ok(Some("the key is shown".to_owned()));
    }
    let files = files(&fixture.repo());
    if let Some((path, _)) = files.iter().find(|(_, bytes)| has(bytes)) {
        return Ok(Some(format!("the key is in {}", path.display())));
    }
    Ok(poisoned(&fixture.repo().join("recordings")))
}

/// Whether anything is in the recordings that the engine did not put there.
fn poisoned(folder: &Path) -> Option<String> {
    files(folder).into_iter().find_map(|(path, bytes)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_answer = path.parent().is_some_and(|parent| parent.ends_with("answers"));
        let is_ours = if is_answer { BlobId::of(&bytes).0 == name } else { bytes.starts_with(b"{") };
        (!is_ours).then(|| format!("{} is none of the engine's", path.display()))
    })
}

/// Everything below a folder; links with nothing in them.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&path)),
            Ok(kind) if kind.is_file() => found.push((path.clone(), fs::read(&path).unwrap_or_default())),
            _ => found.push((path, Vec::new())),
        }
    }
    found
}

/// The key in every form that somebody may have written it in.
fn forms(key: &str) -> Vec<Vec<u8>> {
    let spelled = |of: fn(u8) -> String| key.bytes().map(of).collect::<String>();
    let mut forms = vec![
        key.to_owned(),
        key.chars().rev().collect(),
        spelled(|byte| format!("{byte:02x}")),
        spelled(|byte| format!("{byte:02X}")),
        spelled(|byte| format!("%{byte:02x}")),
        spelled(|byte| format!("\\u{byte:04x}")),
        spelled(|byte| format!("{}\0", byte as char)),
    ];
    // The first and the last signs depend on what is around.
    for before in ["", "x", "xx"] {
        let written = base64(format!("{before}{key}").as_bytes());
        forms.push(written[4..written.len() - 4].to_owned());
    }
    forms.into_iter().map(String::into_bytes).collect()
}

/// A key that was never anywhere.
fn made_up() -> String {
    let mut bytes = [0; KEY_DIGITS / 2];
    // Where there is no chance the key is known, and looked for all the same.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}{digits}", KEY_BEGINS.concat())
}

fn cell(
    attack: String,
    (level, tier): (Assurance, Tier),
    got: String,
    problem: Option<String>,
    since: &Stopwatch,
) -> Cell {
    Cell {
        attack,
        level: level.name(),
        tier: tier.name(),
        expected: "discarded".to_owned(),
        got,
        problem,
        is_said: false,
        seconds: since.elapsed().as_secs_f64(),
    }
}
