//! Proposals of somebody outside: left as letters, taken up by whoever runs the study, and asked after by name.

use overnight_model::study::Summary;
use overnight_model::{ExperimentId, Timestamp, What};
use thiserror::Error;

use crate::inbox::{Delivery, Inbox, InboxError, LARGEST_PROPOSAL, Letter, MOST_PROPOSALS};
use crate::ledger::{LedgerError, Reader};
use crate::load::Site;
use crate::open::state_pattern;
use crate::workspace::{GitError, UserRepo};

#[derive(Debug, Error)]
pub enum DeliverError {
    #[error("{MOST_PROPOSALS} proposals wait already")]
    Full,
    #[error("the proposal is larger than {LARGEST_PROPOSAL} bytes")]
    TooLarge,
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What became of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// Nobody has taken it up yet.
    Waits,
    Became(ExperimentId),
    /// It could not become an experiment, and why.
    Returned(String),
    /// No letter of this name waits or was taken up.
    Unknown,
}

/// Leaves a proposal, and gives the name by which it is asked after. When this returns, it lasts.
pub fn leave(site: &Site, delivery: &Delivery, now: Timestamp) -> Result<String, DeliverError> {
    if !delivery.fits() {
        return Err(DeliverError::TooLarge);
    }
    let user = UserRepo::discover(&site.dir)?;
    user.exclude(&state_pattern(&user, site))?;
    let inbox = Inbox::of(&site.state());
    let _turn = inbox.turn()?;
    inbox.put_proposal(delivery, now)?.ok_or(DeliverError::Full)
}

/// What became of a proposal so far.
pub fn came(site: &Site, letter: &str) -> Result<Came, DeliverError> {
    // The box first: a letter is removed only once the ledger has it.
    let waits = Inbox::of(&site.state()).proposals()?.iter().any(|name| name == letter);
    let recorded = match Reader::find(&site.state())? {
        Some(reader) => reader.letter(letter)?,
        None => None,
    };
    Ok(match recorded {
        Some(What::Delivered { becomes, .. }) => Came::Became(becomes),
        Some(What::Returned { why, .. }) => Came::Returned(why),
        _ if waits => Came::Waits,
        _ => Came::Unknown,
    })
}

/// Takes a proposal back that nobody has taken up; false where somebody has, or may have at this moment.
pub fn withdraw(site: &Site, letter: &str) -> Result<bool, DeliverError> {
    let was_there = Inbox::of(&site.state()).remove_proposal(letter)?;
    Ok(was_there && came(site, letter)? == Came::Unknown)
}

/// Whether nothing new begins, as it will be when everything that waits was taken up.
pub fn is_paused(site: &Site, summary: Option<&Summary>) -> Result<bool, InboxError> {
    let said = Inbox::of(&site.state()).waiting()?.into_iter().rev().find_map(|waiting| match waiting.letter {
        Letter::Pause => Some(true),
        Letter::Resume => Some(false),
        _ => None,
    });
    Ok(said.unwrap_or_else(|| summary.is_some_and(|summary| summary.paused)))
}
