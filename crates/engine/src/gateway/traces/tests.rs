use std::fs;
use std::path::Path;

use overnight_model::call::{CallId, Caller, Protocol};
use overnight_model::{ExperimentId, Millis, TrialId};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const KEY: &str = "sk-ant-0123456789/abc+def";

fn call(id: u64, caller: Caller) -> Call {
    Call {
        id: CallId(id),
        caller,
        provider: "anthropic".to_owned(),
        protocol: Protocol::Messages,
        model: "m".to_owned(),
        bytes: 1,
        most_input: None,
        most_output: None,
        answers: 1,
        tier: None,
    }
}

fn agent(experiment: u64) -> Caller {
    Caller::Agent { name: "claude".to_owned(), experiment: ExperimentId(experiment) }
}

fn task(trial: u64) -> Caller {
    Caller::Task { trial: TrialId(trial), experiment: ExperimentId(1) }
}

fn exchange(request: &str, chunks: &[&str]) -> Exchange {
    Exchange {
        path: "/v1/messages?beta=true".to_owned(),
        request: request.as_bytes().to_vec(),
        status: Some(200),
        content_type: "text/event-stream".to_owned(),
        chunks: chunks.iter().enumerate().map(|(at, text)| (Millis(at as u64), text.as_bytes().to_vec())).collect(),
        cut: false,
        end: CallEnd::Answered,
        replayed: false,
    }
}

/// A request of so many messages, as a client sends it with each call.
fn conversation(messages: usize) -> String {
    let text = |n: usize| (0..200).map(|word| format!("word {} ", word * n)).collect::<String>();
    let messages: Vec<Value> =
        (0..messages).map(|n| json!({ "role": "user", "content": format!("message {n}: {}", text(n)) })).collect();
    json!({ "model": "m", "system": "be brief ".repeat(300), "tools": [{ "name": "a" }, { "name": "b" }], "messages": messages, "stream": true }).to_string()
}

fn delta(text: &str) -> String {
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } });
    format!("event: content_block_delta\ndata: {delta}\n\n")
}

fn whole(store: &Store, id: &BlobId) -> Trace {
    match store.get(id).unwrap() {
        Found::Whole(trace) => *trace,
        other => panic!("{other:?}"),
    }
}

fn plain() -> Redactor {
    Redactor::default()
}

#[test]
fn what_is_stored_comes_back_byte_for_byte() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let requests = [
        conversation(3),
        "{}".to_owned(),
        String::new(),
        "not json".to_owned(),
        r#" { "a" : [ ] , "messages":[ {"x":"\"],["} , 5 ,"y"] ,"b":{"c":[1,2]} } "#.to_owned(),
    ];
    for request in requests {
        let id = store.put(&call(1, agent(1)), &exchange(&request, &["one\n", "two"]), Timestamp(5), &plain()).unwrap();
        let trace = whole(&store, &id);
        assert_eq!(
            (String::from_utf8(trace.request).unwrap(), trace.answer.as_slice()),
            (request, b"one\ntwo".as_slice())
        );
        assert_eq!((trace.times, trace.redacted, trace.at), (vec![(Millis(0), 4), (Millis(1), 7)], 0, Timestamp(5)));
    }
}

#[test]
fn a_conversation_that_is_sent_again_with_every_call_is_stored_once() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let mut sent = 0;
    for messages in 1..=40 {
        let request = conversation(messages);
        sent += request.len();
        store.put(&call(messages as u64, agent(1)), &exchange(&request, &["ok"]), Timestamp(0), &plain()).unwrap();
    }
    let pieces: i64 = store_query(folder.path(), "SELECT count(*) FROM pieces");
    // Forty messages, a system prompt, two tools, what is around them, one answer.
    assert!(pieces <= 40 + 8, "{pieces}");
    let bytes: i64 = store_query(folder.path(), "SELECT sum(length(bytes)) FROM pieces");
    assert!((bytes as usize) < sent / 40, "{bytes} of {sent}");
}

fn store_query(state: &Path, sql: &str) -> i64 {
    let db = rusqlite::Connection::open(Store::folder(state).join("traces.db")).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_damaged_or_missing_piece_is_said() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    let id = store.put(&call(1, agent(1)), &exchange(&conversation(2), &["ok"]), Timestamp(0), &plain()).unwrap();
    let db = rusqlite::Connection::open(Store::folder(folder.path()).join("traces.db")).unwrap();
    let forged = zstd::bulk::compress(b"forged", 3).unwrap();
    for (change, says) in [
        ("UPDATE pieces SET bytes = ?1", "request"),
        ("DELETE FROM pieces WHERE ?1 IS NOT NULL", "missing"),
        ("UPDATE traces SET manifest = ?1", "hash"),
        ("UPDATE traces SET manifest = substr(?1, 1, 3)", "hash"),
    ] {
        db.execute(change, [&forged]).unwrap();
        let Found::Damaged { what } = store.get(&id).unwrap() else { panic!("{change}") };
        assert!(what.contains(says), "{change}: {what}");
    }
    assert_eq!(store.get(&BlobId::of(b"another")).unwrap(), Found::Gone);
}

#[test]
fn a_place_whose_maker_was_killed_holds_nothing() {
    let state = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(state.path().join("traces")).unwrap();
    std::fs::write(state.path().join("traces/traces.db"), "").unwrap();
    assert!(Store::find(state.path()).unwrap().is_none());
}

#[test]
fn what_is_forgotten_is_in_no_file_and_what_others_name_stays() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    // What is compressed cannot be searched for: signs that repeat nowhere stay as they are.
    let secret = "qZ7xW3kLp9Vb2Nf8";
    let shared = conversation(2);
    let one = store.put(&call(1, agent(1)), &exchange(&shared, &[secret]), Timestamp(10), &plain()).unwrap();
    let two = store.put(&call(2, agent(2)), &exchange(&shared, &["other"]), Timestamp(20), &plain()).unwrap();
    let holds = |text: &str| {
        let files =
            fs::read_dir(Store::folder(folder.path())).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        files.into_iter().any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
    };
    assert!(holds(secret));
    assert_eq!(store.count(&Which::Of(vec![ExperimentId(1)])).unwrap(), 1);
    assert_eq!(store.forget(&Which::Of(vec![ExperimentId(1)])).unwrap(), 1);
    assert!(!holds(secret));
    assert_eq!(store.get(&one).unwrap(), Found::Gone);
    assert_eq!(whole(&store, &two).answer, b"other");
    assert_eq!((store.forget(&Which::Before(Timestamp(20))).unwrap(), store.forget(&Which::All).unwrap()), (0, 1));
    assert_eq!(store_query(folder.path(), "SELECT count(*) FROM pieces"), 0);
}

#[test]
fn the_oldest_go_where_there_are_too_many() {
    let folder = TempDir::new().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    for at in 0..40 {
        let text: String = (0..2000).map(|n| format!("{:x}", n * n * (at + 7))).collect();
        store.put(&call(at as u64, agent(at as u64)), &exchange("{}", &[&text]), Timestamp(at), &plain()).unwrap();
    }
    let erased = store.shrink(50_000).unwrap();
    assert!(erased > 0 && erased < 40, "{erased}");
    assert_eq!(store.count(&Which::Before(Timestamp(erased as i64))).unwrap(), 0);
    assert_eq!(store.count(&Which::All).unwrap(), 40 - erased);
}

fn base64(bytes: &[u8]) -> String {
    let signs = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let padded = format!("{bits}{}", "0".repeat((6 - bits.len() % 6) % 6));
    padded
        .as_bytes()
        .chunks(6)
        .map(|six| signs[usize::from_str_radix(std::str::from_utf8(six).unwrap(), 2).unwrap()] as char)
        .collect()
}

#[test]
fn a_key_is_taken_out_in_every_form() {
    let redactor = Redactor::new(&[], [KEY]).unwrap();
    let forms = [
        KEY.to_owned(),
        overnight_model::id::hex(KEY.as_bytes()),
        overnight_model::id::hex(KEY.as_bytes()).to_uppercase(),
        KEY.replace('/', "%2F").replace('+', "%2B"),
        base64(format!("user:{KEY}").as_bytes()),
        base64(format!("x:{KEY}:y").as_bytes()),
        base64(KEY.as_bytes()).replace('+', "-").replace('/', "_"),
    ];
    for form in forms {
        for body in [
            form.clone(),
            json!({ "a": [{ "b": format!("x {form} y") }], form.clone(): 1 }).to_string(),
            format!("data: {}\n\n", json!([form])),
        ] {
            let (stored, found) = redactor.body(body.as_bytes());
            let stored = String::from_utf8(stored).unwrap();
            assert!(found > 0 && stored.contains("[key]"), "{form}: {stored}");
            // Signs at the edge of base 64 hold less than a byte of it.
            assert!(!stored.contains(&form[4..form.len() - 4]), "{form}: {stored}");
        }
    }
    // Slashes may be escaped in JSON.
    let (stored, found) = redactor.body(format!("{{\"a\":\"{}\"}}", KEY.replace('/', "\\/")).as_bytes());
    assert_eq!((found, stored.as_slice()), (1, br#"{"a":"[key]"}"#.as_slice()));
}

#[test]
fn what_a_stream_gives_in_pieces_is_redacted_as_a_whole() {
    let redactor = Redactor::new(&["ghp_[A-Za-z0-9]+".to_owned()], [KEY]).unwrap();
    let (head, tail) = KEY.split_at(9);
    let body =
        [delta("token gh"), delta("p_ab"), delta("c9"), delta(" and "), delta(head), delta(tail), delta(".")].concat();
    let (stored, found) = redactor.body(body.as_bytes());
    let stored = String::from_utf8(stored).unwrap();
    assert_eq!(found, 2, "{stored}");
    let answered = overnight_model::trace::answered(
        Protocol::Messages,
        ["data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n", &stored]
            .concat()
            .as_bytes(),
    );
    let [overnight_model::trace::Part::Text(text)] = answered.parts.as_slice() else { panic!("{answered:?}") };
    assert_eq!(text, "token [redacted] and [key].");
    assert_eq!(stored.matches("\n\n").count(), 7, "the stream has its shape");
    let untouched = delta("nothing  to   hide \\u00e9");
    assert_eq!(redactor.body(untouched.as_bytes()), (untouched.into_bytes(), 0), "byte for byte");
}

#[test]
fn rules_see_text_without_its_escapes() {
    let redactor = Redactor::new(&[r"(?m)^password=.*$".to_owned()], [""; 0]).unwrap();
    let body = json!({ "content": "a\npassword=hunter2\nb" }).to_string();
    let (stored, found) = redactor.body(body.as_bytes());
    assert_eq!((found, stored), (1, json!({ "content": "a\n[redacted]\nb" }).to_string().into_bytes()));
    assert!(is_rule("a+").is_ok() && is_rule("(").is_err());
}

/// A project with a tape in it.
struct Project {
    folder: TempDir,
    spec: TapeSpec,
}

impl Project {
    fn new() -> Project {
        Project { folder: TempDir::new().unwrap(), spec: TapeSpec::default() }
    }

    fn recording(&self) -> Tape {
        self.tape(TapeSpec { record: Some("recordings".to_owned()), ..self.spec.clone() })
    }

    fn replaying(&self) -> Tape {
        self.tape(TapeSpec { replay: Some("recordings".to_owned()), ..self.spec.clone() })
    }

    fn tape(&self, spec: TapeSpec) -> Tape {
        let dir = self.folder.path();
        let keys = [KEY.to_owned()];
        Tape::open(Setup { spec: &spec, state: &dir.join(".overnight/s"), dir, home: None, keys: &keys }, Timestamp(0))
            .unwrap()
    }

    /// Everything that lies in the folder.
    fn files(&self) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry)
                } else {
                    found.push((entry.clone(), fs::read(&entry).unwrap()))
                }
            }
        }
        found
    }
}

const PATH: &str = "/v1/messages?beta=true";

fn ask(tape: &Tape, id: u64, caller: Caller, request: &str, answer: &str) {
    let call = call(id, caller);
    assert_eq!(tape.recorded(&call, PATH, request.as_bytes()), Recorded::Live);
    tape.keep(&call, &exchange(request, &[answer])).unwrap();
}

fn heard(tape: &Tape, id: u64, caller: Caller, request: &str) -> Result<String, String> {
    match tape.recorded(&call(id, caller), PATH, request.as_bytes()) {
        Recorded::Answer(answer) => Ok(String::from_utf8(answer.chunks.concat()).unwrap()),
        Recorded::Miss { what } => Err(what),
        Recorded::Live => panic!("a replay asks nobody"),
    }
}

fn request(text: &str, session: &str) -> String {
    json!({ "model": "m", "metadata": { "user_id": session }, "messages": [{ "role": "user", "content": [{ "type": "text", "text": text, "cache_control": {} }] }] }).to_string()
}

#[test]
fn the_nth_equal_question_of_an_attempt_gets_the_nth_answer() {
    let project = Project::new();
    let tape = project.recording();
    ask(&tape, 1, agent(1), &request("hi", "a"), "first");
    ask(&tape, 2, agent(1), &request("hi", "a"), "second");
    ask(&tape, 3, agent(2), &request("hi", "b"), "of another attempt");
    let tape = project.replaying();
    assert!(tape.is_offline());
    assert_eq!(heard(&tape, 1, agent(1), &request("hi", "other session")).unwrap(), "first");
    assert_eq!(heard(&tape, 2, agent(2), &request("hi", "x")).unwrap(), "of another attempt");
    assert_eq!(heard(&tape, 3, agent(1), &request("hi", "x")).unwrap(), "second");
    assert_eq!(heard(&tape, 4, agent(9), &request("hi", "x")).unwrap(), "first", "whoever came first");
    let miss = heard(&tape, 5, agent(1), &request("hi", "x")).unwrap_err();
    assert!(miss.contains("recorded 2 times in one attempt"), "{miss}");
}

#[test]
fn what_clients_make_up_anew_makes_no_other_question() {
    let project = Project::new();
    let dir = project.folder.path().to_str().unwrap().to_owned();
    let text = |date: &str, id: &str, commit: &str, folder: &str, os: &str| {
        format!(
            "Today is {date}. session {id}\n - OS Version: {os}\nRecent commits:\n{commit} tidy\ncwd {folder}/a.py /tmp/{id}/x"
        )
    };
    let one = text("2026-11-16", "01a1e387-95df-71e3-ad34-77c5a5268338", "dc3a8df", &dir, "Linux 6.1");
    let tape = project.recording();
    ask(&tape, 1, agent(1), &request(&one, "a"), &delta(&format!("reading {dir}/a.py")));
    // Elsewhere, later, on another machine.
    let other = Project::new();
    fs::rename(project.folder.path().join("recordings"), other.folder.path().join("recordings")).unwrap();
    let elsewhere = other.folder.path().to_str().unwrap().to_owned();
    let two = text("2027-01-02", "ffffffff-95df-71e3-ad34-77c5a5268338", "0f1e2d3", &elsewhere, "Linux 7");
    let answer = heard(&other.replaying(), 1, agent(1), &request(&two, "b")).unwrap();
    assert_eq!(answer, delta(&format!("reading {elsewhere}/a.py")), "it works where it is");
    let three = two.replace("tidy", "untidy");
    let miss = heard(&other.replaying(), 1, agent(1), &request(&three, "b")).unwrap_err();
    assert!(miss.contains("the nearest differs at /messages/0/content/0/text") && miss.contains("untidy"), "{miss}");
}

/// The number that was measured differs from run to run; the rest of what an agent is told does not.
#[test]
fn an_attempt_finds_its_answer_whatever_was_measured() {
    let project = Project::new();
    let prompt = |program: &str, measured: &str| request(&format!("{program}\n{measured}\n# Your answer"), "a");
    let tape = project.recording();
    for (attempt, measured, answer) in [(1, "loss 4.012", "less"), (2, "loss 1.033", "more")] {
        tape.tells(&agent(attempt), measured, &format!("<overnight:attempt {attempt}>"));
        ask(&tape, attempt, agent(attempt), &prompt("Turn the knob.", measured), answer);
    }
    let tape = project.replaying();
    let told = |attempt: u64, program: &str, measured: &str| {
        tape.tells(&agent(attempt), measured, &format!("<overnight:attempt {attempt}>"));
        heard(&tape, attempt, agent(attempt), &prompt(program, measured))
    };
    assert_eq!(told(2, "Turn the knob.", "loss 1.078").unwrap(), "more");
    assert_eq!(told(1, "Turn the knob.", "loss 3.991").unwrap(), "less");
    // Another program is another question, and so is an attempt that nobody recorded.
    let miss = told(1, "Turn it twice.", "loss 3.992").unwrap_err();
    assert!(miss.contains("Turn it twice."), "{miss}");
    let miss = told(3, "Turn the knob.", "loss 0.011").unwrap_err();
    assert!(miss.contains("<overnight:attempt 3>"), "{miss}");
}

/// Arguments of tools are JSON in a text, where a path is escaped once more.
#[test]
fn folders_with_quotes_and_backslashes_are_found_and_put_back() {
    let named = |prefix: &str| Project {
        folder: tempfile::Builder::new().prefix(prefix).tempdir().unwrap(),
        spec: TapeSpec::default(),
    };
    let (plain, odd, other) = (named("plain"), named("o\"d\\d ü "), named("\"{'"));
    let arguments = |project: &Project| {
        let file = project.folder.path().join("a.py");
        json!({ "file_path": file.to_str().unwrap(), "text": "\"x\"" }).to_string()
    };
    // A stream that gives the arguments in pieces of seven signs.
    let stream = |project: &Project| -> String {
        let signs: Vec<char> = arguments(project).chars().collect();
        let piece = |part: &[char]| {
            let delta = json!({ "type": "input_json_delta", "partial_json": part.iter().collect::<String>() });
            let event = json!({ "type": "content_block_delta", "index": 1, "delta": delta });
            format!("event: content_block_delta\ndata: {event}\n\n")
        };
        signs.chunks(7).map(piece).collect()
    };
    let whole = |stream: &str| -> Value {
        let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = events.map(|data| serde_json::from_str::<Value>(data).unwrap());
        let pieces: String = events.map(|event| event["delta"]["partial_json"].as_str().unwrap().to_owned()).collect();
        serde_json::from_str(&pieces).unwrap_or_else(|error| panic!("{error}: {pieces}"))
    };
    // What a client tells of it afterwards, as a text and as it is.
    let told = |project: &Project| {
        let input: Value = serde_json::from_str(&arguments(project)).unwrap();
        let folder = project.folder.path().to_str().unwrap().replace('"', "&quot;").replace('\'', "&apos;");
        let context = format!("<cwd>{folder}</cwd>");
        json!({ "messages": [{ "arguments": arguments(project), "input": input, "text": context }] }).to_string()
    };
    for (from, to) in [(&plain, &odd), (&odd, &plain), (&odd, &other), (&other, &odd)] {
        let tape = from.recording();
        ask(&tape, 1, agent(1), "{}", &stream(from));
        ask(&tape, 2, agent(1), &told(from), "done");
        let recordings = to.folder.path().join("recordings");
        let _ = fs::remove_dir_all(&recordings);
        fs::rename(from.folder.path().join("recordings"), &recordings).unwrap();
        for (path, bytes) in to.files().iter().filter(|(path, _)| path.starts_with(&recordings)) {
            let text = String::from_utf8_lossy(bytes);
            let name = from.folder.path().file_name().unwrap().to_str().unwrap();
            assert!(!text.contains(&name[name.len() - 6..]), "{} of {}: {text}", path.display(), name);
        }
        let tape = to.replaying();
        let answer = heard(&tape, 1, agent(1), "{}").unwrap();
        assert_eq!(whole(&answer), serde_json::from_str::<Value>(&arguments(to)).unwrap(), "{answer}");
        assert_eq!(heard(&tape, 2, agent(1), &told(to)).unwrap(), "done");
    }
}

#[test]
fn items_of_codex_are_the_same_whatever_it_calls_them() {
    let body = |id: &str, key: &str| {
        json!({ "model": "m", "prompt_cache_key": key, "client_metadata": { "session_id": key },
                "input": [{ "type": "message", "id": format!("msg_{id}"), "role": "user", "content": [{ "type": "input_text", "text": "hi" }] }] }).to_string()
    };
    let normal =
        |body: &str| Normal::of(Protocol::Responses, "/v1/responses", body.as_bytes(), &Places::default(), &[]).key();
    assert_eq!(normal(&body("a", "1")), normal(&body("b", "2")));
    assert_ne!(normal(&body("a", "1")), normal(&body("a", "1").replace("hi", "ho")));
    // A field of a tool's arguments that is called as one of the client's own is a part of the question.
    let with = |user: &str| {
        json!({ "messages": [{ "role": "assistant", "content": [{ "type": "tool_use", "input": { "user": user } }] }] })
            .to_string()
    };
    assert_ne!(normal(&with("a")), normal(&with("b")));
}

#[test]
fn a_candidate_cannot_put_words_into_a_scorers_mouth() {
    let project = Project::new();
    let tape = project.recording();
    ask(&tape, 1, task(7), &request("grade this", "a"), "10 of 10");
    let tape = project.replaying();
    let scorer = Caller::Scorer { trial: TrialId(7), experiment: ExperimentId(1) };
    assert!(heard(&tape, 1, scorer, &request("grade this", "a")).is_err());
    assert_eq!(heard(&tape, 2, task(7), &request("grade this", "a")).unwrap(), "10 of 10");
}

#[test]
fn what_a_scorer_asked_is_not_told_to_a_candidate_that_asks_something_like_it() {
    let project = Project::new();
    let tape = project.recording();
    let scorer = Caller::Scorer { trial: TrialId(7), experiment: ExperimentId(1) };
    ask(&tape, 1, scorer.clone(), &request("grade this: the label is 4711", "a"), "10 of 10");
    let tape = project.replaying();
    let miss = heard(&tape, 1, task(7), &request("grade this: the label is x", "a")).unwrap_err();
    assert!(!miss.contains("4711") && miss.contains("nothing like it is recorded"), "{miss}");
    let miss = heard(&tape, 2, scorer, &request("grade this: the label is x", "a")).unwrap_err();
    assert!(miss.contains("4711"), "its own kind is helped: {miss}");
}

#[test]
fn who_asked_to_the_letter_is_served_before_who_asked_what_only_means_the_same() {
    let project = Project::new();
    let tape = project.recording();
    // A date is no part of the question, and models are told by it what to say.
    ask(&tape, 1, task(1), &request("which x? 1999-01-01", "a"), "poison");
    ask(&tape, 2, task(2), &request("which x? 2026-11-16", "a"), "honest");
    let tape = project.replaying();
    assert_eq!(heard(&tape, 1, task(9), &request("which x? 2026-11-16", "a")).unwrap(), "honest");
    assert_eq!(heard(&tape, 2, task(1), &request("which x? 2026-11-16", "a")).unwrap(), "poison", "its own");
    assert_eq!(heard(&tape, 3, task(8), &request("which x? 2027-01-01", "a")).unwrap(), "poison", "whoever came first");
}

#[test]
fn a_recording_that_was_changed_is_not_served() {
    let project = Project::new();
    ask(&project.recording(), 1, agent(1), &request("hi", "a"), "honest");
    let (path, _) = project.files().into_iter().find(|(path, _)| path.parent().unwrap().ends_with("answers")).unwrap();
    fs::write(&path, "forged").unwrap();
    let miss = heard(&project.replaying(), 1, agent(1), &request("hi", "a")).unwrap_err();
    assert!(miss.contains("was changed since it was recorded"), "{miss}");
    fs::remove_file(&path).unwrap();
    let miss = heard(&project.replaying(), 1, agent(1), &request("hi", "a")).unwrap_err();
    assert!(miss.contains("cannot be read"), "{miss}");
}

#[test]
fn half_an_answer_is_traced_and_not_recorded() {
    let project = Project::new();
    let tape = project.recording();
    let call = call(1, agent(1));
    assert_eq!(tape.recorded(&call, PATH, b"{}"), Recorded::Live);
    let broken = Exchange { end: CallEnd::Broken, ..exchange("{}", &["half"]) };
    assert!(tape.keep(&call, &broken).is_some());
    let miss = heard(&project.replaying(), 1, agent(1), "{}").unwrap_err();
    assert!(miss.contains("nothing is recorded"), "{miss}");
    // Its client asks once more, which is the first time that there is an answer.
    ask(&tape, 2, agent(1), "{}", "whole");
    let replaying = project.replaying();
    assert!(heard(&replaying, 1, agent(1), "{}").is_ok_and(|answer| answer.contains("whole")));
    assert!(heard(&replaying, 2, agent(1), "{}").is_err());
    assert!(heard(&replaying, 3, agent(2), "{}").is_ok_and(|answer| answer.contains("whole")), "another attempt");
}

#[test]
fn neither_traces_nor_recordings_hold_a_key() {
    let project = Project::new();
    let tape = project.recording();
    let text = format!("the key is {KEY}, or {}", base64(KEY.as_bytes()));
    ask(&tape, 1, agent(1), &request(&text, KEY), &delta(&text));
    let forms = [KEY.to_owned(), base64(KEY.as_bytes()), overnight_model::id::hex(KEY.as_bytes())];
    let store = Store::find(&project.folder.path().join(".overnight/s")).unwrap().unwrap();
    let ids = store.of(ExperimentId(1)).unwrap();
    let trace = whole(&store, &ids[0]);
    assert!(trace.redacted >= 4, "{}", trace.redacted);
    let files = project.files().into_iter().map(|(_, bytes)| bytes).chain([trace.request, trace.answer]);
    for bytes in files {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(forms.iter().all(|form| !text.contains(form)), "{text}");
    }
    tape.hide("another-key-0123");
    ask(&tape, 2, agent(1), &request("it is another-key-0123", "a"), "ok");
    assert!(
        String::from_utf8(whole(&store, &store.of(ExperimentId(1)).unwrap()[1]).request)
            .is_ok_and(|it| it.contains("it is [key]"))
    );
    // The same question finds its answer all the same.
    assert!(heard(&project.replaying(), 1, agent(1), &request(&text, "x")).is_ok());
}

#[test]
fn old_traces_go_when_a_run_begins_and_none_are_kept_where_none_are_wanted() {
    let mut project = Project::new();
    ask(&project.recording(), 1, agent(1), "{}", "ok");
    let state = project.folder.path().join(".overnight/s");
    let count = || Store::find(&state).unwrap().unwrap().count(&Which::All).unwrap();
    assert_eq!(count(), 1);
    project.spec.keep = Retention::For(Millis::seconds(60));
    let spec = project.spec.clone();
    let open = |now: i64| {
        let setup = Setup { spec: &spec, state: &state, dir: project.folder.path(), home: None, keys: &[] };
        Tape::open(setup, Timestamp(now)).unwrap()
    };
    open(clock::now().0);
    assert_eq!(count(), 1);
    open(clock::now().0 + 61_000);
    assert_eq!(count(), 0);
    let tape = project.tape(TapeSpec { keep: Retention::Not, ..TapeSpec::default() });
    assert_eq!(tape.keep(&call(1, agent(1)), &exchange("{}", &["ok"])), None);
    assert_eq!((count(), tape.trouble()), (0, None));
}
