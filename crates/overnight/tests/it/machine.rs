//! `check --machine`: the walls of the tier that it names stand, for root and for an ordinary user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Json, Ran, Repo};

/// The walls that were found broken once, and what mended them.
const MENDED: [&str; 3] = ["memory of a process that hides", "processes", "threads"];

#[test]
fn every_wall_that_is_claimed_stands() {
    let ran = Repo::empty().ok(&["check", "--machine", "--json"]);
    assert_stands(&ran);
    let people = Repo::empty().ok(&["check", "--machine"]);
    people.says("tier       standard").says("memory     by ");
}

/// Run by an ordinary user already, the test above is the whole of it.
#[test]
fn every_wall_that_is_claimed_stands_for_an_ordinary_user_too() {
    if !rustix::process::getuid().is_root() {
        return assert_stands(&Repo::empty().ok(&["check", "--machine", "--json"]));
    }
    let folder = tempfile::Builder::new().prefix("overnight-it-").tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // Where the binary was built, others may not be able to look.
    let program = folder.path().join("overnight");
    fs::copy(env!("CARGO_BIN_EXE_overnight"), &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
    command.args(["check", "--machine", "--json"]).current_dir("/").env("TMPDIR", folder.path());
    assert_stands(&Ran::of(command.output().unwrap()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the binary is left");
}

#[test]
fn without_a_sandbox_nothing_is_claimed() {
    let ran = Repo::empty().ok(&["check", "--machine", "--sandbox", "none"]);
    ran.says("tier       none").says("the network            not held, not claimed (there is no sandbox)");
}

#[track_caller]
fn assert_stands(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran}");
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((found["tier"].as_str(), found["sound"].as_bool()), (Some("standard"), Some(true)), "{found:#}");
    let walls = found["walls"].as_array().unwrap();
    assert!(walls.len() >= 28, "{found:#}");
    for name in MENDED {
        let wall = walls.iter().find(|wall| wall["what"] == name).unwrap();
        assert_eq!(wall["stood"], "held", "{wall}");
        assert!(wall["how"].as_str().unwrap().starts_with("ended: "), "{wall}");
    }
}
