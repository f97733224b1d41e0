//! A gateway with books that can be looked into, clients that speak by hand, and servers that answer by hand.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use overnight_engine::gateway::{
    Accounts, Answer, Door, Exchange, Gateway, Guest, Key, Pass, Patience, Recorded, Refusal, Tapes, Upstream,
};
use overnight_model::call::{Call, CallEnd, CallId, CallOutcome, Caller, Protocol};
use overnight_model::{BlobId, ExperimentId};

pub const KEY: &str = "sk-real-0123456789abcdef";

/// What is written down of calls, in order.
#[derive(Default)]
pub struct Books {
    pub admitted: Mutex<Vec<Call>>,
    pub settled: Mutex<Vec<(Call, CallOutcome)>>,
    pub kept: Mutex<Vec<Exchange>>,
    /// Why nothing goes out.
    pub refusal: Mutex<Option<Refusal>>,
    pub recorded: Mutex<Option<Recorded>>,
    next: Mutex<u64>,
}

impl Accounts for Books {
    fn next_id(&self) -> CallId {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        CallId(*next)
    }

    fn admit(&self, call: &Call) -> Result<(), Refusal> {
        if let Some(refusal) = self.refusal.lock().unwrap().clone() {
            return Err(refusal);
        }
        self.admitted.lock().unwrap().push(call.clone());
        Ok(())
    }

    fn settle(&self, call: &Call, outcome: &CallOutcome) {
        self.settled.lock().unwrap().push((call.clone(), outcome.clone()));
    }
}

impl Tapes for Books {
    fn recorded(&self, _: &Call, _: &str, _: &[u8]) -> Recorded {
        self.recorded.lock().unwrap().clone().unwrap_or(Recorded::Live)
    }

    fn is_offline(&self) -> bool {
        self.recorded.lock().unwrap().is_some()
    }

    fn keep(&self, _: &Call, exchange: &Exchange) -> Option<BlobId> {
        self.kept.lock().unwrap().push(exchange.clone());
        None
    }
}

/// A door on the loopback of this machine.
pub struct Site {
    pub books: Arc<Books>,
    pub pass: Pass,
    door: Option<Door>,
    _gateway: Gateway,
}

/// Short where a test waits for it to be over, and long enough for a machine that is very busy.
pub fn patience() -> Patience {
    let long = Duration::from_secs(60);
    Patience { head: long, body: long, first_byte: long, idle: long }
}

impl Site {
    pub fn new(url: &str) -> Site {
        Site::with(url, patience())
    }

    pub fn with(url: &str, patience: Patience) -> Site {
        Site::with_environment(url, patience, &[])
    }

    /// With what the environment says of proxies.
    pub fn with_environment(url: &str, patience: Patience, environment: &[(&str, &str)]) -> Site {
        Site::of(environment, patience, |upstream| Upstream { url: url.to_owned(), ..upstream })
    }

    /// With a provider that is changed first.
    pub fn of(environment: &[(&str, &str)], patience: Patience, change: impl Fn(Upstream) -> Upstream) -> Site {
        let books = Arc::new(Books::default());
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let gateway = Gateway::new(books.clone(), books.clone(), environment).with_patience(patience);
        let pass = gateway.pass_beside().unwrap();
        let guest = guest("");
        let upstreams = guest.upstreams.into_iter().map(change).collect();
        let door = Some(gateway.open(&pass, None, Guest { upstreams, ..guest }).unwrap());
        Site { books, pass, door, _gateway: gateway }
    }

    pub fn connect(&self) -> TcpStream {
        connect(&self.pass)
    }

    /// Sends a request with the door's key, and nothing else in its head but what is needed.
    pub fn send(&self, path: &str, body: &str) -> TcpStream {
        send(&self.pass, path, body)
    }

    /// The whole answer to a request.
    pub fn ask(&self, path: &str, body: &str) -> String {
        rest(self.send(path, body))
    }

    /// Why a call did not go out for want of a key.
    pub fn missed(&self) -> Option<String> {
        self.door.as_ref().unwrap().missed()
    }

    /// Closes the door; what came of the calls.
    pub fn close(&mut self) -> Vec<(Call, CallOutcome)> {
        self.door = None;
        self.books.settled.lock().unwrap().clone()
    }

    /// How the only call ended.
    #[track_caller]
    pub fn end(&mut self) -> CallEnd {
        let settled = self.close();
        assert_eq!(settled.len(), 1, "{settled:?}");
        settled[0].1.end
    }
}

/// An agent that may ask the provider at this address, whatever it speaks.
pub fn guest(url: &str) -> Guest {
    let caller = Caller::Agent { name: "ada".into(), experiment: ExperimentId(7) };
    let upstream = Upstream {
        name: "here".into(),
        url: url.to_owned(),
        protocols: Protocol::ALL.to_vec(),
        key: Some(Key::new(KEY)),
        headers: Vec::new(),
        no_key: None,
    };
    Guest { caller, upstreams: vec![upstream] }
}

fn connect(pass: &Pass) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", pass.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Sends a request with the key of a door, and nothing else in its head but what is needed.
pub fn send(pass: &Pass, path: &str, body: &str) -> TcpStream {
    let mut stream = connect(pass);
    let (key, length) = (&pass.key, body.len());
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// What still comes, up to the end of it or to a connection that is cut.
pub fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until this has come.
pub fn read_until(stream: &mut TcpStream, part: &str) -> String {
    let (mut text, mut piece) = (String::new(), [0; 1024]);
    while !text.contains(part) {
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "it ended with: {text}");
        text.push_str(std::str::from_utf8(&piece[..length]).unwrap());
    }
    text
}

/// A server that does this with its first connection, once the head of a request has come.
pub fn server<T: Send + 'static>(
    answer: impl FnOnce(TcpStream, String) -> T + Send + 'static,
) -> (String, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = read_until(&mut stream, "\r\n\r\n");
        answer(stream, head)
    });
    (url, serving)
}

/// The head of a stream of events, whose end is told by chunks.
pub const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

pub const LAST: &str = "0\r\n\r\n";

/// Answers all at once, and closes.
pub fn whole(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

pub fn recorded(text: &str) -> Recorded {
    let chunks = vec![text.as_bytes().to_vec()];
    Recorded::Answer(Answer { status: 200, content_type: "application/json".into(), chunks })
}
