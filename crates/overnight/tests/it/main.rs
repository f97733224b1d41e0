//! The binary from the outside, in repositories of its own: screens, files, exit codes, signals and crashes.

// Tests start programs, look at the clock and read their own environment; the engine does so in one place each.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

mod agent;
mod api;
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
mod hostile;
mod init;
mod isolation;
mod judge;
mod layers;
mod letters;
mod limits;
mod machine;
mod mcp;
mod meddling;
mod metrics;
mod misuse;
mod model;
mod rebase;
mod refusals;
mod report;
mod review;
mod say;
mod screens;
mod seam;
mod search;
mod separated;
mod signals;
mod storms;
mod toolchains;
mod tuner;
mod verdicts;
mod verify;
