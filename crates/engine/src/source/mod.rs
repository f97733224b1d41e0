//! What a program *is*, layout and comments aside.
//!
//! Two texts of one form are the same program to whoever runs it. Where that cannot be told (an unknown language, a text
//! that does not parse, one that is too large) there is no form, and bytes decide: a form may miss a likeness, and never
//! makes one up.
//!
//! The text is a candidate's. Its size, its nesting and the work of the parser are bounded, and trees are walked by
//! cursor: no input makes us recurse.

mod bounds;
mod digest;
mod language;
mod literals;
mod reseed;
mod walk;

#[cfg(test)]
mod tests;

use overnight_model::proposal::Contents;
use overnight_model::{BlobId, ContentId};

pub use language::Language;
pub use literals::literals;
pub use reseed::reseeds;
pub use tree_sitter::{Node, Tree};

/// What a file says, without how it is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// A digest of the syntax tree: equal ids, equal programs.
    pub id: String,
    /// How many tokens it has, comments aside.
    pub tokens: u64,
}

/// What a whole surface says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurfaceForm {
    pub id: ContentId,
    /// The tokens of all files that have a form; unknown where a file without one was changed.
    pub tokens: Option<u64>,
}

/// The form of a file; `None` where its language is not known here, or the file does not parse.
pub fn form(path: &str, bytes: &[u8]) -> Option<Form> {
    let language = Language::of(path)?;
    let tree = parse(language, bytes)?;
    Some(digest::form(language, &tree, bytes))
}

/// The form of a surface, and its tokens beside those of the surface it was made `from`. A file without a form enters by
/// its bytes; `None` where that would be all of them.
pub fn forms(contents: &Contents, from: Option<&Contents>) -> Option<SurfaceForm> {
    let mut is_counted = true;
    let (mut tokens, mut names, mut known) = (0, Vec::new(), false);
    for (path, bytes) in &contents.0 {
        names.push(match form(path, bytes) {
            Some(form) => {
                known = true;
                tokens += form.tokens;
                (path.as_str(), BlobId(format!("form {}", form.id)))
            }
            None => {
                is_counted &= from.is_none_or(|from| from.get(path) == Some(bytes));
                (path.as_str(), BlobId::of(bytes))
            }
        });
    }
    let id = ContentId::of(names.iter().map(|(path, name)| (*path, name)));
    known.then_some(SurfaceForm { id, tokens: is_counted.then_some(tokens) })
}

/// The syntax tree of a text; `None` where it has an error, or would take too much to find out.
///
/// A tree without an error spans all of the text; its nodes have byte offsets into it.
pub fn parse(language: Language, bytes: &[u8]) -> Option<Tree> {
    bounds::parse(language, bytes)
}
