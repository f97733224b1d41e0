//! `overnight show N --trace`: what models were asked and what they answered, call by call, only what is new in each.

use overnight_engine::gateway::traces::{Found, Trace};
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_model::ExperimentId;
use overnight_model::brief::untrusted::visible;
use overnight_model::call::Caller;
use overnight_model::trace::{self, Fold, Part, Step, ToolCall, Who};
use serde_json::{Value, json};

use super::super::calls::{self, Known};
use crate::error::{CliError, Outcome};
use crate::views::{json as views_json, term};

/// How much of a part is shown unasked, and of what every call begins with.
const LINES: usize = 12;
const SYSTEM_LINES: usize = 3;
/// Two rows of a terminal.
const COLUMNS: usize = 200;
/// Why models stop every day, in the words of the four protocols.
const USUAL: [&str; 6] = ["stop", "end_turn", "completed", "STOP", "tool_use", "tool_calls"];

/// How it is to be shown.
#[derive(Debug, Clone, Default)]
pub(super) struct How<'a> {
    pub(super) full: bool,
    pub(super) search: Option<&'a str>,
}

/// One call as people read it.
pub(crate) struct Shown {
    pub(super) head: String,
    /// How much of it was shown before.
    before: Option<String>,
    pub(super) parts: Vec<Told>,
    /// What else there is to say of it.
    pub(super) notes: Vec<String>,
    /// Something is there to be read.
    is_whole: bool,
}

/// A contribution to a conversation: whose, and what it says.
pub(super) struct Told {
    pub(super) title: String,
    pub(super) text: String,
    /// How much of it is shown unasked.
    most: usize,
}

impl Told {
    fn new(title: impl Into<String>, text: &str, most: usize) -> Told {
        Told { title: title.into(), text: visible(text.trim_end()), most }
    }

    fn has(&self, words: &[String]) -> bool {
        let lower = self.text.to_lowercase();
        words.iter().all(|word| lower.contains(word))
    }
}

/// The calls of an experiment, only what is new in each.
pub(super) fn calls(site: &Site, reader: &Reader, id: ExperimentId) -> Outcome<Vec<Shown>> {
    let known = calls::of(site, reader, id)?;
    if known.is_empty() {
        let message = format!("nothing that a model was asked for experiment {id} is stored");
        return Err(CliError::usage(message).hint(
            "only calls that pass through the gateway are: it may have had none, or they were forgotten, or `gateway.keep_traces` says so",
        ));
    }
    let mut threads: Vec<(String, Fold)> = Vec::new();
    let mut shown = Vec::new();
    for call in &known {
        let none = |head: String| Shown { head, before: None, parts: Vec::new(), notes: Vec::new(), is_whole: false };
        let trace = match &call.found {
            Found::Whole(trace) => trace,
            Found::Gone => {
                shown.push(none(untold(call)));
                continue;
            }
            Found::Damaged { what } => {
                shown.push(none(format!("call {} cannot be shown: {what}", call.call.0)));
                continue;
            }
        };
        let who = asker(&trace.call.caller);
        let at = threads.iter().position(|(known, _)| *known == who).unwrap_or_else(|| {
            threads.push((who.clone(), Fold::default()));
            threads.len() - 1
        });
        let fold = &mut threads[at].1;
        shown.push(Shown { head: head(call, trace, &who), ..body(trace, fold) });
    }
    Ok(shown)
}

/// The lines for a person.
pub(super) fn lines(site: &Site, reader: &Reader, id: ExperimentId, how: &How<'_>) -> Outcome<Vec<String>> {
    let words: Vec<String> = how.search.unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
    let mut lines = Vec::new();
    for call in calls(site, reader, id)? {
        let found: Vec<&Told> = call.parts.iter().filter(|part| part.has(&words)).collect();
        // Where words are searched for, all of what has them, and nothing else.
        if !words.is_empty() && found.is_empty() {
            continue;
        }
        lines.push(call.head);
        if words.is_empty() {
            lines.extend(call.before.map(|before| format!("  {before}")));
        }
        found.into_iter().for_each(|part| lines.extend(block(part, how)));
        if words.is_empty() {
            lines.extend(call.notes.iter().map(|note| format!("  {note}")));
        }
        if call.is_whole {
            lines.push(String::new());
        }
    }
    if lines.is_empty() {
        return Err(CliError::usage(format!("no call of experiment {id} has all of these words")));
    }
    Ok(lines)
}

/// Every call as an object, with what was sent and received to the letter.
pub(super) fn objects(site: &Site, reader: &Reader, id: ExperimentId) -> Outcome<Vec<Value>> {
    let object = |call: &Known| {
        let mut object = match &call.found {
            Found::Whole(trace) => whole(trace),
            Found::Gone => json!({ "missing": "no longer stored" }),
            Found::Damaged { what } => json!({ "missing": what }),
        };
        object["experiment"] = json!(id);
        object["call"] = json!(call.call.0);
        object["trace"] = json!(call.id);
        object["answered_by"] = json!(call.called.as_ref().and_then(|called| called.outcome.model.as_ref()));
        object["tokens"] = json!(call.tokens());
        object["cost_usd"] = json!(call.cost_usd());
        object
    };
    Ok(calls::of(site, reader, id)?.iter().map(object).collect())
}

fn whole(trace: &Trace) -> Value {
    let text = |bytes: &[u8]| json!(String::from_utf8_lossy(bytes));
    json!({
        "at": views_json::rfc3339(trace.at),
        "caller": trace.call.caller,
        "provider": trace.call.provider,
        "protocol": trace.call.protocol,
        "model": trace.call.model,
        "path": trace.path,
        "status": trace.status,
        "content_type": trace.content_type,
        "end": trace.end,
        "cut": trace.cut,
        "replayed": trace.replayed,
        "redacted": trace.redacted,
        "request": serde_json::from_slice(&trace.request).unwrap_or_else(|_| text(&trace.request)),
        "answer": text(&trace.answer),
        "times_ms": trace.times,
    })
}

pub(super) fn asker(caller: &Caller) -> String {
    match caller {
        Caller::Agent { name, .. } => name.clone(),
        Caller::Task { trial, .. } => format!("the task of trial {trial}"),
        Caller::Scorer { trial, .. } => format!("the scorer of trial {trial}"),
    }
}

/// `call 12 · claude asks claude-sonnet-4-5 of anthropic · 1.2s · 100 tokens read (90 cached), 10 written`
fn head(call: &Known, trace: &Trace, who: &str) -> String {
    let model = if trace.call.model.is_empty() { "a model" } else { &trace.call.model };
    let mut parts = vec![
        format!("call {}", call.call.0),
        format!("{} asks {} of {}", visible(who), visible(model), trace.call.provider),
        term::local_time(trace.at),
    ];
    parts.extend(trace.times.last().map(|(time, _)| time.to_string()));
    parts.extend(calls::spent(call.tokens(), call.cost_usd()));
    parts.extend(trace.status.filter(|status| *status != 200).map(|status| format!("status {status}")));
    parts.extend(calls::trouble(trace.end).map(ToOwned::to_owned));
    parts.extend(trace.replayed.then(|| "replayed".to_owned()));
    parts.extend((trace.redacted > 0).then(|| format!("{} redacted", trace.redacted)));
    parts.extend(call.called.is_none().then(|| "the ledger does not know it: the engine was killed".to_owned()));
    parts.join(" · ")
}

/// A call of which nothing is stored: `call 12 · a limit held it back`.
fn untold(call: &Known) -> String {
    let mut parts = vec![format!("call {}", call.call.0)];
    if let Some(called) = &call.called {
        parts.push(format!(
            "{} asks {} of {}",
            visible(&asker(&called.call.caller)),
            visible(&called.call.model),
            called.call.provider
        ));
        parts.extend(calls::spent(call.tokens(), call.cost_usd()));
        parts.extend(calls::trouble(called.outcome.end).map(ToOwned::to_owned));
    }
    parts.extend(call.id.is_some().then(|| "no longer stored".to_owned()));
    parts.join(" · ")
}

fn body(trace: &Trace, fold: &mut Fold) -> Shown {
    let mut shown = Shown { head: String::new(), before: None, parts: Vec::new(), notes: Vec::new(), is_whole: true };
    let answered = trace::answered(trace.call.protocol, &trace.answer);
    let Some(asked) = trace::asked(trace.call.protocol, &trace.request) else {
        let text = String::from_utf8_lossy(&trace.request);
        shown.parts.push(Told::new("asked, in a form that is not known", &text, LINES));
        return shown;
    };
    let Step { known, new, answered, .. } = fold.add(&asked, answered);
    if known > 0 {
        shown.before = Some(format!("… {known} {} as before", if known == 1 { "turn" } else { "turns" }));
    }
    for turn in new.iter().chain([&answered.turn()]) {
        shown.parts.extend(turn.parts.iter().map(|part| told(turn.who, part)));
    }
    shown.parts.extend(answered.error.as_ref().map(|error| Told::new("error", error, LINES)));
    let unusual = answered.finish.filter(|why| !USUAL.contains(&why.as_str()));
    shown.notes.extend(unusual.map(|why| format!("ended with: {}", visible(&why))));
    shown.notes.extend(trace.cut.then(|| "the answer went on for longer than is kept".to_owned()));
    shown
}

fn told(who: Who, part: &Part) -> Told {
    let name = who.name();
    let most = if who == Who::System { SYSTEM_LINES } else { LINES };
    match part {
        Part::Text(text) => Told::new(name, text, most),
        Part::Reasoning(text) => Told::new(format!("{name}, reasoning"), text, most),
        Part::Call(call) => Told::new(format!("{name} calls {}", visible(&call.name)), &arguments(call), most),
        Part::Result(result) => {
            let failed = if result.failed { ", which failed" } else { "" };
            Told::new(format!("result of the tool{failed}"), &result.text, most)
        }
        Part::Other(what) => Told::new(name, &format!("[{what}]"), most),
    }
}

/// Edits as differences, other arguments as lines.
fn arguments(call: &ToolCall) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(&call.arguments) else { return call.arguments.clone() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let sign = |name: &str| match name {
        "old_string" | "old_str" | "old" | "old_text" | "oldText" => Some('-'),
        "new_string" | "new_str" | "new" | "new_text" | "newText" => Some('+'),
        _ => None,
    };
    let field = |(name, value): (&String, &Value)| match sign(name) {
        Some(sign) => text(value).lines().map(|line| format!("{sign} {line}\n")).collect::<String>(),
        None => format!("{name}: {}\n", text(value)),
    };
    // What was before what comes instead, whatever their order.
    let (mut others, mut old, mut new): (Vec<_>, Vec<_>, Vec<_>) = Default::default();
    for (name, value) in &fields {
        match sign(name) {
            None => others.push((name, value)),
            Some('-') => old.push((name, value)),
            Some(_) => new.push((name, value)),
        }
    }
    others.into_iter().chain(old).chain(new).map(field).collect()
}

/// A title and its text, folded where it is long.
fn block(Told { title, text, most }: &Told, how: &How<'_>) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    let is_whole = how.full || how.search.is_some() || all.len() <= most + 1;
    let shown = if is_whole { all.len() } else { *most };
    let mut lines = vec![format!("  {title}")];
    lines.extend(all[..shown].iter().map(|line| format!("    {}", cut(line, how.full))));
    if !is_whole {
        lines.push(format!("    … {} more lines", all.len() - shown));
    }
    lines
}

fn cut(line: &str, full: bool) -> String {
    match line.char_indices().nth(COLUMNS) {
        Some((end, _)) if !full => format!("{}…", &line[..end]),
        _ => line.to_owned(),
    }
}
