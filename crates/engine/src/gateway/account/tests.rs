use std::fs;
use std::sync::mpsc;

use overnight_model::call::account::Allowance;
use overnight_model::call::price::{Price, Prices};
use overnight_model::call::{CallEnd, Caller, Protocol, Tokens};
use overnight_model::{Event, ExperimentId, Millis, Timestamp, What};

use super::*;

/// A dollar for a million tokens.
fn gateway() -> Gateway {
    let prices = Prices::new([("m".to_owned(), Price::own(1.0, None, None, 1.0))]);
    Gateway { prices, ..Gateway::default() }
}

fn call(books: &Books, bytes: u64) -> Call {
    Call {
        id: books.next_id(),
        caller: Caller::Agent { name: "a".into(), experiment: ExperimentId(1) },
        provider: "p".into(),
        protocol: Protocol::Chat,
        model: "m".into(),
        bytes,
        most_input: None,
        most_output: Some(0),
        answers: 1,
        tier: None,
    }
}

fn answered(input: u64) -> CallOutcome {
    CallOutcome {
        end: CallEnd::Answered,
        status: Some(200),
        model: Some("m".into()),
        tokens: Tokens { input: Some(input), output: Some(0), ..Tokens::default() },
        trouble: None,
        replayed: false,
        wall: Millis(1),
        first_byte: None,
        trace: None,
    }
}

fn open(dir: &Path, run: u64, state: &State, cost_usd: Option<f64>) -> (Arc<Books>, mpsc::Receiver<Called>) {
    let (sender, receiver) = mpsc::channel();
    let night = Allowance { cost_usd, tokens: None };
    let allowances = Allowances { night, ..Allowances::default() };
    let books = Books::open(dir, run, (&gateway(), allowances), state, &[]);
    books.report_to(move |called| drop(sender.send(called)));
    (Arc::new(books), receiver)
}

fn record(state: &mut State, called: &Called) {
    state.apply(&Event { at: Timestamp(1), what: What::Called(Box::new(called.clone())) });
}

#[test]
fn a_run_that_makes_no_call_leaves_no_journal() {
    let dir = tempfile::tempdir().unwrap();
    let (_books, _) = open(dir.path(), 1, &State::default(), None);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_went_out_and_never_came_back_is_found_by_the_next_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = State::default();
    let (books, reports) = open(dir.path(), 1, &state, None);
    let [recorded, noted, lost] = [1000, 2000, 3000].map(|bytes| call(&books, bytes));
    for call in [&recorded, &noted, &lost] {
        books.admit(call).unwrap();
    }
    books.settle(&recorded, &answered(10));
    books.settle(&noted, &answered(20));
    let reported: Vec<Called> = reports.try_iter().collect();
    assert_eq!(reported.iter().map(|called| called.call.id.0).collect::<Vec<_>>(), [0, 1]);
    // Killed here, before the second reached the ledger, and in the middle of a line.
    drop(books);
    record(&mut state, &reported[0]);
    let journal = journal::path(dir.path(), 1);
    let mut torn = fs::read(&journal).unwrap();
    torn.extend(br#"{"out":{"call":{"id":3,"cal"#);
    fs::write(&journal, torn).unwrap();
    let found = unrecorded(dir.path(), &state).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].call.id, found[0].cost_usd), (noted.id, Some(2e-5)));
    assert_eq!((found[1].outcome.end, found[1].cost_usd), (CallEnd::Lost, None));
    assert_eq!(found[1].charge(), Charge { usd: 0.003, tokens: 3000 });
    assert_eq!(unrecorded(dir.path(), &state).unwrap(), found, "until it is recorded it is found again");
    found.iter().for_each(|called| record(&mut state, called));
    assert_eq!(state.next_call(), CallId(3));
    assert_eq!(unrecorded(dir.path(), &state).unwrap(), []);
    assert!(!journal.exists(), "the ledger holds all of it");
}

#[test]
fn a_call_waits_for_what_is_reserved_and_goes_out_when_it_is_free() {
    let dir = tempfile::tempdir().unwrap();
    let (books, _reports) = open(dir.path(), 1, &State::default(), Some(1.0));
    let (one, two) = (call(&books, 900_000), call(&books, 900_000));
    books.admit(&one).unwrap();
    let waiting = std::thread::spawn({
        let (books, two) = (books.clone(), two.clone());
        move || books.admit(&two)
    });
    books.settle(&one, &answered(100));
    assert_eq!(waiting.join().unwrap(), Ok(()));
    let refused = books.admit(&call(&books, 2_000_000)).unwrap_err();
    assert_eq!(refused.limit, "limits.cost_usd");
}

#[test]
fn a_call_that_cannot_be_written_down_does_not_go_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("calls"), "a file where the folder should be").unwrap();
    let (books, _) = open(dir.path(), 1, &State::default(), Some(1.0));
    let one = call(&books, 900_000);
    let refused = books.admit(&one).unwrap_err();
    assert!(refused.what.contains("could not be written down"), "{}", refused.what);
    fs::remove_file(dir.path().join("calls")).unwrap();
    books.admit(&one).unwrap();
}

#[test]
fn calls_that_go_out_together_are_all_in_the_journal() {
    let dir = tempfile::tempdir().unwrap();
    let (books, _reports) = open(dir.path(), 1, &State::default(), None);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| books.admit(&call(&books, 5)).unwrap()));
        }
    });
    assert_eq!(unrecorded(dir.path(), &State::default()).unwrap().len(), 200);
}

#[test]
fn what_a_provider_refused_before_the_engine_was_killed_costs_nothing_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let (books, _reports) = open(dir.path(), 1, &State::default(), None);
    let one = call(&books, 1000);
    books.admit(&one).unwrap();
    let refused = CallOutcome { end: CallEnd::Refused, status: Some(429), tokens: Tokens::default(), ..answered(0) };
    books.settle(&one, &refused);
    drop(books);
    let found = unrecorded(dir.path(), &State::default()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].outcome.end, found[0].cost_usd), (CallEnd::Refused, Some(0.0)));
    assert_eq!(found[0].charge(), Charge::default());
}

#[test]
fn half_a_line_spoils_no_call_that_comes_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let journal = journal::path(dir.path(), 1);
    fs::create_dir_all(journal.parent().unwrap()).unwrap();
    fs::write(&journal, br#"{"out":{"call":{"id":0,"cal"#).unwrap();
    let (books, _reports) = open(dir.path(), 1, &State::default(), None);
    let calls = [call(&books, 1000), call(&books, 2000)];
    calls.iter().for_each(|call| books.admit(call).unwrap());
    drop(books);
    let found = unrecorded(dir.path(), &State::default()).unwrap();
    assert_eq!(found.iter().map(|called| called.call.bytes).collect::<Vec<_>>(), [1000, 2000]);
}
