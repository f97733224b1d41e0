//! A hermetic repository, the binary run in it, and a look at what it left behind.

mod engine;
mod look;
mod repo;

pub(crate) use engine::{Engine, children, is_alive, signal, until};
pub(crate) use look::{Fingerprint, Json, json_lines, keys};
pub(crate) use repo::{Ran, Repo};
