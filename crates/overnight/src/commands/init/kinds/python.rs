//! How Python is started here: with which environment, and from where it imports.

use super::super::look::{Look, extension_of, folder_of};

/// Folders that packages lie in without being packages themselves.
const ROOTS: [&str; 3] = ["src", "lib", "python"];
/// Sources of modules that have to be compiled; what was installed has them, and what lies in the checkout has not.
const COMPILED: [&str; 5] = ["pyx", "c", "cpp", "rs", "f90"];

/// The Python to run with: the environment beside the project where there is one.
pub(super) fn python(look: &Look) -> &'static str {
    [(".venv", ".venv/bin/python"), ("venv", "venv/bin/python")]
        .into_iter()
        .find(|(folder, _)| look.is_untracked(folder) && look.dir.join(folder).join("bin/python").exists())
        .map_or("python3", |(_, program)| program)
}

/// A command that runs a script, with the folder to import the surface from where Python would not look there. An
/// installed copy of it would do as well, and no edit would ever change the number.
pub(super) fn with_path(look: &Look, script: &str, surface: &[String], command: &str) -> String {
    let finds_it_alone = look.text(script).is_some_and(|text| text.contains("sys.path"));
    match root(look, surface).or_else(|| above(script, surface)).filter(|_| !finds_it_alone) {
        Some(root) => format!("PYTHONPATH={root} {command}"),
        None => command.to_owned(),
    }
}

/// The same for a command that imports from the top by itself.
pub(super) fn with_root(look: &Look, surface: &[String], command: &str) -> String {
    match root(look, surface) {
        Some(root) => format!("PYTHONPATH={root} {command}"),
        None => command.to_owned(),
    }
}

/// The folder that a package of the surface is imported from.
fn root(look: &Look, surface: &[String]) -> Option<&'static str> {
    let root = ROOTS.into_iter().find(|root| {
        let is_below = |path: &String| extension_of(path) == "py" && path.starts_with(&format!("{root}/"));
        surface.iter().any(is_below) && !look.has(&format!("{root}/__init__.py"))
    })?;
    let is_compiled = look.below(root).any(|path| COMPILED.contains(&extension_of(path)));
    (!is_compiled).then_some(root)
}

/// A script in a folder of its own imports from that folder alone.
fn above(script: &str, surface: &[String]) -> Option<&'static str> {
    let folder = folder_of(script);
    let is_beside = |path: &String| path.starts_with(&format!("{folder}/"));
    let is_python = surface.iter().any(|path| extension_of(path) == "py");
    (!folder.is_empty() && is_python && !surface.iter().any(is_beside)).then_some(".")
}
