//! Rules that decide what is kept. They see measured scores alone; more is better.

mod ours;
mod peer;
mod peers;

use overnight_model::spec::Mode;

use crate::night::Size;
use crate::world::Subject;
use ours::Ours;
use peer::Sequential;

/// Whoever runs a night.
pub trait Rule {
    /// What to do now; `None` to wait for a trial that runs.
    fn next(&mut self) -> Option<Move>;
    /// The candidate that was asked for; equal contents are equal programs.
    fn proposed(&mut self, candidate: Subject, content: u64);
    fn measured(&mut self, ticket: u64, score: f64);
    /// The same edit on top of the present champion, as it was asked for.
    fn restacked(&mut self, _candidate: Subject, _stacked: Subject, _content: u64) {}
    /// What it tells its user in the morning.
    fn report(&self) -> Report;
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Move {
    Propose,
    /// One trial; its score comes back under this number. Trials that run at once end in the order they began.
    Measure {
        ticket: u64,
        subject: Subject,
        seed: u64,
    },
    /// A candidate for an older champion, put on top of the present one. It replaces the candidate and gets its verdict.
    Restack {
        candidate: Subject,
    },
    /// The latest keep is taken back; the champion is the one before.
    Retract,
    Keep(Subject),
    Discard(Subject),
    /// It was not tried at all.
    Refuse(Subject),
    Stop,
}

/// The gain over the baseline as it is reported, with a 95 % interval where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Report {
    pub gain: f64,
    pub interval: Option<(f64, f64)>,
}

/// A rule by name, made afresh for every night.
#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub about: &'static str,
    make: Make,
}

#[derive(Clone, Copy)]
enum Make {
    Ours(Mode),
    Peer(&'static peer::Peer),
}

impl Entry {
    /// Peers judge one candidate after the other, whatever the slots.
    pub fn start(&self, seed: u64, size: Size) -> Box<dyn Rule> {
        match self.make {
            Make::Ours(mode) => Box::new(Ours::new(seed, size, mode)),
            Make::Peer(peer) => Box::new(Sequential::new(peer)),
        }
    }
}

/// The rule that all others are compared with.
pub const OURS: &str = "overnight";

/// Our rule in each of its modes; as a rule among others it has the one that is the default.
pub const MODES: [Entry; 3] = [
    Entry { name: "explore", about: "trials are dear, every expected gain is kept", make: Make::Ours(Mode::Explore) },
    Entry { name: "balanced", about: "the default", make: Make::Ours(Mode::Balanced) },
    Entry { name: "strict", about: "a keep has to be 95 % likely", make: Make::Ours(Mode::Strict) },
];

pub const RULES: &[Entry] = &[
    Entry { name: OURS, about: "the model's own judge, driven by events", make: Make::Ours(Mode::Balanced) },
    Entry {
        name: "greedy",
        about: "autoresearch: one run, kept when better than the best",
        make: Make::Peer(&peers::GREEDY),
    },
    Entry { name: "2-sigma", about: "one run, better by 2 sd of 8 baseline runs", make: Make::Peer(&peers::TWO_SIGMA) },
    Entry {
        name: "mad",
        about: "pi-autoresearch: better than the best, run again where confidence is red",
        make: Make::Peer(&peers::MAD),
    },
    Entry {
        name: "win-twice",
        about: "labloop --confirm: two runs better than the incumbent",
        make: Make::Peer(&peers::WIN_TWICE),
    },
    Entry {
        name: "win-twice-1sd",
        about: "labloop noise, then --confirm --min-delta of 1 sd",
        make: Make::Peer(&peers::WIN_TWICE_BY_ONE_SD),
    },
    Entry {
        name: "bootstrap-3",
        about: "autoresearch-mlx rigor: 3 runs, bootstrap P(better) of 0.95",
        make: Make::Peer(&peers::BOOTSTRAP),
    },
    Entry { name: "median-3", about: "3 runs each, medians compared", make: Make::Peer(&peers::MEDIAN) },
    Entry {
        name: "sprt",
        about: "paired sequential test, no gain against 4 sd of a trial, alpha and beta 0.05",
        make: Make::Peer(&peers::SPRT),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_are_those_of_the_judge_and_ours_is_the_default() {
        assert_eq!(MODES.map(|entry| entry.name), Mode::ALL.map(Mode::name));
        assert!(MODES.iter().all(|entry| matches!(entry.make, Make::Ours(mode) if mode.name() == entry.name)));
        assert!(matches!(RULES[0].make, Make::Ours(mode) if mode == Mode::default()));
    }

    #[test]
    fn every_rule_is_explained_where_the_figures_are() {
        let page = include_str!("../../../../docs/judge-bench.md");
        for entry in RULES {
            assert!(page.contains(&format!("\n| `{}` | ", entry.name)), "docs/judge-bench.md has no `{}`", entry.name);
        }
    }
}
