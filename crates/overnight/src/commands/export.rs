//! The history in another format.

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Export {}

pub(crate) fn export(_place: &Place, _args: &Export) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
