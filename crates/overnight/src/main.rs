//! `overnight`: the Karpathy loop on anything that can be scored.

mod args;
mod commands;
mod error;
mod ui;
mod views;

use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    let args = args::read();
    let place = &args.place;
    let outcome = match args.command.as_ref() {
        None => commands::bare::bare(place),
        Some(Command::Demo(demo)) => commands::demo::demo(demo),
        Some(Command::Init(init)) => commands::init::init(place, init),
        Some(Command::Check(check)) => commands::check::check(place, check),
        Some(Command::Run(run)) => commands::run::run(place, run),
        Some(Command::Show(show)) => commands::show::show(place, show),
        Some(Command::Report(report)) => commands::report::report(place, report),
        Some(Command::Log(log)) => commands::log::log(place, log),
        Some(Command::Try(attempt)) => commands::attempt::attempt(place, attempt),
        Some(Command::Status(status)) => commands::status::status(place, status),
        Some(Command::Verify(verify)) => commands::verify::verify(place, verify),
        Some(Command::Compare(compare)) => commands::compare::compare(place, compare),
        Some(Command::Review(review)) => commands::review::review(place, review),
        Some(Command::Say(say)) => commands::say::say(place, say),
        Some(Command::Pause) => commands::pause::pause(place),
        Some(Command::Resume) => commands::pause::resume(place),
        Some(Command::Audit(audit)) => commands::audit::audit(place, audit),
        Some(Command::Rebase(rebase)) => commands::rebase::rebase(place, rebase),
        Some(Command::Import(import)) => commands::import::import(place, import),
        Some(Command::Export(export)) => commands::export::export(place, export),
        Some(Command::Forget(forget)) => commands::forget::forget(place, forget),
        Some(Command::Explain(explain)) => commands::explain::explain(explain),
        Some(Command::Completions(completions)) => commands::manual::completions(completions),
        Some(Command::Man(man)) => commands::manual::man(man),
        Some(Command::Help(help)) => commands::help::help(help),
        Some(Command::Mcp(mcp)) => commands::mcp::mcp(place, mcp),
        Some(Command::Letters(letters)) => commands::letters::letters(place, letters),
        Some(Command::Terminal) => return ui::tty::restore_when_alone().into(),
        Some(Command::Keeper) => overnight_engine::process::serve_stdin(),
        Some(Command::Attack(attack)) => return commands::check::attack(attack),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(error) => {
            ui::error(&error);
            error.exit().into()
        }
    }
}
