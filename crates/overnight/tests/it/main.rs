//! The binary from the outside, in repositories of its own: screens, files, exit codes, signals and crashes.

// Tests start programs, look at the clock and read their own environment; the engine does so in one place each.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

mod agent;
mod attacks;
mod audit;
mod bare;
mod brief;
mod check;
mod coding;
mod compare;
mod contract;
mod demo;
mod disk;
mod docs;
mod explain;
mod guards;
mod hints;
mod history;
mod holdout;
mod init;
mod isolation;
mod judge;
mod layers;
mod limits;
mod machine;
mod meddling;
mod metrics;
mod misuse;
mod rebase;
mod refusals;
mod review;
mod say;
mod screens;
mod search;
mod separated;
mod signals;
mod storms;
mod team;
mod toolchains;
mod tuner;
mod verdicts;
mod verify;
