//! A repository in a temporary folder, where nothing of the person who runs the tests is seen.

use std::cell::Cell;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::internals::SettingsBindDropGuard;

/// A metric with one knob that is best at 3: the tuner's first keep is its second experiment.
const TRIPLET: &str = r#"surface = "knobs.py"
metric = { name = "loss", goal = "min" }
[evaluate]
run = "sh score.sh"
budget = "10s"
"#;
const KNOBS: &str = "x = 5\n";
const SCORE: &str = r#"x=$(sed -n "s/^x = //p" knobs.py)
echo "loss: $(( (x - 3) * (x - 3) ))"
"#;

/// A user that no machine has.
const ORDINARY: u32 = 1_800_000_001;

/// A repository and an empty home, gone when dropped. Snapshots taken while it lives are masked.
pub(crate) struct Repo {
    root: PathBuf,
    /// Whether commands have to reach a file beside the checkout, which no sandbox lets them.
    reaches_out: Cell<bool>,
    is_kept_awake: Cell<bool>,
    /// Who commands are run as, where it is not whoever runs the tests.
    user: Option<u32>,
    /// `None` where somebody else owns the folder.
    _temp: Option<tempfile::TempDir>,
    _masks: SettingsBindDropGuard,
}

/// What a command printed, and how it ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Repo {
    /// A study that is ready to run.
    pub(crate) fn new() -> Repo {
        let repo = Repo::empty();
        repo.write("overnight.toml", TRIPLET).write("knobs.py", KNOBS).write("score.sh", SCORE).commit("base");
        repo
    }

    /// The same, with another evaluation.
    pub(crate) fn scored_by(script: &str) -> Repo {
        let repo = Repo::new();
        repo.write("score.sh", script).commit("another evaluation");
        repo
    }

    /// The same, with lines added to the triplet, and a shell script as the agent.
    pub(crate) fn with_agent(script: &str) -> Repo {
        let repo = Repo::new();
        repo.write("agent.sh", script);
        repo.triplet("[agent]\nuse = \"command\"\ncommand = \"sh agent.sh\"").commit("an agent");
        repo
    }

    /// A repository without commits.
    pub(crate) fn empty() -> Repo {
        let temp = tempfile::Builder::new().prefix("overnight-it-").tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        Repo::at(root, Some(temp))
    }

    /// A repository in a folder that is there already.
    pub(crate) fn at(root: PathBuf, temp: Option<tempfile::TempDir>) -> Repo {
        Repo::of(root, temp, None)
    }

    /// Empty repositories, one for every kind of user the sandbox is built differently for: whoever runs the tests, and
    /// where that is root an ordinary user, whom no table of the system knows.
    pub(crate) fn everybodys() -> Vec<Repo> {
        let mut repos = vec![Repo::empty()];
        if rustix::process::getuid().is_root() {
            let temp = tempfile::Builder::new().prefix("overnight-it-").tempdir().unwrap();
            let root = temp.path().canonicalize().unwrap();
            repos.push(Repo::of(root, Some(temp), Some(ORDINARY)));
        }
        repos
    }

    fn of(root: PathBuf, temp: Option<tempfile::TempDir>, user: Option<u32>) -> Repo {
        let masks = masks(&root);
        let repo = Repo {
            root,
            reaches_out: Cell::new(false),
            is_kept_awake: Cell::new(false),
            user,
            _temp: temp,
            _masks: masks,
        };
        fs::create_dir_all(repo.dir()).unwrap();
        fs::create_dir_all(repo.root.join("home")).unwrap();
        if user.is_some() {
            // Where it is built may be out of an ordinary user's reach.
            fs::copy(env!("CARGO_BIN_EXE_overnight"), repo.root.join("overnight")).unwrap();
            for folder in [&repo.root, &repo.dir(), &repo.root.join("home")] {
                std::os::unix::fs::chown(folder, user, user).unwrap();
            }
        }
        repo.git(&["init", "-q", "-b", "main", "."]);
        repo
    }

    /// Whose it is, for a message.
    pub(crate) fn whose(&self) -> String {
        self.user.map_or("of whoever runs the tests".to_owned(), |user| format!("of the user {user}"))
    }

    /// The checkout.
    pub(crate) fn dir(&self) -> PathBuf {
        self.root.join("repo")
    }

    /// Beside the checkout, inside the temporary folder. A command may tell the test something there, so from now on
    /// they run without a sandbox.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.reaches_out.set(true);
        self.root.join(name)
    }

    /// The same place for what only the test and the engine use.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// From now on commands run without a sandbox.
    pub(crate) fn without_sandbox(self) -> Repo {
        self.reaches_out.set(true);
        self
    }

    /// From now on runs try to keep the machine awake, with this for a `systemd-inhibit` on the PATH where there is one.
    /// Gives the PATH.
    pub(crate) fn kept_awake(&self, inhibit: Option<&str>) -> String {
        self.is_kept_awake.set(true);
        let folder = self.root.join("programs");
        fs::create_dir_all(&folder).unwrap();
        if let Some(inhibit) = inhibit {
            let program = folder.join("systemd-inhibit");
            fs::write(&program, inhibit).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
    }

    /// Who commands are run as, where it is not whoever runs the tests.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// The person's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The study's own folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.dir().join(".overnight/main")
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> &Repo {
        let path = self.dir().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if self.user.is_some() {
            for path in path.ancestors().take_while(|path| *path != self.root) {
                std::os::unix::fs::chown(path, self.user, self.user).unwrap();
            }
        }
        self
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir().join(path)).unwrap()
    }

    /// Adds lines to the triplet.
    pub(crate) fn triplet(&self, lines: &str) -> &Repo {
        let text = format!("{}{lines}\n", self.read("overnight.toml"));
        self.write("overnight.toml", &text)
    }

    pub(crate) fn commit(&self, message: &str) -> &Repo {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self
    }

    /// Runs git in the checkout; it has to work.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let ran = self.git_ran(args);
        assert_eq!(ran.code, Some(0), "git {args:?}: {}", ran.stderr);
        ran.stdout.trim_end().to_owned()
    }

    pub(crate) fn git_ran(&self, args: &[&str]) -> Ran {
        Ran::of(self.hermetic(Command::new("git")).args(args).output().unwrap())
    }

    /// Another program, ready to be started in the checkout.
    pub(crate) fn tool(&self, program: &str) -> Command {
        self.hermetic(Command::new(program))
    }

    /// Runs a command line in the checkout; it has to work.
    pub(crate) fn shell(&self, command: &str) {
        let ran = Ran::of(self.hermetic(Command::new("sh")).args(["-c", command]).output().unwrap());
        assert_eq!(ran.code, Some(0), "{command}: {ran}");
    }

    /// What a person sees who types a command line in the checkout, where `overnight` is installed.
    pub(crate) fn terminal(&self, command: &str) -> String {
        let mut shell = self.hermetic(Command::new("sh"));
        let folder = Path::new(env!("CARGO_BIN_EXE_overnight")).parent().unwrap();
        // The same on every machine: one that can be kept awake.
        let path = self.kept_awake(Some("#!/bin/sh\nshift 4\nexec \"$@\"\n"));
        shell.env("PATH", format!("{}:{path}", folder.display()));
        // In one stream, so that the two keep their order.
        let ran = Ran::of(shell.args(["-c", &format!("exec 2>&1\n{command}")]).output().unwrap());
        ran.stdout
    }

    /// The binary with arguments, ready to be started in the checkout.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let own = self.user.map(|_| self.root.join("overnight"));
        let mut command = self.hermetic(Command::new(own.unwrap_or(env!("CARGO_BIN_EXE_overnight").into())));
        command.args(args);
        let runs = ["audit", "check", "compare", "mcp", "rebase", "run", "try"];
        if self.reaches_out.get() && args.iter().any(|arg| runs.contains(arg)) {
            command.args(["--sandbox", "none"]);
        }
        // Not every machine can be kept awake, and what is said of it is no business of most tests.
        if args.contains(&"run") && !args.contains(&"help") && !self.is_kept_awake.get() {
            command.arg("--no-awake");
        }
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn overnight(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs the binary, which has to end well.
    pub(crate) fn ok(&self, args: &[&str]) -> Ran {
        let ran = self.overnight(args);
        assert_eq!(ran.code, Some(0), "overnight {args:?}\n{ran}");
        ran
    }

    /// Runs some experiments of the loop, which have to end well.
    pub(crate) fn run(&self, experiments: u32) -> Ran {
        self.ok(&["run", "--no-tui", "--experiments", &experiments.to_string()])
    }

    /// An executable of the user's own, such as a hook.
    pub(crate) fn program(&self, path: &str, text: &str) -> &Repo {
        self.write(path, text);
        fs::set_permissions(self.dir().join(path), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn hermetic(&self, mut command: Command) -> Command {
        let when = "2026-01-02T03:04:05+00:00";
        if let Some(user) = self.user {
            let program = command.get_program().to_owned();
            command = Command::new("setpriv");
            command.args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]);
            command.arg("--").arg(program);
        }
        command.current_dir(self.dir()).env_clear();
        command.envs([("HOME", self.root.join("home")), ("PATH", std::env::var_os("PATH").unwrap().into())]);
        command.envs([("TZ", "UTC"), ("NO_COLOR", "1"), ("LC_ALL", "C.UTF-8"), ("GIT_CONFIG_NOSYSTEM", "1")]);
        command.envs([("GIT_AUTHOR_NAME", "Ann"), ("GIT_AUTHOR_EMAIL", "ann@example.org"), ("GIT_AUTHOR_DATE", when)]);
        command.envs([
            ("GIT_COMMITTER_NAME", "Ann"),
            ("GIT_COMMITTER_EMAIL", "ann@example.org"),
            ("GIT_COMMITTER_DATE", when),
        ]);
        command
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Asserts how it ended, and goes on.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Asserts that people were told something.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Ran {
        assert!(self.stderr.contains(text) || self.stdout.contains(text), "`{text}` is not in\n{self}");
        self
    }
}

/// The whole screen: what a pipe would get, then what a person reads beside it.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stdout)?;
        if !self.stderr.is_empty() {
            write!(f, "--- to people\n{}", self.stderr)?;
        }
        match self.code {
            Some(code) => write!(f, "--- exit code {code}"),
            None => f.write_str("--- ended by a signal"),
        }
    }
}

/// Hides what differs from run to run.
fn masks(root: &Path) -> SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    for (pattern, mask) in [
        (regex::escape(root.to_str().unwrap()).as_str(), "[TEMP]"),
        (r"\b[0-9a-f]{64}\b", "[HASH]"),
        (r"\b[0-9a-f]{40}\b", "[COMMIT]"),
        (r"\([0-9a-f]{10}\b", "([SHORT]"),
        (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?", "[TIME]"),
        (r"seed \d+", "seed [SEED]"),
        (r"\d+\.\d+ s (wall|cpu)", "[S] $1"),
        (r"\d+\.\d MB peak", "[MB] peak"),
        (r#""seconds":\d+\.\d+"#, r#""seconds":[S]"#),
        (r"process \d+", "process [PID]"),
        // What is installed where the tests are run.
        (r"(?m)^ *agents      .* here: .*\n", ""),
        (r"`kill \d+`", "`kill [PID]`"),
    ] {
        settings.add_filter(pattern, mask);
    }
    settings.bind_to_scope()
}
