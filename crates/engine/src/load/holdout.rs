//! The holdout: a scorer and files that nothing else sees, and how often they may be opened.

use std::path::Path;

use overnight_model::spec::{Evaluate, Holdout, Input, Scorer, Surface};

use super::document::Section;
use super::evaluate::{command, refuse_surface, words};
use super::inputs::{self, Called, find};
use super::problem::Collector;
use super::surface::list;
use super::{Tree, Triplet};

const EXAMPLE: &str = "write `files = [\"holdout.csv\", \"~/data/test\"]`";
const FILE: Called = Called { what: "holdout file", one: "a holdout file", example: EXAMPLE };
/// Nobody counts on more, and what may be opened so often is no holdout.
const MOST_OPENINGS: u64 = 10_000;

/// What a holdout is held against.
struct Around<'a> {
    triplet: &'a Triplet<'a>,
    tree: &'a Tree<'a>,
    surface: Option<&'a Surface>,
    evaluate: Option<&'a Evaluate>,
    reserved: &'a [&'a str],
}

/// Reads `[holdout]`; hidden files and those of the surface are relative to the triplet's folder, and so are those of
/// the holdout that are tracked.
pub(super) fn read(
    problems: &mut Collector<'_>,
    top: &Section<'_>,
    (triplet, tree): (&Triplet<'_>, &Tree<'_>),
    (surface, evaluate): (Option<&Surface>, Option<&Evaluate>),
    reserved: &[&str],
) -> Option<Holdout> {
    let section = problems.section(top, "holdout", "holdout")?;
    let budget = problems.count(&section, "budget", 1..=MOST_OPENINGS);
    let around = Around { triplet, tree, surface, evaluate, reserved };
    let (files, tracked) = files(problems, &section, &around);
    if section.get("score").is_none() {
        problems.missing(&section, "score", "score = \"python3 score.py holdout.csv\"");
    }
    let (run, table) = command(problems, &section, "score", "holdout.score", "python3 score.py holdout.csv")?;
    let kill = table.and_then(|table| problems.duration(&table, "kill", "a scorer's wall"));
    let is_separated = evaluate.is_some_and(|evaluate| evaluate.score.is_some());
    if is_separated {
        refuse_surface(problems, &section, &run, surface);
    }
    let default = evaluate.map(|evaluate| match is_separated {
        true => Scorer::default_kill(evaluate.budget),
        // It does what `run` does, on other data.
        false => evaluate.kill,
    });
    let score = Scorer { run, kill: kill.or(default).unwrap_or_default() };
    Some(Holdout { score, files, tracked, budget: budget.map_or(Holdout::BUDGET, |budget| budget as u32) })
}

/// The files as they are written, and the tracked ones among them.
fn files(problems: &mut Collector<'_>, section: &Section<'_>, around: &Around<'_>) -> (Vec<String>, Vec<String>) {
    let (mut files, mut tracked): (Vec<String>, Vec<String>) = Default::default();
    for item in section.get("files").map(list).unwrap_or_default() {
        let Some(written) = item.get_ref().as_str() else {
            problems.wrong_type("holdout.files", item, "a path or a list of paths", EXAMPLE);
            continue;
        };
        match around.check(written) {
            Err((message, hint)) => problems.add(item.span(), message, hint),
            Ok(_) if files.iter().any(|file| file == written) => {
                problems.add(item.span(), format!("holdout file `{written}` is named twice"), "remove one of the two");
            }
            Ok(found) => {
                files.push(written.to_owned());
                tracked.extend(found);
            }
        }
    }
    tracked.sort();
    tracked.dedup();
    (files, tracked)
}

impl Around<'_> {
    /// The tracked files that a path holds, or what is wrong with it.
    fn check(&self, written: &str) -> Result<Vec<String>, (String, String)> {
        let refuse = |message: String, hint: &str| Err((message, hint.to_owned()));
        let path = find(&FILE, written, self.triplet, self.tree)?;
        let inputs = self.evaluate.map_or(&[][..], |evaluate| &evaluate.inputs);
        let overlaps = |input: &&Input| {
            inputs::resolve(&input.path, self.tree)
                .is_some_and(|input| path.starts_with(&input) || input.starts_with(&path))
        };
        if let Some(input) = inputs.iter().find(overlaps) {
            let message = format!("holdout file `{written}` and the input `{}` overlap", input.path);
            return refuse(message, "every trial sees the inputs: keep the two apart");
        }
        let Ok(inside) = path.strip_prefix(self.tree.dir) else {
            return match path.starts_with(inputs::root(self.triplet, self.tree)) {
                true => {
                    let message = format!("holdout file `{written}` leaves the folder of this file");
                    refuse(message, "move it below this file, or out of the repository")
                }
                false => Ok(Vec::new()),
            };
        };
        let holds = |file: &str| Path::new(file).starts_with(inside);
        if let Some(file) = self.reserved.iter().find(|file| holds(file)) {
            return refuse(format!("holdout file `{written}` holds `{file}`"), "name the other files in it");
        }
        if let Some(file) = self.surface.and_then(|surface| surface.paths().find(|file| holds(file))) {
            return refuse(format!("`{file}` is both surface and held out"), "an agent has to see what it edits");
        }
        let hidden = self.evaluate.map_or(&[][..], |evaluate| &evaluate.hidden);
        if let Some(file) = hidden.iter().find(|file| holds(file)) {
            let hint = "hidden files are for the scorer of every trial: take it out of one of the two";
            return refuse(format!("`{file}` is both hidden and held out"), hint);
        }
        if let Some((key, word)) = self.named(&holds) {
            let message = format!("`{key}` names `{word}`, which is held out and not there for it");
            return refuse(message, "let only `holdout.score` name it");
        }
        Ok(self.tree.tracked.iter().filter(|file| holds(file)).cloned().collect())
    }

    /// A command of every trial that names a file which will not be there.
    fn named(&self, holds: &dyn Fn(&str) -> bool) -> Option<(&'static str, &str)> {
        let evaluate = self.evaluate?;
        let commands = [
            ("evaluate.run", Some(&evaluate.run)),
            ("evaluate.score", evaluate.score.as_ref().map(|score| &score.run)),
            ("evaluate.prepare", evaluate.prepare.as_ref().map(|prepare| &prepare.run)),
        ];
        let mut named =
            commands.into_iter().filter_map(|(key, command)| Some((key, words(command?).find(|w| holds(w))?)));
        named.next()
    }
}
