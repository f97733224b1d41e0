//! Everything git, and the working copies that trials run in.
//!
//! The user's repository ([`UserRepo`]) is read freely and receives three things only: the objects of
//! kept commits, the branch `overnight/<study>`, and one ref for the baseline; and a branch that a person asks for. Proposals live in the
//! engine's own [`Store`], which borrows the user's objects. A [`struct@Copy`] is a folder laid out from a
//! commit and made pristine again between trials.
//!
//! No filter driver, hook, fsmonitor or git process is ever run, and the configuration of the user or
//! of the system is never read.

mod branch;
mod checkout;
mod compare;
mod copy;
mod delta;
mod disk;
mod erase;
mod error;
mod folder;
mod fresh;
mod lfs;
mod line;
mod lock;
mod make;
mod merge;
mod names;
mod object;
mod pack;
mod plan;
mod pristine;
mod refs;
mod refuse;
mod remove;
mod row;
mod snapshot;
mod store;
mod surface;
mod tree;
mod upper;
mod user;
mod visit;

pub use checkout::{Dirty, How};
pub use copy::{Changes, Copy};
pub use erase::overwrite;
pub use error::{GitError, shell_word};
pub use folder::{empty, wipe};
pub use fresh::{NewFile, read_new};
pub use gix::ObjectId;
pub use line::{LineCommit, NoLine};
pub use merge::merged;
pub use names::Names;
pub use plan::CommitPlan;
pub use row::Again;
pub use store::Store;
pub use surface::{NotAFile, SurfaceRead, is_executable, is_gone, read_surface};
pub use tree::{FileKind, TreeFile};
pub use upper::changes_in_upper;
pub use user::UserRepo;

use overnight_model::CommitId;

/// A recorded commit's name as git's own type.
pub fn oid(id: &CommitId) -> Result<ObjectId, GitError> {
    ObjectId::from_hex(id.0.as_bytes())
        .map_err(|source| GitError::BadName { name: id.0.clone(), source: source.into() })
}
