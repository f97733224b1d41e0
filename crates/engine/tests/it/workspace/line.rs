use super::common::*;
use overnight_engine::workspace::*;
use std::path::PathBuf;

#[test]
fn a_line_is_what_lies_between_two_commits() {
    let repo = Repo::new();
    let user = repo.open();
    let first = repo.rev("HEAD");
    repo.write("train.py", "lr = 2\n");
    let second = repo.commit("two\n\nwith a reason");
    repo.write("train.py", "lr = 3\n");
    let third = repo.commit("three");
    let line = user.line(first, third).unwrap().unwrap();
    let told: Vec<_> = line.iter().map(|commit| (commit.id, commit.parent, commit.subject.as_str())).collect();
    assert_eq!(told, [(second, first, "two"), (third, second, "three")]);
    assert_eq!(user.line(third, third).unwrap(), Err(NoLine::Empty));
    assert_eq!(user.line(third, first).unwrap(), Err(NoLine::NotBefore));
    repo.git(&["switch", "-qc", "side", &first.to_string()]);
    repo.write("aside", "");
    repo.commit("aside");
    repo.git(&["merge", "-q", "--no-edit", &third.to_string()]);
    assert_eq!(user.line(first, repo.rev("HEAD")).unwrap(), Err(NoLine::Merge(repo.rev("HEAD"))));
    assert_eq!(user.line(third, repo.rev("HEAD")).unwrap(), Err(NoLine::NotBefore));
}

#[test]
fn what_was_touched_is_what_git_says() {
    let repo = Repo::new();
    let user = repo.open();
    let first = repo.rev("HEAD");
    repo.write("train.py", "lr = 2\n");
    repo.write("data/deep/more.txt", "4\n");
    repo.git(&["mv", "eval.py", "data/eval.py"]);
    std::fs::remove_file(repo.dir.join("run.sh")).unwrap();
    repo.write("run.sh/now/a/folder", "x");
    repo.git(&["rm", "-q", "link"]);
    let second = repo.commit("all kinds");
    let names = repo.git(&["diff", "--no-renames", "--name-only", &first.to_string(), &second.to_string()]);
    let mut expected: Vec<PathBuf> = names.lines().map(PathBuf::from).collect();
    expected.sort();
    assert_eq!(user.touched(first, second).unwrap(), expected);
    assert_eq!(expected.len(), 7, "{expected:?}");
    assert_eq!(user.touched(first, first).unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn commits_are_made_again_with_their_author_and_message() {
    let repo = Repo::new();
    let user = repo.open();
    let first = repo.rev("HEAD");
    repo.write("train.py", "lr = 2\n");
    let second = repo.commit("two");
    repo.write("train.py", "lr = 3\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "Grüße\n\nsecond line", "--author", "Bea <bea@example.com>"]);
    let third = repo.rev("HEAD");
    let again = |like, text: &str| Again { like, files: vec![("train.py".into(), text.into())] };
    // As it was: nothing new is made.
    assert_eq!(user.make_branch("same", first, &[again(second, "lr = 2\n")], 9).unwrap(), second);
    let made = user.make_branch("other", first, &[again(third, "lr = 7\n")], 9).unwrap();
    assert_eq!(repo.rev("other"), made);
    assert_eq!(repo.rev("other~1"), first);
    let told = repo.git(&["log", "-1", "--format=%an <%ae> %cn %ct%n%B", "other"]);
    assert_eq!(told.trim_end(), "Bea <bea@example.com> overnight 9\nGrüße\n\nsecond line");
    assert_eq!(repo.git(&["show", "other:train.py"]), "lr = 7\n");
    repo.git(&["fsck", "--strict", "--full"]);
    let error = user.make_branch("other", first, &[again(third, "lr = 8\n")], 9).unwrap_err();
    assert!(matches!(error, GitError::BranchExists { .. }));
    assert_eq!(repo.rev("other"), made);
}
