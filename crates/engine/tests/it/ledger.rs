//! The ledger on a real disk: what is appended stays, and what was touched is named.

use std::fs;
use std::path::Path;

use overnight_engine::ledger::{
    Discrepancy, FormatVersion, Ledger, LedgerError, Reader, SMALL_BLOB, Turn, Wanted, verify_ledger,
};
use overnight_model::event::{Imported, Judged, Proposed, RunFacts, Scope, SegmentFacts};
use overnight_model::proposal::{Contents, content_id};
use overnight_model::spec::{Evaluate, Metric, Part, Pick, Surface, SurfaceFile};
use overnight_model::verdict::{Group, Reason};
use overnight_model::{BlobId, CommitId, Event, ExperimentId, Goal, Millis, Segment, State, Timestamp, Verdict, What};

/// A study with a baseline and some proposals, stored as the loop would store it.
fn study(dir: &Path, proposals: u64) -> State {
    let (mut ledger, mut state) = Ledger::open(dir).unwrap();
    let surface = |text: &str| Contents(vec![("train.py".to_owned(), text.as_bytes().to_vec())]);
    let baseline = surface("lr = 1\n");
    let mut turns = vec![(
        vec![
            What::StudyOpened { study: "main".into(), seed: 7 },
            What::SegmentOpened(segment(&baseline).into()),
            What::RunStarted(run()),
        ],
        vec![b"lr = 1\n".to_vec()],
    )];
    for n in 1..=proposals {
        let text = format!("lr = {n}.5\n");
        turns.push((vec![What::Proposed(proposed(n, &surface(&text)))], vec![text.into_bytes()]));
    }
    for (whats, blobs) in turns {
        let events: Vec<Event> = whats.into_iter().map(|what| Event { at: Timestamp(1_000), what }).collect();
        append(&mut ledger, &mut state, &events, &blobs).unwrap();
    }
    state
}

fn append(ledger: &mut Ledger, state: &mut State, events: &[Event], blobs: &[Vec<u8>]) -> Result<(), LedgerError> {
    events.iter().for_each(|event| state.apply(event));
    let rows: Vec<_> = state.touched().into_iter().filter_map(|id| state.row(id)).collect();
    let summary = state.summary();
    ledger.append(&Turn { events, blobs, rows: &rows, summary: summary.as_ref() })
}

fn segment(baseline: &Contents) -> SegmentFacts {
    SegmentFacts {
        segment: Segment(1),
        baseline: CommitId("a".repeat(40)),
        surface: Surface {
            files: vec![SurfaceFile { path: "train.py".into(), part: Part::Whole }],
            max_lines_changed: None,
        },
        contents: baseline.blobs(),
        metric: Metric {
            name: "loss".into(),
            goal: Goal::Min,
            min_gain: None,
            target: None,
            plausible: None,
            pick: Pick::Only,
        },
        evaluate: Evaluate { kill: Millis(2000), ..Evaluate::new("true", Millis(1000)) },
        guards: Vec::new(),
        assurance: "cooperative".into(),
        sandbox: "none".into(),
        inputs: None,
        experiment: ExperimentId::BASELINE,
        carried: None,
        form: None,
        tokens: None,
    }
}

fn run() -> RunFacts {
    RunFacts {
        run: 1,
        scope: Scope::Loop { experiments: None },
        slots: 1,
        version: "0".into(),
        pid: 1,
        boot: "b".into(),
        containment: "c".into(),
        sandbox: String::new(),
        agent: String::new(),
        metered: None,
    }
}

fn proposed(n: u64, contents: &Contents) -> Proposed {
    let surface = contents.blobs();
    Proposed {
        experiment: ExperimentId(n),
        agent: "tuner".into(),
        parent: CommitId("a".repeat(40)),
        commit: CommitId(format!("{n:040}")),
        commit_time: 1,
        description: format!("idea {n}"),
        content: content_id(&surface),
        surface,
        form: None,
        tokens: None,
        reseeds: false,
        edits: Vec::new(),
        took: Millis(0),
        output: None,
        used: None,
    }
}

/// Changes the database behind the ledger's back.
fn meddle(dir: &Path, sql: &str) {
    let db = rusqlite::Connection::open(dir.join("ledger.db")).unwrap();
    assert!(db.execute(sql, []).unwrap() > 0, "{sql} changed nothing");
}

#[test]
fn what_was_appended_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let before = study(dir.path(), 3);
    let (ledger, after) = Ledger::open(dir.path()).unwrap();
    assert_eq!(before.summary(), after.summary());
    assert_eq!(ledger.end().0, 6);
    let found = verify_ledger(dir.path()).unwrap();
    assert_eq!((found.events, found.experiments), (6, 3));
}

#[test]
fn an_event_that_was_changed_is_named_and_the_ledger_is_not_opened_for_writing() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), 3);
    meddle(dir.path(), "UPDATE events SET body = replace(body, 'idea 2', 'idea X') WHERE body LIKE '%idea 2%'");
    assert!(matches!(Ledger::open(dir.path()), Err(LedgerError::Damaged { seq: 5, .. })));
    assert!(matches!(verify_ledger(dir.path()), Err(Discrepancy::Ledger(LedgerError::Damaged { seq: 5, .. }))));
}

#[test]
fn a_changed_time_breaks_the_chain_too() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), 1);
    meddle(dir.path(), "UPDATE events SET at = at + 1 WHERE seq = 2");
    assert!(matches!(Ledger::open(dir.path()), Err(LedgerError::Damaged { seq: 2, .. })));
}

#[test]
fn an_event_that_was_removed_is_named() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), 3);
    meddle(dir.path(), "DELETE FROM events WHERE seq = 5");
    assert!(matches!(Ledger::open(dir.path()), Err(LedgerError::Damaged { seq: 5, .. })));
}

#[test]
fn a_row_a_summary_and_a_blob_that_were_changed_are_named() {
    let check = |sql: &str| {
        let dir = tempfile::tempdir().unwrap();
        study(dir.path(), 3);
        meddle(dir.path(), sql);
        verify_ledger(dir.path()).unwrap_err()
    };
    let row = check("UPDATE experiments SET verdict = 'kept' WHERE experiment = 2");
    assert!(matches!(row, Discrepancy::Row { experiment: ExperimentId(2) }), "{row}");
    let invented = check(
        "INSERT INTO experiments SELECT 9, segment, parent, commit_id, agent, description, verdict, reason, metric, gain, gain_low, gain_high, trials, seconds, started_at, cost_usd FROM experiments WHERE experiment = 1",
    );
    assert!(matches!(invented, Discrepancy::Invented { experiment: ExperimentId(9) }), "{invented}");
    let removed = check("DELETE FROM experiments WHERE experiment = 3");
    assert!(matches!(removed, Discrepancy::Row { experiment: ExperimentId(3) }), "{removed}");
    let summary = check("UPDATE summary SET body = replace(body, '\"kept\":0', '\"kept\":9')");
    assert!(matches!(summary, Discrepancy::Summary), "{summary}");
    let tail = check("DELETE FROM events WHERE seq = 6");
    assert!(matches!(tail, Discrepancy::Invented { experiment: ExperimentId(3) }), "{tail}");
    let blob = check("UPDATE blobs SET bytes = x'00'");
    assert!(matches!(blob, Discrepancy::Blob { .. }), "{blob}");
}

#[test]
fn a_newer_major_format_can_be_looked_at_but_not_written() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), 2);
    let newer = FormatVersion { major: FormatVersion::CURRENT.major + 1, minor: 0 };
    meddle(dir.path(), &format!("UPDATE meta SET value = '{newer}' WHERE name = 'format'"));
    assert!(matches!(Ledger::open(dir.path()), Err(LedgerError::Newer { found, .. }) if found == newer));
    assert_eq!(Reader::open(dir.path()).unwrap().last_rows(9).unwrap().len(), 3);
}

#[test]
fn a_kind_that_a_newer_minor_format_added_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), 1);
    let (ledger, before) = Ledger::open(dir.path()).unwrap();
    let (seq, head) = ledger.end();
    drop(ledger);
    let body = r#"{"kind":"dreamt","of":"sheep"}"#;
    let hash = head.next(seq + 1, Timestamp(5), body.as_bytes());
    let db = rusqlite::Connection::open(dir.path().join("ledger.db")).unwrap();
    db.execute("INSERT INTO events VALUES (?1, 5, NULL, ?2, ?3)", ((seq + 1) as i64, body, hash.0)).unwrap();
    drop(db);
    let (mut ledger, mut after) = Ledger::open(dir.path()).unwrap();
    assert_eq!(before.summary(), after.summary());
    let stop = Event { at: Timestamp(6), what: What::StopRequested { hurry: false } };
    append(&mut ledger, &mut after, &[stop], &[]).unwrap();
    assert_eq!(verify_ledger(dir.path()).unwrap().events, seq + 2);
}

#[test]
fn whoever_looks_is_told_what_another_has_added_and_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = study(dir.path(), 1);
    let reader = Reader::open(dir.path()).unwrap();
    let (version, end) = (reader.version().unwrap(), reader.end().unwrap());
    assert_eq!(reader.version().unwrap(), version, "nothing was written");
    let (mut ledger, _) = Ledger::open(dir.path()).unwrap();
    let stop = Event { at: Timestamp(6), what: What::StopRequested { hurry: false } };
    append(&mut ledger, &mut state, std::slice::from_ref(&stop), &[]).unwrap();
    assert_ne!(reader.version().unwrap(), version);
    let new = reader.events_after(end, 10).unwrap();
    assert_eq!(new.iter().map(|stored| (stored.seq, &stored.event)).collect::<Vec<_>>(), [(end + 1, &stop)]);
    let since: Vec<_> = reader.last_run().unwrap().into_iter().map(|stored| stored.event.what).collect();
    assert!(matches!(since.as_slice(), [What::RunStarted(_), What::StopRequested { .. }]), "{since:?}");
}

#[test]
fn experiments_are_found_by_group_and_words_the_latest_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = study(dir.path(), 4);
    let (mut ledger, _) = Ledger::open(dir.path()).unwrap();
    let judged = |id, verdict| {
        What::Judged(Judged {
            experiment: ExperimentId(id),
            verdict,
            reason: Reason::NewSegment,
            metric: None,
            estimate: None,
            opinion: None,
        })
    };
    for (id, verdict) in [(1, Verdict::Discarded), (2, Verdict::Crashed), (3, Verdict::Discarded)] {
        append(&mut ledger, &mut state, &[Event { at: Timestamp(7), what: judged(id, verdict) }], &[]).unwrap();
    }
    let reader = Reader::open(dir.path()).unwrap();
    let found = |before: Option<u64>, group, words: &[&str], limit| -> Vec<u64> {
        let wanted = Wanted { group, words: words.iter().map(|word| (*word).to_owned()).collect() };
        let rows = reader.rows_before(before.map(ExperimentId), &wanted, limit).unwrap();
        rows.iter().map(|row| row.experiment.0).collect()
    };
    assert_eq!(found(None, None, &[], 10), [3, 2, 1], "what is open has no verdict");
    assert_eq!(found(Some(3), None, &[], 1), [2]);
    assert_eq!(found(None, Some(Group::NotBetter), &[], 10), [3, 1]);
    let description = reader.row(ExperimentId(2)).unwrap().unwrap().description;
    assert_eq!(found(None, Some(Group::Broken), &[&description.to_uppercase()], 10), [2]);
    assert_eq!(found(None, None, &["no such ' word % _"], 10), [] as [u64; 0]);
    let mut marks = Vec::new();
    reader.each_mark(|mark| marks.push((mark.experiment.0, mark.verdict))).unwrap();
    assert_eq!(marks.len(), 5);
    assert_eq!((marks[2], marks[4]), ((2, Some(Verdict::Crashed)), (4, None)));
}

#[test]
fn moves_of_the_branch_come_in_order_with_what_had_begun_by_then() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = study(dir.path(), 4);
    let (mut ledger, _) = Ledger::open(dir.path()).unwrap();
    let moved = |id, retracted: Option<u64>| {
        let (experiment, to) = (ExperimentId(id), CommitId("b".repeat(40)));
        What::BranchAdvanced { experiment, from: None, to, retracted: retracted.map(ExperimentId) }
    };
    for what in [moved(1, None), moved(0, Some(1))] {
        append(&mut ledger, &mut state, &[Event { at: Timestamp(7), what }], &[]).unwrap();
    }
    let reader = Reader::open(dir.path()).unwrap();
    let moves = reader.moves(&[ExperimentId(0), ExperimentId(1)]).unwrap();
    let begun: Vec<u64> = moves.iter().map(|(begun, _)| begun.0).collect();
    assert_eq!(begun, [0, 1, 4], "the segment, the keep at its own place, the retreat where the study was");
    assert!(moves.windows(2).all(|pair| pair[0].1.seq < pair[1].1.seq));
}

#[test]
fn a_file_that_is_no_ledger_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ledger.db");
    fs::write(&path, "a shopping list, long enough to be mistaken for a header of SQLite\n".repeat(20)).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(Ledger::open(dir.path()).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn large_contents_are_files_and_a_torn_one_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let (mut ledger, mut state) = Ledger::open(dir.path()).unwrap();
    let large = vec![b'x'; SMALL_BLOB + 1];
    let id = BlobId::of(&large);
    let opened = [Event { at: Timestamp(1), what: What::StudyOpened { study: "main".into(), seed: 1 } }];
    append(&mut ledger, &mut state, &opened, std::slice::from_ref(&large)).unwrap();
    let path = dir.path().join("blobs").join(&id.0[..2]).join(&id.0[2..]);
    assert_eq!(fs::read(&path).unwrap(), large);
    fs::write(&path, "short").unwrap();
    assert!(matches!(ledger.blob(&id), Err(LedgerError::NoBlob { .. })));
    let stop = [Event { at: Timestamp(2), what: What::StopRequested { hurry: false } }];
    append(&mut ledger, &mut state, &stop, std::slice::from_ref(&large)).unwrap();
    assert_eq!(ledger.blob(&id).unwrap(), large);
}

#[test]
fn a_turn_that_cannot_be_stored_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = study(dir.path(), 1);
    let (mut ledger, _) = Ledger::open(dir.path()).unwrap();
    // A file where the folder of large contents should be.
    fs::write(dir.path().join("blobs"), "").unwrap();
    let before = ledger.end();
    let events = [Event { at: Timestamp(2), what: What::StopRequested { hurry: false } }];
    let outcome = append(&mut ledger, &mut state, &events, &[b"small".to_vec(), vec![0; SMALL_BLOB + 1]]);
    assert!(matches!(outcome, Err(LedgerError::Blob { .. })));
    assert_eq!(ledger.end(), before);
    drop(ledger);
    let (ledger, _) = Ledger::open(dir.path()).unwrap();
    assert_eq!(ledger.end(), before);
    assert!(matches!(ledger.blob(&BlobId::of(b"small")), Err(LedgerError::NoBlob { .. })));
}

#[test]
fn readers_see_whole_turns_while_the_engine_writes() {
    let dir = tempfile::tempdir().unwrap();
    study(dir.path(), 1);
    let path = dir.path().to_owned();
    let writer = std::thread::spawn(move || {
        let (mut ledger, mut state) = Ledger::open(&path).unwrap();
        for n in 2..300 {
            let contents = Contents(vec![("train.py".into(), format!("lr = {n}").into_bytes())]);
            let events = [Event { at: Timestamp(9), what: What::Proposed(proposed(n, &contents)) }];
            append(&mut ledger, &mut state, &events, &[contents.0[0].1.clone()]).unwrap();
        }
    });
    let mut last = 0;
    while !writer.is_finished() {
        let reader = Reader::open(dir.path()).unwrap();
        let rows = reader.last_rows(1).unwrap();
        assert!(rows[0].experiment.0 >= last);
        last = rows[0].experiment.0;
    }
    writer.join().unwrap();
    assert_eq!(verify_ledger(dir.path()).unwrap().experiments, 299);
}

/// A ledger as version 1.0 wrote it. It stays as it is: a change of the format that cannot read it is a new major one.
#[test]
fn a_ledger_of_format_1_0_is_read_verified_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-1.0.db");
    fs::copy(fixture, dir.path().join("ledger.db")).unwrap();
    let found = verify_ledger(dir.path()).unwrap();
    assert_eq!((found.experiments, found.state.champion), (2, Some(ExperimentId(2))));
    let (mut ledger, mut state) = Ledger::open(dir.path()).unwrap();
    let summary = state.summary().unwrap();
    assert_eq!((summary.kept, summary.not_better, summary.champion.unwrap().metric), (1, 1, Some(0.0)));
    let events = [Event { at: Timestamp(9), what: What::StopRequested { hurry: false } }];
    append(&mut ledger, &mut state, &events, &[]).unwrap();
    verify_ledger(dir.path()).unwrap();
    drop(ledger);
    let db = rusqlite::Connection::open(dir.path().join("ledger.db")).unwrap();
    let format: String = db.query_row("SELECT value FROM meta WHERE name = 'format'", [], |row| row.get(0)).unwrap();
    assert_eq!(format, FormatVersion::CURRENT.to_string(), "an older engine must not write to it any more");
}

/// The same of version 1.1, which had no index of the study's own events.
#[test]
fn a_ledger_of_format_1_1_is_read_verified_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-1.1.db");
    fs::copy(fixture, dir.path().join("ledger.db")).unwrap();
    assert_eq!(Reader::open(dir.path()).unwrap().imports().unwrap(), []);
    assert_eq!(verify_ledger(dir.path()).unwrap().experiments, 2);
    let (mut ledger, mut state) = Ledger::open(dir.path()).unwrap();
    let (event, blob) = imported("results.tsv");
    append(&mut ledger, &mut state, &[event], &[blob]).unwrap();
    assert_eq!(ledger.reader().imports().unwrap().len(), 1);
    let found = verify_ledger(dir.path()).unwrap();
    assert_eq!((found.experiments, found.state.summary().unwrap().imported), (2, 3));
    assert!(plan_of_imports(dir.path()).contains("events_of_study"));
}

/// A noisy study of version 1.3, by an earlier judge: what it decided stays, what it believed of the noise may differ.
#[test]
fn a_ledger_of_format_1_3_and_an_earlier_judge_is_read_verified_and_written() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-1.3.db");
    fs::copy(fixture, dir.path().join("ledger.db")).unwrap();
    let stored = Reader::open(dir.path()).unwrap().summary().unwrap().unwrap();
    let found = verify_ledger(dir.path()).unwrap();
    assert_eq!((found.experiments, found.state.champion), (14, Some(ExperimentId(7))));
    let summary = found.state.summary().unwrap();
    assert_eq!((summary.kept, summary.not_better, &summary.spent), (4, 10, &stored.spent));
    assert_eq!((&summary.baseline, &summary.champion), (&stored.baseline, &stored.champion));
    assert!(stored.judge < summary.judge && stored.noise.sd != summary.noise.sd, "{stored:?}");
    let (mut ledger, mut state) = Ledger::open(dir.path()).unwrap();
    let events = [Event { at: Timestamp(9), what: What::StopRequested { hurry: false } }];
    append(&mut ledger, &mut state, &events, &[]).unwrap();
    verify_ledger(dir.path()).unwrap();
}

fn imported(source: &str) -> (Event, Vec<u8>) {
    let entries = b"{\"row\":{\"description\":\"x\"}}\n".repeat(3);
    let imported = Imported {
        source: source.into(),
        format: "results-tsv".into(),
        sha256: BlobId::of(source.as_bytes()).0,
        entries: BlobId::of(&entries),
        rows: 3,
        metric: None,
    };
    (Event { at: Timestamp(2_000), what: What::Imported(imported) }, entries)
}

/// How SQLite finds what was imported: among a hundred thousand experiments it must not look at them all.
fn plan_of_imports(dir: &Path) -> String {
    let db = rusqlite::Connection::open(dir.join("ledger.db")).unwrap();
    let sql = "EXPLAIN QUERY PLAN SELECT seq, at, body, hash FROM events
        WHERE experiment IS NULL AND body LIKE '{\"kind\":\"imported\"%' ORDER BY seq";
    db.query_row(sql, [], |row| row.get(3)).unwrap()
}

#[test]
fn what_was_imported_is_found_without_reading_the_experiments() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = study(dir.path(), 3);
    let (mut ledger, _) = Ledger::open(dir.path()).unwrap();
    for source in ["results.tsv", "log.jsonl"] {
        let (event, blob) = imported(source);
        append(&mut ledger, &mut state, &[event], &[blob]).unwrap();
    }
    let sources: Vec<String> = ledger.reader().imports().unwrap().into_iter().map(|(_, found)| found.source).collect();
    assert_eq!(sources, ["results.tsv", "log.jsonl"]);
    assert!(plan_of_imports(dir.path()).contains("events_of_study"), "{}", plan_of_imports(dir.path()));
    assert_eq!(verify_ledger(dir.path()).unwrap().experiments, 3);
}

#[test]
fn an_imported_history_that_was_changed_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = study(dir.path(), 1);
    let (mut ledger, _) = Ledger::open(dir.path()).unwrap();
    let (event, blob) = imported("results.tsv");
    append(&mut ledger, &mut state, &[event], std::slice::from_ref(&blob)).unwrap();
    drop(ledger);
    meddle(dir.path(), &format!("UPDATE blobs SET bytes = x'00' WHERE id = '{}'", BlobId::of(&blob)));
    let found = verify_ledger(dir.path()).unwrap_err();
    assert!(matches!(found, Discrepancy::Blob { .. }), "{found}");
}
