//! A brief within its limit: what is left out first is decided here, and nowhere else.
//!
//! The order, as docs/agents.md states it: diffs of keeps, oldest first; output of failures and then failures, oldest
//! first and all but the last; what is known of values; older verdicts; older keeps; near-misses; repeats; the last
//! failure; the end of the program, down to a quarter of the limit; the end of the surface. The task, the rules and what
//! the person said are never left out.

use super::untrusted::beginning;
use super::{Brief, text};

/// What stays of lists as long as there is something longer to leave out.
const LAST_VERDICTS: usize = 5;
const LAST_KEPT: usize = 10;
/// The program is not cut below this share of the limit.
const PROGRAM_SHARE: usize = 4;
/// A beginning shorter than this says nothing of a file.
const LEAST_SURFACE: usize = 1024;
/// Each round leaves out what is too much by now; two or three are enough, and notes on what is missing take room too.
const ROUNDS: usize = 12;

/// What of a brief is shown: everything from these positions on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Plan {
    pub(super) kept: usize,
    pub(super) kept_diffs: usize,
    pub(super) failures: usize,
    pub(super) outputs: usize,
    pub(super) recent: usize,
    pub(super) near_misses: usize,
    pub(super) repeats: usize,
    pub(super) without_tuning: bool,
    /// How many bytes of the program are shown, where it is not all.
    pub(super) program: Option<usize>,
    /// How many bytes of the surface are shown in all, where it is not all.
    pub(super) surface: Option<usize>,
}

pub(super) fn fitted(brief: &Brief) -> String {
    made(brief).1
}

/// The same, by how often its parts change.
pub(super) fn parts(brief: &Brief) -> [String; 3] {
    text::parts(brief, &made(brief).0)
}

pub(super) fn shows_all_of_surface(brief: &Brief) -> bool {
    made(brief).0.surface.is_none() && brief.files.iter().all(|file| file.cut_from_bytes.is_none())
}

fn made(brief: &Brief) -> (Plan, String) {
    let most = Brief::bytes(brief.brief_tokens);
    let mut plan = Plan::default();
    let mut made = text::render(brief, &plan);
    for _ in 0..ROUNDS {
        let mut over = made.len().saturating_sub(most);
        if over == 0 {
            break;
        }
        let before = plan.clone();
        while let Some(saved) = plan.leave_out(brief, over, most) {
            over = over.saturating_sub(saved);
            if over == 0 {
                break;
            }
        }
        if plan == before {
            break;
        }
        made = text::render(brief, &plan);
    }
    (plan, made)
}

impl Plan {
    /// Leaves out the next thing, and says about how many bytes that saves; `None` where only what must stay is left.
    fn leave_out(&mut self, brief: &Brief, over: usize, most: usize) -> Option<usize> {
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let last = brief.failures.len().saturating_sub(1);
        if let Some(kept) = brief.kept.get(self.kept_diffs) {
            self.kept_diffs += 1;
            return Some(size(&kept.diff));
        }
        if self.outputs < last {
            self.outputs += 1;
            return Some(size(&brief.failures[self.outputs - 1].output));
        }
        if self.failures < last {
            self.failures += 1;
            let failure = &brief.failures[self.failures - 1];
            return Some(size(&failure.diff) + failure.description.len() + failure.reason.len());
        }
        if brief.tuning.is_some() && !self.without_tuning {
            self.without_tuning = true;
            return Some(text::tuning(brief).len());
        }
        let past = |at: usize| brief.recent[at].description.len() + brief.recent[at].reason.len();
        if self.recent + LAST_VERDICTS < brief.recent.len() {
            self.recent += 1;
            return Some(past(self.recent - 1));
        }
        if self.kept + LAST_KEPT < brief.kept.len() {
            self.kept += 1;
            return Some(brief.kept[self.kept - 1].description.len());
        }
        if let Some(near) = brief.near_misses.get(self.near_misses) {
            self.near_misses += 1;
            return Some(near.description.len());
        }
        if let Some(repeat) = brief.repeats.get(self.repeats) {
            self.repeats += 1;
            return Some(repeat.description.len() + repeat.reason.len());
        }
        if self.recent < brief.recent.len() {
            self.recent += 1;
            return Some(past(self.recent - 1));
        }
        if let Some(failure) = brief.failures.get(self.outputs) {
            self.outputs += 1;
            return Some(size(&failure.output));
        }
        if let Some(failure) = brief.failures.get(self.failures) {
            self.failures += 1;
            return Some(size(&failure.diff) + failure.description.len() + failure.reason.len());
        }
        let program = brief.program.as_deref().unwrap_or_default().len();
        if let Some(cut) = shorter(self.program.unwrap_or(program), over, most / PROGRAM_SHARE) {
            return Some(self.program.replace(cut).unwrap_or(program) - cut);
        }
        let surface = brief.files.iter().map(|file| file.text.len()).sum();
        let cut = shorter(self.surface.unwrap_or(surface), over, LEAST_SURFACE)?;
        Some(self.surface.replace(cut).unwrap_or(surface) - cut)
    }
}

/// A size that is less by what is too much, and not less than the least; `None` where it is that already.
fn shorter(size: usize, over: usize, least: usize) -> Option<usize> {
    // Some more, for the note that says so.
    let wanted = size.saturating_sub(over + over / 16 + 200).max(least);
    (wanted < size).then_some(wanted)
}

/// How much of each text is shown where there is room for so many bytes in all: short ones whole, long ones alike.
pub(super) fn shares(sizes: &[usize], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|at| sizes[*at]);
    let (mut left, mut shares) = (most, vec![0; sizes.len()]);
    for (done, at) in order.into_iter().enumerate() {
        shares[at] = sizes[at].min(left / (sizes.len() - done));
        left -= shares[at];
    }
    shares
}

/// The beginning of a text up to the end of a line, of at most so many bytes.
pub(super) fn first_lines(text: &str, most: usize) -> &str {
    let start = beginning(text, most);
    match start.len() < text.len() {
        true => start.rfind('\n').map_or(start, |end| &start[..=end]),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_files_are_shown_whole_and_long_ones_share_the_rest() {
        assert_eq!(shares(&[100, 10, 100], 110), [50, 10, 50]);
        assert_eq!(shares(&[5, 5], 100), [5, 5]);
        assert_eq!(shares(&[], 100), [0usize; 0]);
    }

    #[test]
    fn a_cut_is_at_the_end_of_a_line() {
        assert_eq!(first_lines("one\ntwo\n", 6), "one\n");
        assert_eq!(first_lines("one\ntwo\n", 8), "one\ntwo\n");
        assert_eq!(first_lines("ünbroken", 2), "ü");
    }
}
