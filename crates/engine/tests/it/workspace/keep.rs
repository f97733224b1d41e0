use super::common::*;
use overnight_engine::workspace::*;
use std::path::Path;

fn loose(git_dir: &Path, id: ObjectId) -> std::path::PathBuf {
    let hex = id.to_string();
    git_dir.join("objects").join(&hex[..2]).join(&hex[2..])
}

fn damage(path: &Path, contents: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, contents).unwrap();
}

/// Commit, tree and blob of a one-file edit.
fn parts(repo: &Repo, commit: ObjectId) -> [ObjectId; 3] {
    [commit, repo.rev(&format!("{commit}^{{tree}}")), repo.rev(&format!("{commit}:train.py"))]
}

#[test]
fn the_branch_is_made_moved_and_logged() {
    let repo = Repo::new();
    let user = repo.open();
    assert_eq!(user.branch_head("study").unwrap(), None);
    let first = user.write_kept(&edit(user.head().unwrap(), "lr = 2\n")).unwrap();
    user.advance("study", None, first, "kept 1").unwrap();
    let second = user.write_kept(&edit(first, "lr = 3\n")).unwrap();
    user.advance("study", Some(first), second, "kept 2\nwith a second line").unwrap();
    assert_eq!(user.branch_head("study").unwrap(), Some(second));
    assert_eq!(repo.rev("overnight/study"), second);
    let log = repo.git(&["reflog", "show", "--format=%H %gn %gs", "overnight/study"]);
    assert_eq!(log, format!("{second} overnight kept 2 with a second line\n{first} overnight kept 1\n"));
    repo.git(&["fsck", "--strict", "--full"]);
    let left = std::fs::read_dir(repo.dir.join(".git/refs/heads/overnight")).unwrap().count();
    assert_eq!(left, 1, "no lock or temporary file stays");
}

#[test]
fn a_foreign_move_is_a_conflict_and_nothing_is_overwritten() {
    let repo = Repo::new();
    let user = repo.open();
    let base = user.head().unwrap();
    let first = user.write_kept(&edit(base, "lr = 2\n")).unwrap();
    user.advance("study", None, first, "kept").unwrap();
    repo.git(&["branch", "-f", "overnight/study", &base.to_string()]);
    let second = user.write_kept(&edit(first, "lr = 3\n")).unwrap();
    let error = user.advance("study", Some(first), second, "kept").unwrap_err();
    assert!(
        matches!(&error, GitError::BranchMoved { expected, found, .. } if *expected == Some(first) && *found == Some(base))
    );
    let error = user.advance("study", None, second, "kept").unwrap_err();
    assert!(matches!(&error, GitError::BranchMoved { expected: None, .. }));
    assert_eq!(repo.rev("overnight/study"), base);
    repo.git(&["branch", "-D", "overnight/study"]);
    let error = user.advance("study", Some(first), second, "kept").unwrap_err();
    assert!(matches!(&error, GitError::BranchMoved { found: None, .. }));
    assert!(error.hint().unwrap().contains(&first.to_string()));
    assert!(!repo.dir.join(".git/refs/heads/overnight/study.lock").exists());
}

#[test]
fn a_packed_branch_is_compared_and_moved() {
    let repo = Repo::new();
    let user = repo.open();
    let base = user.head().unwrap();
    let first = user.write_kept(&edit(base, "lr = 2\n")).unwrap();
    user.advance("study", None, first, "kept").unwrap();
    repo.git(&["pack-refs", "--all"]);
    assert!(!repo.dir.join(".git/refs/heads/overnight/study").exists());
    assert_eq!(user.branch_head("study").unwrap(), Some(first));
    let second = user.write_kept(&edit(first, "lr = 3\n")).unwrap();
    assert!(matches!(user.advance("study", Some(base), second, "no"), Err(GitError::BranchMoved { .. })));
    assert!(matches!(user.advance("study", None, second, "no"), Err(GitError::BranchMoved { .. })));
    user.advance("study", Some(first), second, "kept").unwrap();
    assert_eq!(repo.rev("overnight/study"), second);
}

#[test]
fn a_foreign_lock_stops_the_branch_and_our_own_from_a_killed_run_does_not() {
    let repo = Repo::new();
    let user = repo.open();
    let base = user.head().unwrap();
    let first = user.write_kept(&edit(base, "lr = 2\n")).unwrap();
    let lock = repo.dir.join(".git/refs/heads/overnight/study.lock");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    for foreign in [String::new(), format!("{base}\n")] {
        std::fs::write(&lock, &foreign).unwrap();
        let error = user.advance("study", None, first, "kept").unwrap_err();
        assert!(matches!(&error, GitError::Locked { path } if *path == lock), "{error}");
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), foreign);
    }
    std::fs::write(&lock, format!("{first}\n")).unwrap();
    user.refuse_for("study").unwrap();
    user.advance("study", None, first, "kept").unwrap();
    assert_eq!(repo.rev("overnight/study"), first);
    assert!(!lock.exists());
}

#[test]
fn advancing_to_where_the_branch_stands_is_done_already() {
    let repo = Repo::new();
    let user = repo.open();
    let first = user.write_kept(&edit(user.head().unwrap(), "lr = 2\n")).unwrap();
    user.advance("study", None, first, "kept").unwrap();
    user.advance("study", None, first, "kept").unwrap();
    repo.git(&["pack-refs", "--all"]);
    user.advance("study", None, first, "kept").unwrap();
    assert_eq!(repo.git(&["reflog", "show", "overnight/study"]).lines().count(), 1);
}

#[test]
fn a_ref_torn_by_a_power_loss_is_named_and_then_redone() {
    let repo = Repo::new();
    let user = repo.open();
    let first = user.write_kept(&edit(user.head().unwrap(), "lr = 2\n")).unwrap();
    user.advance("study", None, first, "kept").unwrap();
    let path = repo.dir.join(".git/refs/heads/overnight/study");
    for torn in [vec![], vec![0; 41]] {
        std::fs::write(&path, torn).unwrap();
        assert!(matches!(user.branch_head("study"), Err(GitError::BrokenRef { .. })));
        user.advance("study", None, first, "again").unwrap();
        assert_eq!(repo.rev("overnight/study"), first);
    }
}

#[test]
fn a_commit_that_is_not_there_does_not_become_the_branch() {
    let user = Repo::new().open();
    let missing = ObjectId::from_hex(b"0123456789012345678901234567890123456789").unwrap();
    assert!(matches!(user.advance("study", None, missing, "x"), Err(GitError::Missing { .. } | GitError::Io { .. })));
}

#[test]
fn the_same_plan_has_the_same_id_everywhere_and_reads_as_expected() {
    let repo = Repo::new();
    let user = repo.open();
    let store = repo.store(&user);
    let base = user.head().unwrap();
    let plan = CommitPlan {
        parent: base,
        files: vec![("run.sh".into(), b"#!/bin/sh\nexit 1\n".into()), ("data/deep/values.txt".into(), b"4\n".into())],
        message: "a try\n\nOvernight-Metric: 1 \u{2192} 2\0".into(),
        at: 1_760_000_000,
    };
    let proposed = store.write(&plan).unwrap();
    assert_eq!(user.write_kept(&plan).unwrap(), proposed);
    assert_eq!(user.write_kept(&plan.clone()).unwrap(), proposed);
    let text = repo.git(&["cat-file", "-p", &proposed.to_string()]);
    let tree = repo.rev(&format!("{proposed}^{{tree}}"));
    let who = "overnight <overnight@localhost> 1760000000 +0000";
    assert_eq!(
        text,
        format!(
            "tree {tree}\nparent {base}\nauthor {who}\ncommitter {who}\n\na try\n\nOvernight-Metric: 1 \u{2192} 2\u{fffd}\n"
        )
    );
    let diff = repo.git(&["diff", "--raw", "--abbrev=4", &base.to_string(), &proposed.to_string()]);
    assert_eq!(diff.lines().count(), 2);
    assert!(diff.contains(":100755 100755") && diff.contains(":100644 100644"), "{diff}");
    repo.git(&["fsck", "--strict", "--full"]);
}

#[test]
fn a_plan_for_anything_but_a_regular_file_is_refused() {
    let repo = Repo::new();
    let user = repo.open();
    for path in [
        "link",
        "data",
        "data/deep",
        "nowhere",
        "train.py/x",
        "data/deep/values.txt/",
        "",
        "/train.py",
        "../x",
        "link/values.txt",
    ] {
        let plan = CommitPlan { files: vec![(path.into(), vec![])], ..edit(user.head().unwrap(), "") };
        assert!(matches!(user.write_kept(&plan), Err(GitError::NotARegularFile { .. })), "{path}");
    }
}

#[test]
fn short_and_corrupt_objects_are_made_again_in_both_repositories() {
    let repo = Repo::new();
    let user = repo.open();
    let store = repo.store(&user);
    let plan = edit(user.head().unwrap(), "lr = 2\n");
    let paths = ["train.py".to_owned()];
    let id = user.write_kept(&plan).unwrap();
    assert_eq!(store.write(&plan).unwrap(), id);
    let other = store.write(&edit(user.head().unwrap(), "lr = 9\n")).unwrap();
    for part in parts(&repo, id) {
        let in_user = loose(&repo.dir.join(".git"), part);
        let in_store = loose(&repo.store_dir(), part);
        let good = std::fs::read(&in_store).unwrap();
        let mut flipped = good.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 0x55;
        let wrong = std::fs::read(loose(&repo.store_dir(), other)).unwrap();
        let long = [good.as_slice(), b"more"].concat();
        for bad in [b"".as_slice(), &good[..good.len() / 2], &flipped, &wrong, &long, &[0; 64]] {
            damage(&in_user, bad);
            assert_eq!(user.write_kept(&plan).unwrap(), id);
            repo.git(&["fsck", "--strict", "--full"]);

            // Alone, without the user's copy to fall back on.
            std::fs::remove_file(&in_user).unwrap();
            damage(&in_store, bad);
            // Bytes after the end are read past, by git too; only `git fsck` minds.
            assert_eq!(repo.store(&user).whole(id, &paths), bad == long.as_slice());
            assert_eq!(store.write(&plan).unwrap(), id);
            assert!(store.whole(id, &paths));
            damage(&in_store, bad);
            assert_eq!(store.sweep().unwrap(), 1);
            assert!(!in_store.exists());
            assert_eq!(store.sweep().unwrap(), 0);
            assert_eq!(store.write(&plan).unwrap(), id);
            assert!(store.whole(id, &paths) && store.whole(other, &paths));
            user.write_kept(&plan).unwrap();
        }
    }
    git(&repo.store_dir(), &["fsck", "--strict", "--full"]);
}

#[test]
fn pruning_the_users_repository_takes_nothing_from_the_study() {
    let repo = Repo::new();
    let user = repo.open();
    let store = repo.store(&user);
    let base = user.head().unwrap();
    user.set_baseline_ref("study", base).unwrap();
    assert_eq!(user.baseline_ref("study").unwrap(), Some(base));
    // The same contents were staged and dropped by the user: an unreachable object that gc takes away.
    repo.write("train.py", "lr = 5\n");
    repo.git(&["add", "train.py"]);
    repo.git(&["reset", "-q", "--hard"]);
    let mut champion = base;
    let mut proposals = Vec::new();
    for experiment in 1..=20 {
        let contents = format!("lr = {experiment}\n");
        let id = store.write(&edit(champion, &contents)).unwrap();
        store.set_ref(experiment, id).unwrap();
        proposals.push((id, contents.clone()));
        if experiment % 5 == 0 {
            let kept = user.write_kept(&edit(champion, &contents)).unwrap();
            user.advance("study", (champion != base).then_some(champion), kept, "kept").unwrap();
            champion = kept;
        }
    }
    // The user rewrites history under us.
    repo.write("eval.py", "print(1)\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "--amend", "-m", "another first"]);
    for _ in 0..2 {
        repo.git(&["reflog", "expire", "--expire=now", "--all"]);
        repo.git(&["gc", "-q", "--prune=now"]);
        let reopened = repo.store(&user);
        for (id, contents) in &proposals {
            for store in [&store, &reopened] {
                assert!(store.whole(*id, &["train.py".into()]));
                assert_eq!(store.read(*id, "train.py").unwrap(), contents.as_bytes());
                assert_eq!(store.read(*id, "eval.py").unwrap(), b"print(0)\n");
            }
        }
        assert_eq!(user.baseline_ref("study").unwrap(), Some(base));
        assert_eq!(user.files(base).unwrap().len(), 5);
        assert_eq!(user.branch_head("study").unwrap(), Some(champion));
        git(&repo.store_dir(), &["fsck", "--strict", "--full"]);
        store.pack().unwrap();
    }
    repo.git(&["fsck", "--strict", "--full"]);
    let more = user.write_kept(&edit(champion, "lr = 21\n")).unwrap();
    user.advance("study", Some(champion), more, "kept").unwrap();
}

#[test]
fn a_store_borrows_from_a_repository_that_borrows_itself_and_survives_a_move() {
    let repo = Repo::new();
    let odd = repo.temp.path().canonicalize().unwrap().join("odd \"name\"\nwith a line");
    git(repo.temp.path(), &["clone", "-q", "--shared", repo.dir.to_str().unwrap(), odd.to_str().unwrap()]);
    let user = UserRepo::discover(&odd).unwrap();
    let store = repo.store(&user);
    let id = store.write(&edit(user.head().unwrap(), "lr = 2\n")).unwrap();
    store.set_ref(1, id).unwrap();
    assert!(store.whole(id, &["train.py".into()]));
    assert_eq!(store.read(id, "eval.py").unwrap(), b"print(0)\n");
    git(&repo.store_dir(), &["fsck", "--strict", "--full"]);
    let moved = repo.temp.path().canonicalize().unwrap().join("moved");
    std::fs::rename(&odd, &moved).unwrap();
    let store = repo.store(&UserRepo::discover(&moved).unwrap());
    assert_eq!(store.read(id, "eval.py").unwrap(), b"print(0)\n");
    git(&repo.store_dir(), &["fsck", "--strict", "--full"]);
}

#[test]
fn a_half_made_store_is_made_again() {
    let repo = Repo::new();
    let user = repo.open();
    for broken in ["HEAD", "config", "objects/info/alternates"] {
        repo.store(&user);
        let path = repo.store_dir().join(broken);
        std::fs::write(&path, b"").unwrap();
        let id = repo.store(&user).write(&edit(user.head().unwrap(), broken)).unwrap();
        assert!(repo.store(&user).whole(id, &["train.py".into()]), "{broken} torn");
        std::fs::remove_file(&path).unwrap();
        assert!(repo.store(&user).whole(id, &["train.py".into()]), "{broken} missing");
    }
    std::fs::remove_dir_all(repo.store_dir().join("refs")).unwrap();
    assert!(repo.store(&user).refs().unwrap().is_empty());
}

#[test]
fn replace_refs_do_not_change_what_a_commit_is() {
    let repo = Repo::new();
    let base = repo.rev("HEAD");
    repo.write("train.py", "forged\n");
    let other = repo.commit("other");
    repo.git(&["replace", &base.to_string(), &other.to_string()]);
    let user = repo.open();
    let id = user.write_kept(&CommitPlan { files: vec![("eval.py".into(), b"x\n".into())], ..edit(base, "") }).unwrap();
    assert_eq!(repo.store(&user).read(id, "train.py").unwrap(), b"lr = 1\n");
}

#[test]
fn the_checkout_is_byte_for_byte_what_it_was_and_nothing_hostile_ran() {
    let repo = Repo::new();
    let canary = repo.temp.path().join("canary");
    let touch = format!("#!/bin/sh\ntouch '{}'\ncat\n", canary.display());
    let script = repo.temp.path().join("evil.sh");
    std::fs::write(&script, &touch).unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repo.write(".gitattributes", "* filter=evil diff=evil\n");
    repo.commit("attributes");
    repo.write("train.py", "lr = 7\n");
    let evil = script.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.command",
        "diff.external",
        "core.sshCommand",
        "gpg.program",
        "core.editor",
        "core.pager",
        "credential.helper",
        "core.alternateRefsCommand",
    ] {
        repo.git(&["config", key, evil]);
    }
    repo.git(&["config", "filter.evil.required", "true"]);
    repo.git(&["config", "commit.gpgSign", "true"]);
    for hook in [
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "fsmonitor-watchman",
        "pre-auto-gc",
        "update",
    ] {
        let hook = repo.dir.join(".git/hooks").join(hook);
        std::fs::copy(&script, hook).unwrap();
    }
    let _ = std::fs::remove_file(&canary);
    let before = picture(&repo.dir);
    let stamps = |dir: &Path| -> Vec<_> {
        [".git/index", ".git/HEAD", "train.py", "eval.py"]
            .iter()
            .map(|path| dir.join(path).metadata().unwrap().modified().unwrap())
            .collect()
    };
    let stamps_before = stamps(&repo.dir);

    let user = repo.open();
    user.refuse_for("study").unwrap();
    user.files(user.head().unwrap()).unwrap();
    assert_eq!(user.dirty().unwrap().len(), 1);
    let baseline = user.snapshot("snapshot", 1).unwrap();
    user.set_baseline_ref("study", baseline).unwrap();
    let store = repo.store(&user);
    let id = store.write(&edit(baseline, "lr = 8\n")).unwrap();
    store.set_ref(1, id).unwrap();
    store.pack().unwrap();
    let kept = user.write_kept(&edit(baseline, "lr = 8\n")).unwrap();
    user.advance("study", None, kept, "kept").unwrap();
    let mut copy = Copy::lay_out(&repo.copy_dir(), &user, kept).unwrap();
    copy.reset(&[("train.py".into(), b"x".to_vec())]).unwrap();

    assert!(!canary.exists(), "something of the repository's configuration was run");
    let after = picture(&repo.dir);
    assert_eq!(stamps(&repo.dir), stamps_before);
    let new: Vec<_> = after
        .iter()
        .filter(|(path, seen)| before.get(*path) != Some(seen))
        .map(|(path, _)| path.to_str().unwrap().to_owned())
        .collect();
    assert!(before.keys().all(|path| after.contains_key(path)));
    for path in new {
        let ours = path.starts_with(".git/objects/")
            || path.starts_with(".git/refs/heads/overnight")
            || path.starts_with(".git/refs/overnight")
            || path.starts_with(".git/logs/refs/heads/overnight");
        assert!(ours, "{path} was written");
    }
}

#[test]
fn an_exclude_line_is_added_once_and_keeps_what_is_there() {
    let repo = Repo::new();
    let user = repo.open();
    let path = repo.dir.join(".git/info/exclude");
    std::fs::write(&path, "*.log").unwrap();
    user.exclude("/sub/.overnight/").unwrap();
    user.exclude("/sub/.overnight/").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "*.log\n/sub/.overnight/\n");
    repo.write("sub/.overnight/x", "");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    std::fs::remove_dir_all(repo.dir.join(".git/info")).unwrap();
    user.exclude("/.overnight/").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "/.overnight/\n");
}

/// Two comparisons that began at once took each other's temporary file away.
#[test]
fn exclude_lines_that_are_added_at_once_are_all_there() {
    let repo = Repo::new();
    let users: Vec<_> = (0..16).map(|n| (n, repo.open())).collect();
    let add = |(n, user): (u32, UserRepo)| std::thread::spawn(move || user.exclude(&format!("/{n}/")).unwrap());
    let threads: Vec<_> = users.into_iter().map(add).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let text = std::fs::read_to_string(repo.dir.join(".git/info/exclude")).unwrap();
    (0..16).for_each(|n| assert_eq!(text.lines().filter(|line| *line == format!("/{n}/")).count(), 1, "{text}"));
}
