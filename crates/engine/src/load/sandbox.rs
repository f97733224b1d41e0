//! The sandbox: the weakest tier that will do, and what a command may use.

use overnight_model::spec::{Devices, Layer, Network, SandboxSpec, Tier};
use toml::de::DeValue;

use super::document::Section;
use super::problem::Collector;
use super::size;

/// As many as the kernel can count.
const MOST_PIDS: u64 = 4_194_304;

const DEVICES_HINT: &str = "write \"auto\", \"none\", or a list such as [\"/dev/nvidia0\"]";

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> SandboxSpec {
    let Some(section) = problems.section(top, "sandbox", "sandbox") else {
        return SandboxSpec::default();
    };
    let tiers = Tier::ALL.map(|tier| (tier.name(), tier));
    let layers = [("auto", Layer::Auto), ("memory", Layer::Memory), ("disk", Layer::Disk)];
    SandboxSpec {
        min: problems.word(&section, "min", &tiers, |_| None).unwrap_or_default(),
        layer: problems.word(&section, "layer", &layers, |_| None).unwrap_or_default(),
        memory: problems.size(&section, "memory"),
        disk: problems.size(&section, "disk"),
        pids: problems.count(&section, "pids", 1..=MOST_PIDS).map(|pids| pids as u32),
        devices: devices(problems, &section).unwrap_or_default(),
    }
}

fn devices(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Devices> {
    let item = section.get("devices")?;
    let items = match item.get_ref() {
        DeValue::String(word) => match word.as_ref() {
            "auto" => return Some(Devices::Auto),
            "none" => return Some(Devices::None),
            _ => {
                problems.add(item.span(), "`sandbox.devices` must be \"auto\", \"none\" or a list", DEVICES_HINT);
                return None;
            }
        },
        DeValue::Array(items) => items,
        _ => {
            problems.wrong_type("sandbox.devices", item, "\"auto\", \"none\" or a list", DEVICES_HINT);
            return None;
        }
    };
    let mut paths = Vec::new();
    for item in items.iter() {
        match item.get_ref().as_str() {
            Some(path) if is_device(path) => paths.push(path.to_owned()),
            Some(path) => {
                let message = format!("`{}` is not a path below /dev", path.escape_debug());
                problems.add(item.span(), message, DEVICES_HINT);
            }
            None => problems.wrong_type("sandbox.devices", item, "a path below /dev", DEVICES_HINT),
        }
    }
    Some(Devices::List(paths))
}

fn is_device(path: &str) -> bool {
    let below = path.strip_prefix("/dev/").filter(|below| !below.is_empty());
    below.is_some_and(|below| below.split('/').all(|part| !matches!(part, "" | "." | "..")))
}

impl Collector<'_> {
    /// Which networks a command reaches.
    pub(super) fn network(&mut self, section: &Section<'_>, key: &str) -> Option<Network> {
        let words = [Network::None, Network::Models, Network::Full].map(|network| (network.name(), network));
        self.word(section, key, &words, |_| None)
    }

    /// An amount of memory or disk, in bytes.
    fn size(&mut self, section: &Section<'_>, key: &str) -> Option<u64> {
        let item = section.get(key)?;
        let path = section.path(key);
        let Some(text) = item.get_ref().as_str() else {
            self.wrong_type(&path, item, "a size", size::EXAMPLES);
            return None;
        };
        size::parse(&path, text).map_err(|refused| self.add(item.span(), refused.message, refused.hint)).ok()
    }
}
