//! A job that reaches the gateway and nothing else.

use std::net::{TcpListener, TcpStream};

use overnight_engine::process::{Fenced, Layer, Limits, Mount, Network, View};

use super::*;

const PORT: u16 = 8217;

/// Asks at a port of the loopback, and tells what came back or what went wrong.
fn asks(port: u16) -> String {
    format!(
        "{PYTHON} -c '
import socket
try: print(socket.create_connection((\"127.0.0.1\", {port}), 30).recv(99).decode())
except OSError as error: print(type(error).__name__)
'"
    )
}

fn view(stage: &Path, command: impl Into<String>) -> Job {
    fs::create_dir_all(stage).unwrap();
    let link = |at: &str, target: &str| Mount::Link { at: at.into(), target: target.into() };
    let sandbox = Sandbox::View(Box::new(View {
        stage: stage.to_owned(),
        layer: Layer::Memory { bytes: 16 << 20, inodes: 10_000 },
        mounts: vec![
            link("/bin", "usr/bin"),
            link("/lib", "usr/lib"),
            link("/lib64", "usr/lib64"),
            Mount::Private { lowers: vec![], at: "/tmp".into() },
            Mount::Shared { lowers: vec!["/usr".into()], at: "/usr".into() },
        ],
        files: vec![],
        hand_back: vec![],
        devices: vec![],
        network: Network::Models { port: PORT },
        user: Some(1_900_000_000),
        limits: Limits::default(),
    }));
    Job { sandbox, ..job(command) }
}

#[test]
fn the_engine_answers_on_a_loopback_that_only_the_job_has() {
    let keeper = keeper(Containment::PidNamespace);
    let stage = tempfile::tempdir().unwrap();
    let mut child = keeper.start(&view(stage.path(), asks(PORT))).unwrap();
    let listener = TcpListener::from(child.listener().unwrap());
    assert_eq!(listener.local_addr().unwrap().to_string(), "127.0.0.1:8217");
    // The same number on the host is another port.
    assert!(TcpStream::connect(("127.0.0.1", PORT)).is_err());
    listener.accept().unwrap().0.write_all(b"hello from outside").unwrap();
    let mut printed = Vec::new();
    let report = child.wait(|_, bytes| printed.extend_from_slice(bytes)).unwrap();
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert_eq!(String::from_utf8(printed).unwrap(), "hello from outside\n");
}

#[test]
fn a_job_finds_neither_the_host_nor_the_descriptor_of_its_listener() {
    let keeper = keeper(Containment::PidNamespace);
    let (stage, host) = (tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let command = format!("ls /proc/self/fd | tr \"\\n\" \" \"; {}", asks(host.local_addr().unwrap().port()));
    // Nobody asks for the listener: it is closed, and the job goes on.
    let Done { stdout, .. } = run(&keeper, &view(stage.path(), command));
    assert_eq!(stdout, "0 1 2 3 ConnectionRefusedError\n");
}

#[test]
fn a_sandbox_that_cannot_be_made_has_no_listener_and_says_why() {
    let keeper = keeper(Containment::PidNamespace);
    let stage = tempfile::tempdir().unwrap();
    let mut job = view(stage.path(), "true");
    let Sandbox::View(view) = &mut job.sandbox else { unreachable!() };
    view.mounts.push(Mount::Shared { lowers: vec!["/not/there".into()], at: "/not".into() });
    let mut child = keeper.start(&job).unwrap();
    assert!(child.listener().is_none());
    let report = child.wait(|_, _| {}).unwrap();
    assert!(matches!(report.ending, Ending::NotStarted { .. }), "{report:?}");
}

in_both_containments! {
    fn behind_a_fence_one_port_of_the_host_is_open(keeper) {
        let [ours, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [port, beside] = [&ours, &other].map(|listener| listener.local_addr().unwrap().port());
        let sandbox = Sandbox::Fenced(Box::new(Fenced {
            read: vec!["/".into()],
            write: vec!["/dev".into(), "/tmp".into()],
            devices: vec![],
            network: Network::Models { port },
            user: None,
            limits: Limits::default(),
        }));
        let answering = std::thread::spawn(move || ours.accept().unwrap().0.write_all(b"hello").unwrap());
        let Done { stdout, .. } = run(&keeper, &Job { sandbox, ..job(asks(port) + "; " + &asks(beside)) });
        assert_eq!(stdout, "hello\nPermissionError\n");
        answering.join().unwrap();
    }
}
