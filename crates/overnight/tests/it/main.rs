//! The binary from the outside, in repositories of its own: screens, files, exit codes, signals and crashes.

// Tests start programs, look at the clock and read their own environment; the engine does so in one place each.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

mod agent;
mod attacks;
mod contract;
mod disk;
mod hints;
mod init;
mod isolation;
mod layers;
mod limits;
mod machine;
mod meddling;
mod metrics;
mod misuse;
mod refusals;
mod screens;
mod separated;
mod signals;
mod storms;
mod toolchains;
mod verdicts;
mod verify;
