mod hostile;
mod languages;
mod literals;
mod properties;
mod reseeds;

use overnight_model::proposal::Contents;

use super::*;

fn id(path: &str, text: &str) -> String {
    form(path, text.as_bytes()).unwrap_or_else(|| panic!("{path} has no form:\n{text}")).id
}

fn contents(files: &[(&str, &str)]) -> Contents {
    Contents(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect())
}

#[test]
fn a_language_is_known_by_the_extension_alone() {
    assert_eq!(Language::of("src/train.py"), Some(Language::Python));
    assert_eq!(Language::of("a.b/kernel.cu"), Some(Language::Cpp));
    assert_eq!(Language::of("a.py/prompt"), None);
    assert_eq!(Language::of(".py"), None);
    assert_eq!(Language::of("notes.md"), None);
}

#[test]
fn every_grammar_can_be_loaded() {
    for language in Language::ALL {
        assert!(parse(language, b"").is_some(), "{language:?}");
    }
}

#[test]
fn tokens_are_counted_without_comments() {
    let tokens = |text: &str| form("a.py", text.as_bytes()).unwrap().tokens;
    assert_eq!(tokens("x = 1\n"), 3);
    assert_eq!(tokens("# why\nx = 1  # because\n"), 3);
    assert_eq!(tokens("x = 1; y = 2\n"), tokens("x = 1\ny = 2\n"));
    assert!(tokens("x = f'{a + b}'\n") > tokens("x = f'{a}'\n"), "code in a string counts");
    assert_eq!(tokens(""), 0);
}

#[test]
fn a_file_without_a_form_enters_a_surface_by_its_bytes() {
    let both = |code: &str, prose: &str| forms(&contents(&[("a.py", code), ("b.md", prose)]), None).unwrap();
    assert_eq!(both("x = 1\n", "b"), both("x = 1 # one\n", "b"));
    assert_ne!(both("x = 1\n", "b").id, both("x = 1\n", "b ").id);
    assert_eq!(forms(&contents(&[("b.md", "b")]), None), None);
    assert_eq!(forms(&contents(&[("a.py", "x = (\n")]), None), None);
}

#[test]
fn the_same_text_under_another_name_is_another_surface() {
    let surface = |path: &str| forms(&contents(&[(path, "x = 1\n")]), None).unwrap().id;
    assert_ne!(surface("a.py"), surface("b.py"));
}

#[test]
fn tokens_are_unknown_where_a_file_without_a_form_was_changed() {
    let old = contents(&[("a.py", "x = 1\n"), ("b.md", "b")]);
    let tokens = |new: &[(&str, &str)]| forms(&contents(new), Some(&old)).unwrap().tokens;
    assert_eq!(tokens(&[("a.py", "x = f(1)\n"), ("b.md", "b")]), Some(6));
    assert_eq!(tokens(&[("a.py", "x = f(1)\n"), ("b.md", "c")]), None);
}
