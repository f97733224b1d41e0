//! Toolchains that people keep outside the system folders, by an allow-list that goes round what is secret.

use std::fs;
use std::path::{Path, PathBuf};

use super::host;

/// Toolchains at home. Never a whole folder in which a token may lie: `.cargo` has one for the registry, and so have
/// `.julia`, `.m2`, `.gradle`, `.gem` and uv's folder.
const AT_HOME: [&str; 57] = [
    // Several languages.
    ".asdf",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".nix-profile",
    ".pixi",
    // Python.
    ".cache/pypoetry/virtualenvs",
    ".local/share/hatch/env",
    ".local/share/pipx",
    ".local/share/pypoetry",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/virtualenvs",
    ".pyenv",
    ".rye",
    ".virtualenvs",
    "anaconda3",
    "mambaforge",
    "micromamba",
    "miniconda3",
    "miniforge3",
    // JavaScript.
    ".bun/bin",
    ".bun/install",
    ".deno/bin",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".npm-global",
    ".nvm",
    ".volta",
    // Rust.
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    // Java and its relatives.
    ".gradle/caches",
    ".gradle/wrapper",
    ".m2/repository",
    ".m2/wrapper",
    ".sdkman",
    // Go, Ruby, Julia, Haskell, OCaml, Lean, .NET, R and Perl.
    "go/bin",
    "go/pkg",
    ".gem/ruby",
    ".rbenv",
    ".rvm",
    ".julia/artifacts",
    ".julia/compiled",
    ".julia/environments",
    ".julia/packages",
    ".julia/registries",
    ".juliaup",
    ".cabal/packages",
    ".cabal/store",
    ".ghcup",
    ".opam",
    ".elan",
    ".dotnet",
    ".nuget/packages",
    "perl5",
];

/// What is never there, whatever a variable names: keys, tokens, sessions and settings that may hold them.
const SECRET: [&str; 30] = [
    ".anthropic",
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude",
    ".codex",
    ".config",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".huggingface",
    ".julia/servers",
    ".kaggle",
    ".kube",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".m2/settings.xml",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".nuget/NuGet",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
];

/// Variables that name the folder of a toolchain.
const ROOTS: [&str; 8] =
    ["RUSTUP_HOME", "PYENV_ROOT", "VIRTUAL_ENV", "CONDA_PREFIX", "GOROOT", "JAVA_HOME", "NVM_DIR", "CUDA_HOME"];

/// Variables that name a folder of which only some folders are for all eyes.
const PARTS: [(&str, &[&str]); 2] = [("CARGO_HOME", &["bin", "registry", "git"]), ("GOPATH", &["bin", "pkg"])];

/// Toolchains at home, named by a variable, on the path of programs or of libraries, and the interpreters that
/// virtual environments among these and among `others` were made with.
pub(super) fn toolchains(home: &Path, environment: &[(String, String)], others: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = AT_HOME.iter().map(|name| home.join(name)).collect();
    // Of two, the later one is what a command gets.
    let value = |wanted: &str| environment.iter().rfind(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let list = |name: &str| value(name).unwrap_or_default().split(':').map(PathBuf::from).collect::<Vec<_>>();
    found.extend(ROOTS.iter().filter_map(|name| value(name)).map(PathBuf::from));
    for (name, parts) in PARTS {
        found.extend(list(name).iter().flat_map(|folder| parts.iter().map(|part| folder.join(part))));
    }
    found.extend(list("PATH").iter().map(|folder| toolchain_of(folder, home)));
    found.extend(list("LD_LIBRARY_PATH"));
    let bases: Vec<PathBuf> = found.iter().chain(others).filter_map(|folder| base_of(folder)).collect();
    found.extend(bases.iter().map(|folder| toolchain_of(folder, home)));
    // Programs know each other by either name where a home is a link to another disk.
    let real: Vec<PathBuf> = found.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    found.extend(real);
    found.retain(|path| is_worth_it(path, home));
    found.sort();
    found.dedup();
    // What lies in another is there with it.
    let all = found.clone();
    found.retain(|path| !all.iter().any(|other| other != path && path.starts_with(other)));
    found
}

/// A folder of programs comes with the libraries beside it, unless that would be half of somebody's home.
pub(crate) fn toolchain_of(folder: &Path, home: &Path) -> PathBuf {
    let above = folder.parent().unwrap_or(folder);
    let is_called = |wanted: &str| folder.file_name().is_some_and(|name| name == wanted);
    let has_libraries = || ["lib", "pyvenv.cfg", "share", "include"].iter().any(|name| above.join(name).exists());
    // Shims only lead to what lies beside them.
    let is_toolchain = is_called("shims") || (is_called("bin") && has_libraries());
    let is_home = home.starts_with(above) || above == home.join(".local") || above == home.join(".cargo");
    if is_toolchain && !is_home && !is_secret(above, home) { above.to_owned() } else { folder.to_owned() }
}

/// The folder of the interpreter that a virtual environment was made with; it has none of its own.
fn base_of(folder: &Path) -> Option<PathBuf> {
    let settings = fs::read_to_string(folder.join("pyvenv.cfg")).ok()?;
    let base = settings.lines().find_map(|line| line.split_once('=').filter(|(key, _)| key.trim() == "home"))?;
    Some(PathBuf::from(base.1.trim()))
}

fn is_worth_it(path: &Path, home: &Path) -> bool {
    let is_part_of_home = !home.starts_with(path) && !is_secret(path, home);
    path.is_absolute() && !host::is_system(path) && is_part_of_home && path.parent().is_some() && path.is_dir()
}

/// Whether something secret is it, lies in it, or holds it.
pub(crate) fn is_secret(path: &Path, home: &Path) -> bool {
    let at_home = fs::canonicalize(home).ok();
    let homes = [Some(home), at_home.as_deref()];
    let mut secrets = homes.into_iter().flatten().flat_map(|home| SECRET.iter().map(|name| home.join(name)));
    secrets.any(|secret| path.starts_with(&secret) || (secret.starts_with(path) && secret.exists()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home_with(folders: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in folders {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        (dir, root)
    }

    fn set(name: &str, folders: &[PathBuf]) -> (String, String) {
        let folders: Vec<_> = folders.iter().map(|folder| folder.to_str().unwrap()).collect();
        (name.to_owned(), folders.join(":"))
    }

    #[test]
    fn a_virtual_environment_on_the_path_comes_whole_and_a_home_never_does() {
        let (_dir, root) = home_with(&["home/bin", "home/lib", "venv/bin", "venv/lib", "home/.cargo/bin"]);
        let home = root.join("home");
        let path = set("PATH", &[root.join("venv/bin"), home.join("bin"), "/usr/bin".into(), "relative".into()]);
        let found = toolchains(&home, &[path], &[]);
        assert_eq!(found, [home.join(".cargo/bin"), home.join("bin"), root.join("venv")]);
    }

    #[test]
    fn the_interpreter_of_a_virtual_environment_comes_with_it() {
        let (_dir, root) = home_with(&["home", "python/bin", "python/lib", "tree/.venv"]);
        let settings = format!("home = {}\nversion = 3.13\n", root.join("python/bin").display());
        fs::write(root.join("tree/.venv/pyvenv.cfg"), settings).unwrap();
        assert_eq!(toolchains(&root.join("home"), &[], &[root.join("tree/.venv")]), [root.join("python")]);
    }

    #[test]
    fn nothing_secret_comes_with_a_toolchain_whoever_names_it() {
        let (_dir, root) = home_with(&["home/.docker/bin", "home/.docker/lib", "home/.config/x/bin", "home/.ssh/bin"]);
        let home = root.join("home");
        for tool in [".julia/packages", ".julia/servers", ".local/share/uv/credentials", ".local/share/uv/python"] {
            fs::create_dir_all(home.join(tool)).unwrap();
        }
        let path = set("PATH", &[home.join(".docker/bin"), home.join(".config/x/bin"), home.join(".ssh/bin")]);
        let roots = [("JAVA_HOME", ".config"), ("GOROOT", ".local/share/uv"), ("CUDA_HOME", ".")];
        let roots = roots.map(|(name, folder)| set(name, &[home.join(folder)]));
        let found = toolchains(&home, &[&[path][..], &roots].concat(), &[]);
        assert_eq!(found, [home.join(".julia/packages"), home.join(".local/share/uv/python")]);
    }

    #[test]
    fn a_toolchain_behind_a_link_is_there_under_both_names() {
        let (_dir, root) = home_with(&["home", "disk/.rustup"]);
        std::os::unix::fs::symlink(root.join("disk/.rustup"), root.join("home/.rustup")).unwrap();
        let found = toolchains(&root.join("home"), &[], &[]);
        assert_eq!(found, [root.join("disk/.rustup"), root.join("home/.rustup")]);
    }
}
