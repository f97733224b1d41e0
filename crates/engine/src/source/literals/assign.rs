//! Variables and parameters, and what they are given.

use std::rc::Rc;

use tree_sitter::Node;

use super::named::{Named, is_name};
use super::plan::{Callee, Plan, Role};
use super::walk::Finder;

/// More names for one value are no program of a person.
const NAMES_LIMIT: usize = 64;

impl Finder<'_> {
    /// A variable, or several, with the value of the same node.
    pub(super) fn assign(&mut self, node: Node<'_>) -> Plan {
        let target = ["left", "name", "pattern", "declarator"].iter().find_map(|it| node.child_by_field_name(it));
        let operator = node.child_by_field_name("operator").and_then(|operator| self.text_of(operator));
        self.give(target);
        // `let mut x` will be changed, by whatever means.
        if node.named_child(0).is_some_and(|child| child.kind() == "mutable_specifier") {
            self.give(target);
        }
        let field = if node.child_by_field_name("right").is_some() { "right" } else { "value" };
        let role = match target {
            _ if operator.is_some_and(|operator| operator != "=") => Role::Plain(None),
            Some(target) => self.targets(node, target),
            None => Role::Plain(None),
        };
        Plan::Field { field, role: constructed(role, node.child_by_field_name(field)) }
    }

    pub(super) fn targets(&self, node: Node<'_>, target: Node<'_>) -> Role {
        let named = |target: Node<'_>| self.variable(target);
        match target.kind() {
            "pattern_list" | "tuple_pattern" | "expression_list" => {
                let mut cursor = target.walk();
                let names: Vec<Option<Named>> =
                    target.named_children(&mut cursor).take(NAMES_LIMIT).map(named).collect();
                Role::Each(names.into())
            }
            _ if matches!(node.kind(), "const_spec" | "var_spec") => {
                let mut cursor = node.walk();
                let names: Vec<Option<Named>> =
                    node.children_by_field_name("name", &mut cursor).take(NAMES_LIMIT).map(named).collect();
                Role::Each(names.into())
            }
            _ => self.variable(target).map_or(Role::Plain(None), Role::Value),
        }
    }

    pub(super) fn variable(&self, target: Node<'_>) -> Option<Named> {
        self.scope().variable(self.bare(target)?)
    }

    /// The name in what is declared: `x` of `*x` and of `x[4]`.
    pub(super) fn bare(&self, target: Node<'_>) -> Option<&str> {
        let mut target = target;
        while let Some(inner) = target.child_by_field_name("declarator") {
            target = inner;
        }
        self.text_of(target).filter(|text| is_name(text))
    }

    /// Counts that a variable is given something.
    pub(super) fn give(&mut self, target: Option<Node<'_>>) {
        let mut given = Vec::new();
        if let Some(target) = target {
            match target.kind() {
                "pattern_list" | "tuple_pattern" | "expression_list" => {
                    let mut cursor = target.walk();
                    given.extend(
                        target.named_children(&mut cursor).take(NAMES_LIMIT).filter_map(|one| self.variable(one)),
                    );
                }
                _ => given.extend(self.variable(target)),
            }
        }
        for named in given {
            *self.given.entry(named.name.to_string()).or_insert(0) += 1;
        }
    }

    pub(super) fn parameter(&self, node: Node<'_>) -> Plan {
        let name = self.name_in(node, &["name", "left", "pattern", "declarator"]);
        let field = ["value", "right", "default_value"].into_iter().find(|it| node.child_by_field_name(it).is_some());
        let named = name.and_then(|name| self.scope().parameter(name));
        Plan::Field { field: field.unwrap_or("value"), role: named.map_or(Role::Plain(None), Role::Value) }
    }
}

/// `Foo x(3)`: arguments, and what they are given to has a name.
pub(super) fn constructed(role: Role, given: Option<Node<'_>>) -> Role {
    match role {
        Role::Value(Named { name, key, out, .. }) if given.is_some_and(|given| given.kind() == "argument_list") => {
            let (name, key) = (name.to_string(), key.to_string());
            Role::Arguments(Rc::new(Callee { name, key, is_shaping: false, by_position: None, out, label: None }))
        }
        role => role,
    }
}
