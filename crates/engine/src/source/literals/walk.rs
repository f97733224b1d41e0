//! One pass over a syntax tree, without recursion: every value with what it is called.

use std::collections::HashMap;
use std::ops::Range;

use overnight_model::tuner::found::{Candidate, Kind, LeftOut, Notation, Remark, Site, in_comment};
use tree_sitter::{Node, Tree};

use super::CANDIDATES_LIMIT;
use super::named::{Named, Scope};
use super::plan::{Child, Plan, Role};

/// A node whose children are being looked at.
struct Frame {
    plan: Plan,
    /// How many scopes there were before it.
    scopes: usize,
    /// Named children so far, comments aside.
    index: usize,
}

/// What has been found so far.
pub(super) struct Finder<'t> {
    pub(super) text: &'t str,
    pub(super) scopes: Vec<Scope>,
    /// How often each variable is given something.
    pub(super) given: HashMap<String, usize>,
    candidates: Vec<(Candidate, Option<String>)>,
    remarks: Vec<Remark>,
}

pub(super) fn candidates(tree: &Tree, text: &str) -> (Vec<Candidate>, Vec<Remark>) {
    let mut finder = Finder {
        text,
        scopes: vec![Scope::file()],
        given: HashMap::new(),
        candidates: Vec::new(),
        remarks: Vec::new(),
    };
    let mut cursor = tree.walk();
    let mut frames: Vec<Frame> = Vec::new();
    while finder.candidates.len() < CANDIDATES_LIMIT {
        let node = cursor.node();
        let is_counted = node.is_named() && !is_comment(node.kind());
        let role = match frames.last_mut() {
            Some(frame) => {
                let field = cursor.field_name().unwrap_or_default();
                let role = frame.plan.role(&Child { kind: node.kind(), field, index: frame.index });
                frame.index += usize::from(is_counted);
                role
            }
            None => Role::Plain(None),
        };
        let scopes = finder.scopes.len();
        if let Some(plan) = finder.visit(node, role)
            && cursor.goto_first_child()
        {
            frames.push(Frame { plan, scopes, index: 0 });
            continue;
        }
        finder.scopes.truncate(scopes);
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return finder.done();
            }
            if let Some(frame) = frames.pop() {
                finder.scopes.truncate(frame.scopes);
            }
        }
    }
    finder.done()
}

impl<'t> Finder<'t> {
    /// Takes a value down; says how to treat the children of what is none.
    fn visit(&mut self, node: Node<'_>, role: Role) -> Option<Plan> {
        if is_comment(node.kind()) {
            let remark = self.text_of(node).and_then(in_comment);
            self.remarks.extend(remark.map(|said| Remark { at: node.start_byte(), text: said.to_owned() }));
            return None;
        }
        if node.kind() == "preproc_def" {
            self.definition(node);
            return None;
        }
        if !node.is_named() {
            return None;
        }
        match kind_of(node.kind(), self.text_of(node).unwrap_or_default()) {
            Some(kind) => {
                self.take(node.byte_range(), kind, &role);
                None
            }
            None if self.is_compound_number(node, &role) => {
                self.take(node.byte_range(), Kind::Number, &role);
                None
            }
            None => Some(self.enter(node, role)),
        }
    }

    /// `-0.5` and `2**14` are numbers where they are all of a value.
    fn is_compound_number(&self, node: Node<'_>, role: &Role) -> bool {
        let is_operation =
            matches!(node.kind(), "unary_operator" | "unary_expression" | "binary_operator" | "binary_expression");
        is_operation
            && matches!(role, Role::Value(_))
            && self.text_of(node).is_some_and(|text| Notation::read(text).is_ok())
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> Option<&'t str> {
        self.text.get(node.byte_range())
    }

    pub(super) fn scope(&self) -> &Scope {
        // The first one is never taken away.
        &self.scopes[self.scopes.len() - 1]
    }

    fn take(&mut self, span: Range<usize>, kind: Kind, role: &Role) {
        let scope = self.scope();
        let (named, out) = match role {
            Role::Value(named) => (Some(named), named.out.clone().or_else(|| scope.out.clone())),
            _ if kind != Kind::Number => return,
            Role::Out(out) => (None, Some(out.clone())),
            Role::Plain(_) | Role::Arguments(_) | Role::Each(_) => (None, Some(LeftOut::Expression)),
        };
        let candidate = match (named, role) {
            (Some(named), _) => Candidate {
                name: named.name.to_string(),
                key: named.key.to_string(),
                span,
                site: named.site,
                kind,
                is_whole: true,
                is_small_fixed: named.is_small_fixed,
                is_changed: false,
                out,
            },
            (None, role) => {
                // It has a name for the sake of a hint that asks for it all the same.
                let name = match role {
                    Role::Plain(Some(within)) => within.to_string(),
                    _ => scope.joined("expression"),
                };
                let (key, site) = (name.clone(), Site::Argument);
                Candidate { name, key, span, site, kind, is_whole: false, is_small_fixed: true, is_changed: false, out }
            }
        };
        let given = named.and_then(|named| named.given.as_ref()).map(|given| given.to_string());
        self.candidates.push((candidate, given));
    }

    /// `#define LR 0.1f // overnight: …`: to the grammar, what follows the name is a line of text.
    fn definition(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        for comment in node.children(&mut cursor).filter(|child| is_comment(child.kind())) {
            self.visit(comment, Role::Plain(None));
        }
        let name = node.child_by_field_name("name").and_then(|name| self.text_of(name));
        let Some((name, value)) = name.zip(node.child_by_field_name("value")) else { return };
        let written = self.text_of(value).unwrap_or_default();
        let (code, comment) = match written.find("//") {
            Some(at) => (&written[..at], &written[at..]),
            None => (written, ""),
        };
        let remark = in_comment(comment).map(|said| Remark { at: value.start_byte(), text: said.to_owned() });
        self.remarks.extend(remark);
        let bare = code.trim().trim_start_matches('(').trim_end_matches(')').trim();
        let start = value.start_byte() + (code.len() - code.trim_start_matches(['(', ' ', '\t']).len());
        let is_number = Notation::read(bare).is_ok();
        let kind = match bare {
            _ if is_number => Kind::Number,
            "true" | "false" => Kind::Truth,
            _ => return,
        };
        if let Some(named) = self.scope().variable(name) {
            *self.given.entry(named.name.to_string()).or_insert(0) += 1;
            // `#define HAS_SIMD 1` is a switch.
            self.take(start..start + bare.len(), kind, &Role::Value(Named { is_small_fixed: true, ..named }));
        }
    }

    fn done(self) -> (Vec<Candidate>, Vec<Remark>) {
        let Finder { given, candidates, remarks, .. } = self;
        let settled = candidates.into_iter().map(|(candidate, variable)| {
            let is_changed = variable.is_some_and(|variable| given.get(&variable).is_some_and(|times| *times > 1));
            Candidate { is_changed, ..candidate }
        });
        (settled.collect(), remarks)
    }
}

fn is_comment(kind: &str) -> bool {
    matches!(kind, "comment" | "line_comment" | "block_comment" | "html_comment")
}

fn kind_of(kind: &str, text: &str) -> Option<Kind> {
    Some(match kind {
        "integer" | "float" | "number" | "integer_literal" | "float_literal" | "number_literal" | "int_literal"
        | "integer_scalar" | "float_scalar" => Kind::Number,
        "true" | "false" | "boolean" | "boolean_literal" | "boolean_scalar" => Kind::Truth,
        // YAML's readers differ in what is a word.
        "string_scalar" if matches!(text, "yes" | "no" | "on" | "off") => Kind::Truth,
        "string_scalar" if Notation::read(text).is_ok() => Kind::Number,
        "string"
        | "string_literal"
        | "interpreted_string_literal"
        | "raw_string_literal"
        | "concatenated_string"
        | "template_string"
        | "char_literal"
        | "double_quote_scalar"
        | "single_quote_scalar"
        | "string_scalar"
        | "block_scalar" => Kind::Text,
        _ => return None,
    })
}
