use super::common::*;
use overnight_engine::workspace::*;
use proptest::prelude::*;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

fn copy() -> (Repo, Copy) {
    let repo = Repo::new();
    let user = repo.open();
    let copy = Copy::lay_out(&repo.copy_dir(), &user, user.head().unwrap()).unwrap();
    (repo, copy)
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn surface(contents: &str) -> Vec<(String, Vec<u8>)> {
    vec![("train.py".into(), contents.into())]
}

/// Spoils a copy, and checks what `changes` and `reset` say, and that the copy is pristine again.
fn spoil(what: impl Fn(&Path), changed: &[&str], extra: usize) {
    let (repo, mut copy) = copy();
    copy.reset(&surface("lr = 2\n")).unwrap();
    assert!(copy.changes(&["train.py".into()]).unwrap().is_empty());
    what(copy.path());
    let changed: Vec<PathBuf> = changed.iter().map(PathBuf::from).collect();
    let seen = copy.changes(&["train.py".into()]).unwrap();
    assert_eq!(seen.changed, changed);
    let found = copy.reset(&surface("lr = 3\n")).unwrap();
    assert_eq!(found.changed, changed);
    assert_eq!(found.extra, extra);
    let mut expected = archive(&repo, repo.rev("HEAD"));
    expected.get_mut(Path::new("train.py")).unwrap().1 = b"lr = 3\n".to_vec();
    assert_eq!(picture(copy.path()), expected);
    assert!(copy.reset(&surface("lr = 4\n")).unwrap().is_empty(), "and it stays so");

    // The same in two steps, of which only the second waits for the next surface.
    what(copy.path());
    assert_eq!(copy.restore(&["train.py".into()]).unwrap().changed, changed);
    copy.put(&surface("lr = 5\n")).unwrap();
    expected.get_mut(Path::new("train.py")).unwrap().1 = b"lr = 5\n".to_vec();
    assert_eq!(picture(copy.path()), expected);
    assert!(copy.changes(&["train.py".into()]).unwrap().is_empty());
}

#[test]
fn a_surface_is_put_wherever_the_last_one_went() {
    let (_repo, mut copy) = copy();
    let train = copy.path().join("train.py");
    let spoilers: [&dyn Fn(); 4] = [
        &|| std::fs::remove_file(&train).unwrap(),
        &|| {
            std::fs::remove_file(&train).unwrap();
            std::fs::create_dir_all(train.join("deep")).unwrap();
        },
        &|| {
            std::fs::remove_file(&train).unwrap();
            symlink("/etc/passwd", &train).unwrap();
        },
        &|| (),
    ];
    let mut contents = 0;
    for spoiler in spoilers {
        copy.restore(&["train.py".into()]).unwrap();
        contents += 1;
        copy.put(&surface(&format!("lr = {contents}\n"))).unwrap();
        assert_eq!(std::fs::read_to_string(&train).unwrap(), format!("lr = {contents}\n"));
        assert!(!train.symlink_metadata().unwrap().is_symlink());
        spoiler();
    }
    assert!(matches!(copy.put(&[("nowhere".into(), vec![])]), Err(GitError::NotInTheTree { .. })));
}

#[test]
fn a_copy_equals_the_archive_of_its_commit() {
    let (repo, copy) = copy();
    assert_eq!(picture(copy.path()), archive(&repo, repo.rev("HEAD")));
}

#[test]
fn what_is_left_out_of_a_copy_is_not_there_and_does_not_come_back() {
    let repo = Repo::new();
    let user = repo.open();
    let left_out = ["eval.py", "data/deep/values.txt", "no/such/file", "data"].map(str::to_owned);
    let mut copy = Copy::lay_out_without(&repo.copy_dir(), &user, user.head().unwrap(), &left_out).unwrap();
    let expected = picture(copy.path());
    let mut whole = archive(&repo, repo.rev("HEAD"));
    whole.retain(|path, _| !left_out[..2].iter().any(|left| path == Path::new(left)));
    assert_eq!(expected, whole);

    std::fs::write(copy.path().join("eval.py"), "mine").unwrap();
    let changes = copy.reset(&surface("lr = 2\n")).unwrap();
    assert_eq!((changes.changed, changes.extra_named), (vec![], vec![PathBuf::from("eval.py")]));
    copy.restore(&["train.py".into()]).unwrap();
    copy.reset(&[]).unwrap();
    assert_eq!(picture(copy.path()), expected);
    assert!(matches!(copy.reset(&[("eval.py".into(), vec![])]), Err(GitError::NotInTheTree { .. })));
}

#[test]
fn the_surface_is_a_new_file_each_time() {
    let (_repo, mut copy) = copy();
    copy.reset(&surface("lr = 2\n")).unwrap();
    let held = std::fs::File::open(copy.path().join("train.py")).unwrap();
    let first = held.metadata().unwrap().ino();
    copy.reset(&surface("lr = 2\n")).unwrap();
    assert_ne!(copy.path().join("train.py").metadata().unwrap().ino(), first);
    assert_eq!(copy.reset(&[]).unwrap(), Changes::default());
    assert_eq!(std::fs::read(copy.path().join("train.py")).unwrap(), b"lr = 1\n", "no longer surface");
    assert!(matches!(copy.reset(&[("nowhere".into(), vec![])]), Err(GitError::NotInTheTree { .. })));
    assert!(matches!(copy.reset(&[("link".into(), vec![])]), Err(GitError::NotInTheTree { .. })));
}

#[test]
fn whatever_stands_in_the_place_of_a_copy_is_removed() {
    let repo = Repo::new();
    let user = repo.open();
    let dir = repo.copy_dir();
    let outside = repo.temp.path().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("precious"), "x").unwrap();
    std::fs::create_dir_all(dir.parent().unwrap()).unwrap();
    symlink(&outside, &dir).unwrap();
    Copy::lay_out(&dir, &user, user.head().unwrap()).unwrap();
    assert!(outside.join("precious").exists());
    std::fs::create_dir_all(dir.join("locked/in")).unwrap();
    std::fs::write(dir.join("locked/in/file"), "x").unwrap();
    chmod(&dir.join("locked/in"), 0o000);
    chmod(&dir.join("locked"), 0o500);
    chmod(&dir, 0o000);
    let copy = Copy::lay_out(&dir, &user, user.head().unwrap()).unwrap();
    assert_eq!(picture(copy.path()), archive(&repo, user.head().unwrap()));
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::write(&dir, "a file").unwrap();
    Copy::lay_out(&dir, &user, user.head().unwrap()).unwrap();
}

#[test]
fn folders_without_rights_are_opened_and_emptied() {
    spoil(
        |dir| {
            std::fs::create_dir_all(dir.join("mine/inner")).unwrap();
            std::fs::write(dir.join("mine/inner/file"), "x").unwrap();
            chmod(&dir.join("mine/inner"), 0o000);
            chmod(&dir.join("mine"), 0o000);
        },
        &[],
        3,
    );
}

#[test]
fn a_tracked_folder_without_rights_is_given_them_back() {
    // Root can look into it, and sees that nothing in it changed; others cannot.
    let seen: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["data/deep/values.txt"] };
    let (repo, mut copy) = copy();
    chmod(&copy.path().join("data/deep"), 0o000);
    chmod(&copy.path().join("data"), 0o000);
    assert_eq!(copy.changes(&[]).unwrap().changed, seen.iter().map(PathBuf::from).collect::<Vec<_>>());
    assert!(copy.reset(&[]).unwrap().is_empty());
    assert_eq!(picture(copy.path()), archive(&repo, repo.rev("HEAD")));
}

#[test]
fn a_link_in_place_of_a_tracked_folder_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(outside.path().join("deep")).unwrap();
    std::fs::write(outside.path().join("deep/values.txt"), "1 2 3\n").unwrap();
    std::fs::write(outside.path().join("precious"), "x").unwrap();
    let before = picture(outside.path());
    spoil(
        |dir| {
            std::fs::remove_dir_all(dir.join("data")).unwrap();
            symlink(outside.path(), dir.join("data")).unwrap();
        },
        &["data/deep/values.txt"],
        0,
    );
    assert_eq!(picture(outside.path()), before);
}

#[test]
fn a_fifo_a_folder_and_a_socket_in_place_of_files_are_replaced() {
    spoil(
        |dir| {
            std::fs::remove_file(dir.join("eval.py")).unwrap();
            assert!(Command::new("mkfifo").arg(dir.join("eval.py")).status().unwrap().success());
            std::fs::remove_file(dir.join("run.sh")).unwrap();
            std::fs::create_dir_all(dir.join("run.sh/run.sh")).unwrap();
            chmod(&dir.join("run.sh"), 0o000);
            std::fs::remove_file(dir.join("link")).unwrap();
            drop(std::os::unix::net::UnixListener::bind(dir.join("link")).unwrap());
            std::fs::remove_file(dir.join("train.py")).unwrap();
            std::fs::create_dir(dir.join("train.py")).unwrap();
        },
        &["eval.py", "link", "run.sh"],
        0,
    );
}

#[test]
fn a_file_in_place_of_a_folder_is_replaced() {
    spoil(
        |dir| {
            std::fs::remove_dir_all(dir.join("data")).unwrap();
            std::fs::write(dir.join("data"), "x").unwrap();
        },
        &["data/deep/values.txt"],
        0,
    );
}

#[test]
fn a_hard_link_to_a_locked_file_is_cut() {
    let outside = tempfile::tempdir().unwrap();
    let other = outside.path().join("other");
    spoil(
        |dir| {
            std::fs::hard_link(dir.join("eval.py"), dir.join("second")).unwrap();
            let _ = std::fs::remove_file(&other);
            std::fs::hard_link(dir.join("run.sh"), &other).unwrap();
        },
        &["eval.py", "run.sh"],
        1,
    );
    assert_eq!(other.metadata().unwrap().nlink(), 1);
}

#[test]
fn an_edit_that_restores_size_and_mtime_is_found_at_once() {
    for _ in 0..30 {
        spoil(
            |dir| {
                let path = dir.join("eval.py");
                let before = path.metadata().unwrap().modified().unwrap();
                std::fs::write(&path, "print(1)\n").unwrap();
                std::fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
            },
            &["eval.py"],
            0,
        );
    }
}

#[test]
fn rights_links_and_removals_are_undone() {
    spoil(
        |dir| {
            chmod(&dir.join("eval.py"), 0o777);
            std::fs::remove_file(dir.join("link")).unwrap();
            symlink("data/dee2", dir.join("link")).unwrap();
            std::fs::remove_file(dir.join("data/deep/values.txt")).unwrap();
        },
        &["data/deep/values.txt", "eval.py", "link"],
        0,
    );
}

#[test]
fn ten_thousand_files_and_a_very_deep_nest_are_removed() {
    const DEPTH: usize = 3_000;
    spoil(
        |dir| {
            std::fs::create_dir(dir.join("many")).unwrap();
            for number in 0..10_000 {
                std::fs::write(dir.join(format!("many/{number}")), "").unwrap();
            }
            // Deeper than a path can be long, so one step at a time.
            let mut at = rustix::fs::open(dir, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
            for _ in 0..DEPTH {
                rustix::fs::mkdirat(&at, "nest", rustix::fs::Mode::RWXU).unwrap();
                at = rustix::fs::openat(&at, "nest", rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty()).unwrap();
            }
        },
        &[],
        10_001 + DEPTH,
    );
}

#[test]
fn a_note_in_a_folders_attributes_or_time_does_not_reach_the_next_trial() {
    let (_repo, mut copy) = copy();
    let folder = copy.path().join("data");
    match rustix::fs::setxattr(&folder, "user.note", b"from trial 1", rustix::fs::XattrFlags::empty()) {
        Err(rustix::io::Errno::OPNOTSUPP) => return,
        other => other.unwrap(),
    }
    let before = folder.metadata().unwrap().mtime();
    std::fs::File::open(&folder).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    copy.reset(&[]).unwrap();
    assert_eq!(rustix::fs::listxattr(&folder, &mut [0u8; 100][..]).unwrap(), 0);
    assert_eq!(folder.metadata().unwrap().mtime(), before);
}

#[test]
fn files_are_given_to_another_user_and_stay_so() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_repo, mut copy) = copy();
    copy.give_to(65534, 65534).unwrap();
    assert!(copy.changes(&[]).unwrap().is_empty());
    std::fs::write(copy.path().join("eval.py"), "x").unwrap();
    copy.reset(&surface("lr = 2\n")).unwrap();
    for path in ["", "data", "data/deep/values.txt", "eval.py", "train.py", "link"] {
        let metadata = copy.path().join(path).symlink_metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534), "{path}");
    }
}

#[test]
fn extra_files_are_named_up_to_a_limit() {
    let (_repo, copy) = copy();
    for number in 0..50 {
        std::fs::write(copy.path().join(format!("data/helper{number:02}")), "").unwrap();
    }
    let changes = copy.changes(&[]).unwrap();
    assert_eq!((changes.extra, changes.extra_named.len()), (50, Changes::NAMED));
    assert!(changes.extra_named[0].starts_with("data"));
}

#[test]
fn the_surface_is_read_only_where_it_is_a_plain_file() {
    let (repo, mut copy) = copy();
    let dir = copy.path().to_owned();
    let read = |copy: &Copy, path: &str| copy.read_surface(path, 10).unwrap();
    let not = SurfaceRead::NotAFile;
    assert_eq!(read(&copy, "train.py"), SurfaceRead::Contents(b"lr = 1\n".to_vec()));
    assert_eq!(copy.read_surface("train.py", 7).unwrap(), SurfaceRead::Contents(b"lr = 1\n".to_vec()));
    assert_eq!(copy.read_surface("train.py", 6).unwrap(), SurfaceRead::TooLarge(7));
    assert_eq!(read(&copy, "nowhere"), SurfaceRead::Missing);
    assert_eq!(read(&copy, "no/where"), SurfaceRead::Missing);
    assert_eq!(read(&copy, "eval.py/x"), SurfaceRead::Missing);
    assert_eq!(read(&copy, "data"), not(NotAFile::Folder));
    assert_eq!(read(&copy, "link"), not(NotAFile::Symlink));
    assert_eq!(read(&copy, "link/values.txt"), not(NotAFile::BelowASymlink));
    let secret = repo.temp.path().join("secret");
    std::fs::write(&secret, "key").unwrap();
    std::fs::remove_file(dir.join("train.py")).unwrap();
    symlink(&secret, dir.join("train.py")).unwrap();
    assert_eq!(read(&copy, "train.py"), not(NotAFile::Symlink));
    std::fs::remove_file(dir.join("train.py")).unwrap();
    std::fs::hard_link(&secret, dir.join("train.py")).unwrap();
    assert_eq!(read(&copy, "train.py"), not(NotAFile::Linked));
    std::fs::remove_file(dir.join("train.py")).unwrap();
    assert!(Command::new("mkfifo").arg(dir.join("train.py")).status().unwrap().success());
    assert_eq!(read(&copy, "train.py"), not(NotAFile::Fifo));
    std::fs::remove_file(dir.join("train.py")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(dir.join("train.py")).unwrap());
    assert_eq!(read(&copy, "train.py"), not(NotAFile::Socket));
    copy.reset(&[]).unwrap();
    chmod(&dir.join("train.py"), 0o000);
    let unreadable = if rustix::process::geteuid().is_root() {
        SurfaceRead::Contents(b"lr = 1\n".to_vec())
    } else {
        not(NotAFile::Unreadable)
    };
    assert_eq!(read(&copy, "train.py"), unreadable);
    assert_eq!(std::fs::read(&secret).unwrap(), b"key");
}

#[derive(Debug, Clone)]
enum Mutation {
    Write(usize, u8),
    WriteAndRestoreTime(usize, u8),
    Remove(usize),
    Chmod(usize, u32),
    MakeFolder(usize, u8),
    Link(usize, usize),
    HardLink(usize, usize),
    Rename(usize, usize),
    Reset,
}

const PLACES: [&str; 12] = [
    "train.py",
    "eval.py",
    "run.sh",
    "link",
    "data",
    "data/deep",
    "data/deep/values.txt",
    "data/new",
    "new",
    "new/er",
    "data/deep/x",
    "link/y",
];

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = 0..PLACES.len();
    prop_oneof![
        (place.clone(), any::<u8>()).prop_map(|(a, b)| Mutation::Write(a, b)),
        (place.clone(), any::<u8>()).prop_map(|(a, b)| Mutation::WriteAndRestoreTime(a, b)),
        place.clone().prop_map(Mutation::Remove),
        (place.clone(), prop_oneof![Just(0o000), Just(0o400), Just(0o755), Just(0o4755), Just(0o644)])
            .prop_map(|(a, b)| Mutation::Chmod(a, b)),
        (place.clone(), any::<u8>()).prop_map(|(a, b)| Mutation::MakeFolder(a, b)),
        (place.clone(), place.clone()).prop_map(|(a, b)| Mutation::Link(a, b)),
        (place.clone(), place.clone()).prop_map(|(a, b)| Mutation::HardLink(a, b)),
        (place.clone(), place).prop_map(|(a, b)| Mutation::Rename(a, b)),
        Just(Mutation::Reset),
    ]
}

/// Does what it can; a mutation that the file system refuses is passed over.
fn mutate(dir: &Path, mutation: &Mutation) {
    let at = |place: &usize| dir.join(PLACES[*place]);
    let _ = match mutation {
        Mutation::Write(place, byte) => std::fs::write(at(place), [*byte]),
        Mutation::WriteAndRestoreTime(place, byte) => at(place).metadata().and_then(|metadata| {
            let mut contents = std::fs::read(at(place))?;
            if let Some(first) = contents.first_mut() {
                *first = *byte;
            }
            std::fs::write(at(place), contents)?;
            std::fs::File::options().write(true).open(at(place))?.set_modified(metadata.modified()?)
        }),
        Mutation::Remove(place) => std::fs::remove_file(at(place)).or_else(|_| std::fs::remove_dir_all(at(place))),
        Mutation::Chmod(place, mode) => std::fs::set_permissions(at(place), std::fs::Permissions::from_mode(*mode)),
        Mutation::MakeFolder(place, byte) => {
            let _ = std::fs::remove_file(at(place));
            std::fs::create_dir_all(at(place).join(OsStr::new(&format!("x{byte}"))))
        }
        Mutation::Link(place, to) => {
            let _ = std::fs::remove_file(at(place));
            symlink(at(to), at(place))
        }
        Mutation::HardLink(place, to) => std::fs::hard_link(at(to), at(place)),
        Mutation::Rename(from, to) => std::fs::rename(at(from), at(to)),
        Mutation::Reset => Ok(()),
    };
}

#[test]
fn a_copy_is_pristine_after_any_mutations() {
    let (repo, copy) = copy();
    let expected = archive(&repo, repo.rev("HEAD"));
    let copy = std::cell::RefCell::new(copy);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..Default::default()
    });
    runner
        .run(&proptest::collection::vec(mutation(), 1..12), |mutations| {
            let mut copy = copy.borrow_mut();
            copy.reset(&[]).unwrap();
            for mutation in &mutations {
                match mutation {
                    Mutation::Reset => drop(copy.reset(&[]).unwrap()),
                    other => mutate(copy.path(), other),
                }
            }
            // Looking never says less than restoring finds.
            let seen = copy.changes(&[]).unwrap();
            let found = copy.reset(&[]).unwrap();
            prop_assert!(found.changed.iter().all(|path| seen.changed.contains(path)));
            prop_assert_eq!(picture(copy.path()), expected.clone());
            Ok(())
        })
        .unwrap();
}
