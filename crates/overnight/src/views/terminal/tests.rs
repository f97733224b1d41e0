use overnight_engine::ledger::Wanted;
use overnight_model::call::bill::Bill;
use overnight_model::event::{Purpose, What};
use overnight_model::spec::{AgentKind, AgentSpec, Limit, Limits, Network};
use overnight_model::study::{Row, Summary};
use overnight_model::verdict::Group;
use overnight_model::{ExperimentId, Millis, Seed, Slot, Timestamp, TrialId, Verdict};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::keys::Key;
use super::screen::{Prompt, Tab};
use super::*;
use crate::views::board::tests::{Night, row, setting, summary};
use crate::views::board::{Glance, Setting, Terms};

/// What somebody would write who wants to break out of a terminal, or out of a row.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[31m\u{9b}5A\r\n\u{202e}txt.exe\u{2066}\u{200b}漢字漢字é\u{301}\u{301}\u{301}\u{301}\u{fe0f}👩\u{200d}💻";

fn idea(id: u64, verdict: Verdict, metric: Option<f64>, gain: Option<f64>, reason: &str) -> Row {
    Row {
        description: format!("RATE 0.{id} → 0.0{id}: wider"),
        reason: Some(reason.to_owned()),
        gain,
        gain_low: gain.map(|gain| gain - 0.2),
        gain_high: gain.map(|gain| gain + 0.2),
        ..row(id, Some(verdict), metric)
    }
}

fn rows() -> Vec<Row> {
    vec![
        row(0, Some(Verdict::Baseline), Some(4.0)),
        idea(1, Verdict::Discarded, Some(4.2), Some(-0.15), "expected worse by 0.15, 4 % likely better, 2 trials"),
        idea(2, Verdict::Kept, Some(3.4), Some(0.6), "expected better by 0.6, 99 % likely better, 3 trials"),
        idea(3, Verdict::Crashed, None, None, "exit code 1"),
        idea(4, Verdict::Suspect, Some(0.1), Some(3.0), "better than anything plausible"),
        idea(5, Verdict::Kept, Some(3.0), Some(0.4), "expected better by 0.4, 98 % likely better, 4 trials"),
        idea(6, Verdict::Discarded, Some(3.3), Some(-0.3), "expected worse by 0.3, 1 % likely better, 1 trial"),
    ]
}

/// A night in the middle: two slots, one of them busy, and an agent that thinks.
fn screen() -> Screen {
    screen_of(rows(), summary(), setting())
}

fn screen_of(rows: Vec<Row>, known: Summary, setting: Setting) -> Screen {
    let mut night = Night::begun();
    for id in [2, 5] {
        night.propose(id, &format!("content {id}"), true);
        night.advance(id, &format!("commit{id}"), None);
    }
    let mut agents = AgentSpec::one(AgentKind::Tuner, Millis::seconds(1), Network::None);
    agents.members[0].name = "claude".to_owned();
    let limits = Limits {
        night: Limit { wall: Some(Millis::seconds(8 * 3600)), experiments: Some(100), ..Limit::default() },
        ..Limits::default()
    };
    let terms = Terms { budget: Some(Millis::seconds(60)), limits, agents: Some(agents) };
    let known = Summary {
        slots: 2,
        stopped: None,
        suspects: 1,
        kept: 2,
        refused: 1,
        open: 1,
        experiments: 6,
        broken: 1,
        not_better: 2,
        champion: known.champion.map(|level| overnight_model::study::Level { experiment: ExperimentId(5), ..level }),
        ..known
    };
    let mut glance = Glance::new(setting, terms, Some(known.clone()), 6);
    night.events.iter().for_each(|event| glance.event(event));
    night.events.clear();
    night.at = 970_000;
    let (trial, experiment) = (TrialId(9), ExperimentId(7));
    night.note(What::TrialStarted {
        trial,
        experiment,
        purpose: Purpose::Confirm,
        seed: Seed(1),
        slot: Slot(0),
        aid: None,
    });
    night.at = 995_000;
    let parent = overnight_model::CommitId("commit5".to_owned());
    night.note(What::Asked { experiment: ExperimentId(8), agent: "claude".to_owned(), parent, why: String::new() });
    night.events.iter().for_each(|event| glance.event(event));
    rows.iter().for_each(|row| glance.row(row));
    glance.row(&Row { description: "a wider net".to_owned(), ..row(7, None, None) });
    glance.update(Some(known), true, Timestamp(1_000_000));
    glance.tick(Timestamp(1_000_000));
    let mut screen = Screen::new(glance, true);
    screen.list.rows = rows.into_iter().rev().collect();
    screen.list.is_whole = true;
    screen
}

/// The bytes that a terminal would get.
fn bytes(screen: &Screen, columns: u16, rows: u16, colour: bool) -> Vec<u8> {
    // Whatever the environment of whoever runs the tests says.
    ratatui::crossterm::style::force_color_output(true);
    let mut bytes = Vec::new();
    let options = TerminalOptions { viewport: Viewport::Fixed(Rect::new(0, 0, columns, rows)) };
    let mut terminal = Terminal::with_options(CrosstermBackend::new(&mut bytes), options).unwrap();
    terminal
        .draw(|frame| {
            if let Some(cursor) = draw(frame.buffer_mut(), screen, Palette { colour }) {
                frame.set_cursor_position(cursor);
            }
        })
        .unwrap();
    drop(terminal);
    bytes
}

/// What a terminal makes of them.
fn shown(screen: &Screen, columns: u16, rows: u16, colour: bool) -> vt100::Parser {
    let mut parser = vt100::Parser::new(rows, columns, 0);
    parser.process(&bytes(screen, columns, rows, colour));
    parser
}

fn text(screen: &Screen, columns: u16, rows: u16) -> String {
    let shown = shown(screen, columns, rows, true);
    let rows: Vec<String> = shown.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n")
}

#[test]
fn a_night_on_a_small_terminal() {
    insta::assert_snapshot!(text(&screen(), 80, 24), @"
    overnight · main · loss, lower is better                                 running
    Better by 1.00 ± 0.20 (25 %) than the baseline: loss 4 → 3, after 6 experiments.
    review     1 suspect waits for your word: overnight review
     ●  kept   ⠠  not better   ×  broken   ◆  refused  ⠠⠤⠤ champion  ⠠ ⠄ baseline
      ⡀ ⡀ ⡀ ⡀ ⡀ ⡀ ⣀ ⡀ ⡀ ⡀ ⡀ ⡀ ⡀
    4 ⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⢤ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠄ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠄ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠠ ⠄⠠
      ⠂ ⠂ ⠂ ⠂ ⠂ ⠂ ⠂ ⠂ ⠂ ⠂ ⠂ ⠂ ⠂⢸⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀⡀
                               ●⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⢤            ⢀
    3                          ⠐⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂⠂●⣐⣐⣐⣐⣐⣐⣐⣐⣐⣐⣐⣐⣐
                                                                     ⠠⠠⠠⠠⠠⠠⠠⠠⠠⠠⠠⠠⠠⠠
                                            ×            ◆
      0           1            2            3            4           5            6
    slot 1   ██████░░░░░░░░ 29s of 1m  experiment 7 · confirm: a wider net
    slot 2   free
    claude   is thinking about experiment 8, for 4s
    ─ verdicts · 6 experiments: 2 kept, 2 not better, 1 broken, 1 refused, 1 open ──
         6 discarded            3.3      −0.3  RATE 0.6 → 0.06: … (expected worse b…
    ▸    5 kept                   3      +0.4  RATE 0.5 → 0.05: … (expected better …
         4 suspect              0.1        +3  RATE 0.4 → 0.04: … (better than anyt…
         3 crashed                -         -  RATE 0.3 → 0.03: wider (exit code 1)
         2 kept                 3.4      +0.6  RATE 0.2 → 0.02: … (expected better …
    16m 39s of 8h (7h 43m left) · 6 of 100 experiments · 22 an hour · no cost
    trust: cooperative · sandbox standard · 4 repeats, seed not probed · no holdout
    p pause  s stop  d detach  ↵ open  / search  f filter  m say  ? help
    ");
}

#[test]
fn a_night_on_a_large_terminal() {
    insta::assert_snapshot!(text(&screen(), 200, 60), @"
    overnight · main · loss, lower is better                                                                                                                                                         running
    Better by 1.00 ± 0.20 (25 %) than the baseline: loss 4 → 3, after 6 experiments.
    review     1 suspect waits for your word: overnight review
     ●  kept   ⠠  not better   ×  broken   ◆  refused  ⠠⠤⠤ champion  ⢐⢐⢐ its gain, 95 %  ⠠ ⠄ baseline  ⢐ ⢐ noise ±2 sd                      ─ slots ────────────────────────────────────────────────────────
                                                                                                                                            slot 1   ██████░░░░░░░░ 29s of 1m  experiment 7 · confirm: a wi…
                                                                                                                                            slot 2   free
        ⠄⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠤ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠
                                                                                                                                            ─ agents ───────────────────────────────────────────────────────
                                                                                                                                            claude   is thinking about experiment 8, for 4s

    4.0 ⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉⢹⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈ ⠁⠈    ─ where it stands ──────────────────────────────────────────────
                                                  ⢸                                                                                         baseline   loss 4  (commit0)
                                                  ⢸                                                                                         champion   loss 3  (commit2, experiment 5)
        ⠄⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠ ⠠⢸                                                                                         gain       1.00 ± 0.20 (95 %) over the baseline, without the
                                                  ⢸                                                                                                    runs that chose it
                                                  ⢸                                                                                         noise      sd 0.1 from 0 trials
                                                  ⢸                                                                                         sure       a gain of 0.28 is kept nine times in ten, after
                                                  ⢸ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈                                    about 3 trials, 3.1s of machine time
    3.5                                           ⢸                                                                                         so far     6 experiments: 2 kept, 2 not better, 1 broken, 1
                                                  ⢸                                                                                                    refused, 1 open
                                                  ●⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⡄                        a trial    takes 1s on average
                                                                                                                   ⡇
                                                                                                                   ⡇                    ⠐
                                                                                                                   ⡇
                                                  ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈ ⠈⡇⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁
                                                                                                                   ⡇
                                                                                                                   ⡇
    3.0                                                                                                            ●⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤



                                                                                                                   ⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁⠁

                                                                        ×                    ◆
        0                    1                    2                     3                    4                     5                    6
    ─ verdicts · 6 experiments: 2 kept, 2 not better, 1 broken, 1 refused, 1 open ────────────────────────────────────────────────────────
         6 discarded               3.3         −0.3  RATE 0.6 → 0.06: wider (expected worse by 0.3, 1 % likely better, 1 trial)
    ▸    5 kept                      3         +0.4  RATE 0.5 → 0.05: wider (expected better by 0.4, 98 % likely better, 4 trials)
         4 suspect                 0.1           +3  RATE 0.4 → 0.04: wider (better than anything plausible)
         3 crashed                   -            -  RATE 0.3 → 0.03: wider (exit code 1)
         2 kept                    3.4         +0.6  RATE 0.2 → 0.02: wider (expected better by 0.6, 99 % likely better, 3 trials)
         1 discarded               4.2        −0.15  RATE 0.1 → 0.01: wider (expected worse by 0.15, 4 % likely better, 2 trials)
         0 baseline                  4            -  idea 0














    16m 39s of 8h (7h 43m left) · 6 of 100 experiments · 22 an hour · no cost
    trust: cooperative · sandbox standard · 4 repeats, seed not probed · no holdout
    p pause  s stop  d detach  ↵ open  / search  f filter  m say  ? help
    ");
}

#[test]
fn an_experiment_that_is_open() {
    let mut screen = screen();
    screen.opened = Some(opened());
    insta::assert_snapshot!(text(&screen, 80, 24), @"
    experiment 5 · kept
    why         expected better by 0.4
    hypothesis  wider wider wider wider wider wider wider wider wider wider wider
                wider wider wider wider wider wider wider wider wider wider wider…
    ──[diff] output  trace ─────────────────────────────────────────────────────────
    --- a/x
    +++ b/x
    @@ -1 +1 @@
    -    RATE = 0.5
    +    RATE = 0.05













    Esc back  Tab diff, output, trace  j k scroll  [ ] later, earlier  ? help
    ");
    press(&mut screen, Key::Tab);
    press(&mut screen, Key::Tab);
    assert!(text(&screen, 80, 24).contains("[trace]"));
}

fn opened() -> Opened {
    Opened {
        row: rows()[5].clone(),
        facts: vec![("why".into(), "expected better by 0.4".into()), ("hypothesis".into(), "wider ".repeat(40))],
        diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\tRATE = 0.5\n+\tRATE = 0.05\n".into(),
        output: (1..=100).map(|line| format!("line {line}\n")).collect(),
        trace: "12:00:00  claude was asked for an idea\n".into(),
        tab: Tab::Diff,
        scroll: 0,
    }
}

#[test]
fn keys_are_told_of_in_full() {
    let mut screen = screen();
    screen.is_help = true;
    insta::assert_snapshot!(text(&screen, 80, 24), @"
    keys

      p   r      pause: what runs finishes, nothing new begins; resume
      s          stop: what runs finishes, nothing new begins (q and Ctrl-C, too)
      s s        the second time: kill what runs; it is run again by the next run
      d          leave the view; the run goes on in the background
      m   :      tell the agents something, from the next brief on

      ↑ ↓   j k  choose an experiment; PgUp, PgDn, g and G go farther
      Enter      open it: its diff, its output, what happened to it
      Tab   ← →  in an experiment: the next of diff, output and trace
      [   ]      in an experiment: the later or the earlier one
      f          show one group of verdicts after the other
      /          show those with these words in idea, reason or agent
      Esc        back; all verdicts again

      Ctrl-Z     to the shell and back with `fg`; the run goes on meanwhile
      Ctrl-L     draw everything anew

      ● kept     ⠁ not better   × broken   ◆ refused   ○ taken back   ▸ the champion
    ");
}

#[test]
fn without_colours_the_same_is_said_with_none() {
    let screen = screen();
    for (columns, rows) in [(80, 24), (200, 60)] {
        let (with, without) = (shown(&screen, columns, rows, true), shown(&screen, columns, rows, false));
        assert_eq!(with.screen().contents(), without.screen().contents());
        let cells = |parser: &vt100::Parser| -> Vec<(vt100::Color, vt100::Color)> {
            let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
            places
                .filter_map(|(row, column)| parser.screen().cell(row, column).map(|it| (it.fgcolor(), it.bgcolor())))
                .collect()
        };
        assert!(cells(&without).iter().all(|found| *found == (vt100::Color::Default, vt100::Color::Default)));
        let with = cells(&with);
        assert!(with.iter().any(|(front, _)| *front == vt100::Color::Idx(2)), "what is kept is green");
        let is_own = |(front, back): &(vt100::Color, vt100::Color)| {
            *back == vt100::Color::Default && matches!(front, vt100::Color::Default | vt100::Color::Idx(0..=15))
        };
        assert!(with.iter().all(is_own), "only the terminal's own sixteen, and never behind text");
    }
}

#[test]
fn foreign_text_commands_nothing_and_stays_in_its_row() {
    let hostile = |row: Row| Row {
        description: HOSTILE.to_owned(),
        reason: Some(HOSTILE.to_owned()),
        agent: HOSTILE.to_owned(),
        ..row
    };
    let mut known = summary();
    (known.metric, known.sandbox, known.assurance) = (HOSTILE.to_owned(), HOSTILE.to_owned(), HOSTILE.to_owned());
    let setting = Setting { study: HOSTILE.to_owned(), ..setting() };
    let mut screen = screen_of(rows().into_iter().map(hostile).collect(), known, setting);
    screen.glance.row(&Row { description: HOSTILE.to_owned(), ..row(7, None, None) });
    screen.list.wanted = Wanted { group: None, words: vec![HOSTILE.to_owned()] };
    let mut views = vec![screen];
    let mut second = screen_of(rows(), summary(), super::super::board::tests::setting());
    second.opened = Some(Opened {
        diff: format!("-{HOSTILE}\n+{HOSTILE}\n"),
        output: HOSTILE.repeat(50),
        facts: vec![(HOSTILE.to_owned(), HOSTILE.to_owned())],
        ..opened()
    });
    views.push(second);
    for screen in &mut views {
        for prompt in [None, Some(Prompt::Say(HOSTILE.to_owned()))] {
            screen.prompt = prompt;
            for (columns, rows) in [(80, 24), (200, 60), (43, 13)] {
                let bytes = bytes(screen, columns, rows, true);
                let said = String::from_utf8(bytes).unwrap();
                for part in said.split('\u{1b}').skip(1) {
                    let is_ours = |end: char| matches!(end, 'H' | 'm' | 'h' | 'l' | 'J' | 'K');
                    let end = part.chars().find(|c| c.is_ascii_alphabetic());
                    assert!(part.starts_with('[') && end.is_some_and(is_ours), "{part:?}");
                }
                for c in ['\u{7}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200b}', '\u{200d}', '\u{fe0f}', '\r', '\n'] {
                    assert!(!said.contains(c), "{c:?} at {columns} × {rows}");
                }
            }
        }
    }
    // What is drawn beside foreign text is where it would be beside any other.
    views[0].prompt = None;
    let shown = text(&views[0], 80, 24);
    assert_eq!(shown.lines().count(), 24);
    assert!(shown.lines().next().unwrap().ends_with("running"), "{shown}");
    assert!(shown.lines().last().unwrap().starts_with("p pause"), "{shown}");
}

#[test]
fn what_models_took_is_shown_beside_its_limit_and_is_never_made_up() {
    let with = |calls: u64, usd: f64, unpriced: u64, most: Option<f64>| {
        let mut known = summary();
        known.costs.night = Bill { calls, usd, unpriced, ..Bill::default() };
        let mut screen = screen_of(rows(), known, setting());
        screen.glance.terms.limits.night.spend.cost_usd = most;
        text(&screen, 120, 40)
    };
    assert!(with(0, 0.0, 0, None).contains(" · no cost"));
    assert!(with(3, 1.2, 0, Some(5.0)).contains(" · $1.20 of $5.00"));
    assert!(with(3, 1.2, 1, None).contains(" · at least $1.20"));
    assert!(with(3, 0.0, 3, None).contains(" · cost unknown"));
}

#[test]
fn every_size_can_be_drawn() {
    let mut screen = screen();
    for opened in [None, Some(opened())] {
        screen.opened = opened;
        for columns in (1..=60).chain([79, 129, 130, 131, 500]) {
            for rows in (1..=33).chain([200]) {
                bytes(&screen, columns, rows, true);
                Areas::page(Rect::new(0, 0, columns, rows), &screen);
            }
        }
    }
    screen.opened = None;
    assert_eq!(text(&screen, 30, 5), "too small: 40 × 12 at least\n\n\n\n");
}

#[test]
fn keys_ask_for_what_they_say() {
    let mut own = screen();
    assert_eq!(press(&mut own, Key::Char('p')), Some(Wish::Pause(true)));
    assert_eq!(press(&mut own, Key::Char('r')), Some(Wish::Pause(false)));
    assert_eq!(press(&mut own, Key::Char('d')), Some(Wish::Leave));
    assert_eq!(press(&mut own, Key::Ctrl('z')), Some(Wish::Suspend));
    assert_eq!(press(&mut own, Key::Ctrl('c')), Some(Wish::Stop));
    assert_eq!(press(&mut own, Key::Pasted("sy".into())), None, "what is pasted is no key");
    for key in ['s', 'q'] {
        assert_eq!(press(&mut own, Key::Char(key)), None);
        assert!(text(&own, 80, 24).ends_with("stop the run? what runs finishes, nothing new begins (y/n)"));
        assert_eq!(press(&mut own, Key::Char('n')), None);
        press(&mut own, Key::Char(key));
        assert_eq!(press(&mut own, Key::Char('y')), Some(Wish::Stop));
    }
    let mut other = screen();
    other.is_own = false;
    assert_eq!(press(&mut other, Key::Char('q')), Some(Wish::Leave));
    assert_eq!(
        press(&mut other, Key::Ctrl('c')),
        Some(Wish::Leave),
        "a run that was begun elsewhere is not ended by it"
    );
}

#[test]
fn words_to_the_agents_are_typed_in_the_last_row() {
    let mut screen = screen();
    press(&mut screen, Key::Char('m'));
    for key in [Key::Char('n'), Key::Char('ö'), Key::Char('x'), Key::Backspace, Key::Char(' ')] {
        assert_eq!(press(&mut screen, key), None);
    }
    press(&mut screen, Key::Pasted("new\nones".into()));
    let frame = shown(&screen, 80, 24, true);
    assert!(frame.screen().contents().trim_end().ends_with("tell the agents: nö new ones"));
    assert!(
        !frame.screen().hide_cursor() && frame.screen().cursor_position() == (23, 28),
        "{:?}",
        frame.screen().cursor_position()
    );
    assert_eq!(press(&mut screen, Key::Enter), Some(Wish::Say("nö new ones".into())));
    press(&mut screen, Key::Char(':'));
    assert_eq!((press(&mut screen, Key::Escape), &screen.prompt), (None, &None));
}

#[test]
fn the_list_keeps_its_place_while_verdicts_come_in() {
    let mut screen = screen();
    press(&mut screen, Key::Char('j'));
    press(&mut screen, Key::Char('j'));
    assert_eq!(screen.list.selected, Some(ExperimentId(5)));
    screen.row(&idea(7, Verdict::Discarded, Some(3.2), None, "worse"));
    assert_eq!(screen.list.selected, Some(ExperimentId(5)));
    assert_eq!(press(&mut screen, Key::Enter), Some(Wish::Open(ExperimentId(5))));
    press(&mut screen, Key::Char('G'));
    assert_eq!(screen.list.selected, Some(ExperimentId(0)));
    screen.list.is_whole = false;
    assert_eq!(press(&mut screen, Key::Char('j')), Some(Wish::More), "older ones are asked for at the end");
}

#[test]
fn the_list_shows_one_group_after_the_other_and_only_what_has_the_words() {
    let mut screen = screen();
    let mut groups = Vec::new();
    for _ in 0..6 {
        assert_eq!(press(&mut screen, Key::Char('f')), Some(Wish::List));
        groups.push(screen.list.wanted.group);
    }
    assert_eq!((groups[0], groups[5]), (Some(Group::Kept), None));
    press(&mut screen, Key::Char('/'));
    "Exit wider".chars().for_each(|c| drop(press(&mut screen, Key::Char(c))));
    assert_eq!(press(&mut screen, Key::Enter), Some(Wish::List));
    screen.list.rows.clear();
    rows().iter().for_each(|row| screen.row(row));
    let found: Vec<u64> = screen.list.rows.iter().map(|row| row.experiment.0).collect();
    assert_eq!(found, [3]);
    assert_eq!(press(&mut screen, Key::Escape), Some(Wish::List));
    assert_eq!(screen.list.wanted, Wanted::default());
}

#[test]
fn what_is_open_is_scrolled_by_pages_to_its_end() {
    let mut screen = screen();
    screen.opened = Some(Opened { tab: Tab::Output, ..opened() });
    let area = Rect::new(0, 0, 80, 24);
    let (page, most) = Areas::page(area, &screen);
    screen.page = page;
    press(&mut screen, Key::PageDown);
    assert!(text(&screen, 80, 24).contains(&format!("line {}\n", page + 1)));
    press(&mut screen, Key::End);
    assert!(text(&screen, 80, 24).contains(&format!("{}–100 of 100", most + 1)));
    assert!(text(&screen, 80, 24).contains("line 100\n"));
}
