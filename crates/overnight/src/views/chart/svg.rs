//! The scene as SVG. Colours come from a style sheet, so that it fits a light and a dark page.

use std::fmt::Write;

use super::{Anchor, Role, Scene, Shape};

/// Colours by role, light and dark, told apart by people who see few colours too: marks differ in form as well.
pub(crate) const STYLE: &str = "\
.chart{--ink:#3b4252;--faint:#e3e6ec;--line:#1f5fbf;--noise:#dfe9f7;--interval:#aecbf0;--good:#0a7d43;--plain:#7a8496;\
--bad:#b3261e;--odd:#8a5a00}\
@media (prefers-color-scheme:dark){.chart{--ink:#c9d1de;--faint:#2c3442;--line:#7db1ff;--noise:#1d2b42;\
--interval:#2f4f80;--good:#4ecb8a;--plain:#8d98ac;--bad:#ff8a80;--odd:#e5b567}}\
@media print{.chart{--ink:#3b4252;--faint:#e3e6ec;--line:#1f5fbf;--noise:#dfe9f7;--interval:#aecbf0;--good:#0a7d43;\
--plain:#7a8496;--bad:#b3261e;--odd:#8a5a00}}\
.chart text{fill:var(--ink);font:13px system-ui,-apple-system,'Segoe UI',sans-serif}\
.chart path{fill:none;stroke-linecap:round;stroke-linejoin:round}\
.chart .grid{stroke:var(--faint)}\
.chart .noise{fill:var(--noise)}\
.chart .interval{fill:var(--interval)}\
.chart .baseline{stroke:var(--plain);stroke-dasharray:2 5}\
.chart .champion{stroke:var(--line);stroke-width:2}\
.chart .kept{stroke:var(--good);stroke-width:9}\
.chart .not-better{stroke:var(--plain);stroke-width:4}\
.chart .broken{stroke:var(--bad);stroke-width:1.6}\
.chart .refused{fill:var(--odd)}\
.chart .retracted{stroke:var(--odd);stroke-width:1.8}";

/// As a part of an HTML page that has the style sheet.
pub(crate) fn inline(scene: &Scene, class: &str) -> String {
    drawn(scene, &format!("chart {class}"), "")
}

/// As a file of its own.
pub(crate) fn alone(scene: &Scene) -> String {
    let back = "svg.chart{background:#fff}@media (prefers-color-scheme:dark){svg.chart{background:#12161d}}";
    let text = drawn(scene, "chart", &format!("<style>{STYLE}{back}</style>"));
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}\n")
}

fn drawn(scene: &Scene, class: &str, style: &str) -> String {
    let Scene { width, height, shapes, title, description, .. } = scene;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{}\"><title>{}</title><desc>{}</desc>{style}",
        escaped(description),
        escaped(title),
        escaped(description),
    );
    shapes.iter().for_each(|shape| draw(&mut text, shape));
    text += "</svg>";
    text
}

fn draw(out: &mut String, shape: &Shape) {
    // Writing into a string cannot fail.
    let _ = match shape {
        Shape::Area { role, points } => write!(out, "<path class=\"{}\" d=\"{}z\"/>", role.class(), way(points)),
        Shape::Line { role, points } => write!(out, "<path class=\"{}\" d=\"{}\"/>", role.class(), way(points)),
        Shape::Marks { role, at } => {
            let marks: String = at.iter().map(|place| mark(*role, *place)).collect();
            write!(out, "<path class=\"{}\" d=\"{marks}\"/>", role.class())
        }
        Shape::Label { at: (x, y), anchor, text } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y, text) = (number(*x), number(y + 4.5), escaped(text));
            write!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>")
        }
    };
}

fn way(points: &[(f64, f64)]) -> String {
    let step = |(index, (x, y)): (usize, &(f64, f64))| {
        format!("{}{} {}", if index == 0 { 'M' } else { 'L' }, number(*x), number(*y))
    };
    points.iter().enumerate().map(step).collect()
}

/// A mark as a part of one path: ten thousand elements would be slow to open, one path is not.
fn mark(role: Role, (x, y): (f64, f64)) -> String {
    let (x, y) = (number(x), number(y));
    match role {
        Role::Broken => format!("M{x} {y}m-2.5-2.5l5 5m0-5l-5 5"),
        Role::Refused => format!("M{x} {y}m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z"),
        Role::Retracted => format!("M{x} {y}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"),
        _ => format!("M{x} {y}h0"),
    }
}

/// To a tenth of a pixel.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(ToOwned::to_owned).unwrap_or(text)
}

/// Foreign text inside an element or a quoted attribute.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in crate::ui::one_line(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        let said = escaped("</text><script>alert('x')</script>\u{202e}\"&\n");
        assert_eq!(said, "&lt;/text&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\u{fffd}&quot;&amp; ");
    }
}
