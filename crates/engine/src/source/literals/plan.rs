//! What the children of a node are: decided once for the node, so that the walk is as long as the text.

use std::rc::Rc;

use overnight_model::tuner::found::{LeftOut, Site};

use super::named::Named;

/// More elements are a table.
const ELEMENTS_LIMIT: usize = 8;

/// What a value would be where it stands.
#[derive(Debug, Clone)]
pub(super) enum Role {
    /// A part of something else; of what, if that has a name.
    Plain(Option<Rc<str>>),
    Value(Named),
    /// Several values for several names: `a, b = 1, 2`.
    Each(Rc<[Option<Named>]>),
    /// The arguments of a call.
    Arguments(Rc<Callee>),
    Out(LeftOut),
}

/// Whom arguments are given to.
#[derive(Debug, Clone)]
pub(super) struct Callee {
    /// With its scope: `main/optim.Adam`.
    pub(super) name: String,
    pub(super) key: String,
    /// What it takes by position are axes, shapes and the like.
    pub(super) is_shaping: bool,
    /// What speaks against everything that it takes by position.
    pub(super) by_position: Option<LeftOut>,
    pub(super) out: Option<LeftOut>,
    /// What the first argument says that the others are about: `get("lr", 0.1)`.
    pub(super) label: Option<String>,
}

/// How a node treats its children.
#[derive(Debug)]
pub(super) enum Plan {
    /// As it is treated itself.
    Pass(Role),
    /// The child of one field has a name; types are none.
    Field {
        field: &'static str,
        role: Role,
    },
    /// The last child has it.
    Last {
        count: usize,
        role: Role,
    },
    /// Each child has its own.
    Spread(Rc<[Option<Named>]>),
    Elements {
        named: Named,
        count: usize,
    },
    /// All but the first, which is what is indexed, are indices.
    Index,
    Call(Rc<Callee>),
    Arguments(Rc<Callee>),
}

/// What is known of a child before it is looked at.
pub(super) struct Child {
    pub(super) kind: &'static str,
    pub(super) field: &'static str,
    /// Among the named children that are no comments.
    pub(super) index: usize,
}

impl Plan {
    pub(super) fn plain() -> Plan {
        Plan::Pass(Role::Plain(None))
    }

    pub(super) fn role(&self, child: &Child) -> Role {
        let plain = || Role::Plain(None);
        match self {
            Plan::Pass(role) => role.clone(),
            Plan::Field { .. } if matches!(child.field, "type" | "size" | "length") => Role::Out(LeftOut::Shape),
            Plan::Field { field, role } if child.field == *field => role.clone(),
            Plan::Last { count, role } if child.index + 1 == *count => role.clone(),
            Plan::Field { .. } | Plan::Last { .. } => plain(),
            Plan::Spread(names) => match names.get(child.index) {
                Some(Some(named)) => Role::Value(named.clone()),
                _ => plain(),
            },
            Plan::Elements { named, .. } if is_pair(child.kind) => Role::Value(named.clone()),
            Plan::Elements { count, .. } if *count > ELEMENTS_LIMIT => Role::Out(LeftOut::Table),
            Plan::Elements { .. } if child.field == "length" => Role::Out(LeftOut::Shape),
            Plan::Elements { named, .. } => value(named.element(child.index)),
            Plan::Index if child.index == 0 => plain(),
            Plan::Index => Role::Out(LeftOut::Shape),
            Plan::Call(callee) if child.kind.contains("arguments") || child.kind == "argument_list" => {
                Role::Arguments(callee.clone())
            }
            Plan::Call(_) => plain(),
            Plan::Arguments(callee) if child.kind == "keyword_argument" => Role::Arguments(callee.clone()),
            Plan::Arguments(callee) => value(callee.position(child.index + 1)),
        }
    }
}

impl Callee {
    fn position(&self, at: usize) -> Option<Named> {
        let (inside, key) = match &self.label {
            Some(label) if at > 1 => (format!("{label}, #{at}"), label.as_str()),
            _ => (format!("#{at}"), self.key.as_str()),
        };
        let named = Named::new(format!("{}({inside})", self.name), key, Site::Argument)?;
        let out = self.out.clone().or_else(|| self.by_position.clone());
        Some(Named { is_small_fixed: true, out, ..named })
    }

    pub(super) fn keyword(&self, word: &str) -> Option<Named> {
        let (inside, key) = match &self.label {
            Some(label) if word == "default" => (label.clone(), label.as_str()),
            Some(label) => (format!("{label}, {word}"), word),
            None => (word.to_owned(), word),
        };
        let named = Named::new(format!("{}({inside})", self.name), key, Site::Argument)?;
        Some(Named { out: self.out.clone(), ..named })
    }
}

pub(super) fn value(named: Option<Named>) -> Role {
    named.map_or(Role::Out(LeftOut::Nameless), Role::Value)
}

pub(super) fn is_pair(kind: &str) -> bool {
    matches!(
        kind,
        "pair" | "block_mapping_pair" | "flow_pair" | "keyed_element" | "initializer_pair" | "field_initializer"
    )
}
