//! What people and programs are shown, out of rows and summary alone.

pub(crate) mod board;
pub(crate) mod chart;
pub(crate) mod costs;
pub(crate) mod json;
pub(crate) mod mcp;
pub(crate) mod night;
pub(crate) mod notice;
pub(crate) mod report;
pub(crate) mod team;
pub(crate) mod term;
pub(crate) mod terminal;
