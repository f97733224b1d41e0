//! A package of cargo: where it lies, what it is called, and which of its files may be edited.

use super::super::look::{Look, folder_of, word};
use super::super::proposal::{Key, Proposal};

pub(super) fn at(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The nearest folder around a file that holds a package, and the package's name.
pub(super) fn around(look: &Look, path: &str) -> Option<(String, String)> {
    let mut folder = folder_of(path);
    loop {
        let manifest = look.text(&at(folder, "Cargo.toml")).filter(|_| look.has(&at(folder, "Cargo.toml")));
        if let Some(name) = manifest.and_then(|manifest| value_of(&manifest, "[package]", "name")) {
            return Some((folder.to_owned(), name));
        }
        if folder.is_empty() {
            return None;
        }
        folder = folder_of(folder);
    }
}

/// ` -p NAME` for a package that is not the one at the top.
pub(super) fn flag(folder: &str, package: &str) -> String {
    if folder.is_empty() { String::new() } else { format!(" -p {}", word(package)) }
}

/// `key = "value"` of a section.
pub(super) fn value_of(manifest: &str, section: &str, key: &str) -> Option<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != section).skip(1);
    let own = lines.take_while(|line| !line.trim_start().starts_with('['));
    let mut pairs = own.filter_map(|line| line.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    value.split('"').nth(1).map(str::to_owned)
}

pub(super) fn is_nightly(look: &Look) -> bool {
    let files = ["rust-toolchain", "rust-toolchain.toml"];
    files.iter().any(|file| look.text(file).is_some_and(|text| text.contains("nightly")))
}

/// Whether rustup has a nightly toolchain. Nothing is asked: that would be running something.
pub(super) fn has_nightly(look: &Look) -> bool {
    let environment = overnight_engine::load::allowed_environment();
    let named = environment.into_iter().find(|(name, _)| name == "RUSTUP_HOME").map(|(_, path)| path.into());
    let rustup = named.or_else(|| look.home.as_ref().map(|home| home.join(".rustup")));
    let toolchains = rustup.and_then(|rustup| std::fs::read_dir(rustup.join("toolchains")).ok());
    toolchains.into_iter().flatten().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("nightly"))
}

/// Whether a package has tests of its own.
pub(super) fn has_tests(look: &Look, folder: &str) -> bool {
    let tests = |path: &&String| path.ends_with(".rs");
    let inside = |path: &String| look.text(path).is_some_and(|text| text.contains("#[test]"));
    look.below(&at(folder, "tests")).any(|path| tests(&path)) || look.below(&at(folder, "src")).take(50).any(inside)
}

/// The modules that the benchmarks use, else the library.
pub(super) fn take_surface(look: &Look, proposal: &mut Proposal, folder: &str, package: &str, benches: &[String]) {
    let library = package.replace('-', "_");
    let mut found: Vec<String> = Vec::new();
    let mut by = "";
    for bench in benches {
        let text = look.text(bench).unwrap_or_default();
        for used in text.split(&format!("{library}::")).skip(1) {
            // `a`, or each of `{a::x, b}`
            let one = used.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            let braced = used.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(inner, _)| inner);
            let names = braced.map_or(vec![one], |inner| {
                inner.split(',').map(|part| part.trim().split("::").next().unwrap_or_default()).collect()
            });
            for name in names {
                let files = [format!("src/{name}.rs"), format!("src/{name}/mod.rs")].map(|path| at(folder, &path));
                let file = files.into_iter().find(|file| !name.is_empty() && look.has(file));
                if let Some(file) = file.filter(|file| !found.contains(file)) {
                    found.push(file);
                    by = bench;
                }
            }
        }
    }
    if !found.is_empty() {
        proposal.because(Key::Surface, format!("{by} uses {}", if found.len() == 1 { "it" } else { "them" }));
        found.truncate(4);
        proposal.surface = found;
        return;
    }
    let Some(root) = [at(folder, "src/lib.rs"), at(folder, "src/main.rs")].into_iter().find(|path| look.has(path))
    else {
        return;
    };
    let (surface, reason) = match is_list(&look.text(&root).unwrap_or_default()) {
        true => (at(folder, "src/**"), format!("{root} only lists modules, and any of them may be slow")),
        false => (root, "the library that is measured".to_owned()),
    };
    proposal.surface = vec![surface];
    proposal.because(Key::Surface, reason);
}

/// Whether a library's own file holds nothing but the names of its modules.
fn is_list(text: &str) -> bool {
    let code = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with("#!"));
    let is_name = |line: &str| {
        ["mod ", "pub mod ", "pub use ", "use ", "pub(crate) mod ", "#[", "}"].iter().any(|word| line.starts_with(word))
    };
    text.contains("mod ") && code.into_iter().all(is_name)
}
