//! The scratch folder: a repository with the study's files in it, and a corpus made on the spot.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_engine::load::allowed_environment;
use overnight_engine::process::{Ended, run_to_end};

use crate::error::{CliError, Exit, Outcome};
use crate::ui;

const FILES: [(&str, &str); 5] = [
    ("overnight.toml", include_str!("../../../demo/overnight.toml")),
    ("program.md", include_str!("../../../demo/program.md")),
    ("train.py", include_str!("../../../demo/train.py")),
    ("score.py", include_str!("../../../demo/score.py")),
    ("collect.py", include_str!("../../../demo/collect.py")),
];

/// How often to draw another name: each is taken already once in 65,536 times for every demonstration that is kept.
const NAMES: usize = 20;

pub(crate) struct Folder {
    path: PathBuf,
    /// Found in the command line of what a villain leaves behind, and nowhere else.
    mark: String,
}

/// Says at once what is missing, before anything is made.
pub(crate) fn look_for_tools() -> Outcome<()> {
    for (tool, package) in [("git", "git"), ("python3", "Python 3")] {
        let ended = run_to_end(Path::new(tool), &["--version"], Path::new("/"), &allowed_environment());
        let problem = match &ended {
            Ok(Ended { code: Some(0), .. }) => continue,
            Ok(Ended { stderr, .. }) => stderr.trim().to_owned(),
            Err(error) => error.to_string(),
        };
        let mut error = CliError::usage(format!("`{tool}` cannot be run"));
        error.causes.extend((!problem.is_empty()).then_some(problem));
        return Err(error.hint(format!("the demo needs git and Python 3: install {package}, then run it again")));
    }
    Ok(())
}

impl Folder {
    /// Makes the folder, the files, the corpus and the first commit.
    pub(crate) fn make(wanted: Option<&Path>, quick: bool) -> Outcome<Folder> {
        let path = match wanted {
            Some(path) => given(path)?,
            None => fresh()?,
        };
        // Inside a sandbox the path of a study is what it is outside, so no link may be in it.
        let path = fs::canonicalize(&path).map_err(|error| could_not("find", &path, &error))?;
        let folder = Folder { mark: format!("overnight-demo-child-{:016x}", random()?), path };
        for (name, text) in FILES {
            let text = match (name, quick) {
                // Less training is more noise, and what is not worth keeping grows with it.
                ("overnight.toml", true) => {
                    text.replace("budget = \"1s\"", "budget = \"200ms\"").replace("min_gain = 0.02", "min_gain = 0.1")
                }
                _ => text.to_owned(),
            };
            let path = folder.path.join(name);
            fs::write(&path, text).map_err(|error| could_not("write", &path, &error))?;
        }
        ui::say("making the corpus from the source of Python's standard library");
        let said = folder.run("python3", &["collect.py"])?;
        for line in said.lines() {
            ui::say(&format!("  {}", ui::printable(line)));
        }
        folder.run("git", &["init", "-q", "-b", "main", "."])?;
        folder.run("git", &["add", "-A"])?;
        folder.run("git", &["commit", "-q", "-m", "A language model in one second"])?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Runs one of our own programs in the folder; what it printed.
    fn run(&self, program: &str, arguments: &[&str]) -> Outcome<String> {
        let mut environment = allowed_environment();
        // Neither the person's templates and hooks nor their signing key have a part in this.
        environment.extend(
            [
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_AUTHOR_NAME", "overnight demo"),
                ("GIT_AUTHOR_EMAIL", "demo@overnight.invalid"),
                ("GIT_COMMITTER_NAME", "overnight demo"),
                ("GIT_COMMITTER_EMAIL", "demo@overnight.invalid"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let ended = run_to_end(Path::new(program), arguments, &self.path, &environment)
            .map_err(|error| could_not("run", Path::new(program), &error))?;
        match ended.code {
            Some(0) => Ok(ended.stdout),
            _ => {
                let mut error = CliError::new(Exit::Fault, format!("`{program} {}` failed", arguments.join(" ")));
                error.causes.extend(ended.stderr.lines().last().map(ToOwned::to_owned));
                Err(error.hint(format!("what there is so far lies in {}", self.path.display())))
            }
        }
    }
}

/// The folder that a person named, if it is theirs to fill.
fn given(path: &Path) -> Outcome<PathBuf> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => {}
        Ok(false) => {
            let message = format!("{} is not empty, and a demo does not mix with what is there", path.display());
            return Err(CliError::usage(message).hint("name a new folder, or none: then one is made for it"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(path).map_err(|error| could_not("make", path, &error))?;
        }
        Err(error) => return Err(could_not("look into", path, &error)),
    }
    Ok(path.to_owned())
}

/// A new folder among the temporary ones, under a name that a person finds again.
fn fresh() -> Outcome<PathBuf> {
    let mut taken = None;
    for _ in 0..NAMES {
        let path = std::env::temp_dir().join(format!("overnight-demo-{:04x}", random()? & 0xffff));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => taken = Some((path, error)),
            Err(error) => return Err(could_not("make", &path, &error).hint("name another place: overnight demo DIR")),
        }
    }
    let (path, error) = taken.ok_or_else(|| CliError::new(Exit::Fault, "could not find a name"))?;
    Err(could_not("make", &path, &error).hint("remove old ones, or name a place: overnight demo DIR"))
}

fn random() -> Outcome<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| CliError::new(Exit::Fault, "could not draw a random name").cause(&error))?;
    Ok(u64::from_ne_bytes(bytes))
}

fn could_not(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::new(Exit::Fault, format!("could not {what} {}", path.display())).cause(error)
}
