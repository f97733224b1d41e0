//! Where the new triplet goes: beside the studies that are there, else in the folder that was named.

use std::path::Path;

use overnight_engine::load::{Site, SiteError, is_study_name, triplet_of, triplets_in};

use crate::error::{CliError, Exit, Outcome};

/// The study to be.
pub(super) struct Found {
    pub(super) site: Site,
    /// The names of the studies that are there.
    known: Vec<String>,
    named: bool,
}

pub(super) fn find(dir: &Path, study: Option<&str>) -> Outcome<Found> {
    let start = dir.canonicalize().map_err(|_| SiteError::NoFolder { dir: dir.to_owned() })?;
    if let Some(name) = study.filter(|name| !is_study_name(name)) {
        return Err(SiteError::BadName { name: name.to_owned() }.into());
    }
    // Not beyond the repository: what lies beside it is somebody else's.
    let inside = start.ancestors().position(|folder| folder.join(".git").exists()).map_or(1, |top| top + 1);
    let with_studies = start.ancestors().take(inside).find(|folder| !triplets_in(folder).is_empty());
    let dir = with_studies.unwrap_or(&start).to_owned();
    let known: Vec<String> = triplets_in(&dir).into_iter().collect();
    let name = match (study, known.as_slice()) {
        (Some(name), _) => name.to_owned(),
        (None, [only]) => only.clone(),
        (None, _) => "main".to_owned(),
    };
    let triplet = triplet_of(&dir, &name);
    Ok(Found { site: Site { dir, study: name, triplet }, known, named: study.is_some() })
}

impl Found {
    pub(super) fn several(&self) -> bool {
        self.known.len() > 1 || self.site.study != "main"
    }

    /// What to say where the triplet is there already.
    pub(super) fn taken(&self) -> CliError {
        let hint = "edit it, or begin another study beside it with `overnight init --study NAME`";
        CliError::new(Exit::Refused, format!("{} is there already", self.site.triplet.display())).hint(hint)
    }

    /// What to say where there are studies with names, and the new one has none.
    pub(super) fn ambiguous(&self) -> Option<CliError> {
        let nameless = !self.named && self.known.len() > 1;
        let message = format!("there are several studies here: {}", self.known.join(", "));
        nameless.then(|| CliError::usage(message).hint("give the new one a name: --study NAME"))
    }
}
