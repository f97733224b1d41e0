use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::super::fence::{Fence, Hard, NEEDED_ABI, abi};
use super::{become_ordinary, in_child, succeeds};

/// A place that anybody may enter, with a folder for each kind of access.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for name in ["", "read", "write", "write/deep", "outside"] {
            let path = place.path(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        }
        for name in ["read/file", "write/file", "outside/file"] {
            fs::write(place.path(name), "text").unwrap();
            fs::set_permissions(place.path(name), Permissions::from_mode(0o666)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn fence(&self) -> Fence {
        let toolchain = ["/bin", "/usr", "/lib", "/lib64", "/etc", "/not/there"].map(PathBuf::from);
        Fence {
            read: [self.path("read")].into_iter().chain(toolchain).collect(),
            write: vec![self.path("write")],
            own_memory: true,
            ..Fence::default()
        }
    }

    /// Does this behind the fence, by an ordinary user.
    fn inside(&self, work: impl FnOnce()) {
        let fence = self.fence();
        in_child(|| {
            become_ordinary();
            fence.raise(Hard::Required).unwrap();
            work();
        });
    }
}

fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

const REFUSED: Option<ErrorKind> = Some(ErrorKind::PermissionDenied);

#[test]
fn files_outside_the_fence_are_out_of_reach() {
    let place = Place::new();
    place.inside(|| {
        let secret = place.path("outside/file");
        assert_eq!(kind(fs::read(&secret)), REFUSED);
        assert_eq!(kind(fs::read_dir(place.path("outside"))), REFUSED);
        assert_eq!(kind(fs::write(&secret, "x")), REFUSED);
        assert_eq!(kind(fs::write(place.path("outside/new"), "x")), REFUSED);
        assert_eq!(kind(fs::remove_file(&secret)), REFUSED);
        let truncated = rustix::fs::open(&secret, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        let by_descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&truncated));
        assert_eq!(kind(OpenOptions::new().write(true).open(by_descriptor)), REFUSED);
        std::os::unix::fs::symlink(&secret, place.path("write/way")).unwrap();
        assert_eq!(kind(fs::read(place.path("write/way"))), REFUSED);
    });
}

#[test]
fn a_readable_place_is_not_writable() {
    let place = Place::new();
    place.inside(|| {
        let file = place.path("read/file");
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        assert_eq!(fs::read_dir(place.path("read")).unwrap().count(), 1);
        assert_eq!(kind(OpenOptions::new().write(true).open(&file)), REFUSED);
        assert_eq!(kind(truncate(&file)), REFUSED);
        assert_eq!(kind(File::create(place.path("read/new"))), REFUSED);
        assert_eq!(kind(fs::create_dir(place.path("read/new"))), REFUSED);
        assert_eq!(kind(fs::remove_file(&file)), REFUSED);
        assert_eq!(kind(fs::hard_link(&file, place.path("read/link"))), REFUSED);
    });
}

#[test]
fn a_writable_place_is_wholly_writable() {
    let place = Place::new();
    place.inside(|| {
        fs::write(place.path("write/file"), "longer").unwrap();
        truncate(&place.path("write/file")).unwrap();
        fs::write(place.path("write/new"), "text").unwrap();
        fs::rename(place.path("write/new"), place.path("write/deep/new")).unwrap();
        fs::hard_link(place.path("write/deep/new"), place.path("write/link")).unwrap();
        fs::create_dir(place.path("write/folder")).unwrap();
        fs::remove_dir(place.path("write/folder")).unwrap();
        fs::remove_file(place.path("write/deep/new")).unwrap();
        UnixListener::bind(place.path("write/socket")).unwrap();
    });
}

#[test]
fn nothing_is_carried_across_the_fence() {
    let place = Place::new();
    place.inside(|| {
        for (from, to) in [("write/file", "read/taken"), ("read/file", "write/taken"), ("outside/file", "write/taken")]
        {
            assert!(fs::rename(place.path(from), place.path(to)).is_err(), "rename {from} {to}");
            assert!(fs::hard_link(place.path(from), place.path(to)).is_err(), "link {from} {to}");
        }
    });
}

#[test]
fn a_writable_place_must_exist() {
    let place = Place::new();
    let fence = Fence { write: vec![place.path("not/there")], ..Fence::default() };
    in_child(|| {
        let failure = fence.raise(Hard::Best).unwrap_err();
        assert_eq!(failure.errno, libc::ENOENT);
        assert!(failure.what.contains("not/there"), "{failure:?}");
    });
}

#[test]
fn tcp_is_a_matter_of_the_fence() {
    let place = Place::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    place.inside(|| {
        assert_eq!(kind(TcpStream::connect(address)), REFUSED);
        assert_eq!(kind(TcpListener::bind("127.0.0.1:0")), REFUSED);
    });
    let open = Fence { tcp: true, ..place.fence() };
    in_child(|| {
        open.raise(Hard::Required).unwrap();
        TcpStream::connect(address).unwrap();
        TcpListener::bind("127.0.0.1:0").unwrap();
    });
}

#[test]
fn one_port_may_be_reached_where_no_other_can() {
    let place = Place::new();
    let [ours, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let (address, beside) = (ours.local_addr().unwrap(), other.local_addr().unwrap());
    let fence = Fence { port: Some(address.port()), ..place.fence() };
    in_child(|| {
        become_ordinary();
        fence.raise(Hard::Required).unwrap();
        TcpStream::connect(address).unwrap();
        assert_eq!(kind(TcpStream::connect(beside)), REFUSED);
        assert_eq!(kind(TcpListener::bind("127.0.0.1:0")), REFUSED);
    });
}

#[test]
fn nobody_outside_the_fence_is_signalled_or_looked_into() {
    // The same user on both sides: only the fence is between them.
    let place = Place::new();
    let fence = place.fence();
    in_child(|| {
        become_ordinary();
        let outside = std::process::id() as i32;
        in_child(|| {
            // SAFETY: kill takes two numbers, and signal 0 only asks.
            let ask = || unsafe { libc::kill(outside, 0) };
            assert_eq!(ask(), 0);
            fence.raise(Hard::Required).unwrap();
            assert_eq!(ask(), -1);
            assert_eq!(kind(fs::read(format!("/proc/{outside}/environ"))), REFUSED);
            // How many descriptors it has can be seen; what they are cannot.
            assert_eq!(kind(fs::read_link(format!("/proc/{outside}/fd/0"))), REFUSED);
            assert_eq!(kind(File::open(format!("/proc/{outside}/fd/0"))), REFUSED);
            assert_eq!(kind(File::open(format!("/proc/{outside}/mem"))), REFUSED);
        });
    });
}

#[test]
fn the_fenced_are_signalled_from_outside() {
    let place = Place::new();
    let fence = place.fence();
    in_child(|| {
        become_ordinary();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        // SAFETY: the child ends in this block.
        let child = unsafe { libc::fork() };
        if child == 0 {
            fence.raise(Hard::Required).unwrap();
            File::from(writer).write_all(b"x").unwrap();
            loop {
                rustix::thread::sched_yield();
            }
        }
        rustix::io::read(&reader, &mut [0; 1]).unwrap();
        // SAFETY: kill takes two numbers.
        assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0);
        assert_eq!(super::wait_for(child).terminating_signal(), Some(libc::SIGKILL));
    });
}

#[test]
fn abstract_sockets_outside_are_out_of_reach() {
    let place = Place::new();
    let name = format!("overnight-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _server = UnixListener::bind_addr(&address).unwrap();
    UnixStream::connect_addr(&address).unwrap();
    place.inside(|| assert_eq!(kind(UnixStream::connect_addr(&address)), REFUSED));
}

#[test]
fn ordinary_programs_work_behind_a_fence() {
    let place = Place::new();
    let script = r#"
import multiprocessing, os, pty, subprocess, tempfile, threading
open("/dev/null", "w").write("x")
assert open("/dev/zero", "rb").read(1) == b"\0"
assert len(open("/dev/urandom", "rb").read(8)) == 8
assert "python" in open("/proc/self/cmdline").read()
assert os.listdir("/proc/self/fd")
assert "processor" in open("/proc/cpuinfo").read()
with multiprocessing.Pool(2) as pool:
    assert pool.map(abs, [-1]) == [1]
reader, writer = os.pipe()
os.write(writer, b"x")
assert open(f"/dev/fd/{reader}", "rb", buffering=0).read(1) == b"x"
with open("/dev/shm/overnight-" + str(os.getpid()), "w") as file:
    os.unlink(file.name)
master, slave = pty.openpty()
assert os.isatty(slave)
print(subprocess.run(["sh", "-c", "cat /proc/self/comm > /dev/null; cat < /dev/null; echo $0"], capture_output=True, text=True, check=True).stdout)
"#;
    let fence = place.fence();
    let confine = || {
        become_ordinary();
        fence.raise(Hard::Required).unwrap();
    };
    let python = Path::new("/usr/bin/python3");
    assert_eq!(succeeds(confine, &[python.to_str().unwrap(), "-c", script]), "sh\n\n");
}

#[test]
fn this_machine_can_stand_on_the_fence_alone() {
    // Without it none of the tests above has shown anything.
    assert!(abi() >= NEEDED_ABI, "Landlock {}", abi());
}

fn truncate(path: &Path) -> io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: a string that outlives the call.
    match unsafe { libc::truncate(path.as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
