//! An attempt in the Agent Trajectory Interchange Format, which optimisers of harnesses read.

use serde_json::{Map, Value, json};

use super::{Answered, Asked, Fold, Part, ToolResult, Turn, Who};
use crate::call::Tokens;

pub const VERSION: &str = "ATIF-v1.6";

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
    let (mut fold, mut steps) = (Fold::default(), Vec::<Value>::new());
    for told in calls {
        let step = fold.add(&told.asked, told.answered.clone());
        for turn in &step.new {
            other_turn(&mut steps, turn, &told.at);
        }
        steps.push(agent_step(told, step.thread));
    }
    for (at, step) in steps.iter_mut().enumerate() {
        step["step_id"] = json!(at + 1);
    }
    let model = calls.last().map(|told| told.model.clone());
    let total = |of: &dyn Fn(&Told) -> Option<u64>| {
        calls.iter().map(of).collect::<Option<Vec<u64>>>().map(|all| all.iter().sum::<u64>())
    };
    let cost: Option<Vec<f64>> = calls.iter().map(|told| told.cost_usd).collect();
    json!({
        "schema_version": VERSION,
        "session_id": session,
        "agent": without_nulls(json!({ "name": agent, "version": version, "model_name": model })),
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

/// The format counts what was read out of a cache and written into one among the prompt.
fn prompt(tokens: &Tokens) -> Option<u64> {
    Some(tokens.input? + tokens.cached.unwrap_or(0) + tokens.written.unwrap_or(0))
}

fn agent_step(told: &Told, thread: usize) -> Value {
    let (mut said, mut thought, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in &told.answered.parts {
        match part {
            Part::Text(text) => said.push(text.clone()),
            Part::Reasoning(text) => thought.push(text.clone()),
            Part::Call(call) => calls.push(json!({
                "tool_call_id": call.id, "function_name": call.name, "arguments": object(&call.arguments),
            })),
            Part::Result(result) => said.push(result.text.clone()),
            Part::Other(what) => said.push(format!("[{what}]")),
        }
    }
    let metrics = without_nulls(json!({
        "prompt_tokens": prompt(&told.tokens),
        "completion_tokens": told.tokens.output,
        "cached_tokens": told.tokens.cached,
        "cost_usd": told.cost_usd,
    }));
    let mut extra = Map::new();
    extra.extend((thread > 0).then(|| ("conversation".to_owned(), json!(thread))));
    extra.extend(told.replayed.then(|| ("replayed".to_owned(), json!(true))));
    extra.extend(told.answered.finish.as_ref().map(|finish| ("finish_reason".to_owned(), json!(finish))));
    extra.extend(told.answered.error.as_ref().map(|error| ("error".to_owned(), json!(error))));
    without_nulls(json!({
        "step_id": 0,
        "timestamp": told.at,
        "source": "agent",
        "model_name": told.model,
        "message": said.join("\n"),
        "reasoning_content": (!thought.is_empty()).then(|| thought.join("\n")),
        "tool_calls": (!calls.is_empty()).then_some(calls),
        "metrics": metrics.as_object().filter(|metrics| !metrics.is_empty()),
        "extra": (!extra.is_empty()).then_some(extra),
    }))
}

/// What was said to the agent. What a tool gave belongs to the step that called it.
fn other_turn(steps: &mut Vec<Value>, turn: &Turn, at: &str) {
    let mut said = Vec::new();
    for part in &turn.parts {
        match part {
            Part::Result(result) if observed(steps, result) => {}
            Part::Text(text) | Part::Reasoning(text) => said.push(text.clone()),
            Part::Result(result) => said.push(result.text.clone()),
            Part::Call(call) => said.push(format!("{} {}", call.name, call.arguments)),
            Part::Other(what) => said.push(format!("[{what}]")),
        }
    }
    if said.is_empty() {
        return;
    }
    // The agent's own words of before, which nothing was seen of.
    let source = match turn.who {
        Who::System => "system",
        Who::User | Who::Tool => "user",
        Who::Assistant => "agent",
    };
    steps.push(json!({ "step_id": 0, "timestamp": at, "source": source, "message": said.join("\n") }));
}

fn observed(steps: &mut [Value], result: &ToolResult) -> bool {
    let calls = |step: &Value| {
        step["tool_calls"]
            .as_array()
            .is_some_and(|calls| calls.iter().any(|call| call["tool_call_id"] == result.id.as_str()))
    };
    let Some(step) = steps.iter_mut().rev().find(|step| calls(step)) else { return false };
    let found = json!({ "source_call_id": result.id, "content": result.text });
    match step["observation"]["results"].as_array_mut() {
        Some(results) => results.push(found),
        None => step["observation"] = json!({ "results": [found] }),
    }
    true
}

/// Arguments have to be an object; what is none is wrapped.
fn object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "input": arguments }),
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
    value
}
