//! Manual pages and completions.

use crate::error::{CliError, Exit, Outcome};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Completions {}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Man {}

pub(crate) fn completions(_args: &Completions) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}

pub(crate) fn man(_args: &Man) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
