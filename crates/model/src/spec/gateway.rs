//! Whom calls to models go to, as a person set it up.

use super::api::KeySource;
use crate::call::Protocol;
use crate::call::price::Prices;
use crate::units::Millis;

/// What the triplet says about calls to models.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gateway {
    pub providers: Vec<ProviderSpec>,
    pub tapes: TapeSpec,
    pub prices: Prices,
    pub expect_model: ExpectModel,
}

/// What becomes of it when another model answers than the one that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpectModel {
    #[default]
    Record,
    Stop,
}

/// What is kept of calls, and whether recorded ones are served instead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TapeSpec {
    /// Where answers are recorded, relative to the triplet.
    pub record: Option<String>,
    /// Where they are served from: nothing goes out then.
    pub replay: Option<String>,
    /// Regular expressions for what is never stored.
    pub redact: Vec<String>,
    pub keep: Retention,
}

/// How long traces are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retention {
    #[default]
    UntilForgotten,
    For(Millis),
    Not,
}

/// What is said of one provider; what is not said is as usual for one of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    pub name: String,
    /// Without user, query or an oblique stroke at the end.
    pub url: Option<String>,
    /// Empty where nothing is said.
    pub protocols: Vec<Protocol>,
    pub key: Option<KeySource>,
    /// Whether its key is the token of a subscription, which is paid whatever is asked.
    pub subscription: bool,
}
