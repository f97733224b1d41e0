//! Several agents in one study: whose turn it is, who is waited for, and what a plateau changes.

use super::*;
use crate::event::Trouble;
use crate::judge::Estimate;
use crate::spec::Member;
use crate::study::AgentRow;
use crate::study::team::{described, shares};

const HOUR: i64 = 3_600_000;

fn member(name: &str, kind: AgentKind) -> Member {
    let one = AgentSpec::one(kind, Millis::seconds(60), Network::Full);
    Member { name: name.into(), ..one.members[0].clone() }
}

fn command(name: &str) -> Member {
    member(name, AgentKind::Command(name.into()))
}

fn tuner() -> Member {
    member("tuner", AgentKind::Tuner)
}

fn team(members: Vec<Member>) -> Spec {
    with(|spec| spec.agent.members = members)
}

/// The agent of the next question, which is asked.
fn asked(driver: &mut Driver) -> (ExperimentId, String) {
    match driver.step() {
        Step::Ask { experiment, agent, .. } => (experiment, agent),
        other => panic!("{other:?}"),
    }
}

fn outage() -> AttemptFailure {
    AttemptFailure::Error { what: "503".into(), trouble: Some(Trouble::Outage) }
}

fn row(agent: &str, turns: u64, gain: f64, hours: f64) -> AgentRow {
    AgentRow { agent: agent.into(), turns, gain, hours, ..AgentRow::default() }
}

/// One turn to its verdict: a minute of thinking, then a trial with this score.
fn turn(driver: &mut Driver, text: &str, score: impl Fn(&str) -> f64) -> String {
    let (experiment, agent) = asked(driver);
    driver.now += 60_000;
    let parent = driver.study.state().champion().and_then(|champion| champion.commit.clone()).unwrap();
    let made = Proposed { agent: agent.clone(), ..proposal(experiment, parent, text, None) };
    driver.happen(What::Proposed(made));
    while matches!(driver.next(), Some(Step::StartTrial { .. })) {
        driver.now += 1000;
        driver.trial(score(&agent));
    }
    let (verdict, _) = driver.verdict();
    if verdict == Verdict::Kept {
        driver.advance();
    }
    agent
}

#[test]
fn without_a_gain_everyone_has_the_same_share() {
    let members = [command("a"), tuner()];
    assert_eq!(shares(&members, &[], None), [0.5, 0.5]);
    assert_eq!(shares(&members, &[row("a", 5, 0.0, 1.0), row("tuner", 5, 0.0, 0.1)], None), [0.5, 0.5]);
    assert_eq!(described(&members, &[], None), "a 50 %, tuner 50 %: nobody has gained anything yet");
}

#[test]
fn who_gains_more_in_an_hour_has_more_turns_and_nobody_falls_below_the_floor() {
    let members = [command("claude"), tuner()];
    let rows = [row("claude", 40, 0.016, 4.0), row("tuner", 40, 0.001, 1.0)];
    let found = shares(&members, &rows, None);
    assert!(found[0] > 0.6 && found[0] < 0.9, "{found:?}");
    assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let told = described(&members, &rows, None);
    assert!(told.ends_with("claude gained 0.004 an hour, tuner 0.001"), "{told}");
    let nothing = [row("claude", 100, 1.0, 1.0), row("tuner", 100, 0.0, 100.0)];
    let found = shares(&members, &nothing, None);
    assert!(found[1] >= 0.1, "{found:?}");
    let many: Vec<Member> = (0..12).map(|at| command(&format!("m{at}"))).collect();
    let found = shares(&many, &[row("m0", 100, 1.0, 1.0)], None);
    assert!(found.iter().all(|share| *share > 0.04) && (found.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
}

#[test]
fn written_shares_stay_whatever_is_found() {
    let weighed = |name: &str, weight| Member { weight: Some(weight), ..command(name) };
    let members = vec![weighed("a", 3.0), weighed("b", 1.0)];
    let plateau = Some(Plateau { experiments: 50, usual: 3 });
    assert_eq!(shares(&members, &[row("b", 9, 5.0, 1.0)], plateau), [0.75, 0.25]);
    let mut driver = Driver::calibrated(team(members), [1.0; 3]);
    let turns: Vec<String> = (0..12).map(|at| turn(&mut driver, &format!("t{at}"), |_| 2.0)).collect();
    assert_eq!(turns.iter().filter(|turn| *turn == "a").count(), 9, "{turns:?}");
    assert_eq!(turns[..4].iter().filter(|turn| *turn == "b").count(), 1, "evenly: {turns:?}");
}

#[test]
fn the_better_one_gets_most_turns_and_the_same_events_give_the_same_turns() {
    let play = || {
        let mut driver = Driver::calibrated(team(vec![command("good"), command("bad")]), [1000.0; 3]);
        let mut level = 1000.0;
        let mut turns = Vec::new();
        for at in 0..60 {
            // One finds a little every third time, the other nothing ever.
            let better = at % 3 == 0;
            let agent = turn(&mut driver, &format!("t{at}"), |agent| match agent {
                "good" if better => level - 1.0,
                _ => level + 5.0,
            });
            if agent == "good" && better {
                level -= 1.0;
            }
            turns.push(agent);
        }
        turns
    };
    let turns = play();
    assert_eq!(turns, play());
    let late = &turns[20..];
    let good = late.iter().filter(|turn| *turn == "good").count();
    assert!(good > 28, "{good} of 40: {turns:?}");
    assert!(good <= 37, "the other has its tenth: {turns:?}");
}

#[test]
fn a_keep_that_is_taken_back_earned_nothing() {
    let mut driver = Driver::calibrated(team(vec![command("a"), command("b")]), [1.0, 1.001, 0.999]);
    let (experiment, _) = asked(&mut driver);
    driver.now += HOUR;
    driver.proposed(experiment, "x");
    let (verdict, _, _) = driver.settle(&[0.5], &[1.0]);
    assert_eq!(verdict, Verdict::Kept);
    driver.advance();
    assert!(driver.study.state().agent_row("a").gain > 0.4);
    let estimate = Estimate { gain: -0.1, low: None, high: None };
    let reason = Reason::SameAsChampion { in_form: false };
    driver.happen(What::Retracted(crate::event::Retracted { experiment, reason, estimate }));
    let row = driver.study.state().agent_row("a");
    assert_eq!((row.gain, row.kept, row.turns), (0.0, 0, 1));
    assert!(row.hours >= 1.0);
}

#[test]
fn who_is_waited_for_is_not_asked_and_the_others_have_the_slot() {
    let mut driver = Driver::calibrated(team(vec![command("claude"), tuner()]), [1.0; 3]);
    let (experiment, agent) = asked(&mut driver);
    assert_eq!(agent, "claude");
    driver.happen(What::AttemptFailed { experiment, failure: outage(), output: None, used: None });
    assert_eq!(driver.verdict().0, Verdict::AgentError);
    let until = driver.study.state().waits_until("claude").unwrap();
    assert_eq!(until.0 - driver.now, 15_000);
    assert_eq!(driver.study.state().waiting().collect::<Vec<_>>(), [("claude", until)]);
    for at in 0..2 {
        driver.now += 1000;
        let (experiment, agent) = asked(&mut driver);
        assert_eq!(agent, "tuner", "nobody waits with it");
        driver.proposed(experiment, &format!("t{at}"));
        driver.trial(2.0);
        driver.verdict();
    }
    driver.now = until.0;
    assert_eq!(asked(&mut driver).1, "claude", "it is furthest behind its share");
    let summary = driver.study.state().summary().unwrap();
    let told: Vec<_> = summary.team.iter().map(|row| (row.agent.as_str(), row.turns, row.waits_until)).collect();
    assert_eq!(told, [("tuner", 2, None), ("claude", 1, Some(until))], "an outage was no turn");
}

#[test]
fn where_all_are_waited_for_the_first_to_be_back_wakes_the_loop() {
    let mut driver = Driver::calibrated(team(vec![command("a"), command("b")]), [1.0; 3]);
    for _ in 0..2 {
        let (experiment, _) = asked(&mut driver);
        driver.happen(What::AttemptFailed { experiment, failure: outage(), output: None, used: None });
        driver.verdict();
        driver.now += 5000;
    }
    assert_eq!(driver.next(), None);
    let until = driver.study.next_deadline(Timestamp(driver.now)).unwrap();
    assert_eq!(Some(until), driver.study.state().waits_until("a"));
    driver.now = until.0;
    assert_eq!(asked(&mut driver).1, "a");
}

#[test]
fn one_who_always_fails_is_left_alone_and_ends_no_run() {
    let mut driver = Driver::calibrated(team(vec![command("broken"), command("good")]), [1.0; 3]);
    let mut failed = 0;
    for at in 0..40 {
        let (experiment, agent) = asked(&mut driver);
        driver.now += 1000;
        if agent == "broken" {
            failed += 1;
            let failure = AttemptFailure::error("exit code 1");
            driver.happen(What::AttemptFailed { experiment, failure, output: None, used: None });
        } else {
            driver.proposed(experiment, &format!("t{at}"));
            driver.trial(2.0);
        }
        driver.verdict();
    }
    assert_eq!(failed, 10, "then it is left alone");
    let until = driver.study.next_deadline(Timestamp(driver.now)).unwrap();
    driver.now = until.0;
    assert_eq!(asked(&mut driver).1, "broken", "after an hour it may have been mended");
}

#[test]
fn a_run_ends_where_everyone_fails_or_has_no_idea_left() {
    let mut driver = Driver::calibrated(team(vec![command("a"), tuner()]), [1.0; 3]);
    let mut turns = Vec::new();
    let reason = loop {
        match driver.step() {
            Step::Ask { experiment, agent, .. } => {
                let failure = match agent.as_str() {
                    "a" => AttemptFailure::error("exit code 1"),
                    _ => AttemptFailure::Exhausted { what: "nothing to tune".into() },
                };
                driver.happen(What::AttemptFailed { experiment, failure, output: None, used: None });
                driver.verdict();
                turns.push(agent);
            }
            Step::Stop(reason) => break reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(turns.iter().filter(|agent| *agent == "tuner").count(), 1, "it is not asked over and over: {turns:?}");
    assert!(
        matches!(&reason, StopReason::FailedAttempts { in_a_row: 10, last } if last.contains("exit code 1")),
        "{reason:?}"
    );
}

#[test]
fn on_another_champion_the_tuner_may_have_ideas_again() {
    let mut driver = Driver::calibrated(team(vec![tuner(), command("a")]), [1.0; 3]);
    let nothing = || AttemptFailure::Exhausted { what: "nothing to tune".into() };
    let (experiment, agent) = asked(&mut driver);
    assert_eq!(agent, "tuner");
    driver.happen(What::AttemptFailed { experiment, failure: nothing(), output: None, used: None });
    driver.verdict();
    for (text, score) in [("x", 2.0), ("y", 0.5)] {
        let (experiment, agent) = asked(&mut driver);
        assert_eq!(agent, "a", "nothing has changed for the tuner");
        driver.proposed(experiment, text);
        driver.settle(&[score], &[1.0]);
    }
    driver.advance();
    assert_eq!(asked(&mut driver).1, "tuner");
}

#[test]
fn while_one_thinks_the_tuner_has_the_slot_unless_experiments_are_counted() {
    let play = |scope: Scope, members: Vec<Member>| {
        let mut driver = Driver::calibrated(team(members), [1.0; 3]);
        driver.start(scope, 1);
        assert_eq!(asked(&mut driver).1, "claude");
        driver
    };
    let mut driver = play(Driver::LOOP, vec![command("claude"), tuner()]);
    for at in 0..3 {
        let (experiment, agent) = asked(&mut driver);
        assert_eq!(agent, "tuner");
        assert_eq!(driver.next(), None, "one for one slot");
        driver.proposed(experiment, &format!("t{at}"));
        driver.trial(2.0);
        assert_eq!(driver.next().and_then(|step| step.event()).and_then(|what| what.experiment()), Some(experiment));
        driver.verdict();
    }
    assert_eq!(play(Scope::Loop { experiments: Some(5) }, vec![command("claude"), tuner()]).next(), None);
    assert_eq!(
        play(Driver::LOOP, vec![command("claude"), command("b")]).next(),
        None,
        "two who think are one too many"
    );
    let weighed = |member: Member| Member { weight: Some(1.0), ..member };
    assert_eq!(play(Driver::LOOP, vec![weighed(command("claude")), weighed(tuner())]).next(), None);
}

#[test]
fn on_a_plateau_the_others_are_next_and_a_keep_ends_it() {
    let mut driver = Driver::calibrated(team(vec![command("good"), command("other")]), [1000.0; 3]);
    let (mut level, mut at) = (1000.0, 0);
    let mut play = |driver: &mut Driver, finds: bool| {
        at += 1;
        let agent =
            turn(driver, &format!("t{at}"), |agent| if finds && agent == "good" { level - 1.0 } else { level + 5.0 });
        if finds && agent == "good" {
            level -= 1.0;
        }
        agent
    };
    for _ in 0..30 {
        play(&mut driver, true);
    }
    assert_eq!(driver.study.state().plateau(), None);
    let before: Vec<String> = (0..20).map(|_| play(&mut driver, false)).collect();
    let leader = before.iter().filter(|agent| *agent == "good").count();
    assert!(leader > 12, "{before:?}");
    let plateau = driver.study.state().plateau().expect("twenty without a keep");
    assert!(plateau.usual <= 3 && driver.study.state().summary().unwrap().plateau == Some(plateau));
    let next: Vec<String> = (0..5).map(|_| play(&mut driver, false)).collect();
    assert!(next.iter().filter(|agent| *agent == "other").count() >= 4, "{next:?}");
    while play(&mut driver, true) != "good" {}
    assert_eq!(driver.study.state().plateau(), None);
}

#[test]
fn on_a_plateau_what_came_close_is_tried_once_more_while_a_slot_would_wait() {
    const NOISE: [f64; 6] = [0.03, -0.03, 0.05, -0.05, 0.01, -0.02];
    let mut driver = Driver::calibrated(spec(), [1.0, 1.05, 0.95]);
    let is_near = |id: ExperimentId| id.0.is_multiple_of(4);
    let (mut again, mut trials) = (Vec::new(), Vec::new());
    while again.is_empty() || again.iter().any(|id| driver.study.state().find(*id).is_some()) {
        assert!(trials.len() < 2000, "some came close, and are tried again: {again:?}");
        match driver.step() {
            Step::StartTrial { trial, experiment, purpose, .. } => {
                let level = match experiment {
                    id if id.is_baseline() => 1.0,
                    id if again.contains(&id) => 1.1,
                    id if is_near(id) => 1.002,
                    _ => 1.3,
                };
                let value = level + NOISE[trials.len() % 6];
                trials.push(experiment);
                driver.finish((trial, experiment, purpose), measured(Some(value)));
            }
            // From then on it thinks, and the slot would wait for it.
            Step::Ask { .. } if driver.study.state().plateau().is_some() => {}
            Step::Ask { experiment, .. } => driver.proposed(experiment, &format!("idea {experiment}")),
            Step::Again(near) => {
                assert!(driver.study.state().plateau().is_some(), "not before there is one");
                assert!(is_near(near.experiment), "{near:?}");
                let experiment = driver.study.state().next_experiment();
                let parent = driver.study.state().champion().and_then(|champion| champion.commit.clone()).unwrap();
                driver.happen(What::Proposed(proposal(experiment, parent, &near.description, None)));
                again.push(experiment);
            }
            Step::AdvanceBranch { experiment } => {
                let from = driver.study.state().champion().and_then(|champion| champion.commit.clone());
                let retracted = driver.study.state().retreating;
                let to = CommitId(format!("commit of {experiment} after {} trials", trials.len()));
                driver.happen(What::BranchAdvanced { experiment, from, to, retracted });
            }
            Step::Retract(_) => {}
            Step::Judge(judged) => {
                assert_ne!(judged.verdict, Verdict::Duplicate, "{}", judged.reason);
                driver.study.forget_judged();
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(again.len() <= 5 && again.iter().all(|id| trials.contains(id)), "each had another trial: {again:?}");
}

fn paid(row: AgentRow, dollars: f64) -> AgentRow {
    AgentRow { dollars, priced_hours: row.hours, ..row }
}

#[test]
fn who_gains_as_much_for_less_money_has_more_turns() {
    let members = [command("dear"), command("cheap")];
    let rows = [paid(row("dear", 40, 1.0, 2.0), 20.0), paid(row("cheap", 40, 1.0, 2.0), 0.2)];
    let found = shares(&members, &rows, None);
    assert!(found[1] > 0.65 && found[0] >= 0.1, "{found:?}");
    let told = described(&members, &rows, None);
    assert!(told.ends_with("dear gained 0.5 an hour and 0.05 a dollar, cheap 0.5 and 5 a dollar"), "{told}");
}

#[test]
fn where_no_cost_is_known_time_alone_decides() {
    let members = [command("a"), command("b")];
    let rows = [row("a", 40, 3.0, 2.0), row("b", 40, 1.0, 2.0)];
    let free = rows.clone().map(|row| paid(row, 0.0));
    assert_eq!(shares(&members, &rows, None), shares(&members, &free, None));
    let known_of_one = [paid(rows[0].clone(), 5.0), rows[1].clone()];
    let found = shares(&members, &known_of_one, None);
    let by_time = shares(&members, &rows, None);
    assert!((found[0] - by_time[0]).abs() < 1e-12, "the other is taken to be as dear: {found:?} {by_time:?}");
}

#[test]
fn nobody_falls_below_the_floor_however_dear() {
    let members = [command("dear"), tuner()];
    let rows = [paid(row("dear", 100, 0.0, 1.0), 1e6), paid(row("tuner", 100, 1.0, 1.0), 0.0)];
    assert!(shares(&members, &rows, None)[0] >= 0.1);
}

#[test]
fn a_team_says_why_it_was_somebodys_turn_and_one_alone_does_not() {
    let why = |driver: &mut Driver| match driver.step() {
        Step::Ask { why, .. } => why,
        other => panic!("{other:?}"),
    };
    let mut driver = Driver::calibrated(team(vec![command("a"), command("b")]), [1.0; 3]);
    let told = why(&mut driver);
    assert!(told.starts_with("of the turns it is to have 50 % and had 0 % of late; a 50 %, b 50 %"), "{told}");
    let mut alone = Driver::calibrated(spec(), [1.0; 3]);
    assert_eq!(why(&mut alone), "");
}

#[test]
fn one_whose_provider_is_back_is_asked_although_somebody_else_is_always_asked_ahead() {
    let members = vec![command("down"), command("steady")];
    let mut driver = Driver::calibrated(with(|spec| (spec.agent.members, spec.agent.ahead) = (members, 1)), [1.0; 3]);
    let (experiment, agent) = asked(&mut driver);
    assert_eq!(agent, "down");
    driver.happen(What::AttemptFailed { experiment, failure: outage(), output: None, used: None });
    driver.verdict();
    let (experiment, agent) = asked(&mut driver);
    assert_eq!(agent, "steady");
    driver.proposed(experiment, "a");
    let _running = driver.start_trial();
    driver.now = driver.study.state().waits_until("down").unwrap().0;
    assert_eq!(asked(&mut driver).1, "down", "no slot is free, and the other one would be asked for the next");
}
