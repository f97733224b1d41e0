//! Names that stay the same as long as the code around them does.

use std::rc::Rc;

use overnight_model::tuner::found::{LeftOut, Site, left_alone, words};

/// A longer name is no name: the text is a stranger's, and could be one long nest.
const NAME_LIMIT: usize = 120;

/// What a value is called where it stands.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: Rc<str>,
    /// The part that says what it means.
    pub(super) key: Rc<str>,
    pub(super) site: Site,
    /// Whether 0 and 1 are more likely part of the structure there.
    pub(super) is_small_fixed: bool,
    /// The variable that it is given to.
    pub(super) given: Option<Rc<str>>,
    pub(super) out: Option<LeftOut>,
}

impl Named {
    /// `None` where the name would be too long.
    pub(super) fn new(name: String, key: &str, site: Site) -> Option<Named> {
        let fits = name.len() <= NAME_LIMIT && !name.contains(['\n', '\r']);
        let (name, key) = (name.into(), key.into());
        fits.then_some(Named { name, key, site, is_small_fixed: false, given: None, out: None })
    }

    /// What a key of it is called: `config.lr`.
    pub(super) fn field(&self, key: &str) -> Option<Named> {
        let site = if self.site == Site::Argument { Site::Argument } else { Site::Default };
        let named = Named::new(format!("{}.{key}", self.name), key, site)?;
        // `eval: { batch: 8 }`
        let out = self.out.clone().or_else(|| left_alone(&self.key).filter(is_catching));
        Some(Named { given: self.given.clone(), out, is_small_fixed: self.is_small_fixed, ..named })
    }

    /// What an element of it is called: `betas[0]`.
    pub(super) fn element(&self, at: usize) -> Option<Named> {
        let named = Named::new(format!("{}[{at}]", self.name), &self.key, self.site)?;
        Some(Named { given: self.given.clone(), out: self.out.clone(), is_small_fixed: self.is_small_fixed, ..named })
    }
}

/// Whether what is said of a whole is true of its parts.
fn is_catching(out: &LeftOut) -> bool {
    matches!(out, LeftOut::Seed | LeftOut::Evaluation | LeftOut::Test)
}

/// What encloses a part of a program: functions, classes, modules.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    path: Rc<str>,
    /// The names of values on its own level are variables of a call.
    is_function: bool,
    innermost: Encloses,
    pub(super) out: Option<LeftOut>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encloses {
    Function,
    Class,
    Module,
}

impl Scope {
    pub(super) fn file() -> Scope {
        Scope { path: "".into(), is_function: false, innermost: Encloses::Module, out: None }
    }

    pub(super) fn inner(&self, name: &str, what: Encloses) -> Scope {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        let is_test = || words(name).iter().any(|word| word == "test" || word == "tests");
        let out = match left_alone(name) {
            _ if is_test() => Some(LeftOut::Test),
            out => out.filter(is_catching),
        };
        Scope {
            // One that is too long already makes every name below it too long.
            path: if path.len() > NAME_LIMIT { self.path.clone() } else { path.into() },
            is_function: self.is_function || what == Encloses::Function,
            innermost: what,
            out: self.out.clone().or(out),
        }
    }

    /// A variable: `LR`, `Config.lr`, `main/lr`.
    pub(super) fn variable(&self, name: &str) -> Option<Named> {
        let site = match (self.innermost, self.is_function) {
            (Encloses::Class, _) => Site::Default,
            (_, true) => Site::Local,
            (_, false) => Site::Constant,
        };
        let key = last_name(name).unwrap_or(name);
        let named = Named::new(self.joined(name), key, site)?;
        Some(Named { given: Some(named.name.clone()), is_small_fixed: site == Site::Local, ..named })
    }

    /// A key or a field without a variable that it belongs to.
    pub(super) fn key(&self, name: &str) -> Option<Named> {
        let named = Named::new(self.joined(name), name, Site::Default)?;
        // What a function puts together is more often a state than a setting.
        Some(Named { is_small_fixed: self.is_function, ..named })
    }

    /// A parameter: `Model.__init__(dropout)`.
    pub(super) fn parameter(&self, name: &str) -> Option<Named> {
        Named::new(format!("{}({name})", self.path), name, Site::Default)
    }

    pub(super) fn joined(&self, name: &str) -> String {
        match self.innermost {
            _ if self.path.is_empty() => name.to_owned(),
            Encloses::Function => format!("{}/{name}", self.path),
            Encloses::Class | Encloses::Module => format!("{}.{name}", self.path),
        }
    }
}

/// The last name of a path: `lr` of `self.config["lr"]`.
pub(super) fn last_name(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.rsplit(|c| !is_part(c)).find(|part| part.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// A text that can stand in a name: `self.lr`, `config["lr"]`, `ns::lr`.
pub(super) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_.-$:[]\"'".contains(c);
    text.len() <= NAME_LIMIT && last_name(text).is_some() && text.chars().all(is_part)
}
