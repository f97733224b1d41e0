//! The scene as PNG: outlines are filled by the rasteriser of glyphs, so that a picture needs nothing larger.

use ab_glyph::{Font, FontRef, ScaleFont, point};
use ab_glyph_rasterizer::{Point, Rasterizer};

use super::{Anchor, Role, Scene, Shape};
use crate::error::{CliError, Exit, Outcome};

/// Letters of DejaVu Sans that a chart can need; its licence lies beside it.
const FONT: &[u8] = include_bytes!("font/DejaVuSans.ttf");
/// Twice as fine as the scene: as sharp as screens are today.
const FINE: f32 = 2.0;
const TEXT: f32 = 13.0;
const WHITE: [u8; 3] = [255, 255, 255];
const INK: [u8; 3] = [0x3b, 0x42, 0x52];

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

pub(crate) fn png(scene: &Scene) -> Outcome<Vec<u8>> {
    let (width, height) = ((scene.width as f32 * FINE) as usize, (scene.height as f32 * FINE) as usize);
    let mut canvas = Canvas { width, height, pixels: WHITE.repeat(width * height) };
    let broken = |error: &dyn std::error::Error| CliError::new(Exit::Fault, "could not draw the chart").cause(error);
    let font = FontRef::try_from_slice(FONT).map_err(|error| broken(&error))?;
    scene.shapes.iter().for_each(|shape| canvas.draw(shape, &font));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|error| broken(&error))?;
    writer.write_image_data(&canvas.pixels).map_err(|error| broken(&error))?;
    writer.finish().map_err(|error| broken(&error))?;
    Ok(bytes)
}

/// As the light half of the style sheet has it.
fn colour(role: Role) -> [u8; 3] {
    match role {
        Role::Grid => [0xe3, 0xe6, 0xec],
        Role::Noise => [0xdf, 0xe9, 0xf7],
        Role::Interval => [0xae, 0xcb, 0xf0],
        Role::Champion => [0x1f, 0x5f, 0xbf],
        Role::Kept => [0x0a, 0x7d, 0x43],
        Role::NotBetter | Role::Baseline => [0x7a, 0x84, 0x96],
        Role::Broken => [0xb3, 0x26, 0x1e],
        Role::Refused | Role::Retracted => [0x8a, 0x5a, 0x00],
    }
}

impl Canvas {
    fn draw(&mut self, shape: &Shape, font: &FontRef<'_>) {
        match shape {
            Shape::Area { role, points } => self.fill(&[fine(points)], colour(*role)),
            Shape::Line { role, points } => {
                let width = if *role == Role::Champion { 2.0 } else { 1.0 };
                let points = fine(points);
                for pair in points.windows(2) {
                    match role {
                        Role::Baseline => self.dashed(pair[0], pair[1], width, colour(*role)),
                        _ => self.stroke(pair[0], pair[1], width, colour(*role)),
                    }
                }
            }
            Shape::Marks { role, at } => fine(at).into_iter().for_each(|place| self.mark(*role, place)),
            Shape::Label { at, anchor, text } => self.text(font, fine(&[*at])[0], *anchor, text),
        }
    }

    fn mark(&mut self, role: Role, at: Point) {
        let colour = colour(role);
        let moved = |x: f32, y: f32| point(at.x + x * FINE, at.y + y * FINE);
        match role {
            Role::Broken => {
                self.stroke(moved(-2.5, -2.5), moved(2.5, 2.5), 1.6, colour);
                self.stroke(moved(-2.5, 2.5), moved(2.5, -2.5), 1.6, colour);
            }
            Role::Refused => {
                self.fill(&[vec![moved(0.0, -4.5), moved(4.5, 0.0), moved(0.0, 4.5), moved(-4.5, 0.0)]], colour);
            }
            // What is inside runs the other way round, and is left out.
            Role::Retracted => {
                let mut inside = circle(at, 3.1);
                inside.reverse();
                self.fill(&[circle(at, 4.9), inside], colour);
            }
            Role::Kept => self.fill(&[circle(at, 4.5)], colour),
            _ => self.fill(&[circle(at, 2.0)], colour),
        }
    }

    fn dashed(&mut self, from: Point, to: Point, width: f32, colour: [u8; 3]) {
        let length = (to.x - from.x).hypot(to.y - from.y).max(1.0);
        let at = |along: f32| {
            let share = (along / length).min(1.0);
            point(from.x + share * (to.x - from.x), from.y + share * (to.y - from.y))
        };
        let (dash, gap) = (2.0 * FINE, 5.0 * FINE);
        for index in 0..(length / (dash + gap)) as usize {
            let begin = index as f32 * (dash + gap);
            self.stroke(at(begin), at(begin + dash), width, colour);
        }
    }

    fn stroke(&mut self, from: Point, to: Point, width: f32, colour: [u8; 3]) {
        let (x, y) = (to.x - from.x, to.y - from.y);
        let length = x.hypot(y);
        if length == 0.0 {
            return;
        }
        let half = width * FINE / 2.0;
        // A little longer at both ends, so that corners are closed.
        let (along, across) = ((x / length * half, y / length * half), (-y / length * half, x / length * half));
        let corner = |end: Point, way: f32, side: f32| {
            point(end.x + way * along.0 + side * across.0, end.y + way * along.1 + side * across.1)
        };
        let corners = [(from, -1.0, 1.0), (to, 1.0, 1.0), (to, 1.0, -1.0), (from, -1.0, -1.0)];
        self.fill(&[corners.map(|(end, way, side)| corner(end, way, side)).to_vec()], colour);
    }

    /// Fills outlines, with soft edges.
    fn fill(&mut self, outlines: &[Vec<Point>], colour: [u8; 3]) {
        let all = || outlines.iter().flatten();
        let least = |of: fn(&Point) -> f32| all().map(of).fold(f32::INFINITY, f32::min).floor();
        let most = |of: fn(&Point) -> f32| all().map(of).fold(f32::NEG_INFINITY, f32::max).ceil();
        let (left, top) = (least(|point| point.x), least(|point| point.y));
        let (wide, high) = (most(|point| point.x) - left, most(|point| point.y) - top);
        if !(wide > 0.0 && high > 0.0 && wide < 20_000.0 && high < 20_000.0) {
            return;
        }
        let mut raster = Rasterizer::new(wide as usize + 1, high as usize + 1);
        for outline in outlines {
            let inside = |place: &Point| point(place.x - left, place.y - top);
            let next = outline.iter().cycle().skip(1);
            outline.iter().zip(next).for_each(|(from, to)| raster.draw_line(inside(from), inside(to)));
        }
        self.blend(&raster, (left, top), colour);
    }

    fn text(&mut self, font: &FontRef<'_>, at: Point, anchor: Anchor, text: &str) {
        let scaled = font.as_scaled(font.pt_to_px_scale(TEXT * FINE * 0.75).unwrap_or((TEXT * FINE).into()));
        let width: f32 = text.chars().map(|letter| scaled.h_advance(font.glyph_id(letter))).sum();
        let mut x = match anchor {
            Anchor::Start => at.x,
            Anchor::Middle => at.x - width / 2.0,
            Anchor::End => at.x - width,
        };
        let y = at.y + 4.5 * FINE;
        for letter in text.chars() {
            let id = font.glyph_id(letter);
            let glyph = id.with_scale_and_position(scaled.scale(), point(x, y));
            x += scaled.h_advance(id);
            let Some(outlined) = font.outline_glyph(glyph) else { continue };
            let bounds = outlined.px_bounds();
            outlined.draw(|column, row, share| {
                self.pixel(bounds.min.x as i64 + i64::from(column), bounds.min.y as i64 + i64::from(row), share, INK);
            });
        }
    }

    fn blend(&mut self, raster: &Rasterizer, (left, top): (f32, f32), colour: [u8; 3]) {
        raster.for_each_pixel_2d(|x, y, share| {
            self.pixel(left as i64 + i64::from(x), top as i64 + i64::from(y), share, colour);
        });
    }

    fn pixel(&mut self, x: i64, y: i64, share: f32, colour: [u8; 3]) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let at = (y as usize * self.width + x as usize) * 3;
        let share = share.abs().min(1.0);
        for (pixel, wanted) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            *pixel = (f32::from(*pixel) * (1.0 - share) + f32::from(wanted) * share).round() as u8;
        }
    }
}

fn fine(points: &[(f64, f64)]) -> Vec<Point> {
    points.iter().map(|(x, y)| point(*x as f32 * FINE, *y as f32 * FINE)).collect()
}

fn circle(at: Point, radius: f32) -> Vec<Point> {
    const CORNERS: u32 = 24;
    let corner = |index: u32| {
        let angle = index as f32 / CORNERS as f32 * std::f32::consts::TAU;
        point(at.x + radius * FINE * angle.cos(), at.y + radius * FINE * angle.sin())
    };
    (0..CORNERS).map(corner).collect()
}
