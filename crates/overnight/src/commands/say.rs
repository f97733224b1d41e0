//! `overnight say`: a person's word to whoever makes proposals, also while a run is going on.

use overnight_engine::clock;
use overnight_engine::inbox::{Inbox, Letter};
use overnight_engine::load::{Site, locate};
use overnight_engine::lock::Holder;
use overnight_engine::open;
use overnight_engine::say::{self, Posted, Word};
use serde_json::json;

use super::standing::{Paper, Standing};
use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, printable};
use crate::views::{json, term};

/// A word is a hint; what takes longer to say belongs into the program, which is read for every brief too.
const LONGEST: usize = 1000;
/// Agents are told all of them every time.
const MOST: usize = 20;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Say {
    /// What every agent is told from now on, in a sentence or two; without any, what agents are told is listed
    #[arg(value_name = "WORDS", num_args = 1..)]
    words: Vec<String>,
    /// List what agents are told
    #[arg(long, conflicts_with_all = ["words", "done"])]
    list: bool,
    /// Take back what has this number in the list
    #[arg(long, value_name = "N", conflicts_with = "words")]
    done: Option<u64>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn say(place: &Place, args: &Say) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    if args.list || (args.words.is_empty() && args.done.is_none()) {
        return list(&say::words(&site)?, &site, args.json);
    }
    let text = args.done.is_none().then(|| text(&args.words.join(" "))).transpose()?;
    open::refuse_foreign_state(&site)?;
    let _turn = Inbox::of(&site.state()).turn()?;
    let known = say::words(&site)?;
    let letter = match (args.done, text) {
        (Some(word), _) => take_back(word, &known, &site)?,
        (None, text) => words(text.unwrap_or_default(), &known)?,
    };
    let me = Holder { pid: std::process::id(), what: "overnight say".to_owned(), dir: site.dir.clone() };
    let posted = say::post(&site, &me, &letter, clock::now())?;
    let after = say::words(&site)?;
    // Whoever runs the study may have taken it up meanwhile, and somebody else may have said something: the latest is it.
    let spoken = match &letter {
        Letter::Say { text } => after.iter().rev().find(|word| word.said.text == *text),
        _ => known.iter().find(|word| Some(word.said.word) == args.done),
    };
    if args.json {
        if let Some(word) = spoken {
            ui::data(&as_json(&site, word, args.done.is_some()));
        }
        return Ok(Exit::Done);
    }
    let number = spoken.map_or_else(String::new, |word| format!(" {}", word.said.word));
    let what = if args.done.is_some() { "taken back" } else { "said      " };
    ui::say(&format!("{what} word{number}: {}", when(&posted, args.done.is_some())));
    if args.done.is_none() && nobody_reads(&site) {
        ui::say("note       nobody reads it: the tuner is the only agent of this study, and follows no words");
    }
    Ok(Exit::Done)
}

/// Says something in the name of `who`, and tells from when on it is told.
pub(crate) fn speak(site: &Site, who: &str, said: &str) -> Outcome<String> {
    tell(site, &format!("{who}: {said}"), "overnight mcp")
}

/// The same as the person who sits here.
pub(crate) fn tell(site: &Site, said: &str, what: &str) -> Outcome<String> {
    let text = text(said)?;
    open::refuse_foreign_state(site)?;
    let _turn = Inbox::of(&site.state()).turn()?;
    let letter = words(text, &say::words(site)?)?;
    let me = Holder { pid: std::process::id(), what: what.to_owned(), dir: site.dir.clone() };
    Ok(when(&say::post(site, &me, &letter, clock::now())?, false))
}

/// Whether the study has no agent that words would reach. People who use `try` read them in the brief, if at all.
fn nobody_reads(site: &Site) -> bool {
    let standing = Standing::of(site.clone());
    matches!(standing.map(|standing| standing.paper), Ok(Paper::Sound(spec)) if !spec.agent.has_model())
}

fn text(text: &str) -> Outcome<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = ui::one_line(&words.join(" "));
    if text.is_empty() {
        return Err(CliError::usage("there is nothing to say").hint("overnight say \"no new dependencies\""));
    }
    if text.len() > LONGEST {
        let message = format!("that is {} bytes long, and a word may have {LONGEST}", text.len());
        return Err(CliError::usage(message).hint("write it into the program: it is read for every brief"));
    }
    Ok(text)
}

fn words(text: String, known: &[Word]) -> Outcome<Letter> {
    if known.len() >= MOST {
        let message = format!("agents are told {MOST} words already, every time");
        return Err(CliError::usage(message).hint("take some back: `overnight say --list`, `overnight say --done N`"));
    }
    Ok(Letter::Say { text })
}

fn take_back(word: u64, known: &[Word], site: &Site) -> Outcome<Letter> {
    if known.iter().any(|known| known.said.word == word) {
        return Ok(Letter::TakeBack { word });
    }
    let flag = super::study_flag(site);
    Err(CliError::usage(format!("agents are told no word {word}"))
        .hint(format!("`overnight say{flag} --list` lists them")))
}

fn list(known: &[Word], site: &Site, json: bool) -> Outcome<Exit> {
    if json {
        known.iter().for_each(|word| {
            ui::data(&as_json(site, word, false));
        });
        return Ok(Exit::Done);
    }
    if known.is_empty() {
        ui::data("agents are told nothing but their brief");
        ui::say("say something: overnight say \"no new dependencies\"");
    }
    for word in known {
        let waits = if word.is_recorded { "" } else { " · waits to be taken up" };
        let at = term::local_time(word.at);
        ui::data(&format!("{:>5}  {}\n       said {at}{waits}", word.said.word, printable(&word.said.text)));
    }
    Ok(Exit::Done)
}

fn when(posted: &Posted, is_taken_back: bool) -> String {
    match posted {
        Posted::Recorded if is_taken_back => "agents are not told any more, from the next brief on".to_owned(),
        Posted::Recorded => "agents are told from the next brief on".to_owned(),
        Posted::WithRun(Some(holder)) => {
            format!("process {} runs the study and takes it up before the next brief", holder.pid)
        }
        Posted::WithRun(None) => "whoever runs the study takes it up before the next brief".to_owned(),
        Posted::BeforeFirstRun => "the first run takes it up".to_owned(),
    }
}

fn as_json(site: &Site, word: &Word, is_taken_back: bool) -> String {
    let state = match (is_taken_back, word.is_recorded) {
        (true, _) => "taken_back",
        (false, true) => "recorded",
        (false, false) => "waiting",
    };
    json!({
        "study": site.study, "word": word.said.word, "text": word.said.text, "said_at": json::rfc3339(word.at), "state": state,
    })
    .to_string()
}
