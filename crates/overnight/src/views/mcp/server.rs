//! The server as a client sees it.

use std::sync::Arc;

use hyper::http::request::Parts;
use overnight_engine::clock;
use overnight_engine::deliver;
use overnight_model::ExperimentId;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::propose::{Propose, agent_name};
use super::wait::{self, Verdict};
use super::{Desk, answer, read, tools};
use crate::commands::champion::Base;
use crate::commands::{pause, say};
use crate::error::{CliError, Exit, Outcome};

/// How the protocol calls a session, over HTTP.
const SESSION: &str = "mcp-session-id";
const BRIEF: &str = "overnight://brief";

/// One client's side.
#[derive(Clone)]
pub(super) struct Server {
    desk: Arc<Desk>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    text: String,
}

impl Server {
    pub(super) fn new(desk: Arc<Desk>) -> Server {
        Server { desk }
    }

    async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Outcome<CallToolResult> {
        let client = Client::of(context);
        match name {
            "propose" => return self.propose(given(arguments)?, client, context).await,
            "verdict" => return self.verdict(given(arguments)?, &client, context).await,
            _ => {}
        }
        let (server, name) = (self.clone(), name.to_owned());
        blocking(move || server.answer(&name, arguments, &client)).await
    }

    /// What is known at once.
    fn answer(&self, name: &str, arguments: Value, client: &Client) -> Outcome<CallToolResult> {
        let site = &self.desk.site;
        match name {
            "brief" => given::<Nothing>(arguments).and_then(|_| self.brief(client)).map(answer::plain),
            "status" => given::<Nothing>(arguments).and_then(|_| read::status(site)),
            "log" => read::log(site, &given(arguments)?),
            "search" => read::search(site, &given(arguments)?),
            "show" => read::show(site, &given(arguments)?),
            "diff" => read::diff(site, &given(arguments)?),
            "output" => read::output(site, &given(arguments)?),
            "surface" => {
                let (answer, of) = read::surface(site, &given(arguments)?)?;
                // Edits are made from the champion, whatever else was looked at.
                if of == read::champion(site)? {
                    self.desk.shows(&client.key, of);
                }
                Ok(answer)
            }
            "say" => {
                let Words { text } = given(arguments)?;
                say::speak(site, &client.agent, &text).map(answer::plain)
            }
            "pause" => {
                given::<Nothing>(arguments).and_then(|_| pause::set(site, true, "overnight mcp")).map(answer::plain)
            }
            "resume" => {
                given::<Nothing>(arguments).and_then(|_| pause::set(site, false, "overnight mcp")).map(answer::plain)
            }
            name => Err(CliError::usage(format!("there is no tool `{name}`"))),
        }
    }

    async fn propose(
        &self,
        asked: Propose,
        client: Client,
        context: &RequestContext<RoleServer>,
    ) -> Outcome<CallToolResult> {
        let (desk, shown, wait) = (self.desk.clone(), self.desk.shown(&client.key), asked.wait);
        let agent = client.agent.clone();
        let ticket = blocking(move || {
            let letter = asked.letter(&desk.site, &agent, shown)?;
            overnight_engine::open::refuse_foreign_state(&desk.site)?;
            Ok(deliver::leave(&desk.site, &letter, clock::now())?)
        })
        .await?;
        self.verdict(Verdict { ticket, wait }, &client, context).await
    }

    async fn verdict(
        &self,
        asked: Verdict,
        client: &Client,
        context: &RequestContext<RoleServer>,
    ) -> Outcome<CallToolResult> {
        let answer = wait::verdict(&self.desk, asked, context).await?;
        // Whose idea was kept goes on from that.
        let told = answer.structured_content.as_ref();
        if let Some(told) = told.filter(|told| told["verdict"] == overnight_model::Verdict::Kept.name()) {
            self.desk.shows(&client.key, told["experiment"].as_u64().map(ExperimentId));
        }
        Ok(answer)
    }

    /// Both show the champion of this moment.
    fn brief(&self, client: &Client) -> Outcome<String> {
        self.desk.shows(&client.key, Base::champion(&self.desk.site)?.of.map(|(id, _)| id));
        read::brief(&self.desk.site)
    }
}

/// Whoever asks.
struct Client {
    /// The name under which its proposals are recorded.
    agent: String,
    /// What tells it from others: its session, or where it has none its name.
    key: String,
}

impl Client {
    fn of(context: &RequestContext<RoleServer>) -> Client {
        let agent = agent_name(context.client_info().as_ref().map(|client| client.name.as_str()));
        let request = context.extensions.get::<Parts>();
        let session = request.and_then(|request| request.headers.get(SESSION)?.to_str().ok());
        let key = session.map_or_else(|| agent.clone(), |session| format!("{agent} {session}"));
        Client { agent, key }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("overnight", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answered = self.call(&request.name, arguments, &context).await;
        Ok(answered.unwrap_or_else(|error| answer::refused(&error)).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let brief = Resource::new(BRIEF, "brief").with_description("What an agent is told before it proposes");
        Ok(ListResourcesResult::with_all_items(vec![brief]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != BRIEF {
            return Err(ErrorData::resource_not_found(format!("there is only {BRIEF}"), None));
        }
        let server = self.clone();
        let client = Client::of(&context);
        let text = blocking(move || server.brief(&client)).await;
        let text = text.map_err(|error| ErrorData::internal_error(error.message, None))?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, BRIEF)]).into())
    }
}

/// Reading waits for the disk, which nothing else has to wait for.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Outcome<T> + Send + 'static) -> Outcome<T> {
    let panicked = |error| CliError::new(Exit::Fault, "the engine failed").cause(&error);
    tokio::task::spawn_blocking(work).await.map_err(panicked)?
}

fn given<T: DeserializeOwned>(arguments: Value) -> Outcome<T> {
    serde_json::from_value(arguments).map_err(|error| CliError::usage("the arguments do not fit").cause(&error))
}
