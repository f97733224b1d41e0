//! What a model is told about its answer: first of all, and the same for every question of a study.

use overnight_model::brief::Brief;
use overnight_model::brief::untrusted::{beginning, fenced};
use overnight_model::spec::Edits;

use super::edit::Failed;

const ROLE: &str = "You improve a program by experiment. You are told a task and its rules, the program as it stands and what was \
                    tried before. You have no tools and no copy of it: what you are shown is all there is. Answer with one \
                    proposal and nothing else.\n\n# The form of your answer\n\n";

const BLOCKS: &str = "The first line says what you change and why it should help: it is the title of the experiment. Below it come one \
                      or more blocks, each of this form:\n\n\
                      path/of/the/file\n<<<<<<< SEARCH\nlines of the file as they are now\n=======\nlines that are to \
                      stand there instead\n>>>>>>> REPLACE\n\n\
                      The path is one of those in the task. Between SEARCH and the divider stand whole lines, copied letter \
                      by letter with all their spaces, that are in the file only once: take as many lines around a change as \
                      that needs, and no more. Blocks must not share lines. A lower half without lines removes the upper \
                      one.\n";

const WHOLE: &str = "The first line says what you change and why it should help: it is the title of the experiment. Below it comes \
                     every file that you change, in full, each in a fence of four backticks right below a line with its \
                     path:\n\n\
                     path/of/the/file\n````\nthe whole file as it is to be\n````\n\n\
                     The path is one of those in the task. Files that are not in your answer stay as they are.\n";

const VALUES: &str = "You may change values that are listed at the end, and nothing else. Answer with one JSON object, without a \
                      fence and without a word around it:\n\n\
                      {\"changes\": [{\"name\": \"a name of the list\", \"value\": another value}], \"hypothesis\": \"why it \
                      should help\"}\n\n\
                      Change one value or a few; each must be another one than it is now. A number is written as a number, \
                      an option as it stands in the list, quotes and all.\n";

/// More of a failed answer than this is not sent back.
const MOST_BACK: usize = 32 * 1024;

pub(super) fn system(edits: Edits) -> String {
    let form = match edits {
        Edits::Blocks => BLOCKS,
        Edits::Whole => WHOLE,
        Edits::Values => VALUES,
    };
    format!("{ROLE}{form}")
}

/// The brief in parts, what changes least first; `values` is the list of what may be changed, where that is all.
pub(super) fn parts(brief: &Brief, values: Option<&str>) -> Vec<String> {
    let [stable, surface, mut rest] = brief.text_parts();
    if let Some(values) = values {
        rest += "\n";
        rest += values;
    }
    rest += "\n# Your answer\n\nMake your proposal now, in the form that was described.\n";
    [stable, surface, rest].into_iter().filter(|part| !part.is_empty()).collect()
}

/// What is said of an answer that could not be taken: the reasons and what failed, nothing of the brief.
pub(super) fn again(edits: Edits, failed: &[Failed], around: &[String], values: Option<&str>) -> Vec<String> {
    let mut text = "Your last answer could not be taken.\n".to_owned();
    for Failed { text: part, why } in failed {
        text += &format!("\n- {why}\n");
        if !part.trim().is_empty() {
            text += &format!("\n{}", fenced(beginning(part, MOST_BACK)));
        }
    }
    for shown in around {
        text += &format!("\n{shown}");
    }
    if let Some(values) = values {
        text += &format!("\n{values}");
    }
    text += match edits {
        Edits::Blocks => {
            "\nSend these blocks again, mended, below a first line as before. Blocks that are not named here were taken: \
                          do not repeat them.\n"
        }
        Edits::Whole | Edits::Values => "\nSend the whole answer again, mended.\n",
    };
    vec![text]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_back_is_what_failed_and_why() {
        let failed = Failed { text: "a.py\n<<<<<<< SEARCH\nx".into(), why: "it is there twice".into() };
        let text = again(Edits::Blocks, &[failed], &["`a.py`: y".to_owned()], None).concat();
        assert!(text.contains("- it is there twice\n") && text.contains("<<<<<<< SEARCH\nx\n"), "{text}");
        assert!(text.contains("`a.py`: y") && !text.contains("# Task"), "{text}");
    }
}
