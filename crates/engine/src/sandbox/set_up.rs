//! Making ready what a tier needs, once per run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use overnight_model::proposal::Contents;
use overnight_model::spec::{Prepare, Tier};
use thiserror::Error;

use super::plan::{Wanted, held_out, network};
use super::{Fences, Found, Locked, Sandbox, Standard, prepare};
use crate::clock;
use crate::process::{Ending, Job, Keeper, KeeperError, Network, Stdin};
use crate::workspace::{self, Copy, GitError, ObjectId, UserRepo};

/// Downloads and compilations take their time; one that takes longer hangs.
const PREPARE_LIMIT: Duration = Duration::from_secs(6 * 3600);
/// What is shown of the output of a `prepare` that failed.
const LAST_LINES: usize = 20;

/// Why a run cannot begin.
#[derive(Debug, Error)]
pub enum SetUpError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    #[error("`evaluate.{key}` needs the sandbox `standard`, and this is `{tier}`")]
    NeedsLayers { key: &'static str, tier: &'static str },
    #[error("holdout file {path} lies where every command can read it")]
    HoldoutShown { path: PathBuf },
    #[error("`evaluate.prepare` failed ({ending}): {command}")]
    Prepare { command: String, ending: String, output: String },
    #[error("could not keep what `evaluate.prepare` left in {path}")]
    Freeze {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Sandbox {
    /// Makes what a tier needs: folders, the locked tree without the surface and without what is hidden, and what
    /// `prepare` leaves. `contents` is the baseline's surface; `say` tells a person what takes long.
    pub fn set_up(
        found: &Found,
        wanted: &Wanted<'_>,
        (user, baseline): (&UserRepo, ObjectId),
        keeper: &Keeper,
        contents: &Contents,
        say: &dyn Fn(&str),
    ) -> Result<Sandbox, SetUpError> {
        let evaluate = &wanted.spec.evaluate;
        if found.tier < Tier::Standard {
            let keys = [("prepare", evaluate.prepare.is_some()), ("warm", evaluate.warm)];
            if let Some((key, _)) = keys.into_iter().find(|(_, is_there)| *is_there) {
                return Err(SetUpError::NeedsLayers { key, tier: found.tier.name() });
            }
        }
        match found.tier {
            Tier::None => return Ok(Sandbox::None),
            Tier::Landlock => {
                let fences = Fences::plan(wanted);
                refuse_shown(wanted, |path| fences.shows(path))?;
                return Ok(Sandbox::Landlock(Box::new(fences)));
            }
            Tier::Standard | Tier::Strong => {}
        }
        let mut standard = Standard::plan(wanted, found.layer)?;
        refuse_shown(wanted, |path| standard.shows_anyway(path))?;
        let mut left_out = standard.surface().to_vec();
        left_out.extend(wanted.spec.hidden_from_candidates());
        let mut copies = vec![Copy::lay_out_without(&standard.locked(), user, baseline, &left_out)?];
        if evaluate.score.is_some() {
            let left_out = wanted.spec.hidden_from_scorers();
            copies.push(Copy::lay_out_without(&standard.scoring(), user, baseline, &left_out)?);
        }
        let mut preparing = Preparing { standard: &mut standard, wanted, keeper, contents, say, keep: Vec::new() };
        preparing.all(&baseline.to_string())?;
        Ok(Sandbox::Standard(Box::new(standard), Locked(Mutex::new(copies))))
    }
}

/// Nothing is held out that lies in a toolchain, in what an input leads to, or in the system's own folders.
fn refuse_shown(wanted: &Wanted<'_>, shows: impl Fn(&Path) -> bool) -> Result<(), SetUpError> {
    let files = held_out(wanted.spec, wanted.triplet_dir, wanted.home.unwrap_or(Path::new("/")));
    let is_shown = |path: &PathBuf| shows(path) || path.canonicalize().is_ok_and(|real| shows(&real));
    match files.into_iter().find(is_shown) {
        Some(path) => Err(SetUpError::HoldoutShown { path }),
        None => Ok(()),
    }
}

struct Preparing<'a, 'w> {
    standard: &'a mut Standard,
    wanted: &'a Wanted<'w>,
    keeper: &'a Keeper,
    contents: &'a Contents,
    say: &'a dyn Fn(&str),
    /// Layers that are of use; others are of an earlier state of the study.
    keep: Vec<PathBuf>,
}

impl Preparing<'_, '_> {
    fn all(&mut self, baseline: &str) -> Result<(), SetUpError> {
        let evaluate = self.wanted.spec.evaluate.clone();
        // Layers of root and of a person are written with different attributes.
        let writer = if rustix::process::getuid().is_root() { "root" } else { "user" };
        let inputs = self.wanted.inputs_fingerprint.clone().unwrap_or_default();
        let mut fields = vec!["1".to_owned(), writer.to_owned(), baseline.to_owned(), inputs];
        // What was made when a file was not held out yet may hold a copy of it.
        fields.extend(self.wanted.spec.holdout.iter().flat_map(|holdout| holdout.tracked.clone()));
        if let Some(Prepare { run, network: reached }) = &evaluate.prepare {
            fields.extend([run.clone(), reached.name().to_owned()]);
            self.layer(&fields, "prepare", run, network(*reached))?;
        }
        if evaluate.warm {
            fields.extend(["warm".to_owned(), evaluate.run.clone()]);
            match self.layer(&fields, "warming the caches", &evaluate.run, network(evaluate.network)) {
                // The baseline's own trial will tell.
                Err(SetUpError::Prepare { .. }) => {}
                other => other?,
            }
        }
        let layers = self.standard.layers().to_owned();
        for entry in std::fs::read_dir(&layers).into_iter().flatten().flatten() {
            let is_layer = entry.file_name().to_string_lossy().starts_with("prepared");
            if is_layer && !self.keep.contains(&entry.path()) {
                workspace::wipe(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Uses the layer of this name, or runs the command that makes it.
    fn layer(&mut self, fields: &[String], what: &str, command: &str, network: Network) -> Result<(), SetUpError> {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let layers = self.standard.layers().to_owned();
        let folder = layers.join(format!("prepared-{}", prepare::key(&fields)));
        let manifest = match prepare::read(&folder) {
            Some(manifest) => manifest,
            None => {
                (self.say)(&format!("{what}: {command}"));
                workspace::wipe(&folder)?;
                self.make(&layers.join("preparing"), &folder, command, network)?
            }
        };
        self.keep.push(folder);
        self.standard.lay_on_top(manifest);
        Ok(())
    }

    fn make(&self, from: &Path, into: &Path, command: &str, network: Network) -> Result<prepare::Manifest, SetUpError> {
        workspace::wipe(from)?;
        workspace::empty(from)?;
        let spec = self.wanted.spec;
        let view = self.standard.preparing(self.contents, network, clock::now().0, from);
        let mut env = self.wanted.environment.to_vec();
        env.extend(self.standard.identity());
        env.push(("TMPDIR".to_owned(), "/tmp".to_owned()));
        env.push(("OVERNIGHT_OUT".to_owned(), super::OUT.to_owned()));
        env.push(("OVERNIGHT_BUDGET_SECONDS".to_owned(), spec.evaluate.budget.as_secs().to_string()));
        env.extend(spec.evaluate.env.clone());
        let job = Job {
            command: command.to_owned(),
            cwd: self.standard.tree().join(&spec.evaluate.folder),
            env,
            stdin: Stdin::Null,
            deadline: PREPARE_LIMIT,
            grace: Duration::from_secs(2),
            sandbox: crate::process::Sandbox::View(Box::new(view.clone())),
        };
        let mut said = crate::worker::Capture::new();
        let report = self.keeper.start(&job)?.wait(|_, bytes| said.feed(bytes))?;
        if report.ending != (Ending::Exited { code: 0 }) {
            let text = String::from_utf8_lossy(&said.finish().kept).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            let output = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
            let ending = match report.ending {
                Ending::Exited { code } => format!("exit code {code}"),
                Ending::NotStarted { errno, what } => format!("{what}: {}", io::Error::from_raw_os_error(errno)),
                other => format!("{other:?}"),
            };
            return Err(SetUpError::Prepare { command: command.to_owned(), ending, output });
        }
        let surface: Vec<PathBuf> = self.contents.0.iter().map(|(path, _)| self.standard.tree().join(path)).collect();
        let manifest = prepare::freeze(&view, &surface, from, into)
            .map_err(|source| SetUpError::Freeze { path: from.to_owned(), source })?;
        // The surface is to be newer than all of it, and not of the future, which `make` warns of.
        clock::sleep_until(manifest.newest + 1);
        Ok(manifest)
    }
}
