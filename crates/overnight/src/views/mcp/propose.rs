//! A proposal of a client, as a letter.

use std::collections::BTreeMap;

use overnight_engine::inbox::Delivery;
use overnight_engine::load::Site;
use overnight_model::ExperimentId;
use overnight_model::proposal::{Contents, one_line};
use overnight_model::study::is_by_hand;
use serde::Deserialize;

use crate::commands::champion::{Base, patched};
use crate::commands::letters::delivery;
use crate::error::{CliError, Outcome};

/// What is kept of a client's name.
const LONGEST_NAME: usize = 40;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Propose {
    hypothesis: String,
    files: Option<BTreeMap<String, String>>,
    patch: Option<String>,
    edits: Option<Vec<Edit>>,
    base: Option<u64>,
    #[serde(default)]
    pub(super) wait: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: Option<String>,
    search: String,
    replace: String,
}

impl Propose {
    /// The letter that says it. `shown` is the champion that the client saw last.
    pub(super) fn letter(self, site: &Site, agent: &str, shown: Option<ExperimentId>) -> Outcome<Delivery> {
        let hypothesis = one_line(&self.hypothesis);
        if hypothesis.is_empty() {
            return Err(CliError::usage("`hypothesis` is empty: say the idea in one line"));
        }
        let base = match self.base.map(ExperimentId).or(shown) {
            Some(id) => Base::experiment(site, id)?,
            None => Base::champion(site)?,
        };
        let surface = base.contents.clone();
        let contents = match (self.files, self.patch, self.edits) {
            (Some(files), None, None) => replaced(files, surface)?,
            (None, Some(patch), None) => patched(patch.as_bytes(), "the patch", surface)?,
            (None, None, Some(edits)) => edited(&edits, surface)?,
            _ => return Err(CliError::usage("say it in exactly one way: `files`, `patch` or `edits`")),
        };
        if contents == base.contents {
            return Err(CliError::usage("that changes nothing"));
        }
        Ok(delivery(agent, &hypothesis, base, contents))
    }
}

fn replaced(files: BTreeMap<String, String>, mut surface: Contents) -> Outcome<Contents> {
    for (path, text) in files {
        *file(&mut surface, &path)? = text.into_bytes();
    }
    Ok(surface)
}

fn edited(edits: &[Edit], mut surface: Contents) -> Outcome<Contents> {
    for (number, Edit { path, search, replace }) in (1..).zip(edits) {
        let path = match (path, surface.0.as_slice()) {
            (Some(path), _) => path.clone(),
            (None, [(path, _)]) => path.clone(),
            (None, files) => {
                let message = format!("edit {number} names no path, and the surface has {} files", files.len());
                return Err(CliError::usage(message));
            }
        };
        let bytes = file(&mut surface, &path)?;
        let text = std::str::from_utf8(bytes)
            .map_err(|_| CliError::usage(format!("`{path}` is no text: propose its whole contents")))?;
        // Guessing at what was meant would measure another idea.
        let count = if search.is_empty() { 0 } else { text.matches(search.as_str()).count() };
        if count != 1 {
            let message = format!("the text that edit {number} looks for is {count} times in `{path}`, not once");
            return Err(
                CliError::usage(message).hint("copy it to the letter, with as much around it as makes it unique")
            );
        }
        *bytes = text.replacen(search, replace, 1).into_bytes();
    }
    Ok(surface)
}

fn file<'a>(surface: &'a mut Contents, path: &str) -> Outcome<&'a mut Vec<u8>> {
    let names: Vec<String> = surface.0.iter().map(|(name, _)| format!("`{name}`")).collect();
    let found = surface.0.iter_mut().find(|(name, _)| name == path);
    found.map(|(_, bytes)| bytes).ok_or_else(|| {
        CliError::usage(format!("`{path}` is not part of the surface"))
            .hint(format!("only {} may change; everything else is locked", names.join(", ")))
    })
}

/// The name under which a client's proposals are recorded. A client is a model, whatever it calls itself.
pub(super) fn agent_name(client: Option<&str>) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    let name: String = client.unwrap_or_default().chars().filter(is_plain).take(LONGEST_NAME).collect();
    if is_by_hand(&name) { "mcp".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface() -> Contents {
        Contents(vec![("a.py".into(), b"x = 1\ny = 1\n".to_vec()), ("b.py".into(), b"z = 3\n".to_vec())])
    }

    fn edit(path: &str, search: &str, replace: &str) -> Edit {
        Edit { path: Some(path.into()), search: search.into(), replace: replace.into() }
    }

    #[test]
    fn edits_are_exact_and_follow_each_other() {
        let made = edited(&[edit("a.py", "x = 1", "x = 2"), edit("a.py", "x = 2", "x = 3")], surface()).unwrap();
        assert_eq!(made.get("a.py").unwrap(), b"x = 3\ny = 1\n");
        let refused = |edits: &[Edit]| edited(edits, surface()).unwrap_err().message;
        assert_eq!(
            refused(&[edit("a.py", "= 1", "= 2")]),
            "the text that edit 1 looks for is 2 times in `a.py`, not once"
        );
        assert!(refused(&[edit("a.py", "X = 1", "")]).contains("is 0 times"));
        assert!(refused(&[edit("a.py", "", "x")]).contains("is 0 times"));
        assert_eq!(refused(&[edit("score.py", "x", "y")]), "`score.py` is not part of the surface");
        let nowhere = Edit { path: None, search: "x".into(), replace: "y".into() };
        assert_eq!(refused(&[nowhere]), "edit 1 names no path, and the surface has 2 files");
    }

    #[test]
    fn a_client_is_never_taken_for_a_person_or_the_tuner() {
        let name = |client: &str| agent_name(Some(client));
        assert_eq!(name("claude-code"), "claude-code");
        for by_hand in ["person", "tuner", "", " \u{202e}", "per\u{200b}son", "tu ner"] {
            assert_eq!(name(by_hand), "mcp", "{by_hand:?}");
        }
        assert_eq!(agent_name(None), "mcp");
        assert_eq!(name(&"x".repeat(1000)).len(), LONGEST_NAME);
        assert_eq!(name("a\u{1b}[31mb/../c\n"), "a31mb..c");
    }
}
