//! The page as Markdown: for a pull request, an issue or a chat.

use super::doc::{Block, Document, Fold, Item, Line, Tone};
use crate::ui::{one_line, printable};
use crate::views::board::Plot;
use crate::views::chart::{Size, braille, scene};

/// A chart of dots, as wide as a page of text.
const CHART: (usize, usize) = (96, 18);

pub(crate) fn markdown(document: &Document, plot: Option<&Plot>) -> String {
    let mut text = format!("# {}\n\n{}\n", plain(&document.title), line(&document.about));
    for section in &document.sections {
        if !section.title.is_empty() {
            text += &format!("\n## {}\n", plain(&section.title));
        }
        for block in &section.blocks {
            text += "\n";
            text += &drawn(block, plot);
        }
    }
    text
}

fn drawn(block: &Block, plot: Option<&Plot>) -> String {
    match block {
        Block::Lead(said) => format!("**{}**\n", line(said).replace("**", "")),
        Block::Text(said) | Block::Note(said) => format!("{}\n", line(said)),
        Block::Facts(facts) => {
            facts.iter().map(|(name, said)| format!("- **{}**: {}\n", plain(name), line(said))).collect()
        }
        Block::List(lines) => lines.iter().map(|said| format!("- {}\n", line(said))).collect(),
        Block::Items(items) => items.iter().map(item).collect(),
        Block::Commands(commands) => {
            let typed: Vec<String> = commands.iter().map(|(command, what)| format!("{command}  # {what}")).collect();
            fenced("sh", &typed.join("\n"), "")
        }
        Block::Code(text) => fenced("text", text, ""),
        Block::Folds(folds) => folds.iter().map(fold).collect(),
        Block::Diff(text) => fenced("diff", text, ""),
        Block::Chart => plot.map(chart).unwrap_or_default(),
    }
}

fn fold(Fold { head, parts }: &Fold) -> String {
    let parts = parts.iter().map(|(title, text)| format!("{}\n\n{}", plain(title), fenced("text", text, "")));
    format!("**{}**\n\n{}", plain(head), parts.collect::<String>())
}

fn item(item: &Item) -> String {
    let Item { name, figure, text, details, diff } = item;
    let figure = figure.as_ref().map_or_else(String::new, |figure| format!(" {} ·", plain(&figure.text)));
    let mut shown = format!("- **{}** ·{figure} {}\n", plain(name), line(text));
    for detail in details.iter().filter(|detail| !detail.is_empty()) {
        shown += &format!("  <br>{}\n", line(detail));
    }
    if let Some(diff) = diff {
        shown += "\n";
        shown += &fenced("diff", diff, "  ");
    }
    shown
}

fn chart(plot: &Plot) -> String {
    let scene = scene(plot, Size::terminal(CHART.0, CHART.1));
    let rows: Vec<String> = braille(&scene)
        .into_iter()
        .map(|row| row.into_iter().map(|cell| cell.sign).collect::<String>().trim_end().to_owned())
        .collect();
    let notes: String = scene.notes.iter().map(|note| format!("\n{}\n", plain(note))).collect();
    fenced("text", &rows.join("\n"), "") + &notes
}

/// A block that its own text cannot end.
fn fenced(language: &str, text: &str, indent: &str) -> String {
    let text = printable(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let mut shown = format!("{indent}{fence}{language}\n");
    text.lines().for_each(|line| shown += &format!("{indent}{line}\n"));
    shown + &format!("{indent}{fence}\n")
}

fn line(line: &Line) -> String {
    let span = |span: &super::doc::Span| match span.tone {
        Tone::Code => code(&span.text),
        Tone::Strong => format!("**{}**", plain(&span.text)),
        _ => plain(&span.text),
    };
    line.0.iter().map(span).collect()
}

/// Text that is read as a program's, whatever it holds.
fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let room = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{ticks}{room}{text}{room}{ticks}")
}

/// Text without a meaning for Markdown or HTML.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            // A name after it would be called, a number linked.
            '@' => safe.push_str("@\u{2060}"),
            c => safe.push(c),
        }
    }
    // What would make a list or a rule of a line.
    let begins = safe.starts_with(['-', '+', '=']);
    if begins { format!("\\{safe}") } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_neither_markup_nor_html_nor_the_end_of_its_block() {
        assert_eq!(plain("<script> [a](b) *x* @ann\n# y"), "&lt;script&gt; \\[a\\](b) \\*x\\* @\u{2060}ann \\# y");
        assert_eq!(plain("- one"), "\\- one");
        assert_eq!(code("a ` b"), "``a ` b``");
        assert_eq!(fenced("diff", "+```\n+x", ""), "````diff\n+```\n+x\n````\n");
    }
}
