use std::fs;

use rustix::process::{Resource, getrlimit, getuid};

use super::super::limits::{Rlimits, drop_capabilities, hide_from_tracing, prefer_as_victim};
use super::{become_ordinary, errno_of, in_child, program, succeeds};

fn status(field: &str) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
    line.expect(field).trim().to_owned()
}

#[test]
fn no_capability_is_left() {
    in_child(|| {
        let privileged = getuid().is_root();
        drop_capabilities().unwrap();
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(u64::from_str_radix(&status(set), 16), Ok(0), "{set}");
        }
        if privileged {
            assert_eq!(u64::from_str_radix(&status("CapBnd"), 16), Ok(0));
            // SAFETY: takes numbers.
            let bits = unsafe { libc::prctl(libc::PR_GET_SECUREBITS, 0, 0, 0, 0) };
            assert_eq!(bits, 0b1110_1111);
        }
        assert_eq!(status("NoNewPrivs"), "1");
    });
}

#[test]
fn root_without_capabilities_stays_without_them_after_an_exec() {
    let said = succeeds(|| drop_capabilities().unwrap(), &["sed", "-n", "s/^CapEff:\\t//p", "/proc/self/status"]);
    assert_eq!(said, "0000000000000000\n");
}

#[test]
fn in_a_namespace_of_their_own_an_ordinary_user_loses_them_all() {
    in_child(|| {
        become_ordinary();
        // SAFETY: unshare takes a number.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, 0, "{}", std::io::Error::last_os_error());
        assert_ne!(u64::from_str_radix(&status("CapEff"), 16), Ok(0));
        drop_capabilities().unwrap();
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"] {
            assert_eq!(u64::from_str_radix(&status(set), 16), Ok(0), "{set}");
        }
    });
}

#[test]
fn a_setuid_program_gains_nothing() {
    let confine = || {
        become_ordinary();
        drop_capabilities().unwrap();
    };
    let setuid = ["/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount"];
    let setuid = setuid.into_iter().find(|path| fs::metadata(path).is_ok()).expect("a setuid program");
    // The dynamic loader tells a privileged start from an ordinary one: only in the latter does it
    // heed LD_SHOW_AUXV, and the vector says whether the start was secure.
    // SAFETY: this test has its process to itself.
    unsafe { std::env::set_var("LD_SHOW_AUXV", "1") };
    let secure = |said: &str| said.lines().find(|line| line.starts_with("AT_SECURE")).map(str::to_owned);
    let (_, said) = program(confine, &[setuid, "--version"]);
    assert_eq!(secure(&said).as_deref(), Some("AT_SECURE:            0"), "{said}");
    if status("NoNewPrivs") == "0" {
        // The same program does gain something where nothing was dropped.
        let (_, said) = program(become_ordinary, &[setuid, "--version"]);
        assert_eq!(secure(&said), None, "{said}");
    }
}

#[test]
fn a_hidden_process_is_not_looked_into_by_its_user() {
    in_child(|| {
        become_ordinary();
        hide_from_tracing().unwrap();
        let hidden = std::process::id();
        in_child(|| {
            // The payload: an exec would do this.
            // SAFETY: takes numbers.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
            assert!(fs::read_to_string(format!("/proc/{hidden}/stat")).is_ok());
            assert!(fs::read_dir(format!("/proc/{hidden}/fd")).is_err());
            for name in ["mem", "environ", "maps"] {
                assert!(fs::File::open(format!("/proc/{hidden}/{name}")).is_err(), "{name}");
            }
            let attach = [libc::PTRACE_SEIZE as u64, u64::from(hidden), 0, 0, 0, 0];
            assert_eq!(errno_of(libc::SYS_ptrace, attach), libc::EPERM);
        });
    });
}

#[test]
fn a_payload_is_the_first_to_go_when_memory_runs_out() {
    for hidden in [false, true] {
        in_child(|| {
            become_ordinary();
            if hidden {
                hide_from_tracing().unwrap();
            }
            prefer_as_victim().unwrap();
            assert_eq!(fs::read_to_string("/proc/self/oom_score_adj").unwrap(), "1000\n");
            // SAFETY: takes numbers.
            let dumpable = unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) };
            assert_eq!(dumpable == 0, hidden);
        });
    }
}

#[test]
fn limits_hold_for_what_comes_after() {
    let confine = || {
        become_ordinary();
        Rlimits { processes: Some(0), file_bytes: Some(1 << 20) }.set().unwrap();
    };
    assert_eq!(succeeds(confine, &["sh", "-c", "ulimit -c; ulimit -f"]), "0\n2048\n");
    let (ending, said) = program(confine, &["sh", "-c", "true & wait"]);
    assert_ne!(ending.exit_status(), Some(0), "{said}");
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    let confine = || Rlimits { processes: None, file_bytes: Some(1 << 20) }.set().unwrap();
    program(confine, &["dd", "if=/dev/zero", &format!("of={}", file.display()), "bs=1M", "count=2"]);
    assert_eq!(fs::metadata(file).unwrap().len(), 1 << 20);
}

#[test]
fn a_limit_above_the_hard_one_is_the_hard_one() {
    in_child(|| {
        become_ordinary();
        let lower = Rlimits { processes: Some(100), file_bytes: None };
        lower.set().unwrap();
        Rlimits { processes: Some(200), file_bytes: None }.set().unwrap();
        assert_eq!(getrlimit(Resource::Nproc).maximum, Some(100));
        assert!(getrlimit(Resource::Nofile).current <= Some(65_536));
    });
}
