//! `overnight verify --attacks`: the attacks a clever candidate would try, carried out for real.
//!
//! Every cell is one attack at one level of assurance and one tier, in a scratch repository, through the same engine
//! that runs a night. The verdict must be the right one, and beside it nothing may have happened: no process left, no
//! residue for the next trial, the checkout and the champion as they were, the ledger sound.

mod bombs;
mod cells;
mod fixture;
mod host;
mod list;
mod models;
mod nulls;
mod proposals;
mod provider;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use overnight_engine::clock::Stopwatch;
use overnight_engine::dispatch::Fault;
use overnight_engine::process::Keeper;
use overnight_engine::sandbox;
use overnight_model::spec::{Assurance, Layer, Tier};
use serde_json::json;

use self::cells::Cell;
use self::fixture::Host;
use super::check::program;
use super::scratch::Scratch;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// What one worker does at a time.
type Work<'a> = Box<dyn FnOnce() -> Outcome<Vec<Cell>> + Send + 'a>;

/// What was not tried, and why.
type NotRun = (String, String);

const LEVELS: [Assurance; 2] = [Assurance::Cooperative, Assurance::Separated];

/// Side by side, so that waiting for deadlines costs nothing.
const WORKERS: usize = 4;

pub(crate) fn attacks(as_json: bool) -> Outcome<Exit> {
    // The keeper comes first: it is forked before there is any thread.
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    let since = Stopwatch::start();
    let scratch = Scratch::make()?;
    let (mut tiers, mut not_run) = (Vec::new(), Vec::new());
    for tier in [Tier::Standard, Tier::Landlock, Tier::None] {
        let found = sandbox::find(&keeper, scratch.path(), Layer::Auto, Some(tier));
        match found.tier == tier {
            true => tiers.push(tier),
            false => not_run.push((format!("tier {}", tier.name()), found.reasons.join("; "))),
        }
    }
    drop(keeper);
    let (host, _open) = host::open(scratch.path(), program()?)?;
    let (cells, more) = carry_out(&scratch, &host, &tiers)?;
    not_run.extend(more);
    let failed = cells.iter().filter(|cell| cell.problem.is_some()).count();
    match as_json {
        true => ui::data(&object(&cells, &not_run).to_string()),
        false => print(&cells, &not_run, since.elapsed().as_secs_f64()),
    };
    Ok(if failed == 0 { Exit::Done } else { Exit::Unsound })
}

/// All cells, and what could not be tried with the reason.
fn carry_out(scratch: &Scratch, host: &Host, tiers: &[Tier]) -> Outcome<(Vec<Cell>, Vec<NotRun>)> {
    let root = scratch.path();
    let skipped = Mutex::new(Vec::new());
    let skip = &skipped;
    let mut work: Vec<Work<'_>> = Vec::new();
    for tier in tiers.iter().copied() {
        work.push(Box::new(move || models::attacked(root, host, tier)));
        for level in LEVELS {
            for part in 0..cells::PARTS {
                work.push(Box::new(move || cells::in_one_study(root, host, level, tier, part)));
            }
        }
    }
    let walled = tiers.iter().copied().find(|tier| *tier > Tier::None);
    let strongest = walled.unwrap_or(Tier::None);
    if strongest >= Tier::Standard {
        work.push(Box::new(move || cells::on_disk(root, host, strongest)));
    }
    work.push(Box::new(move || match nulls::floor(root, host, strongest)? {
        Ok(cells) => Ok(cells),
        Err(reason) => {
            skip.lock().unwrap_or_else(PoisonError::into_inner).push(("null agents".to_owned(), reason));
            Ok(Vec::new())
        }
    }));
    work.push(Box::new(move || models::replayed(root, host, strongest)));
    work.push(Box::new(move || proposals::refused(root, host, strongest)));
    for tier in tiers.iter().copied() {
        for level in LEVELS {
            for attack in list::attacks() {
                work.push(Box::new(move || Ok(cells::alone(attack, root, host, level, tier)?.into_iter().collect())));
            }
        }
    }
    let mut all = side_by_side(work, WORKERS)?;
    // Alone, as far as we are concerned: the neighbour has to be theirs.
    if strongest >= Tier::Standard {
        all.extend(bombs::beside_another(root, host, strongest)?);
    }
    Ok((all, skipped.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Does all of it with a few threads, and gives the results in the order of the work.
fn side_by_side(work: Vec<Work<'_>>, workers: usize) -> Outcome<Vec<Cell>> {
    let queue: Mutex<VecDeque<_>> = Mutex::new(work.into_iter().enumerate().collect());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((number, work)) = next else { return };
                    let outcome = work();
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    let mut all = Vec::new();
    for (_, outcome) in done {
        all.extend(outcome?);
    }
    Ok(all)
}

fn print(cells: &[Cell], not_run: &[NotRun], seconds: f64) -> bool {
    let width = |of: fn(&Cell) -> usize| cells.iter().map(of).max().unwrap_or(0);
    let (attack, expected) = (width(|cell| cell.attack.len()), width(|cell| cell.expected.len()));
    let got = width(|cell| cell.got.len());
    let line = |a: &str, l: &str, t: &str, e: &str, g: &str, ok: &str| {
        ui::data(format!("{a:attack$}  {l:11}  {t:8}  {e:expected$}  {g:got$}  {ok}").trim_end())
    };
    line("attack", "level", "tier", "expected", "got", "ok");
    for cell in cells {
        let ok = match (&cell.problem, cell.is_said) {
            (Some(problem), _) => format!("NO: {}", ui::printable(problem)),
            (None, true) => "said".to_owned(),
            (None, false) => "held".to_owned(),
        };
        line(&cell.attack, cell.level, cell.tier, &cell.expected, &cell.got, &ok);
    }
    ui::data("");
    for (what, reason) in not_run {
        let reason = if reason.is_empty() { "this machine or this version does not give it" } else { reason };
        ui::data(&format!("not run: {what}: {}", ui::printable(reason)));
    }
    let said = cells.iter().filter(|cell| cell.is_said && cell.problem.is_none()).count();
    let failed = cells.iter().filter(|cell| cell.problem.is_some()).count();
    let held = cells.len() - said - failed;
    ui::data(&format!(
        "{} cells: {held} held, {said} not defended and said so, {failed} failed, in {seconds:.0} s",
        cells.len()
    ))
}

fn object(cells: &[Cell], not_run: &[NotRun]) -> serde_json::Value {
    let rows: Vec<_> = cells
        .iter()
        .map(|cell| {
            let Cell { attack, level, tier, expected, got, problem, is_said, seconds } = cell;
            let outcome = match (problem, is_said) {
                (Some(_), _) => "failed",
                (None, true) => "said",
                (None, false) => "held",
            };
            json!({ "attack": attack, "level": level, "tier": tier, "expected": expected, "got": got,
                    "outcome": outcome, "problem": problem, "seconds": seconds })
        })
        .collect();
    let not_run: Vec<_> = not_run.iter().map(|(what, reason)| json!({ "what": what, "reason": reason })).collect();
    json!({ "sound": cells.iter().all(|cell| cell.problem.is_none()), "cells": rows, "not_run": not_run })
}
