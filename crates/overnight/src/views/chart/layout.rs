//! Where everything of the chart goes.

use std::collections::HashSet;

use overnight_model::units::short_number;
use overnight_model::verdict::Group;
use overnight_model::{Goal, Verdict};

use super::scale::Scale;
use super::{Anchor, Role, Scene, Shape};
use crate::views::board::{Plot, Point, Step};

/// How large a picture is, and how wide its letters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// The width of a letter and the height of a line.
    pub(crate) letter: (f64, f64),
    /// Marks nearer than this to another of their kind are drawn once.
    pub(crate) grain: f64,
    /// What is drawn is said elsewhere, and there is little room.
    pub(crate) is_tight: bool,
}

impl Size {
    pub(crate) const WIDE: Size =
        Size { width: 960.0, height: 400.0, letter: (8.0, 18.0), grain: 1.0, is_tight: false };
    pub(crate) const NARROW: Size =
        Size { width: 370.0, height: 330.0, letter: (8.0, 18.0), grain: 1.0, is_tight: false };

    /// A terminal of so many columns and rows.
    pub(crate) fn terminal(columns: usize, rows: usize) -> Size {
        let (width, height) = (columns as f64 * 8.0, rows as f64 * 16.0);
        Size { width, height, letter: (8.0, 16.0), grain: 4.0, is_tight: false }
    }

    /// The same without the words above and below it.
    pub(crate) fn tight(self) -> Size {
        Size { is_tight: true, ..self }
    }
}

/// Levels within these quantiles of all points are drawn where they are; what is farther off is drawn at the edge, or one
/// wild value would flatten everything else.
const QUANTILES: (f64, f64) = (0.05, 0.95);
/// And no farther than so many times the range of the levels.
const FAR: f64 = 1.5;
/// Room above and below, as a share of the range.
const ROOM: f64 = 0.08;
/// Where single runs of the champion fall, nineteen times in twenty.
const BAND: f64 = 2.0;

pub(crate) fn scene(plot: &Plot, size: Size) -> Scene {
    let (letter, line) = size.letter;
    let range = range(plot);
    let legend = Legend::of(plot, size);
    let below = if size.is_tight { 1.0 } else { 2.0 };
    let (top, bottom) = (legend.height() + 0.6 * line, size.height - below * line);
    // The width of the longest label is known once there are labels, whose number the height decides.
    let y = Scale::new(range, (bottom - line, top));
    let about = (((bottom - top) / (2.5 * line)) as usize).clamp(2, 8);
    let rows = y.ticks(about, false);
    let widest = rows.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(1);
    // The last number below stands half outside of what is above it.
    let half = plot.last.to_string().len() as f64 / 2.0;
    let (left, right) = ((widest as f64 + 1.0) * letter, size.width - half.max(1.5) * letter);
    let x = Scale::new((plot.first as f64, (plot.last as f64).max(plot.first as f64 + 1.0)), (left, right));
    let mut shapes = Vec::new();
    for (value, text) in &rows {
        shapes.push(Shape::Line { role: Role::Grid, points: vec![(left, y.at(*value)), (right, y.at(*value))] });
        let at = (left - letter * 0.7, y.at(*value));
        shapes.push(Shape::Label { at, anchor: Anchor::End, text: text.clone() });
    }
    let columns = ((right - left) / (12.0 * letter)) as usize;
    for (value, text) in x.ticks(columns.clamp(2, 10), true) {
        shapes.push(Shape::Label { at: (x.at(value), bottom + line * 0.5), anchor: Anchor::Middle, text });
    }
    let under = Shape::Label {
        at: ((left + right) / 2.0, bottom + line * 1.5),
        anchor: Anchor::Middle,
        text: "experiment".to_owned(),
    };
    shapes.extend((!size.is_tight).then_some(under));
    let better = match plot.goal {
        Goal::Min => "lower is better",
        Goal::Max => "higher is better",
    };
    let title = crate::ui::one_line(&format!("{} · {better}", plot.metric));
    let above = Shape::Label { at: (letter * 0.5, line * 0.5), anchor: Anchor::Start, text: clip(&title, size) };
    shapes.extend((!size.is_tight).then_some(above));
    shapes.extend(legend.shapes());
    shapes.extend(steps(plot, &x, &y));
    let (marks, outside) = marks(plot, &x, &y, (size.grain, bottom - line * 0.4));
    shapes.extend(marks);
    let mut notes = Vec::new();
    let unmeasured = plot.points.iter().filter(|point| point.value.is_none()).count();
    if unmeasured > 0 {
        notes.push(format!("{unmeasured} without a value: drawn in the lowest row"));
    }
    if outside > 0 {
        notes.push(format!("{outside} far from the others: drawn at the edge"));
    }
    if plot.earlier > 0 {
        notes.push(format!("{} of earlier segments: not drawn, nothing is compared across segments", plot.earlier));
    }
    Scene { width: size.width, height: size.height, shapes, title, description: described(plot), notes }
}

/// The values that have to be seen: every level, and points that are not too far from them.
fn range(plot: &Plot) -> (f64, f64) {
    let sd = plot.sd.unwrap_or(0.0);
    let around = |step: &Step| {
        let half = step.half.unwrap_or(0.0).max(BAND * sd);
        [step.level - half, step.level + half]
    };
    let levels = ends(plot.steps.iter().flat_map(around).chain(plot.baseline));
    // What is not believed does not decide how the rest is seen.
    let believed = plot.points.iter().filter(|point| role(point.verdict) != Role::Refused);
    let mut values: Vec<f64> = believed.filter_map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let quantile = |share: f64| values.get(((values.len().max(1) - 1) as f64 * share).round() as usize).copied();
    let typical = || [quantile(QUANTILES.0), quantile(QUANTILES.1)].into_iter().flatten();
    let Some((low, high)) = levels else { return ends(typical()).map_or((0.0, 1.0), with_room) };
    // Where nothing moved yet, half of the points tell how large a step may be.
    let mut away: Vec<f64> = values.iter().map(|value| (value - low).abs().max((value - high).abs())).collect();
    away.sort_by(f64::total_cmp);
    let span = if high > low { high - low } else { away.get(away.len() / 2).copied().unwrap_or(0.0) };
    let near = |value: f64| value.clamp(low - FAR * span, high + FAR * span);
    ends(typical().map(near).chain([low, high])).map_or((0.0, 1.0), with_room)
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    finite.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

fn with_room((low, high): (f64, f64)) -> (f64, f64) {
    let room = if high > low { ROOM * (high - low) } else { 0.5 * low.abs().max(1e-9) };
    (low - room, high + room)
}

/// The champion as a step line, its interval, and the noise around it.
fn steps(plot: &Plot, x: &Scale, y: &Scale) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let ends = plot.steps.iter().skip(1).map(|step| step.from).chain([plot.last.max(plot.first + 1)]);
    let spans: Vec<(&Step, f64, f64)> = plot
        .steps
        .iter()
        .zip(ends)
        .map(|(step, to)| (step, x.inside(step.from as f64), x.inside(to as f64)))
        .filter(|(_, from, to)| to > from)
        .collect();
    let around = |role: Role, half: &dyn Fn(&Step) -> Option<f64>| -> Vec<Shape> {
        let area = |(step, from, to): &(&Step, f64, f64)| {
            let half = half(step).filter(|half| *half > 0.0)?;
            let (above, below) = (y.inside(step.level + half), y.inside(step.level - half));
            Some(Shape::Area { role, points: vec![(*from, above), (*to, above), (*to, below), (*from, below)] })
        };
        spans.iter().filter_map(area).collect()
    };
    shapes.extend(around(Role::Noise, &|_| plot.sd.map(|sd| BAND * sd)));
    shapes.extend(around(Role::Interval, &|step| step.half));
    if let (Some(level), [_, .., (_, _, end)]) = (plot.baseline, spans.as_slice()) {
        let points = vec![(x.inside(plot.first as f64), y.inside(level)), (*end, y.inside(level))];
        shapes.push(Shape::Line { role: Role::Baseline, points });
    }
    let line: Vec<(f64, f64)> = spans
        .iter()
        .flat_map(|(step, from, to)| [(*from, y.inside(step.level)), (*to, y.inside(step.level))])
        .collect();
    if !line.is_empty() {
        shapes.push(Shape::Line { role: Role::Champion, points: line });
    }
    shapes
}

fn role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Retracted => Role::Retracted,
        verdict => match verdict.group() {
            Group::Kept => Role::Kept,
            Group::Broken => Role::Broken,
            Group::Refused => Role::Refused,
            Group::NotBetter | Group::NotCounted => Role::NotBetter,
        },
    }
}

/// In drawing order: what matters most lies on top.
const MARKS: [Role; 5] = [Role::NotBetter, Role::Broken, Role::Refused, Role::Retracted, Role::Kept];

/// Every experiment once, what has no value in a row of its own, and how many fall outside.
fn marks(plot: &Plot, x: &Scale, y: &Scale, (grain, floor): (f64, f64)) -> (Vec<Shape>, usize) {
    let mut outside = 0;
    let mut shapes = Vec::new();
    for wanted in MARKS {
        let (mut at, mut taken) = (Vec::new(), HashSet::new());
        for Point { experiment, value, .. } in plot.points.iter().filter(|point| role(point.verdict) == wanted) {
            outside += usize::from(value.is_some_and(|value| !y.holds(value)));
            let place = (x.inside(*experiment as f64), value.map_or(floor, |value| y.inside(value)));
            let spot = ((place.0 / grain).round() as i64, (place.1 / grain).round() as i64);
            if taken.insert(spot) {
                at.push(place);
            }
        }
        if !at.is_empty() {
            shapes.push(Shape::Marks { role: wanted, at });
        }
    }
    (shapes, outside)
}

/// What the marks mean: those that there are.
struct Legend {
    /// The role, its word, and where it begins.
    entries: Vec<(Role, String, (f64, f64))>,
    size: Size,
    rows: usize,
}

impl Legend {
    fn of(plot: &Plot, size: Size) -> Legend {
        let (letter, line) = size.letter;
        let words = |role: Role| match role {
            Role::Champion => "champion",
            Role::Interval => "its gain, 95 %",
            Role::Noise => "noise ±2 sd",
            Role::Kept => "kept",
            Role::NotBetter => "not better",
            Role::Broken => "broken",
            Role::Refused => "refused",
            Role::Retracted => "taken back",
            Role::Grid | Role::Baseline => "baseline",
        };
        let has = |wanted: Role| plot.points.iter().any(|point| role(point.verdict) == wanted);
        let mut wanted = vec![Role::Kept, Role::NotBetter, Role::Broken, Role::Refused, Role::Retracted];
        wanted.retain(|role| has(*role));
        wanted.extend((!plot.steps.is_empty()).then_some(Role::Champion));
        wanted.extend(plot.steps.iter().any(|step| step.half.is_some_and(|half| half > 0.0)).then_some(Role::Interval));
        wanted.extend((plot.steps.len() > 1 && plot.baseline.is_some()).then_some(Role::Baseline));
        wanted.extend((plot.sd.is_some() && !plot.steps.is_empty()).then_some(Role::Noise));
        let before = usize::from(!size.is_tight);
        let (mut column, mut row) = (letter * 0.5, before);
        let mut entries = Vec::new();
        for role in wanted {
            let word = words(role).to_owned();
            let width = (word.chars().count() as f64 + 6.0) * letter;
            if column + width - 2.5 * letter > size.width && column > letter {
                // A second row of words would take a tenth of a small picture.
                if size.is_tight && size.height < 16.0 * line {
                    continue;
                }
                (column, row) = (letter * 0.5, row + 1);
            }
            entries.push((role, word, (column, (row as f64 + 0.5) * line)));
            column += width;
        }
        let rows = if entries.is_empty() { 0 } else { row + 1 - before };
        Legend { entries, size, rows }
    }

    /// With the line above it that says what is drawn.
    fn height(&self) -> f64 {
        let before = if self.size.is_tight { 0.0 } else { 1.0 };
        (self.rows as f64 + before) * self.size.letter.1
    }

    fn shapes(&self) -> Vec<Shape> {
        let (letter, line) = self.size.letter;
        let entry = |(role, word, (x, y)): &(Role, String, (f64, f64))| {
            let (from, to) = (*x, x + 2.0 * letter);
            let mark = match role {
                Role::Champion | Role::Baseline | Role::Grid => {
                    Shape::Line { role: *role, points: vec![(from, *y), (to, *y)] }
                }
                Role::Noise | Role::Interval => {
                    let (above, below) = (y - line * 0.25, y + line * 0.25);
                    Shape::Area { role: *role, points: vec![(from, above), (to, above), (to, below), (from, below)] }
                }
                _ => Shape::Marks { role: *role, at: vec![((from + to) / 2.0, *y)] },
            };
            let at = (to + letter * 1.2, *y);
            [mark, Shape::Label { at, anchor: Anchor::Start, text: word.clone() }]
        };
        self.entries.iter().flat_map(entry).collect()
    }
}

/// The beginning of a text that would not fit.
fn clip(text: &str, size: Size) -> String {
    let room = (size.width / size.letter.0) as usize - 1;
    match text.char_indices().nth(room) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The same in words, for whoever cannot see it.
fn described(plot: &Plot) -> String {
    let kept = plot.points.iter().filter(|point| point.verdict == Verdict::Kept).count();
    let levels = match (plot.baseline, plot.steps.last()) {
        (Some(baseline), Some(step)) => {
            format!("; the champion went from {} to {}", short_number(baseline), short_number(step.level))
        }
        _ => String::new(),
    };
    let metric = crate::ui::one_line(&plot.metric);
    let experiments = match plot.points.len() {
        1 => "1 experiment".to_owned(),
        many => format!("{many} experiments"),
    };
    format!("{metric} of {experiments}, of which {kept} are kept{levels}.")
}
