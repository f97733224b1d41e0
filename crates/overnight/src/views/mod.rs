//! What people and programs are shown, out of rows and summary alone.

pub(crate) mod json;
pub(crate) mod night;
pub(crate) mod team;
pub(crate) mod term;
