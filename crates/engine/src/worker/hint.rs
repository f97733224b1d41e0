//! The sentence for a command that misses what the person has: a file that is neither tracked nor an input, a program
//! in a folder that is not shown, the network.

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use overnight_model::spec::{Input, Network, Tier};

use super::complaint::{Complaint, complaints};
use super::place::Room;
use crate::sandbox::{Standard, is_secret};

/// What people call a virtual environment.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];
/// More of an output than any complaint is long; the rest is not worth the reading.
const TAIL: usize = 64 * 1024;

/// What the person can do about a failed command, read from what it printed.
pub(super) fn hint(room: &Room, output: &[u8]) -> Option<String> {
    let evaluate = &room.shop.spec.evaluate;
    let has_walls = room.shop.sandbox.tier() > Tier::None;
    let text = String::from_utf8_lossy(&output[output.len().saturating_sub(TAIL)..]);
    let around = Around::new(room);
    complaints(&text).find_map(|complaint| {
        match complaint {
        Complaint::Missing(words) => words.iter().find_map(|word| around.missing(word)),
        Complaint::Denied(words) => words.iter().find_map(|word| around.denied(word)),
        Complaint::Module(name) => around.module(name),
        Complaint::Network if evaluate.network == Network::None && has_walls => Some(
            "commands have no network: get what they need by `prepare = { run = \"…\", network = \"full\" }`, \
             or add `network = \"full\"` to [evaluate]"
                .to_owned(),
        ),
        Complaint::Tracing if has_walls => Some(
            "leaks cannot be looked for in the sandbox: add `env = { ASAN_OPTIONS = \"detect_leaks=0\" }` to [evaluate]"
                .to_owned(),
        ),
        Complaint::Network | Complaint::Tracing => None,
    }
    })
}

/// What the person has around the command.
struct Around<'a> {
    room: &'a Room,
    /// Where commands see a root of their own.
    standard: Option<&'a Standard>,
    checkout: &'a Path,
    /// Where commands run.
    folder: PathBuf,
    tracked: OnceCell<Vec<PathBuf>>,
}

impl<'a> Around<'a> {
    fn new(room: &'a Room) -> Around<'a> {
        let standard = room.shop.sandbox.standard();
        let checkout = room.shop.user.workdir();
        let folder = checkout.join(&room.shop.spec.evaluate.folder);
        Around { room, standard, checkout, folder, tracked: OnceCell::new() }
    }

    fn missing(&self, word: &str) -> Option<String> {
        let is_name = !word.contains('/');
        self.file(word).or_else(|| if is_name { self.program(word) } else { None })
    }

    /// Run by root, what is root's belongs to the command's user inside; what is another's stays another's.
    fn denied(&self, word: &str) -> Option<String> {
        let path = plain(&self.folder.join(word));
        let owner = fs::symlink_metadata(&path).ok()?.uid();
        let is_others = rustix::process::getuid().is_root() && owner != 0 && self.is_input(&path);
        is_others.then(|| {
            format!("`{word}` belongs to the user {owner}, and run by root only root's inputs can be used in full: run overnight as that user")
        })
    }

    /// A path that is there for the person and not for the command.
    fn file(&self, word: &str) -> Option<String> {
        let path = plain(&self.folder.join(word));
        if path.symlink_metadata().is_err() {
            return None;
        }
        if let Ok(inside) = path.strip_prefix(self.checkout) {
            let shown = path.strip_prefix(&self.folder).unwrap_or(&path);
            return self.untracked(inside).map(|input| self.in_checkout(&shown.to_string_lossy(), &input));
        }
        let input = if is_program(&path) { crate::sandbox::toolchain_of(path.parent()?, &self.home()) } else { path };
        self.can_be_shown(&input)
            .then(|| format!("`{word}` is on this machine, but not an input: {}", self.add(&input.to_string_lossy())))
    }

    /// A program of the checkout's own environments, or of a folder on the path that is not shown.
    fn program(&self, name: &str) -> Option<String> {
        let beside = ENVIRONMENTS.iter().map(|environment| format!("{environment}/bin/{name}"));
        let beside = beside.chain([format!("node_modules/.bin/{name}")]);
        if let Some(found) = beside.map(|path| self.folder.join(path)).find(|path| is_program(path)) {
            let inside = found.strip_prefix(self.checkout).ok()?;
            return self.untracked(inside).map(|input| self.in_checkout(&input, &input));
        }
        let folders = self.variable("PATH").unwrap_or_default().split(':').map(Path::new);
        let folder = folders.filter(|folder| folder.is_absolute()).find(|folder| is_program(&folder.join(name)))?;
        if let Ok(inside) = folder.strip_prefix(self.checkout) {
            return self.untracked(inside).map(|input| self.in_checkout(&input, &input));
        }
        let add = self.add(&folder.to_string_lossy());
        self.can_be_shown(folder).then(|| format!("`{name}` is in {}, which is not an input: {add}", folder.display()))
    }

    /// A package: in a file of the checkout, or in the folder that packages are installed to.
    fn module(&self, name: &str) -> Option<String> {
        let top = name.split('.').next().filter(|top| !top.is_empty() && !name.starts_with(['.', '/']));
        let files = match top {
            Some(top) => vec![top.to_owned(), format!("{top}.py")],
            None => ["", ".js", ".json", ".mjs", ".cjs"].iter().map(|end| format!("{name}{end}")).collect(),
        };
        if let Some(hint) = files.iter().find_map(|file| self.file(file)) {
            return Some(hint);
        }
        for folder in ENVIRONMENTS.into_iter().chain(["node_modules"]) {
            let path = self.folder.join(folder);
            if !path.join("pyvenv.cfg").exists()
                && !path.join(name).exists()
                && !path.join(".package-lock.json").exists()
            {
                continue;
            }
            let inside = path.strip_prefix(self.checkout).ok()?;
            match self.untracked(inside) {
                Some(input) => return Some(self.in_checkout(folder, &input)),
                None if has_package(&path, top?) => {
                    return Some(format!(
                        "`{folder}` has `{}`, but another Python ran: begin the command with `{folder}/bin/python`",
                        top?
                    ));
                }
                None => {}
            }
        }
        None
    }

    /// The outermost folder of the checkout around a path in which nothing is tracked, or the path itself, as an input
    /// is written. None where it is tracked or an input already.
    fn untracked(&self, inside: &Path) -> Option<String> {
        if inside.starts_with(".git") || inside.starts_with(".overnight") || self.is_input(&self.checkout.join(inside))
        {
            return None;
        }
        let tracked = self.tracked.get_or_init(|| {
            let files = self.room.shop.user.files(self.room.shop.baseline).unwrap_or_default();
            files.into_iter().map(|file| file.path).collect()
        });
        let mut around: Vec<&Path> = inside.ancestors().filter(|path| *path != Path::new("")).collect();
        around.reverse();
        let free = around.into_iter().find(|path| !tracked.iter().any(|file| file.starts_with(path)))?;
        // A folder that holds an input already cannot be one as well without some thought.
        let holds_input = self.inputs().any(|input| input.starts_with(self.checkout.join(free)));
        let input = self.checkout.join(if holds_input { inside } else { free });
        let written = input.strip_prefix(&self.folder).unwrap_or(&input);
        is_harmless(written).then(|| written.to_string_lossy().into_owned())
    }

    fn in_checkout(&self, named: &str, input: &str) -> String {
        format!("`{named}` is in the checkout, but neither tracked nor an input: {}", self.add(input))
    }

    /// The line to write, with what is there already.
    fn add(&self, input: &str) -> String {
        let known = self.room.shop.spec.evaluate.inputs.iter().map(|Input { path, content }| match content {
            true => format!("{{ path = {path:?}, content = true }}"),
            false => format!("{path:?}"),
        });
        let all: Vec<String> = known.chain([format!("{input:?}")]).collect();
        format!("add `inputs = [{}]` to [evaluate]", all.join(", "))
    }

    /// Whether a path outside the checkout is not shown, and may be.
    fn can_be_shown(&self, path: &Path) -> bool {
        let home = self.home();
        let is_too_much = path.parent().is_none() || home.starts_with(path) || self.checkout.starts_with(path);
        // Elsewhere it is where it always was, if behind a fence.
        let is_hidden = self.standard.is_some_and(|standard| !standard.shows(path));
        !is_too_much && is_hidden && !is_secret(path, &home) && is_harmless(path)
    }

    fn inputs(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.home();
        let inputs = self.room.shop.spec.evaluate.inputs.iter();
        inputs.map(move |input| plain(&crate::sandbox::resolve(&input.path, &self.folder, &home)))
    }

    fn is_input(&self, path: &Path) -> bool {
        self.inputs().any(|input| path.starts_with(input))
    }

    fn home(&self) -> PathBuf {
        self.variable("HOME").unwrap_or_default().into()
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let environment = &self.room.shop.environment;
        environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What the triplet would not refuse as an input for its name.
fn is_harmless(path: &Path) -> bool {
    let mut parts = path.components().filter_map(|part| part.as_os_str().to_str());
    parts.all(|part| !crate::load::is_secret_name(part))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether a virtual environment has a package, by the name it is imported by.
fn has_package(environment: &Path, name: &str) -> bool {
    let libraries = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
    libraries
        .map(|entry| entry.path().join("site-packages"))
        .any(|folder| ["", ".py"].iter().any(|end| folder.join(format!("{name}{end}")).exists()))
}

/// A path without `.` and `..`, by its letters alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
