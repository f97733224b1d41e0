//! What is compared: two trees, each as a whole, or two surfaces on one tree.

use std::path::PathBuf;

use overnight_engine::load::Site;
use overnight_engine::rehearse::{Revision, Subject};
use overnight_model::CommitId;
use overnight_model::proposal::Contents;
use overnight_model::spec::Spec;

use super::Compare;
use crate::commands::trials::not_fitting;
use crate::error::{CliError, Outcome};

/// One of the two.
pub(super) struct Side {
    /// `A` or `B`.
    pub(super) label: &'static str,
    /// As the person named it.
    pub(super) name: String,
    /// `None` for the working tree.
    pub(super) commit: Option<CommitId>,
    pub(super) spec: Spec,
    pub(super) surface: Contents,
}

/// The two, and the trees they run in.
pub(super) struct Sides {
    pub(super) study: String,
    pub(super) a: Side,
    pub(super) b: Side,
    /// `None` where A's surface runs on B's tree.
    pub(super) tree_of_a: Option<Subject>,
    pub(super) tree_of_b: Subject,
    /// What differs beyond the surface.
    pub(super) differences: Vec<PathBuf>,
}

impl Sides {
    pub(super) fn find(site: &Site, args: &Compare) -> Outcome<Sides> {
        let (a, b) = (Revision::find(site, &args.a)?, Revision::find(site, &args.b)?);
        let subject = |label: &str, name: &str, revision: Revision| {
            revision.subject(site).map_err(|error| not_fitting(error.into(), &format!("{label}, which is `{name}`")))
        };
        let (tree_of_a, tree_of_b) = (subject("A", &args.a, a)?, subject("B", &args.b, b)?);
        let differences = tree_of_b.locked_differences(&tree_of_a)?;
        let side = |label: &'static str, name: &str, revision: Revision, tree: &Subject| {
            let commit = match revision {
                Revision::Worktree => None,
                Revision::Commit(commit) => Some(CommitId(commit.to_string())),
            };
            Side { label, name: name.to_owned(), commit, spec: tree.spec.clone(), surface: tree.surface.clone() }
        };
        let (mut a, b) = (side("A", &args.a, a, &tree_of_a), side("B", &args.b, b, &tree_of_b));
        let study = site.study.clone();
        if !args.surface_only {
            return Ok(Sides { study, a, b, tree_of_a: Some(tree_of_a), tree_of_b, differences });
        }
        a.surface = tree_of_b.with_surface_of(&tree_of_a).ok_or_else(|| {
            let message = format!("the surface of `{}` cannot be put on the tree of `{}`", args.a, args.b);
            CliError::usage(message).hint("each must hold the line that divides what may change, exactly once")
        })?;
        a.spec = b.spec.clone();
        Ok(Sides { study, a, b, tree_of_a: None, tree_of_b, differences })
    }
}
