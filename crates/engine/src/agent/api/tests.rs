use super::*;

fn contents() -> Contents {
    Contents(vec![("a.py".to_owned(), b"x = 1\ny = 2\nz = 3\n".to_vec())])
}

fn draft<'a>(contents: &'a Contents, edits: Edits) -> Draft<'a> {
    let shown = contents.0.iter().map(|(path, bytes)| Shown { path, bytes }).collect();
    Draft { edits, shown, values: None, contents, blocks: Vec::new(), title: None }
}

fn block(from: &str, to: &str) -> String {
    format!("a.py\n<<<<<<< SEARCH\n{from}\n=======\n{to}\n>>>>>>> REPLACE\n")
}

#[test]
fn the_second_answer_mends_what_failed_and_what_was_good_stays() {
    let contents = contents();
    let mut draft = draft(&contents, Edits::Blocks);
    let first = format!("# Two at once\n\n{}{}", block("x = 1", "x = 9"), block("y = 1", "y = 8"));
    let failed = draft.take(&first).unwrap_err();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].text.contains("y = 1") && !failed[0].text.contains("x = 1"), "{failed:?}");
    let around = draft.around(&failed);
    assert!(around.len() == 1 && around[0].contains("y = 2"), "{around:?}");
    let (made, title) = draft.take(&format!("sorry\n\n{}", block("y = 2", "y = 8"))).unwrap();
    assert_eq!(made.0[0].1, b"x = 9\ny = 8\nz = 3\n");
    assert_eq!(title, "Two at once");
}

#[test]
fn an_answer_that_only_speaks_is_no_change_and_one_that_tried_is_asked_again() {
    let contents = contents();
    for edits in [Edits::Blocks, Edits::Whole] {
        assert_eq!(draft(&contents, edits).take("I have no idea.").unwrap_err(), Vec::new());
        let failed = draft(&contents, edits).take("like this:\n```python\nx = 2\n```\n").unwrap_err();
        assert!(!failed.is_empty() && failed[0].text.contains("x = 2"), "{failed:?}");
    }
}

#[test]
fn whole_files_become_the_surface() {
    let contents = contents();
    let (made, title) = draft(&contents, Edits::Whole).take("all new\n\na.py\n````\nx = 5\n````\n").unwrap();
    assert_eq!((made.0[0].1.as_slice(), title.as_str()), (&b"x = 5\n"[..], "all new"));
}
