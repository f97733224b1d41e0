//! Git as the user has it, and as we leave it.

mod checkout;
mod common;
mod copy;
mod keep;
mod line;
mod refusals;
mod syncs;
