use overnight_model::study::{FlakyGuard, Row, SeedUse};
use overnight_model::{ExperimentId, Verdict};

use super::*;
use crate::views::board::tests::{row, setting, summary};
use crate::views::board::{Board, Faded, Fold, Gather, Plot, Setting, Step};
use crate::views::chart::{self, Size, scene};

/// What somebody would write who wants to break out.
const HOSTILE: &str = "</style></pre><script>alert(1)</script>--><svg onload=alert(2)>\" onmouseover=\"alert(3)\
                       \u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}txt.exe\u{2066} ```` &lt; [x](javascript:alert(4)) <!--";

/// A study whose every text is an attack.
fn hostile() -> (Board, Diffs) {
    let mut known = summary();
    known.metric = HOSTILE.to_owned();
    known.sandbox = HOSTILE.to_owned();
    known.assurance = HOSTILE.to_owned();
    known.suspects = 1;
    let mut gather = Gather::new(Fold::default(), Some(known), Setting { study: HOSTILE.to_owned(), ..setting() });
    let said = |id, verdict, metric| Row {
        description: HOSTILE.to_owned(),
        reason: Some(HOSTILE.to_owned()),
        agent: HOSTILE.to_owned(),
        gain: Some(1.0),
        gain_low: Some(-1.0),
        gain_high: Some(2.0),
        ..row(id, Some(verdict), metric)
    };
    gather.row(said(0, Verdict::Baseline, Some(4.0)));
    gather.row(said(1, Verdict::Discarded, Some(4.0)));
    gather.row(said(2, Verdict::Kept, Some(3.0)));
    gather.row(said(3, Verdict::Suspect, Some(f64::MAX)));
    gather.row(said(4, Verdict::Crashed, None));
    gather.words(ExperimentId(4), HOSTILE.to_owned());
    let mut board = gather.board();
    board.plot.steps = vec![
        Step { from: 0, champion: ExperimentId(0), level: 4.0, half: None },
        Step { from: 2, champion: ExperimentId(2), level: 3.0, half: Some(0.2) },
    ];
    board.faded.push(Faded { row: said(5, Verdict::Retracted, Some(3.5)), once: Some(0.5), is_retracted: true });
    let diff = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}\n");
    let diffs = (0..6).map(|id| (ExperimentId(id), diff.clone())).collect();
    (board, diffs)
}

/// The tags of a page, by name, and their attributes.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or(rest)).collect()
}

#[test]
fn foreign_text_adds_neither_a_tag_nor_an_attribute_to_a_page() {
    let (board, diffs) = hostile();
    let tame = {
        let (mut board, mut diffs) = hostile();
        let calm = |text: &mut String| *text = "calm".to_owned();
        board
            .summary
            .iter_mut()
            .for_each(|it| [&mut it.metric, &mut it.sandbox, &mut it.assurance].map(calm).into_iter().collect());
        calm(&mut board.setting.study);
        calm(&mut board.plot.metric);
        let rows = board.kept.iter_mut().chain(&mut board.near).chain(&mut board.suspects);
        for row in rows.chain(board.faded.iter_mut().map(|faded| &mut faded.row)) {
            (row.description, row.agent, row.reason) = ("calm".into(), "calm".into(), Some("calm".into()));
        }
        for cause in &mut board.causes {
            (cause.reason, cause.said) = ("calm".into(), Some("calm".into()));
            cause.examples.iter_mut().for_each(|(_, what)| *what = "calm".into());
        }
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-calm\n+calm\n";
        diffs.values_mut().for_each(|text| *text = diff.to_owned());
        html(&page(&board, &diffs, Depth::PAGE), Some(&board.plot))
    };
    let hostile = html(&page(&board, &diffs, Depth::PAGE), Some(&board.plot));
    let names = |page: &str| -> Vec<String> {
        tags(page).into_iter().map(|tag| tag.split("aria-label").next().unwrap_or(tag).to_owned()).collect()
    };
    assert_eq!(names(&hostile), names(&tame), "the same tags, in the same order");
    for attack in ["<script", "<svg onload", "\u{1b}", "\u{202e}", "\u{7}", "<!--", "-->"] {
        assert!(!hostile.contains(attack), "{attack:?}");
    }
    assert!(hostile.contains("&lt;script&gt;alert(1)"), "it is shown, as text");
    assert!(hostile.contains("default-src 'none'"));
}

#[test]
fn a_chart_alone_has_no_foreign_tag_either() {
    let (board, _) = hostile();
    let svg = chart::alone(&scene(&board.plot, Size::WIDE));
    let known = ["svg", "/svg", "title", "/title", "desc", "/desc", "style", "/style", "path", "text", "/text", "?xml"];
    for tag in tags(&svg) {
        let name = tag.split([' ', '\n']).next().unwrap();
        assert!(known.contains(&name), "{tag}");
    }
    assert!(!svg.contains("javascript:alert(4)>") && !svg.contains(" onload=alert(2)>"));
}

#[test]
fn a_terminal_is_given_no_escape_that_is_not_ours() {
    let (board, diffs) = hostile();
    let document = page(&board, &diffs, Depth::SCREEN);
    for colour in [false, true] {
        let shown = terminal(&document, Some(&board.plot), Screen { columns: 80, colour });
        let ours = |rest: &str| {
            let code: String = rest.chars().take_while(|c| *c != 'm').collect();
            ["[0", "[1", "[2", "[31", "[32", "[33", "[36"].contains(&code.as_str())
        };
        assert!(shown.split('\u{1b}').skip(1).all(ours), "{colour}");
        assert_eq!(colour, shown.contains('\u{1b}'));
        for c in ['\u{7}', '\u{9b}', '\u{202e}', '\u{2066}'] {
            assert!(!shown.contains(c), "{c:?}");
        }
    }
}

#[test]
fn markdown_is_given_neither_html_nor_links() {
    let (board, diffs) = hostile();
    let shown = markdown(&page(&board, &diffs, Depth::TEXT), Some(&board.plot));
    // Inside of a fence everything is text; a fence is longer than any in it.
    let mut inside: Option<String> = None;
    for line in shown.lines() {
        let ticks: String = line.trim_start().chars().take_while(|c| *c == '`').collect();
        match &inside {
            Some(fence) if line.trim() == fence => inside = None,
            Some(_) => {}
            None if ticks.len() >= 3 => inside = Some(ticks),
            None => {
                let outside: String = line.split('`').step_by(2).collect();
                let outside = outside.replace("<br>", "");
                assert!(!outside.contains('<') && !outside.contains("](j") | outside.contains("\\](j"), "{line}");
            }
        }
    }
    assert_eq!(inside, None, "every block was ended by us");
}

#[test]
fn a_study_that_has_not_begun_says_so_in_every_format() {
    let board = Gather::new(Fold::default(), None, setting()).board();
    let document = page(&board, &Diffs::new(), Depth::PAGE);
    let plain = terminal(&document, Some(&board.plot), Screen { columns: 80, colour: false });
    assert_eq!(plain.lines().last(), Some("Nothing has been measured yet."));
    assert!(markdown(&document, Some(&board.plot)).contains("Nothing has been measured yet."));
    assert!(html(&document, Some(&board.plot)).contains("Nothing has been measured yet."));
}

#[test]
fn lines_fit_the_screen() {
    let (board, diffs) = hostile();
    let document = page(&board, &diffs, Depth::SCREEN);
    for columns in [60, 80, 200] {
        let shown = terminal(&document, Some(&board.plot), Screen { columns, colour: false });
        // A word that is longer than the line, and commands to be copied, stay whole.
        let breakable =
            |line: &&str| !line.contains("onmouseover") && !line.contains("overnight ") && !line.contains("javascript");
        for line in shown.lines().filter(breakable) {
            assert!(line.chars().count() <= columns.min(110), "{columns}: {line}");
        }
    }
}

#[test]
fn ten_thousand_points_are_a_small_picture() {
    let mut plot = Plot { last: 10_000, ..hostile().0.plot };
    plot.points = (0..10_000)
        .map(|at| crate::views::board::Point {
            experiment: at,
            value: Some(3.5 + (at as f64 * 0.7).sin()),
            verdict: if at % 100 == 0 { Verdict::Kept } else { Verdict::Discarded },
        })
        .collect();
    let svg = chart::alone(&scene(&plot, Size::WIDE));
    assert!(svg.len() < 300_000, "{}", svg.len());
}

#[test]
fn one_wild_value_does_not_flatten_the_chart() {
    let (board, _) = hostile();
    let drawn = scene(&board.plot, Size::WIDE);
    assert!(drawn.notes.iter().any(|note| note.contains("drawn at the edge")), "{:?}", drawn.notes);
    let level = |wanted: f64| {
        let line = drawn.shapes.iter().find_map(|shape| match shape {
            chart::Shape::Line { role: chart::Role::Champion, points } if points.len() > 2 => Some(points.clone()),
            _ => None,
        });
        line.unwrap()[if wanted == 4.0 { 0 } else { 2 }].1
    };
    assert!(level(3.0) - level(4.0) > 50.0, "the step can be seen");
    let inside = |shape: &chart::Shape| match shape {
        chart::Shape::Marks { at, .. } => {
            at.iter().all(|(x, y)| (0.0..=drawn.width).contains(x) && (0.0..=drawn.height).contains(y))
        }
        _ => true,
    };
    assert!(drawn.shapes.iter().all(inside));
}

#[test]
fn no_label_is_cut_off_at_the_edge() {
    let mut plot = Plot { last: 10_000, ..hostile().0.plot };
    (plot.metric, plot.points) = ("loss".to_owned(), Vec::new());
    plot.steps.iter_mut().for_each(|step| step.level *= 333_333.0);
    plot.baseline = None;
    for size in [Size::WIDE, Size::NARROW] {
        let drawn = scene(&plot, size);
        for shape in &drawn.shapes {
            let chart::Shape::Label { at, anchor, text } = shape else { continue };
            let width = text.chars().count() as f64 * size.letter.0;
            let (left, right) = match anchor {
                chart::Anchor::Start => (at.0, at.0 + width),
                chart::Anchor::Middle => (at.0 - width / 2.0, at.0 + width / 2.0),
                chart::Anchor::End => (at.0 - width, at.0),
            };
            assert!(left >= 0.0 && right <= drawn.width, "{text}: {left} to {right} of {}", drawn.width);
        }
    }
}

#[test]
fn a_picture_is_a_png() {
    let (board, _) = hostile();
    let bytes = chart::png(&scene(&board.plot, Size::WIDE)).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (1920, 800));
    let has = |colour: [u8; 3]| pixels.chunks(3).any(|pixel| pixel == colour);
    assert!(has([0x1f, 0x5f, 0xbf]) && has([0x0a, 0x7d, 0x43]) && has([255, 255, 255]), "line, keep and paper");
}

/// A night in which everything happens that can be told.
fn eventful() -> (Board, Diffs) {
    let mut known = summary();
    known.stopped = None;
    known.suspects = 1;
    known.flaky = vec![FlakyGuard { command: "pytest -q".to_owned(), failed: 2, runs: 9 }];
    known.noise.seed = SeedUse::Settles;
    let mut gather = Gather::new(Fold::default(), Some(known), setting());
    let judged = |id, verdict, metric, (low, high): (f64, f64), reason: &str| Row {
        gain: Some((low + high) / 2.0),
        gain_low: Some(low),
        gain_high: Some(high),
        reason: Some(reason.to_owned()),
        ..row(id, Some(verdict), metric)
    };
    gather.row(row(0, Some(Verdict::Baseline), Some(4.0)));
    gather.row(judged(
        1,
        Verdict::Discarded,
        Some(4.1),
        (-0.2, 0.3),
        "perhaps better by 0.05, 40 % likely enough, 1 trial",
    ));
    gather.row(judged(2, Verdict::Kept, Some(3.0), (0.8, 1.2), "better by 1, more than 99 % sure, 2 trials"));
    gather.row(judged(
        3,
        Verdict::Suspect,
        Some(-90.0),
        (90.0, 95.0),
        "better by 93, more than max_step_gain 3: a person should look",
    ));
    let moved = "made for a champion that has moved on; it does not merge with the new one";
    gather.row(Row { reason: Some(moved.to_owned()), ..row(4, Some(Verdict::Discarded), None) });
    for id in 5..8 {
        gather.row(Row { reason: Some("exit code 1".to_owned()), ..row(id, Some(Verdict::Crashed), None) });
        gather.words(ExperimentId(id), "NameError: name 'rate' is not defined".to_owned());
    }
    gather.row(Row {
        reason: Some("guard `pytest -q`: exit code 1".to_owned()),
        ..row(8, Some(Verdict::GuardFailed), Some(2.0))
    });
    let mut board = gather.board();
    board.plot.steps = vec![
        Step { from: 0, champion: ExperimentId(0), level: 4.0, half: None },
        Step { from: 2, champion: ExperimentId(2), level: 3.0, half: Some(0.2) },
    ];
    let lucky =
        judged(9, Verdict::Retracted, Some(3.4), (-0.5, 0.1), "it did not hold: worse by 0.2 by all that was measured");
    board.faded.push(Faded { row: lucky, once: Some(0.7), is_retracted: true });
    let diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-rate = 3\n+rate = 2\n width = 1\n".to_owned();
    (board, [(ExperimentId(2), diff)].into())
}

#[test]
fn an_eventful_night_is_told_in_the_order_in_which_a_person_asks() {
    let (board, diffs) = eventful();
    let mut document = page(&board, &diffs, Depth::SCREEN);
    // The chart has tests of its own.
    document.sections.iter_mut().for_each(|section| section.blocks.retain(|block| *block != Block::Chart));
    let shown = terminal(&document, None, Screen { columns: 90, colour: false });
    insta::with_settings!({ filters => vec![(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[TIME]")] }, {
        insta::assert_snapshot!(shown, @"
        overnight · main
        loss (lower is better) · the last run was killed; as of [TIME]

        Better by 1.00 ± 0.20 (25 %) than the baseline: loss 4 → 3, after 5 experiments.
          trust: cooperative · sandbox standard · 4 seeds · no holdout · measured again, without
          the runs that chose it
          1 suspect waits for your word: overnight review

        WHERE THE TRIALS WENT
          sure        a gain of 0.28 is kept nine times in ten, after about 3 trials, 3.1s of
                      machine time
          so far      5 experiments: 1 kept, 3 not better, 1 broken

        PROGRESS

        KEPT
             2  +1 (0.8 to 1.2)  idea 2
                loss 3 · 1 trial · tuner · commit2
                better by 1, more than 99 % sure, 2 trials
                -rate = 3
                +rate = 2

        LOOKED BETTER ONCE, AND DID NOT HOLD
          The best single run against everything that was measured: a run that was picked for
          being high says little.
             9  +0.7 once, −0.2 (−0.5 to 0.1) by all  idea 9
                kept, and taken back
                loss 3.4 · 1 trial · tuner · commit9
                it did not hold: worse by 0.2 by all that was measured

        FAILED
          3 broken: no number that could be compared
            3×  crashed  exit code 1
                NameError: name 'rate' is not defined
                7 idea 7 · 6 idea 6 · 5 idea 5
          1 refused: against a rule, whatever the number
            1×  guard_failed  guard `pytest -q`: exit code 1
                8 idea 8

        NEAR-MISSES
          Not kept, and not refuted: what is known of their gain reaches about as far to better as
          to worse.
             1  +0.05 (−0.2 to 0.3)  idea 1
                loss 4.1 · 1 trial · tuner · commit1
                perhaps better by 0.05, 40 % likely enough, 1 trial
          To be done again: they were made for a champion that has moved on, and do not merge with
          the new one.
          · 4 idea 4

        NEEDS YOU
          Numbers that are not to be believed as they are. Read the change, then say overnight
          review N --keep or overnight review N --discard.
             3  +92.5 (90 to 95)  idea 3
                loss -90 · 1 trial · tuner · commit3
                better by 93, more than max_step_gain 3: a person should look
          · The last run was killed: overnight run goes on where it was.
          · The guard pytest -q is flaky: failed 2 of 9 runs, then passed.

        COSTS
          trials      0ms
          agents      0ms at work, 0 turns
          night       0ms
          money       unknown: nobody counted what models cost

        HEALTH
          noise       sd 0.1 from 0 trials
          drift       no alarm that called for anything to be run again
          taken back  nothing
          assurance   cooperative: the code under test prints its own metric
          sandbox     standard: files, processes and a network of its own for every command
          network     none for candidates
          lost trials none

        NOT CHECKED
          · No holdout: a gain may be fitted to this very evaluation. [holdout] keeps data back.
          · Candidates print their own number, and could lie: evaluate.score ends that.
          · No guard: nothing but the metric was looked at, neither tests nor memory nor size.
          · The chain of the ledger was not verified for this page: overnight verify does.

        GO ON
          overnight review                         # what waits for your word
          overnight show champion                  # the winner in full: diff, trials, numbers
          overnight compare baseline champion      # measure the gain again, with fresh seeds
          overnight audit commit0..overnight/main  # which keeps carry it
          git log overnight/main                   # what was kept, and why
          git merge overnight/main                 # take it over
          overnight log --all                      # every experiment
          overnight verify                         # prove that this is what happened
          overnight run                            # go on
        ");
    });
}

#[test]
fn a_chart_of_any_numbers_stays_inside_its_frame() {
    let values = [0.0, -0.0, 1e-300, -1e-12, 1.0, 1.0 + 1e-15, 7e15, -1e99, 1e99, f64::MAX, f64::MIN];
    for (first, level) in values.into_iter().enumerate() {
        let (board, _) = eventful();
        let mut plot = board.plot;
        plot.steps[1].level = level.clamp(-1e99, 1e99);
        for (at, point) in plot.points.iter_mut().enumerate() {
            point.value = Some(values[(first * at) % values.len()]);
        }
        for size in [Size::WIDE, Size::NARROW, Size::terminal(40, 18)] {
            let drawn = scene(&plot, size);
            for shape in &drawn.shapes {
                let places = match shape {
                    chart::Shape::Area { points, .. } | chart::Shape::Line { points, .. } => points.clone(),
                    chart::Shape::Marks { at, .. } => at.clone(),
                    chart::Shape::Label { at, .. } => vec![*at],
                };
                for (x, y) in places {
                    let inside = (0.0..=drawn.width).contains(&x) && (0.0..=drawn.height).contains(&y);
                    assert!(inside, "{level}: {shape:?}");
                }
            }
        }
    }
}
