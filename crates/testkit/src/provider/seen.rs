//! A request as a conversation, whatever its protocol.

use serde_json::Value;

use super::http::Request;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Chat,
    Responses,
    Messages,
    Gemini,
}

/// What a client wants to hear from a model.
pub(super) struct Conversation {
    pub(super) protocol: Protocol,
    pub(super) model: String,
    pub(super) streams: bool,
    /// Tools by name, with the schema of their arguments.
    pub(super) tools: Vec<(String, Value)>,
    /// Names that tools of a server are kept under, where that is not part of each tool's own.
    namespaces: Vec<String>,
    /// What the person wants.
    pub(super) prompt: String,
    /// How many calls the model has made so far.
    pub(super) calls: usize,
    /// It is about the conversation and no part of it.
    pub(super) is_aside: bool,
    /// The tokens that an answer is said to have read and written.
    pub(super) usage: (u64, u64),
}

impl Conversation {
    pub(super) fn of(request: &Request) -> Option<Conversation> {
        let path = request.path.split('?').next().unwrap_or_default();
        let protocol = match path {
            _ if request.method != "POST" => return None,
            path if path.ends_with("/chat/completions") => Protocol::Chat,
            path if path.ends_with("/responses") => Protocol::Responses,
            path if path.ends_with("/messages") => Protocol::Messages,
            path if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") => Protocol::Gemini,
            _ => return None,
        };
        let body = &request.body;
        let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
        let of_path = || path.rsplit('/').next().and_then(|last| last.split(':').next()).unwrap_or_default().to_owned();
        let model = body["model"].as_str().map_or_else(of_path, ToOwned::to_owned);
        let turns = match protocol {
            Protocol::Chat | Protocol::Messages => list("messages"),
            Protocol::Responses => list("input"),
            Protocol::Gemini => list("contents"),
        };
        let is_user = |turn: &&Value| turn["role"] == "user";
        // Examples before it and complaints after it are shorter.
        let prompt = turns.iter().filter(is_user).map(words).max_by_key(String::len).unwrap_or_default();
        let tools = tools(protocol, body);
        let has_schema =
            ["responseSchema", "responseJsonSchema"].iter().any(|key| body["generationConfig"].get(key).is_some());
        let is_engine = request.header("user-agent").is_some_and(|name| name.starts_with("overnight/"));
        let asks_for_title = matches!(protocol, Protocol::Messages | Protocol::Responses | Protocol::Gemini)
            || words(&turns.first().cloned().unwrap_or_default()).contains("title generator");
        Some(Conversation {
            protocol,
            model,
            streams: match protocol {
                Protocol::Gemini => path.ends_with(":streamGenerateContent"),
                _ => body["stream"] == true,
            },
            // The engine asks for nothing on the side.
            is_aside: !is_engine && (has_schema || (tools.is_empty() && asks_for_title)),
            calls: turns.iter().map(|turn| calls(protocol, turn)).sum(),
            tools,
            namespaces: namespaces(body),
            prompt,
            usage: (0, 0),
        })
    }

    /// A tool called `server__tool` as this client wants it called: the server's part, where it keeps that apart.
    pub(super) fn apart<'a>(&self, tool: &'a str) -> (Option<&str>, &'a str) {
        let found = self.namespaces.iter().find_map(|name| Some((name, tool.strip_prefix(name)?.strip_prefix("__")?)));
        found.map_or((None, tool), |(namespace, name)| (Some(namespace), name))
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Value> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, schema)| schema)
    }
}

fn tools(protocol: Protocol, body: &Value) -> Vec<(String, Value)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let named = |tool: &Value, schema: &str| Some((tool["name"].as_str()?.to_owned(), tool[schema].clone()));
    match protocol {
        Protocol::Chat => {
            list(&body["tools"]).iter().filter_map(|tool| named(&tool["function"], "parameters")).collect()
        }
        Protocol::Responses => list(&body["tools"]).iter().filter_map(|tool| named(tool, "parameters")).collect(),
        Protocol::Messages => list(&body["tools"]).iter().filter_map(|tool| named(tool, "input_schema")).collect(),
        Protocol::Gemini => list(&body["tools"])
            .iter()
            .flat_map(|tool| list(&tool["functionDeclarations"]))
            .filter_map(|tool| named(&tool, "parametersJsonSchema"))
            .collect(),
    }
}

fn namespaces(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools
        .filter(|tool| tool["type"] == "namespace")
        .filter_map(|tool| tool["name"].as_str().map(ToOwned::to_owned))
        .collect()
}

fn calls(protocol: Protocol, turn: &Value) -> usize {
    let count = |list: &Value, is: &dyn Fn(&Value) -> bool| {
        list.as_array().map_or(0, |list| list.iter().filter(|part| is(part)).count())
    };
    match protocol {
        Protocol::Chat => count(&turn["tool_calls"], &|_| true),
        Protocol::Responses => usize::from(matches!(turn["type"].as_str(), Some("function_call" | "custom_tool_call"))),
        Protocol::Messages => count(&turn["content"], &|part| part["type"] == "tool_use"),
        Protocol::Gemini => count(&turn["parts"], &|part| part.get("functionCall").is_some()),
    }
}

/// The text of a turn, whatever it is wrapped in; what tools gave is no part of it.
fn words(turn: &Value) -> String {
    let content = turn.get("content").or_else(|| turn.get("parts"));
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
