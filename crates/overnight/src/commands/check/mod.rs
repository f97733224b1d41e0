//! `overnight check`: what would happen tonight, and what to fix first.

mod agent;
mod api;
mod before;
pub(crate) mod brief;
mod coding;
mod cost;
mod end;
mod exam;
mod fixed;
mod holdout;
mod look;
mod machine;
mod notify;
mod nulls;
mod repeats;
mod report;
mod screen;
mod seeds;
mod study;
mod trials;
mod tunable;
mod tuner;
mod words;

pub(crate) use api::missed_keys;
pub(crate) use coding::{describe, refuse_missing};
pub(in crate::commands) use exam::{Exam, examine};
pub(crate) use machine::{attack, program};

use crate::args::{Check, Place};
use crate::error::{Exit, Outcome};

pub(crate) fn check(place: &Place, args: &Check) -> Outcome<Exit> {
    if let Some(name) = &args.agent {
        return coding::check(place, args, name);
    }
    if args.notify {
        return notify::check(place, args);
    }
    match (args.machine, args.tuner, args.brief) {
        (true, ..) => machine::check(args),
        (_, true, _) => tuner::check(place, args),
        (.., true) => brief::check(place, args),
        _ => study::check(place, args),
    }
}
