//! The way to providers: HTTP/1.1, encrypted over connections that are kept, with the certificates that the system trusts.
//! Nobody is followed anywhere, and nothing is sent a second time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::{Request, Response, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

/// A provider that is there takes a connection at once; one that is not may never say so.
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than providers keep a connection that nobody uses: one that they close as we write loses a call.
const IDLE: Duration = Duration::from_secs(15);

type Direct = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;
type Tunnelled = Client<HttpsConnector<Tunnel<HttpConnector>>, Full<Bytes>>;

pub(super) struct Line {
    direct: Direct,
    /// Servers of one's own, each connection for one call. llama.cpp's ends a connection after a stream and does not say so
    /// before: whoever asks again at once on the same one is not answered. A new one costs nothing so near.
    plain: Direct,
    /// Where a company's network lets nobody out but through its own proxy.
    tunnel: Option<(Matcher, Tunnelled)>,
}

impl Line {
    /// With the proxy that the environment names.
    pub(super) fn new(environment: &[(String, String)]) -> io::Result<Line> {
        let tls = tls()?;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        let named = |names: [&str; 2]| {
            let found = environment.iter().find(|(name, value)| names.contains(&name.as_str()) && !value.is_empty());
            found.map(|(_, value)| value.clone())
        };
        let tunnel = named(["HTTPS_PROXY", "https_proxy"]).and_then(|proxy| {
            let not_for = named(["NO_PROXY", "no_proxy"]).unwrap_or_default();
            let matcher = Matcher::builder().https(proxy).no(not_for).build();
            // Any host that is not excepted says where it is and who is let in.
            let probe = Uri::from_static("https://provider.invalid");
            let found = matcher.intercept(&probe)?;
            let mut tunnel = Tunnel::new(found.uri().clone(), connector.clone());
            if let Some(auth) = found.basic_auth() {
                tunnel = tunnel.with_auth(auth.clone());
            }
            Some((matcher, client(HttpsConnector::from((tunnel, tls.clone())), usize::MAX)))
        });
        let connector = HttpsConnector::from((connector, tls));
        Ok(Line { direct: client(connector.clone(), usize::MAX), plain: client(connector, 0), tunnel })
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Error> {
        match &self.tunnel {
            Some((matcher, tunnel)) if is_outside(request.uri(), matcher) => tunnel.request(request).await,
            _ if request.uri().scheme_str() == Some("http") => self.plain.request(request).await,
            _ => self.direct.request(request).await,
        }
    }
}

fn is_outside(uri: &Uri, matcher: &Matcher) -> bool {
    uri.scheme_str() == Some("https") && matcher.intercept(uri).is_some()
}

/// Keeps at most so many connections to a host that nobody uses.
fn client<C>(connector: C, kept: usize) -> Client<C, Full<Bytes>>
where
    C: hyper_util::client::legacy::connect::Connect + Clone,
{
    Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(kept)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .build(connector)
}

fn tls() -> io::Result<Arc<ClientConfig>> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(io::Error::other)?;
    Ok(Arc::new(config.with_no_client_auth()))
}
