//! Streamable HTTP, on this machine unless clients show a token.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use super::server::Server;
use super::{Desk, LARGEST_MESSAGE};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// A trial may take hours, and a verdict several of them.
const LONGEST_WAIT: Duration = Duration::from_secs(48 * 3600);
/// A client has one or two at a time; whoever opens more than all of these together means no good, or has forgotten them.
const MOST_CONNECTIONS: usize = 64;
/// So many are told at once that there is no room; others find the door closed.
const MOST_TURNED_AWAY: usize = 16;
/// To be told takes no longer.
const FAREWELL: Duration = Duration::from_secs(1);
const NO_ROOM: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 5\r\ncontent-length: 64\r\n\
                       connection: close\r\n\r\n64 connections are open already: close one of them and try again";
/// Where clients come to.
const PATH: &str = "/mcp";

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

pub(super) async fn serve(desk: Arc<Desk>, address: SocketAddr, token: Option<String>) -> Outcome<()> {
    let failed = |what: String| move |error: std::io::Error| CliError::new(Exit::Fault, what).cause(&error);
    let listener = TcpListener::bind(address).await.map_err(failed(format!("could not listen at {address}")))?;
    let address = listener.local_addr().map_err(failed("could not listen".to_owned()))?;
    let listen = |kind| signal(kind).map_err(failed("could not listen for signals".to_owned()));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let service = StreamableHttpService::new(
        move || Ok(Server::new(desk.clone())),
        Arc::new(sessions()),
        config(address, token.is_some()),
    );
    ui::say(&format!("serving    http://{address}{PATH}; Ctrl-C ends it"));
    let token = token.map(Arc::<str>::from);
    let [room, door] = [MOST_CONNECTIONS, MOST_TURNED_AWAY].map(|most| Arc::new(Semaphore::new(most)));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
        };
        // A client that was gone before it was seen, or too many at once: the next one may have more luck.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = room.clone().try_acquire_owned() else {
            if let Ok(turn) = door.clone().try_acquire_owned() {
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(FAREWELL, turn_away(stream)).await;
                    drop(turn);
                });
            }
            continue;
        };
        let (service, token) = (service.clone(), token.clone());
        tokio::spawn(async move {
            let _place = place;
            let handler = service_fn(move |request| handle(service.clone(), token.clone(), request));
            let mut server = hyper::server::conn::http1::Builder::new();
            // Whoever connects and says nothing is let go after half a minute.
            let _ = server.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), handler).await;
        });
    }
}

/// Says that there is no room. What the client says meanwhile is heard: closed on unread words, a connection takes back its own.
async fn turn_away(mut stream: TcpStream) {
    let _ = stream.write_all(NO_ROOM.as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut words = [0; 4096];
    while let Ok(1..) = stream.read(&mut words).await {}
}

/// A session is not over because its client waits for a verdict and nobody says a word meanwhile.
fn sessions() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(LONGEST_WAIT);
    sessions
}

/// A page that a person has open in a browser can reach this machine, too: by an address that its own name leads to, or
/// by asking from elsewhere. So only these names are answered, and no page is.
fn config(address: SocketAddr, has_token: bool) -> StreamableHttpServerConfig {
    let config =
        StreamableHttpServerConfig::default().with_max_request_body_bytes(LARGEST_MESSAGE).enforce_origin_validation();
    match address.ip().is_loopback() || !has_token {
        true => config.with_allowed_hosts(["localhost", "127.0.0.1", "::1", "[::1]"]),
        // By which names others know this machine cannot be told from here; a page does not have the token.
        false => config.disable_allowed_hosts(),
    }
}

async fn handle(service: Service, token: Option<Arc<str>>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    if let Some(token) = &token
        && !shows(&request, token)
    {
        let mut answer = said(StatusCode::UNAUTHORIZED, "show the token: Authorization: Bearer TOKEN");
        answer.headers_mut().insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Bearer"));
        return Ok(answer);
    }
    if request.uri().path() != PATH {
        return Ok(said(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp"));
    }
    Ok(service.handle(request).await)
}

/// Compares in a time that tells nothing about the token.
fn shows(request: &Request<Incoming>, token: &str) -> bool {
    let header = request.headers().get(AUTHORIZATION).map_or(&[][..], |value| value.as_bytes());
    let given = header.strip_prefix(b"Bearer ").unwrap_or_default();
    given.len() == token.len() && given.iter().zip(token.as_bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn said(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}
