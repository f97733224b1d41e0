//! How far a study has come: its triplet, its check, its runs.

use std::fs;

use overnight_engine::ledger::Reader;
use overnight_engine::load::{Problems, Site};
use overnight_engine::lock::{Holder, Lock};
use overnight_engine::open::{OpenError, spec_at};
use overnight_engine::workspace::{GitError, UserRepo, oid};
use overnight_model::BlobId;
use overnight_model::spec::Spec;
use overnight_model::study::{SeedUse, Summary};

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
        let mut summary = reader.map(|reader| reader.summary()).transpose()?.flatten();
        summary.iter_mut().for_each(|summary| add_probe(&site, summary));
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

/// Who runs the study right now.
pub(crate) fn holder(site: &Site) -> Option<Holder> {
    UserRepo::discover(&site.dir).ok().and_then(|user| Lock::holder(user.common_dir(), &site.study))
}

/// What the triplet says now, where it can be read.
pub(super) fn spec(site: &Site, summary: &Summary) -> Option<Spec> {
    let text = fs::read_to_string(&site.triplet).ok()?;
    let user = UserRepo::discover(&site.dir).ok()?;
    let from = summary.baseline.as_ref().and_then(|level| oid(&level.commit).ok())?;
    spec_at(site, &user, &text, from).ok()
}

/// `check` runs one seed twice, which a short run may not: what it found of this very triplet.
pub(super) fn add_probe(site: &Site, summary: &mut Summary) {
    if summary.noise.seed != SeedUse::Unknown {
        return;
    }
    let note = fs::read(site.state().join("check.json")).unwrap_or_default();
    let note: serde_json::Value = serde_json::from_slice(&note).unwrap_or_default();
    let text = fs::read(&site.triplet).unwrap_or_default();
    summary.noise.seed = match note["seed_read"].as_bool() {
        Some(is_read) if note["triplet"] == BlobId::of(&text).0 => match is_read {
            true => SeedUse::Settles,
            false => SeedUse::NotAlone,
        },
        _ => SeedUse::Unknown,
    };
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
