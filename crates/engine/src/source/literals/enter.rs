//! What each kind of node means for the values below it. Kinds that mean the same have the same names in most grammars.

use overnight_model::tuner::found::LeftOut;
use tree_sitter::Node;

use super::assign::constructed;
use super::named::{Encloses, Named, is_name};
use super::plan::{Plan, Role, is_pair, value};
use super::walk::Finder;

impl Finder<'_> {
    pub(super) fn enter(&mut self, node: Node<'_>, role: Role) -> Plan {
        if let Role::Out(out) = role {
            return Plan::Pass(Role::Out(out));
        }
        match node.kind() {
            "function_definition"
            | "function_declaration"
            | "function_item"
            | "method_definition"
            | "method_declaration"
            | "function_expression"
            | "generator_function_declaration"
            | "arrow_function" => self.enclose(node, Encloses::Function, &role),
            "class_definition"
            | "class_declaration"
            | "class"
            | "struct_specifier"
            | "class_specifier"
            | "interface_declaration" => self.enclose(node, Encloses::Class, &role),
            "mod_item" | "namespace_definition" | "impl_item" | "trait_item" => {
                self.enclose(node, Encloses::Module, &role)
            }
            "assignment"
            | "variable_declarator"
            | "const_item"
            | "static_item"
            | "let_declaration"
            | "init_declarator"
            | "const_spec"
            | "var_spec"
            | "short_var_declaration"
            | "assignment_statement"
            | "assignment_expression" => self.assign(node),
            "augmented_assignment" | "augmented_assignment_expression" | "compound_assignment_expr" => {
                self.give(node.child_by_field_name("left"));
                Plan::plain()
            }
            "update_expression" => {
                self.give(node.child_by_field_name("argument"));
                Plan::plain()
            }
            "inc_statement" | "dec_statement" => {
                self.give(node.named_child(0));
                Plan::plain()
            }
            "for_statement" | "for_in_statement" => {
                self.give(node.child_by_field_name("left"));
                Plan::plain()
            }
            "default_parameter"
            | "typed_default_parameter"
            | "assignment_pattern"
            | "object_assignment_pattern"
            | "required_parameter"
            | "optional_parameter"
            | "optional_parameter_declaration" => self.parameter(node),
            "field_definition" | "public_field_definition" | "field_declaration" => {
                let name = self.name_in(node, &["property", "name", "declarator"]);
                let field = if node.kind() == "field_declaration" { "default_value" } else { "value" };
                let named = name.and_then(|name| self.scope().variable(name));
                Plan::Field { field, role: value(named) }
            }
            kind if is_pair(kind) => self.pair(node, role),
            "keyword_argument" => self.keyword(node, role),
            "call" | "call_expression" | "new_expression" => self.call(node, role),
            "macro_invocation" => Plan::Pass(Role::Out(self.of_macro(node))),
            "argument_list" | "arguments" => self.arguments(node, role),
            "struct_expression" | "composite_literal" | "compound_literal_expression" => self.composite(node, role),
            "table" | "table_array_element" => self.table(node),
            "subscript" | "subscript_expression" | "index_expression" => Plan::Index,
            "slice"
            | "type"
            | "type_annotation"
            | "type_arguments"
            | "array_type"
            | "type_parameters"
            | "template_argument_list"
            | "template_parameter_list"
            | "bitfield_clause"
            | "literal_type"
            | "type_alias"
            | "type_item"
            | "type_alias_declaration"
            | "array_declarator" => Plan::Pass(Role::Out(LeftOut::Shape)),
            "enum_body" | "enumerator_list" | "enum_variant_list" => Plan::Pass(Role::Out(LeftOut::Label)),
            "assert_statement" | "static_assert_declaration" => Plan::Pass(Role::Out(LeftOut::Test)),
            "decorator" | "attribute_item" | "inner_attribute_item" => Plan::Pass(Role::Out(LeftOut::Operation)),
            kind => unfolded(kind, node, role),
        }
    }

    fn enclose(&mut self, node: Node<'_>, what: Encloses, role: &Role) -> Plan {
        let field = if node.kind() == "impl_item" { "type" } else { "name" };
        // `Model<T>` is `Model`.
        let text = node.child_by_field_name(field).and_then(|name| self.text_of(name));
        let mut name = text.and_then(|text| text.split('<').next()).filter(|text| is_name(text));
        // In C the name is inside of what is declared, which may be a pointer.
        let mut declared = node.child_by_field_name("declarator");
        while let Some(inner) = declared.filter(|_| node.kind() == "function_definition") {
            name = self.text_of(inner).filter(|text| is_name(text)).or(name);
            declared = inner.child_by_field_name("declarator");
        }
        let given = match role {
            Role::Value(named) => Some(named.key.to_string()),
            _ => None,
        };
        let name = name.map(str::to_owned).or(given);
        match name {
            Some(name) => self.scopes.push(self.scope().inner(&name, what)),
            None if what == Encloses::Function => self.scopes.push(self.scope().inner("function", what)),
            None => {}
        }
        Plan::plain()
    }

    fn pair(&self, node: Node<'_>, role: Role) -> Plan {
        let key = ["key", "field", "designator"].iter().find_map(|field| node.child_by_field_name(field));
        let is_bare = key.is_none();
        let key = key.or_else(|| node.named_child(0)).and_then(|key| self.text_of(key)).map(key_of);
        let named = match (key.filter(|key| is_key(key)), &role) {
            (Some(key), Role::Value(named)) => named.field(key),
            (Some(key), _) => self.scope().key(key),
            (None, _) => None,
        };
        let role = value(named);
        match is_bare {
            // Pairs of TOML and initialisers of C++ have no fields.
            true => {
                let (last, count) = last_child(node);
                Plan::Last { count, role: constructed(role, last) }
            }
            false => Plan::Field { field: "value", role },
        }
    }

    fn composite(&self, node: Node<'_>, role: Role) -> Plan {
        let role = match role {
            role @ Role::Value(_) => role,
            _ => {
                let name = self.name_in(node, &["name", "type"]).unwrap_or("value");
                value(self.scope().key(name))
            }
        };
        let field = if node.child_by_field_name("body").is_some() { "body" } else { "value" };
        Plan::Field { field, role }
    }

    /// `[train]` and `[[train]]`, of which several may follow.
    fn table(&self, node: Node<'_>) -> Plan {
        let name = node.named_child(0).and_then(|key| self.text_of(key)).unwrap_or_default();
        let shown = if node.kind() == "table" { format!("[{name}]") } else { format!("[[{name}]]") };
        let named = self.scope().key(&shown).map(|named| Named { key: name.into(), ..named });
        Plan::Pass(value(named))
    }

    pub(super) fn name_in(&self, node: Node<'_>, fields: &[&str]) -> Option<&str> {
        fields.iter().find_map(|field| self.bare(node.child_by_field_name(field)?))
    }
}

/// What a node of another kind makes of its role.
fn unfolded(kind: &str, node: Node<'_>, role: Role) -> Plan {
    match (role, kind) {
        (
            Role::Value(named),
            "list" | "tuple" | "array" | "array_expression" | "tuple_expression" | "initializer_list" | "flow_sequence"
            | "block_sequence" | "literal_value" | "expression_list" | "set",
        ) => Plan::Elements { named, count: node.named_child_count() },
        (Role::Each(names), "expression_list" | "tuple" | "tuple_expression") => Plan::Spread(names),
        (Role::Each(names), _) => Plan::Pass(match &*names {
            [Some(named)] => Role::Value(named.clone()),
            _ => Role::Plain(None),
        }),
        // A value as a whole, in more or less wrapping.
        (
            role @ Role::Value(_),
            "parenthesized_expression"
            | "dictionary"
            | "object"
            | "flow_node"
            | "block_node"
            | "plain_scalar"
            | "block_mapping"
            | "flow_mapping"
            | "block_sequence_item"
            | "inline_table"
            | "literal_element"
            | "field_initializer_list"
            | "reference_expression"
            | "as_expression"
            | "satisfies_expression"
            | "document"
            | "stream",
        ) => Plan::Pass(role),
        (role @ Role::Value(_), "type_cast_expression" | "cast_expression") => Plan::Field { field: "value", role },
        (Role::Value(named), _) => Plan::Pass(Role::Plain(Some(named.name.clone()))),
        // A statement inside of an expression, as in a function without a name, begins anew.
        (Role::Plain(_), "block" | "statement_block" | "compound_statement") => Plan::plain(),
        (role, _) => Plan::Pass(role),
    }
}

/// The last child, and how many there are, comments aside.
fn last_child(node: Node<'_>) -> (Option<Node<'_>>, usize) {
    let mut cursor = node.walk();
    let children = node.named_children(&mut cursor).take(8).filter(|child| !child.kind().contains("comment"));
    let mut last = (None, 0);
    for child in children {
        last = (Some(child), last.1 + 1);
    }
    last
}

/// A key without what marks it as one.
pub(super) fn key_of(text: &str) -> &str {
    text.trim_start_matches('.').trim_matches(['"', '\''])
}

pub(super) fn is_key(key: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.$ /".contains(c);
    !key.is_empty() && key.len() <= 80 && key.chars().all(is_part)
}
