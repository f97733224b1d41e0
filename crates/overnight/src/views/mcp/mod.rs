//! The Model Context Protocol: a study for agents that drive by themselves.
//!
//! Nothing here decides or measures. What is read comes out of the ledger as the other views show it, what is proposed is
//! left as a letter, and a run takes it up: the one that is going on, or one that is started beside this process.

mod answer;
mod desk;
mod hand;
mod http;
mod propose;
mod read;
mod server;
mod tools;
mod wait;

pub(crate) use desk::Desk;

use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;

use self::server::Server;
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

/// What one message may be long: the largest proposal, and what JSON adds to it.
const LARGEST_MESSAGE: usize = 8 * 1024 * 1024;

/// How clients come.
pub(crate) enum Way {
    Stdio,
    Http { address: SocketAddr, token: Option<String> },
}

/// Serves until standard input closes, or for ever.
pub(crate) fn serve(desk: Desk, way: Way) -> Outcome<()> {
    let desk = Arc::new(desk);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| CliError::new(Exit::Fault, "could not begin to serve").cause(&error))?;
    let hand = hand::start(desk.clone());
    let served = runtime.block_on(async {
        match way {
            Way::Stdio => stdio(desk.clone()).await,
            Way::Http { address, token } => http::serve(desk.clone(), address, token).await,
        }
    });
    // Whoever runs beside us ends before we do.
    desk.hand.end();
    let _ = hand.join();
    // A thread that still waits for standard input must not keep us.
    runtime.shutdown_background();
    served
}

async fn stdio(desk: Arc<Desk>) -> Outcome<()> {
    let (input, output) = ui::protocol();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LARGEST_MESSAGE);
    match Server::new(desk).serve(transport).await {
        Ok(running) => {
            let _ = running.waiting().await;
            Ok(())
        }
        // A client that leaves before it has said who it is has done no harm.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(CliError::usage("the client did not speak the protocol").cause(&error)),
    }
}
