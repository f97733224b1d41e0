//! The part of `overnight` that touches the machine. Decisions are the model's; here they are carried out.

pub mod agent;
pub mod brief;
pub mod clock;
pub mod context;
pub mod deliver;
pub mod dispatch;
pub mod forget;
pub mod gateway;
pub mod history;
pub mod holdout;
pub mod inbox;
pub mod ledger;
pub mod load;
pub mod lock;
pub mod notify;
pub mod open;
pub mod plans;
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the one place that starts processes and keeps their deadlines"
)]
pub mod process;
pub mod rehearse;
pub mod review;
pub mod sandbox;
pub mod say;
pub mod source;
pub mod tune;
pub mod verify;
pub mod worker;
pub mod workspace;
