//! A new segment on request.

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Rebase {}

pub(crate) fn rebase(_place: &Place, _args: &Rebase) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
