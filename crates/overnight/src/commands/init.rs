//! The triplet, proposed.

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Init {}

pub(crate) fn init(_place: &Place, _args: &Init) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
