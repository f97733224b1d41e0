//! The history that another tool kept.

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Import {}

pub(crate) fn import(_place: &Place, _args: &Import) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
