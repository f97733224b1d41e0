//! A model over its HTTP API: brief in, edits out. The engine asks it itself, so the key enters no sandbox and no candidate
//! code has a part in it; what comes back is a stranger's text until it has become an edit of the surface.

mod call;
mod edit;
mod key;
mod prompt;
mod trouble;
mod turn;
mod values;
mod way;
mod wire;

pub(crate) use call::{Answered, agent as line_to, is_loopback, post};
pub use key::{find as find_key, is_there as has_key};
pub(crate) use trouble::{retry_at, trouble_of};
pub(crate) use wire::Sheet;

use overnight_model::Millis;
use overnight_model::brief::Brief;
use overnight_model::brief::untrusted::fenced;
use overnight_model::event::{AttemptFailure, Loss, ModelUse, Trouble as Kind};
use overnight_model::proposal::Contents;
use overnight_model::spec::{Api, Edits, Provider};

use super::Answer;
use super::command::SURFACE_LIMIT;
use super::preset::title;
use crate::brief::read_program;
use crate::worker::{Place, Room, Trouble};
use edit::{Block, Failed, Shown};
use turn::{Gone, Turn};
use values::Values;
use wire::Reply;

/// A brief of fewer tokens says nothing.
const LEAST_BRIEF: u64 = 1000;
/// How much of a file is shown around a place where a block did not fit, in lines before and after it.
const AROUND: usize = 12;
/// A file of fewer bytes is shown whole there.
const SMALL_FILE: usize = 4096;

/// Asks once, and once more where the answer cannot be taken as it is.
pub(crate) fn ask(
    api: &Api,
    limit: Millis,
    desk: &Place,
    room: &Room,
    mut brief: Brief,
    contents: &Contents,
) -> Result<Answer, Trouble> {
    let spec = &room.shop.spec;
    brief.set_program(read_program(&room.shop.triplet_dir.join(&spec.program)).as_deref());
    let mut turn = Turn::begin(api, limit, (desk, room));
    let proposed = propose(&mut turn, &mut brief, contents);
    let (took, used, output, secrets) = turn.end();
    let (edited, description) = match proposed {
        Ok((edited, description)) => (edited, secrets.mask(&description)),
        Err(Gone::Interrupted) => return Err(Trouble::Loss(Loss::Interrupted)),
        Err(Gone::Failure(failure)) => return Ok(Answer::Failed { failure, output: Some(output), used }),
    };
    let failure = if secrets.are_in(&edited) {
        Some(AttemptFailure::Policy { what: "it wrote a key of its own into the surface".to_owned() })
    } else if let Some((path, bytes)) = edited.0.iter().find(|(_, bytes)| bytes.len() as u64 > SURFACE_LIMIT) {
        let what = format!("it made `{path}` {} bytes long, the limit is {SURFACE_LIMIT}", bytes.len());
        Some(AttemptFailure::Policy { what })
    } else {
        (edited == *contents).then_some(AttemptFailure::NoChange)
    };
    Ok(match failure {
        Some(failure) => Answer::Failed { failure, output: Some(output), used },
        None => Answer::Proposal { contents: edited, description, took, output: Some(output), used },
    })
}

/// What a turn gives: a surface and its title.
type Proposed = (Contents, String);

const CUT: &str = "the answer was cut off at its limit of tokens before it was complete: raise `agent.max_tokens`";

fn propose(turn: &mut Turn<'_>, brief: &mut Brief, contents: &Contents) -> Result<Proposed, Gone> {
    turn.find_way()?;
    let (api, surface) = (turn.api, &turn.room.shop.spec.surface);
    let names = brief.surface.clone();
    let shown: Vec<Shown<'_>> = names.iter().zip(&contents.0).map(|(path, (_, bytes))| Shown { path, bytes }).collect();
    let values = (api.edits == Edits::Values).then(|| Values::of(surface, contents));
    if values.as_ref().is_some_and(Values::is_empty) {
        let what = "there is no value in the surface that could be changed (`agent.edits = \"values\"`)".to_owned();
        return Err(Gone::Failure(AttemptFailure::Exhausted { what }));
    }
    let reply = first_answer(turn, brief, values.as_ref())?;
    let mut draft = Draft { edits: api.edits, shown, values, contents, blocks: Vec::new(), title: None };
    match draft.take(&reply.text) {
        // What is there may be half of an edit of several parts.
        _ if reply.is_cut => Err(turn.fails(Kind::Malformed, CUT)),
        Ok(proposed) => Ok(proposed),
        Err(failed) if failed.is_empty() => Err(Gone::Failure(AttemptFailure::NoChange)),
        Err(failed) => {
            let listed = draft.values.as_ref().map(Values::listed);
            let parts = prompt::again(api.edits, &failed, &draft.around(&failed), listed.as_deref());
            turn.note("asked again, with what was wrong");
            let reply = turn.ask(&parts, draft.values.as_ref())?;
            if reply.is_cut {
                return Err(turn.fails(Kind::Malformed, CUT));
            }
            draft.take(&reply.text).map_err(|failed| {
                let why = failed.first().map_or("it has no edit in it, the second time too", |failed| &failed.why);
                turn.fails(Kind::Malformed, why)
            })
        }
    }
}

/// Asks with the whole brief, and with half of it where that is more than the model can take.
fn first_answer(turn: &mut Turn<'_>, brief: &mut Brief, values: Option<&Values>) -> Result<Reply, Gone> {
    let listed = values.map(Values::listed);
    for is_last in [false, true] {
        if turn.api.edits == Edits::Whole && !brief.shows_all_of_surface() {
            let what = "the surface does not fit into `agent.brief_tokens`, and a model cannot rewrite what it does not see: \
                        raise it, or use `edits = \"blocks\"`";
            return Err(turn.fails(Kind::ContextOverflow, what));
        }
        let parts = prompt::parts(brief, listed.as_deref());
        turn.tells(brief);
        match turn.ask(&parts, values) {
            Err(Gone::Failure(failure)) if failure.trouble() == Some(Kind::ContextOverflow) && !is_last => {
                let length = parts.iter().map(|part| Brief::tokens(part)).sum::<u64>();
                brief.brief_tokens = (length / 2).max(LEAST_BRIEF);
                turn.note(&format!("asked again with a brief of {} tokens", brief.brief_tokens));
            }
            Err(Gone::Failure(AttemptFailure::Error { what, trouble })) if trouble == Some(Kind::ContextOverflow) => {
                let what =
                    format!("{what}; a brief of half the length is too long as well: lower `agent.brief_tokens`");
                return Err(Gone::Failure(AttemptFailure::Error { what, trouble }));
            }
            answered => return answered,
        }
    }
    unreachable!("the last round answers")
}

/// An edit in the making.
struct Draft<'a> {
    edits: Edits,
    shown: Vec<Shown<'a>>,
    values: Option<Values>,
    contents: &'a Contents,
    /// Those of the first answer that had their place.
    blocks: Vec<Block>,
    title: Option<String>,
}

impl Draft<'_> {
    /// The surface that an answer makes, with what was good of the one before; or what of it failed, which is nothing where
    /// it only speaks.
    fn take(&mut self, text: &str) -> Result<Proposed, Vec<Failed>> {
        let wrong = |why: String| vec![Failed { text: text.to_owned(), why }];
        if let Some(values) = &self.values {
            return values.read(text, self.contents).map_err(wrong);
        }
        // The title of the experiment is what the first answer said of it.
        let title = self.title.get_or_insert_with(|| self::title(text)).clone();
        let files = match self.edits {
            Edits::Whole => edit::whole(text, &self.shown).map_err(|failed| match edit::looks_like_edit(text) {
                true => wrong(failed.into_iter().map(|failed| failed.why).collect::<Vec<_>>().join("; ")),
                false => Vec::new(),
            })?,
            Edits::Blocks | Edits::Values => self.take_blocks(text)?,
        };
        let paths = self.contents.0.iter().map(|(path, _)| path.clone());
        Ok((Contents(paths.zip(files).collect()), title))
    }

    fn take_blocks(&mut self, text: &str) -> Result<Vec<Vec<u8>>, Vec<Failed>> {
        let (found, mut failed) = edit::blocks(text, &self.shown);
        if found.is_empty() && failed.is_empty() {
            let why = "there is no block in it".to_owned();
            return Err(match edit::looks_like_edit(text) {
                true => vec![Failed { text: text.to_owned(), why }],
                false => Vec::new(),
            });
        }
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.extend(found);
        let outcome = edit::apply(&self.shown, &blocks);
        let misplaced = match (outcome, failed.is_empty()) {
            (Ok(files), true) => return Ok(files),
            (Ok(_), false) => Vec::new(),
            (Err(misplaced), _) => misplaced,
        };
        let is_good = |at: usize| misplaced.iter().all(|(bad, _)| *bad != at);
        self.blocks = (blocks.into_iter().enumerate()).filter(|(at, _)| is_good(*at)).map(|(_, block)| block).collect();
        failed.extend(misplaced.into_iter().map(|(_, failed)| failed));
        Err(failed)
    }

    /// The files around the places where blocks were meant to be, as they really are: to be looked at, not guessed from.
    fn around(&self, failed: &[Failed]) -> Vec<String> {
        if self.edits != Edits::Blocks {
            return Vec::new();
        }
        let text: String = failed.iter().map(|failed| format!("{}\n", failed.text)).collect();
        let (blocks, _) = edit::blocks(&text, &self.shown);
        let mut excerpts: Vec<String> = blocks.iter().filter_map(|block| self.excerpt(block)).collect();
        excerpts.dedup();
        excerpts
    }

    fn excerpt(&self, block: &Block) -> Option<String> {
        let Shown { path, bytes } = self.shown[block.file()];
        let text = std::str::from_utf8(bytes).ok()?;
        if text.len() <= SMALL_FILE {
            return Some(format!("`{path}` as it is:\n\n{}", fenced(text)));
        }
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.trim() == block.first_line())?;
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(lines.len()));
        Some(format!("`{path}`, lines {} to {to}, as they are:\n\n{}", from + 1, fenced(&lines[from..to].join("\n"))))
    }
}

/// Whether a server is one's own: it can be told by a schema how long a text may be, which OpenAI's refuses.
fn is_own_server(provider: Provider) -> bool {
    matches!(provider, Provider::Ollama | Provider::Compatible)
}

/// What was used, where anybody answered at all.
fn spent(used: ModelUse) -> Option<ModelUse> {
    (used.calls > 0).then_some(used)
}

fn millis(elapsed: std::time::Duration) -> Millis {
    Millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
