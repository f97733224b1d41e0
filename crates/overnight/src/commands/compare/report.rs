//! What a comparison learned, for programs and for the screen.

use overnight_engine::holdout::Openings;
use overnight_model::claim::{Claim, Decision};
use overnight_model::spec::Tier;
use overnight_model::{CommitId, Goal, Score, Seed};
use serde_json::{Value, json};

use super::Compare;
use super::sides::{Side, Sides};
use crate::commands::trials::Broken;
use crate::error::Exit;

/// One pair that was measured.
pub(super) struct PairRow {
    pub(super) seed: Seed,
    pub(super) b_first: bool,
    pub(super) a: Score,
    pub(super) b: Score,
}

/// One number of both sides, measured in pairs until it is settled, and not after that.
pub(super) struct Track {
    pub(super) claim: Claim,
    pub(super) pairs: Vec<PairRow>,
}

/// How it ended.
pub(super) enum End {
    /// Everything that was asked for is settled.
    Decided,
    BrokenA(Broken),
    BrokenB(Broken),
    Interrupted,
}

/// A side as it is shown.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) commit: Option<CommitId>,
}

pub(super) struct Report {
    pub(super) study: String,
    pub(super) metric: String,
    pub(super) goal: Goal,
    pub(super) assurance: &'static str,
    pub(super) tier: Tier,
    pub(super) a: Named,
    pub(super) b: Named,
    pub(super) differences: Vec<String>,
    pub(super) surface_only: bool,
    pub(super) most: u32,
    pub(super) margin: f64,
    pub(super) seed: u64,
    /// What the evaluation says.
    pub(super) own: Track,
    /// What the holdout says, where it was asked for.
    pub(super) held: Option<Track>,
    /// Which opening this is, once it is one.
    pub(super) opening: Option<u32>,
    /// `None` where there is no holdout.
    pub(super) openings: Option<Openings>,
}

impl Track {
    fn new(goal: Goal, margin: f64, most: u32) -> Track {
        Track { claim: Claim::new(goal, margin, most), pairs: Vec::new() }
    }

    pub(super) fn add(&mut self, pair: PairRow) {
        self.claim.add(pair.a.get(), pair.b.get());
        self.pairs.push(pair);
    }

    pub(super) fn is_settled(&self) -> bool {
        self.claim.decision().is_some()
    }

    /// What is known of it. Levels are apart: where they stand is not the same for all.
    fn as_json(&self) -> Value {
        let known = self.claim.standing();
        let pairs = self.pairs.iter().map(
            |PairRow { seed, b_first, a, b }| json!({ "seed": seed.0, "b_first": b_first, "a": a.get(), "b": b.get() }),
        );
        json!({
            "difference": known.map(|known| known.difference),
            "low": known.and_then(|known| known.low),
            "high": known.and_then(|known| known.high),
            // No number of JSON is infinite; without noise there is nothing to bet on.
            "odds": known.map(|known| known.odds).filter(|odds| odds.is_finite()),
            "deterministic": known.map(|known| known.is_deterministic),
            "pairs": pairs.collect::<Vec<_>>(),
        })
    }

    fn decided(&self) -> Option<&'static str> {
        self.claim.decision().map(|decision| match decision {
            Decision::Better => "better",
            Decision::Worse => "worse",
            Decision::Equal => "equal",
            Decision::Untold => "untold",
        })
    }
}

impl Report {
    pub(super) fn new(sides: &Sides, args: &Compare, seed: u64, tier: Tier, openings: Option<Openings>) -> Report {
        let spec = &sides.b.spec;
        let margin = args.margin.or(spec.metric.min_gain.map(Score::get)).unwrap_or(0.0);
        let named = |side: &Side| Named { name: side.name.clone(), commit: side.commit.clone() };
        let track = || Track::new(spec.metric.goal, margin, args.pairs);
        Report {
            study: sides.study.clone(),
            metric: spec.metric.name.clone(),
            goal: spec.metric.goal,
            assurance: spec.evaluate.assurance().name(),
            tier,
            a: named(&sides.a),
            b: named(&sides.b),
            differences: sides.differences.iter().map(|path| path.display().to_string()).collect(),
            surface_only: args.surface_only,
            most: args.pairs,
            margin,
            seed,
            own: track(),
            held: args.holdout.then(track),
            opening: None,
            openings,
        }
    }

    /// Whether there is nothing left to ask.
    pub(super) fn is_settled(&self) -> bool {
        self.own.is_settled() && self.held.as_ref().is_none_or(Track::is_settled)
    }

    /// The holdout has the last word, where it was asked.
    pub(super) fn exit(&self, end: &End) -> Exit {
        match end {
            End::Decided => match self.held.as_ref().unwrap_or(&self.own).claim.decision() {
                Some(Decision::Better) => Exit::Done,
                Some(Decision::Worse) => Exit::Worse,
                Some(Decision::Equal | Decision::Untold) | None => Exit::Equal,
            },
            End::BrokenB(_) => Exit::Worse,
            End::BrokenA(_) => Exit::Fault,
            End::Interrupted => Exit::Interrupted,
        }
    }

    pub(super) fn as_json(&self, end: &End) -> Value {
        let standing = self.own.claim.standing();
        let side = |named: &Named, level: Option<f64>| {
            let commit = named.commit.as_ref().map(|commit| commit.0.as_str());
            json!({ "name": named.name, "commit": commit, "level": level })
        };
        let reason = match end {
            End::BrokenA(broken) | End::BrokenB(broken) => Some(broken.what.as_str()),
            End::Decided | End::Interrupted => None,
        };
        let mut object = json!({
            "study": self.study,
            "metric": self.metric,
            "goal": self.goal.to_string(),
            "result": end.name().or_else(|| self.own.decided()),
            "reason": reason,
            "a": side(&self.a, standing.map(|known| known.a)),
            "b": side(&self.b, standing.map(|known| known.b)),
            "margin": self.margin,
            "surface_only": self.surface_only,
            "also_differ": self.differences,
            "assurance": self.assurance,
            "sandbox": self.tier.name(),
            "seed": self.seed,
            "holdout": self.holdout_json(end),
        });
        merge(&mut object, self.own.as_json());
        object
    }

    /// What became of the holdout; null where there is none.
    pub(super) fn holdout_json(&self, end: &End) -> Value {
        let Some(Openings { opened, budget }) = self.openings else { return Value::Null };
        let mut object = json!({ "opened": opened, "budget": budget, "opening": self.opening });
        if let Some(held) = &self.held {
            let known = held.claim.standing();
            let result = end.name().or_else(|| held.decided());
            let levels = json!({ "result": result, "a": known.map(|known| known.a), "b": known.map(|known| known.b) });
            merge(&mut object, levels);
            merge(&mut object, held.as_json());
        }
        object
    }
}

impl End {
    /// How it is called, where that does not follow from what was measured.
    fn name(&self) -> Option<&'static str> {
        match self {
            End::Decided => None,
            End::BrokenA(_) => Some("a_does_not_run"),
            End::BrokenB(_) => Some("b_does_not_run"),
            End::Interrupted => Some("interrupted"),
        }
    }
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}
