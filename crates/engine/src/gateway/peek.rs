//! What has to be known of a request before it goes out.

use overnight_model::call::Protocol;
use serde::Deserialize;
use serde_json::Value;

/// What a request says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peek {
    pub(super) model: String,
    /// The most that all of its answers may be long, in tokens.
    pub(super) most_output: Option<u64>,
    /// How it wants to be served, where that is not as usual.
    pub(super) tier: Option<String>,
}

/// The fields that matter, in any of the protocols. A field that is there twice is no JSON that two readers would read in
/// the same way, and is refused by the reader itself.
#[derive(Deserialize)]
struct Fields {
    model: Option<Value>,
    max_tokens: Option<Value>,
    max_completion_tokens: Option<Value>,
    max_output_tokens: Option<Value>,
    n: Option<Value>,
    background: Option<Value>,
    service_tier: Option<Value>,
    speed: Option<Value>,
    inference_geo: Option<Value>,
    #[serde(rename = "generationConfig", alias = "generation_config")]
    generation_config: Option<Generation>,
}

#[derive(Deserialize)]
struct Generation {
    #[serde(rename = "maxOutputTokens", alias = "max_output_tokens")]
    max_output_tokens: Option<Value>,
    #[serde(rename = "candidateCount", alias = "candidate_count")]
    candidate_count: Option<Value>,
}

/// Looks into a request; an error says what cannot go out, and why.
pub(super) fn peek(protocol: Protocol, path_model: Option<&str>, body: &[u8]) -> Result<Peek, String> {
    let fields: Fields =
        serde_json::from_slice(body).map_err(|error| format!("the request cannot be read: {error}"))?;
    let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_u64);
    if fields.background.as_ref().is_some_and(|value| *value != Value::Bool(false) && !value.is_null()) {
        return Err("an answer in the background is not passed on: nobody could count what it costs".to_owned());
    }
    let generation = fields.generation_config.as_ref();
    let most = match protocol {
        Protocol::Gemini => generation.and_then(|config| number(&config.max_output_tokens)),
        Protocol::Messages => number(&fields.max_tokens),
        // Servers take the one or the other.
        Protocol::Chat => number(&fields.max_tokens).max(number(&fields.max_completion_tokens)),
        Protocol::Responses => number(&fields.max_output_tokens),
    };
    let times = match protocol {
        Protocol::Gemini => generation.and_then(|config| number(&config.candidate_count)),
        Protocol::Chat => number(&fields.n),
        Protocol::Messages | Protocol::Responses => None,
    };
    let named = fields.model.as_ref().and_then(Value::as_str);
    let model = path_model.or(named).ok_or("the request names no model")?;
    let most_output = most.map(|most| most.saturating_mul(times.unwrap_or(1).max(1)));
    Ok(Peek { model: model.to_owned(), most_output, tier: tier(&fields) })
}

/// What costs the same as nothing said.
const USUAL: [&str; 5] = ["auto", "default", "standard", "standard_only", "global"];

fn tier(fields: &Fields) -> Option<String> {
    let asked = [&fields.service_tier, &fields.speed, &fields.inference_geo].into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    asked.filter(|value| !value.is_null()).map(text).find(|tier| !USUAL.contains(&tier.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(protocol: Protocol, body: &str) -> Result<(String, Option<u64>), String> {
        let model = (protocol == Protocol::Gemini).then_some("from-the-path");
        peek(protocol, model, body.as_bytes()).map(|peek| (peek.model, peek.most_output))
    }

    #[test]
    fn each_protocol_says_in_its_own_way_how_much_it_may_answer() {
        let expected = |model: &str, most| Ok((model.to_owned(), most));
        assert_eq!(seen(Protocol::Messages, r#"{"model":"m","max_tokens":9}"#), expected("m", Some(9)));
        assert_eq!(seen(Protocol::Chat, r#"{"model":"m"}"#), expected("m", None));
        let both = r#"{"model":"m","max_tokens":9,"max_completion_tokens":11,"n":3}"#;
        assert_eq!(seen(Protocol::Chat, both), expected("m", Some(33)));
        assert_eq!(seen(Protocol::Responses, r#"{"model":"m","max_output_tokens":5}"#), expected("m", Some(5)));
        let gemini = r#"{"generationConfig":{"maxOutputTokens":7,"candidateCount":2}}"#;
        assert_eq!(seen(Protocol::Gemini, gemini), expected("from-the-path", Some(14)));
    }

    #[test]
    fn a_call_that_wants_to_be_served_otherwise_says_so() {
        let tier = |body: &str| peek(Protocol::Responses, None, body.as_bytes()).unwrap().tier;
        assert_eq!(tier(r#"{"model":"m","service_tier":"priority"}"#).as_deref(), Some("priority"));
        assert_eq!(tier(r#"{"model":"m","service_tier":"auto","speed":"fast"}"#).as_deref(), Some("fast"));
        assert_eq!(tier(r#"{"model":"m","inference_geo":"us"}"#).as_deref(), Some("us"));
        for usual in ["null", "\"auto\"", "\"default\"", "\"standard_only\""] {
            assert_eq!(tier(&format!(r#"{{"model":"m","service_tier":{usual}}}"#)), None, "{usual}");
        }
    }

    #[test]
    fn what_two_would_read_differently_or_nobody_could_count_does_not_go_out() {
        for body in [
            r#"{"model":"cheap","model":"dear"}"#,
            r#"{"model":"m","max_tokens":1,"max_tokens":99}"#,
            r#"{"model":"m","background":true}"#,
            r#"{"max_tokens":1}"#,
            r#"{"model":7}"#,
            "[]",
            "",
            "\u{1f}\u{8b}",
        ] {
            assert!(seen(Protocol::Responses, body).is_err(), "{body}");
        }
        assert!(seen(Protocol::Responses, r#"{"model":"m","background":false}"#).is_ok());
    }
}
