//! The shape of the model, learned now and then, and remembered meanwhile.

use super::frame::Seen;
use super::gauss::{Sample, Shape};

/// What need not be worked out again. Nothing depends on it but time: the same questions have the same answers without it.
#[derive(Debug, Default)]
pub struct Memo {
    /// The latest first, by the digest of the sample that each was learned from.
    shapes: Vec<(u64, Shape)>,
}

/// A shape is learned from so many points at most: its cost grows with the cube.
const POINTS: usize = 96;

/// Up to so many, every point may change the shape; of more, one in so many does.
const ALWAYS: usize = 48;
const EVERY: usize = 12;

const STEPS: usize = 24;

/// Those of the values and of the failures, before and after a move of the champion.
const KEPT: usize = 4;

impl Memo {
    /// The most plausible shape for what was measured.
    pub(super) fn shape(&mut self, seen: &Seen<'_>, measured: usize) -> Shape {
        let count = if measured > ALWAYS { measured - measured % EVERY } else { measured };
        self.fitted(&seen.first(count, POINTS), STEPS)
    }

    pub(super) fn fitted(&mut self, sample: &Sample, steps: usize) -> Shape {
        let digest = sample.digest();
        if let Some((_, shape)) = self.shapes.iter().find(|(known, _)| *known == digest) {
            return shape.clone();
        }
        let shape = Shape::fit(sample, steps);
        self.shapes.insert(0, (digest, shape.clone()));
        self.shapes.truncate(KEPT);
        shape
    }
}
