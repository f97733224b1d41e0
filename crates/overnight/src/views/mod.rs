//! What people and programs are shown, out of rows and summary alone.

pub(crate) mod board;
pub(crate) mod chart;
pub(crate) mod json;
pub(crate) mod mcp;
pub(crate) mod night;
pub(crate) mod report;
pub(crate) mod term;
