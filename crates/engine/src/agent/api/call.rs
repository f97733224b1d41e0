//! One exchange over HTTP. Whoever answers is a stranger: what he sends has a limit in bytes and in time, and whoever wants
//! to stop is not kept waiting for him.

use std::io::Read;
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use overnight_model::event::Trouble;
use rustls::crypto::CryptoProvider;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{RootCerts, TlsConfig};

use super::trouble::Wrong;
use super::wire::Sheet;
use crate::worker::{Kind, StopHandle};

/// No model writes as much; a body that does is not read to its end.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
const MOST_HEADER_BYTES: usize = 64 * 1024;
/// A server that is there takes a connection at once; one that is not may never say so.
const CONNECT: Duration = Duration::from_secs(30);
/// Whoever keeps to the limit of time by himself gets the chance to say why.
const SLACK: Duration = Duration::from_secs(2);

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Why nothing came back.
pub(super) enum Nothing {
    Wrong(Wrong),
    /// A person wants to stop.
    Interrupted,
}

/// Sends a question and waits for all of the answer, for as long as there is time.
pub(super) fn call(sheet: Sheet, limit: Duration, stops: &StopHandle) -> Result<Answered, Nothing> {
    let agent = agent(&sheet.url, limit);
    let (answer, answers) = mpsc::channel();
    let (stopped, line) = (answer.clone(), agent.clone());
    let _registered = stops.on_stop(Kind::Agent, move || {
        // Whoever generates at the other end sees that nobody listens any more.
        line.clone().shutdown();
        let _ = stopped.send(Err(Nothing::Interrupted));
    });
    let caller = agent.clone();
    // Looking up a name cannot be interrupted, so nobody waits for this thread.
    std::thread::spawn(move || {
        let _ = answer.send(post(&caller, &sheet).map_err(|error| Nothing::Wrong(explained(&error, limit))));
    });
    answers.recv_timeout(limit + SLACK).unwrap_or_else(|_| {
        agent.shutdown();
        Err(Nothing::Wrong(out_of_time(limit)))
    })
}

/// Whoever talks to one address, within this time for all of an exchange.
pub(crate) fn agent(url: &str, limit: Duration) -> Agent {
    let tls =
        TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).unversioned_rustls_crypto_provider(provider());
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        // Nobody is followed with a key in the hand.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(limit))
        .timeout_connect(Some(CONNECT.min(limit)))
        .max_response_header_size(MOST_HEADER_BYTES)
        .user_agent(concat!("overnight/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls.build());
    // A proxy cannot reach our own loopback.
    if is_loopback(url) {
        config = config.proxy(None);
    }
    config.build().new_agent()
}

fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    PROVIDER.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider())).clone()
}

/// Whether an address is this machine's own.
pub(crate) fn is_loopback(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Sends a sheet and reads what comes back to its end.
pub(crate) fn post(agent: &Agent, Sheet { url, headers, body }: &Sheet) -> Result<Answered, ureq::Error> {
    let mut request = agent.post(url).header("content-type", "application/json").header("accept", "application/json");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let mut response = request.send(body.to_string())?;
    let headers = (response.headers().iter())
        .filter_map(|(name, value)| Some((name.as_str().to_lowercase(), value.to_str().ok()?.to_owned())))
        .collect();
    let status = response.status().as_u16();
    let mut body = Vec::new();
    response.body_mut().as_reader().take(MOST_BYTES + 1).read_to_end(&mut body).map_err(ureq::Error::from)?;
    if body.len() as u64 > MOST_BYTES {
        return Err(ureq::Error::BodyExceedsLimit(MOST_BYTES));
    }
    Ok(Answered { status, headers, body })
}

fn out_of_time(limit: Duration) -> Wrong {
    Wrong::new(Trouble::Hung, format!("no answer within {} s (`agent.timeout`)", limit.as_secs()))
}

fn explained(error: &ureq::Error, limit: Duration) -> Wrong {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Global) => out_of_time(limit),
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Wrong::new(Trouble::Outage, "no connection within 30 s".to_owned())
        }
        ureq::Error::BodyExceedsLimit(_) => {
            Wrong::new(Trouble::Outage, format!("an answer of more than {} MiB", MOST_BYTES >> 20))
        }
        // The name of a header or of a host cannot be what was written: nothing was sent.
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
            Wrong::new(Trouble::Other, "the address or the key cannot be sent as they are".to_owned())
        }
        error => Wrong::new(Trouble::Outage, error.to_string()),
    }
}
