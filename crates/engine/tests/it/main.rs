//! The engine against the real machine: real children, real repositories, real disks.

mod earlier_judge;
mod gateway;
mod ledger;
mod process;
mod workspace;
