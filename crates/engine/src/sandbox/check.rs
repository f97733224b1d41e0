//! `check --machine`: which tier this machine gives, and whether its walls hold, found by trying to break out.
//!
//! Every attack is a job of its own in the sandbox that trials get, planned by the same code.

mod host;
mod raise;
mod walls;

pub use host::survivors;
pub use walls::ATTACK_HELD;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use overnight_model::Millis;
use overnight_model::proposal::Contents;
use overnight_model::spec::{
    self, AgentKind, AgentSpec, Evaluate, Metric, SandboxSpec, Spec, Surface, SurfaceFile, Tier,
};
use overnight_model::units::Goal;

use super::{Fences, Found, Phase, SeatId, Standard, Wanted, find};
use crate::process::{Ending, Holder, Job, Keeper, KeeperError, Sandbox, Stdin};
use crate::workspace::{self, GitError};

/// Small enough that a wall that is missing costs nothing, large enough for the attacks themselves.
const MEMORY: u64 = 96 << 20;
const DISK: u64 = 8 << 20;
const PROCESSES: u32 = 48;

const SEAT: SeatId = SeatId { is_desk: false, number: 0 };

/// An attack takes milliseconds; one that is held by being ignored takes its three seconds.
const DEADLINE: Duration = Duration::from_secs(20);

/// What was found out about this machine.
#[derive(Debug)]
pub struct Checked {
    pub found: Found,
    /// How a limit on memory is held, and one on processes.
    pub memory: String,
    pub processes: String,
    pub walls: Vec<Wall>,
    /// The one thing that would give a stronger tier here.
    pub raise: Option<String>,
}

/// One thing that a candidate must not be able to do, and what came of trying.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wall {
    pub what: &'static str,
    pub stood: Stood,
    pub how: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stood {
    Held,
    /// Not held, and not claimed to be at this tier or for this user.
    Open,
    /// Claimed, and not held.
    Broken,
}

impl Checked {
    /// Whether everything that is claimed holds.
    pub fn is_sound(&self) -> bool {
        self.walls.iter().all(|wall| wall.stood != Stood::Broken)
    }
}

/// Why a machine could not be checked, through no fault of its walls.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("could not make {}", path.display())]
    Scratch { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Keeper(#[from] KeeperError),
}

/// Finds the tier and tries its walls. `scratch` is an empty folder; `program` is this very binary, whose hidden
/// subcommand carries attacks out.
pub fn check(keeper: &Keeper, scratch: &Path, program: &Path, tier: Option<Tier>) -> Result<Checked, CheckError> {
    let found = find(keeper, scratch, spec::Layer::Auto, tier);
    let walls = match found.tier {
        Tier::Standard | Tier::Strong | Tier::Landlock => {
            walls::try_all(&Ring::set_up(keeper, scratch, program, &found)?)?
        }
        Tier::None => walls::none(),
    };
    let held_by = keeper.held_by()?;
    let raise = raise::raise(&found, &held_by.memory);
    let said = |holder: &Holder| match holder {
        _ if found.tier == Tier::None => "not held".to_owned(),
        Holder::Group => "by the kernel, for each trial as a whole (control group)".to_owned(),
        Holder::Polling { reason } => format!("by looking at every process, each 10 to 500 ms ({reason})"),
    };
    let (memory, processes) = (said(&held_by.memory), said(&held_by.processes));
    Ok(Checked { found, memory, processes, walls, raise })
}

/// Where attacks are carried out: a sandbox as a study would have it, and a host to be attacked.
struct Ring<'a> {
    keeper: &'a Keeper,
    kind: Kind,
    program: &'a Path,
    scratch: &'a Path,
}

enum Kind {
    Standard(Box<Standard>),
    Landlock(Box<Fences>),
}

/// How an attack ended, and its last words.
struct Attacked {
    ending: Ending,
    said: String,
}

impl<'a> Ring<'a> {
    fn set_up(keeper: &'a Keeper, scratch: &'a Path, program: &'a Path, found: &Found) -> Result<Ring<'a>, CheckError> {
        let (state, checkout) = (scratch.join("state"), scratch.join("checkout"));
        let spec = spec(program);
        let wanted = Wanted {
            spec: &spec,
            dir: &state,
            checkout: &checkout,
            triplet_dir: &checkout,
            home: None,
            environment: &[],
            slots: 1,
            executables: Vec::new(),
            inputs_fingerprint: None,
        };
        let kind = match found.tier {
            Tier::Landlock => Kind::Landlock(Box::new(Fences::plan(&wanted))),
            _ => Kind::Standard(Box::new(Standard::plan(&wanted, found.layer)?)),
        };
        let ring = Ring { keeper, kind, program, scratch };
        host::lay_out(scratch, &ring.tree())?;
        if let Some(user) = ring.user() {
            let tree = ring.tree();
            std::os::unix::fs::chown(&tree, Some(user), Some(user))
                .map_err(|source| CheckError::Scratch { path: tree, source })?;
        }
        Ok(ring)
    }

    /// Where the attacked tree is on the host.
    fn tree(&self) -> PathBuf {
        match &self.kind {
            Kind::Standard(standard) => standard.locked(),
            Kind::Landlock(_) => self.scratch.join("tree"),
        }
    }

    /// Who attacks, where the tree has to be theirs.
    fn user(&self) -> Option<u32> {
        match &self.kind {
            Kind::Standard(_) => None,
            Kind::Landlock(fences) => fences.user(SEAT),
        }
    }

    fn is_apart(&self) -> bool {
        matches!(self.kind, Kind::Standard(_))
    }

    /// Whether what is written is in memory, with an end of its own.
    fn has_room_of_its_own(&self) -> bool {
        matches!(&self.kind, Kind::Standard(standard) if standard.in_memory())
    }

    fn sandbox(&self) -> Result<(Sandbox, PathBuf), CheckError> {
        let standard = match &self.kind {
            Kind::Standard(standard) => standard,
            Kind::Landlock(fences) => {
                let fenced = fences.fenced(SEAT, vec![self.tree()], Vec::new());
                return Ok((Sandbox::Fenced(Box::new(fenced)), self.tree()));
            }
        };
        let layer = self.scratch.join("layer");
        if !standard.in_memory() {
            workspace::wipe(&layer)?;
            workspace::empty(&layer)?;
        }
        let contents = Contents(vec![("surface".to_owned(), b"surface\n".to_vec())]);
        let view = standard.view(Phase::Run, SEAT, &contents, 0, &layer);
        Ok((Sandbox::View(Box::new(view)), standard.tree().to_owned()))
    }

    /// Carries one attack out.
    fn attack(&self, arguments: &str) -> Result<Attacked, CheckError> {
        self.shell(&format!("exec {} __attack {arguments}", workspace::shell_word(self.program)))
    }

    fn shell(&self, command: &str) -> Result<Attacked, CheckError> {
        let (sandbox, cwd) = self.sandbox()?;
        let job = Job {
            command: command.to_owned(),
            cwd,
            env: vec![
                ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
                ("OVERNIGHT_ATTACK".to_owned(), self.token()),
            ],
            stdin: Stdin::Null,
            deadline: DEADLINE,
            grace: Duration::ZERO,
            sandbox,
        };
        let mut said = Vec::new();
        let report = self.keeper.start(&job)?.wait(|_, bytes| said.extend_from_slice(bytes))?;
        let said = String::from_utf8_lossy(&said).lines().last().unwrap_or_default().to_owned();
        Ok(Attacked { ending: report.ending, said })
    }

    /// Found in what no process but the attackers' has.
    fn token(&self) -> String {
        format!("attack-{}", self.scratch.display())
    }
}

fn spec(program: &Path) -> Spec {
    let mut evaluate = Evaluate::new("true", Millis::seconds(1));
    evaluate.inputs.push(spec::Input { path: program.to_string_lossy().into_owned(), content: false });
    Spec {
        study: "check".to_owned(),
        surface: Surface {
            files: vec![SurfaceFile { path: "surface".to_owned(), part: spec::Part::Whole }],
            max_lines_changed: None,
        },
        program: String::new(),
        metric: Metric {
            name: "none".to_owned(),
            goal: Goal::Min,
            min_gain: None,
            target: None,
            plausible: None,
            pick: spec::Pick::Only,
        },
        evaluate,
        holdout: None,
        guards: Vec::new(),
        judge: spec::JudgeSpec::default(),
        agent: AgentSpec::one(AgentKind::Tuner, Millis::seconds(1), spec::Network::None),
        sandbox: SandboxSpec {
            memory: Some(MEMORY),
            disk: Some(DISK),
            pids: Some(PROCESSES),
            ..SandboxSpec::default()
        },
        gateway: Default::default(),
        slots: 1,
        limits: spec::Limits::default(),
        notify: spec::NotifySpec::default(),
    }
}
