//! Begins a run in a process of its own, out of the reach of this terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_engine::process::Detached;
use overnight_model::event::StopReason;
use rustix::process::{Pid, Signal, kill_process};

use super::signals::{Signals, suspend};
use super::{Seen, look};
use crate::args::Run;
use crate::commands::{run as plain, standing, study_flag};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;
use crate::views::night::Asked;

/// How soon to look whether a run has begun, and what it says.
const POLL: Duration = Duration::from_millis(20);

/// A run that was begun here.
struct Begun {
    child: Detached,
    log: PathBuf,
    /// What it says from here on is not shown yet.
    said: File,
}

/// Runs the loop, shows it, and says at its end what a run says.
pub(crate) fn run(site: &Site, args: &Run) -> Outcome<Exit> {
    let signals = Signals::listen()?;
    let mut begun = Begun::new(site, args)?;
    // What is told before anything runs stays on the screen that this one is put over.
    while !has_started(site, begun.child.pid()) {
        begun.tell()?;
        if signals.ends() {
            begun.signal(Signal::INT);
        }
        if signals.suspends() {
            suspend();
        }
        if let Some(ended) = begun.child.ended() {
            begun.tell()?;
            return Ok(ended.code().map_or(Exit::Fault, Exit::of_code));
        }
        std::thread::sleep(POLL);
    }
    begun.tell()?;
    match look(site, Some(&mut begun.child), &signals) {
        Ok(Seen::End) => begun.close(site),
        Ok(Seen::Left) => {
            tell_where(site, &begun);
            Ok(Exit::Done)
        }
        Ok(Seen::Closed) => Ok(Exit::Done),
        // The view has failed; the run goes on.
        Err(error) => {
            tell_where(site, &begun);
            Err(error)
        }
    }
}

/// Begins a run and leaves it to itself.
pub(crate) fn detach(site: &Site, args: &Run) -> Outcome<Exit> {
    let mut begun = Begun::new(site, args)?;
    // A run that is refused has to be told here, where somebody looks.
    while !has_started(site, begun.child.pid()) {
        if let Some(ended) = begun.child.ended() {
            begun.tell()?;
            return Ok(ended.code().map_or(Exit::Fault, Exit::of_code));
        }
        std::thread::sleep(POLL);
    }
    tell_where(site, &begun);
    Ok(Exit::Done)
}

fn tell_where(site: &Site, begun: &Begun) {
    let (pid, flag) = (begun.child.pid(), study_flag(site));
    ui::say(&format!("running in the background as process {pid}; its lines go to {}", begun.log.display()));
    ui::say(&format!("look at it with `overnight{flag}`, stop it with `kill {pid}`"));
}

/// Whether a process has recorded the beginning of its run.
fn has_started(site: &Site, pid: u32) -> bool {
    let summary = Reader::open(&site.state()).ok().and_then(|reader| reader.summary().ok().flatten());
    summary.is_some_and(|summary| summary.pid == Some(pid))
}

fn fault(what: &str, error: &dyn std::error::Error) -> CliError {
    CliError::new(Exit::Fault, what.to_owned()).cause(error)
}

impl Begun {
    /// Starts the same run again, with its lines in a file.
    fn new(site: &Site, args: &Run) -> Outcome<Begun> {
        let state = site.state();
        std::fs::create_dir_all(&state).map_err(|error| fault("could not make the study's folder", &error))?;
        let path = state.join("run.log");
        let log = OpenOptions::new().create(true).append(true).open(&path);
        let log = log.map_err(|error| fault("could not open run.log", &error))?;
        let mut said = File::open(&path).map_err(|error| fault("could not open run.log", &error))?;
        said.seek(SeekFrom::End(0)).map_err(|error| fault("could not read run.log", &error))?;
        let mut arguments = vec!["-C".to_owned(), site.dir.to_string_lossy().into_owned()];
        arguments.extend(["--study".to_owned(), site.study.clone(), "run".to_owned()]);
        arguments.extend(["--no-tui".to_owned(), "--detached".to_owned()]);
        arguments.extend(args.experiments.map(|n| format!("--experiments={n}")));
        arguments.extend(args.slots.map(|n| format!("--slots={n}")));
        arguments.extend(args.sandbox.map(|tier| format!("--sandbox={}", tier.name())));
        arguments.extend(args.snapshot.then(|| "--snapshot".to_owned()));
        arguments.extend(args.no_awake.then(|| "--no-awake".to_owned()));
        let program = std::env::current_exe().map_err(|error| fault("could not find the overnight program", &error))?;
        let child =
            Detached::start(&program, &arguments, log).map_err(|error| fault("could not start the run", &error))?;
        Ok(Begun { child, log: path, said })
    }

    /// Shows what the run has said since the last time. The head of a table is none without its rows.
    fn tell(&mut self) -> Outcome<()> {
        let mut bytes = Vec::new();
        self.said.read_to_end(&mut bytes).map_err(|error| fault("could not read run.log", &error))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.lines().filter(|line| !line.trim_start().starts_with("#  verdict")).for_each(ui::say);
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        let _ = Pid::from_raw(self.child.pid() as i32).map(|pid| kill_process(pid, signal));
    }

    /// What a run says at its end, once it is there.
    fn close(mut self, site: &Site) -> Outcome<Exit> {
        let ended = self.child.wait().map_err(|error| fault("could not wait for the run", &error))?;
        let reader = Reader::open(&site.state())?;
        let mut summary = reader.summary()?;
        summary.iter_mut().for_each(|summary| standing::add_probe(site, summary));
        let exit = ended.code().map_or(Exit::Fault, Exit::of_code);
        let spec = summary.as_ref().and_then(|summary| standing::spec(site, summary));
        let reason = summary.as_ref().and_then(|summary| summary.stopped.clone());
        match (reason, ended.code()) {
            (Some(reason), Some(_)) if !matches!(reason, StopReason::Fault { .. }) => {
                let asked = spec.as_ref().map(Asked::from).unwrap_or_default();
                plain::close(&reason, summary.as_ref(), (asked, spec.as_ref().map(|spec| &spec.agent)), site);
            }
            (_, Some(_)) => self.tell_error()?,
            (_, None) => {
                let flag = study_flag(site);
                let message = format!("the run was killed: {ended}");
                return Err(
                    CliError::new(Exit::Fault, message).hint(format!("`overnight run{flag}` goes on where it was"))
                );
            }
        }
        Ok(exit)
    }

    /// The last thing that a run says which could not go on.
    fn tell_error(&mut self) -> Outcome<()> {
        let mut bytes = Vec::new();
        self.said.read_to_end(&mut bytes).map_err(|error| fault("could not read run.log", &error))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.iter().rposition(|line| line.starts_with("error: ")).unwrap_or(lines.len().saturating_sub(5));
        lines[from..].iter().for_each(|line| ui::say(line));
        Ok(())
    }
}
