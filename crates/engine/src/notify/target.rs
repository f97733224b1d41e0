//! Whoever is told, and one try to tell them.

mod job;
mod webhook;

use std::path::{Path, PathBuf};
use std::time::Duration;

use overnight_model::spec::{KeySource, NotifySpec};

use self::webhook::Hook;
use super::Notice;
use crate::load;
use crate::process::{Keeper, Killer};

/// Whoever is told.
pub(super) enum Target {
    Command { command: String, keeper: Keeper, folder: PathBuf },
    Desktop { keeper: Keeper, folder: PathBuf },
    Webhook(Hook),
}

/// A try that did not reach them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Miss {
    pub(super) what: String,
    pub(super) again: Again,
    /// What must not be read in `what`.
    pub(super) secret: Option<String>,
}

/// Whether another try may do better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Never,
    Soon,
    /// As they asked for.
    After(Duration),
}

impl Miss {
    fn new(what: impl Into<String>, again: Again) -> Miss {
        Miss { what: what.into(), again, secret: None }
    }
}

/// Everybody whom a triplet names.
pub(super) fn all(spec: &NotifySpec, keeper: &Keeper, folder: &Path) -> Vec<Target> {
    let (keeper, folder) = (|| keeper.clone(), || folder.to_owned());
    let command = spec.command.clone();
    let command = command.map(|command| Target::Command { command, keeper: keeper(), folder: folder() });
    let desktop = spec.desktop.then(|| Target::Desktop { keeper: keeper(), folder: folder() });
    let webhook = spec.webhook.clone().map(|webhook| Target::Webhook(Hook::new(webhook, keeper(), folder())));
    [command, desktop, webhook].into_iter().flatten().collect()
}

impl Target {
    pub(super) fn name(&self) -> String {
        match self {
            Target::Command { command, .. } => format!("the command `{command}`"),
            Target::Desktop { .. } => "the desktop".to_owned(),
            Target::Webhook(hook) => match hook.source() {
                KeySource::Variable(name) => format!("the webhook in {name}"),
                KeySource::Command(command) => format!("the webhook from `{command}`"),
                KeySource::None => "the webhook".to_owned(),
            },
        }
    }

    /// Why they cannot be told, as far as that is known without trying.
    pub(super) fn trouble(&self) -> Option<String> {
        match self {
            Target::Command { .. } => None,
            Target::Desktop { .. } => no_desktop(&load::whole_environment()),
            Target::Webhook(hook) => hook.trouble(),
        }
    }

    /// Tries once. A program that is started for it is handed to `started`, to be ended from elsewhere.
    pub(super) fn send(&self, notice: &Notice, started: &dyn Fn(Killer)) -> Result<(), Miss> {
        match self {
            Target::Command { command, keeper, folder } => job::run(keeper, folder, command, notice, started),
            Target::Desktop { keeper, folder } => match no_desktop(&load::whole_environment()) {
                Some(trouble) => Err(Miss::new(trouble, Again::Never)),
                None => job::run(keeper, folder, job::NOTIFY_SEND, notice, started),
            },
            Target::Webhook(hook) => hook.post(notice, started),
        }
    }
}

/// Why there is no desktop to show something on.
fn no_desktop(environment: &[(String, String)]) -> Option<String> {
    let value = |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut folders = value("PATH").unwrap_or_default().split(':').filter(|folder| !folder.is_empty());
    if !folders.any(|folder| Path::new(folder).join("notify-send").is_file()) {
        return Some("there is no `notify-send` here (Debian: libnotify-bin)".to_owned());
    }
    let bus = value("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(folder).join("bus").exists());
    let has_bus = bus || value("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty());
    (!has_bus).then(|| "there is no desktop session here: no D-Bus session bus".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_desktop_needs_a_program_and_a_session() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let told = |variables: &[(&str, &str)]| {
            let variables: Vec<_> = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
            no_desktop(&variables)
        };
        assert!(told(&[("PATH", path)]).unwrap().contains("no `notify-send` here"));
        std::fs::write(folder.path().join("notify-send"), "").unwrap();
        assert!(told(&[("PATH", path), ("XDG_RUNTIME_DIR", path)]).unwrap().contains("no D-Bus session bus"));
        assert_eq!(told(&[("PATH", path), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x")]), None);
        std::fs::write(folder.path().join("bus"), "").unwrap();
        assert_eq!(told(&[("PATH", path), ("XDG_RUNTIME_DIR", path)]), None);
    }
}
