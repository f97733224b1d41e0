//! The tests that are there: whatever is made faster must still be right.

use super::super::look::{Look, extension_of, name_of};
use super::super::proposal::{Key, Proposal, Sure};
use super::python::{python, with_root};
use super::{npm, package};

/// Takes the tests as a guard, where a recogniser had none of its own.
pub(in super::super) fn take_guard(look: &Look, proposal: &mut Proposal) {
    // Where the owner of a study said what is wanted, nothing is added to it.
    if proposal.guard.is_some() || proposal.sure == Sure::Told || proposal.run.is_empty() {
        return;
    }
    if let Some((command, reason)) = tests(look, &proposal.surface) {
        proposal.guard = Some(command);
        proposal.because(Key::Guard, reason);
    }
}

/// The command that runs the tests of what may be edited, and why it is thought so.
pub(in super::super) fn tests(look: &Look, surface: &[String]) -> Option<(String, String)> {
    let is = |extensions: &[&str]| surface.iter().any(|path| extensions.contains(&extension_of(path)));
    if is(&["py"])
        && let Some(test) = python_test(look)
    {
        let command = format!("{} -m pytest -q{}", python(look), without_coverage(look));
        let command = with_root(look, surface, &command);
        return Some((command, format!("the tests ({test} …) must still pass")));
    }
    if is(&["js", "mjs", "cjs", "ts", "mts"])
        && let Some((command, test)) = npm::tests(look)
    {
        return Some((command, format!("package.json has tests, `{test}`")));
    }
    let rust = surface.iter().find(|path| extension_of(path) == "rs" || path.ends_with("src/**"))?;
    let (folder, name) = package::around(look, rust)?;
    package::has_tests(look, &folder).then(|| {
        (format!("cargo test -q --offline{}", package::flag(&folder, &name)), "the tests must still pass".to_owned())
    })
}

/// Many projects ask for coverage with every run of the tests; without its plugin, pytest refuses to begin.
fn without_coverage(look: &Look) -> &'static str {
    let files = ["pyproject.toml", "setup.cfg", "pytest.ini", "tox.ini"];
    let asks = |file: &&str| {
        let text = look.text(file).filter(|_| look.has(file)).unwrap_or_default();
        text.contains("addopts") && text.contains("--cov")
    };
    let has_plugin = || {
        let libraries =
            python(look).strip_suffix("/bin/python").map(|environment| look.dir.join(environment).join("lib"));
        let libraries =
            libraries.and_then(|libraries| std::fs::read_dir(libraries).ok()).into_iter().flatten().flatten();
        libraries.into_iter().any(|library| library.path().join("site-packages/pytest_cov").exists())
    };
    if files.iter().any(asks) && !has_plugin() { " -o addopts=" } else { "" }
}

/// A test of pytest, where pytest can be run: it is in the environment, or without one a file asks for it.
fn python_test(look: &Look) -> Option<&String> {
    let files = ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "pytest.ini"];
    let is_declared = |file: &&str| look.has(file) && look.text(file).is_some_and(|text| text.contains("pytest"));
    let can_run = match python(look).strip_suffix("/bin/python") {
        Some(environment) => look.dir.join(environment).join("bin/pytest").exists(),
        None => files.iter().any(is_declared),
    };
    let is_test = |path: &&String| {
        let name = name_of(path);
        extension_of(path) == "py" && (name.starts_with("test_") || name.ends_with("_test.py"))
    };
    look.tracked().iter().filter(|_| can_run).find(is_test)
}
