use overnight_engine::ledger::Mark;
use overnight_model::event::{
    Judged, Proposed, Purpose, Retracted, Reviewed, RunFacts, Scope, SegmentFacts, StopReason,
};
use overnight_model::judge::{Estimate, Opinion};
use overnight_model::measure::Usage;
use overnight_model::spec::{Evaluate, Metric, Pick, Surface};
use overnight_model::study::{Level, NoiseRow, Summary};
use overnight_model::{
    CommitId, ContentId, Ending, Event, Goal, Measurement, Millis, Reason, Score, Seed, Segment, Slot, TrialId, What,
};

use overnight_model::Verdict;

use super::*;
use crate::views::board::headline::{Gained, Surety};

pub(crate) fn setting() -> Setting {
    Setting {
        study: "main".to_owned(),
        flag: String::new(),
        is_running: false,
        asked: Asked::default(),
        holdout: None,
        now: Timestamp(1_000_000),
    }
}

pub(crate) fn row(id: u64, verdict: Option<Verdict>, metric: Option<f64>) -> Row {
    Row {
        experiment: ExperimentId(id),
        segment: 0,
        parent: Some(CommitId("base".to_owned())),
        commit: Some(CommitId(format!("commit{id}"))),
        agent: "tuner".to_owned(),
        description: format!("idea {id}"),
        verdict,
        reason: Some("because".to_owned()),
        metric,
        gain: None,
        gain_low: None,
        gain_high: None,
        trials: 1,
        seconds: Some(1.0),
        cost_usd: None,
        started_at: Timestamp(0),
    }
}

pub(crate) fn summary() -> Summary {
    let level = |id: u64, metric: f64| {
        let (experiment, commit) = (ExperimentId(id), CommitId(format!("commit{id}")));
        Some(Level { experiment, commit, metric: Some(metric), trials: 3 })
    };
    Summary {
        study: "main".to_owned(),
        segment: 0,
        metric: "loss".to_owned(),
        goal: Goal::Min,
        stopped: Some(StopReason::Done),
        baseline: level(0, 4.0),
        champion: level(2, 3.0),
        experiments: 5,
        kept: 1,
        not_better: 3,
        broken: 1,
        refused: 0,
        not_counted: 0,
        open: 0,
        running: Vec::new(),
        noise: NoiseRow { sd: Some(0.1), trials: 4, ..NoiseRow::default() },
        assurance: "cooperative".to_owned(),
        sandbox: "standard".to_owned(),
        slots: 1,
        run_started_at: None,
        pid: None,
        past: Vec::new(),
        suspects: 0,
        paused: false,
        team: Vec::new(),
        plateau: None,
        flaky: Vec::new(),
        imported: 0,
        gained: Some(Estimate { gain: 1.0, low: Some(0.8), high: Some(1.2) }),
        is_measured: true,
        spent: Default::default(),
        trial_time: Some(Millis(1000)),
        judge: 1,
        costs: Default::default(),
    }
}

/// A ledger in the making.
#[derive(Default)]
pub(crate) struct Night {
    fold: Fold,
    pub(crate) events: Vec<Event>,
    pub(crate) at: i64,
    trials: u64,
}

impl Night {
    pub(crate) fn begun() -> Night {
        let mut night = Night::default();
        let metric = Metric {
            name: "loss".to_owned(),
            goal: Goal::Min,
            min_gain: None,
            target: None,
            plausible: None,
            pick: Pick::Only,
        };
        night.note(What::SegmentOpened(Box::new(SegmentFacts {
            segment: Segment(0),
            baseline: CommitId("base".to_owned()),
            surface: Surface { files: Vec::new(), max_lines_changed: None },
            contents: Vec::new(),
            metric,
            evaluate: Evaluate::new("run", Millis(1000)),
            guards: Vec::new(),
            assurance: "cooperative".to_owned(),
            sandbox: "standard".to_owned(),
            inputs: None,
            experiment: ExperimentId(0),
            carried: None,
            form: None,
            tokens: None,
        })));
        night.start();
        night
    }

    fn start(&mut self) {
        self.note(What::RunStarted(RunFacts {
            run: 1,
            scope: Scope::Loop { experiments: None },
            slots: 2,
            version: "0".to_owned(),
            pid: 1,
            boot: String::new(),
            containment: String::new(),
            sandbox: String::new(),
            agent: String::new(),
            metered: None,
        }));
    }

    pub(crate) fn note(&mut self, what: What) {
        self.at += 500;
        let event = Event { at: Timestamp(self.at), what };
        self.fold.apply(&event);
        self.events.push(event);
    }

    pub(crate) fn propose(&mut self, id: u64, content: &str, asked: bool) {
        let (experiment, parent) = (ExperimentId(id), CommitId("base".to_owned()));
        if asked {
            self.note(What::Asked {
                experiment,
                agent: "tuner".to_owned(),
                parent: parent.clone(),
                why: String::new(),
            });
        }
        self.note(What::Proposed(Proposed {
            experiment,
            agent: "tuner".to_owned(),
            parent,
            commit: CommitId(format!("commit{id}")),
            commit_time: 0,
            description: String::new(),
            content: ContentId(content.to_owned()),
            surface: Vec::new(),
            form: None,
            tokens: None,
            reseeds: false,
            edits: Vec::new(),
            used: None,
            took: Millis(40),
            output: None,
        }));
    }

    pub(crate) fn trial(&mut self, id: u64, purpose: Purpose, metric: f64) {
        self.trials += 1;
        let (trial, experiment) = (TrialId(self.trials), ExperimentId(id));
        let (seed, slot) = (Seed(1), Slot(0));
        self.note(What::TrialStarted { trial, experiment, purpose, seed, slot, aid: None });
        let measurement = Measurement {
            ending: Ending::Exited { code: 0 },
            metric: Score::new(metric),
            problem: None,
            numbers: Default::default(),
            usage: Usage { wall: Millis(300), ..Usage::default() },
            output: None,
            claim: None,
            scorer: None,
            replayed: false,
        };
        self.note(What::TrialFinished { trial, experiment, measurement });
    }

    pub(crate) fn judge(&mut self, id: u64, verdict: Verdict) {
        self.judge_as(id, verdict, None);
    }

    fn judge_as(&mut self, id: u64, verdict: Verdict, opinion: Option<Opinion>) {
        self.note(What::Judged(Judged {
            experiment: ExperimentId(id),
            verdict,
            reason: Reason::NewSegment,
            metric: None,
            estimate: None,
            opinion,
        }));
    }

    pub(crate) fn advance(&mut self, id: u64, to: &str, retracted: Option<u64>) {
        let (experiment, to) = (ExperimentId(id), CommitId(to.to_owned()));
        self.note(What::BranchAdvanced { experiment, from: None, to, retracted: retracted.map(ExperimentId) });
    }
}

fn gathered(fold: Fold, rows: Vec<Row>) -> Board {
    let mut gather = Gather::new(fold, Some(summary()), setting());
    rows.into_iter().for_each(|row| gather.row(row));
    gather.board()
}

#[test]
fn trials_are_counted_for_their_night_and_for_all_nights_together() {
    let mut night = Night::begun();
    night.trial(0, Purpose::Baseline, 4.0);
    night.propose(1, "a", true);
    night.trial(1, Purpose::Screen, 5.0);
    night.judge(1, Verdict::Discarded);
    night.note(What::RunStopped { reason: StopReason::Interrupted });
    night.at += 1_000_000;
    night.start();
    night.propose(2, "b", true);
    night.trial(2, Purpose::Screen, 3.0);
    night.trial(2, Purpose::Confirm, 3.0);
    night.judge(2, Verdict::Kept);
    night.trial(2, Purpose::Close, 3.0);
    let board = gathered(night.fold, Vec::new());
    let last = board.night.unwrap();
    let spent = |spending: &Spending| {
        let found = spending.trials;
        (found.calibrate, found.screen, found.confirm, found.sentinel, spending.experiments, spending.kept)
    };
    assert_eq!(spent(&last.spending), (0, 1, 1, 1, 1, 1));
    assert_eq!(spent(&board.total), (1, 2, 1, 1, 2, 1));
    assert_eq!((board.runs, board.total.machine, board.total.agents), (2, Millis(1500), Millis(80)));
    assert_eq!(last.stopped, None, "it goes on, or was killed");
    assert!(board.total.wall.0 < 1_000_000, "the time between two nights is nobody's: {}", board.total.wall);
}

#[test]
fn a_try_after_the_night_does_not_hide_the_night() {
    let mut night = Night::begun();
    night.trial(0, Purpose::Baseline, 4.0);
    night.note(What::RunStopped { reason: StopReason::NightWall });
    night.note(What::RunStarted(RunFacts {
        run: 2,
        scope: Scope::One,
        slots: 1,
        version: "0".to_owned(),
        pid: 1,
        boot: String::new(),
        containment: String::new(),
        sandbox: String::new(),
        agent: String::new(),
        metered: None,
    }));
    let board = gathered(night.fold, Vec::new());
    assert_eq!(board.night.unwrap().stopped, Some(StopReason::NightWall));
}

#[test]
fn the_line_of_the_champion_goes_back_where_a_keep_was_taken_back() {
    let mut night = Night::begun();
    night.propose(1, "a", true);
    night.advance(1, "commit1", None);
    night.propose(2, "b", true);
    night.propose(3, "c", true);
    night.note(What::Retracted(Retracted {
        experiment: ExperimentId(1),
        reason: Reason::NotReplicated { gain: -0.1, chance: 0.1 },
        estimate: Estimate { gain: -0.1, low: Some(-0.3), high: Some(0.1) },
    }));
    night.advance(0, "back", Some(1));
    let rows = vec![
        row(0, Some(Verdict::Baseline), Some(4.0)),
        Row { gain_low: Some(-0.3), gain_high: Some(0.1), ..row(1, Some(Verdict::Retracted), Some(4.1)) },
        row(2, Some(Verdict::Discarded), Some(5.0)),
        row(3, Some(Verdict::Crashed), None),
    ];
    let board = gathered(night.fold, rows);
    let steps: Vec<(u64, f64)> = board.plot.steps.iter().map(|step| (step.from, step.level)).collect();
    assert_eq!(steps, [(0, 4.0), (1, 4.1), (3, 4.0)]);
    assert_eq!(board.health.retracted, 1);
    let points: Vec<(u64, Option<f64>)> = board.plot.points.iter().map(|it| (it.experiment, it.value)).collect();
    assert_eq!(
        points,
        [(1, Some(4.1)), (2, Some(5.0)), (3, None)],
        "every experiment is a point, also without a value"
    );
}

#[test]
fn what_a_person_keeps_is_champion_from_that_moment_on() {
    let mut night = Night::begun();
    night.propose(1, "a", true);
    night.judge(1, Verdict::Suspect);
    night.propose(2, "b", true);
    night.propose(3, "c", true);
    let reviewed = Reviewed { experiment: ExperimentId(1), verdict: Verdict::Kept, why: String::new() };
    night.note(What::Reviewed(reviewed));
    night.advance(1, "commit1", None);
    let rows = vec![row(0, Some(Verdict::Baseline), Some(4.0)), row(1, Some(Verdict::Kept), Some(1.0))];
    let board = gathered(night.fold, rows);
    let steps: Vec<(u64, f64)> = board.plot.steps.iter().map(|step| (step.from, step.level)).collect();
    assert_eq!(steps, [(0, 4.0), (3, 1.0)]);
}

#[test]
fn one_lucky_run_is_named_as_such_and_noise_alone_is_not() {
    let mut night = Night::begun();
    night.trial(0, Purpose::Baseline, 4.0);
    for (id, best) in [(1, 3.2), (2, 3.95), (3, 5.0), (4, 3.5)] {
        night.propose(id, &format!("content {id}"), true);
        night.trial(id, Purpose::Screen, best);
        night.trial(id, Purpose::Confirm, 4.6);
    }
    let judged = |id, low, high| Row {
        gain: Some((low + high) / 2.0),
        gain_low: Some(low),
        gain_high: Some(high),
        ..row(id, Some(Verdict::Discarded), Some(4.3))
    };
    let rows = vec![
        row(0, Some(Verdict::Baseline), Some(4.0)),
        judged(1, -0.6, -0.1),
        judged(2, -0.6, -0.1),
        judged(3, -1.0, -0.5),
        judged(4, -0.1, 0.3),
    ];
    let board = gathered(night.fold, rows);
    let faded: Vec<(u64, f64)> =
        board.faded.iter().map(|it| (it.row.experiment.0, (it.once.unwrap() * 100.0).round())).collect();
    assert_eq!(faded, [(1, 80.0)], "better by eight sd once; 2 was within the noise, 3 never looked better");
    let near: Vec<u64> = board.near.iter().map(|row| row.experiment.0).collect();
    assert_eq!(near, [4], "what is undecided is a near-miss, and no disappointment");
}

#[test]
fn what_is_followed_event_by_event_is_what_is_gathered_at_once() {
    let mut night = Night::begun();
    night.propose(1, "a", true);
    night.judge(1, Verdict::Kept);
    night.advance(1, "commit1", None);
    night.propose(2, "b", true);
    night.judge(2, Verdict::Suspect);
    night.propose(3, "c", true);
    let reviewed = Reviewed { experiment: ExperimentId(2), verdict: Verdict::Kept, why: String::new() };
    night.note(What::Reviewed(reviewed));
    night.advance(2, "commit2", None);
    night.propose(4, "d", true);
    night.advance(1, "back", Some(2));
    let rows = vec![
        row(0, Some(Verdict::Baseline), Some(4.0)),
        Row { gain_low: Some(0.5), gain_high: Some(1.5), ..row(1, Some(Verdict::Kept), Some(3.0)) },
        row(2, Some(Verdict::Retracted), Some(3.1)),
        row(3, Some(Verdict::Crashed), None),
        row(4, Some(Verdict::NoChange), None),
    ];
    let mut glance = Glance::new(setting(), Terms::default(), Some(summary()), 4);
    // Half of it was there before, the rest is seen as it happens; rows come again and again.
    let half = night.events.len() / 2;
    for event in &night.events[..half] {
        glance.moved(event.what.experiment().unwrap_or(ExperimentId(0)), event);
        glance.goes_on(event);
    }
    for event in &night.events[half..] {
        glance.event(event);
        rows.iter().for_each(|row| glance.row(row));
        glance.update(Some(summary()), true, Timestamp(1_000_000));
    }
    let board = gathered(night.fold, rows);
    assert_eq!(glance.plot, board.plot);
    assert_eq!(glance.headline, board.headline);
    assert_eq!(glance.experiments, 3, "one that is told of again is no other experiment");
}

#[test]
fn on_a_large_ledger_every_keep_is_drawn_and_of_the_rest_a_part() {
    let mut glance = Glance::new(setting(), Terms::default(), Some(summary()), 100_000);
    for id in 1..=100_000u64 {
        let verdict = if id % 1000 == 7 { Verdict::Kept } else { Verdict::Discarded };
        let (experiment, metric) = (ExperimentId(id), Some(id as f64));
        glance.mark(&Mark { experiment, segment: 0, verdict: Some(verdict), metric, started_at: Timestamp(0) });
    }
    let kept = glance.plot.points.iter().filter(|point| point.verdict == Verdict::Kept).count();
    assert_eq!((kept, glance.one_in, glance.plot.last), (100, 25, 100_000));
    assert!(glance.plot.points.len() <= 4100);
}

#[test]
fn experiments_are_counted_by_the_hour_of_late() {
    let mut glance = Glance::new(setting(), Terms::default(), Some(summary()), 4);
    let mut night = Night::begun();
    night.events.iter().for_each(|event| glance.event(event));
    let hour = 3_600_000;
    for id in 1..=10 {
        let began = if id <= 4 { Timestamp(1000) } else { Timestamp(2 * hour) };
        glance.row(&Row { started_at: began, ..row(id, Some(Verdict::Discarded), Some(1.0)) });
    }
    glance.tick(Timestamp(2 * hour + 1000));
    assert_eq!((glance.experiments, glance.per_hour()), (10, Some(6.0)));
    night.note(What::RunStopped { reason: StopReason::Done });
    night.events.last().iter().for_each(|event| glance.event(event));
    assert!(glance.doing.slots.is_empty());
}

#[test]
fn failures_of_one_cause_are_one_group() {
    let said = |reason: &str, id: u64, verdict| Row { reason: Some(reason.to_owned()), ..row(id, Some(verdict), None) };
    let rows = vec![
        said("exit code 1", 1, Verdict::Crashed),
        said("exit code 1", 2, Verdict::Crashed),
        said("exit code 1", 3, Verdict::Crashed),
        said("the same surface as experiment 1", 4, Verdict::Duplicate),
        said("the same surface as experiment 3", 5, Verdict::Duplicate),
        said("too good", 6, Verdict::Suspect),
    ];
    let mut gather = Gather::new(Fold::default(), Some(summary()), setting());
    rows.into_iter().for_each(|row| gather.row(row));
    gather.words(ExperimentId(1), "NameError: a".to_owned());
    gather.words(ExperimentId(2), "out of cheese".to_owned());
    gather.words(ExperimentId(3), "NameError: a".to_owned());
    let board = gather.board();
    let found: Vec<(&str, u64, u64, bool)> = board
        .causes
        .iter()
        .map(|cause| (cause.verdict.name(), cause.count, cause.examples[0].0.0, cause.varies))
        .collect();
    assert_eq!(found, [("crashed", 2, 3, false), ("crashed", 1, 2, false), ("duplicate", 2, 5, true)]);
    assert_eq!(board.suspects.len(), 1, "a suspect is a question to a person, and no failure");
}

#[test]
fn what_the_engine_runs_again_is_counted_by_why_it_does() {
    let mut night = Night::begun();
    let undecided = |chance: f64| Opinion {
        expected: 0.01,
        low: -0.1,
        high: 0.12,
        chance,
        of_candidate: 0.0,
        of_champion: 0.0,
        price: 0.0,
    };
    // Let go for good reasons; tried again all the same, so the machine was another one.
    night.propose(1, "a", true);
    night.judge_as(1, Verdict::Discarded, Some(undecided(0.01)));
    night.propose(2, "a", false);
    night.judge(2, Verdict::Discarded);
    // One that came close gets more trials on a plateau.
    night.propose(3, "b", true);
    night.judge_as(3, Verdict::Discarded, Some(undecided(0.4)));
    night.propose(4, "b", false);
    night.judge(4, Verdict::Kept);
    // Who was asked and who wrote a letter had the same idea; neither is the engine's.
    night.propose(5, "a", true);
    night.judge(5, Verdict::Duplicate);
    night.propose(6, "a", false);
    night.note(What::Delivered { becomes: ExperimentId(6), letter: "x".to_owned() });
    night.judge(6, Verdict::Discarded);
    night.propose(7, "a", false);
    night.judge(7, Verdict::Duplicate);
    let health = gathered(night.fold, Vec::new()).health;
    assert_eq!((health.tried_again, health.second_looks), (1, 1));
}

#[test]
fn the_headline_is_no_surer_than_what_was_measured() {
    let of = |change: &dyn Fn(&mut Summary)| {
        let mut found = summary();
        change(&mut found);
        Headline::of(Some(&found))
    };
    let surety = |headline| match headline {
        Headline::Gained(Gained { surety, .. }) => Some(surety),
        _ => None,
    };
    assert_eq!(surety(of(&|_| {})), Some(Surety::Measured));
    assert_eq!(surety(of(&|it| it.is_measured = false)), Some(Surety::Expected));
    let doubtful = Estimate { gain: 0.1, low: Some(-0.1), high: Some(0.3) };
    assert_eq!(surety(of(&|it| it.gained = Some(doubtful))), Some(Surety::Doubtful));
    let exact = Estimate { gain: 1.0, low: Some(1.0), high: Some(1.0) };
    assert_eq!(surety(of(&|it| it.gained = Some(exact))), Some(Surety::Exact));
    assert_eq!(of(&|it| it.champion = it.baseline.clone()), Headline::NoneBetter);
    assert_eq!(Headline::of(None), Headline::Nothing);
    let failed = of(&|it| {
        it.champion = None;
        it.baseline.as_mut().unwrap().metric = None;
    });
    assert_eq!(failed, Headline::NoBaseline);
}

#[test]
fn experiments_of_an_earlier_segment_are_counted_and_not_drawn() {
    let mut gather = Gather::new(Fold::default(), Some(Summary { segment: 1, ..summary() }), setting());
    gather.row(row(1, Some(Verdict::Discarded), Some(4.0)));
    gather.row(Row { segment: 1, ..row(2, Some(Verdict::Discarded), Some(9.0)) });
    let board = gather.board();
    assert_eq!((board.plot.points.len(), board.plot.earlier), (1, 1));
}
