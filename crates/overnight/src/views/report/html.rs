//! The page as one HTML file: no scripts, nothing fetched, light and dark, on paper and on a phone.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::doc::{Block, Document, Fold, Item, Line, Span, Tone};
use crate::ui::{one_line, printable};
use crate::views::board::Plot;
use crate::views::chart::{STYLE, Size, inline, scene};

/// Whatever slips through, no browser runs or fetches anything for it.
const POLICY: &str = include_str!("page.policy");

const PAGE: &str = include_str!("page.css");

pub(crate) fn html(document: &Document, plot: Option<&Plot>) -> String {
    let title = one_line(&document.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                // Ours alone: nothing foreign is ever put into a style sheet.
                style { (PreEscaped(PAGE)) (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p.about { (line(&document.about)) }
                }
                main {
                    @for section in &document.sections {
                        section {
                            @if !section.title.is_empty() { h2 { (one_line(&section.title)) } }
                            @for block in &section.blocks { (drawn(block, plot)) }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn drawn(block: &Block, plot: Option<&Plot>) -> Markup {
    html! {
        @match block {
            Block::Lead(said) => p.lead { (line(said)) },
            Block::Text(said) => p { (line(said)) },
            Block::Note(said) => p.note { (line(said)) },
            Block::Facts(facts) => dl {
                @for (name, said) in facts { div { dt { (one_line(name)) } dd { (line(said)) } } }
            },
            Block::List(lines) => ul { @for said in lines { li { (line(said)) } } },
            Block::Items(items) => ol.items { @for found in items { (item(found)) } },
            Block::Commands(commands) => dl.commands {
                @for (command, what) in commands { div { dt { code { (one_line(command)) } } dd { (what) } } }
            },
            Block::Code(text) => (code(text)),
            Block::Folds(folds) => @for found in folds { (fold(found)) },
            Block::Diff(text) => (diff(text)),
            Block::Chart => @if let Some(plot) = plot { (chart(plot)) },
        }
    }
}

fn item(item: &Item) -> Markup {
    let Item { name, figure, text, details, diff: changed } = item;
    html! {
        li {
            p.head {
                span.name { (one_line(name)) }
                @if let Some(figure) = figure { " " (span(figure)) }
                " " span.what { (line(text)) }
            }
            @for detail in details.iter().filter(|detail| !detail.is_empty()) { p.detail { (line(detail)) } }
            @if let Some(changed) = changed {
                details { summary { "what it changed" span.of { " by " (one_line(name)) } } (diff(changed)) }
            }
        }
    }
}

/// Longer parts are closed within what is opened.
const OPEN_LINES: usize = 12;

fn fold(Fold { head, parts }: &Fold) -> Markup {
    html! {
        details.fold {
            summary { (one_line(head)) }
            @for (title, text) in parts {
                @let lines = text.lines().count();
                @if lines > OPEN_LINES {
                    details { summary { (one_line(title)) span.of { " · " (lines) " lines" } } (code(text)) }
                } @else {
                    p.detail { (one_line(title)) }
                    @if !text.is_empty() { (code(text)) }
                }
            }
        }
    }
}

fn line(line: &Line) -> Markup {
    html! { @for part in &line.0 { (span(part)) } }
}

fn span(Span { text, tone }: &Span) -> Markup {
    // An amount and its interval are one word.
    let text = one_line(text).replace(" ± ", "\u{a0}±\u{a0}");
    html! {
        @match tone {
            Tone::Plain => (text),
            Tone::Strong => strong { (text) },
            Tone::Code => code { (text) },
            Tone::Good => span.good { (text) },
            Tone::Bad => span.bad { (text) },
            Tone::Doubt => span.doubt { (text) },
            Tone::Faint => span.faint { (text) },
        }
    }
}

/// A region that scrolls has to be reached by keyboard.
fn code(text: &str) -> Markup {
    html! { pre tabindex="0" { (printable(text)) } }
}

fn diff(text: &str) -> Markup {
    html! {
        pre.diff tabindex="0" {
            @for said in printable(text).lines() {
                @match said.chars().next() {
                    Some('+') if !said.starts_with("+++") => ins { (said) "\n" },
                    Some('-') if !said.starts_with("---") => del { (said) "\n" },
                    Some('@') => span.faint { (said) "\n" },
                    _ => { (said) "\n" },
                }
            }
        }
    }
}

/// Drawn twice, for wide and for narrow pages: letters that shrink with the page could not be read on a phone.
fn chart(plot: &Plot) -> Markup {
    let (wide, narrow) = (scene(plot, Size::WIDE), scene(plot, Size::NARROW));
    html! {
        figure {
            (PreEscaped(inline(&wide, "wide"))) (PreEscaped(inline(&narrow, "narrow")))
            @if !wide.notes.is_empty() {
                figcaption { @for note in &wide.notes { p.note { (note) } } }
            }
        }
    }
}
