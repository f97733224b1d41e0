//! The words of the judge.

use super::Meaning;

/// A word that the judge's screens use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notion {
    Noise,
    Seed,
    ExpectedGain,
    Price,
    SureGain,
    Drift,
    Sentinel,
    Closing,
    Restacked,
    Simpler,
    Holdout,
}

impl Notion {
    pub const ALL: [Notion; 11] = [
        Notion::Noise,
        Notion::Seed,
        Notion::ExpectedGain,
        Notion::Price,
        Notion::SureGain,
        Notion::Drift,
        Notion::Sentinel,
        Notion::Closing,
        Notion::Restacked,
        Notion::Simpler,
        Notion::Holdout,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Notion::Noise => "noise",
            Notion::Seed => "seed",
            Notion::ExpectedGain => "expected gain",
            Notion::Price => "price",
            Notion::SureGain => "sure gain",
            Notion::Drift => "drift",
            Notion::Sentinel => "sentinel",
            Notion::Closing => "closing",
            Notion::Restacked => "restacked",
            Notion::Simpler => "simpler",
            Notion::Holdout => "holdout",
        }
    }

    pub fn meaning(self) -> Meaning {
        match self {
            Notion::Noise => Meaning {
                short: "how far repeats of one commit scatter, as a standard deviation",
                long: "What the number moves by when nothing changes. It is learned from every trial of a night; at first \
                       from two of the baseline. Where three seeds give the very same number, the metric is taken for one \
                       without noise, until a repeat differs.",
                causes: &["seeds, sampling, threads, other work on the machine"],
                todo: &["a longer budget, more evaluation data and fewer sources of chance make it smaller"],
            },
            Notion::Seed => Meaning {
                short: "OVERNIGHT_SEED, another for every trial; whether it settles the number is probed",
                long: "Every trial gets a seed of its own, so that a gain is one over many draws. A program that fixes its \
                       own seed gives the same every time: its gains are for that one seed, and the trust line says \
                       `all the same`. `not probed` means that no seed was run twice yet: \
                       `overnight check` does that, and every run that has some 16 trials.",
                causes: &[
                    "a program that does not read OVERNIGHT_SEED",
                    "chance that no seed governs, such as threads",
                ],
                todo: &["`overnight check` names the line that fixes a seed, and what to write instead"],
            },
            Notion::ExpectedGain => Meaning {
                short: "what a candidate is worth by everything known, not by its best run",
                long: "The mean of what is believed of its gain over the champion, after all trials of both, and after what \
                       edits of this study have been worth so far: a surprising result is believed less, until it comes \
                       again. The interval holds the true gain in 95 of 100 cases.",
                causes: &["the reported gain of every verdict, where the metric is noisy"],
                todo: &["`overnight show N` has it, with the chance that the gain is real"],
            },
            Notion::Price => Meaning {
                short: "what the study gains by a trial elsewhere: what one more trial has to be worth",
                long: "A trial for this candidate is one that another idea does not get. Its price is what a trial brings \
                       in this study as far as it is known; its worth is by how much better the decision would be. Trials \
                       go on, of the candidate or of the champion, while they are worth more than they cost.",
                causes: &["good ideas make trials dear, a study that finds nothing makes them cheap"],
                todo: &["`judge.max_share` bounds what one candidate may get of a night"],
            },
            Notion::SureGain => Meaning {
                short: "the smallest gain that would be kept nine times in ten",
                long: "Found by playing candidates of known gain to the judge itself, with the noise of this study. Smaller \
                       gains are kept too, less often. `check` says it before a night, `status` during and after it.",
                causes: &["the noise, `metric.min_gain` and `judge.mode`"],
                todo: &["half the noise finds gains of half the size"],
            },
            Notion::Drift => Meaning {
                short: "the level of everything moves while nothing changes",
                long: "A warm machine, another job on it, a data source that changes. The champion is measured again now and \
                       then; where it is suddenly another, three of its trials tell whether the machine is. Then what was \
                       discarded lately is tried again, and what is under way starts over.",
                causes: &["a busy or throttled machine", "anything shared with others"],
                todo: &["keep the machine to itself, and slots few, while a metric is a time"],
            },
            Notion::Sentinel => Meaning {
                short: "a trial of the champion for its own sake",
                long: "After every 8 to 40 trials of others the champion is measured once more: so that luck does not become \
                       the bar for everyone after it, and so that drift is seen. In the count of trials it stands for those \
                       that close a night, too.",
                causes: &["every night with a noisy metric"],
                todo: &["nothing"],
            },
            Notion::Closing => Meaning {
                short: "champion and baseline in turns, at the end of a night",
                long: "The gain of a night is measured, not added up: before its end, champion and baseline run in pairs, \
                       each pair with one seed, in random order, for at most 8 % of the night. The gain over the baseline \
                       that is reported comes from these alone.",
                causes: &["a keep, a noisy metric, and a night of some length"],
                todo: &[
                    "`limits.wall` says how long the night is: without it nothing is closed until a run ends by itself",
                ],
            },
            Notion::Restacked => Meaning {
                short: "put on a champion that was kept after it was made",
                long: "A proposal is made from the champion of its moment. When another has taken its place, both changes \
                       are merged, and the proposal is judged on the new champion. Where they do not merge it is given \
                       back: `discarded`, and agents are told to do it again.",
                causes: &["several slots", "agents that are asked ahead"],
                todo: &["nothing; `overnight show N` says onto what"],
            },
            Notion::Simpler => Meaning {
                short: "as good as the champion, as far as can be told, with fewer tokens",
                long: "Kept although it gains nothing: the same for less code, comments aside. It may cost at most a quarter \
                       of the noise, or `metric.min_gain`, counted from the last champion that won on the metric: the \
                       margin is spent once, however many simpler ones follow.",
                causes: &["an edit that removes code which did nothing"],
                todo: &["nothing"],
            },
            Notion::Holdout => Meaning {
                short: "a second opinion on data that nothing was chosen by, opened a counted number of times",
                long: "A night fits the evaluation that it is judged by, its accidents included. `[holdout]` names a scorer \
                       and files that no trial, scorer or agent sees; only `overnight compare A B --holdout` opens it, \
                       and every look is counted, because what is looked at often is fitted too.",
                causes: &["`[holdout]` is set; without it the trust line says `no holdout`"],
                todo: &["before you merge a champion: `overnight compare baseline champion --holdout`"],
            },
        }
    }
}
