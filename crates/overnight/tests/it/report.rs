//! `overnight report`, and what it makes of studies that go wrong.

use std::fs;

use insta::internals::SettingsBindDropGuard;

use crate::support::{Repo, until};

/// Times and commits that are in no other screen.
fn masked() -> SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\b[0-9a-f]{10}\b", "[SHORT]");
    settings.add_filter(r"took [\dms. ]+;", "took [T];");
    settings.add_filter(r"(trials|night|agents)(\W+)[\d.]+(?:ms|h|m|s)\b(?: \d+[ms]\b)*", "$1$2[T]");
    settings.add_filter(r"\(\d+ kB\)", "([SIZE])");
    settings.bind_to_scope()
}

#[test]
fn a_night_is_told_on_one_page() {
    let repo = Repo::new();
    let _masks = masked();
    repo.run(3);
    insta::assert_snapshot!(repo.ok(&["report"]), @"
    overnight · main
    loss (lower is better) · as of [TIME]

    Better by 4 (100 %) than the baseline: loss 4 → 0, after 3 experiments.
      trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout

    WHERE THE TRIALS WENT
      last night  began [TIME], took [T]; done
      trials      7 trials for 3 experiments: 3 calibrate, 3 screen, 1 confirm (2.3 for each candidate)
      sure        any gain: no noise was seen
      so far      3 experiments: 1 kept, 2 not better

    PROGRESS
       loss · lower is better
       ●  kept   ⠠  not better  ⠠⠤⠤ champion  ⠠ ⠄ baseline
                                        ⠄
      10




       5
         ⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⡀⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀
                                                                       ⡇
                                                                       ⡇
                                                                       ⡇
                                                                       ⡇                              ⠈
       0                                                               ●⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉

         0                              1                              2                              3
                                                   experiment
      1 far from the others: drawn at the edge

    KEPT
         2  +4  x 5 → 3: the other way was not better
            loss 0 · 2 trials · tuner · [SHORT]
            better by 4, twice the same
            -x = 5
            +x = 3

    NEEDS YOU
      Nothing.

    COSTS
      trials      [T]
      agents      [T] at work, 3 turns
      night       [T]
      money       nothing: no model was asked

    HEALTH
      noise       none seen in 5 repeats
      drift       none can show where repeats are equal
      taken back  nothing
      assurance   cooperative: the code under test prints its own metric
      sandbox     standard: files, processes and a network of its own for every command
      network     none for candidates
      lost trials none

    NOT CHECKED
      · No holdout: a gain may be fitted to this very evaluation. [holdout] keeps data back.
      · Every seed gives the same number: a gain may be one for one fixed seed.
      · Candidates print their own number, and could lie: evaluate.score ends that.
      · No guard: nothing but the metric was looked at, neither tests nor memory nor size.
      · The chain of the ledger was not verified for this page: overnight verify does.

    GO ON
      overnight show champion                     # the winner in full: diff, trials, numbers
      overnight compare baseline champion         # measure the gain again, with fresh seeds
      overnight audit [SHORT]..overnight/main  # which keeps carry it
      git log overnight/main                      # what was kept, and why
      git merge overnight/main                    # take it over
      overnight log --all                         # every experiment
      overnight verify                            # prove that this is what happened
      overnight run                               # go on
    --- exit code 0
    ");
    insta::assert_snapshot!(repo.ok(&["report", "--md"]), @r"
    # overnight · main

    loss (lower is better) · as of [TIME]

    **Better by 4 (100 %) than the baseline: loss 4 → 0, after 3 experiments.**

    trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout

    ## Where the trials went

    - **last night**: began [TIME], took [T]; done
    - **trials**: 7 trials for 3 experiments: 3 calibrate, 3 screen, 1 confirm (2.3 for each candidate)
    - **sure**: any gain: no noise was seen
    - **so far**: 3 experiments: 1 kept, 2 not better

    ## Progress

    ```text
     loss · lower is better
     ●  kept   ⠠  not better  ⠠⠤⠤ champion  ⠠ ⠄ baseline
                                     ⠠
    10




     5
       ⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀
                                                                    ⡇
                                                                    ⡇
                                                                    ⡇
                                                                    ⡇                             ⠈
     0                                                              ●⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉

       0                             1                              2                             3
                                                experiment
    ```

    1 far from the others: drawn at the edge

    ## Kept

    - **2** · \+4 · x 5 → 3: the other way was not better
      <br>loss 0 · 2 trials · tuner · [SHORT]
      <br>better by 4, twice the same

      ```diff
      --- a/knobs.py
      +++ b/knobs.py
      @@ -1 +1 @@
      -x = 5
      +x = 3
      ```

    ## Needs you

    Nothing.

    ## Costs

    - **trials**: [T]
    - **agents**: [T] at work, 3 turns
    - **night**: [T]
    - **money**: nothing: no model was asked

    ## Health

    - **noise**: none seen in 5 repeats
    - **drift**: none can show where repeats are equal
    - **taken back**: nothing
    - **assurance**: cooperative: the code under test prints its own metric
    - **sandbox**: standard: files, processes and a network of its own for every command
    - **network**: none for candidates
    - **lost trials**: none

    ## Not checked

    - No holdout: a gain may be fitted to this very evaluation. `[holdout]` keeps data back.
    - Every seed gives the same number: a gain may be one for one fixed seed.
    - Candidates print their own number, and could lie: `evaluate.score` ends that.
    - No guard: nothing but the metric was looked at, neither tests nor memory nor size.
    - The chain of the ledger was not verified for this page: `overnight verify` does.

    ## Go on

    ```sh
    overnight show champion  # the winner in full: diff, trials, numbers
    overnight compare baseline champion  # measure the gain again, with fresh seeds
    overnight audit [SHORT]..overnight/main  # which keeps carry it
    git log overnight/main  # what was kept, and why
    git merge overnight/main  # take it over
    overnight log --all  # every experiment
    overnight verify  # prove that this is what happened
    overnight run  # go on
    ```
    --- exit code 0
    ");
    repo.assert_sound();
}

#[test]
fn pages_and_charts_are_written_to_files_and_replace_those_of_yesterday() {
    let repo = Repo::new();
    repo.run(3);
    let (page, svg, png) = (repo.outside("r.html"), repo.outside("r.svg"), repo.outside("r.png"));
    fs::write(&page, "yesterday").unwrap();
    let name = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (html, drawn, picture) = (name(&page), name(&svg), name(&png));
    let ran = repo.ok(&["report", "--html", &html, "--svg", &drawn, "--png", &picture]);
    assert_eq!(ran.stdout, "", "nobody asked for it on the screen");
    ran.says("r.html").says("r.svg").says("r.png");
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains("Better by 4") && !text.contains("<script"));
    assert!(fs::read_to_string(&svg).unwrap().contains("<svg xmlns="));
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG"));
    repo.ok(&["show", "champion", "--html", &html]);
    let text = fs::read_to_string(&page).unwrap();
    for said in ["experiment 2 · kept", "<ins>+x = 3", "x 5 → 3: the other way was not better", "loss: 0"] {
        assert!(text.contains(said), "{said}");
    }
    let nowhere = name(&repo.outside("no/such/folder/r.html"));
    repo.overnight(&["report", "--html", &nowhere]).ended(1).says("error: could not write");
}

#[test]
fn a_study_that_has_not_begun_is_told_as_such_and_has_no_chart() {
    let repo = Repo::new();
    repo.ok(&["report"]).says("Nothing has been measured yet.");
    let svg = repo.outside("r.svg");
    repo.overnight(&["report", "--svg", svg.to_str().unwrap()])
        .ended(2)
        .says("there is nothing to draw yet")
        .says("begin with `overnight run`");
    assert!(!svg.exists());
    repo.overnight(&["report", "--all", "--svg", "x.svg"]).ended(2);
}

#[test]
fn a_baseline_that_fails_needs_a_person() {
    let repo = Repo::scored_by("echo 'no data here' >&2; exit 3\n");
    repo.overnight(&["run", "--no-tui", "--experiments", "1"]).ended(2);
    repo.ok(&["report"])
        .says("The baseline gives no loss: nothing can be compared with it.")
        .says("NEEDS YOU")
        .says("overnight show baseline");
}

/// It takes no lock, and the run does not notice.
#[test]
fn a_run_that_goes_on_can_be_reported() {
    let repo = Repo::new();
    let (asked, go) = (repo.beside("asked"), repo.beside("go"));
    let agent = format!(
        "n=$(sed -n 's/^x = //p' knobs.py); echo \"x = $((n - 1))\" > knobs.py; echo less\n\
         test \"$n\" = 5 || {{ touch '{asked}'; until test -e '{go}'; do sleep 0.02; done; }}\n",
        asked = asked.display(),
        go = go.display()
    );
    repo.write("agent.sh", &agent);
    repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"\nahead = 0").commit("an agent");
    let engine = repo.start(&["run", "--no-tui", "--experiments", "2"]);
    until("the second question", || asked.exists());
    repo.ok(&["report"]).says("running, as of").says("and goes on").says("this night").says("1 kept");
    fs::write(&go, "").unwrap();
    engine.wait().ended(0);
    repo.ok(&["report"]).says("last night").says("2 kept");
    repo.assert_sound();
}

#[test]
fn every_study_of_a_repository_is_told_in_short() {
    let repo = Repo::new();
    let triplet = repo.read("overnight.toml");
    fs::remove_file(repo.dir().join("overnight.toml")).unwrap();
    repo.write("overnight/fast.toml", &triplet).write("overnight/small.toml", &triplet).commit("two studies");
    repo.ok(&["run", "--study", "fast", "--no-tui", "--experiments", "2"]);
    let _masks = masked();
    insta::assert_snapshot!(repo.ok(&["report", "--all"]), @"
    overnight · repo
    2 studies · [TIME]

    FAST
    Better by 4 (100 %) than the baseline: loss 4 → 0, after 2 experiments.
      trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
      so far      2 experiments: 1 kept, 1 not better
      last run    began [TIME], took [T]; done
      trust       trust: cooperative · sandbox standard · 5 seeds, all the same · no holdout
      overnight report --study fast  # the whole report

    SMALL
    Nothing has been measured yet.
      overnight run --study small  # begin
    --- exit code 0
    ");
    let page = repo.outside("all.html");
    repo.ok(&["report", "--all", "--html", page.to_str().unwrap()]);
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("<h2>fast</h2>") && text.contains("Nothing has been measured yet."));
    repo.overnight(&["report", "--all", "--study", "fast"]).ended(2).says("--all means every study");
}

/// An agent whose hypothesis, edit and output are made to break out of whatever shows them.
#[test]
fn a_hostile_study_is_shown_as_text() {
    let attack = r#"</pre></style><script>alert(1)</script>--><svg onload=alert(2)>"#;
    let escape = r"\033]0;owned\007\033[2J\342\200\256";
    let repo = Repo::with_agent(&format!(
        "n=$(sed -n 's/^x = //p' knobs.py | head -n 1)\n\
         printf 'x = %s\\n# {attack}{escape}\\n' $((n - 1)) > knobs.py\n\
         printf '{attack}{escape}\\n' > \"$OVERNIGHT_NOTE\"\n"
    ));
    repo.write(
        "score.sh",
        &format!(
            "x=$(sed -n 's/^x = //p' knobs.py)\nprintf '{attack}{escape}\\n'\n\
             test $x -gt 3 || {{ printf '{attack}{escape}\\n'; exit 7; }}\necho \"loss: $x\"\n"
        ),
    )
    .commit("hostile");
    repo.run(2);
    let (page, one, svg) = (repo.outside("r.html"), repo.outside("one.html"), repo.outside("r.svg"));
    repo.ok(&["report", "--html", page.to_str().unwrap(), "--svg", svg.to_str().unwrap()]);
    repo.ok(&["show", "1", "--html", one.to_str().unwrap()]);
    for path in [&page, &one, &svg] {
        let text = fs::read_to_string(path).unwrap();
        for found in ["<script", "<svg onload", "-->", "\u{1b}", "\u{7}", "\u{202e}"] {
            assert!(!text.contains(found), "{found:?} in {}", path.display());
        }
        assert!(path == &svg || text.contains("&lt;script&gt;alert(1)"), "it is shown: {}", path.display());
    }
    for arguments in [&["report"][..], &["report", "--md"], &["show", "1"]] {
        let shown = repo.ok(arguments).stdout;
        for found in ["\u{1b}", "\u{7}", "\u{202e}"] {
            assert!(!shown.contains(found), "{found:?} by {arguments:?}");
        }
        assert!(shown.contains("script"), "it is shown by {arguments:?}");
    }
}
