//! Scratch studies to be attacked: a small surface, a locked evaluation, labels, and a host around them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use overnight_engine::load::{allowed_environment, locate};
use overnight_engine::process::{Ended, run_to_end};
use overnight_engine::sandbox::check::survivors;
use overnight_engine::verify::verify;
use overnight_model::spec::{Assurance, Tier};
use serde_json::Value;

use crate::error::{CliError, Exit, Outcome};

/// What the host offers to an attacker who gets out.
pub(crate) struct Host {
    pub(crate) program: PathBuf,
    pub(crate) port: u16,
    pub(crate) socket: String,
    pub(crate) namespace: String,
}

/// One study in a repository of its own.
pub(crate) struct Fixture {
    root: PathBuf,
    program: PathBuf,
    token: String,
    tier: Tier,
    environment: Vec<(String, String)>,
}

/// What must be the same after an attack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Before {
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    champion: Vec<u8>,
}

/// The champion's answers, and the right ones, which no candidate can know.
pub(crate) const PLAIN: &str = "1 0 1 1 0 0 0 0";
pub(crate) const PRIZE: &str = "1 0 1 1 1 0 1 0";

/// A key that nobody else uses; only looked for in namespaces of our own.
const SEGMENT: u32 = 0x6f76_6e74;

impl Fixture {
    /// A study at this level, to be run at this tier.
    pub(crate) fn make(root: PathBuf, host: &Host, level: Assurance, tier: Tier) -> Outcome<Fixture> {
        Fixture::make_with(root, host, level, tier, &[], |triplet| triplet)
    }

    /// The same with more files and another triplet.
    pub(crate) fn make_with(
        root: PathBuf,
        host: &Host,
        level: Assurance,
        tier: Tier,
        files: &[(&str, String)],
        change: impl FnOnce(String) -> String,
    ) -> Outcome<Fixture> {
        let token = format!("attacked-{}", root.file_name().unwrap_or_default().to_string_lossy());
        let repo = root.join("repo");
        let places = if tier >= Tier::Standard { "/tmp /var/tmp /run /dev/shm $HOME $HOME/.cache" } else { "" };
        let before = format!(
            "places=\". $TMPDIR $OVERNIGHT_OUT {places}\"\n\
             for place in $places; do\n\
             test -e \"$place/residue\" && {{ echo \"something was left in $place\" >&2; exit 9; }}\n\
             done\n{}",
            match tier >= Tier::Standard {
                true => format!(
                    "\"$ATTACKER\" __attack shm {SEGMENT} > /dev/null && \
                     {{ echo 'a segment was left' >&2; exit 9; }}\n\"$ATTACKER\" __attack plant {SEGMENT} > /dev/null\n"
                ),
                false => String::new(),
            }
        );
        let mut all = vec![
            ("overnight.toml", change(triplet(host, level, &token, &repo))),
            ("solution.sh", format!("answers=\"{PLAIN}\"\n")),
            ("before.sh", before),
            ("evaluate.sh", evaluation(level).to_owned()),
            ("labels", format!("{PRIZE}\n")),
        ];
        if level == Assurance::Separated {
            all.push(("score.sh", SCORER.to_owned()));
        }
        all.extend(files.iter().cloned());
        Fixture::of_files(root, host, tier, token, &all)
    }

    /// A study of these files.
    pub(crate) fn of_files(
        root: PathBuf,
        host: &Host,
        tier: Tier,
        token: String,
        files: &[(&str, String)],
    ) -> Outcome<Fixture> {
        let mut environment = allowed_environment();
        environment.retain(|(name, _)| name != "HOME");
        environment.push(("HOME".to_owned(), root.join("home").to_string_lossy().into_owned()));
        environment.push(("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()));
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            environment.push((name.to_owned(), "attacked@example.org".to_owned()));
        }
        let fixture = Fixture { root, program: host.program.clone(), token, tier, environment };
        for folder in ["repo", "home", "ideas"] {
            let path = fixture.root.join(folder);
            fs::create_dir_all(&path).map_err(|error| could_not("make", &path, &error))?;
        }
        for (name, text) in files {
            let path = fixture.repo().join(name);
            fs::write(&path, text).map_err(|error| could_not("write", &path, &error))?;
        }
        fixture.git(&["init", "-q", "-b", "main", "."])?;
        fixture.git(&["add", "-A"])?;
        fixture.git(&["commit", "-q", "-m", "base"])?;
        Ok(fixture)
    }

    /// Tools of the system before those of the person, whose home is not there.
    pub(crate) fn with_system_tools(mut self) -> Fixture {
        for (_, path) in self.environment.iter_mut().filter(|(name, _)| name == "PATH") {
            *path = format!("/usr/local/bin:/usr/bin:/bin:{path}");
        }
        self
    }

    /// With one more variable in the environment of the engine.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Fixture {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.root.join("repo")
    }

    /// Runs one candidate and gives its record.
    pub(crate) fn try_candidate(&self, name: &str, candidate: &str) -> Outcome<Value> {
        let file = self.root.join("ideas").join(name);
        fs::write(&file, candidate).map_err(|error| could_not("write", &file, &error))?;
        let file = file.to_string_lossy().into_owned();
        let ended = self.overnight(&["try", "--file", &file, "-m", name, "--json", "--sandbox", self.tier.name()])?;
        let row = ended.stdout.lines().last().and_then(|line| serde_json::from_str(line).ok());
        row.ok_or_else(|| CliError::new(Exit::Fault, format!("`try` gave no record: {}", ended.stderr.trim())))
    }

    /// Runs the engine itself in the repository.
    pub(crate) fn overnight(&self, arguments: &[&str]) -> Outcome<Ended> {
        run_to_end(&self.program, arguments, &self.repo(), &self.environment)
            .map_err(|error| could_not("run", &self.program, &error))
    }

    fn git(&self, arguments: &[&str]) -> Outcome<()> {
        let git = Path::new("git");
        let ended = run_to_end(git, arguments, &self.repo(), &self.environment).map_err(|error| {
            could_not("run", git, &error).hint("scratch repositories are made with git: install it")
        })?;
        match ended.code {
            Some(0) => Ok(()),
            _ => Err(CliError::new(Exit::Fault, format!("git {arguments:?} failed: {}", ended.stderr.trim()))),
        }
    }

    pub(crate) fn before(&self) -> Before {
        let mut files = BTreeMap::new();
        let repo = self.repo();
        // Recordings are the engine's, and looked at by who attacks them.
        collect(&repo, &mut files, &[".git", ".overnight", "recordings"].map(|name| repo.join(name)));
        for name in ["HEAD", "index", "config", "hooks", "refs/heads/main", "packed-refs"] {
            collect(&repo.join(".git").join(name), &mut files, &[]);
        }
        Before { files, champion: fs::read(repo.join(".git/refs/heads/overnight/main")).unwrap_or_default() }
    }

    /// What an attack broke, if anything: what must hold after each of them, whatever its verdict.
    pub(crate) fn broken_since(&self, before: &Before, may_advance: bool) -> Option<String> {
        let left = survivors(&self.token);
        if !left.is_empty() {
            return Some(format!("processes {left:?} are alive"));
        }
        let now = self.before();
        if now.files != before.files {
            return Some("the checkout is not what it was".to_owned());
        }
        if now.champion != before.champion && !before.champion.is_empty() && !may_advance {
            return Some("the branch moved".to_owned());
        }
        let sound = locate(&self.repo(), None).map_err(|error| error.to_string());
        sound.and_then(|site| verify(&site).map_err(|error| error.to_string())).err()
    }

    /// Level and tier as the engine itself tells them.
    pub(crate) fn trust(&self) -> Outcome<(String, String)> {
        let status: Value = serde_json::from_str(&self.overnight(&["status", "--json"])?.stdout).unwrap_or_default();
        let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
        Ok((text("assurance"), text("sandbox")))
    }

    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }
}

fn collect(path: &Path, into: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>, skip: &[PathBuf]) {
    if skip.iter().any(|skipped| skipped == path) {
        return;
    }
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), into, skip)),
        Err(_) => {
            if let (Ok(found), Ok(bytes)) = (fs::symlink_metadata(path), fs::read(path)) {
                into.insert(path.to_owned(), (found.permissions().mode(), bytes));
            }
        }
    }
}

fn triplet(host: &Host, level: Assurance, token: &str, repo: &Path) -> String {
    let program = toml_string(&host.program.to_string_lossy());
    let scorer = match level {
        Assurance::Separated => {
            "score = { run = \"sh score.sh\", kill = \"10s\" }\nhidden = [\"score.sh\", \"labels\"]\n"
        }
        _ => "",
    };
    let values = [
        ("ATTACKER", host.program.to_string_lossy().into_owned()),
        ("ATTACK_MARK", token.to_owned()),
        ("ATTACK_PORT", host.port.to_string()),
        ("ATTACK_SOCKET", host.socket.clone()),
        ("ATTACK_NAMESPACE", host.namespace.clone()),
        ("ATTACK_REPO", repo.to_string_lossy().into_owned()),
    ];
    let values: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {}", toml_string(value))).collect();
    format!(
        "surface = \"solution.sh\"\n\
         metric = {{ name = \"loss\", goal = \"min\", plausible = [0, 100] }}\n\
         [evaluate]\nrun = \"sh evaluate.sh\"\nbudget = \"3s\"\nkill = \"5s\"\n{scorer}\
         inputs = [{program}]\nenv = {{ {} }}\n\
         [sandbox]\nmemory = \"128 MB\"\ndisk = \"16 MB\"\npids = 64\n",
        values.join(", ")
    )
}

fn evaluation(level: Assurance) -> &'static str {
    match level {
        Assurance::Separated => {
            ". ./before.sh\n. ./solution.sh\n\
             test -e \"$OVERNIGHT_OUT/answers\" || echo \"$answers\" > \"$OVERNIGHT_OUT/answers\"\n"
        }
        _ => {
            ". ./before.sh\n. ./solution.sh\nset -- $answers\ntest $# -eq 8 || exit 3\nlabels=$(cat labels) || exit 4\n\
             wrong=0\nfor label in $labels; do\ntest \"$1\" = \"$label\" || wrong=$((wrong + 1))\nshift\ndone\n\
             echo \"loss: $wrong\"\n"
        }
    }
}

const SCORER: &str = "\
set -- $(head -c 1000 \"$OVERNIGHT_ARTIFACTS/answers\")
test $# -eq 8 || { echo 'there must be 8 answers' >&2; exit 3; }
wrong=0
for label in $(cat labels); do
case $1 in 0 | 1) ;; *) echo 'an answer is 0 or 1' >&2; exit 3 ;; esac
test \"$1\" = \"$label\" || wrong=$((wrong + 1))
shift
done
echo \"loss: $wrong\"
";

fn toml_string(text: &str) -> String {
    // Both know the same escapes for what can be in a path.
    serde_json::to_string(text).unwrap_or_default()
}

pub(super) fn could_not(what: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::new(Exit::Fault, format!("could not {what} {}", path.display())).cause(error)
}
