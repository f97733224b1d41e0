use overnight_model::study::Row;
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
