//! The commits of a range: which can be left out of the head, each alone or with those it is tangled with.

use std::path::{Path, PathBuf};

use overnight_engine::workspace::{Again, LineCommit, UserRepo};
use overnight_model::claim::audit::{Unit, Verdict, dropped};
use overnight_model::proposal::{Contents, part_breach};
use overnight_model::spec::Surface;

use super::range::Range;
use crate::error::Outcome;
use overnight_engine::workspace::merged;

/// One commit of the line, with the surface before and after it; `None` where a file of it is not there.
pub(super) struct Step {
    pub(super) commit: LineCommit,
    before: Option<Contents>,
    after: Option<Contents>,
    /// Why it is left alone.
    pub(super) alone: Option<String>,
}

/// What is left out in one go: a commit and those that it is tangled with, by their numbers among those audited.
pub(super) struct Piece {
    pub(super) first: usize,
    /// Later ones that changed the same lines again.
    pub(super) with: Vec<usize>,
    /// The head's surface without them.
    pub(super) without: Contents,
}

pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// Which steps are audited: those that touch the surface and nothing else.
    pub(super) keeps: Vec<usize>,
    pub(super) pieces: Vec<Piece>,
    head: Contents,
}

/// What is left when commits are taken out.
pub(super) struct Stack {
    /// For each commit that is audited.
    pub(super) dropped: Vec<bool>,
    pub(super) surface: Contents,
}

impl Plan {
    pub(super) fn of(user: &UserRepo, range: &Range, surface: &Surface, ignored: &[String]) -> Outcome<Plan> {
        let mut before = user.surface_at(range.a.commit, surface)?;
        let mut steps = Vec::new();
        for commit in &range.line {
            let after = user.surface_at(commit.id, surface)?;
            let mut others = user.touched(commit.parent, commit.id)?;
            others.retain(|path| {
                surface.paths().all(|surface| path.as_os_str() != surface) && !is_ignored(ignored, path)
            });
            let alone = left_alone(surface, before.as_ref(), after.as_ref(), &others);
            steps.push(Step { commit: commit.clone(), before, after: after.clone(), alone });
            before = after;
        }
        let keeps: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].alone.is_none()).collect();
        let head = before.unwrap_or_else(|| Contents(Vec::new()));
        let mut plan = Plan { steps, keeps, pieces: Vec::new(), head };
        plan.pieces = (0..plan.keeps.len()).filter_map(|first| plan.piece(first)).collect();
        Ok(plan)
    }

    pub(super) fn keep(&self, number: usize) -> &LineCommit {
        &self.steps[self.keeps[number]].commit
    }

    /// The piece that a commit is judged by; `None` where it cannot be left out at all.
    pub(super) fn piece_of(&self, keep: usize) -> Option<usize> {
        self.pieces.iter().position(|piece| piece.first == keep)
    }

    /// Which pieces are the head itself: later commits have undone them.
    pub(super) fn undone(&self) -> Vec<bool> {
        self.pieces.iter().map(|piece| piece.without == self.head).collect()
    }

    /// The smallest stack by these verdicts, one for each piece.
    pub(super) fn stack(&self, verdicts: &[Verdict]) -> Stack {
        let unit = |keep| {
            let piece = self.piece_of(keep)?;
            Some(Unit { with: self.pieces[piece].with.clone(), verdict: verdicts[piece] })
        };
        let mut dropped = dropped(&(0..self.keeps.len()).map(unit).collect::<Vec<_>>());
        // What comes out alone may not come out with all the others: then the oldest of them stays.
        loop {
            if let Some(surface) = self.without(&dropped) {
                return Stack { dropped, surface };
            }
            let stays = (0..dropped.len()).find(|keep| dropped[*keep]).expect("taking nothing out always works");
            dropped[stays] = false;
        }
    }

    /// The stack with everything in it.
    pub(super) fn whole(&self) -> Stack {
        Stack { dropped: vec![false; self.keeps.len()], surface: self.head.clone() }
    }

    /// The head's surface without some commits; `None` where that does not come out clean.
    pub(super) fn without(&self, dropped: &[bool]) -> Option<Contents> {
        let mut gone = vec![false; self.steps.len()];
        self.keeps.iter().zip(dropped).for_each(|(step, dropped)| gone[*step] = *dropped);
        self.take_out(self.head.clone(), &gone)
    }

    /// The commits that make a stack, one after the other on A. The surface of the last is that of the stack.
    pub(super) fn row(&self, stack: &Stack) -> Option<Vec<Again>> {
        let mut gone = vec![false; self.steps.len()];
        self.keeps.iter().zip(&stack.dropped).for_each(|(step, dropped)| gone[*step] = *dropped);
        let mut surface = self.steps.first()?.before.clone()?;
        let mut row = Vec::new();
        for (at, step) in self.steps.iter().enumerate().filter(|(at, _)| !gone[*at]) {
            let (before, after) = (step.before.as_ref()?, step.after.as_ref()?);
            let picked = merged(before, &surface, after);
            let next = picked.or_else(|| self.take_out(after.clone(), &gone[..=at]));
            // What does not come out clean in between comes with the next commit.
            let Some(next) = next else { continue };
            surface = next;
            row.push(Again { like: step.commit.id, files: surface.0.clone() });
        }
        row.last_mut()?.files = stack.surface.0.clone();
        Some(row)
    }

    /// A commit, and as many later ones as it takes to leave it out clean.
    fn piece(&self, first: usize) -> Option<Piece> {
        let mut gone = vec![false; self.steps.len()];
        gone[self.keeps[first]] = true;
        if let Some(without) = self.take_out(self.head.clone(), &gone) {
            return Some(Piece { first, with: Vec::new(), without });
        }
        let mut with = Vec::new();
        for keep in first + 1..self.keeps.len() {
            let at = self.keeps[keep];
            // Taken out clean just before this commit, and not after it: this one is in the way.
            let is_clean = |gone: &[bool]| self.steps[at].after.clone().and_then(|after| self.take_out(after, gone));
            if is_clean(&gone[..=at]).is_none() {
                gone[at] = true;
                with.push(keep);
            }
        }
        Some(Piece { first, with, without: self.take_out(self.head.clone(), &gone)? })
    }

    /// A surface without some of the steps that led to it, the latest first. Neighbours are taken out in one go.
    fn take_out(&self, mut surface: Contents, gone: &[bool]) -> Option<Contents> {
        let mut end = gone.len();
        while end > 0 {
            let last = end - 1;
            end = last;
            if !gone[last] {
                continue;
            }
            let mut first = last;
            while end > 0 && (gone[end - 1] || self.steps[end - 1].before == self.steps[end - 1].after) {
                end -= 1;
                first = if gone[end] { end } else { first };
            }
            let (before, after) = (self.steps[first].before.as_ref()?, self.steps[last].after.as_ref()?);
            surface = merged(after, &surface, before)?;
        }
        Some(surface)
    }
}

/// Why a commit is not one that can be left out, if it is not.
fn left_alone(
    surface: &Surface,
    before: Option<&Contents>,
    after: Option<&Contents>,
    others: &[PathBuf],
) -> Option<String> {
    let also = |rest: &[PathBuf]| if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    if let [first, rest @ ..] = others {
        return Some(format!("touches `{}`{}", first.display(), also(rest)));
    }
    let (Some(before), Some(after)) = (before, after) else {
        return Some("adds or removes a file of the surface".to_owned());
    };
    if before == after {
        return Some("does not change the surface".to_owned());
    }
    let locked = surface.files.iter().find(|file| {
        let (old, new) = (before.get(&file.path), after.get(&file.path));
        old.zip(new).is_some_and(|(old, new)| part_breach(&file.part, old, new).is_some())
    });
    locked.map(|file| format!("touches the locked part of `{}`", file.path))
}

/// Whether a path, or a folder above it, does not count.
fn is_ignored(ignored: &[String], path: &Path) -> bool {
    ignored.iter().any(|ignored| path.starts_with(ignored.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use overnight_engine::workspace::ObjectId;

    /// A line of commits with these surfaces, the first of which is A's; a `-` in front is a commit that is left alone.
    fn plan(texts: &[&str]) -> Plan {
        let contents =
            |text: &str| Contents(vec![("f".into(), text.trim_start_matches('-').replace(' ', "\n").into())]);
        let id = ObjectId::from_hex(&[b'0'; 40]).unwrap();
        let steps: Vec<Step> = texts
            .windows(2)
            .map(|pair| Step {
                commit: LineCommit { id, parent: id, subject: String::new() },
                before: Some(contents(pair[0])),
                after: Some(contents(pair[1])),
                alone: pair[1].starts_with('-').then(|| "touches `g`".to_owned()),
            })
            .collect();
        let keeps: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].alone.is_none()).collect();
        let mut plan = Plan { steps, keeps, pieces: Vec::new(), head: contents(texts.last().unwrap()) };
        plan.pieces = (0..plan.keeps.len()).filter_map(|first| plan.piece(first)).collect();
        plan
    }

    fn text(contents: &Contents) -> String {
        String::from_utf8(contents.0[0].1.clone()).unwrap().replace('\n', " ")
    }

    fn pieces(plan: &Plan) -> Vec<(usize, Vec<usize>, String)> {
        plan.pieces.iter().map(|piece| (piece.first, piece.with.clone(), text(&piece.without))).collect()
    }

    #[test]
    fn a_change_comes_out_alone_where_no_later_one_is_in_its_way() {
        let plan = plan(&["a b c d e ", "A b c d e ", "A b C d e ", "A b C d E "]);
        let expected =
            [(0, vec![], "a b C d E ".to_owned()), (1, vec![], "A b c d E ".into()), (2, vec![], "A b C d e ".into())];
        assert_eq!(pieces(&plan), expected);
    }

    #[test]
    fn a_change_that_was_changed_again_comes_out_with_the_later_one() {
        let plan = plan(&["a b c d e ", "1 b c d e ", "1 b c d E ", "2 b c d E "]);
        let expected =
            [(0, vec![2], "a b c d E ".to_owned()), (1, vec![], "2 b c d e ".into()), (2, vec![], "1 b c d E ".into())];
        assert_eq!(pieces(&plan), expected);
        let three = super::tests::plan(&["a b c ", "1 b c ", "2 b c ", "2 b C ", "3 b C "]);
        let tangled: Vec<_> = three.pieces.iter().map(|piece| (piece.with.clone(), text(&piece.without))).collect();
        let expected = [(vec![1, 3], "a b C "), (vec![3], "1 b C "), (vec![], "3 b c "), (vec![], "2 b C ")];
        assert_eq!(tangled, expected.map(|(with, text)| (with, text.to_owned())));
    }

    #[test]
    fn a_change_that_was_undone_is_the_head() {
        let plan = plan(&["a b c ", "1 b c ", "a b c "]);
        assert_eq!(plan.undone(), [true, false]);
    }

    #[test]
    fn what_is_left_alone_stays_and_what_is_tangled_with_it_as_well() {
        let plan = plan(&["a b c ", "1 b c ", "-2 b c ", "2 b C "]);
        assert_eq!(pieces(&plan), [(1, vec![], "2 b c ".to_owned())]);
        assert_eq!(plan.piece_of(0), None);
        let stack = plan.stack(&[Verdict::Noise]);
        assert_eq!((stack.dropped.as_slice(), text(&stack.surface)), ([false, true].as_slice(), "2 b c ".to_owned()));
    }

    #[test]
    fn a_stack_is_a_row_of_commits_that_ends_with_it() {
        use Verdict::{Holds, Hurts, Noise};
        let plan = plan(&["a b c d e ", "A b c d e ", "A b C d e ", "A b C d E ", "A b 3 d E "]);
        let stack = plan.stack(&[Noise, Holds, Hurts, Noise]);
        assert_eq!(text(&stack.surface), "a b C d e ");
        let row = plan.row(&stack).unwrap();
        assert_eq!(row.len(), 1);
        assert_eq!(text(&Contents(row[0].files.clone())), "a b C d e ");
        // The second is judged with the fourth, which changed it again and holds.
        let stack = plan.stack(&[Noise, Noise, Noise, Holds]);
        assert_eq!(
            (stack.dropped.as_slice(), text(&stack.surface).as_str()),
            ([true, false, true, false].as_slice(), "a b 3 d e ")
        );
        let row: Vec<String> =
            plan.row(&stack).unwrap().into_iter().map(|again| text(&Contents(again.files))).collect();
        assert_eq!(row, ["a b C d e ", "a b 3 d e "]);
    }
}
