//! The surface that a proposal is made from, and the ways to say what it becomes.

use diffy::patch_set::{ParseOptions, PatchSet};
use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_engine::open::spec_at;
use overnight_engine::plans;
use overnight_engine::workspace::{GitError, UserRepo};
use overnight_model::proposal::Contents;
use overnight_model::{CommitId, ExperimentId};

use super::origin::surface_of;
use super::show::row_of;
use crate::error::{CliError, Outcome};

/// What a proposal is made from.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    /// The experiment whose surface it is, and its commit; none where nothing was measured yet.
    pub(crate) of: Option<(ExperimentId, CommitId)>,
    pub(crate) contents: Contents,
}

impl Base {
    /// The champion of this moment; before the first run what the last commit has.
    pub(crate) fn champion(site: &Site) -> Outcome<Base> {
        let reader = Reader::find(&site.state())?;
        let summary = reader.as_ref().map(|reader| reader.summary()).transpose()?.flatten();
        match (&reader, summary.and_then(|summary| summary.champion)) {
            (Some(reader), Some(level)) => Base::recorded(reader, level.experiment, level.commit),
            _ => Base::head(site),
        }
    }

    /// An experiment that is or was champion.
    pub(crate) fn experiment(site: &Site, id: ExperimentId) -> Outcome<Base> {
        let champion = Base::champion(site)?;
        if champion.of.as_ref().is_some_and(|(of, _)| *of == id) {
            return Ok(champion);
        }
        let reader = super::ledger_of(site)?;
        let row = row_of(&reader, id)?;
        let commit = row.commit.ok_or_else(|| CliError::usage(format!("experiment {id} has no commit")))?;
        Base::recorded(&reader, id, commit)
    }

    fn recorded(reader: &Reader, id: ExperimentId, commit: CommitId) -> Outcome<Base> {
        let surface = surface_of(reader, id)?;
        let surface = surface.ok_or_else(|| CliError::usage(format!("experiment {id} has no surface")))?;
        Ok(Base { of: Some((id, commit)), contents: plans::contents(reader, &surface)? })
    }

    fn head(site: &Site) -> Outcome<Base> {
        let user = UserRepo::discover(&site.dir)?;
        let text = std::fs::read_to_string(&site.triplet)
            .map_err(|error| CliError::usage(format!("could not read {}", site.triplet.display())).cause(&error))?;
        let head = user.head()?;
        let spec = spec_at(site, &user, &text, head)?;
        let read = |path: &str| Ok((path.to_owned(), user.read(head, path)?));
        let contents = spec.surface.paths().map(read).collect::<Result<_, GitError>>()?;
        Ok(Base { of: None, contents: Contents(contents) })
    }
}

/// Applies a diff to a surface; a diff of anything else is refused by name. `source` is what to call it.
pub(crate) fn patched(text: &[u8], source: &str, mut surface: Contents) -> Outcome<Contents> {
    let bad = |error: &dyn std::error::Error| {
        CliError::usage(format!("{source} is not a diff that can be read")).cause(error)
    };
    let git = text.starts_with(b"diff --git") || text.windows(12).any(|window| window == b"\ndiff --git ");
    let options = if git { ParseOptions::gitdiff() } else { ParseOptions::unidiff() };
    let mut touched = 0;
    for part in PatchSet::parse_bytes(text, options) {
        let part = part.map_err(|error| bad(&error))?;
        let Some(patch) = part.patch().as_text() else {
            return Err(CliError::usage(format!("{source} holds a binary diff")));
        };
        let name = String::from_utf8_lossy(patch.modified().or(patch.original()).unwrap_or_default()).into_owned();
        let (path, bytes) = find(&mut surface, &name).ok_or_else(|| {
            let name = name.strip_prefix("b/").or(name.strip_prefix("a/")).unwrap_or(&name);
            CliError::usage(format!("{source} changes `{name}`, which is not part of the surface"))
        })?;
        let applied = diffy::apply_bytes(bytes, patch).map_err(|error| {
            CliError::usage(format!("the diff does not apply to the champion's `{path}`"))
                .cause(&error)
                .hint("make it against the champion: `overnight show champion`, or use --from-worktree")
        })?;
        *bytes = applied;
        touched += 1;
    }
    match touched {
        0 => Err(CliError::usage(format!("{source} holds no diff"))),
        _ => Ok(surface),
    }
}

/// The file of the surface that a diff means: by its whole path, with or without git's `a/` and `b/`.
fn find<'a>(contents: &'a mut Contents, name: &str) -> Option<(String, &'a mut Vec<u8>)> {
    let name = name.split('\t').next().unwrap_or(name);
    let stripped = name.split_once('/').map(|(_, rest)| rest);
    let (path, bytes) = contents.0.iter_mut().find(|(path, _)| path == name || Some(path.as_str()) == stripped)?;
    Some((path.clone(), bytes))
}
