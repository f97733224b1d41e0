//! The brief as a coding agent reads it.

use overnight_model::brief::Brief;

/// What is expected of the answer; at the end, where it is the last thing read.
const ANSWER: &str = "\n# Your answer\n\nMake the edit now, in the files of your copy. You need not run or measure anything. \
                      Then answer with a single line: what you changed and why it should help. It is the title of the \
                      experiment.\n";

pub(crate) fn prompt(brief: &Brief) -> String {
    brief.text() + ANSWER
}
