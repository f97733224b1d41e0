//! A person's `program.md` as agents are shown it: without the sections about what is the engine's work.
//!
//! Programs that were written for an agent that does everything itself say how to make branches, log results and go on
//! for ever. Here the engine does that, and an agent that did it too would break the rules. A section is known by its
//! heading alone, and only by one that speaks of nothing else: "The experiment loop" is ours, "Training loop" is not.

/// Words that make a heading one about the engine's work.
const TOPICS: [&str; 23] = [
    "git",
    "branch",
    "branches",
    "branching",
    "commit",
    "commits",
    "committing",
    "log",
    "logs",
    "logging",
    "loop",
    "loops",
    "looping",
    "setup",
    "worktree",
    "worktrees",
    "results.tsv",
    "results.jsonl",
    "log.jsonl",
    "results.csv",
    "forever",
    "stop",
    "rollback",
];
/// Words that may stand beside them.
const BESIDE: [&str; 52] = [
    "a",
    "an",
    "and",
    "the",
    "of",
    "for",
    "to",
    "in",
    "with",
    "your",
    "how",
    "what",
    "when",
    "if",
    "or",
    "on",
    "as",
    "use",
    "using",
    "usage",
    "workflow",
    "rules",
    "rule",
    "policy",
    "format",
    "never",
    "do",
    "not",
    "experiment",
    "experiments",
    "experimentation",
    "experimental",
    "result",
    "results",
    "research",
    "autoresearch",
    "autonomous",
    "agent",
    "keep",
    "keeping",
    "discard",
    "record",
    "recording",
    "steps",
    "step",
    "process",
    "instructions",
    "version",
    "control",
    "messages",
    "message",
    "new",
];
/// Headings about it that have none of these words.
const WHOLE: [&str; 6] =
    ["output format", "version control", "set up", "setting up", "recording results", "keep or discard"];

/// What is left of a program, and the headings of what was left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    pub text: String,
    pub left_out: Vec<String>,
}

impl Program {
    /// Takes the engine's sections out of Markdown; everything else stays as it is.
    pub fn of(text: &str) -> Program {
        let mut kept = String::with_capacity(text.len());
        let mut left_out = Vec::new();
        // The level of the section that is being left out.
        let mut skipping: Option<usize> = None;
        let mut is_first = true;
        let mut code: Option<&str> = None;
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let heading = match code {
                None => heading(line, lines.peek().copied()),
                Some(_) => None,
            };
            code = after(code, line);
            if let Some((level, title)) = heading {
                // The first heading names the whole page, whatever it is called.
                let is_title = std::mem::take(&mut is_first) && level == 1;
                if skipping.is_none_or(|left| level <= left) {
                    skipping = (!is_title && is_engines(&title)).then_some(level);
                    left_out.extend(skipping.map(|_| title));
                }
            }
            if skipping.is_none() {
                kept.push_str(line);
            }
        }
        match kept.trim().is_empty() {
            // A person who wrote of nothing else still wrote it to be read.
            true => Program { text: text.to_owned(), left_out: Vec::new() },
            false => Program { text: kept, left_out },
        }
    }
}

/// The level and the title of a line that is a heading: `## Title`, or a line that is underlined.
fn heading(line: &str, next: Option<&str>) -> Option<(usize, String)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let text = line.trim();
    if indent > 3 || text.is_empty() {
        return None;
    }
    let level = text.len() - text.trim_start_matches('#').len();
    if (1..=6).contains(&level) && text[level..].starts_with([' ', '\t']) {
        return Some((level, text[level..].trim().trim_end_matches('#').trim().to_owned()));
    }
    let under = next?.trim();
    let is_plain = level == 0 && !text.starts_with(['-', '*', '+', '>', '|', '=', '`', '~']);
    let underlined = |sign: char| under.len() >= 3 && under.chars().all(|c| c == sign);
    match is_plain {
        true if underlined('=') => Some((1, text.to_owned())),
        true if underlined('-') => Some((2, text.to_owned())),
        _ => None,
    }
}

/// The fence of the code block that the next line is in, if it is in one.
fn after<'a>(code: Option<&'a str>, line: &'a str) -> Option<&'a str> {
    let text = line.trim();
    let fence = |sign: char| &text[..text.len() - text.trim_start_matches(sign).len()];
    let found = [fence('`'), fence('~')].into_iter().find(|fence| fence.len() >= 3);
    match (code, found) {
        (None, found) => found,
        (Some(open), Some(found)) if found.starts_with(open) && text.len() == found.len() => None,
        (open, _) => open,
    }
}

/// Whether a heading speaks of git, logging or looping, and of nothing else.
fn is_engines(title: &str) -> bool {
    let is_sign = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '/');
    let lower = title.to_lowercase();
    let words: Vec<&str> = lower
        .split(is_sign)
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty() && !word.chars().all(|c| c.is_ascii_digit()))
        .collect();
    let rest: Vec<&str> = words.iter().copied().filter(|word| !["the", "a", "your"].contains(word)).collect();
    let is_about = words.iter().any(|word| TOPICS.contains(word));
    let is_nothing_else = words.iter().all(|word| TOPICS.contains(word) || BESIDE.contains(word));
    (is_about && is_nothing_else) || WHOLE.contains(&rest.join(" ").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the shape of autoresearch's own.
    const AUTORESEARCH: &str = "# autoresearch\n\nAn experiment.\n\n## Setup\n\n1. **Agree on a run tag**\n\n### Data\n\nx\n\n\
        ## Experimentation\n\n**What you CAN do:** edit `train.py`.\n\n```sh\n# The experiment loop\nuv run train.py\n```\n\n\
        ## Output format\n\n```\nval_bpb: 0.99\n```\n\n## Logging results\n\nUse `results.tsv`.\n\n## The experiment loop\n\n\
        LOOP FOREVER:\n\n**NEVER STOP**\n\n## Simplicity\n\nSimpler is better.\n";

    #[test]
    fn the_engines_sections_are_left_out_and_named_and_all_else_stays() {
        let Program { text, left_out } = Program::of(AUTORESEARCH);
        assert_eq!(left_out, ["Setup", "Output format", "Logging results", "The experiment loop"]);
        assert_eq!(
            text,
            "# autoresearch\n\nAn experiment.\n\n## Experimentation\n\n**What you CAN do:** edit `train.py`.\n\n\
             ```sh\n# The experiment loop\nuv run train.py\n```\n\n## Simplicity\n\nSimpler is better.\n"
        );
    }

    #[test]
    fn a_heading_that_speaks_of_more_is_the_persons_own() {
        for ours in [
            "Setup",
            "2. Set up",
            "The experiment loop",
            "**Git**",
            "Git workflow",
            "Commit messages",
            "Using git branches",
            "`results.tsv`",
            "LOOP FOREVER",
            "Never stop",
            "Version control",
            "Logging the results:",
            "Output format",
        ] {
            assert!(is_engines(ours), "{ours}");
        }
        for theirs in [
            "Training loop",
            "Loop unrolling",
            "Log-likelihood",
            "Git objects and packs",
            "Setup cost",
            "Experimentation",
            "Commit latency",
            "Results so far",
            "Ideas",
            "What to leave alone",
            "Output",
            "Branch prediction",
            "",
        ] {
            assert!(!is_engines(theirs), "{theirs}");
        }
    }

    #[test]
    fn headings_may_be_underlined_and_a_page_of_nothing_else_is_shown_whole() {
        let text = "Ideas\n=====\nwider\n\nLogging\n-------\nto a file\n\nMore\n----\nx\n";
        assert_eq!(Program::of(text).text, "Ideas\n=====\nwider\n\nMore\n----\nx\n");
        let only = "## The loop\n\nGo on.\n";
        assert_eq!(Program::of(only), Program { text: only.to_owned(), left_out: Vec::new() });
        let titled = "# Git\n\nMake packs smaller.\n\n# Commits\n\nnone\n";
        assert_eq!(Program::of(titled).text, "# Git\n\nMake packs smaller.\n\n");
        assert_eq!(Program::of(""), Program::default());
    }

    #[test]
    fn a_fence_that_is_never_closed_hides_no_rule() {
        let text = "# P\n```\n## Setup\nx\n";
        assert_eq!(Program::of(text).text, text);
    }
}
