//! What candidates may leave, and what they may not.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use super::*;

struct Pair {
    from: tempfile::TempDir,
    into: tempfile::TempDir,
}

fn pair() -> Pair {
    Pair { from: tempfile::tempdir().unwrap(), into: tempfile::tempdir().unwrap() }
}

impl Pair {
    fn collect_with(&self, limits: Limits) -> Result<(), String> {
        let from = File::open(self.from.path()).unwrap();
        collect(from.as_fd(), self.into.path(), limits).map_err(|error| match error {
            NotTaken::Refused(what) => what,
            NotTaken::Failed(error) => panic!("{error}"),
        })
    }

    fn refused(&self) -> String {
        self.collect_with(Limits::DEFAULT).unwrap_err()
    }
}

#[test]
fn files_and_folders_are_taken_over_whole() {
    let pair = pair();
    fs::create_dir_all(pair.from.path().join("a/b")).unwrap();
    fs::write(pair.from.path().join("a/b/c.bin"), vec![7; 300_000]).unwrap();
    fs::write(pair.from.path().join("empty"), "").unwrap();
    pair.collect_with(Limits::DEFAULT).unwrap();
    let copy = pair.into.path().join("a/b/c.bin");
    assert_eq!(fs::read(&copy).unwrap(), vec![7; 300_000]);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o444);
    assert_eq!(fs::metadata(copy.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read(pair.into.path().join("empty")).unwrap(), b"");
    assert_ne!(fs::metadata(&copy).unwrap().ino(), fs::metadata(pair.from.path().join("a/b/c.bin")).unwrap().ino());
}

#[test]
fn what_is_not_a_plain_file_is_refused_by_name() {
    let links = pair();
    fs::create_dir(links.from.path().join("deep")).unwrap();
    symlink("/etc/passwd", links.from.path().join("deep/labels")).unwrap();
    assert_eq!(links.refused(), "artifact `deep/labels` is a symbolic link");

    let folders = pair();
    symlink("/etc", folders.from.path().join("all")).unwrap();
    assert_eq!(folders.refused(), "artifact `all` is a symbolic link");

    let twins = pair();
    fs::write(twins.from.path().join("one"), "1").unwrap();
    fs::hard_link(twins.from.path().join("one"), twins.from.path().join("two")).unwrap();
    assert_eq!(twins.refused(), "artifact `one` is a hard link to another file");

    let pipes = pair();
    let mode = Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(CWD, pipes.from.path().join("pipe"), FileType::Fifo, mode, 0).unwrap();
    assert_eq!(pipes.refused(), "artifact `pipe` is a named pipe");

    let sockets = pair();
    let _listener = UnixListener::bind(sockets.from.path().join("socket")).unwrap();
    assert_eq!(sockets.refused(), "artifact `socket` is a socket");
}

#[test]
fn names_have_to_be_text() {
    let pair = pair();
    fs::write(pair.from.path().join(OsStr::from_bytes(b"x\xff")), "").unwrap();
    assert_eq!(pair.refused(), "artifact `x\u{fffd}` has a name that is not UTF-8");
}

#[test]
fn limits_hold_for_everything_together() {
    let limits = Limits { entries: 3, bytes: 10, depth: 2 };
    let many = pair();
    for name in ["a", "b", "c", "d"] {
        fs::write(many.from.path().join(name), "").unwrap();
    }
    assert_eq!(many.collect_with(limits).unwrap_err(), "there are more than 3 artifacts");

    let large = pair();
    fs::write(large.from.path().join("a"), "123456").unwrap();
    fs::write(large.from.path().join("b"), "123456").unwrap();
    let said = large.collect_with(limits).unwrap_err();
    assert_eq!(said, "artifacts are too large: with `b` more than 10 bytes");

    let holes = pair();
    File::create(holes.from.path().join("sparse")).unwrap().set_len(11).unwrap();
    assert!(holes.collect_with(limits).unwrap_err().contains("`sparse` more than 10 bytes"));

    let deep = pair();
    fs::create_dir_all(deep.from.path().join("1/2")).unwrap();
    deep.collect_with(limits).unwrap();
    let deeper = pair();
    fs::create_dir_all(deeper.from.path().join("1/2/3")).unwrap();
    assert_eq!(deeper.collect_with(limits).unwrap_err(), "artifact `1/2/3` is more than 2 folders deep");
}
