//! Many at once: two hundred streams, one who does not read, and more calls than there are threads.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, mpsc};

use overnight_engine::gateway::{Accounts, Gateway, Plain, Refusal};
use overnight_model::call::{Call, CallEnd, CallId, CallOutcome};
use overnight_testkit::provider::{Idea, Provider, Script};

use super::ASK;
use super::common::*;

const MANY: usize = 200;
const PIECES: usize = 4;
/// More than all buffers between a provider and a client hold.
const FLOOD: usize = 48 << 20;

/// Takes all connections, and then sends them piece after piece, each when every client has the one before. One of them
/// gets as much as it takes.
fn carry(listener: &TcpListener, go: &mpsc::Receiver<()>) -> std::thread::JoinHandle<()> {
    let (mut streams, mut flood) = (Vec::new(), None);
    for _ in 0..=MANY {
        let mut stream = listener.accept().unwrap().0;
        let head = read_until(&mut stream, "\r\n\r\n");
        stream.write_all(EVENTS.as_bytes()).unwrap();
        match head.contains("who=slow") {
            true => flood = Some(stream),
            false => streams.push(stream),
        }
    }
    let mut flood = flood.unwrap();
    let flooding = std::thread::spawn(move || {
        let piece = chunk(&format!("data: {{\"x\":\"{}\"}}\n\n", "x".repeat(1 << 20)));
        (0..FLOOD >> 20).for_each(|_| flood.write_all(piece.as_bytes()).unwrap());
        flood.write_all((chunk("data: [DONE]\n\n") + LAST).as_bytes()).unwrap();
    });
    let send = |stream: &mut TcpStream, text: &str| stream.write_all(text.as_bytes()).unwrap();
    for piece in 0..PIECES {
        streams.iter_mut().for_each(|stream| send(stream, &chunk(&format!("data: {{\"piece\":{piece}}}\n\n"))));
        go.recv().unwrap();
    }
    streams.iter_mut().for_each(|stream| send(stream, &(chunk("data: [DONE]\n\n") + LAST)));
    flooding
}

#[test]
fn two_hundred_streams_come_piece_by_piece_and_one_who_does_not_read_stalls_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut site = Site::new(&format!("http://{}", listener.local_addr().unwrap()));
    let (ready, go) = mpsc::channel();
    let serving = std::thread::spawn(move || carry(&listener, &go));
    let mut slow = site.send("/v1/chat/completions?who=slow", ASK);
    let mut streams: Vec<TcpStream> = (0..MANY).map(|_| site.send("/v1/chat/completions", ASK)).collect();
    for piece in 0..PIECES {
        // None of them would have it if anybody waited for the next one.
        streams.iter_mut().for_each(|stream| drop(read_until(stream, &format!("{{\"piece\":{piece}}}"))));
        ready.send(()).unwrap();
    }
    assert!(streams.into_iter().all(|stream| rest(stream).contains("[DONE]")));
    let flooding = serving.join().unwrap();
    assert!(!flooding.is_finished(), "what nobody reads is not taken from the provider either");
    let mut length = 0;
    let mut piece = vec![0; 1 << 20];
    loop {
        match slow.read(&mut piece).unwrap() {
            0 => break,
            more => length += more,
        }
    }
    assert!(length > FLOOD, "{length} bytes");
    flooding.join().unwrap();
    let settled = site.close();
    assert_eq!(settled.len(), MANY + 1);
    assert!(settled.iter().all(|(_, outcome)| outcome.end == CallEnd::Answered), "{settled:?}");
    let kept = site.books.kept.lock().unwrap();
    assert_eq!(kept.iter().filter(|exchange| exchange.cut).count(), 1, "of the flood only the beginning is kept");
}

/// One call after the other, as limits may have it.
#[derive(Default)]
struct OneByOne {
    next: Mutex<u64>,
    is_taken: Mutex<bool>,
    free: Condvar,
}

impl Accounts for OneByOne {
    fn next_id(&self) -> CallId {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        CallId(*next)
    }

    fn admit(&self, _: &Call) -> Result<(), Refusal> {
        let is_taken = self.is_taken.lock().unwrap();
        *self.free.wait_while(is_taken, |is_taken| *is_taken).unwrap() = true;
        Ok(())
    }

    fn settle(&self, _: &Call, _: &CallOutcome) {
        *self.is_taken.lock().unwrap() = false;
        self.free.notify_one();
    }
}

#[test]
fn however_many_calls_wait_for_their_turn_the_one_that_has_it_finds_its_provider() {
    let provider = Provider::start(Script::new("/", [Idea::Say("hm".into())]));
    // A name, which has to be looked up.
    let url = provider.url().replace("127.0.0.1", "localhost");
    let gateway = Gateway::new(Arc::new(OneByOne::default()), Arc::new(Plain::default()), Vec::new());
    let pass = gateway.pass_beside().unwrap();
    let door = gateway.open(&pass, None, guest(&url)).unwrap();
    let streams: Vec<TcpStream> = (0..80).map(|_| send(&pass, "/v1/messages", ASK)).collect();
    for stream in streams {
        let answer = rest(stream);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(door);
}
