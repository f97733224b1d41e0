use super::common::*;
use overnight_engine::workspace::*;

fn refused(result: Result<impl Sized, GitError>) -> GitError {
    let error = result.err().expect("a refusal");
    assert!(error.is_refusal(), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(|c: char| c.is_lowercase() || c == '/' || c == 'L'), "{text}");
    assert!(!text.ends_with('.'), "{text}");
    assert!(error.hint().is_some() || matches!(error, GitError::BadName { .. }), "{error}");
    error
}

#[test]
fn a_folder_outside_any_repository_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    assert!(matches!(refused(UserRepo::discover(temp.path())), GitError::NotARepository { .. }));
}

#[test]
fn a_bare_repository_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    git(temp.path(), &["init", "-q", "--bare", "x.git"]);
    assert!(matches!(refused(UserRepo::discover(&temp.path().join("x.git"))), GitError::Bare { .. }));
}

#[test]
fn a_repository_with_a_reftable_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    git(temp.path(), &["init", "-q", "--ref-format=reftable"]);
    assert!(matches!(refused(UserRepo::discover(temp.path())), GitError::Reftable { .. }));
}

#[test]
fn a_sha256_repository_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    git(temp.path(), &["init", "-q", "--object-format=sha256"]);
    assert!(matches!(refused(UserRepo::discover(temp.path())), GitError::Sha256 { .. }));
}

#[test]
fn a_repository_without_commits_is_refused() {
    assert!(matches!(refused(UserRepo::discover(&Repo::empty().dir)), GitError::NoCommits { .. }));
}

#[test]
fn a_repository_is_found_from_a_folder_inside_it() {
    let repo = Repo::new();
    let inside = repo.dir.join("data/deep");
    let user = UserRepo::discover(&inside).unwrap();
    assert_eq!(user.workdir(), repo.dir);
    assert_eq!(user.common_dir(), repo.dir.join(".git"));
    assert_eq!(user.prefix(&inside), std::path::Path::new("data/deep"));
    assert_eq!(user.prefix(&repo.dir), std::path::Path::new(""));
    assert_eq!(user.head().unwrap(), repo.rev("HEAD"));
    user.refuse_for("study").unwrap();
}

#[test]
fn a_branch_called_overnight_is_refused_loose_and_packed() {
    let repo = Repo::new();
    repo.git(&["branch", "overnight"]);
    let user = repo.open();
    let loose = refused(user.refuse_for("study"));
    assert!(matches!(&loose, GitError::BranchInTheWay { taken, .. } if taken == "overnight"), "{loose}");
    let advance = refused(user.advance("study", None, user.head().unwrap(), "x"));
    assert!(matches!(&advance, GitError::BranchInTheWay { taken, .. } if taken == "overnight"), "{advance}");
    repo.git(&["pack-refs", "--all"]);
    assert!(matches!(refused(user.refuse_for("study")), GitError::BranchInTheWay { .. }));
    let advance = refused(user.advance("study", None, user.head().unwrap(), "x"));
    assert!(matches!(&advance, GitError::BranchInTheWay { taken, .. } if taken == "overnight"), "{advance}");
}

#[test]
fn a_branch_below_the_studys_is_refused_loose_and_packed() {
    let repo = Repo::new();
    repo.git(&["branch", "overnight/study/mine"]);
    let user = repo.open();
    assert!(matches!(refused(user.refuse_for("study")), GitError::BranchInTheWay { .. }));
    repo.git(&["pack-refs", "--all"]);
    assert!(matches!(refused(user.refuse_for("study")), GitError::BranchInTheWay { .. }));
    repo.git(&["branch", "-D", "overnight/study/mine"]);
    std::fs::create_dir_all(repo.dir.join(".git/refs/heads/overnight/study/mine")).unwrap();
    user.refuse_for("study").unwrap();
    user.advance("study", None, user.head().unwrap(), "empty folders are in nobody's way").unwrap();
}

#[test]
fn a_checked_out_study_branch_is_refused_and_its_worktree_named() {
    let repo = Repo::new();
    repo.git(&["switch", "-qc", "overnight/study"]);
    let user = repo.open();
    let error = refused(user.refuse_for("study"));
    assert!(matches!(&error, GitError::CheckedOut { worktree, .. } if *worktree == repo.dir), "{error}");
    user.refuse_for("other").unwrap();
}

#[test]
fn a_linked_worktree_shares_the_common_dir_and_its_checkout_is_refused() {
    let repo = Repo::new();
    let linked = repo.temp.path().canonicalize().unwrap().join("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "overnight/study"]);
    let error = refused(repo.open().refuse_for("study"));
    assert!(matches!(&error, GitError::CheckedOut { worktree, .. } if *worktree == linked), "{error}");

    let from_linked = UserRepo::discover(&linked).unwrap();
    assert_eq!(from_linked.workdir(), linked);
    assert_eq!(from_linked.common_dir(), repo.dir.join(".git"));
    assert!(matches!(refused(from_linked.refuse_for("study")), GitError::CheckedOut { .. }));
    from_linked.refuse_for("other").unwrap();
    let kept = from_linked.write_kept(&edit(from_linked.head().unwrap(), "lr = 2\n")).unwrap();
    from_linked.advance("other", None, kept, "kept").unwrap();
    assert_eq!(repo.rev("overnight/other"), kept);
    assert_eq!(from_linked.dirty().unwrap(), []);

    repo.git(&["switch", "-q", "overnight/other"]);
    let error = refused(from_linked.refuse_for("other"));
    assert!(matches!(&error, GitError::CheckedOut { worktree, .. } if *worktree == repo.dir), "{error}");
}

#[test]
fn a_study_branch_in_the_middle_of_a_rebase_is_refused() {
    let repo = Repo::new();
    let first = repo.rev("HEAD");
    repo.write("train.py", "lr = 2\n");
    repo.commit("second");
    repo.git(&["switch", "-qc", "overnight/study", &first.to_string()]);
    repo.write("train.py", "lr = 3\n");
    repo.commit("third");
    assert!(!repo.try_git(&["rebase", "main"]), "it should stop at the conflict");
    assert!(matches!(refused(repo.open().refuse_for("study")), GitError::CheckedOut { .. }));
}

#[test]
fn foreign_locks_are_named_and_left_alone() {
    let repo = Repo::new();
    let user = repo.open();
    std::fs::create_dir_all(repo.dir.join(".git/refs/heads/overnight")).unwrap();
    for lock in ["refs/heads/overnight/study.lock", "packed-refs.lock"] {
        let lock = repo.dir.join(".git").join(lock);
        std::fs::write(&lock, b"").unwrap();
        let error = refused(user.refuse_for("study"));
        assert!(matches!(&error, GitError::Locked { path } if *path == lock), "{error}");
        assert!(lock.exists());
        std::fs::remove_file(&lock).unwrap();
    }
}

#[test]
fn a_study_name_that_git_cannot_hold_is_refused() {
    let user = Repo::new().open();
    for name in ["a..b", "a b", "x.lock", "", "a/", "~"] {
        assert!(matches!(refused(user.refuse_for(name)), GitError::BadName { .. }), "{name}");
    }
}

#[test]
fn the_types_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<UserRepo>();
    shared::<Store>();
    shared::<Copy>();
    shared::<GitError>();
}
