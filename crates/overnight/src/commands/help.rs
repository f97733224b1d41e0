//! `overnight help`: the eight commands, the others, or one in full.

use clap::CommandFactory;

use crate::args::{Args, nearest, whole};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// What `--help` leaves out, by what a person wants to do.
const MORE: &[(&str, &[&str])] = &[
    ("Trust", &["review", "compare", "audit", "verify", "explain"]),
    ("A study that goes on", &["status", "mcp", "say", "pause", "resume", "rebase", "import", "export", "forget"]),
    ("The program itself", &["completions", "man", "help"]),
];

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Help {
    /// A command, or `more`
    #[arg(value_name = "COMMAND")]
    what: Option<String>,
}

pub(crate) fn help(args: &Help) -> Outcome<Exit> {
    let mut all = whole();
    all.build();
    let text = match args.what.as_deref() {
        None => Args::command().render_help().to_string(),
        Some("more") => more(&all),
        Some(name) => match all.find_subcommand_mut(name) {
            Some(command) => command.render_help().to_string(),
            None => return Err(unknown(name, &all)),
        },
    };
    ui::data(text.trim_end());
    Ok(Exit::Done)
}

fn more(all: &clap::Command) -> String {
    let about = |name: &str| {
        let about = all.find_subcommand(name).and_then(clap::Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut lines = vec!["The commands that `overnight --help` leaves out:".to_owned()];
    for (group, names) in MORE {
        lines.push(format!("\n{group}:"));
        lines.extend(names.iter().map(|name| format!("  {name:<12} {}", about(name))));
    }
    lines.push("\n`overnight help COMMAND` shows the options of any command.".to_owned());
    lines.join("\n")
}

fn unknown(name: &str, all: &clap::Command) -> CliError {
    let error = CliError::usage(format!("there is no command `{name}`"));
    let names = all.get_subcommands().map(clap::Command::get_name).chain(["more"]);
    match nearest(name, names) {
        Some(near) => error.hint(format!("did you mean `overnight help {near}`?")),
        None => error.hint("`overnight help` and `overnight help more` list them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_either_among_the_eight_or_among_the_others() {
        let cut = Args::command();
        let (hidden, shown): (Vec<_>, Vec<_>) = cut
            .get_subcommands()
            .filter(|command| !command.get_name().starts_with("__"))
            .partition(|command| command.is_hide_set());
        assert_eq!(shown.len(), 8);
        let mut hidden: Vec<_> = hidden.iter().map(|command| command.get_name()).collect();
        let mut listed: Vec<_> = MORE.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        hidden.sort_unstable();
        listed.sort_unstable();
        assert_eq!(hidden, listed);
        assert!(
            cut.get_subcommands().all(|command| command.get_name().starts_with("__") || command.get_about().is_some())
        );
    }
}
