//! The only place that reads the environment.
#![expect(clippy::disallowed_methods, reason = "this is the one place")]

use std::path::PathBuf;

/// What a child may know of the environment it was started from: where tools are, and how people write numbers and
/// dates. Everything else may hold a secret.
const ALLOWED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOROOT",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
];

/// The part of the engine's environment that children get.
pub fn allowed_environment() -> Vec<(String, String)> {
    let mut allowed: Vec<_> = text_variables().filter(|(name, _)| is_allowed(name)).collect();
    allowed.sort();
    allowed
}

/// Those of the named variables that are set: what an agent needs to reach its provider, its key among them.
pub fn named_environment(names: &[&str]) -> Vec<(String, String)> {
    text_variables().filter(|(name, _)| names.contains(&name.as_str())).collect()
}

/// All of it, for a command that the person has for keys: it has to find what it keeps them in.
pub fn whole_environment() -> Vec<(String, String)> {
    text_variables().collect()
}

/// The person's home folder, where the environment names one.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Whether the person who looks at a terminal wants colours there: see no-color.org.
pub fn wants_colour() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether lines are wanted even on a terminal: it cannot move its cursor, or a program of continuous integration is there
/// in place of a person.
pub fn wants_plain_lines() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "false");
    is_set("CI") || std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// What is not text cannot be one of ours.
fn text_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn is_allowed(name: &str) -> bool {
    ALLOWED.contains(&name) || name.starts_with("LC_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_on_the_list() {
        assert!(is_allowed("PATH") && is_allowed("LC_ALL"));
        for name in ["OPENAI_API_KEY", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY", "GIT_DIR", "LD_PRELOAD"] {
            assert!(!is_allowed(name), "{name}");
        }
    }
}
