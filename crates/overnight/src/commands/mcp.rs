//! `overnight mcp`: an outside agent drives, the engine decides.

use std::net::SocketAddr;
use std::path::PathBuf;

use overnight_engine::load::locate;
use overnight_model::spec::Tier;

use crate::args::{Place, tier};
use crate::error::{CliError, Exit, Outcome};
use crate::views::mcp::{Desk, Way, serve};

/// A token is a line, and nobody types it.
const SHORTEST_TOKEN: usize = 16;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Mcp {
    /// Serve streamable HTTP at this address, such as 127.0.0.1:8123, instead of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Ask HTTP clients for the token that is in FILE; needed for any address but this machine's own
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Run at this tier (standard, landlock or none) instead of the strongest, and accept it
    #[arg(long, value_name = "TIER", value_parser = tier)]
    sandbox: Option<Tier>,
}

pub(crate) fn mcp(place: &Place, args: &Mcp) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    let token = args.token_file.as_ref().map(token).transpose()?;
    let way = match args.http {
        None => Way::Stdio,
        Some(address) if address.ip().is_loopback() || token.is_some() => Way::Http { address, token },
        Some(address) => {
            let message = format!("{address} can be reached from other machines");
            return Err(CliError::new(Exit::Refused, message)
                .hint("use 127.0.0.1, or have clients show a token: --token-file FILE"));
        }
    };
    serve(Desk::new(site, args.sandbox), way)?;
    Ok(Exit::Done)
}

fn token(file: &PathBuf) -> Outcome<String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| CliError::usage(format!("could not read {}", file.display())).cause(&error))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("the token in {} is no line of at least {SHORTEST_TOKEN} plain signs", file.display());
        return Err(CliError::usage(message).hint("head -c 24 /dev/urandom | base64 > FILE"));
    }
    Ok(token.to_owned())
}
