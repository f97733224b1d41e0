//! The engine against the real machine: real children, real repositories, real disks.

mod process;
mod workspace;
