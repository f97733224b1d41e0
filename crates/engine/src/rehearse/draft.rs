//! A study that is not there yet: somebody drafts it, and it is measured before a file of it is in the checkout.

use std::path::Path;

use overnight_model::event::AttemptFailure;
use overnight_model::spec::Member;

use super::folder::Folder;
use super::{Bench, RehearseError, Subject};
use crate::agent;
use crate::clock;
use crate::load::Site;
use crate::open::{OpenError, refuse_tracked_state};
use crate::workspace::{NewFile, Store, UserRepo};

/// Stands for the surface while nobody has said what it is; no agent sees it.
const STANDIN: &str = "overnight-stands-for-the-surface";

/// What a drafter left.
pub struct Draft {
    /// Every new file, sorted by path; or why there is none.
    pub files: Result<Vec<NewFile>, AttemptFailure>,
    /// What it printed, keys taken out.
    pub output: String,
}

impl Subject {
    /// The working tree with new files in it, for whoever adds to them; `agent` is the triplet's section about who.
    /// Everything of it lies in `scratch`: neither the checkout nor its `.git` is written to.
    pub fn to_draft(site: &Site, scratch: &Path, agent: &str, files: &[NewFile]) -> Result<Subject, OpenError> {
        let triplet = format!(
            "surface = \"{STANDIN}\"\nmetric = {{ name = \"unknown\", goal = \"min\" }}\n[evaluate]\nrun = \"true\"\n\
             budget = \"5m\"\n{agent}"
        );
        let prefix = UserRepo::discover(&site.dir)?.prefix(&site.dir);
        let path = prefix.join(STANDIN).to_string_lossy().into_owned();
        let standin = NewFile { path, bytes: Vec::new(), runs: false };
        let files: Vec<NewFile> = files.iter().cloned().chain([standin]).collect();
        Subject::with(site, scratch, triplet, &files)
    }

    /// The working tree with a draft's files in it, measured as its triplet says. Everything of it lies in `scratch`.
    pub fn of_draft(site: &Site, scratch: &Path, triplet: String, files: &[NewFile]) -> Result<Subject, OpenError> {
        Subject::with(site, scratch, triplet, files)
    }

    fn with(site: &Site, scratch: &Path, triplet: String, files: &[NewFile]) -> Result<Subject, OpenError> {
        let user = UserRepo::discover(&site.dir)?;
        refuse_tracked_state(site, &user, user.head()?)?;
        let folder = Folder::among(scratch)?;
        let store = Store::open_or_init(&folder.path().join("store.git"), &user)?;
        let commit = store.take_worktree_with(&user, files, clock::now().0 / 1000)?;
        let source = store.beside(&user);
        let dirty = user.dirty()?;
        Subject::of(site, triplet, (user, dirty), (source, commit), folder)
    }
}

impl Bench {
    /// One turn of a drafter, whose `own` files are the draft so far.
    pub fn draft(&mut self, member: &Member, prompt: &str, own: &[NewFile]) -> Result<Draft, RehearseError> {
        let mut desk = self.room.shop.desk();
        let (files, output) = self.again_after_sleep(|_, room| {
            let drafted = agent::draft::ask(member, &mut desk, room, prompt, own);
            desk.tidy(room);
            drafted
        })?;
        Ok(Draft { files, output: String::from_utf8_lossy(&output.kept).into_owned() })
    }
}
