//! The live view: a study on a terminal while it runs.
//!
//! Everything here is pure. `Screen` is what is shown and what a person does with it, `keys` makes keys of bytes, `press`
//! makes wishes of keys, and `draw` makes a frame of a screen. Who reads the ledger, the terminal and the clock is
//! `commands::live`. Every text is taken for foreign: `Pen` cleans all of it.

mod chart;
mod detail;
mod doing;
mod draw;
mod help;
mod keys;
mod list;
mod panel;
mod pen;
mod press;
mod screen;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use self::draw::{Areas, draw};
pub(crate) use self::keys::Keys;
pub(crate) use self::pen::Palette;
pub(crate) use self::press::press;
pub(crate) use self::screen::{Opened, Screen, Wish};
pub(crate) use self::trace::trace;
