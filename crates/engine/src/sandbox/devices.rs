//! Device nodes beside the usual ones: accelerators, where there are any.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use overnight_model::spec::Devices;

/// How the nodes of accelerators begin: NVIDIA's, AMD's, Intel's and others'.
const ACCELERATORS: [&str; 4] = ["nvidia", "kfd", "dri", "accel"];

/// The nodes that a study's commands get.
pub(super) fn wanted(devices: &Devices) -> Vec<PathBuf> {
    match devices {
        Devices::None => Vec::new(),
        Devices::List(paths) => paths.iter().map(PathBuf::from).collect(),
        Devices::Auto => accelerators(Path::new("/dev")),
    }
}

fn accelerators(dev: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dev).into_iter().flatten().flatten();
    let is_one = |name: &str| ACCELERATORS.iter().any(|prefix| name.starts_with(prefix));
    let mut found = Vec::new();
    for entry in entries.filter(|entry| is_one(&entry.file_name().to_string_lossy())) {
        match entry.file_type() {
            Ok(kind) if kind.is_char_device() => found.push(entry.path()),
            // Folders of nodes, such as dri and nvidia-caps; links in them are names for the same nodes.
            Ok(kind) if kind.is_dir() => {
                let inner = fs::read_dir(entry.path()).into_iter().flatten().flatten();
                let nodes = inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_char_device()));
                found.extend(nodes.map(|entry| entry.path()));
            }
            _ => {}
        }
    }
    found.sort();
    found
}
