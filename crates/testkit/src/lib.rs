//! What tests of `overnight` share: hermetic repositories, and the seeded simulator.

pub mod hook;
pub mod model;
pub mod provider;
pub mod repo;
pub mod sim;
