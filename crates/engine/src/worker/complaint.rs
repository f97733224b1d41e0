//! What a failed command complained of, read from its output. Text in, values out.

/// How far back from the end of an output is read: a stack trace, and some.
const LINES: usize = 300;

/// Something that a command wanted and did not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Complaint<'a> {
    /// One of these words, the likeliest first, may name what is not there: a file or a program.
    Missing(Vec<&'a str>),
    /// One of these words may name what it may not read or write.
    Denied(Vec<&'a str>),
    /// A package or a module of Python or of Node, and for Node the file that asked for it.
    Module {
        name: &'a str,
        from: Option<&'a str>,
    },
    /// Something that a package of Python should hold, a module perhaps.
    Name {
        name: &'a str,
        of: &'a str,
    },
    Network,
    /// A leak checker that may not look into its own process.
    Tracing,
}

const MISSING: [&str; 13] = [
    "no such file",
    "not found",
    "cannot find",
    "can't find",
    "can't open",
    "cannot open",
    "cannot access",
    "unable to open",
    "failed to open",
    "does not exist",
    "enoent",
    "nosuchfile",
    "no rule to make target",
];

const NETWORK: [&str; 9] = [
    "network is unreachable",
    "temporary failure in name resolution",
    "name or service not known",
    "could not resolve host",
    "failed to resolve",
    "eai_again",
    "enetunreach",
    "unknownhostexception",
    "dns error",
];

/// Ends of sentences in which the word before is a package.
const MODULE: [&str; 3] = ["No module named ", "Cannot find module ", "Cannot find package "];

/// The complaints in an output, the last one first.
pub(super) fn complaints(text: &str) -> impl Iterator<Item = Complaint<'_>> {
    // The two lines after it may say who asked.
    let mut after = [""; 2];
    text.lines().rev().take(LINES).filter_map(move |line| {
        let found = complaint(line, after);
        after = [line, after[0]];
        found
    })
}

fn complaint<'a>(line: &'a str, after: [&'a str; 2]) -> Option<Complaint<'a>> {
    let lower = line.to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    if has(&NETWORK) {
        return Some(Complaint::Network);
    }
    if lower.contains("leaksanitizer does not work under ptrace") {
        return Some(Complaint::Tracing);
    }
    if let Some((_, rest)) = MODULE.iter().find_map(|mark| line.split_once(mark)) {
        // `python3 -m` names it without quotes.
        let plain = rest.split_whitespace().next().filter(|word| !word.contains(['\'', '"']));
        let name = quoted(rest).next().or(plain)?;
        let imported = rest.split_once(" imported from ").map(|(_, from)| from.trim());
        let required = after[1].strip_prefix("- ").filter(|_| after[0] == "Require stack:");
        return Some(Complaint::Module { name, from: imported.or(required) });
    }
    if let Some((_, rest)) = line.split_once("cannot import name ") {
        let mut names = quoted(rest);
        return names.next().zip(names.next()).map(|(name, of)| Complaint::Name { name, of });
    }
    if has(&["permission denied", "eacces"]) {
        return Some(Complaint::Denied(words(line)));
    }
    has(&MISSING).then(|| Complaint::Missing(words(line)))
}

/// What stands in quotes comes first, with its blanks; then every word, without the marks around it.
fn words(line: &str) -> Vec<&str> {
    let marks = |c: char| "'\"`‘’“”:;,()[]<>".contains(c);
    let plain = line.split_whitespace().map(|word| word.trim_matches(marks)).filter(|word| !word.is_empty());
    quoted(line).chain(plain).collect()
}

fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let begin = rest.find(['\'', '"', '`', '‘'])?;
        let mark = rest[begin..].chars().next()?;
        let inside = &rest[begin + mark.len_utf8()..];
        let end = inside.find(if mark == '‘' { '’' } else { mark })?;
        rest = &inside[end..];
        rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
        Some(&inside[..end])
    })
    .filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_words(line: &str) -> Vec<&str> {
        match complaint(line, [""; 2]) {
            Some(Complaint::Missing(words)) => words,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_missing_file_is_found_in_the_words_of_every_language() {
        for line in [
            "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'",
            "cat: data/train.bin: No such file or directory",
            "score.sh: line 3: data/train.bin: No such file or directory",
            "sh: 0: cannot open data/train.bin: No such file",
            "Error: ENOENT: no such file or directory, open 'data/train.bin'",
            "java.nio.file.NoSuchFileException: data/train.bin",
            "java.io.FileNotFoundException: data/train.bin (No such file or directory)",
            "2026/11/15 open data/train.bin: no such file or directory",
            "SystemError: opening file \"data/train.bin\": No such file or directory",
            "a.c:1:10: fatal error: data/train.bin: No such file or directory",
            "make: *** No rule to make target 'data/train.bin', needed by 'all'.  Stop.",
            "ls: cannot access 'data/train.bin': No such file or directory",
            "OSError: data/train.bin not found.",
        ] {
            assert!(first_words(line).contains(&"data/train.bin"), "{line}");
        }
        assert_eq!(first_words("cannot open 'my data.bin'")[0], "my data.bin");
    }

    #[test]
    fn a_missing_program_is_found_in_the_words_of_every_shell() {
        for line in [
            "sh: 1: jest: not found",
            "/bin/sh: line 1: jest: command not found",
            "/usr/bin/env: ‘jest’: No such file or directory",
            "exec: \"jest\": executable file not found in $PATH",
            "Error: spawn jest ENOENT",
            "make: jest: No such file or directory",
        ] {
            assert!(first_words(line).contains(&"jest"), "{line}");
        }
    }

    #[test]
    fn modules_and_networks_are_told_apart() {
        let module = |name, from| Some(Complaint::Module { name, from });
        for (text, name, from) in [
            ("ModuleNotFoundError: No module named 'numpy'", "numpy", None),
            ("ModuleNotFoundError: No module named 'kit._version'", "kit._version", None),
            ("/usr/bin/python3: No module named pytest", "pytest", None),
            ("Error: Cannot find module 'semver'", "semver", None),
            ("Error: Cannot find module './x'\nRequire stack:\n- /a/lib/b.js\n- /a/c.js", "./x", Some("/a/lib/b.js")),
            ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /a/b.mjs", "x", Some("/a/b.mjs")),
        ] {
            assert_eq!(complaints(text).next(), module(name, from), "{text}");
        }
        for kind in ["", "partially initialized module "] {
            let line = format!("ImportError: cannot import name '_version' from {kind}'kit' (/a/kit/__init__.py)");
            assert_eq!(complaints(&line).next(), Some(Complaint::Name { name: "_version", of: "kit" }));
        }
        for line in [
            "OSError: [Errno 101] Network is unreachable",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "npm error errno EAI_AGAIN",
            "curl: (6) Could not resolve host: example.org",
        ] {
            assert_eq!(complaint(line, [""; 2]), Some(Complaint::Network), "{line}");
        }
        let leaks = "==18==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)";
        assert_eq!(complaint(leaks, [""; 2]), Some(Complaint::Tracing));
        for line in ["", "loss: 3", "AssertionError: 'data' is empty", "No module named", "' \" `"] {
            assert_eq!(complaint(line, [""; 2]), None, "{line}");
        }
    }

    #[test]
    fn what_is_denied_is_not_missing() {
        let python = "PermissionError: [Errno 13] Permission denied: 'build/x'";
        for line in [python, "score.sh: line 1: build/x: Permission denied", "Error: EACCES: open 'build/x'"] {
            assert!(
                matches!(complaint(line, [""; 2]), Some(Complaint::Denied(words)) if words.contains(&"build/x")),
                "{line}"
            );
        }
    }

    #[test]
    fn the_last_complaint_comes_first() {
        let text = "a: No such file\nloss 3\nOSError: Network is unreachable\nbye";
        assert_eq!(complaints(text).next(), Some(Complaint::Network));
    }
}
