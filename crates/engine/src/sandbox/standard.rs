//! The tier `standard`: a root of its own for every command, put together from layers.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_model::proposal::Contents;
use overnight_model::spec;

use super::plan::{SeatId, Wanted, agent_programs, first_user, held_out, inputs, limits, network};
use super::prepare::Manifest;
use super::{devices, etc, host, toolchains};
use crate::process::{File, Layer, Limits, Mount, Network, View};
use crate::workspace::GitError;

/// Where a command leaves its artifacts.
pub const OUT: &str = "/overnight/out";
/// Where a command writes its metrics, or an agent its note.
pub const SAID: &str = "/overnight/said";
/// Where a scorer finds what the candidate left.
pub const ARTIFACTS: &str = "/overnight/artifacts";

/// More files than any evaluation makes, and few enough that the kernel's memory for them is no concern.
const INODES: u64 = 400_000;
/// What the kernel itself needs for a file without anything in it: a small layer has few of them, or they would take
/// more memory than what they hold.
const BYTES_OF_A_FILE: u64 = 1024;
const LEAST_INODES: u64 = 10_000;

/// What every command of a run has in common.
pub struct Standard {
    stage: PathBuf,
    layers: PathBuf,
    in_memory: bool,
    /// All but the tree and the folders of the command's own.
    mounts: Vec<Mount>,
    checkout: PathBuf,
    limits: Limits,
    devices: Vec<PathBuf>,
    network: Network,
    first_user: Option<u32>,
    surface: Vec<String>,
    executables: Vec<String>,
    /// The agent's own program, where it is a file of the person's.
    agent_programs: Vec<Mount>,
    /// What is there for the holdout's own command alone.
    held_out: Vec<Mount>,
    /// The one that was made last comes last.
    prepared: Vec<Manifest>,
}

/// Which command of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase<'a> {
    /// The candidate's, a guard's included.
    Run,
    /// The locked one that makes the numbers, with the folder of artifacts.
    Score {
        artifacts: &'a Path,
    },
    Agent,
    /// The holdout's own: on artifacts, or where there are none with candidate code.
    Holdout {
        artifacts: Option<&'a Path>,
    },
}

impl Standard {
    /// Plans the sandbox and makes the folders it needs. The tree's own layers are the caller's to lay out.
    pub fn plan(wanted: &Wanted<'_>, layer: spec::Layer) -> Result<Standard, GitError> {
        let Wanted { spec, dir, checkout, home, environment, slots, .. } = *wanted;
        let (stage, layers) = (dir.join("stage"), dir.join("layers"));
        crate::workspace::empty(&stage)?;
        let is_root = rustix::process::getuid().is_root();
        let reached = network(spec.evaluate.network);
        // A home that is the root, or not there, is no place to write.
        let home = home.filter(|home| home.parent().is_some()).unwrap_or(Path::new("/home/overnight"));
        let etc = layers.join("etc");
        crate::workspace::wipe(&etc)?;
        let called = environment.iter().find(|(name, _)| name == "USER").map(|(_, name)| name.as_str());
        let who = etc::Identity::of(is_root, home, called);
        etc::write(&etc, &who, is_root, reached).map_err(GitError::io("write", &etc))?;

        let private = |lowers: Vec<PathBuf>, at: &Path| Mount::Private { lowers, at: at.to_owned() };
        let mut mounts = host::system();
        mounts.push(Mount::Shared { lowers: vec![etc, "/etc".into()], at: "/etc".into() });
        mounts.extend(["/tmp", "/var/tmp", "/run"].map(|path| private(Vec::new(), Path::new(path))));
        if home != checkout {
            mounts.push(private(Vec::new(), home));
        }
        // Where a home is a link to another disk, scripts of a virtual environment name themselves by way of it.
        if let Ok(real) = fs::canonicalize(home)
            && real != home
            && let Ok(inside) = checkout.strip_prefix(&real)
            && inside != Path::new("")
        {
            mounts.push(Mount::Link { target: checkout.to_owned(), at: home.join(inside) });
        }
        let inputs = inputs(wanted);
        let own = spec.evaluate.env.clone().into_iter();
        let environment: Vec<_> = environment.iter().cloned().chain(own).collect();
        let toolchains = toolchains::toolchains(home, &environment, &inputs);
        for path in toolchains.iter().filter(|path| !path.starts_with(checkout) && !inputs.contains(path)) {
            mounts.push(private(vec![path.clone()], path));
        }
        for path in inputs {
            mounts.extend(input_mounts(&path));
        }
        Ok(Standard {
            stage,
            layers,
            in_memory: layer != spec::Layer::Disk,
            mounts,
            checkout: checkout.to_owned(),
            limits: limits(spec, slots),
            devices: devices::wanted(&spec.sandbox.devices),
            network: reached,
            first_user: is_root.then(|| first_user(dir)),
            surface: spec.surface.paths().map(ToOwned::to_owned).collect(),
            executables: wanted.executables.clone(),
            agent_programs: agent_programs(wanted.spec, wanted.triplet_dir, wanted.checkout, wanted.home)
                .into_iter()
                .filter_map(|at| {
                    let path = fs::canonicalize(&at).ok()?;
                    Some(match path.is_dir() {
                        true => Mount::Private { lowers: vec![path], at },
                        false => Mount::File { path, at },
                    })
                })
                .collect(),
            held_out: held_out(spec, wanted.triplet_dir, wanted.home.unwrap_or(Path::new("/")))
                .iter()
                .flat_map(|path| input_mounts(path))
                .collect(),
            prepared: Vec::new(),
        })
    }

    /// Where the locked files are to be laid out, without the surface and without what is hidden.
    pub fn locked(&self) -> PathBuf {
        self.layers.join("locked")
    }

    /// Where the tree of the scorer is to be laid out, with what is hidden from others.
    pub fn scoring(&self) -> PathBuf {
        self.layers.join("scoring")
    }

    /// Where the tree is, as a command sees it.
    pub fn tree(&self) -> &Path {
        &self.checkout
    }

    /// What one command sees. `disk` is an empty folder for what it writes, where that is not kept in memory;
    /// `now` is in milliseconds.
    pub fn view(&self, phase: Phase<'_>, seat: SeatId, contents: &Contents, now: i64, disk: &Path) -> View {
        // Newer than anything built before, in the same second too; and some tools keep whole seconds only.
        let mtime = self.prepared.iter().map(|manifest| (manifest.newest + 1) * 1000).fold(now + 1, i64::max);
        let mut mounts = self.mounts.clone();
        let mut lowers = vec![self.locked()];
        let mut files = Vec::new();
        match phase {
            Phase::Score { artifacts } | Phase::Holdout { artifacts: Some(artifacts) } => {
                lowers = vec![self.scoring()];
                mounts.push(Mount::Shared { lowers: vec![artifacts.to_owned()], at: ARTIFACTS.into() });
            }
            Phase::Run | Phase::Agent | Phase::Holdout { artifacts: None } => {
                files.extend(contents.0.iter().map(|(path, bytes)| File {
                    at: self.checkout.join(path),
                    executable: self.executables.contains(path),
                    mtime,
                    length: bytes.len(),
                    bytes: bytes.clone(),
                }))
            }
        }
        mounts.push(Mount::Private { lowers, at: self.checkout.clone() });
        mounts.extend([OUT, SAID].map(|at| Mount::Private { lowers: Vec::new(), at: at.into() }));
        for (at, folder) in self.prepared.iter().flat_map(|manifest| &manifest.layers) {
            let under = mounts.iter_mut().find_map(|mount| match mount {
                Mount::Private { lowers, at: place } if place == at => Some(lowers),
                _ => None,
            });
            if let Some(lowers) = under {
                lowers.insert(0, folder.clone());
            }
        }
        if phase == Phase::Agent {
            mounts.extend(self.agent_programs.iter().filter(|mount| !self.shows(mount.at())).cloned());
        }
        if matches!(phase, Phase::Holdout { .. }) {
            mounts.extend(self.held_out.iter().cloned());
        }
        // A folder before what lies in it, whoever named it first.
        mounts.sort_by(|a, b| a.at().cmp(b.at()));
        let mut hand_back: Vec<PathBuf> = vec![OUT.into(), SAID.into()];
        if phase == Phase::Agent {
            hand_back.push(self.checkout.clone());
        }
        View {
            stage: self.stage.clone(),
            layer: match self.in_memory {
                true => {
                    let bytes = self.limits.disk.unwrap_or(u64::MAX);
                    Layer::Memory { bytes, inodes: (bytes / BYTES_OF_A_FILE).clamp(LEAST_INODES, INODES) }
                }
                false => Layer::Disk { dir: disk.to_owned() },
            },
            mounts,
            files,
            hand_back,
            devices: self.devices.clone(),
            network: self.network,
            user: self.first_user.map(|first| first + seat.offset()),
            limits: self.limits,
        }
    }

    /// What `prepare`, or the baseline that warms the caches, sees: it writes to `disk`, and is frozen afterwards.
    pub(super) fn preparing(&self, contents: &Contents, network: Network, now: i64, disk: &Path) -> View {
        let seat = SeatId { is_desk: false, number: 0 };
        let view = self.view(Phase::Run, seat, contents, now, disk);
        View { network, layer: Layer::Disk { dir: disk.to_owned() }, ..view }
    }

    pub(super) fn layers(&self) -> &Path {
        &self.layers
    }

    pub(super) fn lay_on_top(&mut self, manifest: Manifest) {
        self.prepared.push(manifest);
    }

    /// What commands are told of who they are, where they are not the person.
    pub fn identity(&self) -> Vec<(String, String)> {
        let names = ["USER", "LOGNAME"].into_iter().filter(|_| self.first_user.is_some());
        names.map(|name| (name.to_owned(), etc::NAME.to_owned())).collect()
    }

    /// Whether commands see what the host has at a path outside the checkout.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        self.mounts.iter().any(|mount| match mount {
            Mount::Private { lowers, at } => !lowers.is_empty() && path.starts_with(at),
            Mount::Shared { at, .. } | Mount::File { at, .. } | Mount::Link { at, .. } => path.starts_with(at),
        })
    }

    /// Whether commands see a path although the tree has been laid out without it.
    pub(super) fn shows_anyway(&self, path: &Path) -> bool {
        let covers =
            |at: &Path| path.starts_with(at) && !(path.starts_with(&self.checkout) && self.checkout.starts_with(at));
        self.mounts.iter().any(|mount| match mount {
            Mount::Private { lowers, at } => !lowers.is_empty() && covers(at),
            Mount::Shared { at, .. } | Mount::File { at, .. } | Mount::Link { at, .. } => covers(at),
        })
    }

    pub fn surface(&self) -> &[String] {
        &self.surface
    }

    pub fn in_memory(&self) -> bool {
        self.in_memory
    }
}

/// A folder is there whole, with what is mounted in it; a file alone; and where the path is a link, what it leads to
/// under both names.
fn input_mounts(path: &Path) -> Vec<Mount> {
    let Ok(real) = fs::canonicalize(path) else { return Vec::new() };
    let mount = |real: &Path, at: PathBuf| match real.is_dir() {
        true => Mount::Private { lowers: vec![real.to_owned()], at },
        false => Mount::File { path: real.to_owned(), at },
    };
    let names = if real == path { vec![path] } else { vec![path, &real] };
    let mut mounts: Vec<Mount> = names.iter().map(|name| mount(&real, name.to_path_buf())).collect();
    for below in host::mounted_below(&real) {
        let inner = below.strip_prefix(&real).unwrap_or(&below);
        mounts.extend(names.iter().map(|name| mount(&below, name.join(inner))));
    }
    mounts
}
