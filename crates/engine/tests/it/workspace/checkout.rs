use super::common::*;
use overnight_engine::workspace::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

fn dirty(repo: &Repo) -> Vec<(String, How)> {
    repo.open().dirty().unwrap().into_iter().map(|d| (d.path.to_str().unwrap().to_owned(), d.how)).collect()
}

fn pointer(contents: &[u8]) -> String {
    use sha2::Digest;
    let hex: String = sha2::Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hex}\nsize {}\n", contents.len())
}

/// A repository with a submodule `sub`, and the submodule's origin.
fn with_submodule() -> (Repo, Repo) {
    let origin = Repo::new();
    let repo = Repo::new();
    repo.git(&["submodule", "--quiet", "add", origin.dir.to_str().unwrap(), "sub"]);
    repo.commit("submodule");
    (repo, origin)
}

#[test]
fn every_kind_of_change_is_found_and_named() {
    let repo = Repo::new();
    for name in ["modified", "deleted", "staged", "unstaged", "mode", "kind", "gone/deep", "staged_back"] {
        repo.write(name, "as it was\n");
    }
    repo.commit("second");
    assert_eq!(dirty(&repo), []);
    repo.write("modified", "otherwise\n");
    std::fs::remove_file(repo.dir.join("deleted")).unwrap();
    repo.write("staged", "staged\n");
    repo.write("staged_back", "staged\n");
    repo.write("added", "new\n");
    repo.git(&["add", "staged", "staged_back", "added"]);
    repo.write("staged_back", "as it was\n");
    repo.write("intended", "new\n");
    repo.git(&["add", "-N", "intended"]);
    repo.git(&["rm", "-q", "--cached", "unstaged"]);
    std::fs::set_permissions(repo.dir.join("mode"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_file(repo.dir.join("kind")).unwrap();
    std::os::unix::fs::symlink("eval.py", repo.dir.join("kind")).unwrap();
    std::fs::rename(repo.dir.join("gone"), repo.dir.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", repo.dir.join("gone")).unwrap();
    repo.write("untracked", "not ours\n");
    let expected = [
        ("added", How::Added),
        ("deleted", How::Deleted),
        ("gone/deep", How::Deleted),
        ("intended", How::Added),
        ("kind", How::Modified),
        ("mode", How::Modified),
        ("modified", How::Modified),
        ("staged", How::Staged),
        ("staged_back", How::Modified),
        ("unstaged", How::Deleted),
    ];
    assert_eq!(dirty(&repo), expected.map(|(path, how)| (path.to_owned(), how)));
}

#[test]
fn an_unmerged_file_is_dirty_once() {
    let repo = Repo::new();
    repo.git(&["switch", "-qc", "other"]);
    repo.write("train.py", "lr = 2\n");
    repo.commit("other");
    repo.git(&["switch", "-q", "main"]);
    repo.write("train.py", "lr = 3\n");
    repo.commit("mine");
    assert!(!repo.try_git(&["merge", "other"]));
    assert_eq!(dirty(&repo), [("train.py".to_owned(), How::Unmerged)]);
    assert_ne!(repo.open().snapshot("in the middle", 5).unwrap(), repo.rev("HEAD"));
}

#[test]
fn a_one_digit_edit_in_the_tick_of_the_index_is_found() {
    let repo = Repo::new();
    for round in 0..20 {
        repo.write("train.py", format!("lr = {}\n", round % 10));
        repo.git(&["add", "train.py"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        // Same size, and the same mtime as the index entry has.
        let before = repo.dir.join("train.py").metadata().unwrap().modified().unwrap();
        repo.write("train.py", format!("lr = {}\n", (round + 1) % 10));
        std::fs::File::options().write(true).open(repo.dir.join("train.py")).unwrap().set_modified(before).unwrap();
        assert_eq!(dirty(&repo), [("train.py".to_owned(), How::Modified)], "round {round}");
    }
}

#[test]
fn the_executable_bit_does_not_count_where_git_was_told_so() {
    let repo = Repo::new();
    repo.git(&["config", "core.fileMode", "false"]);
    std::fs::set_permissions(repo.dir.join("train.py"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(dirty(&repo), []);
    repo.write("run.sh", "changed\n");
    std::fs::set_permissions(repo.dir.join("run.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let commit = repo.open().snapshot("s", 1).unwrap();
    assert!(repo.git(&["ls-tree", &commit.to_string(), "run.sh"]).starts_with("100755"));
}

#[test]
fn line_ends_of_windows_are_clean_where_the_blob_has_those_of_unix() {
    let repo = Repo::new();
    repo.write("train.py", "lr = 1\r\n");
    assert_eq!(dirty(&repo), []);
    repo.write("train.py", "lr = 2\r\n");
    assert_eq!(dirty(&repo), [("train.py".to_owned(), How::Modified)]);
    repo.write("eval.py", "a\r\nb\n");
    repo.commit("mixed");
    repo.write("eval.py", "a\nb\n");
    assert_eq!(dirty(&repo), [("eval.py".to_owned(), How::Modified)], "the other way round is a change");
}

#[test]
fn a_sparse_checkout_is_clean() {
    for index in [
        &["sparse-checkout", "set", "--no-sparse-index", "--cone", "kept"][..],
        &["sparse-checkout", "set", "--sparse-index", "--cone", "kept"],
    ] {
        let repo = Repo::new();
        repo.write("kept/a", "a\n");
        let head = repo.commit("more");
        repo.git(index);
        assert!(!repo.dir.join("data/deep/values.txt").exists());
        assert_eq!(dirty(&repo), []);
        assert_eq!(repo.open().snapshot("same", 1).unwrap(), head);
        repo.write("kept/a", "b\n");
        assert_eq!(dirty(&repo), [("kept/a".to_owned(), How::Modified)]);
        let commit = repo.open().snapshot("other", 1).unwrap();
        let names = repo.git(&["diff", "--name-only", &head.to_string(), &commit.to_string()]);
        assert_eq!(names, "kept/a\n");
        repo.git(&["fsck", "--strict"]);
    }
}

#[test]
fn an_lfs_file_is_clean_while_it_matches_its_pointer() {
    let repo = Repo::new();
    let weights = vec![7u8; 100_000];
    repo.write("weights.bin", pointer(&weights));
    repo.commit("weights");
    assert_eq!(dirty(&repo), [], "not fetched");
    repo.write("weights.bin", &weights);
    assert_eq!(dirty(&repo), [], "fetched");
    let user = repo.open();
    assert_eq!(user.snapshot("same", 1).unwrap(), user.head().unwrap());
    let mut other = weights.clone();
    other[5] = 8;
    repo.write("weights.bin", &other);
    assert_eq!(dirty(&repo), [("weights.bin".to_owned(), How::Modified)]);
}

#[test]
fn a_submodule_is_dirty_when_it_stands_at_another_commit() {
    let (repo, _origin) = with_submodule();
    assert_eq!(dirty(&repo), []);
    git(&repo.dir.join("sub"), &["commit", "-q", "--allow-empty", "-m", "moved"]);
    assert_eq!(dirty(&repo), [("sub".to_owned(), How::Submodule)]);
    let commit = repo.open().snapshot("with the submodule", 1).unwrap();
    assert_eq!(
        repo.rev(&format!("{commit}:sub")).to_string(),
        git(&repo.dir.join("sub"), &["rev-parse", "HEAD"]).trim()
    );
    repo.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
    assert_eq!(dirty(&repo), [], "not initialised");
}

#[test]
fn a_snapshot_holds_the_working_tree_and_touches_nothing() {
    let repo = Repo::new();
    repo.write("a/b", "1");
    repo.write("a.c", "1");
    repo.write("a0", "1");
    let head = repo.commit("names that sort in git's own way");
    let user = repo.open();
    assert_eq!(user.snapshot("clean", 7).unwrap(), head);
    repo.write("train.py", "lr = 5\n");
    repo.write("a/b", "2");
    repo.write("new/x", "tracked\n");
    repo.git(&["add", "new/x"]);
    repo.write("untracked", "not taken\n");
    std::fs::remove_file(repo.dir.join("eval.py")).unwrap();
    std::fs::remove_file(repo.dir.join("link")).unwrap();
    std::os::unix::fs::symlink("train.py", repo.dir.join("link")).unwrap();
    let index = std::fs::read(repo.dir.join(".git/index")).unwrap();
    let commit = user.snapshot("taken", 7).unwrap();
    assert_eq!(user.snapshot("taken", 7).unwrap(), commit);
    assert_eq!(std::fs::read(repo.dir.join(".git/index")).unwrap(), index);
    user.set_baseline_ref("study", commit).unwrap();
    repo.git(&["fsck", "--strict", "--full"]);
    let mut expected = picture(&repo.dir);
    expected.retain(|path, _| !path.starts_with(".git") && path != Path::new("untracked"));
    assert_eq!(archive(&repo, commit), expected);
    assert_eq!(repo.rev(&format!("{commit}^")), head);
}

#[test]
fn the_files_of_a_commit_are_listed_with_their_kinds() {
    let (repo, _origin) = with_submodule();
    let user = repo.open();
    let files: Vec<_> = user
        .files(user.head().unwrap())
        .unwrap()
        .into_iter()
        .map(|file| (file.path.to_str().unwrap().to_owned(), file.kind))
        .collect();
    let expected = [
        (".gitmodules", FileKind::File),
        ("data/deep/values.txt", FileKind::File),
        ("eval.py", FileKind::File),
        ("link", FileKind::Symlink),
        ("run.sh", FileKind::Executable),
        ("sub", FileKind::Submodule),
        ("train.py", FileKind::File),
    ];
    assert_eq!(files, expected.map(|(path, kind)| (path.to_owned(), kind)));
}

#[test]
fn a_copy_has_lfs_contents_where_they_match_and_the_pointer_elsewhere() {
    let repo = Repo::new();
    let weights = vec![7u8; 300_000];
    repo.write("there.bin", pointer(&weights));
    repo.write("not_there.bin", pointer(b"elsewhere"));
    repo.write("edited.bin", pointer(&[1; 10]));
    repo.commit("weights");
    repo.write("there.bin", &weights);
    repo.write("edited.bin", [2; 10]);
    let user = repo.open();
    let mut copy = Copy::lay_out(&repo.copy_dir(), &user, user.head().unwrap()).unwrap();
    let check = |copy: &Copy| {
        assert_eq!(std::fs::read(copy.path().join("there.bin")).unwrap(), weights);
        assert_eq!(std::fs::read(copy.path().join("not_there.bin")).unwrap(), pointer(b"elsewhere").into_bytes());
        assert_eq!(std::fs::read(copy.path().join("edited.bin")).unwrap(), pointer(&[1; 10]).into_bytes());
    };
    check(&copy);
    std::fs::write(copy.path().join("there.bin"), "spoiled").unwrap();
    let changes = copy.reset(&[]).unwrap();
    assert_eq!(changes.changed, [Path::new("there.bin")]);
    check(&copy);
    std::fs::write(copy.path().join("there.bin"), "spoiled").unwrap();
    repo.write("there.bin", "spoiled too");
    assert!(matches!(copy.reset(&[]), Err(GitError::LfsChanged { .. })));
}

#[test]
fn a_copy_has_submodules_at_the_recorded_commit_where_they_are_initialised() {
    let (repo, origin) = with_submodule();
    let user = repo.open();
    let commit = user.head().unwrap();
    // The submodule's checkout moves on; the record counts.
    std::fs::write(repo.dir.join("sub/train.py"), "moved\n").unwrap();
    git(&repo.dir.join("sub"), &["commit", "-qam", "moved"]);
    let mut copy = Copy::lay_out(&repo.copy_dir(), &user, commit).unwrap();
    let mut expected = archive(&repo, commit);
    for (path, seen) in archive(&origin, origin.rev("HEAD")) {
        expected.insert(Path::new("sub").join(path), seen);
    }
    assert_eq!(picture(copy.path()), expected);
    std::fs::remove_dir_all(copy.path().join("sub")).unwrap();
    assert_eq!(copy.reset(&[]).unwrap().changed.len(), 5);
    assert_eq!(picture(copy.path()), expected);

    repo.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
    let copy = Copy::lay_out(&repo.copy_dir(), &user, commit).unwrap();
    assert!(copy.path().join("sub").read_dir().unwrap().next().is_none());
}

#[test]
fn a_submodule_without_the_recorded_commit_is_refused() {
    let (repo, _origin) = with_submodule();
    repo.git(&["update-index", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub"]);
    repo.git(&["commit", "-qm", "nowhere"]);
    let user = repo.open();
    let error = Copy::lay_out(&repo.copy_dir(), &user, user.head().unwrap()).err().unwrap();
    assert!(matches!(&error, GitError::SubmoduleWithoutCommit { path, .. } if path == Path::new("sub")), "{error}");
}

#[test]
fn a_tree_that_would_plant_a_repository_is_not_laid_out() {
    let repo = Repo::new();
    let blob = repo.rev("HEAD:train.py");
    let mut data = b"100644 .GIT\0".to_vec();
    data.extend_from_slice(blob.as_bytes());
    let file = repo.temp.path().join("tree");
    std::fs::write(&file, data).unwrap();
    let tree = repo.git(&["hash-object", "-t", "tree", "--literally", "-w", file.to_str().unwrap()]);
    let commit = repo.git(&["commit-tree", "-m", "x", tree.trim()]);
    let commit = ObjectId::from_hex(commit.trim().as_bytes()).unwrap();
    assert!(matches!(Copy::lay_out(&repo.copy_dir(), &repo.open(), commit), Err(GitError::UnsafeName { .. })));
}

#[test]
fn locked_files_carry_the_commits_time_and_fixed_rights() {
    let repo = Repo::new();
    let user = repo.open();
    let kept = user.write_kept(&edit(user.head().unwrap(), "lr = 2\n")).unwrap();
    let mut copy = Copy::lay_out(&repo.copy_dir(), &user, kept).unwrap();
    copy.reset(&[("train.py".into(), b"lr = 3\n".to_vec())]).unwrap();
    for path in ["eval.py", "run.sh", "link", "data", "data/deep", "data/deep/values.txt", ""] {
        assert_eq!(copy.path().join(path).symlink_metadata().unwrap().mtime(), 1_760_000_000, "{path}");
    }
    let surface = copy.path().join("train.py").metadata().unwrap();
    assert!(surface.modified().unwrap().elapsed().unwrap().as_secs() < 600);
    assert_eq!(surface.mode() & 0o7777, 0o644);
    assert_eq!(copy.path().join("run.sh").metadata().unwrap().mode() & 0o7777, 0o755);
}
