//! What has to be known of a request before it goes out.

use overnight_model::call::Protocol;
use serde::Deserialize;
use serde_json::Value;

/// What a request says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peek {
    pub(super) model: String,
    /// The most that an answer may be long, in tokens.
    pub(super) most_output: Option<u64>,
    /// How many answers it wants at once.
    pub(super) answers: u64,
    /// How it wants to be served, where that is not as usual.
    pub(super) tier: Option<String>,
}

/// No model's name is longer: it stands in every record of the call.
const MOST_NAME: usize = 200;

/// The fields that matter, in any of the protocols. A field that is there twice is no JSON that two readers would read in
/// the same way, and is refused by the reader itself.
#[derive(Deserialize)]
struct Fields {
    model: Option<Value>,
    max_tokens: Option<Value>,
    max_completion_tokens: Option<Value>,
    max_output_tokens: Option<Value>,
    n: Option<Value>,
    best_of: Option<Value>,
    n_predict: Option<Value>,
    background: Option<Value>,
    #[serde(alias = "serviceTier")]
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
    if fields.background.as_ref().is_some_and(|value| *value != Value::Bool(false) && !value.is_null()) {
        return Err("an answer in the background is not passed on: nobody could count what it costs".to_owned());
    }
    let generation = fields.generation_config.as_ref();
    let most = match protocol {
        Protocol::Gemini => number("maxOutputTokens", generation.and_then(|config| config.max_output_tokens.as_ref()))?,
        Protocol::Messages => number("max_tokens", fields.max_tokens.as_ref())?,
        // Servers take the one or the other.
        Protocol::Chat => {
            let completion = number("max_completion_tokens", fields.max_completion_tokens.as_ref())?;
            let predicted = number("n_predict", fields.n_predict.as_ref())?;
            number("max_tokens", fields.max_tokens.as_ref())?.max(completion).max(predicted)
        }
        Protocol::Responses => number("max_output_tokens", fields.max_output_tokens.as_ref())?,
    };
    // Some servers take 0 for no end.
    let most = most.filter(|most| *most > 0);
    let answers = match protocol {
        Protocol::Gemini => number("candidateCount", generation.and_then(|config| config.candidate_count.as_ref()))?,
        // Of the best of several, all are paid.
        Protocol::Chat => number("n", fields.n.as_ref())?.max(number("best_of", fields.best_of.as_ref())?),
        Protocol::Messages | Protocol::Responses => None,
    };
    let named = fields.model.as_ref().and_then(Value::as_str);
    let model = path_model.or(named).ok_or("the request names no model")?;
    if model.is_empty() || model.len() > MOST_NAME || model.chars().any(char::is_control) {
        return Err(format!(
            "what the request names is no model: a name has 1 to {MOST_NAME} bytes, and no control signs"
        ));
    }
    Ok(Peek { model: model.to_owned(), most_output: most, answers: answers.unwrap_or(1).max(1), tier: tier(&fields) })
}

/// A count, where one is said. Servers differ in what else they take for a number, and what one of them took for it could
/// not be reserved.
fn number(name: &str, value: Option<&Value>) -> Result<Option<u64>, String> {
    const MOST: f64 = 9e15;
    let whole = |number: f64| (number.fract() == 0.0 && (0.0..MOST).contains(&number)).then_some(number as u64);
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().or_else(|| value.as_f64().and_then(whole)) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("`{name}` is no whole number: nobody could tell what the answer may cost")),
        },
    }
}

/// What costs the same as nothing said.
const USUAL: [&str; 5] = ["auto", "default", "standard", "standard_only", "global"];

fn tier(fields: &Fields) -> Option<String> {
    let asked = [&fields.service_tier, &fields.speed, &fields.inference_geo].into_iter().flatten();
    let is_name = |text: &&str| text.len() <= MOST_NAME && !text.chars().any(char::is_control);
    let text = |value: &Value| value.as_str().filter(is_name).unwrap_or("another").to_owned();
    asked.filter(|value| !value.is_null()).map(text).find(|tier| !USUAL.contains(&tier.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(protocol: Protocol, body: &str) -> Result<(String, Option<u64>, u64), String> {
        let model = (protocol == Protocol::Gemini).then_some("from-the-path");
        peek(protocol, model, body.as_bytes()).map(|peek| (peek.model, peek.most_output, peek.answers))
    }

    #[test]
    fn each_protocol_says_in_its_own_way_how_much_it_may_answer() {
        let expected = |model: &str, most, answers| Ok((model.to_owned(), most, answers));
        assert_eq!(seen(Protocol::Messages, r#"{"model":"m","max_tokens":9}"#), expected("m", Some(9), 1));
        assert_eq!(seen(Protocol::Chat, r#"{"model":"m"}"#), expected("m", None, 1));
        assert_eq!(seen(Protocol::Chat, r#"{"model":"m","n":128}"#), expected("m", None, 128));
        assert_eq!(seen(Protocol::Chat, r#"{"model":"m","n":2,"best_of":7.0}"#), expected("m", None, 7));
        assert_eq!(seen(Protocol::Chat, r#"{"model":"m","n":null}"#), expected("m", None, 1));
        let both = r#"{"model":"m","max_tokens":9,"max_completion_tokens":11,"n":3}"#;
        assert_eq!(seen(Protocol::Chat, both), expected("m", Some(11), 3));
        assert_eq!(seen(Protocol::Responses, r#"{"model":"m","max_output_tokens":5}"#), expected("m", Some(5), 1));
        let gemini = r#"{"generationConfig":{"maxOutputTokens":7,"candidateCount":2}}"#;
        assert_eq!(seen(Protocol::Gemini, gemini), expected("from-the-path", Some(7), 2));
    }

    #[test]
    fn a_number_that_is_none_and_a_name_that_is_none_do_not_go_out() {
        let long = format!(r#"{{"model":"{}"}}"#, "m".repeat(MOST_NAME + 1));
        for body in [
            r#"{"model":"m","n":"128"}"#,
            r#"{"model":"m","max_tokens":1,"max_completion_tokens":"99999"}"#,
            r#"{"model":"m","max_tokens":-1}"#,
            r#"{"model":"m","n":[9]}"#,
            r#"{"model":"m","n":1.5}"#,
            r#"{"model":"a\u001b[2J"}"#,
            r#"{"model":""}"#,
            &long,
        ] {
            assert!(seen(Protocol::Chat, body).is_err(), "{body}");
        }
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
