//! Who is told what. The address of a webhook is never in the triplet: whoever has it can post there.

use std::ops::Range;

use overnight_model::spec::{KeySource, NotifySpec, Occasion, Shape, Webhook};

use super::document::{Item, Section};
use super::evaluate::holds_secret;
use super::keys::nearest;
use super::problem::Collector;
use super::surface::list;

const NOT_HERE: &str = "this file is in git, for everyone to read: take the address out, and name the variable that \
                        holds it: `webhook_env = \"SLACK_URL\"`";
const TARGETS: &str = "say where notices go: `command = \"…\"`, `desktop = true` or `webhook_env = \"NAME\"`";
/// What the addresses of webhooks have in them, wherever they stand.
const ADDRESSES: [&str; 4] =
    ["hooks.slack.com/", "discord.com/api/webhooks", "discordapp.com/api/webhooks", "webhook.office.com/"];

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> NotifySpec {
    let usual = NotifySpec::default();
    let Some(section) = problems.section(top, "notify", "notify") else { return usual };
    let shapes = Shape::ALL.map(|shape| (shape.name(), shape));
    let shape = problems.word(&section, "shape", &shapes, |_| None);
    let webhook = address(problems, &section).map(|address| Webhook { address, shape });
    let spec = NotifySpec {
        on: occasions(problems, &section).unwrap_or(usual.on),
        command: command(problems, &section, "command"),
        desktop: problems.boolean(&section, "desktop").unwrap_or(false),
        webhook,
        gather: problems.duration(&section, "gather", "a time to gather").unwrap_or(usual.gather),
    };
    let has = |key: &str| section.get(key).is_some();
    if shape.is_some() && !has("webhook_env") && !has("webhook_command") {
        let what = "`notify.shape` is for a webhook, and there is none";
        problems.add(section.key_span("shape"), what, "name its address: `webhook_env = \"NAME\"`");
    } else if !["command", "desktop", "webhook_env", "webhook_command"].into_iter().any(has) && problems.is_empty() {
        problems.add(section.span(), "`[notify]` has nobody to tell", TARGETS);
    }
    spec
}

/// Whether a key that this section does not have is meant to hold an address.
pub(super) fn is_address(name: &str, item: Item<'_>) -> bool {
    let is_web = item.get_ref().as_str().is_some_and(|text| text.contains("://"));
    is_web || name == "webhook" || name == "url"
}

pub(super) fn refuse_address(problems: &mut Collector<'_>, key: Range<usize>, item: Item<'_>) {
    problems.conceal(item.span());
    problems.add(key, "the address of a webhook is a secret: whoever has it can post there", NOT_HERE);
}

fn occasions(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Vec<Occasion>> {
    let names = || Occasion::ALL.into_iter().map(Occasion::name);
    let all = names().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let mut on = Vec::new();
    for item in list(section.get("on")?) {
        let Some(word) = item.get_ref().as_str() else {
            problems.wrong_type("notify.on", item, "a list of words", &format!("words are {all}"));
            return None;
        };
        let Some(occasion) = Occasion::ALL.into_iter().find(|occasion| occasion.name() == word) else {
            let near = nearest(word, names()).map(|near| format!("did you mean \"{near}\"?"));
            let what = format!("`notify.on` knows no `{}`", word.escape_debug());
            problems.add(item.span(), what, near.unwrap_or(format!("words are {all}")));
            return None;
        };
        on.push(occasion);
    }
    if on.is_empty() {
        problems.add(section.key_span("on"), "`notify.on` must not be empty", "leave it out for all of them");
    }
    Some(Occasion::ALL.into_iter().filter(|occasion| on.contains(occasion)).collect())
}

/// Where the address comes from.
fn address(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<KeySource> {
    let variable = variable(problems, section);
    let command = command(problems, section, "webhook_command");
    if variable.is_some() && command.is_some() {
        let what = "`notify.webhook_env` and `notify.webhook_command` cannot both be the source of the address";
        problems.add(section.key_span("webhook_command"), what, "remove one of them");
    }
    variable.map(KeySource::Variable).or(command.map(KeySource::Command))
}

fn variable(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<String> {
    let name = problems.string(section, "webhook_env")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.chars().all(is_name) || name.starts_with(|c: char| c.is_ascii_digit()) || holds_secret(&name) {
        problems.conceal(section.get("webhook_env")?.span());
        let what = "`notify.webhook_env` is the name of a variable; what stands there may be the address itself";
        problems.add(section.key_span("webhook_env"), what, NOT_HERE);
        return None;
    }
    Some(name)
}

/// A command line without a secret in it.
fn command(problems: &mut Collector<'_>, section: &Section<'_>, key: &str) -> Option<String> {
    let command = problems.string(section, key)?;
    let mut words = command.split(|c: char| c.is_whitespace() || "'\"=:/@?&".contains(c));
    if words.any(holds_secret) || ADDRESSES.iter().any(|address| command.contains(address)) {
        problems.conceal(section.get(key)?.span());
        let what = format!("`{}` looks as if a secret stood in it", section.path(key));
        let hint = "this file is in git, for everyone to read: let the command take it from the environment";
        problems.add(section.key_span(key), what, hint);
        return None;
    }
    Some(command)
}
