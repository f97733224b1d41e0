use proptest::prelude::*;

use super::*;
use crate::call::Protocol;
use crate::call::bill::Bill;

fn call(id: u64, caller: Caller, bytes: u64, most_output: u64) -> Call {
    Call {
        id: CallId(id),
        caller,
        provider: "there".into(),
        protocol: Protocol::Messages,
        model: "known".into(),
        bytes,
        most_input: None,
        most_output: Some(most_output),
        answers: 1,
        tier: None,
    }
}

fn agent(experiment: u64) -> Caller {
    Caller::Agent { name: "claude".into(), experiment: ExperimentId(experiment) }
}

fn task(trial: u64) -> Caller {
    Caller::Task { trial: TrialId(trial), experiment: ExperimentId(1) }
}

fn outcome(end: CallEnd, input: u64, output: u64) -> CallOutcome {
    CallOutcome {
        end,
        status: Some(200),
        model: None,
        tokens: Tokens { input: Some(input), output: Some(output), ..Tokens::default() },
        trouble: None,
        replayed: false,
        wall: Millis(5),
        first_byte: None,
        trace: None,
    }
}

/// One dollar for a million tokens, read or written.
fn account(allowances: Allowances) -> Account {
    let prices = Prices::new([("known".to_owned(), Price::own(1.0, None, None, 1.0))]);
    Account::new(prices, allowances, BTreeSet::from(["paid".to_owned()]))
}

fn night(cost_usd: Option<f64>, tokens: Option<u64>) -> Allowances {
    Allowances { night: Allowance { cost_usd, tokens }, ..Allowances::default() }
}

const HALF: u64 = 500_000;

#[test]
fn every_answer_that_a_call_wants_at_once_is_reserved() {
    let mut account = account(night(Some(3.0), None));
    let six = Call { answers: 6, ..call(1, agent(1), HALF, HALF) };
    assert!(matches!(account.admit(&six), Admission::Refuse { .. }), "it would be three and a half dollars");
    let three = Call { answers: 3, ..call(2, agent(1), HALF, HALF) };
    assert_eq!(account.admit(&three), Admission::Go(Charge { usd: 2.0, tokens: 4 * HALF }));
    let silent = Call { answers: 9, most_output: None, ..call(3, agent(1), 1, 1) };
    let tokens = most(&silent, None, false).tokens;
    assert_eq!(tokens, 1 + 9 * MOST_OUTPUT);
    let text = serde_json::to_string(&three).unwrap();
    assert_eq!(serde_json::from_str::<Call>(&text).unwrap(), three);
    assert!(!serde_json::to_string(&call(4, agent(1), 1, 1)).unwrap().contains("answers"));
}

#[test]
fn a_call_is_refused_when_it_could_go_beyond_the_limit_and_says_which() {
    let mut account = account(night(Some(3.0), None));
    let first = call(1, agent(1), HALF, HALF);
    assert_eq!(account.admit(&first), Admission::Go(Charge { usd: 1.0, tokens: 2 * HALF }));
    let called = account.settle(&first, &outcome(CallEnd::Answered, HALF, HALF));
    assert_eq!((called.cost_usd, called.at_most), (Some(1.0), None));
    let big = call(2, agent(2), 2 * HALF, 4 * HALF);
    let Admission::Refuse { reached, what } = account.admit(&big) else { panic!("it would be four dollars") };
    assert_eq!(reached.key(), "limits.cost_usd");
    assert_eq!(what, "the limit of $3.00 for one night is reached: $1.00 spent, and this call may cost up to $3.00");
    let refused = account.settle(&big, &outcome(CallEnd::Limited, 0, 0));
    assert_eq!((refused.limit, refused.charge(), refused.bill().calls), (Some(reached), Charge::default(), 0));
    assert!(matches!(account.admit(&call(3, agent(2), HALF, HALF)), Admission::Go(_)), "a smaller one has room");
}

#[test]
fn what_a_provider_counted_before_bounds_a_call_better_than_its_bytes() {
    let mut account = account(night(None, Some(2 * HALF)));
    let long = call(1, agent(1), 2 * HALF, HALF);
    assert!(matches!(account.admit(&long), Admission::Refuse { .. }));
    let known = Call { most_input: Some(HALF), ..long.clone() };
    assert_eq!(account.admit(&known), Admission::Go(Charge { usd: 1.0, tokens: 2 * HALF }));
    account.release(known.id);
    let worse = Call { most_input: Some(9 * HALF), bytes: HALF, ..long };
    assert_eq!(
        account.admit(&worse),
        Admission::Go(Charge { usd: 1.0, tokens: 2 * HALF }),
        "never more than its bytes"
    );
}

#[test]
fn what_is_in_flight_is_reserved_and_waited_for() {
    let mut account = account(night(Some(2.0), None));
    let (one, two) = (call(1, agent(1), HALF, 2 * HALF), call(2, task(1), HALF, HALF));
    assert!(matches!(account.admit(&one), Admission::Go(_)));
    assert_eq!(account.admit(&two), Admission::Wait);
    account.settle(&one, &outcome(CallEnd::Answered, 10, 10));
    assert!(matches!(account.admit(&two), Admission::Go(_)));
}

#[test]
fn a_call_whose_end_is_not_known_counts_for_what_it_may_have_been() {
    let mut account = account(night(Some(1.5), None));
    let one = call(1, agent(1), HALF, HALF);
    account.admit(&one);
    let unknown = CallOutcome { tokens: Tokens::default(), ..outcome(CallEnd::HungUp, 0, 0) };
    let called = account.settle(&one, &unknown);
    assert_eq!((called.cost_usd, called.at_most), (None, Some(Charge { usd: 1.0, tokens: 2 * HALF })));
    assert_eq!((called.bill().cost_usd(), called.bill().tokens()), (None, None));
    assert_eq!(account.night().usd, 1.0);
    assert!(matches!(account.admit(&call(2, agent(1), HALF, HALF)), Admission::Refuse { .. }));
    let lost = lost(&one, Charge { usd: 1.0, tokens: 7 }, false);
    assert_eq!((lost.charge(), lost.bill().unpriced), (Charge { usd: 1.0, tokens: 7 }, 1));
}

#[test]
fn a_provider_that_says_no_or_is_not_there_costs_nothing() {
    let mut account = account(night(Some(1.0), Some(3 * HALF)));
    for (id, end) in [CallEnd::Refused, CallEnd::Unreached, CallEnd::NotRecorded].into_iter().enumerate() {
        let call = call(id as u64, agent(1), HALF, HALF);
        assert!(matches!(account.admit(&call), Admission::Go(_)));
        let nothing = CallOutcome { tokens: Tokens::default(), ..outcome(end, 0, 0) };
        assert_eq!(account.settle(&call, &nothing).bill().cost_usd(), Some(0.0));
    }
    assert_eq!(account.night(), Charge::default());
    let replayed = CallOutcome { replayed: true, ..outcome(CallEnd::Answered, 5, 5) };
    let one = call(9, agent(1), 10, 10);
    account.admit(&one);
    let called = account.settle(&one, &replayed);
    assert_eq!((called.cost_usd, called.charge(), called.bill().tokens()), (Some(0.0), Charge::default(), Some(10)));
}

#[test]
fn a_model_without_a_price_is_refused_where_dollars_are_limited_and_nowhere_else() {
    let unknown = Call { model: "nobody".into(), ..call(1, agent(1), 10, 10) };
    let Admission::Refuse { what, .. } = account(night(Some(5.0), None)).admit(&unknown) else { panic!("no price") };
    assert!(what.contains("[gateway.prices.\"nobody\"]"), "{what}");
    let mut free = account(night(None, Some(1000)));
    assert!(matches!(free.admit(&unknown), Admission::Go(_)));
    let called = free.settle(&unknown, &outcome(CallEnd::Answered, 3, 4));
    assert_eq!((called.cost_usd, called.bill().tokens(), called.charge().tokens), (None, Some(7), 7));
}

#[test]
fn a_subscription_pays_whatever_the_limit_in_dollars_and_its_list_price_is_told() {
    let mut account = account(night(Some(0.01), Some(10 * HALF)));
    let paid = Call { provider: "paid".into(), ..call(1, agent(1), HALF, HALF) };
    assert!(matches!(account.admit(&paid), Admission::Go(_)));
    let called = account.settle(&paid, &outcome(CallEnd::Answered, HALF, HALF));
    assert_eq!((called.cost_usd, called.charge().usd, called.charge().tokens), (Some(1.0), 0.0, 2 * HALF));
    assert_eq!((called.bill().cost_usd(), called.bill().billed_usd()), (Some(1.0), Some(0.0)));
    let unknown = Call { model: "nobody".into(), provider: "paid".into(), ..call(2, agent(1), 10, 10) };
    assert!(matches!(account.admit(&unknown), Admission::Go(_)));
}

#[test]
fn one_proposal_or_trial_cannot_spend_what_is_for_another() {
    let each = Allowance { cost_usd: None, tokens: Some(100) };
    let mut account = account(Allowances { proposal: each, trial: each, ..Allowances::default() });
    let spend = |account: &mut Account, id, caller| {
        let call = call(id, caller, 30, 50);
        let admission = account.admit(&call);
        account.settle(&call, &outcome(CallEnd::Answered, 30, 50));
        admission
    };
    assert!(matches!(spend(&mut account, 1, agent(1)), Admission::Go(_)));
    let Admission::Refuse { reached, .. } = account.admit(&call(2, agent(1), 30, 50)) else { panic!("it had its 80") };
    assert_eq!((reached.key(), reached.is_for_all()), ("limits.proposal.tokens", false));
    assert!(matches!(spend(&mut account, 3, agent(2)), Admission::Go(_)));
    assert!(matches!(spend(&mut account, 4, task(1)), Admission::Go(_)));
    assert!(matches!(account.admit(&call(5, task(1), 30, 50)), Admission::Refuse { .. }));
    assert!(matches!(spend(&mut account, 6, task(2)), Admission::Go(_)));
}

#[test]
fn what_was_spent_before_counts_for_the_study_and_not_for_the_night() {
    let total = Allowance { cost_usd: Some(2.0), tokens: None };
    let mut account = account(Allowances { study: total, night: total, ..Allowances::default() });
    account.carry(Charge { usd: 1.5, tokens: 9 }, []);
    let Admission::Refuse { reached, .. } = account.admit(&call(1, agent(1), HALF, HALF)) else { panic!("2.5 in all") };
    assert_eq!(reached.key(), "limits.total.cost_usd");
    assert_eq!(account.night(), Charge::default());
}

#[test]
fn dollars_are_told_with_as_many_digits_as_mean_something() {
    assert_eq!(
        [0.0, 1.0, 12.345, 0.012, 0.0042, 0.000_01].map(dollars),
        ["$0", "$1.00", "$12.35", "$0.01", "$0.0042", "less than $0.0001"]
    );
}

proptest! {
    /// However calls come, wait and end, what was spent and what is reserved stay within every limit.
    #[test]
    fn no_limit_is_ever_overshot(
        limit_usd in 0.0f64..3.0,
        limit_tokens in 0u64..3_000_000,
        steps in prop::collection::vec((0u64..4, 0u64..600_000, 0u64..600_000, 0.0f64..=1.0, any::<bool>()), 1..60),
    ) {
        let mut account = account(night(Some(limit_usd), Some(limit_tokens)));
        let mut open: Vec<Call> = Vec::new();
        let (mut sum, mut bill) = (Charge::default(), Bill::default());
        for (id, (who, bytes, most, share, ends)) in steps.into_iter().enumerate() {
            if ends && !open.is_empty() {
                let call = open.remove(who as usize % open.len());
                let part = |most: u64| (most as f64 * share) as u64;
                let called = account.settle(&call, &outcome(CallEnd::Answered, part(call.bytes), part(call.most_output.unwrap())));
                sum.add(called.charge());
                bill.add(&called.bill());
            } else {
                let call = call(id as u64, if who % 2 == 0 { agent(who) } else { task(who) }, bytes, most);
                if matches!(account.admit(&call), Admission::Go(_)) {
                    open.push(call);
                }
            }
            let (count, reserved) = account.in_flight();
            prop_assert_eq!(count, open.len());
            prop_assert!(account.night().usd + reserved.usd <= limit_usd + 1e-9);
            prop_assert!(account.night().tokens + reserved.tokens <= limit_tokens);
        }
        prop_assert_eq!(account.night().tokens, sum.tokens);
        prop_assert_eq!(bill.tokens(), Some(sum.tokens));
        prop_assert!((bill.cost_usd().unwrap() - sum.usd).abs() < 1e-9);
    }
}
