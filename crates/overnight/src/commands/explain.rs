//! What a verdict means.

use crate::error::{CliError, Exit, Outcome};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Explain {}

pub(crate) fn explain(_args: &Explain) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
