//! A webhook on the loopback, played from a script: it answers, fails, stalls and cuts off, and remembers what it was sent.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::provider::{Request, http};

/// What comes back for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A status, with the seconds to wait where it says, and a body.
    Status(u16, Option<u32>, &'static str),
    /// It takes the request and never answers.
    Stall,
    /// It takes the request and hangs up.
    Cut,
}

/// A server that is gone with the value.
pub struct Hook {
    port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Request>>,
    over: AtomicBool,
}

/// How often one who stalls looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);

impl Hook {
    /// Replies in order, each once but the last one; without any, everything is taken.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Hook {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listen on the loopback");
        let port = listener.local_addr().expect("a listener has an address").port();
        let replies = Mutex::new(replies.into_iter().collect());
        let inner = Arc::new(Inner { replies, seen: Mutex::default(), over: AtomicBool::new(false) });
        let server = inner.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if server.over.load(Ordering::SeqCst) {
                    return;
                }
                let server = server.clone();
                thread::spawn(move || server.serve(stream));
            }
        });
        Hook { port, inner }
    }

    /// `http://127.0.0.1:PORT` and a path that nobody should guess.
    pub fn url(&self, secret: &str) -> String {
        format!("http://127.0.0.1:{}/services/{secret}", self.port)
    }

    /// Every request so far, in the order of arrival.
    pub fn seen(&self) -> Vec<Request> {
        self.inner.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::SeqCst);
        // The listener sits in `accept`, and looks up once more.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Inner {
    fn serve(&self, mut stream: TcpStream) {
        let Some(request) = Request::read(&mut stream) else { return };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let reply = {
            let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
            if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
        };
        match reply.unwrap_or(Reply::Status(200, None, "ok")) {
            Reply::Status(status, wait, body) => {
                let wait = wait.map(|seconds| seconds.to_string());
                let headers: Vec<(&str, &str)> = wait.iter().map(|wait| ("retry-after", wait.as_str())).collect();
                let _ = stream.write_all(&http::plain(status, &headers, body.as_bytes()));
            }
            Reply::Stall => {
                while !self.over.load(Ordering::SeqCst) {
                    thread::sleep(LOOK);
                }
            }
            Reply::Cut => {}
        }
        let _ = stream.flush();
        let _ = stream.shutdown(Shutdown::Both);
    }
}
