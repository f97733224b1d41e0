//! Counting syncs: milliseconds flatter a development machine's disk.

use std::process::Command;

use super::common::*;

/// The sync calls of one keep.
fn syncs(repo: &Repo) -> Vec<String> {
    let output = Command::new("strace")
        .args(["-f", "-y", "-e", "trace=fsync,fdatasync,sync,syncfs,sync_file_range,msync"])
        .arg(env!("CARGO_BIN_EXE_engine-probe"))
        .arg("keep")
        .arg(&repo.dir)
        .output()
        .expect("strace has to be installed");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text.lines().filter(|line| line.contains("sync(")).map(str::to_owned).collect()
}

#[test]
fn a_keep_costs_at_most_nine_syncs_and_no_folder_is_synced_twice() {
    let repo = Repo::new();
    let first = syncs(&repo);
    assert!(first.len() <= 10, "the first one also makes the branch's folder: {first:#?}");
    for _ in 0..5 {
        let list = syncs(&repo);
        assert!((7..=9).contains(&list.len()), "{list:#?}");
        let mut targets: Vec<_> = list.iter().filter_map(|line| line.split(['<', '>']).nth(1)).collect();
        targets.sort();
        targets.dedup();
        assert_eq!(targets.len(), list.len(), "{list:#?}");
    }
    repo.git(&["fsck", "--strict", "--full"]);
}
