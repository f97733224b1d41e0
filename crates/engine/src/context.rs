//! Files that agents may read besides the tree: papers, notes, earlier results. Nobody tracks them, no evaluation needs
//! them, and no trial sees them.

use std::fs;
use std::path::{Path, PathBuf};

use overnight_model::brief::ContextFile;
use overnight_model::spec::Spec;

use crate::load::{home, is_pattern, is_secret_name, matches, within};
use crate::sandbox::held_out;

/// More are not read, and each is a mount.
const MOST_FILES: usize = 64;
/// Where there are no mounts they are copied for every question.
const MOST_BYTES: u64 = 64 << 20;
/// A pattern that would look at more is one by mistake.
const MOST_LOOKED_AT: usize = 50_000;

/// What the patterns of a triplet lead to at this moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Context {
    pub files: Vec<Shown>,
    /// Patterns that match nothing at all.
    pub unmatched: Vec<String>,
    /// What is not shown though it was named, and why.
    pub refused: Vec<(String, &'static str)>,
    /// How many were too many, or too large together.
    pub too_many: usize,
}

/// One file to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// From the top of the repository.
    pub path: String,
    /// Where it really lies.
    pub source: PathBuf,
    pub bytes: u64,
}

impl Context {
    /// As a brief lists them.
    pub fn told(&self, folder: &str) -> Vec<ContextFile> {
        self.files.iter().map(|file| ContextFile { path: within(folder, &file.path), bytes: file.bytes }).collect()
    }
}

/// Looks for them. They may change while a study runs: whoever is asked next reads what is there then.
pub fn find(spec: &Spec, checkout: &Path, triplet_dir: &Path) -> Context {
    let mut context = Context::default();
    if spec.agent.context.is_empty() {
        return context;
    }
    let rules = Rules::of(spec, checkout, triplet_dir);
    for pattern in &spec.agent.context {
        let mut found = looked_up(triplet_dir, pattern);
        found.sort();
        if found.is_empty() {
            context.unmatched.push(pattern.clone());
        }
        for inner in found {
            let path = rules.below_top(&inner);
            if context.files.iter().any(|known| known.path == path) || rules.is_surface(&path) {
                continue;
            }
            match rules.admit(&triplet_dir.join(&inner), &path) {
                Err(why) => context.refused.push((path, why)),
                Ok((source, bytes)) => {
                    let so_far: u64 = context.files.iter().map(|file| file.bytes).sum();
                    match context.files.len() < MOST_FILES && so_far + bytes <= MOST_BYTES {
                        true => context.files.push(Shown { path, source, bytes }),
                        false => context.too_many += 1,
                    }
                }
            }
        }
    }
    context
}

/// What must stay out of an agent's sight.
struct Rules<'a> {
    spec: &'a Spec,
    checkout: Option<PathBuf>,
    hidden: Vec<String>,
    held_out: Vec<PathBuf>,
}

impl Rules<'_> {
    fn of<'a>(spec: &'a Spec, checkout: &Path, triplet_dir: &Path) -> Rules<'a> {
        let home = home();
        let held_out = held_out(spec, triplet_dir, home.as_deref().unwrap_or(Path::new("/")));
        Rules {
            spec,
            checkout: fs::canonicalize(checkout).ok(),
            hidden: spec.hidden_from_candidates(),
            held_out: held_out.iter().filter_map(|path| fs::canonicalize(path).ok()).collect(),
        }
    }

    fn below_top(&self, inner: &str) -> String {
        match self.spec.evaluate.folder.as_str() {
            "" => inner.to_owned(),
            folder => format!("{folder}/{inner}"),
        }
    }

    fn is_surface(&self, path: &str) -> bool {
        self.spec.surface.paths().any(|surface| surface == path)
    }

    /// Where a file really lies and how long it is, or why it is not shown.
    fn admit(&self, at: &Path, path: &str) -> Result<(PathBuf, u64), &'static str> {
        let real = fs::canonicalize(at).map_err(|_| "it leads nowhere")?;
        let inside = self.checkout.as_ref().and_then(|checkout| real.strip_prefix(checkout).ok());
        let inside = inside.and_then(Path::to_str).ok_or("it leads out of the repository")?;
        let is_kept_back =
            |path: &str| path.split('/').any(|part| part == ".git" || part == ".overnight" || is_secret_name(part));
        if is_kept_back(path) || is_kept_back(inside) {
            return Err("that is where keys and records are kept");
        }
        let is_hidden = |path: &str| self.hidden.iter().any(|hidden| hidden == path);
        if is_hidden(path) || is_hidden(inside) {
            return Err("it is hidden from agents");
        }
        if self.held_out.iter().any(|held| real.starts_with(held)) {
            return Err("it is held out");
        }
        let metadata = fs::metadata(&real).map_err(|_| "it cannot be read")?;
        if !metadata.is_file() {
            return Err("it is no file");
        }
        Ok((real, metadata.len()))
    }
}

/// The paths below a folder that fit a pattern; a folder stands for the files below it.
fn looked_up(folder: &Path, pattern: &str) -> Vec<String> {
    if !is_pattern(pattern) {
        let at = folder.join(pattern);
        return match fs::symlink_metadata(&at) {
            Ok(found) if found.is_dir() => looked_up(folder, &format!("{}/**", pattern.trim_end_matches('/'))),
            Ok(_) => vec![pattern.to_owned()],
            Err(_) => Vec::new(),
        };
    }
    let start: Vec<&str> = pattern.split('/').take_while(|part| !is_pattern(part)).collect();
    let (mut found, mut looked_at, mut waiting) = (Vec::new(), 0, vec![start.join("/")]);
    while let Some(inner) = waiting.pop() {
        for entry in fs::read_dir(folder.join(&inner)).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MOST_LOOKED_AT {
                return found;
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if inner.is_empty() { name.clone() } else { format!("{inner}/{name}") };
            match entry.file_type() {
                // A link to a folder is not gone into: it may lead anywhere, and round in circles.
                Ok(kind) if kind.is_dir() && name != ".git" && name != ".overnight" => waiting.push(path),
                Ok(kind) if !kind.is_dir() && matches(pattern, &path) => found.push(path),
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn patterns_find_files_and_no_links_out_and_no_folders_in_circles() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in ["papers/a.md", "papers/b.txt", "papers/deep/c.md", "papers/.hidden.md", ".git/config.md"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "text").unwrap();
        }
        symlink(root, root.join("papers/deep/round")).unwrap();
        let found = |pattern: &str| {
            let mut found = looked_up(root, pattern);
            found.sort();
            found
        };
        assert_eq!(found("papers/*.md"), ["papers/a.md"]);
        assert_eq!(found("**/*.md"), ["papers/a.md", "papers/deep/c.md"]);
        assert_eq!(found("papers"), ["papers/a.md", "papers/b.txt", "papers/deep/c.md", "papers/deep/round"]);
        assert_eq!(found("papers/b.txt"), ["papers/b.txt"]);
        assert_eq!(found("notes/*.md"), Vec::<String>::new());
    }
}
