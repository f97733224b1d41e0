//! `overnight explain`: what a word on a screen means, and what to do.

use overnight_model::Verdict;
use overnight_model::meaning::{Meaning, Notion};
use overnight_model::spec::{Assurance, Mode, Tier};
use overnight_model::verdict::Group;

use crate::args::nearest;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// A line that can be read without moving the head.
const WIDTH: usize = 96;
/// A line of our documents.
const PAGE: usize = 120;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Explain {
    /// A verdict such as `timed_out`, `cooperative`, `landlock`, `noise`, or an exit code; without it all are listed
    #[arg(value_name = "VERDICT")]
    what: Vec<String>,
    /// Print a part of the docs: `verdicts` or `exit-codes`
    #[arg(long, hide = true, value_name = "PART")]
    markdown: Option<String>,
}

/// Something that can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Verdict(Verdict),
    Group(Group),
    Assurance(Assurance),
    Tier(Tier),
    Mode(Mode),
    Notion(Notion),
    Exit(Exit),
}

pub(crate) fn explain(args: &Explain) -> Outcome<Exit> {
    if let Some(part) = &args.markdown {
        let text = if part == "exit-codes" { exit_codes() } else { markdown() };
        ui::data(text.trim_end());
        return Ok(Exit::Done);
    }
    if args.what.is_empty() {
        ui::data(&list());
        return Ok(Exit::Done);
    }
    // As it stands on a screen, in a table or in somebody's head: `not better`, `not-better`, `Not_Better`.
    let asked = args.what.join("_").to_lowercase().replace(['-', ' '], "_");
    let Some(word) = Word::all().find(|word| word.name() == asked) else {
        let names: Vec<_> = Word::all().map(Word::name).collect();
        let error = CliError::usage(format!("there is nothing called `{}` to explain", args.what.join(" ")));
        return Err(match nearest(&asked, names.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `overnight explain {near}`?")),
            None => error.hint("`overnight explain` lists everything"),
        });
    };
    ui::data(&word.explained());
    Ok(Exit::Done)
}

impl Word {
    /// A verdict comes before the group of its name.
    fn all() -> impl Iterator<Item = Word> {
        let verdicts = Verdict::ALL.into_iter().map(Word::Verdict).chain(Group::ALL.into_iter().map(Word::Group));
        let levels = Assurance::ALL.into_iter().map(Word::Assurance).chain(Tier::ALL.into_iter().map(Word::Tier));
        let modes = Mode::ALL.into_iter().map(Word::Mode);
        let notions = Notion::ALL.into_iter().map(Word::Notion);
        verdicts.chain(levels).chain(modes).chain(notions).chain(Exit::ALL.into_iter().map(Word::Exit))
    }

    fn name(self) -> String {
        match self {
            Word::Verdict(verdict) => verdict.name().to_owned(),
            Word::Group(group) => group.name().replace(' ', "_"),
            Word::Assurance(level) => level.name().to_owned(),
            Word::Tier(tier) => tier.name().to_owned(),
            Word::Mode(mode) => mode.name().to_owned(),
            Word::Notion(notion) => notion.name().replace(' ', "_"),
            Word::Exit(exit) => (exit as u8).to_string(),
        }
    }

    fn explained(self) -> String {
        match self {
            Word::Verdict(verdict) => {
                let head = format!("{} · {} · {}", verdict.name(), verdict.group().name(), counts(verdict));
                in_full(&head, &verdict.meaning())
            }
            Word::Group(group) => {
                let verdicts = members(group).map(|verdict| line(verdict.name(), verdict.meaning().short));
                let lines: Vec<_> = verdicts.collect();
                format!("{} · a group of verdicts: {}\n\n{}", group.name(), group.meaning(), lines.join("\n"))
            }
            Word::Assurance(level) => {
                in_full(&format!("{} · how far the number can be trusted", level.name()), &level.meaning())
            }
            Word::Tier(tier) => in_full(&format!("{} · a tier of the sandbox", tier.name()), &tier.meaning()),
            Word::Mode(mode) => in_full(&format!("{} · a mode of the judge", mode.name()), &mode.meaning()),
            Word::Notion(notion) => in_full(&format!("{} · a word of the judge", notion.name()), &notion.meaning()),
            Word::Exit(exit) => wrapped("", &format!("exit code {} · {}", exit as u8, exit.meaning()), WIDTH),
        }
    }
}

/// Whether a verdict counts against `--experiments` and the limits.
fn counts(verdict: Verdict) -> &'static str {
    match (verdict.is_counted(), verdict.is_failed_attempt()) {
        (true, _) => "counts as an experiment",
        (false, true) => "an attempt, not an experiment; ten in a row end the run",
        (false, false) => "does not count as an experiment",
    }
}

fn members(group: Group) -> impl Iterator<Item = Verdict> {
    Verdict::ALL.into_iter().filter(move |verdict| verdict.group() == group)
}

fn list() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        text += &format!("{} ({})\n", group.name(), group.meaning());
        members(group).for_each(|verdict| text += &format!("{}\n", line(verdict.name(), verdict.meaning().short)));
        text += "\n";
    }
    text += "how far a number can be trusted\n";
    Assurance::ALL.into_iter().for_each(|level| text += &format!("{}\n", line(level.name(), level.meaning().short)));
    text += "\nwhat the sandbox keeps in check\n";
    Tier::ALL.into_iter().for_each(|tier| text += &format!("{}\n", line(tier.name(), tier.meaning().short)));
    text += "\nhow sure a keep has to be\n";
    Mode::ALL.into_iter().for_each(|mode| text += &format!("{}\n", line(mode.name(), mode.meaning().short)));
    text += "\nwords of the judge\n";
    Notion::ALL.into_iter().for_each(|notion| text += &format!("{}\n", line(notion.name(), notion.meaning().short)));
    text += "\nexit codes\n";
    Exit::ALL.into_iter().for_each(|exit| text += &format!("{}\n", line(&(exit as u8).to_string(), exit.meaning())));
    text + "\n`overnight explain VERDICT` says what to do"
}

fn line(name: &str, short: &str) -> String {
    wrapped(&format!("  {name:<15}"), short, WIDTH)
}

fn in_full(head: &str, meaning: &Meaning) -> String {
    let Meaning { long, causes, todo, .. } = meaning;
    let items = |items: &[&str]| items.iter().map(|item| wrapped("  - ", item, WIDTH)).collect::<Vec<_>>().join("\n");
    format!("{head}\n\n{}\n\nusual causes\n{}\n\nwhat to do\n{}", wrapped("", long, WIDTH), items(causes), items(todo))
}

/// A text after a prefix, broken between words, its further lines as far to the right.
fn wrapped(prefix: &str, text: &str, width: usize) -> String {
    let indent = prefix.chars().count();
    let mut lines = vec![prefix.to_owned()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        let (length, is_first) = (last.chars().count(), last.chars().count() == indent);
        if !is_first && length + 1 + word.chars().count() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            *last += if is_first { "" } else { " " };
            *last += word;
        }
    }
    lines.join("\n")
}

fn markdown() -> String {
    let mut text = String::new();
    for group in Group::ALL {
        text += &format!("## {}\n\n{}.\n\n", capital(group.name()), capital(group.meaning()));
        for verdict in members(group) {
            let Meaning { long, causes, todo, .. } = verdict.meaning();
            let long = wrapped("", &format!("{long} {}.", capital(counts(verdict))), PAGE);
            let items = |items: &[&str]| items.iter().map(|item| wrapped("- ", item, PAGE) + "\n").collect::<String>();
            text += &format!("### `{}`\n\n{long}\n\n", verdict.name());
            text += &format!("Usual causes:\n\n{}\nWhat to do:\n\n{}\n", items(causes), items(todo));
        }
    }
    text
}

fn exit_codes() -> String {
    let rows = Exit::ALL.into_iter().map(|exit| format!("| {} | {} |\n", exit as u8, exit.meaning()));
    format!("| code | meaning |\n|---|---|\n{}", rows.collect::<String>())
}

fn capital(text: &str) -> String {
    format!("{}{}", text[..1].to_uppercase(), &text[1..])
}
