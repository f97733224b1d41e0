//! What one simulated study is like, drawn from its seed.

use std::sync::OnceLock;

use overnight_model::Goal;

use super::random::Random;
use crate::repo::Repo;

/// The name of the study, and of its branch.
pub const STUDY: &str = "main";
/// The line below which the surface is locked, in the studies that have one.
const MARKER: &str = "# --- locked below ---";

/// One study and the troubles it will meet.
#[derive(Debug, Clone)]
pub struct Setup {
    pub seed: u64,
    /// How many experiments must have counted before the study ends.
    pub experiments: u64,
    pub slots: u32,
    /// Proposals that may be asked for while every slot is taken.
    pub ahead: u32,
    pub goal: Goal,
    /// The spread of one trial; 0 for a deterministic metric.
    pub noise: f64,
    /// Once in so many trials of a metric that is else deterministic, the number is another one.
    pub jitter: u64,
    pub min_gain: f64,
    pub tuner: bool,
    /// Three agents take turns: a good one, a bad one whose provider is down now and then, and the tuner.
    pub team: bool,
    /// There is nothing to be gained: what looks better was lucky.
    pub flat: bool,
    /// The number of the proposal that shines until it is kept, by luck, and never again.
    pub lucky: u64,
    /// Proposals change one line or two of many, or always the same one.
    pub many_lines: bool,
    /// More than one file, in different folders.
    pub two_files: bool,
    /// Contents beyond what the ledger keeps in its database.
    pub large: bool,
    pub marker: bool,
    /// How often a candidate that crashed at once goes back.
    pub repairs: u32,
    /// A quick look before a slot is taken.
    pub smoke: bool,
    pub guard_first: bool,
    pub guard_before_keep: bool,
    pub guard_number: bool,
    pub plausible: bool,
    pub limits: Limits,
    pub faults: Faults,
    /// From when until when nobody reaches the provider of the good one of a team, in milliseconds of the machine.
    pub unreached: Option<(i64, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    None,
    NightWall,
    LongNight,
    NightExperiments,
    NoGain,
    TotalWall,
}

/// How often things go wrong: once in so many chances, never for 0.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    pub crash: u64,
    /// Of the crashes, how many take what was not synced.
    pub power_loss: u64,
    pub lost_trial: u64,
    pub engine_fault: u64,
    pub stop_request: u64,
    pub clock_step: u64,
    /// Runs that are asked for fewer experiments than are left.
    pub few: u64,
    pub bad_agent: bool,
    pub bad_candidates: bool,
    pub broken_baseline: bool,
    /// Agents make slips: many a candidate crashes at once.
    pub slips: bool,
    /// For a while every evaluation fails, the champion's too.
    pub outage: u64,
    /// A guard fails now and then, whatever it is run on.
    pub flaky_guard: u64,
    /// For a while every guard fails, on the champion too.
    pub guard_outage: u64,
    /// The owner looks at suspects between two runs, and has a word on one of them.
    pub review: u64,
    pub meddling: u64,
    pub packing: bool,
    pub tries: bool,
    /// The owner changes a locked file between two runs, and asks for a new segment.
    pub rebase: u64,
    /// The machine becomes another one: every number moves by many times the noise.
    pub shift: u64,
}

impl Setup {
    /// A study with everything that can go wrong.
    pub fn draw(seed: u64) -> Setup {
        let mut random = Random::new(seed ^ 0x5eed);
        let faults = Faults {
            crash: *random.pick(&[40, 100, 200, 400]),
            power_loss: 2,
            lost_trial: *random.pick(&[0, 2, 12, 40]),
            engine_fault: *random.pick(&[0, 150, 400]),
            stop_request: *random.pick(&[0, 3, 8]),
            clock_step: *random.pick(&[0, 0, 100]),
            few: 2,
            bad_agent: !random.one_in(4),
            bad_candidates: !random.one_in(4),
            broken_baseline: random.one_in(6),
            slips: Random::new(seed ^ 0x511b5).one_in(3),
            outage: *Random::new(seed ^ 0x007a6e).pick(&[0, 0, 0, 60]),
            flaky_guard: *Random::new(seed ^ 0xf1a4).pick(&[0, 0, 3, 20]),
            guard_outage: *Random::new(seed ^ 0x06a4).pick(&[0, 0, 0, 20]),
            review: *Random::new(seed ^ 0x4e71e4).pick(&[0, 1, 3]),
            meddling: *random.pick(&[0, 12]),
            packing: random.one_in(4),
            tries: random.one_in(2),
            rebase: *Random::new(seed ^ 0x5e6).pick(&[0, 0, 3]),
            shift: *Random::new(seed ^ 0x5417).pick(&[0, 0, 80]),
        };
        Setup {
            seed,
            experiments: 25 + random.below(30),
            slots: 1 + random.below(8) as u32,
            ahead: *Random::new(seed ^ 0xa4ead).pick(&[0, 1, 1, 3]),
            goal: *random.pick(&[Goal::Min, Goal::Max]),
            noise: *random.pick(&[0.0, 0.0, 0.004, 0.02, 0.1]),
            jitter: *Random::new(seed ^ 0x717).pick(&[0, 0, 12]),
            min_gain: *random.pick(&[0.0, 0.0, 0.01]),
            tuner: random.one_in(5),
            team: Random::new(seed ^ 0x7ea3).one_in(5),
            flat: Random::new(seed ^ 0xf1a7).one_in(4),
            lucky: *Random::new(seed ^ 0x10c4).pick(&[0, 20]),
            many_lines: !Random::new(seed ^ 0x11e5).one_in(4),
            two_files: random.one_in(3),
            large: random.one_in(12),
            marker: random.one_in(3),
            repairs: *Random::new(seed ^ 0x4e9a14).pick(&[0, 1, 1]),
            smoke: Random::new(seed ^ 0x5303e).one_in(2),
            guard_first: random.one_in(4),
            guard_before_keep: random.one_in(3),
            guard_number: random.one_in(3),
            plausible: random.one_in(3),
            limits: *random.pick(&[
                Limits::None,
                Limits::None,
                Limits::None,
                Limits::NightWall,
                Limits::NightExperiments,
                Limits::NoGain,
                Limits::TotalWall,
            ]),
            faults,
            unreached: None,
        }
    }

    /// A small study in which nothing happens to the engine by itself, and a result is a function of the contents
    /// and of how often they were measured.
    pub fn calm(seed: u64, experiments: u64, noise: f64) -> Setup {
        Setup {
            seed,
            experiments,
            slots: 1,
            ahead: 0,
            goal: Goal::Min,
            noise,
            jitter: 0,
            min_gain: 0.0,
            tuner: false,
            team: false,
            flat: false,
            lucky: 0,
            many_lines: false,
            two_files: false,
            large: false,
            marker: false,
            repairs: 1,
            smoke: true,
            guard_first: false,
            guard_before_keep: true,
            guard_number: false,
            plausible: false,
            limits: Limits::None,
            faults: Faults { bad_candidates: true, bad_agent: true, power_loss: 2, ..Faults::default() },
            unreached: None,
        }
    }

    /// A night of small effects in much noise, on a machine that shifts, with several at work side by side.
    pub fn night(seed: u64) -> Setup {
        let mut random = Random::new(seed ^ 0x0419);
        let slots = *random.pick(&[1, 2, 3, 4, 8]);
        let limits = *random.pick(&[Limits::None, Limits::NightWall, Limits::LongNight]);
        let faults = Faults {
            crash: *random.pick(&[100, 300, 900]),
            power_loss: 2,
            lost_trial: *random.pick(&[0, 40]),
            flaky_guard: 5,
            review: 1,
            few: 3,
            shift: 60,
            ..Faults::default()
        };
        let noise = *random.pick(&[0.05, 0.1, 0.2]);
        let (guard_before_keep, many_lines, ahead) = (random.one_in(3), true, 1);
        let calm = Setup { flat: random.one_in(3), ..Setup::calm(seed, 120, noise) };
        Setup { slots, ahead, limits, faults, guard_before_keep, many_lines, ..calm }
    }

    /// A night of a team whose members differ in skill.
    pub fn team(seed: u64) -> Setup {
        let night = Setup::night(seed);
        let mut random = Random::new(seed ^ 0x7ea3);
        let limits = *random.pick(&[Limits::None, Limits::NightWall]);
        let faults = Faults { shift: 0, crash: *random.pick(&[300, 900]), ..night.faults };
        let noise = *random.pick(&[0.0, 0.0, 0.004]);
        let slots = *random.pick(&[1, 2]);
        Setup { team: true, flat: false, slots, limits, faults, noise, experiments: 80, ..night }
    }

    /// A night in which nothing is to be gained, and what looked better was lucky.
    pub fn luck(seed: u64) -> Setup {
        let night = Setup::night(seed);
        let mut random = Random::new(seed ^ 0x10c4);
        let faults = Faults { shift: 0, few: 0, crash: *random.pick(&[300, 1000]), ..night.faults };
        let (slots, noise, lucky) = (*random.pick(&[2, 3, 4]), 0.2, *random.pick(&[6, 12]));
        Setup { slots, noise, lucky, faults, flat: true, limits: Limits::NightWall, experiments: 140, ..night }
    }

    /// A long quiet night of a team, in which the provider of the good one cannot be reached for a while.
    pub fn outage(seed: u64, unreached: (i64, i64)) -> Setup {
        let (experiments, many_lines, ahead) = (90, true, 1);
        let faults = Faults::default();
        Setup {
            team: true,
            many_lines,
            ahead,
            faults,
            unreached: Some(unreached),
            ..Setup::calm(seed, experiments, 0.0)
        }
    }

    /// Whether nobody counts the experiments of a run, so that the tuner may fill what others leave idle.
    pub fn is_open_ended(&self) -> bool {
        self.team && matches!(self.limits, Limits::NightWall | Limits::LongNight)
    }

    /// How far numbers may have moved between two moments, since nobody but the machine changed.
    pub fn largest_shift(&self) -> f64 {
        if self.faults.shift > 0 { f64::INFINITY } else { 0.0 }
    }

    /// The triplet; the last run of a study has no limits, so that nothing stays open.
    pub fn triplet(&self, with_limits: bool) -> String {
        let paths = if self.two_files { "[\"train.py\", \"src/model.py\"]" } else { "\"train.py\"" };
        let surface = match self.marker {
            true => format!("{{ path = {paths}, max_lines_changed = 6 }}"),
            false => paths.to_owned(),
        };
        let surface = match (self.marker, self.two_files) {
            (true, false) => format!("{{ path = \"train.py\", above = \"{MARKER}\", max_lines_changed = 6 }}"),
            _ => surface,
        };
        let goal = self.goal;
        let min_gain = if self.min_gain > 0.0 { format!(", min_gain = {}", self.min_gain) } else { String::new() };
        let plausible = if self.plausible { ", plausible = [0.0, 10.0]" } else { "" };
        let mut text = format!(
            "surface = {surface}\nmetric = {{ name = \"loss\", goal = \"{goal}\"{min_gain}{plausible} }}\n\
             [evaluate]\nrun = \"python3 train.py\"\nbudget = \"30s\"\n"
        );
        if self.smoke {
            text += "smoke = \"look\"\n";
        }
        if self.guard_first {
            text += "[[guard]]\nrun = \"compile\"\nwhen = \"first\"\n";
        }
        if self.guard_before_keep {
            text += "[[guard]]\nrun = \"pytest\"\nwhen = \"before_keep\"\n";
        }
        if self.guard_number {
            text += "[[guard]]\nmetric = \"memory\"\nmax = 900\nmax_regression = 0.5\nwhen = \"first\"\n";
        }
        text += match (self.team, self.tuner) {
            (true, _) => "[agent]\nuse = [\"good\", \"bad\", \"tuner\"]\ncommand = \"./agent\"\n",
            (false, true) => "[agent]\nuse = \"tuner\"\n",
            (false, false) => "[agent]\nuse = \"command\"\ncommand = \"./agent\"\n",
        };
        text += &format!("ahead = {}\nrepairs = {}\n", self.ahead, self.repairs);
        if self.unreached.is_some() {
            // It would be its turn nearly always.
            text += "weights = { good = 8, bad = 1, tuner = 1 }\n";
        }
        if self.team {
            text += "[agent.good]\nuse = \"command\"\n[agent.bad]\nuse = \"command\"\n";
        }
        text += match (with_limits, self.limits) {
            (false, _) | (_, Limits::None) => "",
            (_, Limits::NightWall) => "[limits]\nwall = \"15m\"\n",
            (_, Limits::LongNight) => "[limits]\nwall = \"90m\"\n",
            (_, Limits::NightExperiments) => "[limits]\nexperiments = 12\n",
            (_, Limits::NoGain) => "[limits]\nno_gain_for = \"10m\"\n",
            (_, Limits::TotalWall) => "[limits.total]\nwall = \"30m\"\nno_gain_for = 30\n",
        };
        text
    }

    /// A repository with the study's first surface; copied from one that is made once.
    pub fn repo(&self) -> Repo {
        static SMALL: OnceLock<Repo> = OnceLock::new();
        static LARGE: OnceLock<Repo> = OnceLock::new();
        let template = if self.large { &LARGE } else { &SMALL };
        let make = || {
            let padding =
                if self.large { "# padding padding padding padding padding\n".repeat(1800) } else { String::new() };
            let text = format!(
                "lr = 0.5\nwd = 0.25\nbeta = 0.4\nclip = 0.3\nmode = \"ok\"\nwarm = 0.2\ndecay = 0.6\n{MARKER}\nprint(lr)\n{padding}"
            );
            Repo::new()
                .file("train.py", text)
                .file("src/model.py", "depth = 4\n")
                .file("src/data.py", "import random\n")
                .file("README.md", "a project\n")
                .triplet("")
                .commit()
        };
        let repo = template.get_or_init(make).copy();
        repo.write("overnight.toml", self.triplet(true));
        repo
    }
}
