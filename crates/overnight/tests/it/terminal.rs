//! The live view in a real terminal, under a real shell: tmux and bash. `tests/terminal/install` installs both.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::signals::gated;
use crate::support::{Ran, Repo, is_alive, signal, until};

/// A terminal of its own with a shell in it, gone when dropped.
struct Terminal<'a> {
    repo: &'a Repo,
}

impl Terminal<'_> {
    fn new(repo: &Repo) -> Terminal<'_> {
        let terminal = Terminal { repo };
        let folder = Path::new(env!("CARGO_BIN_EXE_overnight")).parent().unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let mut command = terminal.command();
        // Colours are wanted: `NO_COLOR` is what all other tests have.
        command.env("PATH", path).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.args(["new-session", "-d", "-x", "80", "-y", "24", "env 'PS1=ready$ ' bash --norc --noprofile"]);
        let ran = Ran::of(command.output().expect("tmux is not installed for the tests: tests/terminal/install"));
        assert_eq!(ran.code, Some(0), "{ran}");
        terminal.shows("ready$");
        terminal
    }

    fn command(&self) -> Command {
        let mut command = self.repo.tool("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.repo.outside("tmux"));
        command
    }

    fn tmux(&self, args: &[&str]) -> String {
        Ran::of(self.command().args(args).output().unwrap()).stdout
    }

    /// What a person sees.
    fn seen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        until(&format!("`{text}` to be seen"), || self.seen().contains(text));
    }

    #[track_caller]
    fn no_longer_shows(&self, text: &str) {
        until(&format!("`{text}` to be gone"), || !self.seen().contains(text));
    }

    /// Types a command line.
    fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.presses("Enter");
    }

    fn presses(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn is_taken(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    /// The terminal is as a shell wants it: its own screen, a cursor, lines that are edited and echoed.
    #[track_caller]
    fn is_restored(&self) {
        until("the terminal to be given back", || !self.is_taken());
        until("the cursor to be back", || self.tmux(&["display-message", "-p", "#{cursor_flag}"]).trim() == "1");
        // The shell itself has the terminal while it waits for a line; what commands see is what it was given back as.
        self.types(
            "stty -a | tr ' ;' '\\n\\n' | grep -xE -e '-?(icanon|isig|echo|opost)' | sort | tr '\\n' ' '; echo is so",
        );
        self.shows("echo icanon isig opost is so");
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// The process of the view.
    fn view(&self) -> u32 {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]).trim().parse().unwrap();
        let mut found = Vec::new();
        until("the view to be there", || {
            found = crate::support::children(shell);
            !found.is_empty()
        });
        found[0]
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        // What the terminal leaves running is a run, which is of no more use.
        let engine = engine(self.repo);
        self.tmux(&["kill-server"]);
        engine.into_iter().for_each(|pid| signal(Signal::KILL, pid));
    }
}

/// The process that runs the study, if one does.
fn engine(repo: &Repo) -> Option<u32> {
    let status = repo.overnight(&["status"]).stdout;
    let rest = status.split("process ").nth(1)?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

const RUN: &str = "overnight run --sandbox none";

#[test]
fn a_run_is_shown_while_it_lasts_and_its_last_lines_stay() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(&format!("{RUN} --experiments 2; echo code=$?"));
    gate.reached();
    terminal.shows("experiment 1: x 5 → 8");
    assert!(terminal.is_taken());
    let seen = terminal.seen();
    for text in
        ["overnight · main · loss, lower is better", "running", "slot 1", "trust: cooperative", "p pause", "of 10s"]
    {
        assert!(seen.contains(text), "{text} in\n{seen}");
    }
    gate.open();
    terminal.shows("code=0");
    let seen = terminal.seen();
    for text in ["overnight · study main · loss", "so far     2 experiments", "done\n", "next       overnight report"]
    {
        assert!(seen.contains(text), "{text} in\n{seen}");
    }
    assert!(!seen.contains("#  verdict"), "a table without rows:\n{seen}");
    terminal.is_restored();
    repo.assert_sound();
}

#[test]
fn a_window_may_change_its_size_at_any_moment() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(RUN);
    gate.reached();
    terminal.shows("p pause");
    terminal.resize(200, 60);
    terminal.shows("─ where it stands ─");
    let seen = terminal.seen();
    assert!(seen.lines().next().unwrap().ends_with("running"), "{seen}");
    assert_eq!(seen.lines().next().unwrap().chars().count(), 200, "{seen}");
    terminal.resize(20, 5);
    terminal.shows("too small");
    terminal.resize(80, 24);
    terminal.shows("p pause");
    let rows = terminal.seen();
    assert!(rows.lines().next().unwrap().starts_with("overnight · main") && rows.lines().count() == 24, "{rows}");
}

#[test]
fn a_terminal_that_closes_leaves_the_run_going() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(&format!("{RUN} --experiments 1"));
    gate.reached();
    terminal.shows("p pause");
    let (engine, view) = (engine(&repo).unwrap(), terminal.view());
    terminal.tmux(&["kill-server"]);
    until("the view to be gone", || !is_alive(view));
    assert!(is_alive(engine));
    gate.open();
    until("the run to end by itself", || !is_alive(engine));
    assert_eq!(repo.verdicts(), [("discarded".to_owned(), "worse by 21".to_owned())]);
    repo.assert_sound();
}

#[test]
fn a_view_goes_to_the_background_and_comes_back_while_the_run_goes_on() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(RUN);
    gate.reached();
    terminal.shows("p pause");
    for _ in 0..2 {
        terminal.presses("C-z");
        terminal.is_restored();
        terminal.types("clear; jobs");
        terminal.shows("Stopped");
        let state = fs::read_to_string(format!("/proc/{}/stat", engine(&repo).unwrap())).unwrap();
        assert!(!state.rsplit_once(") ").unwrap().1.starts_with('T'), "the run is not stopped: {state}");
        terminal.types("fg");
        terminal.shows("p pause");
        assert!(terminal.is_taken());
    }
    // Another program may ask for the same.
    signal(Signal::TSTP, terminal.view());
    terminal.is_restored();
    gate.open();
    until("experiments while nobody looks", || repo.events("judged") > 1);
    terminal.types("clear; fg");
    terminal.shows("p pause");
    terminal.presses("C-c");
    terminal.shows("stopped by a person");
    terminal.is_restored();
}

#[test]
fn a_view_that_is_killed_leaves_a_terminal_in_order_and_the_run_going() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(RUN);
    gate.reached();
    terminal.shows("p pause");
    let engine = engine(&repo).unwrap();
    signal(Signal::KILL, terminal.view());
    terminal.is_restored();
    assert!(is_alive(engine));
    terminal.types("overnight");
    terminal.shows("q leave");
}

#[test]
fn a_run_that_is_killed_is_told_of_on_a_terminal_in_order() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(&format!("{RUN}; echo code=$?"));
    gate.reached();
    terminal.shows("p pause");
    signal(Signal::KILL, engine(&repo).unwrap());
    terminal.shows("code=1");
    let seen = terminal.seen();
    assert!(seen.contains("error: the run was killed: signal: 9 (SIGKILL)"), "{seen}");
    assert!(seen.contains("hint: `overnight run` goes on where it was"), "{seen}");
    terminal.is_restored();
}

#[test]
fn a_run_is_left_and_looked_at_again_and_stopped_from_there() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(&format!("{RUN}; echo code=$?"));
    gate.reached();
    terminal.shows("p pause");
    terminal.presses("d");
    terminal.shows("code=0");
    let pid = engine(&repo).unwrap();
    terminal.shows(&format!("running in the background as process {pid}"));
    terminal.shows("look at it with `overnight`");
    terminal.is_restored();
    terminal.types("clear; overnight; echo again=$?");
    terminal.shows("q leave");
    terminal.shows("experiment 1: x 5 → 8");
    // Keys that end a program end only the view of a run that was not begun by it.
    terminal.presses("C-c");
    terminal.shows("again=0");
    terminal.shows("the run goes on");
    assert!(is_alive(pid));
    terminal.types("clear; overnight; echo third=$?");
    terminal.shows("q leave");
    terminal.presses("s");
    terminal.shows("stop the run?");
    terminal.presses("y");
    terminal.shows("stopping");
    gate.open();
    terminal.shows("third=0");
    terminal.shows("last run   stopped by a person");
    until("the run to be gone", || !is_alive(pid));
    repo.assert_sound();
}

#[test]
fn the_first_ctrl_c_stops_gently_and_the_second_at_once() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(&format!("{RUN}; echo code=$?"));
    gate.reached();
    terminal.shows("p pause");
    terminal.presses("C-c");
    until("the first to be recorded", || repo.events("stop_requested") == 1);
    terminal.presses("C-c");
    terminal.shows("code=130");
    terminal.is_restored();
    assert!(repo.experiment(1)["verdict"].is_null());
    assert_eq!(repo.strays(), Vec::<u32>::new());
}

#[test]
fn a_run_is_paused_told_something_and_resumed_by_keys() {
    let (repo, gate) = gated();
    let terminal = Terminal::new(&repo);
    terminal.types(RUN);
    gate.reached();
    terminal.shows("p pause");
    terminal.presses("p");
    terminal.shows("paused what runs finishes, nothing new begins");
    until("the head to say so", || terminal.seen().lines().next().unwrap().ends_with("paused"));
    terminal.presses("m");
    terminal.types("no wider nets");
    until("the word to be recorded", || repo.ok(&["say", "--list"]).stdout.contains("no wider nets"));
    terminal.presses("r");
    until("the head to say so", || terminal.seen().lines().next().unwrap().ends_with("running"));
    terminal.presses("Enter");
    terminal.shows("the baseline · baseline");
    terminal.presses("Tab");
    terminal.shows("loss: 4");
    terminal.presses("Tab");
    terminal.shows("began in slot 1");
    terminal.presses("Escape");
    terminal.no_longer_shows("[trace]");
    gate.open();
    until("experiments after it was resumed", || repo.events("judged") > 2);
}

#[test]
fn lines_are_printed_where_they_are_asked_for_or_nobody_could_draw() {
    let repo = Repo::new().without_sandbox();
    let terminal = Terminal::new(&repo);
    let run = format!("{RUN} --experiments 1");
    let ways =
        [format!("{run} --no-tui"), format!("CI=true {run}"), format!("TERM=dumb {run}"), format!("{run} 2>&1 | cat")];
    for (index, way) in ways.iter().enumerate() {
        terminal.types(&format!("clear; {way}; echo way{index}=$?"));
        terminal.shows(&format!("way{index}=0"));
        let seen = terminal.seen();
        assert!(seen.contains("#  verdict"), "{way}:\n{seen}");
        assert_eq!(repo.events("run_started"), index as u64 + 1);
    }
    // A program in the background may not touch the terminal.
    terminal.types(&format!("clear; {RUN} --experiments 1 & wait; echo last=$?"));
    terminal.shows("last=0");
    assert!(terminal.seen().contains("#  verdict"), "{}", terminal.seen());
}

#[test]
fn a_run_that_is_refused_says_so_without_a_screen() {
    let repo = Repo::new();
    let terminal = Terminal::new(&repo);
    repo.write("score.sh", "echo loss: 1\n");
    terminal.types("overnight run; echo code=$?");
    terminal.shows("code=3");
    assert!(terminal.seen().contains("error: `score.sh` differs from the last commit"), "{}", terminal.seen());
    terminal.is_restored();
}
