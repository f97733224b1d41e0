//! A coding agent's turn: started without a terminal, judged by the difference it leaves, then by what it said.

use overnight_model::brief::Brief;
use overnight_model::event::{AttemptFailure, Loss, Trouble as Kind};
use overnight_model::measure::Usage;
use overnight_model::proposal::{Contents, one_line};
use overnight_model::spec::{Coding, Network, Preset, Tier};
use overnight_model::{Ending, Millis};

use super::Answer;
use super::command::take_back;
use super::preset::{self, Call, Listener, Said, Through};
use super::prompt::prompt;
use super::secrets::Secrets;
use crate::brief::read_program;
use crate::clock;
use crate::dispatch::Captured;
use crate::load;
use crate::process::Stdin;
use crate::worker::{Capture, HINT_MARK, Kind as Work, Left, Models, Order, Place, Ran, Room, Trouble, upstreams};

/// In tokens: far enough below the limit of an argument for texts of many bytes a sign.
const MOST_OF_MINI: u64 = 30_000;

/// Asks once.
pub(crate) fn ask(
    coding: &Coding,
    limit: Millis,
    desk: &mut Place,
    room: &Room,
    mut brief: Brief,
    contents: &Contents,
) -> Result<Answer, Trouble> {
    let spec = &room.shop.spec;
    desk.fresh(room, contents)?;
    brief.set_program(read_program(&room.shop.triplet_dir.join(&spec.program)).as_deref());
    if coding.preset == Preset::Mini {
        // Its prompt is an argument, and the system allows one of 128 KiB.
        brief.brief_tokens = brief.brief_tokens.min(MOST_OF_MINI);
    }
    if let Some(caller) = desk.caller() {
        let (text, instead) = brief.of_this_run();
        room.shop.gateway.tells(&caller, &text, &instead);
    }
    let spoken = talk(coding, limit, desk, room, &brief.surface, prompt(&brief))?;
    let Spoken { ending, usage, left, said, complaint, output, secrets } = match spoken {
        Ok(spoken) => spoken,
        Err(failure) => return Ok(Answer::Failed { failure, output: None, used: None }),
    };
    let output = Some(output);
    let edited = match take_back(desk, room, &left, contents)? {
        Ok(edited) => edited,
        Err(what) => return Ok(Answer::Failed { failure: AttemptFailure::Policy { what }, output, used: None }),
    };
    if secrets.are_in(&edited) {
        let what = "it wrote a key of its own into the surface".to_owned();
        return Ok(Answer::Failed { failure: AttemptFailure::Policy { what }, output, used: None });
    }
    if edited != *contents && is_done(&ending, &said) {
        return Ok(Answer::Proposal {
            contents: edited,
            description: said.title(),
            took: usage.wall,
            output,
            used: None,
        });
    }
    Ok(Answer::Failed { failure: failure(&ending, &said, &complaint), output, used: None })
}

/// What came of one conversation with an agent's model, its keys taken out.
pub(super) struct Spoken {
    pub(super) ending: Ending,
    pub(super) usage: Usage,
    pub(super) left: Left,
    pub(super) said: Said,
    pub(super) complaint: String,
    pub(super) output: Captured,
    pub(super) secrets: Secrets,
}

/// Runs the program once on a desk that is ready, with this prompt; or why it has no way to its model.
pub(super) fn talk(
    coding: &Coding,
    limit: Millis,
    desk: &mut Place,
    room: &Room,
    surface: &[String],
    prompt: String,
) -> Result<Result<Spoken, AttemptFailure>, Trouble> {
    let spec = &room.shop.spec;
    let set = load::named_environment(&preset::variables(coding.preset));
    let Way { passed, through, models } = match way(coding, desk, room, &set)? {
        Ok(way) => way,
        Err(what) => {
            let what = one_line(&format!("{}: {what}", Kind::Denied.name()));
            let failure = AttemptFailure::Error { what, trouble: Some(Kind::Denied) };
            return Ok(Err(failure));
        }
    };
    // Those that it has, and those that it must not have.
    let secrets = Secrets::of(&passed.iter().chain(&set).cloned().collect::<Vec<_>>());
    let is_kept_in = room.shop.sandbox.tier() > Tier::None;
    let through = through.as_ref();
    let command = preset::command(&Call { coding, surface, environment: &passed, is_kept_in, through });
    let budget = ("OVERNIGHT_BUDGET_SECONDS".to_owned(), spec.evaluate.budget.as_secs().to_string());
    let environment = passed.into_iter().chain([budget]).chain(desk.own_home(room)?).collect();
    let stdin = Stdin::Bytes(prompt.into_bytes());
    let order = Order { command, environment, stdin, limit, models };
    let (mut capture, mut listener) = (Capture::new(), Listener::new(coding.preset));
    let Ran { ending, usage, left } = desk.run(room, Work::Agent, order, |stream, bytes| {
        capture.feed(bytes);
        listener.feed(stream, bytes);
    })?;
    let (mut said, complaint) = listener.finish();
    let complaint = secrets.mask(&complaint);
    secrets.mask_said(&mut said);
    if let Some(answered) = said.other_model(coding.model.as_deref()) {
        let asked = coding.model.as_deref().unwrap_or_default();
        capture.feed(format!("\n{HINT_MARK}asked for the model `{asked}`, answered by `{answered}`\n").as_bytes());
    }
    let mut output = capture.finish();
    secrets.mask_output(&mut output);
    Ok(Ok(Spoken { ending, usage, left, said, complaint, output, secrets }))
}

/// Whether what an agent left is what it wanted to leave.
pub(super) fn is_done(ending: &Ending, said: &Said) -> bool {
    // Whom we ended may have been in the middle of an edit; whoever ended by itself has left what it wanted to.
    let is_its_own_end = matches!(ending, Ending::Exited { .. } | Ending::Signaled { .. });
    // So may one whose provider left it.
    let is_cut_off = !ending.succeeded() && said.trouble(clock::now()).is_some_and(|trouble| trouble.is_providers());
    is_its_own_end && !is_cut_off
}

/// How an agent comes to its model, and what it is told of it.
struct Way {
    passed: Vec<(String, String)>,
    through: Option<Through>,
    models: Option<Models>,
}

/// Through the gateway wherever that speaks for the provider, so that no key is with the agent; else the words to say why
/// not. Only who has the whole network may have a way that the gateway does not know, with keys of its own.
fn way(coding: &Coding, desk: &Place, room: &Room, set: &[(String, String)]) -> Result<Result<Way, String>, Trouble> {
    let network = desk.reached(room);
    let alone = |passed| Way { passed, through: None, models: None };
    if network == Network::None {
        return Ok(Ok(alone(Vec::new())));
    }
    if let Some(what) = preset::refusal(coding.preset, set) {
        return Ok(match network {
            Network::Full => Ok(alone(set.to_vec())),
            _ => Err(format!("{what}: write `network = \"full\"` into [agent], and its keys are with the agent")),
        });
    }
    // No command for a key is run that is not needed: one of another provider may fail, or wait for its person.
    let found = Through::new(coding, upstreams(room, Work::Agent, Some("")), "", "").and_then(|asked| {
        let only = asked.upstream().name.clone();
        Through::new(coding, upstreams(room, Work::Agent, Some(&only)), "", "")
    });
    let through = match found {
        Ok(through) => through,
        Err(_) if room.stops.agents_are_stopped() => return Err(Trouble::Loss(Loss::Interrupted)),
        Err(what) => return Ok(Err(what)),
    };
    let Some(models) = desk.models(room, vec![through.upstream().clone()])? else {
        return Ok(Ok(alone(Vec::new())));
    };
    let through = through.at(&models.pass.url(), &models.pass.key);
    let mut passed = through.told(coding, set);
    if network == Network::Full {
        passed.extend(through.around(set));
    }
    Ok(Ok(Way { passed, through: Some(through), models: Some(models) }))
}

/// The version that the program gives inside its sandbox, or what it said instead.
pub(crate) fn greet(coding: &Coding, desk: &mut Place, room: &Room, contents: &Contents) -> Result<String, Trouble> {
    desk.fresh(room, contents)?;
    let order = Order {
        command: preset::greeting(coding.preset),
        environment: desk.own_home(room)?.into_iter().collect(),
        stdin: Stdin::Null,
        limit: preset::GREETING_LIMIT,
        models: None,
    };
    let mut capture = Capture::with_limits(4096, 4096);
    let ran = desk.run(room, Work::Agent, order, |_, bytes| capture.feed(bytes))?;
    let said = String::from_utf8_lossy(&capture.finish().kept).into_owned();
    Ok(match preset::version_in(&said).filter(|_| ran.ending.succeeded()) {
        Some(version) => version,
        None => return Err(Trouble::Loss(Loss::Fault { what: last_line(&said, &ran.ending) })),
    })
}

/// Why there is nothing to try.
pub(super) fn failure(ending: &Ending, said: &Said, complaint: &str) -> AttemptFailure {
    let known = said.trouble(clock::now());
    let error = |what: String, trouble: Option<Kind>| {
        let trouble = trouble.or(Some(Kind::Other));
        let named = trouble.map(|trouble| trouble.name()).unwrap_or_default();
        AttemptFailure::Error { what: one_line(&format!("{named}: {what}")), trouble }
    };
    match (ending, &said.error) {
        // One that waits for its provider by itself says so, or is silent.
        (Ending::TimedOut { .. }, _) => {
            let spoken = known.or_else(|| preset::complains_of(complaint));
            let trouble = spoken.filter(|trouble| trouble.is_providers()).unwrap_or(Kind::Hung);
            let what = said.error.as_deref().map_or(String::new(), |error| format!("; it last said: {error}"));
            error(format!("{ending}{what}"), Some(trouble))
        }
        (_, Some(what)) => error(what.clone(), known),
        (ending, None) if !ending.succeeded() => {
            let trouble = preset::complains_of(complaint).unwrap_or(Kind::Crashed);
            error(last_line(complaint, ending), Some(trouble))
        }
        (_, None) if said.refused => error(said.title(), Some(Kind::Refusal)),
        (_, None) if said.text.trim().is_empty() => {
            error("it ended well, changed nothing and said nothing".to_owned(), Some(Kind::Empty))
        }
        (_, None) => AttemptFailure::NoChange,
    }
}

fn last_line(text: &str, ending: &Ending) -> String {
    match text.lines().rev().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)) {
        Some(line) => format!("{ending}, and said: {line}"),
        None => format!("{ending}, without a word"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Stream;
    use overnight_model::Millis;

    /// What is made of an end without a change.
    fn told(preset: Preset, ending: Ending, stdout: &str, stderr: &str) -> (String, Option<Kind>) {
        let mut listener = Listener::new(preset);
        listener.feed(Stream::Stdout, stdout.as_bytes());
        listener.feed(Stream::Stderr, stderr.as_bytes());
        let (said, complaint) = listener.finish();
        match failure(&ending, &said, &complaint) {
            AttemptFailure::Error { what, trouble } => (what, trouble),
            AttemptFailure::NoChange => ("no change".to_owned(), None),
            other => panic!("{other:?}"),
        }
    }

    const UP: Ending = Ending::TimedOut { after: Millis::seconds(9) };

    #[test]
    fn one_that_waits_for_its_provider_until_its_time_is_up_is_not_called_hung() {
        let (_, trouble) = told(Preset::Gemini, UP, "", "Attempt 1 failed\n{\n  status: 429\n}\n");
        assert_eq!(trouble, Some(Kind::RateLimit { retry_at: None }));
        let retries = "litellm.InternalServerError: OpenAIException\nRetrying in 4.0 seconds...\n";
        let (what, trouble) = told(Preset::Aider, UP, retries, "");
        assert_eq!(trouble, Some(Kind::Outage), "{what}");
        let (what, trouble) = told(Preset::Claude, UP, "", "");
        assert_eq!(trouble, Some(Kind::Hung));
        assert!(what.starts_with("out of time: "), "{what}");
    }

    #[test]
    fn a_program_that_ends_itself_says_why_or_not() {
        let failed = Ending::Exited { code: 3 };
        let (what, trouble) = told(Preset::Codex, failed.clone(), "", "starting\nerror: unexpected argument '--x'\n");
        assert_eq!(trouble, Some(Kind::Crashed));
        assert!(what.ends_with("and said: error: unexpected argument '--x'"), "{what}");
        let (what, _) = told(Preset::Codex, failed, "", "");
        assert!(what.ends_with("without a word"), "{what}");
    }

    #[test]
    fn an_exit_with_0_is_a_failure_where_an_error_was_told_and_nothing_where_words_were_said() {
        let well = Ending::Exited { code: 0 };
        let empty =
            r#"{"type":"error","severity":"error","message":"The model returned an empty response with no text"}"#;
        assert_eq!(told(Preset::Gemini, well.clone(), empty, "").1, Some(Kind::Empty));
        assert_eq!(told(Preset::Codex, well.clone(), "", "").1, Some(Kind::Empty));
        let said = r#"{"type":"item.completed","item":{"type":"agent_message","text":"I have no idea."}}"#;
        assert_eq!(told(Preset::Codex, well, said, "").0, "no change");
    }
}
