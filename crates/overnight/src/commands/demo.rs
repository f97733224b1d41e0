//! A complete study in a scratch folder.

use crate::error::{CliError, Exit, Outcome};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Demo {}

pub(crate) fn demo(_args: &Demo) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
