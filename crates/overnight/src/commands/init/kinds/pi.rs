//! A folder of pi-autoresearch: `.auto/`, or the older `autoresearch.*` names.

use overnight_model::Goal;
use overnight_model::metric::is_name;

use super::super::look::{Look, join, word};
use super::super::metric;
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::{take_goal, take_surface};

/// Where the files of one session lie.
struct Files {
    measure: String,
    checks: String,
    log: String,
    prompt: String,
}

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let (inside, files) = find(look)?;
    let measure = look.text(&files.measure)?;
    let what = format!("a folder of pi-autoresearch ({})", files.measure);
    let mut proposal = Proposal::new("pi-autoresearch", what, Sure::Told);
    let prompt = look.text(&files.prompt).unwrap_or_default();
    let place = |path: &str| match inside.as_str() {
        "" => format!("bash {path}"),
        inside => format!("cd {} && bash {}", word(inside), path.strip_prefix(&format!("{inside}/")).unwrap_or(path)),
    };
    proposal.run = place(&files.measure);
    proposal.because(Key::Run, "what pi runs");
    take_metric(look, &mut proposal, &files, &measure, &prompt);
    proposal.because(Key::Budget, "pi ends a run after 10 minutes, which is the wall that comes with this");
    if exists(look, &files.checks) {
        proposal.guard = Some(place(&files.checks));
        proposal.because(Key::Guard, "pi keeps nothing that fails it");
    }
    for path in [&files.measure, &files.checks] {
        if look.is_untracked(path) {
            proposal.inputs.push(path.clone());
            proposal.because(Key::Inputs, "git does not have it");
        }
    }
    let scope = scope(look, &inside, &prompt);
    match scope.is_empty() {
        true => take_surface(&mut proposal, look, &files.measure),
        false => {
            proposal.surface = scope;
            proposal.because(Key::Surface, format!("the files in scope, by {}", files.prompt));
        }
    }
    proposal.sources.push(files.measure);
    Some(proposal)
}

/// The files of a session and the folder it works in; any file in `.auto` makes the older names stale.
fn find(look: &Look) -> Option<(String, Files)> {
    let config = [".auto/config.json", "autoresearch.config.json"].iter().find_map(|path| look.text(path));
    let config: Option<serde_json::Value> = config.and_then(|text| serde_json::from_str(&text).ok());
    let inside = config.as_ref().and_then(|config| config["workingDir"].as_str()).unwrap_or("");
    let inside = join("", inside).filter(|_| !inside.starts_with('/')).unwrap_or_default();
    let at = |name: &str| join(&inside, name).unwrap_or_else(|| name.to_owned());
    let auto = ["measure.sh", "checks.sh", "log.jsonl", "prompt.md", "ideas.md", "config.json"];
    let files = match auto.iter().any(|name| exists(look, &at(&format!(".auto/{name}")))) {
        true => [".auto/measure.sh", ".auto/checks.sh", ".auto/log.jsonl", ".auto/prompt.md"],
        false => ["autoresearch.sh", "autoresearch.checks.sh", "autoresearch.jsonl", "autoresearch.md"],
    };
    let [measure, checks, log, prompt] = files.map(at);
    exists(look, &measure).then_some((inside, Files { measure, checks, log, prompt }))
}

fn exists(look: &Look, path: &str) -> bool {
    look.has(path) || look.is_untracked(path)
}

/// The name and direction that the log was begun with, else what the prompt says, else what the script prints.
fn take_metric(look: &Look, proposal: &mut Proposal, files: &Files, measure: &str, prompt: &str) {
    if let Some((name, goal)) = look.text(&files.log).and_then(|log| configured(&log)) {
        proposal.metric = name;
        proposal.goal = Some(goal);
        proposal.because(Key::Metric, format!("{} was begun with it", files.log));
        proposal.because(Key::Goal, "by the same line");
    } else if let Some((name, goal)) = primary(prompt) {
        proposal.metric = name;
        proposal.goal = goal;
        proposal.because(Key::Metric, format!("the primary one, by {}", files.prompt));
        match goal {
            Some(_) => proposal.because(Key::Goal, "by the same line"),
            None => take_goal(proposal, prompt),
        }
    } else if let Some(found) = metric::printed(measure).into_iter().find(|found| found.marked) {
        super::take_printed(proposal, &files.measure, &found, prompt);
        proposal.last = false;
    }
}

/// Each further header begins a new session: the last one counts.
fn configured(log: &str) -> Option<(String, Goal)> {
    let mut headers = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let header = headers.rfind(|line| line["type"] == "config")?;
    let name = header["metricName"].as_str().filter(|name| is_name(name))?.to_owned();
    let goal = if header["bestDirection"] == "higher" { Goal::Max } else { Goal::Min };
    Some((name, goal))
}

/// `- **Primary**: total_ms (ms, lower is better)`
fn primary(prompt: &str) -> Option<(String, Option<Goal>)> {
    let line = prompt.lines().find(|line| line.contains("**Primary**"))?;
    let rest = line.split_once("**Primary**")?.1.trim_start_matches([':', ' ', '`']);
    let name = rest.split([' ', '`', '(', ',']).next().filter(|name| is_name(name))?;
    let goal = match (line.contains("lower"), line.contains("higher")) {
        (true, false) => Some(Goal::Min),
        (false, true) => Some(Goal::Max),
        _ => None,
    };
    Some((name.to_owned(), goal))
}

/// The tracked files and folders that the section about scope names.
fn scope(look: &Look, inside: &str, prompt: &str) -> Vec<String> {
    let section = prompt.split("\n## ").find(|section| section.to_lowercase().starts_with("files in scope"));
    let mut found: Vec<String> = Vec::new();
    for word in section.unwrap_or_default().split(|c: char| c.is_whitespace() || "`*,()[]\"'".contains(c)) {
        let word = word.trim_end_matches([':', '.', '/']);
        // From the folder that the session works in, or from the top.
        let is_folder = section.is_some_and(|section| section.contains(&format!("{word}/"))) || word.contains('/');
        let places = [join(inside, word), join("", word)].into_iter().flatten();
        let entry = places.filter(|_| !word.is_empty()).filter(|path| reach::is_plain(path)).find_map(|path| {
            let has_files = is_folder && look.below(&path).next().is_some();
            if look.has(&path) { Some(path) } else { has_files.then(|| format!("{path}/**")) }
        });
        let Some(entry) = entry else { continue };
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    // A folder has its files already.
    let folders: Vec<String> =
        found.iter().filter_map(|entry| Some(format!("{}/", entry.strip_suffix("/**")?))).collect();
    found.retain(|entry| entry.ends_with("/**") || !folders.iter().any(|folder| entry.starts_with(folder)));
    found
}
