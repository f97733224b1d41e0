//! The system folders that a sandboxed command sees, by an allow-list, and what is mounted inside a folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::Mount;

/// Programs and libraries. What is not here does not exist inside; `/etc` has a layer of ours on top.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/gnu",
    "/sys/devices/system",
    "/sys/class/drm",
];

/// The system folders as they are on this host, with what is mounted inside them.
pub(super) fn system() -> Vec<Mount> {
    let mut mounts = Vec::new();
    for path in SYSTEM.map(PathBuf::from) {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                if let Ok(target) = fs::read_link(&path) {
                    mounts.push(Mount::Link { target, at: path });
                }
            }
            Ok(metadata) if metadata.is_dir() => {
                let below = mounted_below(&path);
                mounts.push(shared(path));
                mounts.extend(below.into_iter().map(|path| match path.is_dir() {
                    true => shared(path),
                    false => Mount::File { at: path.clone(), path },
                }));
            }
            _ => {}
        }
    }
    mounts
}

/// Whether a path is there with the system folders.
pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

fn shared(path: PathBuf) -> Mount {
    Mount::Shared { lowers: vec![path.clone()], at: path }
}

/// Mounts inside a folder, which an overlay of the folder alone would lose: a second disk, or the libraries of a
/// driver, which containers get as single files.
pub(super) fn mounted_below(folder: &Path) -> Vec<PathBuf> {
    let mut below = below(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(), folder);
    below.retain(|place| place.is_dir() || place.is_file());
    below
}

/// The places inside a folder that the kernel's table of mounts names, a folder before what lies in it.
fn below(table: &str, folder: &Path) -> Vec<PathBuf> {
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    let mut below: Vec<PathBuf> = places.filter(|place| place != folder && place.starts_with(folder)).collect();
    below.sort();
    // Mounts can lie on each other; the last one is what is seen.
    below.dedup();
    below
}

/// The kernel writes blanks and backslashes in octal.
fn unescape(text: &str) -> PathBuf {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        match after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte as char);
                rest = &after[3..];
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    PathBuf::from(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_inside_a_folder_are_found_once_and_in_order() {
        let table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     30 22 8:2 / /data/b rw - ext4 /dev/sdb1 rw\n\
                     31 22 8:3 / /data rw - ext4 /dev/sdc1 rw\n\
                     32 30 0:5 / /data/b/c\\040d rw - tmpfs none rw\n\
                     33 30 0:6 / /data/b rw - tmpfs none rw\n\
                     34 22 0:7 / /database rw - tmpfs none rw\n";
        assert_eq!(below(table, Path::new("/data")), [Path::new("/data/b"), Path::new("/data/b/c d")]);
    }

    #[test]
    fn blanks_in_a_mount_point_are_read() {
        assert_eq!(unescape(r"/a\040b\134c"), PathBuf::from(r"/a b\c"));
    }
}
