//! What an audit learned, for programs and for the screen.

use overnight_engine::holdout::Openings;
use overnight_model::claim::audit::{Audit, Verdict};
use overnight_model::claim::{Decision, Standing};
use overnight_model::spec::Tier;
use overnight_model::{Goal, Millis};
use serde_json::{Value, json};

use super::plan::{Plan, Stack};
use super::range::End;
use crate::error::Exit;

/// What a stack came out as when it was held against B.
pub(super) enum StackEnd {
    Measured(Standing),
    Broken(String),
    /// There was no time left.
    NotMeasured,
}

/// The stack that is offered, and what became of it.
pub(super) enum Offer {
    /// Nothing holds.
    Nothing,
    /// Nothing can be left out.
    All,
    Stack {
        stack: Stack,
        end: StackEnd,
    },
    /// It ended before.
    Open,
}

pub(super) struct Report {
    pub(super) study: String,
    pub(super) metric: String,
    pub(super) goal: Goal,
    pub(super) assurance: &'static str,
    pub(super) tier: Tier,
    pub(super) holdout: Option<Openings>,
    pub(super) a: End,
    pub(super) b: End,
    pub(super) most: u32,
    pub(super) margin: f64,
    pub(super) budget: Option<Millis>,
    pub(super) seed: u64,
    pub(super) audit: Audit,
    pub(super) trials: u64,
    pub(super) out_of_time: bool,
    /// Its name and its last commit.
    pub(super) branch: Option<(String, String)>,
}

/// How many commits are of which kind.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) holds: usize,
    pub(super) hurts: usize,
    pub(super) nothing: usize,
    pub(super) noise: usize,
    pub(super) needed: usize,
    pub(super) stuck: usize,
}

impl Report {
    /// The verdict on each commit that is audited; `None` where it cannot be left out at all.
    pub(super) fn verdicts(&self, plan: &Plan) -> Vec<Option<Verdict>> {
        let verdicts = self.audit.verdicts();
        (0..plan.keeps.len()).map(|keep| plan.piece_of(keep).map(|piece| verdicts[piece])).collect()
    }

    pub(super) fn counts(&self, plan: &Plan) -> Counts {
        let mut counts = Counts::default();
        for verdict in self.verdicts(plan) {
            *match verdict {
                Some(Verdict::Holds) => &mut counts.holds,
                Some(Verdict::Hurts) => &mut counts.hurts,
                Some(Verdict::Nothing) => &mut counts.nothing,
                Some(Verdict::Noise) => &mut counts.noise,
                Some(Verdict::Needed) => &mut counts.needed,
                None => &mut counts.stuck,
            } += 1;
        }
        counts
    }

    pub(super) fn whole(&self) -> Option<Decision> {
        self.audit.whole().and_then(|whole| whole.decision)
    }

    pub(super) fn exit(&self, plan: &Plan, is_interrupted: bool) -> Exit {
        let Counts { holds, hurts, nothing, needed, .. } = self.counts(plan);
        match self.whole() {
            _ if is_interrupted => Exit::Interrupted,
            Some(Decision::Worse) => Exit::Worse,
            Some(Decision::Better) => Exit::Done,
            _ if holds + hurts + nothing + needed > 0 => Exit::Done,
            _ => Exit::Equal,
        }
    }

    pub(super) fn as_json(&self, plan: &Plan, offer: &Offer, exit: Exit) -> Value {
        let verdicts = self.verdicts(plan);
        let in_stack = |keep: usize| match offer {
            Offer::Stack { stack, .. } => Some(!stack.dropped[keep]),
            Offer::All => Some(true),
            Offer::Nothing | Offer::Open => None,
        };
        let commits = verdicts.iter().enumerate().map(|(keep, verdict)| {
            let piece = plan.piece_of(keep);
            let known = piece.and_then(|piece| self.audit.standing(piece));
            let with = piece.map_or(&[][..], |piece| &plan.pieces[piece].with);
            let mut row = json!({
                "commit": plan.keep(keep).id.to_string(),
                "subject": plan.keep(keep).subject,
                "verdict": verdict.map_or("cannot_be_left_out", name),
                "together_with": with.iter().map(|later| plan.keep(*later).id.to_string()).collect::<Vec<_>>(),
                "in_stack": in_stack(keep),
            });
            merge(&mut row, measured(known.as_ref()));
            row
        });
        let left_alone = plan.steps.iter().filter_map(|step| {
            let why = step.alone.as_ref()?;
            Some(json!({ "commit": step.commit.id.to_string(), "subject": step.commit.subject, "why": why }))
        });
        let whole = self.audit.whole();
        let mut whole_row = json!({
            "result": whole.map_or(self.audit.start_does_not_run().then_some("a_does_not_run"), |whole| decided(&whole)),
            "a_level": whole.map(|known| known.a),
            "b_level": whole.map(|known| known.b),
        });
        merge(&mut whole_row, measured(whole.as_ref()));
        let counts = self.counts(plan);
        let end = |end: &End| json!({ "name": end.name, "commit": end.commit.to_string() });
        json!({
            "study": self.study,
            "metric": self.metric,
            "goal": self.goal.to_string(),
            "result": match exit {
                Exit::Done => "told",
                Exit::Worse => "worse",
                Exit::Interrupted => "interrupted",
                Exit::Refused => "no_branch",
                Exit::Fault => "b_does_not_run",
                _ => "nothing_told",
            },
            "a": end(&self.a),
            "b": end(&self.b),
            "counts": {
                "commits": verdicts.len(),
                "hold": counts.holds,
                "hurt": counts.hurts,
                "no_difference": counts.nothing,
                "noise": counts.noise,
                "needed": counts.needed,
                "cannot_be_left_out": counts.stuck,
                "left_alone": plan.steps.len() - plan.keeps.len(),
            },
            "commits": commits.collect::<Vec<_>>(),
            "left_alone": left_alone.collect::<Vec<_>>(),
            "whole": whole_row,
            "stack": stack_json(offer),
            "branch": self.branch.as_ref().map(|(name, commit)| json!({ "name": name, "commit": commit })),
            "out_of_time": self.out_of_time,
            "margin": self.margin,
            "most_pairs": self.most,
            "seed": self.seed,
            "trials": self.trials,
            "assurance": self.assurance,
            "sandbox": self.tier.name(),
            "holdout": self.holdout,
        })
    }
}

/// How a verdict is called.
fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Hurts => "hurts",
        Verdict::Nothing => "no_difference",
        Verdict::Noise => "noise",
        Verdict::Needed => "needed",
    }
}

fn decided(known: &Standing) -> Option<&'static str> {
    known.decision.map(|decision| match decision {
        Decision::Better => "better",
        Decision::Worse => "worse",
        Decision::Equal => "equal",
        Decision::Untold => "untold",
    })
}

fn stack_json(offer: &Offer) -> Value {
    let Offer::Stack { end, .. } = offer else {
        let result = match offer {
            Offer::Nothing => Some("nothing_holds"),
            Offer::All => Some("is_b"),
            _ => None,
        };
        return result.map_or(Value::Null, |result| json!({ "result": result }));
    };
    match end {
        StackEnd::Broken(reason) => json!({ "result": "does_not_run", "reason": reason }),
        StackEnd::NotMeasured => json!({ "result": "not_measured" }),
        StackEnd::Measured(known) => {
            let mut row = json!({
                "result": decided(known).unwrap_or("untold"), "level": known.b, "b_level": known.a,
            });
            merge(&mut row, measured(Some(known)));
            row
        }
    }
}

/// Numbers that are null where they are not known. No number of JSON is infinite.
fn measured(known: Option<&Standing>) -> Value {
    json!({
        "difference": known.map(|known| known.difference),
        "low": known.and_then(|known| known.low),
        "high": known.and_then(|known| known.high),
        "odds": known.map(|known| known.odds).filter(|odds| odds.is_finite()),
        "deterministic": known.map(|known| known.is_deterministic),
        "pairs": known.map_or(0, |known| known.pairs),
    })
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}
