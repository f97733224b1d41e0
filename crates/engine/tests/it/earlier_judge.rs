//! A study that was begun under another judge: what that one decided stays, and this one goes on from there.

use std::fs;
use std::path::Path;

use overnight_engine::ledger::{Ledger, Reader, Turn, verify_ledger};
use overnight_model::event::{Proposed, RunFacts, Scope};
use overnight_model::measure::{Measurement, Usage};
use overnight_model::proposal::{Contents, content_id};
use overnight_model::spec::{AgentKind, AgentSpec, JudgeSpec, Limits, Network, SandboxSpec, Spec};
use overnight_model::study::Row;
use overnight_model::{CommitId, Ending, Event, ExperimentId, Millis, Score, Step, Study, Timestamp, Verdict, What};

/// Of format 1.3, by the first judge, which did not say which one it was.
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ledger-1.3.db");

#[test]
fn a_study_of_an_earlier_judge_goes_on_and_its_verdicts_stay() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(FIXTURE, dir.path().join("ledger.db")).unwrap();
    let (before, summary) = (rows(dir.path()), Reader::open(dir.path()).unwrap().summary().unwrap().unwrap());
    assert!(summary.judge < overnight_model::judge::EDITION);
    let mut night = Night::resume(dir.path());
    let better = night.play(0.01);
    let worse = night.play(5.0);
    assert_eq!((better.0, worse.0), (Verdict::Kept, Verdict::Discarded));
    // Every turn has stored what this judge believes, of everything.
    let found = verify_ledger(dir.path()).unwrap();
    assert_eq!((found.experiments, found.state.champion), (16, Some(better.1)));
    let after = Reader::open(dir.path()).unwrap().summary().unwrap().unwrap();
    assert_eq!((after.judge, after.kept), (overnight_model::judge::EDITION, summary.kept + 1));
    // Baseline and champion are measured on, and their level with it; what was decided is not decided again.
    let decided = |row: &Row| (row.experiment, row.verdict, row.reason.clone(), row.gain, row.commit.clone());
    let now: Vec<_> = rows(dir.path()).iter().take(before.len()).map(decided).collect();
    assert_eq!(now, before.iter().map(decided).collect::<Vec<_>>());
}

#[test]
fn what_an_earlier_judge_believed_may_differ_and_what_it_counted_may_not() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(FIXTURE, dir.path().join("ledger.db")).unwrap();
    let set = |field: &str, value: &str| {
        let db = rusqlite::Connection::open(dir.path().join("ledger.db")).unwrap();
        let sql = format!("UPDATE summary SET body = json_set(body, '$.{field}', {value})");
        assert_eq!(db.execute(&sql, []).unwrap(), 1);
    };
    set("gained.gain", "7.5");
    set("noise.sd", "0.5");
    verify_ledger(dir.path()).unwrap();
    // One that says it is this judge believes what this judge believes.
    set("judge", &overnight_model::judge::EDITION.to_string());
    assert!(verify_ledger(dir.path()).is_err());
    set("judge", "1");
    verify_ledger(dir.path()).unwrap();
    set("kept", "5");
    assert!(verify_ledger(dir.path()).is_err());
}

fn rows(dir: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    Reader::open(dir).unwrap().each_row(ExperimentId(0), |row| rows.push(row)).unwrap();
    rows
}

/// A run that goes on with what is stored, and stores what happens as the loop does.
struct Night {
    study: Study,
    ledger: Ledger,
    at: i64,
}

impl Night {
    fn resume(dir: &Path) -> Night {
        let (ledger, state) = Ledger::open(dir).unwrap();
        let facts = ledger.reader().segments().unwrap().remove(0);
        let agent = AgentSpec::one(AgentKind::Command("agent".into()), Millis::seconds(60), Network::Full);
        let spec = Spec {
            study: "main".into(),
            surface: facts.surface,
            program: "program.md".into(),
            metric: facts.metric,
            evaluate: facts.evaluate,
            holdout: None,
            guards: Vec::new(),
            judge: JudgeSpec::default(),
            agent,
            sandbox: SandboxSpec::default(),
            gateway: Default::default(),
            slots: 1,
            limits: Limits::default(),
            notify: Default::default(),
        };
        let mut night = Night { study: Study::new(spec, state), ledger, at: 1_794_800_000_000 };
        let (version, boot, containment, sandbox, agent) = Default::default();
        let scope = Scope::Loop { experiments: None };
        let run =
            RunFacts { run: 2, scope, slots: 1, version, pid: 1, boot, containment, sandbox, agent, metered: None };
        night.happen(What::RunStarted(run), &[]);
        night
    }

    fn happen(&mut self, what: What, blobs: &[Vec<u8>]) {
        let events = [Event { at: Timestamp(self.at), what }];
        self.study.apply(&events[0]);
        self.at += 1;
        let touched = self.study.take_touched();
        let state = self.study.state();
        let rows: Vec<Row> = touched.into_iter().filter_map(|id| state.row(id)).collect();
        let summary = state.summary();
        self.ledger.append(&Turn { events: &events, blobs, rows: &rows, summary: summary.as_ref() }).unwrap();
    }

    /// One experiment of this level, until its verdict is carried out. The champions before it stay what they were.
    fn play(&mut self, level: f64) -> (Verdict, ExperimentId) {
        let mut verdict = None;
        loop {
            let step = self.study.next_step(Timestamp(self.at)).expect("a step");
            if let (Step::Ask { .. }, Some(verdict)) = (&step, verdict) {
                return verdict;
            }
            if let Some(what) = step.event() {
                self.happen(what, &[]);
            }
            match step {
                Step::Ask { experiment, parent, .. } => self.propose(experiment, parent, level),
                Step::StartTrial { trial, experiment, .. } => {
                    let known = self.study.state().row(experiment).filter(|row| row.verdict.is_some());
                    let level = known.and_then(|row| row.metric).unwrap_or(level);
                    let scatter = 0.004 * (trial.0 % 5) as f64 - 0.008;
                    let measurement = Measurement {
                        ending: Ending::Exited { code: 0 },
                        metric: Score::new(level + scatter),
                        problem: None,
                        numbers: Default::default(),
                        usage: Usage { wall: Millis(300), cpu: Millis(300), peak_bytes: 0 },
                        output: None,
                        claim: None,
                        scorer: None,
                        replayed: false,
                    };
                    self.happen(What::TrialFinished { trial, experiment, measurement }, &[]);
                }
                Step::Judge(judged) => verdict = Some((judged.verdict, judged.experiment)),
                Step::AdvanceBranch { experiment } => {
                    let from = self.study.state().champion().and_then(|champion| champion.commit.clone());
                    let (to, retracted) = (CommitId(format!("{:040}", experiment.0)), self.study.state().retreating);
                    self.happen(What::BranchAdvanced { experiment, from, to, retracted }, &[]);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn propose(&mut self, experiment: ExperimentId, parent: CommitId, level: f64) {
        let text = format!("level = {level}\n").into_bytes();
        let surface = Contents(vec![("knob.py".to_owned(), text.clone())]).blobs();
        let proposed = Proposed {
            experiment,
            agent: "command".into(),
            parent,
            commit: CommitId(format!("{:040}", 1000 + experiment.0)),
            commit_time: 1,
            description: format!("idea {experiment}"),
            content: content_id(&surface),
            surface,
            form: None,
            tokens: None,
            reseeds: false,
            edits: Vec::new(),
            used: None,
            took: Millis(0),
            output: None,
        };
        self.happen(What::Proposed(proposed), &[text]);
    }
}
