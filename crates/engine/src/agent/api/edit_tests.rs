use super::*;

const FILE: &str = "a = 1\nb = 2\n\ndef f():\n    return a\n\ndef g():\n    return a\n";

fn shown(text: &str) -> Vec<Shown<'_>> {
    vec![Shown { path: "src/f.py", bytes: text.as_bytes() }]
}

fn edited(file: &str, answer: &str) -> Result<String, String> {
    let shown = shown(file);
    let (blocks, failed) = blocks(answer, &shown);
    if let Some(failed) = failed.first() {
        return Err(failed.why.clone());
    }
    let made = apply(&shown, &blocks).map_err(|failed| failed[0].1.why.clone())?;
    Ok(String::from_utf8(made[0].clone()).unwrap())
}

fn block(search: &str, replace: &str) -> String {
    format!("try it\n\nsrc/f.py\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
}

#[test]
fn lines_that_are_there_once_are_replaced_inserted_and_removed() {
    assert_eq!(edited(FILE, &block("b = 2\n", "b = 3\nc = 4\n")).unwrap(), FILE.replace("b = 2\n", "b = 3\nc = 4\n"));
    assert_eq!(edited(FILE, &block("b = 2\n", "")).unwrap(), FILE.replace("b = 2\n", ""));
    assert_eq!(
        edited(FILE, &block("def g():\n    return a\n", "def g():\n    return b\n")).unwrap(),
        FILE.replace("def g():\n    return a", "def g():\n    return b")
    );
}

#[test]
fn an_anchor_that_is_not_exact_or_not_alone_is_refused_and_never_guessed() {
    for (search, why) in [
        ("    return a\n", "2 times"),
        ("b  = 2\n", "letter by letter"),
        ("b = 2 \n", "letter by letter"),
        ("return a\n", "letter by letter"),
        ("B = 2\n", "letter by letter"),
        // Part of a line is no line.
        ("b = \n", "letter by letter"),
        ("\n", "nothing between"),
        ("", "nothing between"),
    ] {
        let refused = edited(FILE, &block(search, "x\n")).unwrap_err();
        assert!(refused.contains(why), "{search:?}: {refused}");
    }
}

#[test]
fn several_blocks_are_looked_for_in_what_was_shown() {
    let two = "x\nsrc/f.py\n<<<<<<< SEARCH\na = 1\n=======\nb = 2\n>>>>>>> REPLACE\n\n\
               <<<<<<< SEARCH\nb = 2\n=======\na = 1\n>>>>>>> REPLACE\n";
    // The second one is not confused by what the first one writes.
    assert_eq!(edited(FILE, two).unwrap(), FILE.replace("a = 1\nb = 2\n", "b = 2\na = 1\n"));
    let same = "src/f.py\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n<<<<<<< SEARCH\na = 1\nb = 2\n=======\n\
                >>>>>>> REPLACE\n";
    assert!(edited(FILE, same).unwrap_err().contains("another block"));
}

#[test]
fn a_file_is_named_above_its_block_inside_of_a_fence_or_not() {
    for above in ["`src/f.py`:", "**src/f.py**", "### src/f.py\n```python", "```\nsrc/f.py", "./src/f.py\n```"] {
        let answer = format!("x\n\n{above}\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n```\n");
        assert_eq!(edited(FILE, &answer).unwrap(), FILE.replace("a = 1", "a = 2"), "{above}");
    }
    for above in ["src/g.py", "I change this:", "f.py", "../src/f.py"] {
        let answer = format!("{above}\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n>>>>>>> REPLACE\n");
        assert!(edited(FILE, &answer).unwrap_err().contains("not the path of a file"), "{above}");
    }
}

#[test]
fn a_block_without_an_end_or_with_two_dividers_is_refused() {
    assert!(edited(FILE, "src/f.py\n<<<<<<< SEARCH\na = 1\n=======\na = 2\n").unwrap_err().contains("at its end"));
    assert!(edited(FILE, &block("a = 1\n=======\nb = 2\n", "x\n")).unwrap_err().contains("2 lines"));
    assert!(
        edited(FILE, "src/f.py\n<<<<<<< SEARCH\na = 1\n>>>>>>> REPLACE\n").unwrap_err().contains("0 lines `=======`")
    );
}

#[test]
fn line_ends_stay_what_they_are() {
    let crlf = "a = 1\r\nb = 2\r\n";
    assert_eq!(edited(crlf, &block("a = 1\n", "a = 3\nc = 1\n")).unwrap(), "a = 3\r\nc = 1\r\nb = 2\r\n");
    assert_eq!(edited("a = 1\nb = 2", &block("b = 2\n", "b = 3\n")).unwrap(), "a = 1\nb = 3");
    assert_eq!(edited("", &block("", "a = 1\n")).unwrap(), "a = 1\n");
}

#[test]
fn whole_files_are_taken_from_the_fence_below_their_path() {
    let shown = [Shown { path: "a.md", bytes: b"old\n" }, Shown { path: "b.py", bytes: b"b = 1\n" }];
    let answer = "all new\n\n`a.md`:\n````\nnew\n```\ncode\n```\n````\n";
    let made = whole(answer, &shown).unwrap();
    assert_eq!(made, [b"new\n```\ncode\n```\n".to_vec(), b"b = 1\n".to_vec()]);
    let example = "as in\n```\nnot a file\n```\nb.py\n```python\nb = 2\n```\n";
    assert_eq!(whole(example, &shown).unwrap()[1], b"b = 2\n");
    for (answer, why) in [
        ("b.py\n```\nb = 2\n", "no end"),
        ("b.py\n```\nb = 2\n```\nb.py\n```\nb = 3\n```\n", "twice"),
        ("c.py\n```\nb = 2\n```\n", "no fence right below"),
        ("b = 2", "no fence right below"),
    ] {
        assert!(whole(answer, &shown).unwrap_err()[0].why.contains(why), "{answer}");
    }
}
