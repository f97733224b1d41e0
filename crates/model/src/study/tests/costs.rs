//! What models were asked: sums, limits, and what is not known.

use super::*;
use crate::call::account::{Allowance, Charge, Reached, Span, Unit};
use crate::call::bill::{Bill, Called};
use crate::call::{Call, CallEnd, CallId, CallOutcome, Caller, Protocol, Tokens};
use crate::event::{ModelUse, Trouble};
use crate::spec::ExpectModel;

fn called(id: u64, caller: Caller, cost_usd: Option<f64>) -> Called {
    let tokens = Tokens { input: Some(90), output: Some(10), ..Tokens::default() };
    Called {
        call: Call {
            id: CallId(id),
            caller,
            provider: "p".into(),
            protocol: Protocol::Messages,
            model: "m".into(),
            bytes: 1000,
            most_input: None,
            most_output: Some(50),
            answers: 1,
            tier: None,
        },
        outcome: CallOutcome {
            end: CallEnd::Answered,
            status: Some(200),
            model: Some("m".into()),
            tokens,
            trouble: None,
            replayed: false,
            wall: Millis(1),
            first_byte: None,
            trace: None,
        },
        cost_usd,
        subscription: false,
        at_most: None,
        limit: None,
    }
}

fn by(experiment: ExperimentId) -> Caller {
    Caller::Agent { name: "command".into(), experiment }
}

fn refused(id: u64, caller: Caller, reached: Reached) -> Called {
    let called = called(id, caller, Some(0.0));
    let outcome = CallOutcome { end: CallEnd::Limited, tokens: Tokens::default(), ..called.outcome };
    Called { outcome, limit: Some(reached), ..called }
}

const NIGHT: Reached = Reached { span: Span::Night, unit: Unit::Usd };

impl Driver {
    fn call(&mut self, called: Called) {
        self.happen(What::Called(Box::new(called)));
    }

    fn costs(&self) -> CostRow {
        self.study.state().summary().unwrap().costs
    }

    fn cost_of(&self, id: ExperimentId) -> Option<f64> {
        self.study.state().row(id).unwrap().cost_usd
    }
}

#[test]
fn an_experiment_costs_what_its_agent_and_its_trials_asked() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    assert_eq!(driver.cost_of(ExperimentId::BASELINE), Some(0.0), "nobody was asked");
    let id = driver.ask();
    driver.call(called(0, by(id), Some(0.25)));
    driver.call(called(1, by(id), Some(0.5)));
    driver.proposed(id, "a");
    let started = driver.start_trial();
    let task = Caller::Task { trial: started.0, experiment: id };
    driver.call(called(2, task, Some(1.0)));
    driver.call(called(3, Caller::Scorer { trial: started.0, experiment: id }, Some(2.0)));
    let (bill, limited) = driver.study.state().trial_calls(started.0);
    assert_eq!((bill.calls, bill.cost_usd(), bill.tokens(), limited), (2, Some(3.0), Some(200), None));
    driver.finish(started, measured(Some(2.0)));
    driver.verdict();
    assert_eq!(driver.cost_of(id), Some(3.75));
    let costs = driver.costs();
    assert_eq!((costs.cost_usd(), costs.study.calls, costs.night.usd), (Some(3.75), 4, 3.75));
    assert_eq!((costs.task.usd, costs.scorer.usd), (1.0, 2.0));
    assert_eq!((costs.agents[0].bill.usd, costs.agents[0].turns), (0.75, 1));
    assert_eq!(driver.study.state().next_call(), CallId(4));
    driver.start(Driver::LOOP, 1);
    let costs = driver.costs();
    assert_eq!((costs.study.usd, costs.night), (3.75, Bill::default()), "another night");
}

#[test]
fn a_call_that_arrives_with_the_verdict_is_still_in_its_row() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.propose("a");
    driver.trial(2.0);
    driver.verdict();
    driver.call(called(0, by(id), Some(0.5)));
    assert_eq!(driver.cost_of(id), Some(0.5));
}

#[test]
fn one_unknown_call_makes_the_sum_unknown_and_never_nothing() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.ask();
    driver.call(called(0, by(id), Some(0.25)));
    driver.call(called(1, by(id), None));
    driver.proposed(id, "a");
    assert_eq!((driver.cost_of(id), driver.costs().cost_usd()), (None, None));
    assert_eq!((driver.costs().study.usd, driver.costs().study.unpriced), (0.25, 1));
}

#[test]
fn an_agent_that_could_ask_anybody_and_was_not_seen_to_costs_nobody_knows_what() {
    let outside = with(|spec| spec.agent.members[0].name = "outside".into());
    let mut driver = Driver::calibrated(outside, [1.0; 3]);
    let id = driver.propose("a");
    assert_eq!((driver.cost_of(id), driver.costs().cost_usd()), (None, None));
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.propose("a");
    assert_eq!((driver.cost_of(id), driver.costs().cost_usd()), (Some(0.0), Some(0.0)), "it had no other way");
}

#[test]
fn what_an_agent_says_that_it_used_counts_where_its_calls_were_not_seen_and_only_there() {
    let used = ModelUse { calls: 2, input: Some(10), output: Some(5), cost_usd: Some(0.125), ..ModelUse::default() };
    let propose = |driver: &mut Driver, id: ExperimentId, text: &str| {
        let made = proposal(id, CommitId("base".into()), text, None);
        driver.happen(What::Proposed(Proposed { used: Some(used.clone()), ..made }));
    };
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.ask();
    propose(&mut driver, id, "a");
    assert_eq!((driver.cost_of(id), driver.costs().study.tokens()), (Some(0.125), Some(15)));
    assert_eq!(driver.study.state().charged(), Charge { usd: 0.125, tokens: 15 });
    driver.trial(2.0);
    driver.verdict();
    let id = driver.ask();
    driver.call(called(0, by(id), Some(0.5)));
    propose(&mut driver, id, "b");
    assert_eq!(driver.cost_of(id), Some(0.5), "not twice");
}

#[test]
fn a_proposal_of_somebody_outside_was_paid_elsewhere() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.study.state().next_experiment();
    let made = proposal(id, CommitId("base".into()), "a", None);
    driver.happen(What::Proposed(Proposed { agent: "cursor".into(), ..made }));
    driver.trial(2.0);
    assert_eq!((driver.cost_of(id), driver.costs().cost_usd()), (None, Some(0.0)));
}

#[test]
fn runs_that_did_not_count_leave_the_cost_of_a_study_unknown() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let Some(run) = &driver.study.state().run else { panic!("a run") };
    let before = RunFacts { metered: None, ..run.facts.clone() };
    driver.happen(What::RunStarted(before));
    let id = driver.propose("a");
    driver.trial(2.0);
    driver.verdict();
    assert_eq!((driver.cost_of(id), driver.costs().cost_usd(), driver.costs().study), (None, None, Bill::default()));
}

#[test]
fn a_call_that_a_limit_of_the_night_held_back_ends_the_night_and_what_is_open_is_judged() {
    let limited = with(|spec| spec.limits.night.spend = Allowance { cost_usd: Some(1.0), tokens: None });
    let mut driver = Driver::calibrated(limited, [1.0; 3]);
    let id = driver.ask();
    driver.call(called(0, by(id), Some(0.9)));
    driver.call(refused(1, by(id), NIGHT));
    assert_eq!(driver.costs().study.calls, 1, "nobody was asked");
    driver.proposed(id, "a");
    driver.trial(2.0);
    assert_eq!(driver.verdict().0, Verdict::Discarded);
    let spent = Charge { usd: 0.9, tokens: 100 };
    assert_eq!(driver.stopped(), StopReason::Spent { reached: NIGHT, spent });
    driver.start(Driver::LOOP, 1);
    assert!(matches!(driver.next(), Some(Step::Ask { .. })), "another night");
}

#[test]
fn a_night_ends_where_candidates_that_ask_models_may_ask_no_more() {
    let task = with(|spec| {
        spec.limits.total.spend = Allowance { cost_usd: None, tokens: Some(100) };
        spec.evaluate.network = Network::Models;
    });
    let mut driver = Driver::calibrated(task, [1.0; 3]);
    let id = driver.propose("a");
    let started = driver.start_trial();
    driver.call(called(0, Caller::Task { trial: started.0, experiment: id }, None));
    driver.lose(started, Loss::Interrupted);
    let reached = Reached { span: Span::Study, unit: Unit::Tokens };
    assert_eq!(driver.stopped(), StopReason::Spent { reached, spent: Charge { usd: 0.0, tokens: 100 } });
}

#[test]
fn an_attempt_that_its_own_limit_ended_is_no_failure_of_the_agent() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let reached = Reached { span: Span::Proposal, unit: Unit::Usd };
    let failure = || AttemptFailure::Error { what: "x".into(), trouble: Some(Trouble::Limit { reached }) };
    for _ in 0..15 {
        assert_eq!(driver.fails(failure()).0, Verdict::AgentError);
    }
    assert!(matches!(driver.next(), Some(Step::Ask { .. })), "{:?}", driver.next());
}

#[test]
fn another_model_than_the_one_that_was_asked_is_recorded_and_can_end_the_night() {
    let answer = |driver: &mut Driver| {
        let id = driver.ask();
        let mut call = called(0, by(id), Some(0.5));
        call.outcome.model = Some("little-m".into());
        driver.call(call.clone());
        call.call.id = CallId(1);
        driver.call(call);
        driver.proposed(id, "a");
    };
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    answer(&mut driver);
    let other = OtherModel { asked: "m".into(), answered: "little-m".into(), calls: 2 };
    assert_eq!(driver.costs().others, [other]);
    assert!(matches!(driver.next(), Some(Step::StartTrial { .. })), "the night goes on");
    let mut driver = Driver::calibrated(with(|spec| spec.gateway.expect_model = ExpectModel::Stop), [1.0; 3]);
    answer(&mut driver);
    assert_eq!(driver.stopped(), StopReason::OtherModel { asked: "m".into(), answered: "little-m".into() });
}

#[test]
fn a_provider_that_makes_up_names_fills_no_memory() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.ask();
    for at in 0..1000 {
        let mut call = called(at, by(id), Some(0.0));
        call.outcome.model = Some(format!("x{at}"));
        driver.call(call);
    }
    assert_eq!(driver.costs().others.len(), 16);
}

#[test]
fn calls_end_in_any_order_and_each_is_known_to_be_over() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.ask();
    for at in [2, 0, 5] {
        driver.call(called(at, by(id), Some(0.0)));
    }
    let is_over: Vec<bool> = (0..7).map(|at| driver.study.state().is_settled(CallId(at))).collect();
    assert_eq!(is_over, [true, false, true, false, false, true, false]);
    assert_eq!(driver.study.state().next_call(), CallId(6));
    driver.start(Driver::LOOP, 1);
    assert!((0..6).all(|at| driver.study.state().is_settled(CallId(at))), "nothing of before is in flight any more");
}

#[test]
fn a_lost_call_counts_against_limits_and_makes_no_night_longer() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let id = driver.ask();
    driver.now += 1000;
    driver.happen(What::AttemptLost { experiment: id });
    let before = driver.study.state().run_time(Timestamp(driver.now));
    driver.now += 3_600_000;
    let call = called(0, by(id), None).call;
    driver.call(crate::call::account::lost(&call, Charge { usd: 2.0, tokens: 1050 }, false));
    driver.start(Driver::LOOP, 1);
    assert_eq!(driver.study.state().run_time(Timestamp(driver.now)), before);
    assert_eq!(driver.study.state().charged(), Charge { usd: 2.0, tokens: 1050 });
    assert_eq!(driver.costs().cost_usd(), None);
}
