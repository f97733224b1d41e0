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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Checked {
    Never,
    /// It did, and the triplet has been changed since.
    Before,
    Yes,
    /// It found what would spoil the night, and what to do about it.
    NotReady {
        topic: String,
        first: Option<String>,
    },
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

/// `check` leaves a note of the triplet that it looked at, and of what it found.
fn checked(site: &Site, text: &str) -> Checked {
    let note = fs::read(site.state().join("check.json")).unwrap_or_default();
    let note: serde_json::Value = serde_json::from_slice(&note).unwrap_or_default();
    let is_complete = note["complete"] == true;
    // A check that failed half-way has found something; one that a person stopped has not.
    let findings = note["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let of_level = |level: &str| findings.iter().find(|finding| finding["level"] == level);
    let worst = of_level("fail").or_else(|| of_level("refused"));
    let is_same = match note["triplet"].as_str() {
        Some(triplet) if is_complete || worst.is_some() => triplet == BlobId::of(text.as_bytes()).0,
        _ => return Checked::Never,
    };
    let word = |value: &serde_json::Value| value.as_str().map(ToOwned::to_owned);
    match worst {
        _ if !is_same => Checked::Before,
        Some(worst) => {
            Checked::NotReady { topic: word(&worst["topic"]).unwrap_or_default(), first: word(&note["first"]) }
        }
        None if note["ready"] == false => Checked::NotReady { topic: String::new(), first: word(&note["first"]) },
        None if note["nothing_to_tune"] == true => Checked::ByHand,
        None => Checked::Yes,
    }
}
