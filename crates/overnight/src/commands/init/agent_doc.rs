//! What makes "have a look at program.md and let's go" work: what a coding agent has to know of a study.

use std::fs;
use std::path::Path;

use overnight_engine::load;
use overnight_engine::open::OpenError;
use overnight_model::Goal;
use overnight_model::spec::Spec;

use super::check::parse;
use super::look::{Look, word};
use super::place::Found;
use super::section::{self, Put};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// More are named by where they stand.
const MOST_NAMED: usize = 8;
/// Most coding agents read the first of these, Claude Code the second.
pub(super) const AGENTS: &str = "AGENTS.md";
const CLAUDE: &str = "CLAUDE.md";

/// Writes or prints the section for coding agents.
pub(super) fn give(place: &Found, file: &Path, look: &Look) -> Outcome<Exit> {
    let site = &place.site;
    let text = fs::read_to_string(&site.triplet)
        .map_err(|error| CliError::usage(format!("could not read {}", site.triplet.display())).cause(&error))?;
    let spec = parse(look, site, &text).map_err(OpenError::Problems)?;
    let text = text_for(&spec, &look.folder, place.several());
    if file == Path::new("-") {
        ui::data(text.trim_end());
        return Ok(Exit::Done);
    }
    let mut names = vec![file];
    let (agents, claude) = (site.dir.join(AGENTS), site.dir.join(CLAUDE));
    if file == Path::new(AGENTS) && claude.exists() && !section::leads_to(&claude, &agents) {
        names.push(Path::new(CLAUDE));
    }
    for name in names {
        let is_surface = spec.surface.paths().any(|path| Path::new(&load::within(&look.folder, path)) == name);
        if is_surface {
            let message = format!("{} is part of the surface: agents would be asked to make it better", name.display());
            return Err(CliError::new(Exit::Refused, message).hint("`overnight init --agent-doc FILE` takes another"));
        }
        let done = match section::put(&site.dir.join(name), &spec.study, &text)? {
            Put::Wrote => "wrote      ",
            Put::Added => "added to   ",
            Put::Replaced => "renewed in ",
            Put::UpToDate => "up to date ",
        };
        ui::say(&format!("{done} {}", name.display()));
    }
    ui::say("next        start your coding agent here: \"have a look at program.md and let's go\"");
    Ok(Exit::Done)
}

/// The section, for one study.
fn text_for(spec: &Spec, folder: &str, several: bool) -> String {
    let paths: Vec<String> = spec.surface.paths().map(|path| load::within(folder, path)).collect();
    let (surface, restored) = match paths.len() {
        0..=MOST_NAMED => (
            paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", "),
            paths.iter().map(|path| word(path)).collect::<Vec<_>>().join(" "),
        ),
        count => (format!("the {count} files of `surface` in the triplet"), "FILE…".to_owned()),
    };
    let metric = &spec.metric.name;
    let (better, goal) = match spec.metric.goal {
        Goal::Min => ("lower", "smaller"),
        Goal::Max => ("higher", "larger"),
    };
    let (run, name, program) = (&spec.evaluate.run, &spec.study, &spec.program);
    let study = if several { format!(" --study {name}") } else { String::new() };
    let arguments = if several { format!("[\"--study\", \"{name}\", \"mcp\"]") } else { "[\"mcp\"]".to_owned() };
    format!(
        r#"## An `overnight` study: `{name}`

This repository is a study: `{metric}` is to become {goal}. You have the ideas; `overnight` measures each one in a sandbox,
decides, and keeps what is really better as a commit on the branch `overnight/{name}`. When you are asked to begin:

1. Read `{program}`: what to explore, and what to leave alone. What it says about git, logging, measuring and looping is
   `overnight`'s work and not yours.
2. Read the brief: the tool `brief` of the MCP server `overnight`; without that, `overnight check{study} --brief`.
3. Only {surface} may change. Propose one idea at a time, and read its verdict before the next:
   - with the MCP server: `propose` with a one-line hypothesis, then `verdict` with its ticket;
   - without it: edit the working tree, then
     `overnight try{study} --from-worktree --wait -m "the idea in one line" --json`. After `kept` go on from your edit, after
     anything else put it back: `git restore --source=overnight/{name} --worktree -- {restored}`
4. Go on with the next idea, without asking, until you are stopped.

A verdict: `kept` is really better, the new champion; `discarded`, `no_change` and `duplicate` are not; `crashed`,
`timed_out` and the like gave no number; `guard_failed` and `policy` broke a rule. `reason` says why; `metric` is what was
measured, {better} is better; `gain` is over the champion.

Do not commit, reset, stash or switch branches for an experiment. Do not run `{run}` yourself or report numbers of your own:
only a verdict counts, and one lucky run is noise. Do not edit `{triplet}` or how `{metric}` is measured, and do not write in
`.overnight/`. An edit of anything else is not measured.

The MCP server, for Claude Code in `.mcp.json` (or `claude mcp add overnight -- overnight{study} mcp`):

```json
{{ "mcpServers": {{ "overnight": {{ "command": "overnight", "args": {arguments} }} }} }}
```

and for Codex in `~/.codex/config.toml`:

```toml
[mcp_servers.overnight]
command = "overnight"
args = {arguments}
tool_timeout_sec = 86400
```
"#,
        triplet = if several { format!("overnight/{name}.toml") } else { "overnight.toml".to_owned() },
    )
}
