//! Where things stand.

use crate::args::Place;
use crate::error::{CliError, Exit, Outcome};

pub(crate) fn bare(_place: &Place) -> Outcome<Exit> {
    Err(CliError::usage("not yet supported"))
}
