//! The body of a notice, as whoever is behind a webhook wants it. All of the text is taken for a stranger's: some of it was
//! written by whoever made a proposal.

use overnight_model::spec::Shape;
use serde_json::{Value, json};
use ureq::http::Uri;

use super::Notice;

/// Discord refuses more; Slack would fold it.
const MOST_CHARACTERS: usize = 1900;

/// Makes a link or a mention what it looks like: text.
const NO_WIDTH: char = '\u{200b}';

/// Whose address it is.
pub(super) fn of_address(address: &str) -> Shape {
    let host = address.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_lowercase)).unwrap_or_default();
    let is = |name: &str| host == name || host.ends_with(&format!(".{name}"));
    match () {
        () if is("slack.com") || is("slack-gov.com") => Shape::Slack,
        () if is("discord.com") || is("discordapp.com") => Shape::Discord,
        () => Shape::Json,
    }
}

pub(super) fn body(notice: &Notice, shape: Shape) -> Value {
    let text = clean(&format!("{}\n{}", notice.title, notice.text));
    match shape {
        Shape::Slack => json!({
            "text": escaped(&text, slack),
            "mrkdwn": false,
            "parse": "none",
            "link_names": false,
            "unfurl_links": false,
            "unfurl_media": false,
        }),
        Shape::Discord => json!({
            "content": escaped(&text, discord),
            // Whatever the text says, nobody is called.
            "allowed_mentions": { "parse": [] },
            // No preview of what it may link to.
            "flags": 4,
        }),
        Shape::Json => notice.as_json(),
    }
}

/// The text of a notice for a desktop, whose notices have markup.
pub(super) fn markup(text: &str) -> String {
    escaped(&clean(text), |c, out| match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        c => out.push(c),
    })
}

/// Nothing that commands a terminal or a reader, and nothing that turns the text around.
pub(super) fn clean(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let kept = text.chars().filter(|c| !c.is_control() || *c == '\n');
    kept.map(|c| if turns(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn slack(c: char, out: &mut String) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        // Others who take Slack's bodies read Markdown and names.
        '`' => out.push('\''),
        '@' => out.extend(['@', NO_WIDTH]),
        c => out.push(c),
    }
}

fn discord(c: char, out: &mut String) {
    if "\\*_~`|>#[]()<:-".contains(c) {
        out.push('\\');
    }
    out.push(c);
    if c == '@' {
        out.push(NO_WIDTH);
    }
}

/// Escapes each character, and ends before it is too long: never within one.
fn escaped(text: &str, escape: fn(char, &mut String)) -> String {
    let (mut out, mut length) = (String::new(), 0);
    for c in text.trim().chars() {
        let from = out.len();
        escape(c, &mut out);
        length += out[from..].chars().count();
        if length > MOST_CHARACTERS {
            out.truncate(from);
            out.push('…');
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn notice(text: &str) -> Notice {
        Notice::new("end", "main", "title".into(), text.into(), Map::new())
    }

    #[test]
    fn an_address_tells_by_its_host_who_is_behind_it() {
        for (address, shape) in [
            ("https://hooks.slack.com/services/T/B/x", Shape::Slack),
            ("https://HOOKS.slack.com/services/T/B/x", Shape::Slack),
            ("https://discord.com/api/webhooks/1/x", Shape::Discord),
            ("https://canary.discord.com/api/webhooks/1/x", Shape::Discord),
            ("https://discordapp.com/api/webhooks/1/x", Shape::Discord),
            ("https://notslack.com/x", Shape::Json),
            ("https://example.org/hooks.slack.com", Shape::Json),
            ("no address", Shape::Json),
        ] {
            assert_eq!(of_address(address), shape, "{address}");
        }
    }

    #[test]
    fn foreign_text_calls_nobody_links_nowhere_and_is_not_turned_around() {
        let hostile = "<!channel> & <https://e.org|ok> @everyone `x` *b*\n# [a](https://e.org) \u{202e}dlog\x1b[2J";
        let slack = body(&notice(hostile), Shape::Slack);
        assert_eq!(
            slack["text"],
            "title\n&lt;!channel&gt; &amp; &lt;https://e.org|ok&gt; @\u{200b}everyone 'x' *b*\n# [a](https://e.org) \u{fffd}dlog[2J"
        );
        assert_eq!((&slack["mrkdwn"], &slack["parse"]), (&json!(false), &json!("none")));
        let discord = body(&notice(hostile), Shape::Discord);
        assert_eq!(
            discord["content"],
            "title\n\\<!channel\\> & \\<https\\://e.org\\|ok\\> @\u{200b}everyone \\`x\\` \\*b\\*\n\\# \\[a\\]\\(https\\://e.org\\) \u{fffd}dlog\\[2J"
        );
        assert_eq!(discord["allowed_mentions"], json!({ "parse": [] }));
        assert_eq!(markup("<b>a</b> & b\x07"), "&lt;b&gt;a&lt;/b&gt; &amp; b");
    }

    #[test]
    fn a_long_text_ends_before_the_limit_and_not_within_an_escape() {
        let torn: [&[&str]; 2] = [&["&", "&a", "&am", "&amp"], &["\\"]];
        for ((shape, key), torn) in [(Shape::Slack, "text"), (Shape::Discord, "content")].into_iter().zip(torn) {
            let body = body(&notice(&"`&*ä".repeat(3000)), shape);
            let text = body[key].as_str().unwrap();
            assert!(text.chars().count() <= MOST_CHARACTERS + 1 && text.ends_with('…'), "{text}");
            assert!(!torn.iter().any(|end| text.trim_end_matches('…').ends_with(*end)), "{text}");
        }
    }
}
