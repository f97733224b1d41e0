//! Messages between engine, keeper and inits: one JSON value per packet, descriptors beside it.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::job::{Containment, Job, Report};
use super::view::{Layer, Limits, Network, Sandbox};

/// Far above any message: what can be long travels in a memfd.
const MESSAGE_LIMIT: usize = 16 * 1024;

/// The most descriptors one message carries.
const FDS_LIMIT: usize = 8;

/// Above what exec takes for arguments and environment together, so exec is the one to refuse.
const BODY_LIMIT: u64 = 64 * 1024 * 1024;

/// The keeper's first message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Hello {
    Ready { containment: Containment },
    Refused { errno: i32, what: String },
}

/// What the engine asks of the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// With the descriptors body, control, stdin, stdout, stderr.
    Start(Walls),
    /// With the descriptor to hold.
    Hold,
    /// With the socket on which to answer.
    HeldBy,
}

/// What the keeper must know of a job's sandbox before it makes an init.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Walls {
    pub kind: Kind,
    pub network: Network,
    pub limits: Limits,
    /// What its files may take of memory, where they are kept there.
    pub files_in_memory: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    None,
    /// With a root of its own, as this user where the keeper is root.
    View {
        user: Option<u32>,
    },
    /// Whether with a user of its own.
    Fenced {
        own_user: bool,
    },
}

impl Walls {
    pub(super) fn of(sandbox: &Sandbox) -> Walls {
        let kind = match sandbox {
            Sandbox::None => Kind::None,
            Sandbox::View(view) => Kind::View { user: view.user },
            Sandbox::Fenced(fenced) => Kind::Fenced { own_user: fenced.user.is_some() },
        };
        let files_in_memory = match sandbox.view().map(|view| &view.layer) {
            Some(Layer::Memory { bytes, .. }) => *bytes,
            Some(Layer::Disk { .. }) | None => 0,
        };
        Walls { kind, network: sandbox.network(), limits: sandbox.limits(), files_in_memory }
    }
}

/// What an init tells the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Word {
    /// With the listener on its own loopback; before the payload runs.
    Listening,
    /// With the private folders that the job left; the last word.
    Ended(Report),
}

/// What the engine asks of an init.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    Terminate,
    Kill,
}

/// The part of a job that travels in a memfd.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Body {
    pub command: String,
    /// The bytes of the path: it need not be UTF-8.
    pub cwd: Vec<u8>,
    pub env: Vec<(String, String)>,
    pub deadline: Duration,
    pub grace: Duration,
    pub sandbox: Sandbox,
}

/// One packet.
pub(super) struct Message {
    bytes: Vec<u8>,
    pub fds: Vec<OwnedFd>,
}

impl Message {
    pub(super) fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.bytes)
    }
}

impl Body {
    pub(super) fn new(job: &Job, cwd: &Path) -> Body {
        let Job { command, cwd: _, env, stdin: _, deadline, grace, sandbox } = job;
        Body {
            command: command.clone(),
            cwd: cwd.as_os_str().as_bytes().to_vec(),
            env: env.clone(),
            deadline: *deadline,
            grace: *grace,
            sandbox: sandbox.clone(),
        }
    }

    /// The description, its length in front of it, and the contents of the view's files behind it.
    pub(super) fn to_file(&self) -> io::Result<OwnedFd> {
        let description = serde_json::to_vec(self)?;
        let files = self.sandbox.view().into_iter().flat_map(|view| &view.files);
        let mut bytes = (description.len() as u64).to_le_bytes().to_vec();
        bytes.extend(description);
        files.for_each(|file| bytes.extend_from_slice(&file.bytes));
        sealed_file("overnight-job", &bytes)
    }

    pub(super) fn from_file(file: OwnedFd) -> io::Result<Body> {
        let mut bytes = Vec::new();
        File::from(file).take(BODY_LIMIT).read_to_end(&mut bytes)?;
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let (length, rest) = bytes.split_first_chunk().ok_or_else(short)?;
        let length = u64::from_le_bytes(*length) as usize;
        let (description, mut rest) = rest.split_at_checked(length).ok_or_else(short)?;
        let mut body: Body = serde_json::from_slice(description)?;
        for file in body.sandbox.view_mut().into_iter().flat_map(|view| &mut view.files) {
            let (contents, others) = rest.split_at_checked(file.length).ok_or_else(short)?;
            file.bytes = contents.to_vec();
            rest = others;
        }
        Ok(body)
    }
}

/// A file in memory that holds `bytes`, read from the start, and that nobody can change.
pub(super) fn sealed_file(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    file.rewind()?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

/// A connected pair of sockets that keep the borders of messages and show end of file.
pub(super) fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

pub(super) fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    fds: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> rustix::io::Result<()> {
    let bytes = serde_json::to_vec(message).map_err(|_| Errno::INVAL)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_LIMIT))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::MSGSIZE);
    }
    rustix::io::retry_on_intr(|| {
        let iov = [IoSlice::new(&bytes)];
        sendmsg(&socket, &iov, &mut ancillary, flags | SendFlags::NOSIGNAL)
    })?;
    Ok(())
}

/// Reads one packet; `None` is the end of file.
///
/// A packet that is too long or carries too many descriptors is lost and gives `MSGSIZE`.
pub(super) fn receive(socket: impl AsFd, flags: RecvFlags) -> rustix::io::Result<Option<Message>> {
    let mut buffer = [0; MESSAGE_LIMIT];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_LIMIT))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut iov = [IoSliceMut::new(&mut buffer)];
        let got = match recvmsg(&socket, &mut iov, &mut ancillary, flags | RecvFlags::CMSG_CLOEXEC) {
            // A peer that closed with our messages unread leaves CONNRESET in front of what it
            // sent before; reading the error clears it, and the last messages are behind it.
            Err(Errno::INTR | Errno::CONNRESET) => continue,
            other => other?,
        };
        let fds = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                _ => None,
            })
            .flatten()
            .collect();
        if got.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(Errno::MSGSIZE);
        }
        if got.bytes == 0 {
            return Ok(None);
        }
        return Ok(Some(Message { bytes: buffer[..got.bytes].to_vec(), fds }));
    }
}
