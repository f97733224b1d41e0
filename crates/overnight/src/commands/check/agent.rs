//! Whether the agent's program is there: one that is not fails every attempt of a night in the same way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use overnight_engine::context::{self, Context};
use overnight_engine::load::{self, Site};
use overnight_engine::sandbox::resolve;
use overnight_model::spec::{AgentKind, Member};
use overnight_model::units::Bytes;

use super::report::{Finding, Level};
use super::study::Sequence;
use super::{api, coding};

/// What a shell takes apart: from the first such word on, nothing is known for sure.
const SHELL: &str = "|&;<>()$`\\\"'*?[]{}!#";
/// Names of the shell's own, which are on no PATH.
const BUILT_IN: [&str; 24] = [
    ".", ":", "alias", "case", "cd", "eval", "exit", "export", "for", "function", "if", "local", "read", "return",
    "set", "shift", "source", "trap", "ulimit", "umask", "unset", "until", "wait", "while",
];
/// Programs that run the one named after them.
const WRAPPERS: [&str; 6] = ["command", "env", "exec", "nice", "nohup", "time"];
/// Programs that run the file named first after them.
const INTERPRETERS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "Rscript", "julia", "php"];
const SCRIPTS: [&str; 15] =
    ["py", "sh", "bash", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua", "jl", "R", "r", "awk"];

/// Something that a command line names and that is not there.
#[derive(Debug, PartialEq, Eq)]
enum Missing<'a> {
    Program(&'a str),
    File(&'a str),
}

pub(super) fn programs(sequence: &mut Sequence, site: &Site) {
    for member in sequence.spec.agent.members.clone() {
        program(sequence, site, &member);
    }
}

/// Files that agents are to read: a pattern that leads nowhere is a slip, and what is not shown is said.
pub(super) fn context(sequence: &mut Sequence, site: &Site, checkout: &Path) {
    if sequence.spec.agent.context.is_empty() {
        return;
    }
    let Context { files, unmatched, refused, too_many } = context::find(&sequence.spec, checkout, &site.dir);
    for pattern in unmatched {
        let what = format!("`{pattern}` in `context` matches no file");
        sequence.add(Finding::new("context", Level::Warn, what).next("mend the pattern, or take it out of [agent]"));
    }
    for (path, why) in refused {
        let what = format!("`{path}` is not shown to agents: {why}");
        sequence.add(Finding::new("context", Level::Warn, what).next("name the other files in `context` of [agent]"));
    }
    let bytes = Bytes(files.iter().map(|file| file.bytes).sum());
    let plural = if files.len() == 1 { "" } else { "s" };
    let what = format!("agents may read {} file{plural} besides, {bytes} in all", files.len());
    sequence.add(match too_many {
        0 => Finding::ok("context", what),
        more => Finding::new("context", Level::Warn, format!("{what}; {more} more are too many or too large"))
            .next("name fewer files in `context` of [agent]"),
    });
}

fn program(sequence: &mut Sequence, site: &Site, member: &Member) {
    let command = match &member.kind {
        AgentKind::Tuner => return,
        AgentKind::Command(command) => command,
        kind @ (AgentKind::Coding(_) | AgentKind::Api(_)) => {
            if let Err(error) = coding::refuse_missing_of(kind, &sequence.spec.gateway) {
                let next = error.hint.unwrap_or_default();
                sequence.add(Finding::new("agent", Level::Fail, error.message).next(next));
            } else if let AgentKind::Coding(coding) = kind
                && let Some(what) = api::missed_keys(coding.preset, &sequence.spec.gateway)
            {
                let next = format!("set one, or see that it answers without: overnight check --agent {}", kind.name());
                sequence.add(Finding::new("agent", Level::Warn, what).next(next));
            }
            return;
        }
    };
    let home = load::home();
    let is_there = |path: &str| resolve(path, &site.dir, home.as_deref().unwrap_or(Path::new("/"))).exists();
    let finding = match missing(command, is_there, is_on_path) {
        None => return,
        Some(Missing::File(path)) => {
            Finding::new("agent", Level::Fail, format!("`{command}`: there is no `{path}`; every attempt would fail"))
                .next(format!("write `{path}`, or mend `command` in [agent]"))
        }
        Some(Missing::Program(name)) => {
            let what = format!("`{command}`: there is no program `{name}` on the PATH; every attempt would fail");
            let next = format!("install `{name}`, or name another program as `command` in [agent]");
            Finding::new("agent", Level::Fail, what).next(next)
        }
    };
    sequence.add(finding);
}

/// The first thing that is surely missing; what a shell would make of the rest of a line is not guessed.
fn missing(command: &str, is_there: impl Fn(&str) -> bool, is_on_path: impl Fn(&str) -> bool) -> Option<Missing<'_>> {
    let plain = command.split_whitespace().take_while(|word| !word.contains(|c| SHELL.contains(c)));
    let is_option = |word: &str| word.starts_with('-');
    let mut words = plain.skip_while(|word| word.contains('=') || WRAPPERS.contains(word));
    let first = words.next().filter(|word| !BUILT_IN.contains(word) && !is_option(word))?;
    match first.contains('/') {
        true if !is_there(first) => return Some(Missing::File(first)),
        false if !is_on_path(first) => return Some(Missing::Program(first)),
        _ => {}
    }
    let mut wants_script = INTERPRETERS.contains(&first.rsplit('/').next().unwrap_or(first));
    for word in words {
        if is_option(word) {
            // A module or a text is run instead of a file.
            wants_script &= !["-m", "-c", "-e"].contains(&word);
            continue;
        }
        let is_script = Path::new(word).extension().is_some_and(|found| SCRIPTS.iter().any(|known| found == *known));
        if (is_script || (wants_script && word.contains('/'))) && !word.contains([':', '=']) && !is_there(word) {
            return Some(Missing::File(word));
        }
        wants_script = false;
    }
    None
}

fn is_on_path(name: &str) -> bool {
    let environment = load::allowed_environment();
    let Some((_, folders)) = environment.iter().find(|(variable, _)| variable == "PATH") else { return true };
    let is_program = |folder: &str| {
        let found = fs::metadata(Path::new(folder).join(name));
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    folders.split(':').any(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(command: &str) -> Option<Missing<'_>> {
        let programs = ["sh", "python3", "uv", "claude", "true"];
        missing(command, |path| path == "there.py" || path == "./there", |name| programs.contains(&name))
    }

    #[test]
    fn a_program_and_its_file_are_missed() {
        for (command, file) in [
            ("python3 propose.py", "propose.py"),
            ("python3 -u tools/propose --fast", "tools/propose"),
            ("KEY=1 exec uv run propose.py", "propose.py"),
            ("./agent", "./agent"),
            ("sh agent.sh 2>/dev/null", "agent.sh"),
        ] {
            assert_eq!(told(command), Some(Missing::File(file)), "{command}");
        }
        assert_eq!(told("codex exec"), Some(Missing::Program("codex")));
    }

    #[test]
    fn what_is_there_or_cannot_be_known_is_not_missed() {
        for command in [
            "true",
            "nice -n 10 anything",
            "./there",
            "python3 there.py --out new/results.json",
            "python3 -m tools.propose",
            "python3 -c 'import x/y.py'",
            "claude -p 'edit src/train.py' --model a/b",
            "claude -p \"edit src/other.py\"",
            "$HOME/agent x.py",
            "cd tools && ./agent.sh",
            "claude < prompt.txt > answer.py",
            "for i in 1 2; do x.py; done",
            "",
        ] {
            assert_eq!(told(command), None, "{command}");
        }
    }
}
