//! What happened in a study, counted: a promise is only kept where it was put to the test.

use std::ops::AddAssign;

macro_rules! counters {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// How often each thing happened.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Seen {
            $($(#[$about])* pub $name: u32,)*
        }

        impl AddAssign for Seen {
            fn add_assign(&mut self, other: Seen) {
                $(self.$name += other.$name;)*
            }
        }

        impl Seen {
            /// The names of what never happened.
            pub fn never(&self) -> Vec<&'static str> {
                [$((stringify!($name), self.$name),)*].into_iter().filter(|(_, n)| *n == 0).map(|(name, _)| name).collect()
            }
        }
    };
}

counters! {
    /// A baseline that gave unequal numbers, and one that gave the same three times.
    noisy,
    deterministic,
    /// The first unequal repeat came after a candidate was judged as if there were none.
    woke_late,
    /// Proposals that came by letter.
    delivered,
    /// Trials of the champion for a candidate's sake, and for their own.
    aids,
    sentinels,
    /// Those of the baseline, or of the champion before, while another has its place.
    looked_back,
    /// Trials that close a night, and those that were lost with their engine.
    closes,
    closes_killed,
    /// Keeps that were taken back, those that led back to the baseline, and engines that died in between.
    retracted,
    retracted_to_baseline,
    retreats_killed,
    /// Word of a retraction was carried out by a person's review.
    retreats_reviewed,
    /// Proposals that were put on another champion, those that could not be, and engines that died in between.
    restacked,
    restacked_and_kept,
    clashed,
    restacks_killed,
    /// The machine became another one, and what was let go before was tried again.
    shifts,
    again,
    /// Keeps while others were at work on the champion before.
    kept_beside_others,
    /// Guards that failed on a commit and then passed on it.
    flaky,
    /// What was repaired, what could not be, and engines that died in between.
    repaired,
    repaired_and_kept,
    not_repaired,
    repairs_killed,
    /// Verdicts without a trial, by the quick look.
    smoked_out,
    /// A moment of the study that was folded again and compared.
    folded,
}
