//! Which tier this machine gives, found by doing.

use std::fs;
use std::path::Path;
use std::time::Duration;

use overnight_model::spec::{self, Tier};

use super::fenced::all_may_pass;
use super::host;
use crate::process::{Ending, Fenced, Job, Keeper, Layer, Limits, Mount, Network, Sandbox, Stdin, View};

/// Removes, makes again and renames folders that come from below: overlays on a layer in memory fail at this before
/// Linux 6.6, and only at this.
const REMAKE: &str = "set -e
rm -r gone; mkdir gone; : > gone/new; test ! -e gone/old
mv kept moved; test -e moved/old
echo more >> file; test \"$(cat file)\" = 'some
more'";

/// Far more than it takes, on a busy machine too.
const DEADLINE: Duration = Duration::from_secs(20);

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub tier: Tier,
    /// Where what commands write is kept.
    pub layer: spec::Layer,
    /// Why it is not more, a sentence for each thing that failed.
    pub reasons: Vec<String>,
}

/// Tries the strongest sandbox first, or the one that was asked for. `dir` is a folder of the engine's own; `wanted`
/// says which layers may be used.
pub fn find(keeper: &Keeper, dir: &Path, wanted: spec::Layer, tier: Option<Tier>) -> Found {
    let mut reasons = Vec::new();
    if tier == Some(Tier::None) {
        return Found { tier: Tier::None, layer: spec::Layer::Disk, reasons };
    }
    let layers = match wanted {
        _ if tier == Some(Tier::Landlock) => Vec::new(),
        spec::Layer::Auto => vec![spec::Layer::Memory, spec::Layer::Disk],
        one => vec![one],
    };
    for layer in layers {
        match try_standard(keeper, dir, layer) {
            Ok(()) => return Found { tier: Tier::Standard, layer, reasons },
            Err(reason) => reasons.push(reason),
        }
    }
    match try_landlock(keeper, dir) {
        Ok(()) => Found { tier: Tier::Landlock, layer: spec::Layer::Disk, reasons },
        Err(reason) => {
            reasons.push(reason);
            Found { tier: Tier::None, layer: spec::Layer::Disk, reasons }
        }
    }
}

/// A file beside the fence must be out of reach, and one inside it must not.
fn try_landlock(keeper: &Keeper, dir: &Path) -> Result<(), String> {
    // Landlock leaves modes, times and attributes alone: the user inside must own nothing outside, so never root.
    if rustix::process::getuid().is_root() && !all_may_pass(dir) {
        return Err(format!("landlock: only root may enter {}, and commands must not run as root", dir.display()));
    }
    let probe = dir.join("probe");
    let outcome = lay_out(&probe).map_err(|error| format!("{}: {error}", probe.display())).and_then(|()| {
        let system = host::system().into_iter().map(|mount| mount.at().clone());
        let fenced = Fenced {
            read: system.collect(),
            write: vec![probe.join("lower")],
            devices: Vec::new(),
            network: Network::None,
            user: None,
            limits: Limits::default(),
        };
        let inside = probe.join("lower");
        let command = format!("cat file >> kept/old && ! cat {}/outside 2> /dev/null", shell(&probe));
        std::fs::write(probe.join("outside"), "outside").map_err(|error| error.to_string())?;
        run(keeper, &command, &inside, Sandbox::Fenced(Box::new(fenced)))
    });
    let _ = crate::workspace::wipe(&probe);
    outcome.map_err(|what| format!("landlock: {what}"))
}

fn shell(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

fn try_standard(keeper: &Keeper, dir: &Path, layer: spec::Layer) -> Result<(), String> {
    let probe = dir.join("probe");
    let outcome = lay_out(&probe).map_err(|error| format!("{}: {error}", probe.display())).and_then(|()| {
        let sandbox = Sandbox::View(Box::new(view(&probe, layer)));
        run(keeper, REMAKE, Path::new("/probe"), sandbox)
    });
    let _ = crate::workspace::wipe(&probe);
    let kind = if layer == spec::Layer::Memory { "memory" } else { "disk" };
    outcome.map_err(|what| format!("namespaces with a layer in {kind}: {what}"))
}

fn run(keeper: &Keeper, command: &str, cwd: &Path, sandbox: Sandbox) -> Result<(), String> {
    let job = Job {
        command: command.to_owned(),
        cwd: cwd.to_owned(),
        env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        stdin: Stdin::Null,
        deadline: DEADLINE,
        grace: Duration::ZERO,
        sandbox,
    };
    let mut said = Vec::new();
    let report = keeper
        .start(&job)
        .and_then(|child| child.wait(|_, bytes| said.extend_from_slice(bytes)))
        .map_err(|error| error.to_string())?;
    match report.ending {
        Ending::Exited { code: 0 } => Ok(()),
        Ending::NotStarted { errno, what } => {
            Err(format!("could not {what}: {}", std::io::Error::from_raw_os_error(errno)))
        }
        other => {
            let said = String::from_utf8_lossy(&said).lines().last().map(ToOwned::to_owned);
            Err(said.unwrap_or_else(|| format!("{other:?}")))
        }
    }
}

fn lay_out(probe: &Path) -> std::io::Result<()> {
    let _ = crate::workspace::wipe(probe);
    for folder in ["stage", "layer", "lower/gone", "lower/kept"] {
        fs::create_dir_all(probe.join(folder))?;
    }
    for file in ["gone/old", "kept/old", "file"] {
        fs::write(probe.join("lower").join(file), "some\n")?;
    }
    Ok(())
}

fn view(probe: &Path, layer: spec::Layer) -> View {
    let mut mounts = host::system();
    mounts.push(Mount::Private { lowers: vec![probe.join("lower")], at: "/probe".into() });
    mounts.sort_by(|a, b| a.at().cmp(b.at()));
    View {
        stage: probe.join("stage"),
        layer: match layer {
            spec::Layer::Disk => Layer::Disk { dir: probe.join("layer") },
            spec::Layer::Auto | spec::Layer::Memory => Layer::Memory { bytes: 1 << 20, inodes: 1000 },
        },
        mounts,
        files: Vec::new(),
        hand_back: Vec::new(),
        devices: Vec::new(),
        network: Network::None,
        // Any user but root.
        user: Some(super::plan::FIRST_USER),
        limits: Limits::default(),
    }
}
