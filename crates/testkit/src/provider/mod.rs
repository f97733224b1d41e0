//! A provider of models on the loopback, played from a script: what real coding agents talk to in tests.
//!
//! It speaks OpenAI's chat completions and responses, Anthropic's messages and Gemini's `streamGenerateContent`, answers
//! with the tools that the client itself offers, fails on demand, and remembers every request.

mod client;
pub(crate) mod http;
mod script;
mod seen;
mod speak;

pub use http::Request;
pub use script::{Failure, Idea, Script};
pub use seen::Protocol;

use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use script::Answer;
use seen::Conversation;

/// A server that is gone with the value.
pub struct Provider {
    port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    script: Mutex<Script>,
    seen: Mutex<Vec<Request>>,
    /// Set at the end: whoever stalls a client goes home.
    over: AtomicBool,
    /// Answers stop in the middle, and go on when this is taken back; how many have stopped.
    holds: AtomicBool,
    held: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
}

/// How often one who stalls looks whether it is over.
const LOOK: Duration = Duration::from_millis(20);

impl Provider {
    /// Listens on a port of the loopback that is free.
    pub fn start(script: Script) -> Provider {
        Provider::start_at(0, script)
    }

    pub fn start_at(port: u16, script: Script) -> Provider {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("listen on the loopback");
        let port = listener.local_addr().expect("a listener has an address").port();
        let inner = Arc::new(Inner {
            script: Mutex::new(script),
            seen: Mutex::default(),
            over: AtomicBool::new(false),
            holds: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            open: Mutex::default(),
        });
        let server = inner.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if server.over.load(Ordering::SeqCst) {
                    return;
                }
                let (server, twin) = (server.clone(), stream.try_clone());
                server.open.lock().unwrap_or_else(PoisonError::into_inner).extend(twin);
                thread::spawn(move || server.serve(stream));
            }
        });
        Provider { port, inner }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far, in the order of arrival.
    pub fn seen(&self) -> Vec<Request> {
        self.inner.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those that asked a model for something.
    pub fn questions(&self) -> Vec<Request> {
        self.seen().into_iter().filter(|request| Conversation::of(request).is_some()).collect()
    }

    /// From now on every answer stops in the middle, until it is let go.
    pub fn hold(&self) {
        self.inner.holds.store(true, Ordering::SeqCst);
    }

    /// What was held goes on.
    pub fn let_go(&self) {
        self.inner.holds.store(false, Ordering::SeqCst);
    }

    /// How many answers have stopped in the middle so far.
    pub fn held(&self) -> usize {
        self.inner.held.load(Ordering::SeqCst)
    }

    /// Ideas of the script that were begun.
    pub fn begun(&self) -> usize {
        self.inner.script.lock().unwrap_or_else(PoisonError::into_inner).begun()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.inner.over.store(true, Ordering::SeqCst);
        for stream in self.inner.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The listener sits in `accept`, and looks up once more.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Inner {
    /// Answers one request. A client that goes away in the middle of it is no trouble of ours.
    fn serve(&self, mut stream: TcpStream) {
        let Some(request) = Request::read(&mut stream) else { return };
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let Some(mut conversation) = Conversation::of(&request) else {
            let _ = stream.write_all(&http::plain(200, &[], speak::besides(&request).as_bytes()));
            return;
        };
        let answer = {
            let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = script.answer(&conversation);
            conversation.model = script.model.clone().unwrap_or(conversation.model);
            conversation.usage = script.usage;
            answer
        };
        let whole = speak::answer(&conversation, &answer);
        match answer {
            Answer::Fail(Failure::Stall) => {
                while !self.over.load(Ordering::SeqCst) {
                    thread::sleep(LOOK);
                }
            }
            Answer::Fail(Failure::Endless) => {
                let head = b"HTTP/1.1 200 scripted\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
                let mut sent = stream.write_all(head);
                while sent.is_ok() && !self.over.load(Ordering::SeqCst) {
                    sent = stream.write_all(&[b' '; 64 * 1024]);
                }
            }
            Answer::Fail(Failure::Cut) => {
                let _ = stream.write_all(&whole[..whole.len() * 2 / 3]);
            }
            _ if self.holds.load(Ordering::SeqCst) => {
                let (first, rest) = whole.split_at(whole.len() / 2);
                let _ = stream.write_all(first).and_then(|()| stream.flush());
                self.held.fetch_add(1, Ordering::SeqCst);
                while self.holds.load(Ordering::SeqCst) && !self.over.load(Ordering::SeqCst) {
                    thread::sleep(LOOK);
                }
                let _ = stream.write_all(rest);
            }
            _ => {
                let _ = stream.write_all(&whole);
            }
        }
        let _ = stream.flush();
        let _ = stream.shutdown(Shutdown::Both);
    }
}
