//! A draft as a person reads it before their yes.

use overnight_engine::rehearse::NewFile;

use crate::commands::init::look::word;
use crate::commands::init::place::Found;
use crate::ui::{self, printable};

/// More of one file than this is for an editor.
const MOST_LINES: usize = 400;

/// The triplet, then every other file as what it adds. Who is asked has it where the question is.
pub(super) fn show(name: &str, triplet: &str, files: &[NewFile], asks: bool) {
    let put = |text: &str| match asks {
        true => ui::say(text),
        false => {
            ui::data(text);
        }
    };
    put(&format!("\n{name}:\n\n    {}\n", printable(triplet).trim_end().replace('\n', "\n    ")));
    files.iter().for_each(|file| put(added(file).trim_end()));
    put("");
}

fn added(NewFile { path, bytes, runs }: &NewFile) -> String {
    let mode = if *runs { " (may be run)" } else { "" };
    let head = format!("--- /dev/null\n+++ b/{}{mode}\n", ui::one_line(path));
    let Ok(text) = std::str::from_utf8(bytes) else { return format!("{head}{} bytes that are no text\n", bytes.len()) };
    let count = text.lines().count();
    let shown: String = text.lines().take(MOST_LINES).map(|line| format!("+{}\n", printable(line))).collect();
    let more = match count.saturating_sub(MOST_LINES) {
        0 => String::new(),
        more => format!("({more} more lines)\n"),
    };
    format!("{head}{shown}{more}")
}

/// What was written, and what to do now.
pub(super) fn next(place: &Found, written: &[String]) {
    written.iter().for_each(|path| ui::say(&format!("wrote       {}", ui::one_line(path))));
    let words: Vec<String> = written.iter().map(|path| word(path)).collect();
    let study = if place.site.study == "main" { String::new() } else { format!(" --study {}", place.site.study) };
    ui::say("note        nothing is committed: what is measured is what git tracks");
    ui::say(&format!("next        git add {} && git commit, then overnight check{study}", words.join(" ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shown_as_what_it_adds_and_cannot_command_a_terminal() {
        let file = |bytes: &[u8], runs| NewFile { path: "bench/run.sh".to_owned(), bytes: bytes.to_vec(), runs };
        assert_eq!(added(&file(b"a\x1b[2J\nb\n", true)), "--- /dev/null\n+++ b/bench/run.sh (may be run)\n+a[2J\n+b\n");
        assert!(added(&file(&[0xff, 0xfe], false)).ends_with("2 bytes that are no text\n"));
        let long = added(&file("x\n".repeat(MOST_LINES + 7).as_bytes(), false));
        assert!(long.ends_with("+x\n(7 more lines)\n"), "{long}");
    }
}
