//! What the words on screens mean, and what to do about them: the one place for these texts.
//!
//! `overnight explain` and docs/verdicts.md show them; a word without a text does not compile.

mod notion;

pub use notion::Notion;

use crate::spec::{Assurance, Mode, Tier};
use crate::verdict::{Group, Verdict};

/// A word explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// In one line, for lists.
    pub short: &'static str,
    pub long: &'static str,
    /// What usually brings it about.
    pub causes: &'static [&'static str],
    /// What a person can do.
    pub todo: &'static [&'static str],
}

impl Verdict {
    pub fn meaning(self) -> Meaning {
        use Verdict::*;
        match self {
            Baseline => Meaning {
                short: "the commit that the study began from, measured",
                long: "Not an idea but the yardstick: the commit that the study began from, run twice with different \
                       seeds, a third time where both gave the same. Its spread is the first estimate of the noise, and \
                       gains are reported against it.",
                causes: &["every study begins with one"],
                todo: &[
                    "nothing; `overnight show baseline` has its runs",
                    "where they differ by more than the gains you hope for, make the metric steadier before a long run",
                ],
            },
            Kept => Meaning {
                short: "better by everything that is known, or as good and simpler; now a commit on the branch",
                long: "By everything that was measured of it and of the champion it is expected to be better, and another \
                       trial was not worth its price. Or it is no worse, as far as can be told, and has fewer tokens. It is \
                       a commit on the branch `overnight/<study>` and the new champion. Keeps are provisional: the champion \
                       is measured again and again, and one that does not hold is `retracted`.",
                causes: &[
                    "the idea is good",
                    "it changes nothing, and its runs were lucky: harmless to the metric, and some of the keeps of most nights",
                ],
                todo: &[
                    "read it: `overnight show N` says how sure it is, `git show overnight/<study>` what it changed",
                    "before you rely on it: `overnight compare` for the whole, `overnight audit` for which keeps carry it",
                    "`judge.mode = \"strict\"` where every keep should be nearly sure",
                ],
            },
            Discarded => Meaning {
                short: "measured, and not better, or too unlikely to be worth another trial",
                long: "It ran well, and is not expected to be better than the champion by more than is asked for; or it may \
                       be, but finding out would cost more trials than it is worth. Where it does not merge with a champion \
                       that moved meanwhile it is given back as an idea. The reason says which, with the numbers.",
                causes: &[
                    "most ideas are not better",
                    "the noise hides small gains: `overnight status` says how small",
                    "another proposal was kept first, and both change the same lines",
                ],
                todo: &[
                    "nothing: this is what most experiments come to",
                    "where many are undecided, make the metric steadier: more data, a longer budget, fewer sources of chance",
                    "what did not merge may be proposed again, on the champion of now",
                ],
            },
            NoChange => Meaning {
                short: "the agent left the surface as it was",
                long: "The agent ended well, and the surface is the champion's: byte for byte, or but for whitespace and \
                       comments, which the reason then says. Nothing was run.",
                causes: &[
                    "the agent had no idea, or only talked about one",
                    "it wrote nothing but comments",
                    "it edited another place than the copy it was given",
                ],
                todo: &[
                    "`overnight show N` has what the agent printed",
                    "let the program edit the surface in its working folder",
                ],
            },
            Duplicate => Meaning {
                short: "the same surface was tried before",
                long: "An earlier experiment had this surface, so nothing was run; the reason names it. In Python, \
                       JavaScript, TypeScript, Rust, C, C++, Go, shell, JSON, TOML and YAML, whitespace and comments \
                       that mean nothing there make no difference; elsewhere, and after a crash, every byte counts.",
                causes: &[
                    "the agent does not remember what it tried; the brief tells it",
                    "it was asked ahead, before it could know",
                ],
                todo: &[
                    "let the agent read the history in its brief",
                    "`agent.ahead = 0` for an agent that proposes the same until it knows the outcome",
                ],
            },
            Crashed => Meaning {
                short: "the command failed: an exit code other than 0, or a signal",
                long: "`evaluate.run` ended with an exit code other than 0, or was killed by a signal. Whatever it printed, \
                       there is no number: a crash is never 0.",
                causes: &[
                    "the edit broke the code",
                    "something that the command needs is not in the sandbox: the last line of the output then says what",
                ],
                todo: &[
                    "`overnight show N` has the end of the output",
                    "after five broken ones in a row the champion is run once more; if it breaks too, the run ends and says so",
                ],
            },
            TimedOut => Meaning {
                short: "still running at `evaluate.kill`, and killed with all it had started",
                long: "The command was still running at its hard wall, `evaluate.kill`. It was ended with everything it had \
                       started.",
                causes: &[
                    "the edit made it slower, or it hangs",
                    "the program does not keep to OVERNIGHT_BUDGET_SECONDS",
                    "the wall is too close for this machine",
                ],
                todo: &[
                    "let the program stop by itself when its budget is spent",
                    "raise `evaluate.kill`; it may change from run to run",
                ],
            },
            OutOfMemory => Meaning {
                short: "took more memory than `sandbox.memory` allows",
                long: "The command and what it started took more memory than one command may.",
                causes: &["a larger model or batch", "a leak"],
                todo: &[
                    "set `sandbox.memory`; without it a command gets a fair share of the machine",
                    "fewer slots leave more for each",
                ],
            },
            OutputLimit => Meaning {
                short: "printed more than 256 MiB",
                long: "The command printed more than 256 MiB and was ended.",
                causes: &["a line for every step", "a warning in a loop"],
                todo: &["print less, or into a file in $OVERNIGHT_OUT"],
            },
            DiskLimit => Meaning {
                short: "wrote more than it may, or filled the disk",
                long: "The command wrote more than `sandbox.disk` allows, or filled the disk or the memory that its writes \
                       are kept in. What it wrote was taken away.",
                causes: &["checkpoints", "a data set that is unpacked in every trial"],
                todo: &[
                    "set `sandbox.disk`, and `sandbox.layer = \"disk\"` where memory is short",
                    "name large data in `evaluate.inputs`, or unpack it once in `evaluate.prepare`",
                ],
            },
            PidsLimit => Meaning {
                short: "had more processes and threads than `sandbox.pids` allows",
                long: "The command had more processes and threads at once than one command may.",
                causes: &["a pool as large as the machine in each of many processes", "a loop that starts processes"],
                todo: &["set `sandbox.pids`", "limit the pools: OMP_NUM_THREADS in `evaluate.env`"],
            },
            InvalidMetric => Meaning {
                short: "the command ended well and gave no usable number",
                long: "There is no metric in what was printed or written, or two different values, or one that is not a \
                       finite number; or the scorer could not make one out of what `run` left. An unknown number is never \
                       0 and never best.",
                causes: &[
                    "the edit removed or renamed the line",
                    "a loss that is NaN",
                    "a program that prints its metric many times, without `metric.pick = \"last\"`",
                    "artifacts that the scorer refuses",
                ],
                todo: &[
                    "`overnight show N` has the output; print one line `name: value` at the end",
                    "put the line that prints the metric outside of the surface",
                ],
            },
            GuardFailed => Meaning {
                short: "a guard of yours said no",
                long: "A `[[guard]]` did not pass: its command ended twice with another exit code than 0 while the \
                       champion still passes it, or its number was missing, or past its limit in two trials. The reason \
                       names it.",
                causes: &["the gain was bought with something else, such as a test, memory or size"],
                todo: &[
                    "nothing: this is what guards are for",
                    "a guard that is too strict may be changed from run to run",
                ],
            },
            Policy => Meaning {
                short: "the proposal changed what it may not, and was not run",
                long: "The agent changed a locked file, a mode, or the locked part of a file; removed or replaced a file of \
                       the surface; or changed more lines than `max_lines_changed`. Nothing of it was run.",
                causes: &["the agent was not told what is locked", "it tried to change the evaluation"],
                todo: &["say in program.md what may change", "widen `surface` in a new study if the agent is right"],
            },
            Tampered => Meaning {
                short: "the evaluation itself was touched; no version gives this verdict yet",
                long: "Reserved for a candidate that is found to have touched the evaluation itself. This version does not \
                       give it: an agent's edit of a locked file is `policy`, a trial cannot write outside of its sandbox, \
                       and a changed input or layer ends the run.",
                causes: &["none in this version"],
                todo: &["nothing"],
            },
            Suspect => Meaning {
                short: "the number is not to be believed; it waits for your word",
                long: "The metric is outside of the range that `metric.plausible` calls possible, larger than 1e100, or \
                       better by more than `judge.max_step_gain`. It is not kept, and waits for a person: \
                       `overnight review` lists what waits, and takes your word. What you keep becomes the champion as any \
                       keep does, as long as nothing else was kept since; what you discard is `discarded`.",
                causes: &[
                    "a bug in the evaluation that an edit has found",
                    "a candidate that prints its own number",
                    "a range that is too narrow",
                ],
                todo: &[
                    "read the diff: `overnight show N`, then `overnight review N --keep -m WHY`, or `--discard`",
                    "let a locked scorer make the number: `evaluate.score`",
                    "widen `metric.plausible` if such values are honest; it may change from run to run",
                ],
            },
            Retracted => Meaning {
                short: "kept once, and taken back: its repeats do not bear it out",
                long: "It was kept, and what was measured of it since makes it unlikely that it is better than the champion \
                       before it. That one has its place again, by a commit `Take back: …` on the branch that says why. \
                       The branch only goes forward: what was taken back stays in its history.",
                causes: &["the runs that it was kept for were lucky", "the machine was another one then"],
                todo: &[
                    "nothing: this is how luck is found out",
                    "where it happens often, `judge.mode = \"strict\"`, or a steadier metric",
                ],
            },
            AgentError => Meaning {
                short: "the agent failed, and gave no proposal",
                long: "The agent's program ended with an exit code other than 0, did not end within `agent.timeout`, or has \
                       nothing more to propose.",
                causes: &["a key or a network that it misses", "a usage limit of its model", "a bug in it"],
                todo: &[
                    "`overnight show N` has what it printed",
                    "try it by hand: it gets a brief as JSON on standard input",
                    "raise `agent.timeout`",
                ],
            },
            EngineError => Meaning {
                short: "our own fault, three times in a row; never held against the idea",
                long: "overnight itself could not run the trial, three times in a row. That says nothing of the idea, which \
                       may be proposed again.",
                causes: &[
                    "a full or failing disk",
                    "a machine out of memory or processes",
                    "a scorer that fails on the champion's artifacts too",
                    "a bug in overnight",
                ],
                todo: &["read the reason", "`overnight check --machine` says what this machine can do"],
            },
            Interrupted => Meaning {
                short: "`overnight try` was stopped before there was a verdict",
                long: "A person stopped `overnight try` before its experiment had a verdict. What `overnight run` leaves \
                       open when it is stopped gets no verdict: it goes on with the next run.",
                causes: &["Ctrl-C"],
                todo: &["try it again: it is not a duplicate"],
            },
        }
    }
}

impl Group {
    /// In the order of screens.
    pub const ALL: [Group; 5] = [Group::Kept, Group::NotBetter, Group::Broken, Group::Refused, Group::NotCounted];

    /// The group in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Group::Kept => "a commit on the branch",
            Group::NotBetter => "measured, and not better",
            Group::Broken => "no number that could be compared",
            Group::Refused => "against a rule, whatever the number",
            Group::NotCounted => "says nothing of an idea; does not count as an experiment",
        }
    }
}

impl Assurance {
    pub const ALL: [Assurance; 2] = [Assurance::Cooperative, Assurance::Separated];

    pub fn meaning(self) -> Meaning {
        match self {
            Assurance::Cooperative => Meaning {
                short: "the code under test prints its own metric",
                long: "The code under test computes and prints its own metric. That is enough against accidents, not \
                       against a candidate that lies, in any sandbox.",
                causes: &["`evaluate.score` is not set"],
                todo: &["let a locked scorer make the number from what `run` leaves: see docs/separated.md"],
            },
            Assurance::Separated => Meaning {
                short: "a locked scorer makes the metric from what the code under test left",
                long: "`run` leaves files; `evaluate.score` makes the number out of them, in a sandbox of its own, without \
                       candidate code and with hidden files that nobody else sees. What `run` printed is kept as a claim.",
                causes: &["`evaluate.score` is set"],
                todo: &["read files as data only: a scorer that unpickles what a candidate wrote runs its code"],
            },
        }
    }
}

impl Mode {
    pub fn meaning(self) -> Meaning {
        match self {
            Mode::Explore => Meaning {
                short: "trials are dear, any expected gain is kept: more ideas, more of the keeps are chance",
                long: "For the early days of a study, when a wrong keep costs little and a missed gain costs much. What is \
                       expected to be better is kept, however little, and fewer trials are spent on finding out.",
                causes: &["`judge.mode = \"explore\"`"],
                todo: &["before you rely on the champion, compare it with the baseline: `overnight compare`"],
            },
            Mode::Balanced => Meaning {
                short: "a trial has to be worth its price, and a keep to be expected better by more than a trace",
                long: "What is right for most nights: it makes the most of the trials that there are. A large gain is kept \
                       at once, a close one gets trials as long as they are worth it.",
                causes: &["nothing else is said in `judge.mode`"],
                todo: &["nothing"],
            },
            Mode::Strict => Meaning {
                short: "a keep has to be 95 % likely better: hardly any is chance, small gains are missed",
                long: "For a study whose every keep will be relied on. It spends more trials on each keep and lets go of \
                       more gains that were real.",
                causes: &["`judge.mode = \"strict\"`"],
                todo: &[
                    "make the metric steadier where it finds nothing: strictness costs most where the noise is large",
                ],
            },
        }
    }
}

impl Tier {
    pub fn meaning(self) -> Meaning {
        match self {
            Tier::None => Meaning {
                short: "commands run as you",
                long: "Time, processes and the working copy are kept in check; else a command runs with your rights, your \
                       files and your network.",
                causes: &["neither namespaces nor Landlock are to be had here", "`--sandbox none`"],
                todo: &[
                    "`overnight check --machine` says why",
                    "code of a model runs here only when you say so by name",
                ],
            },
            Tier::Landlock => Meaning {
                short: "files by an allow-list, no network, no signals outside",
                long: "Commands reach their own files only and have no network. They run in working copies, one after \
                       another in each slot, and share users, memory and, mostly, processes with you.",
                causes: &["user namespaces are forbidden, or /proc cannot be mounted, as in most containers"],
                todo: &[
                    "`overnight check --machine` says what is missing for `standard`",
                    "accept it by name: `overnight run --sandbox landlock`",
                ],
            },
            Tier::Standard => Meaning {
                short: "files, processes and a network of its own for every command",
                long: "Every command has a root, processes, a network and shared memory of its own. Nothing of the host can \
                       be written, locked or signalled, and nothing that one trial writes is seen by another.",
                causes: &["user namespaces (or root), overlayfs and an unmasked /proc are there"],
                todo: &["nothing"],
            },
            Tier::Strong => Meaning {
                short: "as `standard`, with limits that control groups hold; not yet a tier of its own",
                long: "Reserved: as `standard`, with control groups for every limit. This version uses control groups where \
                       it may make them, and calls the tier `standard`.",
                causes: &["none in this version"],
                todo: &["nothing"],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_verdicts_is_whole() {
        // serde knows every variant, and names them all to whoever asks for one that is not there.
        let said = serde_json::from_str::<Verdict>("\"?\"").unwrap_err().to_string();
        let known: Vec<_> = said.split('`').skip(1).step_by(2).skip(1).collect();
        assert_eq!(Verdict::ALL.map(Verdict::name).to_vec(), known);
    }

    #[test]
    fn every_text_says_something_and_stays_on_its_line() {
        let verdicts = Verdict::ALL.into_iter().map(Verdict::meaning);
        let levels = Assurance::ALL
            .into_iter()
            .map(Assurance::meaning)
            .chain(Tier::ALL.into_iter().map(Tier::meaning))
            .chain(Mode::ALL.into_iter().map(Mode::meaning))
            .chain(Notion::ALL.into_iter().map(Notion::meaning));
        for meaning in verdicts.chain(levels) {
            let Meaning { short, long, causes, todo } = meaning;
            assert!(short.len() < 100 && !short.ends_with('.'), "{short}");
            assert!(long.ends_with('.') && !long.contains("  "), "{long}");
            assert!(!causes.is_empty() && !todo.is_empty(), "{short}");
        }
    }
}
