//! Calls and their arguments.

use std::rc::Rc;

use overnight_model::tuner::found::{LeftOut, left_alone, words};
use tree_sitter::Node;

use super::enter::{is_key, key_of};
use super::named::{is_name, last_name};
use super::plan::{Callee, Plan, Role, value};
use super::walk::Finder;

/// Calls whose arguments are read by people, by one word of their name.
const PRINTING: &str = "print printf println fprintf format debug info warn warning error";

/// What such calls are made on.
const LOGGERS: &str = "log logger logging console tracing";

/// Calls that take numbers as they are where they are no method.
const COMPARING: &str = "max min sum any all sort";

/// Calls that speak of chance without the word `seed`.
const SEEDING: &str = "Random RandomState PRNGKey srand mt19937 mt19937_64 default_random_engine minstd_rand NewSource";

/// Calls that ask chance for something. Those that fill a tensor, `normal_`, are how a program begins.
const DRAWING: &str = "uniform randint randrange random_range gen_range gauss normal normalvariate standard_normal \
    lognormal lognormvariate rand randn random expovariate exponential poisson binomial betavariate triangular choice \
    choices shuffle permutation integers gen_bool random_bool";

/// Calls that make or take the data, by one word of their name: what they take by position is how much of it.
const DATA: &str = "sample samples dataset datasets corpus moons blobs circles";

/// Calls whose numbers are axes, shapes, positions or codes.
const SHAPING: &str = "reshape view permute transpose unsqueeze squeeze flatten expand narrow select sum mean std var max \
    min argmax argmin softmax log_softmax cat concat concatenate stack split chunk norm normalize cumsum \
    sort topk gather scatter index_select flip roll any all prod median logsumexp size shape slice \
    substring charAt toFixed round exit open chmod isinstance len pop insert group enumerate int pow \
    powi";

/// Arguments that say where and not how much.
const AXES: &str = "axis axes dim dims keepdim keepdims start_dim end_dim";

/// Wrappers that leave a value what it is.
const TRANSPARENT: &str = "Some Ok float float32 field";

impl Finder<'_> {
    pub(super) fn keyword(&self, node: Node<'_>, role: Role) -> Plan {
        let word = self.name_in(node, &["name"]).unwrap_or("");
        let role = match role {
            Role::Arguments(callee) => {
                let is_axis = word.starts_with("axis") || is_among(AXES, word) && callee.is_shaping;
                if is_axis { Role::Out(LeftOut::Shape) } else { value(callee.keyword(word)) }
            }
            role => role,
        };
        Plan::Field { field: "value", role }
    }

    pub(super) fn call(&self, node: Node<'_>, role: Role) -> Plan {
        let function = ["function", "constructor"].iter().find_map(|field| node.child_by_field_name(field));
        // What a generic one is made for is a type: `g<128>(3)`.
        let plain = function.filter(|function| matches!(function.kind(), "generic_function" | "template_function"));
        let plain = plain.and_then(|it| it.child_by_field_name("function").or_else(|| it.child_by_field_name("name")));
        let function = plain.or(function);
        let text = function.and_then(|function| self.text_of(function)).unwrap_or_default();
        let name = match is_name(text) {
            true => text,
            false => tail(text),
        };
        let key = last_name(name).unwrap_or("call");
        if let Role::Value(named) = &role
            && is_among(TRANSPARENT, key)
        {
            return Plan::Pass(Role::Value(named.clone()));
        }
        // `unseen = points(60)`
        let given = match &role {
            Role::Value(named) => Some(&*named.key),
            _ => None,
        };
        let parts = words(key);
        let first = name.split('.').next().unwrap_or(name);
        let out = match () {
            // `math.log(2.0)` is a function as well.
            _ if is_among(PRINTING, key) || is_among(LOGGERS, first) => Some(LeftOut::Printed),
            _ if parts.iter().any(|word| word.starts_with("assert") || word == "expect") => Some(LeftOut::Test),
            _ if is_among(SEEDING, key) => Some(LeftOut::Seed),
            _ if is_among(DRAWING, key) => Some(LeftOut::Drawn),
            _ => [Some(key), given]
                .into_iter()
                .flatten()
                .find_map(|name| left_alone(name).filter(|out| matches!(out, LeftOut::Seed | LeftOut::Evaluation))),
        };
        let is_data = parts.iter().any(|word| is_among(DATA, word));
        // `max(x, 0.1)` is no `x.max(1)`.
        let is_shaping = is_among(SHAPING, key) && (first != key || !is_among(COMPARING, key));
        let by_position = match () {
            _ if is_data => Some(LeftOut::Evaluation),
            _ => is_shaping.then_some(LeftOut::Shape),
        };
        let name = self.scope().joined(if name.is_empty() { "call" } else { name });
        Plan::Call(Rc::new(Callee { name, key: key.to_owned(), is_shaping, by_position, out, label: None }))
    }

    pub(super) fn arguments(&self, node: Node<'_>, role: Role) -> Plan {
        // Otherwise it is what a wrapper holds.
        let Role::Arguments(callee) = &role else { return Plan::Pass(role) };
        let first = node.named_child(0).filter(|first| first.kind().contains("string"));
        let label = first.and_then(|first| self.text_of(first)).map(|text| key_of(text).trim_start_matches('-'));
        let label = label.filter(|label| is_key(label) && label.len() <= 40).map(str::to_owned);
        Plan::Arguments(Rc::new(Callee { label, ..Callee::clone(callee) }))
    }

    pub(super) fn of_macro(&self, node: Node<'_>) -> LeftOut {
        let name = self.name_in(node, &["macro"]).unwrap_or("");
        match name {
            _ if name.contains("assert") => LeftOut::Test,
            "println" | "print" | "eprintln" | "eprint" | "format" | "write" | "writeln" | "panic" => LeftOut::Printed,
            _ => LeftOut::Expression,
        }
    }
}

/// The end of a longer expression that is called: `.to` of `f(x).to`.
fn tail(text: &str) -> &str {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == ':';
    let start = text.rfind(|c| !is_part(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    text[start..].trim_start_matches(['.', ':'])
}

fn is_among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}
