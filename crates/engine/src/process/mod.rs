//! The keeper: the one place in the project that starts processes.
//!
//! Three kinds of process take part, and each outlives what it must clean up:
//!
//! - the **engine** holds a [`Keeper`] and asks it to [`Keeper::start`] a [`Job`];
//! - the **keeper** (`serve`) is small and single-threaded, forked before any thread exists, and
//!   does nothing but make one init per job, itself or through a nurse (`nursery`), which is a
//!   keeper below it that lives in a control group;
//! - an **init** (`init`) starts the payload, holds its deadline, reaps and measures its tree,
//!   and tells the engine how it ended.
//!
//! Invariants:
//!
//! 1. When a [`Report`] arrives, no process of that job exists but its init, which is about to end.
//! 2. The end of the engine, of the keeper or of an init, by any signal, ends the jobs below it.
//!    The engine is noticed by end of file on its sockets and the keeper by the lifeline, a pipe
//!    whose write end only the keeper holds; no parent-death signals. A nurse is to the keeper
//!    what the keeper is to the engine, and the end of one ends only its job.
//! 3. A payload holds the descriptors 0, 1 and 2 and no other.
//! 4. A candidate's misbehaviour is an [`Ending`]; a [`KeeperError`] is the engine's own trouble.

// Namespaces, clone and signal masks have no safe call; every block says why it is sound.
#![allow(unsafe_code)]

mod again;
pub mod attack;
mod awake;
mod child;
mod confine;
mod course;
mod detach;
mod enclose;
mod ground;
mod idmap;
mod init;
mod inside;
mod job;
mod keeper;
mod nursery;
mod root;
mod serve;
mod spawn;
mod tree;
mod view;
mod wire;

pub use again::{Ended, run_to_end};
pub use awake::Awake;
pub use child::{Child, Finished, Killer};
pub use detach::{Detached, Restorer, can_be_stopped, leave_terminal, start_beside};
pub use enclose::INNER_USER;
pub use job::{Containment, Ending, HeldBy, Holder, Job, Report, Stdin, Stream};
pub use keeper::{Ender, Keeper, KeeperError};
pub use serve::{serve_stdin, serve_stdin_with};
pub use view::{Fenced, File, Layer, Limits, Mount, Network, Sandbox, View};
