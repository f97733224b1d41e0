//! Manual pages and completions, made from the command line itself.

use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_mangen::Man as Page;

use crate::args::whole;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Completions {
    /// Whose it is to be: `source <(overnight completions bash)`
    shell: Shell,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Man {
    /// Where a page for each command goes, such as ~/.local/share/man/man1; without it the first
    /// one is printed: `overnight man | man -l -`
    dir: Option<PathBuf>,
}

pub(crate) fn completions(args: &Completions) -> Outcome<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut offered(&whole()), "overnight", &mut script);
    ui::data(String::from_utf8_lossy(&script).trim_end());
    Ok(Exit::Done)
}

pub(crate) fn man(args: &Man) -> Outcome<Exit> {
    let Some(dir) = &args.dir else {
        ui::data(String::from_utf8_lossy(&render(whole())?).trim_end());
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, &error))?;
    let mut all = whole();
    all.build();
    let pages = all.get_subcommands().cloned().map(|command| {
        // `man overnight-run` finds it, and its synopsis says `overnight run`.
        let (name, shown) = (format!("overnight-{}", command.get_name()), format!("overnight {}", command.get_name()));
        (name.clone(), command.display_name(name).bin_name(shown))
    });
    let mut written = 0;
    for (name, command) in pages.chain([("overnight".to_owned(), whole())]) {
        let path = dir.join(format!("{name}.1"));
        std::fs::write(&path, render(command)?).map_err(|error| failed(&path, &error))?;
        written += 1;
    }
    ui::say(&format!("{written} pages are in {}", dir.display()));
    Ok(Exit::Done)
}

/// A command without its hidden options: the library offers those as well, and none can be taken away.
fn offered(command: &clap::Command) -> clap::Command {
    // The library wants names that live as long as the process, which prints and ends.
    let name: &'static str = command.get_name().to_owned().leak();
    let version = command.get_version().map(|_| env!("CARGO_PKG_VERSION"));
    clap::Command::default()
        .name(name)
        .version(version)
        .about(command.get_about().cloned().unwrap_or_default())
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().map(offered))
        .disable_help_subcommand(true)
}

fn render(command: clap::Command) -> Outcome<Vec<u8>> {
    let mut page = Vec::new();
    let rendered = Page::new(command).manual("overnight").render(&mut page);
    rendered.map_err(|error| CliError::new(Exit::Fault, "could not make a manual page").cause(&error))?;
    Ok(page)
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("could not write {}", path.display())).cause(error)
}
