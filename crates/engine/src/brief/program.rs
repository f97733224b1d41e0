//! The person's own file of instructions.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No program that a person writes is longer, and no model would read it.
const PROGRAM_LIMIT: u64 = 256 * 1024;

/// Reads it anew, where there is one: a person may change it while a run is going on.
pub fn read_program(path: &Path) -> Option<String> {
    // The person's own file: a link is as good as any.
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(PROGRAM_LIMIT).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
