//! A row of commits that are like others, but for some files, and a branch at its end.

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::Kind;

use super::branch::refuse_in_the_way;
use super::error::GitError;
use super::object::{self, Object};
use super::plan::{IDENTITY, tree_with};
use super::tree;
use super::user::UserRepo;

/// A commit to make again: tree, author and message of another, with some files' contents replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Again {
    pub like: ObjectId,
    /// Paths from the top of the repository, and their contents.
    pub files: Vec<(String, Vec<u8>)>,
}

impl UserRepo {
    /// Refuses a name that no new branch can have.
    pub fn refuse_taken(&self, name: &str) -> Result<(), GitError> {
        let full = full_name(name)?;
        let refs = self.refs();
        let packed = refs.packed()?;
        let below = format!("{full}/");
        let other = packed.iter().find(|(found, _)| found.starts_with(below.as_bytes()));
        if refs.path(&full).is_dir() || other.is_some() {
            let taken = format!("{name}/…");
            return Err(GitError::BranchInTheWay { taken, wanted: name.to_owned() });
        }
        match refs.find(&full)? {
            Some(_) => Err(GitError::BranchExists { name: name.to_owned() }),
            None => refuse_in_the_way(&refs, &full),
        }
    }

    /// Makes a row of commits on `base` and a new branch at its end; nothing else is written. A commit whose tree and
    /// parent come out as they were is taken as it is.
    pub fn make_branch(&self, name: &str, base: ObjectId, row: &[Again], at: i64) -> Result<ObjectId, GitError> {
        self.refuse_taken(name)?;
        let repo = self.local();
        let (mut objects, mut last) = (Vec::new(), base);
        for Again { like, files } in row {
            let root = tree_with(&repo, *like, files, &mut objects)?;
            let data = object::read(&repo, *like, Kind::Commit)?;
            let again = made_again(&data, root, last, at)
                .ok_or_else(|| GitError::Damaged { id: *like, what: "it has no author or no message".to_owned() })?;
            let is_as_it_was = root == tree::of_commit(&repo, *like)? && first_parent(&data) == Some(last);
            last = match is_as_it_was {
                true => *like,
                false => {
                    let again = Object::new(Kind::Commit, again)?;
                    let id = again.id;
                    objects.push(again);
                    id
                }
            };
        }
        self.write_durably(&objects)?;
        self.create(&full_name(name)?, last, "overnight audit: the commits that hold")?;
        Ok(last)
    }
}

fn full_name(name: &str) -> Result<String, GitError> {
    super::branch::valid(format!("refs/heads/{name}"))
}

/// Lines of a commit's header that begin with this word, without it.
fn header<'a>(data: &'a [u8], word: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let end = data.find(b"\n\n").unwrap_or(data.len());
    data[..end]
        .split(|byte| *byte == b'\n')
        .filter_map(move |line| line.strip_prefix(word.as_bytes())?.strip_prefix(b" "))
}

fn first_parent(data: &[u8]) -> Option<ObjectId> {
    header(data, "parent").next().and_then(|hex| ObjectId::from_hex(hex).ok())
}

/// The commit with another tree and parent. A signature would not fit any more, and is left out.
fn made_again(data: &[u8], tree: ObjectId, parent: ObjectId, at: i64) -> Option<Vec<u8>> {
    let author = header(data, "author").next()?;
    let message = &data[data.find(b"\n\n")?..];
    let mut text = format!("tree {tree}\nparent {parent}\nauthor ").into_bytes();
    text.extend_from_slice(author);
    text.extend_from_slice(format!("\ncommitter {IDENTITY} {at} +0000").as_bytes());
    if let Some(encoding) = header(data, "encoding").next() {
        text.extend_from_slice(b"\nencoding ");
        text.extend_from_slice(encoding);
    }
    text.push(b'\n');
    text.extend_from_slice(&message[1..]);
    Some(text)
}
