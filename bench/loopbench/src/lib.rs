//! The loop's judge on planted truth, and the rules of peers beside it.
//!
//! Every night has known effects and known noise; a rule sees measured scores alone. All rules get the same nights and
//! the same number of trials. What is printed follows from the options alone: `bench/loopbench/run --nights 400`.

mod audited;
mod by_mode;
mod by_slots;
mod chance;
mod claims;
mod command;
mod night;
mod noise;
mod options;
mod rules;
mod scenario;
mod score;
mod short;
mod studies;
mod table;
mod targets;
mod world;

pub use command::shown;
/// What a rule of one's own needs to run the same nights.
pub use night::{Night, Size, night};
pub use rules::{Move, Report, Rule};
pub use scenario::{SCENARIOS, Scenario};
/// For `overnight verify --judge`.
pub use short::{Checked, FULL, Short, check};
