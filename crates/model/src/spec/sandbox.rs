//! What commands may reach and use while they run, as a person asked for it.

use serde::{Deserialize, Serialize};

/// What the triplet says about the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxSpec {
    /// Code that a model wrote does not run on a weaker one.
    pub min: Tier,
    pub layer: Layer,
    /// Bytes for the whole tree of one command.
    pub memory: Option<u64>,
    /// Bytes that one command may leave behind.
    pub disk: Option<u64>,
    pub pids: Option<u32>,
    pub devices: Devices,
}

/// What a machine enforces, from nothing to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Commands run as the user would run them.
    None,
    /// Files and the network are fenced off by Landlock alone.
    Landlock,
    /// Namespaces: a root, processes and a network of its own.
    #[default]
    Standard,
    /// Namespaces, and limits that cgroups hold.
    Strong,
}

impl Tier {
    /// The weakest first.
    pub const ALL: [Tier; 4] = [Tier::None, Tier::Landlock, Tier::Standard, Tier::Strong];

    /// The name in the triplet, in records and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Tier::None => "none",
            Tier::Landlock => "landlock",
            Tier::Standard => "standard",
            Tier::Strong => "strong",
        }
    }

    /// The tier of that name.
    pub fn from_name(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

/// Where what a command writes is kept while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layer {
    #[default]
    Auto,
    Memory,
    Disk,
}

/// Which networks a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    #[default]
    None,
    /// Models, through the gateway, and nothing else.
    Models,
    Full,
}

impl Network {
    pub fn name(self) -> &'static str {
        match self {
            Network::None => "none",
            Network::Models => "models",
            Network::Full => "full",
        }
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Network::None
    }
}

/// Which devices a command sees, besides the harmless ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Devices {
    /// The accelerators that are there.
    #[default]
    Auto,
    None,
    /// By path below /dev.
    List(Vec<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_ordered_by_what_they_enforce() {
        assert!(Tier::ALL.is_sorted());
        assert!(Tier::Strong > Tier::Standard && Tier::Landlock > Tier::None);
        assert_eq!(Tier::ALL.map(|tier| Tier::from_name(tier.name())), Tier::ALL.map(Some));
        assert_eq!(Tier::from_name("docker"), None);
    }
}
