//! `overnight check --machine`: what this machine enforces, found by trying to break out.

use overnight_engine::dispatch::Fault;
use overnight_engine::process::Keeper;
use overnight_engine::sandbox::check::{ATTACK_HELD, CheckError, Checked, Stood, check as check_machine};
use overnight_engine::{clock::Stopwatch, process::attack};
use overnight_model::spec::Layer;
use serde_json::json;

use crate::args::{Attack, Check};
use crate::commands::scratch::Scratch;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

pub(super) fn check(args: &Check) -> Outcome<Exit> {
    // The keeper comes first: it is forked before there is any thread.
    let keeper = Keeper::fork().map_err(|error| CliError::from(Fault::from(error)))?;
    let scratch = Scratch::make()?;
    let program = program()?;
    let since = Stopwatch::start();
    let checked = check_machine(&keeper, scratch.path(), &program, args.sandbox)?;
    match args.json {
        true => ui::data(&object(&checked).to_string()),
        false => print(&checked, since.elapsed().as_secs_f64()),
    };
    Ok(if checked.is_sound() { Exit::Done } else { Exit::Fault })
}

/// `overnight __attack`: one attack, from inside a sandbox.
pub(crate) fn attack(args: &Attack) -> std::process::ExitCode {
    match attack::attack(&args.name, &args.arguments) {
        Some(outcome) => {
            ui::data(&outcome.what);
            if outcome.got_through { 0 } else { ATTACK_HELD as u8 }.into()
        }
        None => {
            ui::say(&format!("error: there is no attack `{}` with these arguments", args.name));
            (Exit::Usage as u8).into()
        }
    }
}

/// This very binary.
pub(crate) fn program() -> Outcome<std::path::PathBuf> {
    let failed = |error| CliError::new(Exit::Fault, "could not find this program itself").cause(&error);
    std::env::current_exe().and_then(std::fs::canonicalize).map_err(failed)
}

fn stood(stood: Stood) -> &'static str {
    match stood {
        Stood::Held => "held",
        Stood::Open => "not held, not claimed",
        Stood::Broken => "NOT HELD",
    }
}

fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Auto | Layer::Memory => "memory",
        Layer::Disk => "disk",
    }
}

fn print(checked: &Checked, seconds: f64) -> bool {
    let Checked { found, memory, processes, walls, raise } = checked;
    let widest = walls.iter().map(|wall| wall.what.len()).max().unwrap_or(0);
    for wall in walls {
        ui::data(&format!("{:widest$}  {} ({})", wall.what, stood(wall.stood), ui::printable(&wall.how)));
    }
    ui::data("");
    ui::data(&format!("tier       {}", found.tier.name()));
    let kept = if found.layer == Layer::Disk { "kept on disk" } else { "kept in memory" };
    ui::data(&format!("layers     {kept}"));
    ui::data(&format!("memory     {memory}"));
    ui::data(&format!("processes  {processes}"));
    for reason in &found.reasons {
        ui::data(&format!("note       {}", ui::printable(reason)));
    }
    if let Some(raise) = raise {
        ui::data(&format!("for more   {raise}"));
    }
    let count = |wanted| walls.iter().filter(|wall| wall.stood == wanted).count();
    let (held, open, broken) = (count(Stood::Held), count(Stood::Open), count(Stood::Broken));
    ui::data(&format!("{held} held, {open} not claimed, {broken} broken, in {seconds:.1} s"))
}

fn object(checked: &Checked) -> serde_json::Value {
    let Checked { found, memory, processes, walls, raise } = checked;
    let walls: Vec<_> = walls
        .iter()
        .map(|wall| {
            let stood = match wall.stood {
                Stood::Held => "held",
                Stood::Open => "not_claimed",
                Stood::Broken => "broken",
            };
            json!({ "what": wall.what, "stood": stood, "how": wall.how })
        })
        .collect();
    json!({
        "tier": found.tier.name(), "layer": layer(found.layer), "memory": memory, "processes": processes,
        "reasons": found.reasons, "raise": raise, "sound": checked.is_sound(), "walls": walls,
    })
}

impl From<CheckError> for CliError {
    fn from(error: CheckError) -> CliError {
        match error {
            CheckError::Git(error) => error.into(),
            CheckError::Keeper(error) => Fault::from(error).into(),
            error @ CheckError::Scratch { .. } => {
                CliError::new(Exit::Fault, error.to_string()).hint("a writable temporary folder is needed: set TMPDIR")
            }
        }
    }
}
