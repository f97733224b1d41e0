//! `overnight`: the Karpathy loop on anything that can be scored.

mod args;
mod commands;
mod error;
mod ui;
mod views;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args.command {
        Command::Run(run) => commands::run::run(&args.place, run),
        Command::Try(attempt) => commands::attempt::attempt(&args.place, attempt),
        Command::Status(status) => commands::status::status(&args.place, status),
        Command::Log(log) => commands::log::log(&args.place, log),
        Command::Show(show) => commands::show::show(&args.place, show),
        Command::Verify(verify) => commands::verify::verify(&args.place, verify),
        Command::Check(check) => commands::check::check(check),
        Command::Attack(attack) => return commands::check::attack(attack),
        Command::Keeper => overnight_engine::process::serve_stdin(),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(error) => {
            ui::error(&error);
            error.exit().into()
        }
    }
}
