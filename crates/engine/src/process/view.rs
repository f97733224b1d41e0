//! What a sandboxed job sees and may do: described by the engine, built by the job's init.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What keeps a job in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Sandbox {
    /// It sees and may do what the engine sees and may do.
    #[default]
    None,
    View(Box<View>),
    Fenced(Box<Fenced>),
}

/// The host as it is, with everything but these paths out of reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fenced {
    /// Read and executed, with all beneath.
    pub read: Vec<PathBuf>,
    /// Everything, with all beneath.
    pub write: Vec<PathBuf>,
    pub devices: Vec<PathBuf>,
    pub network: Network,
    /// The host's user to run as, where the keeper is root and that user can get to the paths.
    pub user: Option<u32>,
    pub limits: Limits,
}

/// A root of its own for one job. Paths that are not named here do not exist inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// An empty folder of the engine's own, on which the new root is put together.
    pub stage: PathBuf,
    pub layer: Layer,
    /// A folder comes before what lies in it.
    pub mounts: Vec<Mount>,
    /// Written before the job starts, into the private folders.
    pub files: Vec<File>,
    /// Private folders whose contents the engine wants to see afterwards, by their place inside.
    pub hand_back: Vec<PathBuf>,
    /// Device nodes beside the usual ones.
    pub devices: Vec<PathBuf>,
    pub network: Network,
    /// The host's user to run as, where the keeper is root. Never 0.
    pub user: Option<u32>,
    pub limits: Limits,
}

/// Where what a job writes is kept until it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    /// In memory, gone with the job.
    Memory { bytes: u64, inodes: u64 },
    /// In this empty folder, which the engine removes.
    Disk { dir: PathBuf },
}

/// Something that exists inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mount {
    /// Folders of the host, the first one on top, read-only.
    Shared {
        lowers: Vec<PathBuf>,
        at: PathBuf,
    },
    /// Folders of the host, the first one on top; what is written goes to the layer. Without any, an empty folder.
    Private {
        lowers: Vec<PathBuf>,
        at: PathBuf,
    },
    /// One file of the host, read-only.
    File {
        path: PathBuf,
        at: PathBuf,
    },
    Link {
        target: PathBuf,
        at: PathBuf,
    },
}

/// A file in a private folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    pub at: PathBuf,
    pub executable: bool,
    /// In milliseconds since the epoch.
    pub mtime: i64,
    pub length: usize,
    /// Travels behind the description, not in it.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// What of the network a job reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// A loopback of its own.
    None,
    /// The gateway at this port, and nothing else. With a root of its own a job has a loopback of its own, on which its
    /// init listens for the engine (see [`Child::listener`](super::Child::listener)); a fenced one has a way to this port.
    Models { port: u16 },
    /// The host's.
    Full,
}

/// What a job may use. Without a number there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    pub memory: Option<u64>,
    pub processes: Option<u64>,
    /// What it may write, in bytes.
    pub disk: Option<u64>,
}

impl Network {
    /// Whether the host's network is out of reach.
    pub(super) fn is_own(self) -> bool {
        self != Network::Full
    }
}

impl Mount {
    pub fn at(&self) -> &PathBuf {
        match self {
            Mount::Shared { at, .. } | Mount::Private { at, .. } | Mount::File { at, .. } | Mount::Link { at, .. } => {
                at
            }
        }
    }
}

impl Sandbox {
    pub(super) fn view(&self) -> Option<&View> {
        match self {
            Sandbox::View(view) => Some(view),
            Sandbox::None | Sandbox::Fenced(_) => None,
        }
    }

    pub(super) fn view_mut(&mut self) -> Option<&mut View> {
        match self {
            Sandbox::View(view) => Some(view),
            Sandbox::None | Sandbox::Fenced(_) => None,
        }
    }

    /// The host's user to run as, where it is not the engine's own.
    pub(super) fn user(&self) -> Option<u32> {
        match self {
            Sandbox::None => None,
            Sandbox::View(view) => view.user,
            Sandbox::Fenced(fenced) => fenced.user,
        }
    }

    pub(super) fn network(&self) -> Network {
        match self {
            Sandbox::None => Network::Full,
            Sandbox::View(view) => view.network,
            Sandbox::Fenced(fenced) => fenced.network,
        }
    }

    pub fn limits(&self) -> Limits {
        match self {
            Sandbox::None => Limits::default(),
            Sandbox::View(view) => view.limits,
            Sandbox::Fenced(fenced) => fenced.limits,
        }
    }
}
