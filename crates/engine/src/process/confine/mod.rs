//! The walls inside a sandbox: what a payload gives up shortly before it becomes the candidate's program.
//!
//! Each part stands alone and is called by the init or by the child it forks for the payload, but
//! for the [`cgroup`], in which both are born. The order matters to that child: set the [`limits`],
//! drop the capabilities, raise the [`fence`], and install the [`seccomp`] program last, since it
//! refuses calls that the others make.

pub(super) mod cgroup;
pub(super) mod fence;
pub(super) mod limits;
pub(super) mod seccomp;

#[cfg(test)]
mod tests;

use std::io;

use super::ground::Failure;

fn last(what: impl Into<String>) -> Failure {
    let error = io::Error::last_os_error();
    Failure { errno: error.raw_os_error().unwrap_or(libc::EINVAL), what: what.into() }
}
