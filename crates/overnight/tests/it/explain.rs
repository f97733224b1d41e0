//! Words explained, commands listed, manual pages and completions.

use std::fs;
use std::process::Command;

use overnight_model::Verdict;

use crate::support::{Ran, Repo};

#[test]
fn a_verdict_is_explained_with_what_to_do() {
    let repo = Repo::empty();
    insta::assert_snapshot!(repo.ok(&["explain", "timed_out"]), @"
    timed_out · broken · counts as an experiment

    The command was still running at its hard wall, `evaluate.kill`. It was ended with everything it
    had started.

    usual causes
      - the edit made it slower, or it hangs
      - the program does not keep to OVERNIGHT_BUDGET_SECONDS
      - the wall is too close for this machine

    what to do
      - let the program stop by itself when its budget is spent
      - raise `evaluate.kill`; it may change from run to run
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["explain", "not", "better"]), @"
    not better · a group of verdicts: measured, and not better

      discarded      measured, and not better, or too unlikely to be worth another trial
      retracted      kept once, and taken back: its repeats do not bear it out
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["explain", "3"]), @"
    exit code 3 · refused: the sandbox is weaker than `sandbox.min`, another engine runs the study,
    a file differs from its commit, the branch was moved; of `audit`: the branch that was asked for
    was not made; of `compare`: no opening of the holdout is left; of `init --with`: the draft was
    no exam, or nobody could be asked
    --- exit code 0
    ");
    repo.ok(&["explain", "Separated"]).says("without candidate code");
    repo.ok(&["explain", "landlock"]).says("a tier of the sandbox");
}

#[test]
fn every_verdict_can_be_explained_and_is_listed() {
    let repo = Repo::empty();
    let listed = repo.ok(&["explain"]).stdout;
    for verdict in Verdict::ALL {
        let name = verdict.name();
        assert!(listed.contains(&format!("\n  {name} ")), "{name} is not listed");
        let text = repo.ok(&["explain", name]).says("usual causes").says("what to do").stdout;
        assert!(text.starts_with(&format!("{name} · {} · ", verdict.group().name())), "{text}");
    }
}

#[test]
fn a_misspelt_word_is_met_with_the_nearest() {
    let repo = Repo::empty();
    insta::assert_snapshot!(repo.overnight(&["explain", "time_out"]).ended(2), @"
    --- to people
    error: there is nothing called `time_out` to explain
    hint: did you mean `overnight explain timed_out`?
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["explain", "weather"]).ended(2), @"
    --- to people
    error: there is nothing called `weather` to explain
    hint: `overnight explain` lists everything
    --- exit code 2
    ");
}

#[test]
fn help_more_lists_what_help_leaves_out() {
    let repo = Repo::empty();
    insta::assert_snapshot!(repo.ok(&["help", "more"]), @"
    The commands that `overnight --help` leaves out:

    Trust:
      review       What waits for your word: keep or discard an experiment whose number was not believed
      compare      Is B really better than A? Two commits or the working tree, run in turns; needs no study
      audit        Which commits of a branch carry its gain? Each is left out in turn; needs no study
      verify       Prove that ledger, projections, contents and git agree
      explain      What a verdict means, and what to do

    A study that goes on:
      status       Where the study stands
      mcp          Let an outside agent drive over the Model Context Protocol, with the engine deciding
      say          Tell every agent something from the next brief on, also while a run is going on
      pause        Let what runs finish and begin nothing new, until `resume`
      resume       Go on after `pause`
      rebase       Go on under a changed evaluation: carry the champion over and measure anew
      import       Take in the history that another tool kept
      export       Write the history in another tool's format
      forget       Erase what was kept of calls to models; the ledger stays provable

    The program itself:
      completions  Write completions for a shell
      man          Write the manual pages
      help         The help of a command; `more` for the commands that --help leaves out

    `overnight help COMMAND` shows the options of any command.
    --- exit code 0
    ");
    assert_eq!(repo.ok(&["help"]).stdout, repo.ok(&["--help"]).stdout);
    assert_eq!(repo.ok(&["help", "run"]).stdout, repo.ok(&["run", "--help"]).stdout);
    insta::assert_snapshot!(repo.overnight(&["help", "chekc"]).ended(2), @"
    --- to people
    error: there is no command `chekc`
    hint: did you mean `overnight help check`?
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["help", "mroe"]).ended(2), @"
    --- to people
    error: there is no command `mroe`
    hint: did you mean `overnight help more`?
    --- exit code 2
    ");
    insta::assert_snapshot!(repo.overnight(&["help", "weather"]).ended(2), @"
    --- to people
    error: there is no command `weather`
    hint: `overnight help` and `overnight help more` list them
    --- exit code 2
    ");
}

#[test]
fn every_command_has_a_manual_page_with_its_options() {
    let repo = Repo::empty();
    repo.ok(&["man", "pages/man1"]).says("pages are in pages/man1");
    let page = |name: &str| repo.read(&format!("pages/man1/{name}.1"));
    for command in commands(&repo) {
        let text = page(&format!("overnight-{command}")).replace("\\-", "-");
        assert!(text.contains(".SH NAME") && text.contains(".SH DESCRIPTION"), "{command}\n{text}");
        for option in options(&repo, &command) {
            assert!(text.contains(&option), "{option} is not in the page of {command}\n{text}");
        }
        assert!(page("overnight").replace("\\-", "-").contains(&format!("overnight-{command}(1)")), "{command}");
    }
    assert!(!fs::exists(repo.dir().join("pages/man1/overnight-__keeper.1")).unwrap());
    assert_eq!(repo.ok(&["man"]).stdout.trim_end(), page("overnight").trim_end());
}

#[test]
fn bash_loads_its_completions_and_finds_commands_and_options() {
    let repo = Repo::empty();
    let program = env!("CARGO_BIN_EXE_overnight");
    let complete = |words: &str| {
        let words_at = words.split(' ').count() - 1;
        let script = format!(
            "source <('{program}' completions bash) && complete -p overnight && COMP_WORDS=({words}) && \
             COMP_CWORD={words_at} && _overnight overnight \"${{COMP_WORDS[{words_at}]}}\" '' && echo \"${{COMPREPLY[@]}}\""
        );
        let ran = Ran::of(Command::new("bash").args(["--norc", "-c", &script]).output().unwrap()).ended(0);
        assert!(ran.stdout.starts_with("complete ") && ran.stdout.contains("-F _overnight overnight"), "{ran}");
        ran.stdout.lines().last().unwrap().to_owned()
    };
    assert_eq!(complete("overnight st"), "status");
    assert_eq!(complete("overnight ver"), "verify");
    assert_eq!(complete("overnight __"), "", "what is not for people is not offered");
    assert_eq!(complete("overnight --v"), "--version");
    assert_eq!(complete("overnight run --ex"), "--experiments");
    assert_eq!(complete("overnight run --det"), "--detach", "`--detached` is for ourselves");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        repo.ok(&["completions", shell]).says("overnight").says("experiments");
    }
    repo.overnight(&["completions", "tcsh"]).ended(2).says("possible values: bash, elvish, fish, powershell, zsh");
}

/// Every command that is for people.
fn commands(repo: &Repo) -> Vec<String> {
    let both = format!("{}{}", repo.ok(&["--help"]).stdout, repo.ok(&["help", "more"]).stdout);
    let named = both.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(' ')).map(|(name, _)| name);
    let names: Vec<_> = named.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    assert!(names.len() > 14, "{names:?}");
    names.into_iter().map(ToOwned::to_owned).collect()
}

/// The long options in a command's help.
fn options(repo: &Repo, command: &str) -> Vec<String> {
    let help = repo.ok(&["help", command]).stdout;
    let words = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let options: Vec<_> = words.filter(|word| word.starts_with("--")).map(ToOwned::to_owned).collect();
    assert!(options.contains(&"--study".to_owned()), "{help}");
    options
}
