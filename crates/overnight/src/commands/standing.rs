//! How far a study has come: its triplet, its check, its runs.

use std::fs;

use overnight_engine::ledger::Reader;
use overnight_engine::load::{Problems, Site};
use overnight_engine::lock::{Holder, Lock};
use overnight_engine::open::{OpenError, spec_at};
use overnight_engine::workspace::{GitError, UserRepo, oid};
use overnight_model::BlobId;
use overnight_model::spec::Spec;
use overnight_model::study::Summary;

use crate::error::Outcome;

/// One study, looked at without being touched.
pub(super) struct Standing {
    pub(super) site: Site,
    pub(super) paper: Paper,
    pub(super) checked: Checked,
    pub(super) summary: Option<Summary>,
    pub(super) holder: Option<Holder>,
}

/// What the triplet says.
pub(super) enum Paper {
    /// The study has a ledger, and its triplet was removed.
    Gone,
    Problems(Problems),
    Sound(Box<Spec>),
    /// git has nothing yet that the triplet could be held against.
    Unborn(GitError),
}

/// Whether `overnight check` went through with this very triplet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    Never,
    /// It did, and the triplet has been changed since.
    Before,
    Yes,
    /// It did, and found nothing for the tuner to change: a person has the ideas.
    ByHand,
}

impl Standing {
    pub(super) fn of(site: Site) -> Outcome<Standing> {
        let reader = Reader::find(&site.state())?;
        let summary = reader.map(|reader| reader.summary()).transpose()?.flatten();
        let text = fs::read_to_string(&site.triplet).ok();
        let checked = text.as_deref().map_or(Checked::Never, |text| checked(&site, text));
        let user = match UserRepo::discover(&site.dir) {
            Ok(user) => user,
            Err(error @ (GitError::NotARepository { .. } | GitError::NoCommits { .. })) => {
                return Ok(Standing { site, paper: Paper::Unborn(error), checked, summary, holder: None });
            }
            Err(error) => return Err(error.into()),
        };
        let holder = Lock::holder(user.common_dir(), &site.study);
        let paper = match text {
            None => Paper::Gone,
            Some(text) => {
                let baseline = summary.as_ref().and_then(|summary| summary.baseline.as_ref());
                let from = baseline.map_or_else(|| user.head(), |level| oid(&level.commit))?;
                match spec_at(&site, &user, &text, from) {
                    Ok(spec) => Paper::Sound(Box::new(spec)),
                    Err(OpenError::Problems(problems)) => Paper::Problems(problems),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        Ok(Standing { site, paper, checked, summary, holder })
    }
}

/// `check` leaves a note of the triplet that it went through with.
fn checked(site: &Site, text: &str) -> Checked {
    let note = fs::read(site.state().join("check.json")).unwrap_or_default();
    let note: serde_json::Value = serde_json::from_slice(&note).unwrap_or_default();
    match (note["complete"].as_bool(), note["triplet"].as_str()) {
        (Some(true), Some(triplet)) if triplet == BlobId::of(text.as_bytes()).0 => {
            if note["nothing_to_tune"] == true {
                Checked::ByHand
            } else {
                Checked::Yes
            }
        }
        (Some(true), Some(_)) => Checked::Before,
        _ => Checked::Never,
    }
}
