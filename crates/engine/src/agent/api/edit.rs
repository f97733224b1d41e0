//! Edits as a model writes them: blocks with exact anchors, or whole files in fences. What is not exact is refused, never
//! guessed: an edit in the wrong place would be measured as if it were the idea.

use std::ops::Range;

/// A file as the model was shown it, by the name that it was shown under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) path: &'a str,
    pub(super) bytes: &'a [u8],
}

/// Lines that are to take the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// The file's position.
    file: usize,
    search: Vec<String>,
    replace: Vec<String>,
}

/// Part of an answer that no edit can be made of, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) text: String,
    pub(super) why: String,
}

const SEARCH: &str = "<<<<<<< SEARCH";
const DIVIDER: &str = "=======";
const REPLACE: &str = ">>>>>>> REPLACE";

/// The blocks of an answer, and those that could not be read.
pub(super) fn blocks(text: &str, shown: &[Shown<'_>]) -> (Vec<Block>, Vec<Failed>) {
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    // What stands above a block: the file's name, in most answers inside or above a fence.
    let (mut above, mut latest): (Option<String>, Option<usize>) = (None, None);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_end() != SEARCH {
            let is_fence = line.trim_start().starts_with("```");
            if !line.trim().is_empty() && !is_fence {
                above = Some(line.to_owned());
            }
            continue;
        }
        let mut body: Vec<&str> = Vec::new();
        let mut is_closed = false;
        for line in lines.by_ref() {
            if line.trim_end() == REPLACE {
                is_closed = true;
                break;
            }
            body.push(line);
        }
        let named = above.take();
        let file = match &named {
            Some(named) => position(named, shown),
            // Another block right below one of the same file.
            None => latest,
        };
        match read_block(&body, is_closed, file, named.as_deref(), shown) {
            Ok(block) => {
                latest = Some(block.file);
                found.push(block);
            }
            Err(why) => {
                let path = named.map(|named| named + "\n").unwrap_or_default();
                let end = if is_closed { format!("\n{REPLACE}") } else { String::new() };
                failed.push(Failed { text: format!("{path}{SEARCH}\n{}{end}", body.join("\n")), why });
            }
        }
    }
    (found, failed)
}

fn read_block(
    body: &[&str],
    is_closed: bool,
    file: Option<usize>,
    named: Option<&str>,
    shown: &[Shown<'_>],
) -> Result<Block, String> {
    if !is_closed {
        return Err(format!("the block has no line `{REPLACE}` at its end"));
    }
    let Some(file) = file else {
        let named = named.map_or("no line".to_owned(), |named| format!("`{}`", named.trim()));
        return Err(format!("above the block stands {named}, and not the path of a file: {}", known(shown)));
    };
    let dividers: Vec<usize> = (0..body.len()).filter(|at| body[*at].trim_end() == DIVIDER).collect();
    let [divider] = dividers.as_slice() else {
        return Err(format!("the block has {} lines `{DIVIDER}`, and must have one", dividers.len()));
    };
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    Ok(Block { file, search: owned(&body[..*divider]), replace: owned(&body[divider + 1..]) })
}

/// The files with all blocks applied, each in its place of what was shown; or the blocks that have none.
pub(super) fn apply(shown: &[Shown<'_>], blocks: &[Block]) -> Result<Vec<Vec<u8>>, Vec<(usize, Failed)>> {
    let mut failed = Vec::new();
    let mut places: Vec<Vec<(Range<usize>, String)>> = vec![Vec::new(); shown.len()];
    for (at, block) in blocks.iter().enumerate() {
        let refuse = |why: String| (at, Failed { text: block.text(shown), why });
        match place(&shown[block.file], block) {
            Err(why) => failed.push(refuse(why)),
            Ok((range, _)) if places[block.file].iter().any(|(other, _)| overlap(other, &range)) => {
                failed.push(refuse("its lines are those of another block, too".to_owned()));
            }
            Ok(found) => places[block.file].push(found),
        }
    }
    if !failed.is_empty() {
        return Err(failed);
    }
    let edited = shown.iter().zip(places).map(|(file, mut places)| {
        places.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut bytes = file.bytes.to_vec();
        for (range, text) in places {
            bytes.splice(range, text.into_bytes());
        }
        bytes
    });
    Ok(edited.collect())
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The one place where the lines of a block stand, and what is to stand there.
fn place(file: &Shown<'_>, block: &Block) -> Result<(Range<usize>, String), String> {
    let text = std::str::from_utf8(file.bytes).map_err(|_| format!("`{}` is no text", file.path))?;
    let end = line_end(text);
    let joined = |lines: &[String]| lines.iter().map(|line| format!("{line}{end}")).collect::<String>();
    let (search, replace) = (joined(&block.search), joined(&block.replace));
    if block.search.iter().all(|line| line.trim().is_empty()) {
        if text.is_empty() {
            return Ok((0..0, replace));
        }
        return Err("there is nothing between SEARCH and the divider that could be found".to_owned());
    }
    // A file may end without the end of its last line.
    let is_open = !text.is_empty() && !text.ends_with(end);
    let whole = if is_open { format!("{text}{end}") } else { text.to_owned() };
    let starts = std::iter::once(0).chain(whole.match_indices('\n').map(|(at, _)| at + 1));
    let found: Vec<usize> = starts.filter(|start| whole[*start..].starts_with(&search)).collect();
    match found.as_slice() {
        [start] => {
            let range = *start..(start + search.len()).min(text.len());
            let is_last = is_open && range.end == text.len();
            let replace = if is_last { replace.strip_suffix(end).unwrap_or(&replace).to_owned() } else { replace };
            Ok((range, replace))
        }
        [] => Err(format!("its SEARCH lines are not in `{}` as they stand, letter by letter", file.path)),
        places => Err(format!("its SEARCH lines are in `{}` {} times: add lines around them", file.path, places.len())),
    }
}

/// What ends the lines of a file; a model only ever writes one of the two.
fn line_end(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    if all > 0 && text.matches("\r\n").count() == all { "\r\n" } else { "\n" }
}

impl Block {
    pub(super) fn text(&self, shown: &[Shown<'_>]) -> String {
        let lines = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let path = shown[self.file].path;
        format!("{path}\n{SEARCH}\n{}{DIVIDER}\n{}{REPLACE}", lines(&self.search), lines(&self.replace))
    }

    pub(super) fn file(&self) -> usize {
        self.file
    }

    /// The line that is the likeliest to say where a block was meant to be, for looking around there.
    pub(super) fn first_line(&self) -> &str {
        self.search.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default()
    }
}

/// Whole files, each in a fence below its path; files that are not there stay as they are.
pub(super) fn whole(text: &str, shown: &[Shown<'_>]) -> Result<Vec<Vec<u8>>, Vec<Failed>> {
    let mut files: Vec<Option<Vec<u8>>> = vec![None; shown.len()];
    let mut failed = Vec::new();
    let mut above: Option<&str> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let ticks = line.trim_end().chars().take_while(|c| *c == '`').count();
        if ticks < 3 {
            above = if line.trim().is_empty() { above } else { Some(line) };
            continue;
        }
        let (mut body, mut is_closed) = (String::new(), false);
        for line in lines.by_ref() {
            let end = line.trim_end();
            if end.len() >= ticks && end.chars().all(|c| c == '`') {
                is_closed = true;
                break;
            }
            body += line;
            body += "\n";
        }
        // A fence below something else is part of what the model has to say.
        let Some(file) = above.take().and_then(|named| position(named, shown)) else { continue };
        let path = shown[file].path;
        let why = match (is_closed, &files[file]) {
            (false, _) => format!("the fence of `{path}` has no end"),
            (true, Some(_)) => format!("`{path}` is there twice"),
            (true, None) => {
                files[file] = Some(ended_like(&body, shown[file].bytes));
                continue;
            }
        };
        failed.push(Failed { text: path.to_owned(), why });
    }
    if failed.is_empty() && files.iter().all(Option::is_none) {
        let why = format!("there is no fence right below a line with the path of a file: {}", known(shown));
        failed.push(Failed { text: String::new(), why });
    }
    if !failed.is_empty() {
        return Err(failed);
    }
    Ok(files.into_iter().zip(shown).map(|(file, shown)| file.unwrap_or(shown.bytes.to_vec())).collect())
}

/// A text with line ends as the file before it had them.
fn ended_like(body: &str, before: &[u8]) -> Vec<u8> {
    let before = String::from_utf8_lossy(before);
    let end = line_end(&before);
    let mut text = if end == "\n" { body.to_owned() } else { body.replace('\n', end) };
    if !before.is_empty() && !before.ends_with('\n') {
        text.truncate(text.len().saturating_sub(end.len()));
    }
    text.into_bytes()
}

/// The file that a line names, dressed as models like to dress names.
fn position(line: &str, shown: &[Shown<'_>]) -> Option<usize> {
    let bare = line.trim().trim_matches(['`', '*', '#', ':', ' ']);
    let bare = bare.strip_prefix("./").unwrap_or(bare);
    shown.iter().position(|file| file.path == bare)
}

fn known(shown: &[Shown<'_>]) -> String {
    shown.iter().map(|file| format!("`{}`", file.path)).collect::<Vec<_>>().join(", ")
}

/// Whether an answer without an edit looks as if there should be one.
pub(super) fn looks_like_edit(text: &str) -> bool {
    ["```", "<<<<<<<", ">>>>>>>", "SEARCH"].iter().any(|mark| text.contains(mark))
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
