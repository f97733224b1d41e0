//! An attempt in the Agent Trajectory Interchange Format, which optimisers of harnesses read.

use serde_json::{Map, Value, json};

use super::{Answered, Asked, Fold, Part, Tool, ToolCall, ToolResult, Turn, Who};
use crate::call::Tokens;

/// The first version that has room for everything that is known here: a result that failed, and how many calls a step is.
pub const VERSION: &str = "ATIF-v1.7";

/// One call, with what is known of it besides its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub asked: Asked,
    pub answered: Answered,
    /// RFC 3339.
    pub at: String,
    pub model: String,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    /// Answered out of a recording.
    pub replayed: bool,
}

/// The calls of an attempt, in their order, as one trajectory. What is not known is absent, never 0.
pub fn trajectory(session: &str, agent: &str, version: &str, calls: &[Told]) -> Value {
    let (mut fold, mut steps) = (Fold::default(), Steps::default());
    for told in calls {
        let step = fold.add(&told.asked, told.answered.clone());
        for turn in &step.new {
            steps.turn(turn, &told.at);
        }
        steps.call(told, step.thread);
    }
    let steps = steps.made;
    let model = calls.last().map(|told| told.model.clone());
    let total = |of: &dyn Fn(&Told) -> Option<u64>| {
        calls.iter().map(of).collect::<Option<Vec<u64>>>().map(|all| all.iter().sum::<u64>())
    };
    let cost: Option<Vec<f64>> = calls.iter().map(|told| told.cost_usd).collect();
    json!({
        "schema_version": VERSION,
        "session_id": session,
        "agent": without_nulls(json!({
            "name": agent, "version": version, "model_name": model, "tool_definitions": definitions(calls),
        })),
        "final_metrics": without_nulls(json!({
            "total_prompt_tokens": total(&|told| prompt(&told.tokens)),
            "total_completion_tokens": total(&|told| told.tokens.output),
            "total_cached_tokens": total(&|told| told.tokens.cached),
            "total_cost_usd": cost.map(|cost| cost.iter().sum::<f64>()),
            "total_steps": steps.len(),
        })),
        "steps": steps,
    })
}

/// Every tool that was on offer, by its name, as it was told first.
fn definitions(calls: &[Told]) -> Option<Vec<Value>> {
    let mut known: Vec<&Tool> = Vec::new();
    for tool in calls.iter().flat_map(|told| &told.asked.tools) {
        if known.iter().all(|other| other.name != tool.name) {
            known.push(tool);
        }
    }
    let described = |Tool { name, description, schema }: &&Tool| {
        let description = (!description.is_empty()).then_some(description);
        let function = json!({ "name": name, "description": description, "parameters": schema });
        json!({ "type": "function", "function": without_nulls(function) })
    };
    (!known.is_empty()).then(|| known.iter().map(described).collect())
}

/// The format counts what was read out of a cache and written into one among the prompt.
fn prompt(tokens: &Tokens) -> Option<u64> {
    Some(tokens.input? + tokens.cached.unwrap_or(0) + tokens.written.unwrap_or(0))
}

/// The steps so far, numbered from 1, and the calls of tools in them.
#[derive(Default)]
struct Steps {
    made: Vec<Value>,
    tools: Vec<Used>,
}

/// A call of a tool. Some protocols know it by the name of the tool alone, which may be called twice in one answer.
struct Used {
    step: usize,
    /// As the protocol names it.
    named: String,
    /// As it is named here, where every call has a name of its own.
    id: String,
    gave: Option<String>,
}

impl Steps {
    /// What a model answered.
    fn call(&mut self, told: &Told, thread: usize) {
        let tokens = &told.tokens;
        let more = without_nulls(json!({ "reasoning_tokens": tokens.reasoning, "cache_write_tokens": tokens.written }));
        let metrics = without_nulls(json!({
            "prompt_tokens": prompt(tokens),
            "completion_tokens": tokens.output,
            "cached_tokens": tokens.cached,
            "cost_usd": told.cost_usd,
            "extra": some(more),
        }));
        let mut extra = Map::new();
        extra.extend((thread > 0).then(|| ("conversation".to_owned(), json!(thread))));
        extra.extend(told.replayed.then(|| ("replayed".to_owned(), json!(true))));
        extra.extend(told.answered.finish.as_ref().map(|finish| ("finish_reason".to_owned(), json!(finish))));
        extra.extend(told.answered.error.as_ref().map(|error| ("error".to_owned(), json!(error))));
        let mut step = self.said(&told.answered.parts);
        step["timestamp"] = json!(told.at);
        step["model_name"] = json!(told.model);
        step["llm_call_count"] = json!(1);
        step["metrics"] = some(metrics);
        step["extra"] = some(Value::Object(extra));
        self.made.push(without_nulls(step));
    }

    /// What was said to the agent. What a tool gave belongs to the step that called it.
    fn turn(&mut self, turn: &Turn, at: &str) {
        let source = match turn.who {
            Who::System => "system",
            Who::User | Who::Tool => "user",
            // Words of its own from before, of which no call was seen: nothing to learn from twice.
            Who::Assistant => {
                let mut step = self.said(&turn.parts);
                step["timestamp"] = json!(at);
                step["is_copied_context"] = json!(true);
                return self.made.push(without_nulls(step));
            }
        };
        let mut said = Vec::new();
        for part in &turn.parts {
            match part {
                Part::Result(result) if self.observe(result) => {}
                Part::Text(text) | Part::Reasoning(text) => said.push(text.clone()),
                Part::Result(result) => said.push(result.text.clone()),
                Part::Call(call) => said.push(format!("{} {}", call.name, call.arguments)),
                Part::Other(what) => said.push(format!("[{what}]")),
            }
        }
        if !said.is_empty() {
            let step = self.made.len() + 1;
            self.made.push(json!({ "step_id": step, "timestamp": at, "source": source, "message": said.join("\n") }));
        }
    }

    /// A step of the agent with what it said, thought and called.
    fn said(&mut self, parts: &[Part]) -> Value {
        let (mut said, mut thought, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Text(text) => said.push(text.clone()),
                Part::Reasoning(text) => thought.push(text.clone()),
                Part::Call(call) => calls.push(json!({
                    "tool_call_id": self.name(call), "function_name": call.name, "arguments": object(&call.arguments),
                })),
                Part::Result(result) => said.push(result.text.clone()),
                Part::Other(what) => said.push(format!("[{what}]")),
            }
        }
        json!({
            "step_id": self.made.len() + 1,
            "source": "agent",
            "message": said.join("\n"),
            "reasoning_content": (!thought.is_empty()).then(|| thought.join("\n")),
            "tool_calls": (!calls.is_empty()).then_some(calls),
        })
    }

    fn name(&mut self, call: &ToolCall) -> String {
        let is_free = |id: &str| !id.is_empty() && self.tools.iter().all(|used| used.id != id);
        let numbered = |number: usize| format!("{}#{number}", if call.id.is_empty() { &call.name } else { &call.id });
        let id = match is_free(&call.id) {
            true => call.id.clone(),
            false => (2..).map(numbered).find(|id| is_free(id)).unwrap_or_default(),
        };
        self.tools.push(Used { step: self.made.len(), named: call.id.clone(), id: id.clone(), gave: None });
        id
    }

    /// Puts a result to the latest call that it can be of: the first one there that has none yet.
    fn observe(&mut self, result: &ToolResult) -> bool {
        let is_of = |used: &Used| used.named == result.id;
        let Some(latest) = self.tools.iter().rev().find(|used| is_of(used)).map(|used| used.step) else { return false };
        let mut of: Vec<&mut Used> = self.tools.iter_mut().filter(|used| is_of(used) && used.step == latest).collect();
        let Some(used) = of.iter_mut().find(|used| used.gave.is_none()) else {
            // A client that tells its whole story anew tells results again.
            return of.iter().any(|used| used.gave.as_ref() == Some(&result.text));
        };
        used.gave = Some(result.text.clone());
        let mut found = json!({ "source_call_id": used.id, "content": result.text });
        if result.failed {
            found["extra"] = json!({ "is_error": true });
        }
        let step = &mut self.made[latest];
        match step["observation"]["results"].as_array_mut() {
            Some(results) => results.push(found),
            None => step["observation"] = json!({ "results": [found] }),
        }
        true
    }
}

/// Arguments have to be an object; what is none is wrapped.
fn object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "input": arguments }),
    }
}

/// An object that says something.
fn some(object: Value) -> Value {
    match object.as_object().is_none_or(Map::is_empty) {
        true => Value::Null,
        false => object,
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
    value
}
