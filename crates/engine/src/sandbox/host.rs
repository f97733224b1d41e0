//! What of the host a sandboxed command may see: system folders and toolchains, by an allow-list.

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

/// Toolchains that people keep at home. Never a whole `.cargo`: a token for the registry lies beside the registry.
const AT_HOME: [&str; 22] = [
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".rustup",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/pipx",
    ".nvm",
    ".volta",
    ".asdf",
    ".sdkman",
    ".bun",
    ".deno",
    ".juliaup",
    ".julia",
    "miniconda3",
    "anaconda3",
    "miniforge3",
    "mambaforge",
    ".elan",
];

/// Variables that name the folder of a toolchain.
const ROOTS: [&str; 9] = [
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "GOROOT",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "CUDA_HOME",
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
                mounts.extend(below.into_iter().map(shared));
            }
            _ => {}
        }
    }
    mounts
}

/// Toolchains outside the system folders: at home, named by a variable, or on the path.
pub(super) fn toolchains(home: &Path, environment: &[(String, String)]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = AT_HOME.iter().map(|name| home.join(name)).collect();
    let value = |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    found.extend(ROOTS.iter().filter_map(|name| value(name)).map(PathBuf::from));
    if let Some(cargo) = value("CARGO_HOME").map(PathBuf::from) {
        found.extend(["bin", "registry", "git"].map(|name| cargo.join(name)));
    }
    let on_path = value("PATH").unwrap_or_default().split(':').map(PathBuf::from);
    found.extend(on_path.map(|folder| toolchain_of(&folder, home)));
    found.retain(|path| is_worth_it(path, home));
    found.sort();
    found.dedup();
    // What lies in another is there with it.
    let all = found.clone();
    found.retain(|path| !all.iter().any(|other| other != path && path.starts_with(other)));
    found
}

/// A folder of programs comes with the libraries beside it, unless that would be half of somebody's home.
fn toolchain_of(folder: &Path, home: &Path) -> PathBuf {
    let above = folder.parent().unwrap_or(folder);
    let is_programs = folder.file_name().is_some_and(|name| name == "bin" || name == "shims");
    let is_toolchain =
        is_programs && ["lib", "pyvenv.cfg", "share", "include"].iter().any(|name| above.join(name).exists());
    let is_home = home.starts_with(above) || above == home.join(".local") || above == home.join(".cargo");
    if is_toolchain && !is_home { above.to_owned() } else { folder.to_owned() }
}

fn is_worth_it(path: &Path, home: &Path) -> bool {
    let in_system = SYSTEM.iter().any(|system| path.starts_with(system));
    path.is_absolute() && !in_system && !home.starts_with(path) && path.parent().is_some() && path.is_dir()
}

fn shared(path: PathBuf) -> Mount {
    Mount::Shared { lowers: vec![path.clone()], at: path }
}

/// Mounts inside a folder (a driver's libraries, say), which an overlay of the folder alone would lose.
fn mounted_below(folder: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    places.filter(|place| place != folder && place.starts_with(folder) && place.is_dir()).collect()
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
    fn a_virtual_environment_on_the_path_comes_whole_and_a_home_never_does() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let venv = dir.path().join("venv");
        for folder in [home.join("bin"), home.join("lib"), venv.join("bin"), venv.join("lib"), home.join(".cargo/bin")]
        {
            fs::create_dir_all(folder).unwrap();
        }
        let path = format!("{}:{}:/usr/bin:relative", venv.join("bin").display(), home.join("bin").display());
        let found = toolchains(&home, &[("PATH".to_owned(), path)]);
        assert_eq!(found, [home.join(".cargo/bin"), home.join("bin"), venv]);
    }

    #[test]
    fn blanks_in_a_mount_point_are_read() {
        assert_eq!(unescape(r"/a\040b\134c"), PathBuf::from(r"/a b\c"));
    }
}
