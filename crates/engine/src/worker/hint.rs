//! The sentence for a command that misses what the person has: a file that is neither tracked nor an input, a program
//! in a folder that is not shown, the network.

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use overnight_model::spec::{Input, Network, Tier};

use super::complaint::{Complaint, complaints};
use super::place::Room;
use crate::sandbox::{Standard, is_secret, plain};

/// What people call a virtual environment.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];
/// Where packages of Python lie in a repository.
const PYTHON_ROOTS: [&str; 4] = ["", "src", "lib", "python"];
/// What a name may leave out when Node is asked for a file.
const NODE_ENDS: [&str; 8] = ["", ".js", ".json", ".mjs", ".cjs", ".node", "/index.js", "/index.json"];
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
        Complaint::Module { name, from } if name.starts_with(['.', '/']) => around.node_file(name, from),
        Complaint::Module { name, .. } => {
            around.python_file(name).or_else(|| around.root_of(name)).or_else(|| around.package(name))
        }
        Complaint::Name { name, of } => around.python_file(&format!("{of}.{name}")),
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

    /// A module by its dotted name: `kit._version` is `kit/_version.py`, or what a build left there.
    fn python_file(&self, name: &str) -> Option<String> {
        let path = name.replace('.', "/");
        PYTHON_ROOTS.iter().find_map(|root| {
            let base = Path::new(root).join(&path);
            let (folder, stem) = (base.parent()?, base.file_name()?.to_str()?);
            let source = folder.join(format!("{stem}.py"));
            let built = built_module(&self.folder.join(folder), stem).map(|file| folder.join(file));
            let files = [source, base.join("__init__.py"), base.clone()].into_iter().chain(built);
            files.into_iter().find_map(|file| self.file(file.to_str()?))
        })
    }

    /// A package of the repository in a folder that Python does not look in by itself.
    fn root_of(&self, name: &str) -> Option<String> {
        // Where a part of it is missing, Python found the rest.
        let top = Some(name).filter(|name| !name.contains('.'))?;
        let has = |root: &&&str| {
            [format!("{top}/__init__.py"), format!("{top}.py")]
                .iter()
                .any(|file| self.folder.join(root).join(file).exists())
        };
        let root = PYTHON_ROOTS.iter().filter(|root| !root.is_empty()).find(has)?;
        Some(format!(
            "`{root}` has `{top}`, but Python does not look there: add `env = {{ PYTHONPATH = \"{root}\" }}` to [evaluate]"
        ))
    }

    /// A file that another asked for by its path.
    fn node_file(&self, name: &str, from: Option<&str>) -> Option<String> {
        let beside = from.map_or_else(|| self.folder.clone(), |from| self.outside(Path::new(from)));
        let beside = if from.is_some() { beside.parent()?.to_owned() } else { beside };
        let base = if name.starts_with('/') { self.outside(Path::new(name)) } else { beside.join(name) };
        NODE_ENDS.iter().find_map(|end| self.file(&format!("{}{end}", plain(&base).to_str()?)))
    }

    /// A path of the copy that a command ran in, where it is in the checkout. In a sandbox of its own both are one.
    fn outside(&self, path: &Path) -> PathBuf {
        let Ok(copy) = path.strip_prefix(&self.room.shop.dir) else { return path.to_owned() };
        let inside: PathBuf = copy.iter().skip_while(|part| *part != "tree").skip(1).collect();
        self.checkout.join(inside)
    }

    /// A package, in the folder that packages are installed to.
    fn package(&self, name: &str) -> Option<String> {
        let top = name.split(['.', '/']).next()?;
        for folder in ENVIRONMENTS.into_iter().chain(["node_modules"]) {
            let path = self.folder.join(folder);
            if !path.join("pyvenv.cfg").exists()
                && !path.join(name).exists()
                && !path.join(".package-lock.json").exists()
            {
                continue;
            }
            let inside = path.strip_prefix(self.checkout).ok()?;
            let other = || {
                format!("`{folder}` has `{top}`, but another Python ran: begin the command with `{folder}/bin/python`")
            };
            match (self.untracked(inside), has_package(&path, top)) {
                (Some(input), true) => return Some(format!("{}, and {}", other(), self.add(&input))),
                (Some(input), false) => return Some(self.in_checkout(folder, &input)),
                (None, true) => return Some(other()),
                (None, false) => {}
            }
        }
        None
    }

    /// The outermost folder of the checkout around a path in which nothing is tracked, or the path itself, as an input
    /// is written. None where it is tracked or an input already.
    fn untracked(&self, inside: &Path) -> Option<String> {
        let path = self.checkout.join(inside);
        let is_ours = inside.starts_with(".git") || inside.starts_with(".overnight");
        if is_ours || self.is_input(&path) || self.is_held_out(&path) {
            return None;
        }
        let tracked = self.tracked.get_or_init(|| {
            let files = self.room.shop.user.files(self.room.shop.baseline).unwrap_or_default();
            files.into_iter().map(|file| file.path).collect()
        });
        let mut around: Vec<&Path> = inside.ancestors().filter(|path| *path != Path::new("")).collect();
        around.reverse();
        let free = around.into_iter().find(|path| !tracked.iter().any(|file| file.starts_with(path)))?;
        // A folder that holds an input already, or what is held out, cannot be one as well without some thought.
        let whole = self.checkout.join(free);
        let holds_input = self.inputs().chain(self.held_out()).any(|path| path.starts_with(&whole));
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
        !is_too_much && is_hidden && !self.is_held_out(path) && !is_secret(path, &home) && is_harmless(path)
    }

    fn inputs(&self) -> impl Iterator<Item = PathBuf> {
        let home = self.home();
        let inputs = self.room.shop.spec.evaluate.inputs.iter();
        inputs.map(move |input| plain(&crate::sandbox::resolve(&input.path, &self.folder, &home)))
    }

    fn is_input(&self, path: &Path) -> bool {
        self.inputs().any(|input| path.starts_with(input))
    }

    fn held_out(&self) -> Vec<PathBuf> {
        crate::sandbox::held_out(&self.room.shop.spec, &self.folder, &self.home())
    }

    /// Whoever misses it is not to have it, nor to be told that it is there.
    fn is_held_out(&self, path: &Path) -> bool {
        self.held_out().iter().any(|held| path.starts_with(held) || held.starts_with(path))
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

/// The file that a build in place made of a module: `_fast.cpython-312-x86_64-linux-gnu.so`.
fn built_module(folder: &Path, stem: &str) -> Option<String> {
    let names = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_built = |name: &String| name.ends_with(".so") && name.split('.').next() == Some(stem);
    names.filter(is_built).min()
}
