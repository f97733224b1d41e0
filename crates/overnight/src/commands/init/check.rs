//! A proposal is read as a triplet before anybody is asked to take it for one.

use overnight_engine::load::{self, Problems, Site, Tree, Triplet};
use overnight_engine::open::OpenError;
use overnight_model::Goal;
use overnight_model::spec::Spec;

use super::look::{Look, word};
use super::proposal::{Key, Proposal};
use super::{Init, kinds, reach};
use crate::error::{CliError, Outcome};

/// What a library without a benchmark needs.
const FIRST: &str = "write a script that prints a line such as `time_ms: 12.3` (bench.py, bench.mjs or \
                     examples/bench.rs), commit it, and run `overnight init` again; or ";
/// More files than this are not weighed for an example.
const MOST_WEIGHED: usize = 300;

/// A proposal that is a triplet as it stands.
pub(super) fn checked(look: &Look, site: &Site, mut proposal: Proposal, args: &Init) -> Outcome<Proposal> {
    let unknown = proposal.unknown();
    if !unknown.is_empty() {
        return Err(unknown_error(look, &proposal, &unknown, args));
    }
    drop_refused_inputs(look, site, &mut proposal);
    parse(look, site, &proposal.text()).map_err(OpenError::Problems)?;
    Ok(proposal)
}

/// What was seen may not be allowed as an input, and then it is not ours to propose.
pub(super) fn drop_refused_inputs(look: &Look, site: &Site, proposal: &mut Proposal) {
    let is_right = |proposal: &Proposal| parse(look, site, &proposal.text()).is_ok();
    if is_right(proposal) {
        return;
    }
    let seen = std::mem::take(&mut proposal.inputs);
    if !is_right(proposal) {
        // Something else is wrong, and has to be shown.
        proposal.inputs = seen;
        return;
    }
    for input in seen {
        proposal.inputs.push(input);
        if !is_right(proposal) {
            proposal.inputs.pop();
        }
    }
}

/// What is wrong with one answer, whatever the others will be.
pub(super) fn wrong(look: &Look, site: &Site, given: &Proposal, key: Key) -> Option<String> {
    let mut probe = given.clone();
    (probe.run, probe.metric, probe.goal) = ("true".to_owned(), "metric".to_owned(), Some(Goal::Min));
    probe.inputs.clear();
    if key != Key::Budget {
        probe.budget = "1m".to_owned();
    }
    parse(look, site, &probe.text()).err().map(|problems| format!("{problems}\n"))
}

fn unknown_error(look: &Look, proposal: &Proposal, unknown: &[Key], args: &Init) -> CliError {
    let names: Vec<&str> = unknown.iter().map(|key| key.name()).collect();
    let example = |key: &Key| match key {
        Key::Surface => format!("--surface {}", editable(look).map_or_else(|| "FILE".to_owned(), word)),
        Key::Metric => "--metric val_loss".to_owned(),
        Key::Goal => "--goal min".to_owned(),
        _ => "--run \"python3 train.py\"".to_owned(),
    };
    // What was said stays said: the line is there to be copied.
    let flags: Vec<String> = args.said().into_iter().chain(unknown.iter().map(example)).collect();
    if look.tracked().is_empty() {
        let hint = "add the files with `git add`, commit them, and run `overnight init` again";
        return CliError::usage(format!("git has no files in {}", look.dir.display())).hint(hint);
    }
    let message = match (proposal.run.is_empty(), unknown, proposal.sources.first()) {
        (true, ..) => format!("nothing in {} looks like a benchmark or prints a number", look.dir.display()),
        (false, [Key::Surface], Some(path)) => {
            format!("could not guess surface: {path} gives the number, and nothing that it uses can be edited")
        }
        (false, ..) => format!("could not guess {}", names.join(" and ")),
    };
    if proposal.run.is_empty()
        && let Some((path, name)) = kinds::not_yet_tracked(look)
    {
        let message = format!("{path} prints `{name}`, but git does not have it yet");
        let add = format!("git add {0} && git commit -m \"add {0}\"", word(&path));
        return CliError::usage(message).hint(format!("`{add}`, then `overnight init` again"));
    }
    let elsewhere = if look.folder.is_empty() { "" } else { ", or look from the top of the repository with -C" };
    let first = if proposal.run.is_empty() { FIRST } else { "" };
    CliError::usage(message).hint(format!("{first}say it: overnight init {}{elsewhere}", flags.join(" ")))
}

/// A file of the repository that somebody might mean: the longest program that measures nothing.
fn editable(look: &Look) -> Option<&str> {
    let is_likely = |path: &&String| reach::is_program(path) && reach::is_plain(path) && !reach::measures(path);
    let near = look.tracked().iter().filter(is_likely).take(MOST_WEIGHED);
    let length = |path: &&String| std::fs::symlink_metadata(look.dir.join(path)).map_or(0, |found| found.len());
    near.max_by_key(length).map(String::as_str)
}

pub(super) fn parse(look: &Look, site: &Site, text: &str) -> Result<Spec, Problems> {
    let exists = |path: &str| look.dir.join(path).exists();
    let names = |folder: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let file = site.triplet_name();
    let triplet = Triplet { file: &file, text, study: &site.study, folder: &look.folder };
    let (tracked, home) = (look.tracked(), look.home.as_deref());
    load::parse(&triplet, &Tree { tracked, exists: &exists, names: &names, dir: &look.dir, home })
}
