//! Where `init` has nothing to write, it says what to do.

use super::fixtures;
use crate::support::Repo;

#[test]
fn a_folder_without_git_and_a_repository_without_commits() {
    let repo = Repo::empty();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    std::fs::create_dir(repo.outside("bare")).unwrap();
    insta::assert_snapshot!(repo.overnight(&["-C", "../bare", "init", "--yes"]), @"");
    insta::assert_snapshot!(repo.overnight(&["-C", "../nowhere", "init"]), @"");
}

#[test]
fn nothing_that_could_be_measured() {
    let repo = fixtures::repo(&[("README.md", "# nothing\n")]);
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    let empty = fixtures::repo(&[]);
    insta::assert_snapshot!(empty.overnight(&["init", "--yes"]), @"");
    assert!(!repo.dir().join("overnight.toml").exists() && !empty.dir().join("program.md").exists());
}

#[test]
fn a_triplet_that_is_there_is_never_touched() {
    let repo = Repo::new();
    let before = repo.fingerprint();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes"]), @"");
    repo.write("sub/x", "");
    repo.overnight(&["-C", "sub", "init", "--yes"]).ended(3);
    repo.shell("rm -r sub");
    assert_eq!(repo.fingerprint(), before);
    repo.overnight(&["init", "--yes", "--study", "a b"]).ended(2).says("cannot be the name of a study");
}

#[test]
fn answers_that_are_no_triplet_are_shown_in_their_place() {
    let repo = fixtures::script();
    insta::assert_snapshot!(repo.overnight(&["init", "--yes", "--surface", "solvr.py", "--budget", "5 min"]), @"");
    repo.overnight(&["init", "--goal", "up"]).ended(2).says("a goal is min or max");
    assert!(!repo.dir().join("overnight.toml").exists());
}

#[test]
fn the_checkout_is_left_as_it_was_but_for_the_two_files() {
    let repo = fixtures::pi();
    let before = repo.fingerprint();
    repo.overnight(&["init"]).ended(2);
    assert_eq!(repo.fingerprint(), before);
    repo.ok(&["init", "--yes"]);
    assert_eq!(repo.git(&["status", "--porcelain"]), "?? overnight.toml\n?? program.md");
}
