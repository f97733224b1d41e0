//! The holdout of a comparison: closed until its first trial, and counted before it.

use overnight_engine::holdout::{self, HoldoutError, Opened, Openings};
use overnight_engine::load::{Site, home};
use overnight_engine::sandbox::fingerprint_holdout;
use overnight_model::spec::Spec;
use serde_json::json;

use super::report::{Named, Report};
use super::sides::Sides;
use crate::error::{CliError, Exit, Outcome};

/// What stands between a comparison and the holdout.
pub(super) struct Seal {
    site: Site,
    spec: Spec,
    opened: Option<Opened>,
}

impl Seal {
    /// How often the holdout was opened, where there is one. Refused at once where it is asked for and cannot be opened.
    pub(super) fn find(site: &Site, sides: &Sides, is_wanted: bool) -> Outcome<(Seal, Option<Openings>)> {
        let spec = sides.b.spec.clone();
        let budget = spec.holdout.as_ref().map(|holdout| holdout.budget);
        let openings = budget.map(|budget| Openings { opened: holdout::counted(site), budget });
        match openings {
            None if is_wanted => {
                let hint =
                    "add `[holdout]` with `score = \"python3 score.py holdout.csv\"` and `files = \"holdout.csv\"`";
                return Err(CliError::usage("the triplet has no holdout").hint(hint));
            }
            Some(Openings { opened, budget }) if is_wanted && opened >= budget => {
                return Err(HoldoutError::Spent { opened, budget }.into());
            }
            _ => {}
        }
        Ok((Seal { site: site.clone(), spec, opened: None }, openings))
    }

    /// Breaks it: counted now, whatever comes of it. A second time nothing happens.
    pub(super) fn open(&mut self, report: &mut Report) -> Outcome<()> {
        let Some(holdout) = self.spec.holdout.as_ref().filter(|_| self.opened.is_none()) else { return Ok(()) };
        let fingerprint = fingerprint_holdout(&self.spec, &self.site.dir, home().as_deref())
            .map_err(|error| CliError::new(Exit::Fault, "could not read what is held out").cause(&error))?;
        let side = |side: &Named| json!({ "name": side.name, "commit": side.commit.as_ref().map(|commit| &commit.0) });
        let what = json!({
            "command": "compare",
            "a": side(&report.a),
            "b": side(&report.b),
            "seed": report.seed,
            "score": holdout.score.run,
            "files": fingerprint,
        });
        let opened = holdout::open(&self.site, holdout.budget, &what)?;
        report.opening = Some(opened.number);
        report.openings = Some(Openings { opened: opened.number, budget: holdout.budget });
        self.opened = Some(opened);
        Ok(())
    }

    /// The opening, where it was one.
    pub(super) fn opened(self) -> Option<Opened> {
        self.opened
    }
}
