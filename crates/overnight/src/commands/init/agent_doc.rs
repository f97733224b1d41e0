//! What a coding agent needs to know to use `overnight try`.

use std::fs;
use std::path::Path;

use overnight_engine::load;
use overnight_engine::open::OpenError;
use overnight_model::Goal;
use overnight_model::spec::{Network, Spec};

use super::check::parse;
use super::look::{Look, word};
use super::place::Found;
use super::write;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// More are named by where they stand.
const MOST_NAMED: usize = 8;

/// Writes or prints the page for coding agents.
pub(super) fn give(place: &Found, file: &Path, look: &Look) -> Outcome<Exit> {
    let site = &place.site;
    let text = fs::read_to_string(&site.triplet)
        .map_err(|error| CliError::usage(format!("could not read {}", site.triplet.display())).cause(&error))?;
    let spec = parse(look, site, &text).map_err(OpenError::Problems)?;
    let page = page(&spec, &look.folder, place.several());
    if file == Path::new("-") {
        ui::data(page.trim_end());
        return Ok(Exit::Done);
    }
    let path = site.dir.join(file);
    match write::new_file(&path, &page)? {
        true => ui::say(&format!("wrote       {}: point your coding agent to it", file.display())),
        false => {
            let message = format!("{} is there already", path.display());
            let hint = "`overnight init --agent-doc -` prints the page; `--agent-doc FILE` writes it elsewhere";
            return Err(CliError::new(Exit::Refused, message).hint(hint));
        }
    }
    Ok(Exit::Done)
}

/// The page, for one study.
fn page(spec: &Spec, folder: &str, several: bool) -> String {
    let paths: Vec<String> = spec.surface.paths().map(|path| load::within(folder, path)).collect();
    let (surface, restored) = match paths.len() {
        0..=MOST_NAMED => (
            paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", "),
            paths.iter().map(|path| word(path)).collect::<Vec<_>>().join(" "),
        ),
        count => (format!("the {count} files of `surface` in the triplet"), "FILE…".to_owned()),
    };
    let network = match spec.evaluate.network {
        Network::None => "no network, ",
        Network::Full => "",
    };
    let metric = &spec.metric.name;
    let (better, goal) = match spec.metric.goal {
        Goal::Min => ("lower", "smaller"),
        Goal::Max => ("higher", "larger"),
    };
    let run = &spec.evaluate.run;
    let study = if several { format!(" --study {}", spec.study) } else { String::new() };
    let name = &spec.study;
    format!(
        r#"# Working with `overnight` in this repository

The study `{name}` makes `{metric}` {goal}. You have ideas and edit; `overnight` measures, decides and keeps.
Only {surface} may change. Everything else is locked: an edit elsewhere is not measured.

## One experiment

1. Edit the surface in the working tree: one idea at a time, on top of what is there.
2. `overnight try{study} --from-worktree -m "the idea in one line" --json`
3. Read the one JSON object it prints. It takes a while: the baseline comes first, and a close result is repeated.

The measurement runs `{run}` in a sandbox: {network}no untracked files but the inputs of the triplet.

| field | meaning |
|---|---|
| `verdict` | `kept`: really better, now a commit on the branch `overnight/{name}` and the new champion |
| | `discarded`: not better, or too unlikely to be worth another trial; `no_change`, `duplicate`: nothing new was measured |
| | `crashed`, `timed_out`, `out_of_memory`, `invalid_metric`: it gave no number; mend it or drop it |
| | `guard_failed`, `policy`: it broke a rule; `reason` says which |
| `reason` | why, with the numbers |
| `metric` | what was measured, {better} is better; `null` where there is none |
| `gain`, `gain_low`, `gain_high` | over the champion, positive is better, with a 95 % interval |

After `kept`, go on from your edit. After anything else, put the surface back to the champion before the next idea:
`git restore --source=overnight/{name} --worktree -- {restored}`

## What was tried

- `overnight log{study} --json`: one object per line; read it first, so that you repeat nothing.
- `overnight show{study} N`: diff, trials and output of experiment N; `overnight show{study} champion` is the one to beat.
- `overnight status{study} --json`: baseline, champion and noise.

Exit codes: 0 done, whatever the verdict; 2 usage or configuration, or the baseline itself fails; 3 refused, and the
message says why; 4 stopped by a limit; 130 interrupted.

## What not to do

- Do not commit, reset, stash or switch branches for an experiment; the branch `overnight/{name}` is not yours to move.
- Do not write in `.overnight/`, and do not edit `overnight.toml` or how `{metric}` is measured.
- Do not measure by hand and report your own number: only a verdict counts, and one lucky run is noise.
"#,
    )
}
