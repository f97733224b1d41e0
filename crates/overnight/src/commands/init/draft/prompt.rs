//! What a drafter is told.

use super::rules;
use crate::commands::init::proposal::Proposal;

/// What a prompt is made of.
pub(super) struct Asked<'a> {
    /// The person's own words.
    pub(super) goal: &'a str,
    /// The triplet's name within its folder.
    pub(super) triplet: &'a str,
    /// The folder of the triplet within the repository; empty at the top.
    pub(super) folder: &'a str,
    /// What `init` makes of the repository by itself.
    pub(super) found: &'a Proposal,
    /// What the person said besides, as options.
    pub(super) said: &'a [String],
    pub(super) has_program: bool,
}

pub(super) fn first(asked: &Asked<'_>) -> String {
    let Asked { goal, triplet, folder, found, said, has_program } = asked;
    let goal = goal.replace('\n', "\n> ");
    let place = match folder.is_empty() {
        true => "at the top of this repository".to_owned(),
        false => format!("in `{folder}`, which is where commands run and what its paths are relative to"),
    };
    let program = match has_program {
        true => "`program.md` is there already and stays as it is.",
        false => {
            "Write `program.md` beside it: half a page for the agents that will propose edits. What is to become \
             better, what must stay, what is worth trying, and nothing about git, logging or running experiments."
        }
    };
    let found = match found.unknown().is_empty() {
        true => format!(
            "A look at the file names suggests this triplet; take of it what is right:\n\n{}",
            block(&found.text())
        ),
        false => "A look at the file names alone found no benchmark that would do.\n".to_owned(),
    };
    let said = match said.is_empty() {
        true => String::new(),
        false => format!("The person also said, and it must hold: `{}`\n", said.join("` `")),
    };
    let (keys, evaluate, metric) = (rules::KEYS.join(", "), rules::EVALUATE.join(", "), rules::METRIC.join(", "));
    format!(
        r#"# What is wanted

> {goal}

A loop will run over this repository for a whole night: an agent edits a few files, the *surface*; a locked evaluation
scores each edit; edits that are really better are kept. You write the evaluation: the exam that those edits have to
pass. You do not improve the code yourself.

# What to write

1. `{triplet}`, {place}: the triplet. Its form is below.
2. A benchmark with its cases, where nothing that is here measures what is wanted. Put it into one new folder.
3. {program}

Only add files. An edit of any file that is here already, a test among them, makes the whole draft void. At most 64
plain files of 1 MiB; no links; names that begin with a dot are not taken.

# The triplet

```toml
surface = ["src/parser.py"]                 # few files, all here already: what agents may edit
metric = {{ name = "parse_ms", goal = "min" }}  # one number, min or max

[evaluate]
run = "python3 bench/run.py"                # does the work; leaves its answers in $OVERNIGHT_OUT
score = "python3 bench/score.py"            # makes the number of what lies in $OVERNIGHT_ARTIFACTS
hidden = ["bench/score.py", "bench/expected.json"]  # only `score` sees these
budget = "30s"                              # how long one run may take; well above what it takes

[[guard]]
run = "python3 -m pytest -q"                # must exit with 0 before anything is kept
```

Keys that you may use: {keys}; of [evaluate]: {evaluate}; of metric: {metric}; of a guard: run, or metric with max or
max_regression. `inputs` are paths in this repository that git does not track (a virtual environment, data); everything
tracked is there anyway. Commands run in a sandbox without a network, in the folder of the triplet.

# What makes a good exam

- The number comes from a line `METRIC name=value` that the command prints.
- Candidate code should have no part in its own number. Where it can be, let `run` leave answers as plain data (JSON, CSV)
  in the folder `$OVERNIGHT_OUT`, and let `score`, which runs apart from the surface and cannot import it, check them in
  `$OVERNIGHT_ARTIFACTS` against what is hidden and print the number. A number that only candidate code can know, a time,
  is measured by `run`: in a locked file of yours that calls the surface, checks every answer, and ends with an exit code
  other than 0 at the first that is wrong.
- No work must never pay: with the surface emptied the command has to fail, or score worse than now. A surface that does
  less, skips cases or answers from memory must not win. Where chance helps against learning by heart, draw cases from
  the seed in the variable OVERNIGHT_SEED: the same seed, the same cases.
- The same number twice: no clock, chance or order of a set in it that is not needed. Of times take the least or the
  median of many repeats.
- One run takes seconds rather than minutes: the night has hundreds of them.
- What must not break goes into [[guard]]: the tests that are here, run by their own command.
- The surface is what has to change for what is wanted, and as few files as that takes: never a test, the benchmark or a
  file that it takes its cases from.

# What is here

{found}{said}
# Then

Write the files now. Run the evaluation and the guards if you have a tool for that, and mend what fails. It will be run
on the code as it is, on an empty surface and on one that only has a line end more; then a person reads it. End with one
line: what is measured, and how.
"#
    )
}

/// What goes back where a draft cannot be read.
pub(super) fn again(first: &str, triplet: &str, problems: &str) -> String {
    format!(
        "{first}\n# Your draft so far\n\nThe files that you wrote lie where you put them. The triplet cannot be used as it \
         is:\n\n{}\nMend it, in `{triplet}` or in your own files, and end with one line.\n",
        block(problems)
    )
}

fn block(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::init::proposal::Sure;

    fn asked(folder: &str, has_program: bool, said: &[String]) -> String {
        let found = Proposal::new("script", "nothing", Sure::Timed);
        first(&Asked {
            goal: "faster\nand smaller",
            triplet: "overnight.toml",
            folder,
            found: &found,
            said,
            has_program,
        })
    }

    #[test]
    fn it_has_the_goal_the_keys_and_what_the_person_said() {
        let text = asked("", false, &["--surface a.py".to_owned()]);
        for part in
            ["> faster\n> and smaller\n", "surface, metric, evaluate, guard", "`--surface a.py`", "OVERNIGHT_SEED"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("Write `program.md` beside it") && text.contains("at the top of this repository"));
        let below = asked("kit", true, &[]);
        assert!(
            below.contains("in `kit`, which") && below.contains("is there already") && !below.contains("also said")
        );
    }
}
