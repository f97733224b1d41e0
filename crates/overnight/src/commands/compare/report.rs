//! What a comparison learned, for programs and for the screen.

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

/// How it ended.
pub(super) enum End {
    Decided(Decision),
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
    pub(super) claim: Claim,
    pub(super) pairs: Vec<PairRow>,
}

impl End {
    pub(super) fn exit(&self) -> Exit {
        match self {
            End::Decided(Decision::Better) => Exit::Done,
            End::Decided(Decision::Equal | Decision::Untold) => Exit::Equal,
            End::Decided(Decision::Worse) | End::BrokenB(_) => Exit::Worse,
            End::BrokenA(_) => Exit::Fault,
            End::Interrupted => Exit::Interrupted,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            End::Decided(Decision::Better) => "better",
            End::Decided(Decision::Worse) => "worse",
            End::Decided(Decision::Equal) => "equal",
            End::Decided(Decision::Untold) => "untold",
            End::BrokenA(_) => "a_does_not_run",
            End::BrokenB(_) => "b_does_not_run",
            End::Interrupted => "interrupted",
        }
    }
}

impl Report {
    pub(super) fn new(sides: &Sides, args: &Compare, seed: u64, tier: Tier) -> Report {
        let spec = &sides.b.spec;
        let margin = args.margin.or(spec.metric.min_gain.map(Score::get)).unwrap_or(0.0);
        let named = |side: &Side| Named { name: side.name.clone(), commit: side.commit.clone() };
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
            claim: Claim::new(spec.metric.goal, margin, args.pairs),
            pairs: Vec::new(),
        }
    }

    pub(super) fn as_json(&self, end: &End) -> Value {
        let standing = self.claim.standing();
        let side = |named: &Named, level: Option<f64>| {
            let commit = named.commit.as_ref().map(|commit| commit.0.as_str());
            json!({ "name": named.name, "commit": commit, "level": level })
        };
        let pairs = self.pairs.iter().map(
            |PairRow { seed, b_first, a, b }| json!({ "seed": seed.0, "b_first": b_first, "a": a.get(), "b": b.get() }),
        );
        let reason = match end {
            End::BrokenA(broken) | End::BrokenB(broken) => Some(broken.what.as_str()),
            End::Decided(_) | End::Interrupted => None,
        };
        json!({
            "study": self.study,
            "metric": self.metric,
            "goal": self.goal.to_string(),
            "result": end.name(),
            "reason": reason,
            "a": side(&self.a, standing.map(|known| known.a)),
            "b": side(&self.b, standing.map(|known| known.b)),
            "difference": standing.map(|known| known.difference),
            "low": standing.and_then(|known| known.low),
            "high": standing.and_then(|known| known.high),
            // No number of JSON is infinite; without noise there is nothing to bet on.
            "odds": standing.map(|known| known.odds).filter(|odds| odds.is_finite()),
            "deterministic": standing.map(|known| known.is_deterministic),
            "margin": self.margin,
            "surface_only": self.surface_only,
            "also_differ": self.differences,
            "assurance": self.assurance,
            "sandbox": self.tier.name(),
            "seed": self.seed,
            "pairs": pairs.collect::<Vec<_>>(),
        })
    }
}
