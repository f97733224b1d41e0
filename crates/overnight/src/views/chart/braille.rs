//! The scene in a terminal: eight dots to a character, and letters for what has to stand out.

use super::{Anchor, Role, Scene, Shape};

/// One character of a terminal, and what it belongs to; `None` is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) sign: char,
    pub(crate) role: Option<Role>,
}

/// Pixels of the scene to one dot of braille: a character is two dots wide and four high.
const DOT: f64 = 4.0;
/// Which bit of a braille character is which dot, by column and row.
const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

struct Canvas {
    columns: usize,
    rows: usize,
    dots: Vec<(u8, Option<Role>)>,
    signs: Vec<Option<Cell>>,
}

/// The rows of a scene that was laid out for a terminal.
pub(crate) fn braille(scene: &Scene) -> Vec<Vec<Cell>> {
    let (columns, rows) = ((scene.width / (2.0 * DOT)) as usize, (scene.height / (4.0 * DOT)) as usize);
    let mut canvas = Canvas { columns, rows, dots: vec![(0, None); columns * rows], signs: vec![None; columns * rows] };
    // Intervals of every champion that ever was would hide the points between them: the last one's is enough.
    let is_interval = |shape: &Shape| matches!(shape, Shape::Area { role: Role::Interval, .. });
    let last = scene.shapes.iter().rposition(is_interval);
    let first = scene.shapes.iter().position(is_interval);
    let shapes = scene.shapes.iter().enumerate();
    // The first of them belongs to the legend.
    let is_drawn = |(at, shape): &(usize, &Shape)| !is_interval(shape) || Some(*at) == last || Some(*at) == first;
    shapes.filter(is_drawn).for_each(|(_, shape)| canvas.draw(shape));
    canvas.cells()
}

impl Canvas {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            // The labels beside it say enough; dots across the whole picture would be taken for points.
            Shape::Line { role: Role::Grid, .. } => {}
            // A filled area would hide the points: its edges are enough, dotted.
            Shape::Area { role, points } => {
                if let [from, to, below, left] = points.as_slice() {
                    let sparse = if *role == Role::Noise { 4 } else { 2 };
                    self.line(*role, *from, *to, sparse);
                    self.line(*role, *left, *below, sparse);
                }
            }
            Shape::Line { role, points } => {
                let sparse = if *role == Role::Baseline { 3 } else { 1 };
                points.windows(2).for_each(|pair| self.line(*role, pair[0], pair[1], sparse));
            }
            Shape::Marks { role, at } => {
                let sign = match role {
                    Role::Kept => Some('●'),
                    Role::Broken => Some('×'),
                    Role::Refused => Some('◆'),
                    Role::Retracted => Some('○'),
                    _ => None,
                };
                at.iter().for_each(|place| match sign {
                    Some(sign) => self.sign(*place, sign, Some(*role)),
                    None => self.dot(*role, *place),
                });
            }
            Shape::Label { at, anchor, text } => {
                let count = text.chars().count() as f64;
                let begin = match anchor {
                    Anchor::Start => at.0,
                    Anchor::Middle => at.0 - count * DOT,
                    Anchor::End => at.0 - count * 2.0 * DOT,
                };
                // Half a character to the right, so that rounding does not drop the first.
                for (index, letter) in text.chars().enumerate() {
                    self.sign((begin + (index as f64 + 0.5) * 2.0 * DOT, at.1), letter, None);
                }
            }
        }
    }

    fn line(&mut self, role: Role, from: (f64, f64), to: (f64, f64), every: usize) {
        let steps = ((to.0 - from.0).abs().max((to.1 - from.1).abs()) / DOT).ceil().max(1.0) as usize;
        for step in (0..=steps).step_by(every) {
            let share = step as f64 / steps as f64;
            self.dot(role, (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)));
        }
    }

    fn dot(&mut self, role: Role, (x, y): (f64, f64)) {
        let (column, row) = ((x / DOT).max(0.0) as usize, (y / DOT).max(0.0) as usize);
        if let Some(at) = self.place(column / 2, row / 4) {
            self.dots[at].0 |= BITS[column % 2][row % 4];
            self.dots[at].1 = Some(role);
        }
    }

    fn sign(&mut self, (x, y): (f64, f64), sign: char, role: Option<Role>) {
        let (column, row) = ((x / (2.0 * DOT)).max(0.0) as usize, (y / (4.0 * DOT)).max(0.0) as usize);
        if let Some(at) = self.place(column, row) {
            self.signs[at] = Some(Cell { sign, role });
        }
    }

    fn place(&self, column: usize, row: usize) -> Option<usize> {
        (column < self.columns && row < self.rows).then_some(row * self.columns + column)
    }

    fn cells(&self) -> Vec<Vec<Cell>> {
        let cell = |at: usize| {
            let (bits, role) = self.dots[at];
            let dots = match bits {
                0 => ' ',
                bits => char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '),
            };
            self.signs[at].unwrap_or(Cell { sign: dots, role })
        };
        (0..self.rows).map(|row| (0..self.columns).map(|column| cell(row * self.columns + column)).collect()).collect()
    }
}
