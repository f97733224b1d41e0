//! The smallest stack: what is left when everything spare is taken out.

use super::Verdict;

/// What one commit is judged by: itself and the later commits that it cannot be left out without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub with: Vec<usize>,
    pub verdict: Verdict,
}

/// Which commits are taken out, the oldest first. `None` is a commit that cannot be left out at all. One that is tangled
/// with a commit that stays does stay.
pub fn dropped(units: &[Option<Unit>]) -> Vec<bool> {
    let mut dropped = vec![false; units.len()];
    for (at, unit) in units.iter().enumerate().rev() {
        if let Some(Unit { with, verdict }) = unit {
            dropped[at] = verdict.is_spare() && with.iter().all(|later| dropped[*later]);
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::Verdict::*;
    use super::*;

    fn stays(units: &[(&[usize], Verdict)]) -> Vec<usize> {
        let unit = |(with, verdict): &(&[usize], Verdict)| Some(Unit { with: with.to_vec(), verdict: *verdict });
        let dropped = dropped(&units.iter().map(unit).collect::<Vec<_>>());
        (0..units.len()).filter(|at| !dropped[*at]).collect()
    }

    #[test]
    fn what_holds_and_what_is_needed_stays() {
        assert_eq!(stays(&[(&[], Holds), (&[], Noise), (&[], Needed), (&[], Hurts), (&[], Nothing)]), [0, 2]);
        assert_eq!(dropped(&[None]), [false]);
    }

    #[test]
    fn what_is_tangled_goes_only_together() {
        // 0 cannot be left out without 1.
        assert_eq!(stays(&[(&[1], Noise), (&[], Holds)]), [0, 1]);
        assert_eq!(stays(&[(&[1], Noise), (&[], Noise)]), Vec::<usize>::new());
        assert_eq!(stays(&[(&[1], Holds), (&[], Hurts)]), [0]);
        assert_eq!(stays(&[(&[2], Hurts), (&[], Noise), (&[], Holds)]), [0, 2]);
    }
}
