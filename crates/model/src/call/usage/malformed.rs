//! Usage that cannot be, of every protocol: what an answer cost is what its provider says, or it is not known.

use proptest::prelude::*;

use super::*;
use crate::call::price::Price;

/// What is no count of anything, wherever it stands.
const ODD: [&str; 20] = [
    "-3",
    "-0",
    "1.5",
    "1e3",
    "1e300",
    "-1e300",
    "NaN",
    "Infinity",
    "-Infinity",
    "99999999999999999999999",
    "9000000000000",
    "1_000",
    "0x10",
    "true",
    "\"12\"",
    "\"\"",
    "[12]",
    "[]",
    "{}",
    "{\"tokens\":12}",
];

/// The counts that have a price, in the order of `usage`, and those without which nothing is known.
fn fields(protocol: Protocol) -> (&'static [u64], &'static [usize]) {
    match protocol {
        Protocol::Messages => (&[100, 20, 30, 10, 50], &[0, 4]),
        Protocol::Chat | Protocol::Responses => (&[150, 50, 60], &[0, 2]),
        Protocol::Gemini => (&[150, 50, 5, 40, 20], &[0, 3]),
    }
}

/// The usage of an answer, with these texts for its counts.
fn usage(protocol: Protocol, counts: &[String]) -> String {
    let at = |at: usize| counts[at].as_str();
    match protocol {
        Protocol::Messages => format!(
            r#"{{"input_tokens":{},"cache_read_input_tokens":{},"cache_creation_input_tokens":{},"cache_creation":{{"ephemeral_1h_input_tokens":{}}},"output_tokens":{}}}"#,
            at(0),
            at(1),
            at(2),
            at(3),
            at(4)
        ),
        Protocol::Chat => format!(
            r#"{{"prompt_tokens":{},"prompt_tokens_details":{{"cached_tokens":{}}},"completion_tokens":{}}}"#,
            at(0),
            at(1),
            at(2)
        ),
        Protocol::Responses => format!(
            r#"{{"input_tokens":{},"input_tokens_details":{{"cached_tokens":{}}},"output_tokens":{}}}"#,
            at(0),
            at(1),
            at(2)
        ),
        Protocol::Gemini => format!(
            r#"{{"promptTokenCount":{},"cachedContentTokenCount":{},"toolUsePromptTokenCount":{},"candidatesTokenCount":{},"thoughtsTokenCount":{}}}"#,
            at(0),
            at(1),
            at(2),
            at(3),
            at(4)
        ),
    }
}

/// A whole answer with that usage, as one document.
fn document(protocol: Protocol, usage: &str) -> String {
    match protocol {
        Protocol::Messages => format!(r#"{{"type":"message","model":"m","stop_reason":"end_turn","usage":{usage}}}"#),
        Protocol::Chat => format!(r#"{{"model":"m","choices":[{{"finish_reason":"stop"}}],"usage":{usage}}}"#),
        Protocol::Responses => format!(r#"{{"model":"m","status":"completed","usage":{usage}}}"#),
        Protocol::Gemini => {
            format!(r#"{{"modelVersion":"m","candidates":[{{"finishReason":"STOP"}}],"usageMetadata":{usage}}}"#)
        }
    }
}

/// The same as a stream of events.
fn stream(protocol: Protocol, usage: &str) -> String {
    match protocol {
        Protocol::Messages => {
            let output = usage.rsplit_once("\"output_tokens\":").unwrap().1;
            format!(
                "data: {{\"type\":\"message_start\",\"message\":{{\"model\":\"m\",\"usage\":{usage}}}}}\n\n\
                 data: {{\"type\":\"message_delta\",\"usage\":{{\"output_tokens\":{output}}}\n\n"
            )
        }
        Protocol::Chat => {
            format!("data: {}\n\ndata: [DONE]\n\n", document(protocol, usage))
        }
        Protocol::Responses => {
            format!(
                "data: {{\"type\":\"response.completed\",\"response\":{{\"status\":\"completed\",\"usage\":{usage}}}}}\n\n"
            )
        }
        Protocol::Gemini => format!("data: {}\r\n\r\n", document(protocol, usage)),
    }
}

fn cost(protocol: Protocol, body: &str) -> Option<f64> {
    let mut meter = Meter::new(protocol, true);
    meter.feed(body.as_bytes());
    Price::own(1.0, Some(0.1), Some(2.0), 10.0).cost(&meter.finish().tokens)
}

/// What both forms of an answer cost, which has to be the same.
#[track_caller]
fn costs(protocol: Protocol, counts: &[String]) -> Option<f64> {
    let usage = usage(protocol, counts);
    let (one, other) = (cost(protocol, &document(protocol, &usage)), cost(protocol, &stream(protocol, &usage)));
    assert_eq!(one, other, "{protocol:?} {usage}");
    one
}

fn texts(counts: &[u64]) -> Vec<String> {
    counts.iter().map(u64::to_string).collect()
}

/// What these counts cost by the words of each protocol; `None` where they contradict each other.
fn expected(protocol: Protocol, counts: &[u64]) -> Option<f64> {
    let million = |micros: u64| micros as f64 / 1e7;
    match *counts {
        [input, cached, written, hour, output] if protocol == Protocol::Messages => {
            (hour <= written).then(|| million(10 * input + cached + 20 * written + 100 * output))
        }
        [prompt, cached, tool, output, thoughts] => {
            (cached <= prompt).then(|| million(10 * (prompt - cached + tool) + cached + 100 * (output + thoughts)))
        }
        [prompt, cached, output] => (cached <= prompt).then(|| million(10 * (prompt - cached) + cached + 100 * output)),
        _ => unreachable!("as many as there are fields"),
    }
}

#[test]
fn a_count_that_cannot_be_makes_the_cost_unknown_in_every_place() {
    for protocol in Protocol::ALL {
        let (good, _) = fields(protocol);
        let known = costs(protocol, &texts(good)).unwrap();
        assert!((known - expected(protocol, good).unwrap()).abs() < 1e-12, "{protocol:?}");
        for at in 0..good.len() {
            for odd in ODD {
                let mut counts = texts(good);
                counts[at] = odd.to_owned();
                assert_eq!(costs(protocol, &counts), None, "{protocol:?}: {}", usage(protocol, &counts));
            }
        }
    }
}

#[test]
fn what_is_not_said_of_input_or_output_makes_the_cost_unknown_and_what_is_not_said_of_a_cache_is_none_of_it() {
    for protocol in Protocol::ALL {
        let (good, needed) = fields(protocol);
        for at in 0..good.len() {
            let mut counts = texts(good);
            counts[at] = "null".to_owned();
            // Of what goes into the cache some is said to stay, and nothing to go in.
            let contradicts = protocol == Protocol::Messages && at == 2;
            let is_unknown = needed.contains(&at) || contradicts;
            assert_eq!(costs(protocol, &counts).is_none(), is_unknown, "{protocol:?} {at}");
        }
    }
}

#[test]
fn usage_in_another_place_than_its_own_is_none() {
    for protocol in Protocol::ALL {
        let usage = usage(protocol, &texts(fields(protocol).0));
        let name = if protocol == Protocol::Gemini { "usageMetadata" } else { "usage" };
        let wrapped = format!(r#"{{"{name}":{usage}}}"#);
        for body in [
            format!(r#"{{"{name}":[{usage}]}}"#),
            format!(r#"{{"{name}":{wrapped}}}"#),
            format!(r#"{{"{name}":{}}}"#, serde_json::json!(usage)),
            format!(r#"{{"data":{wrapped}}}"#),
            format!(r#"{{"choices":[{wrapped}],"content":[{wrapped}],"candidates":[{wrapped}],"output":[{wrapped}]}}"#),
            format!(r#"{{"error":{wrapped}}}"#),
            format!(r#"{{"{name}":null,"{}":{usage}}}"#, name.to_uppercase()),
            format!(r#""{}""#, wrapped.replace('"', "'")),
        ] {
            assert_eq!(cost(protocol, &body), None, "{protocol:?} {body}");
            assert_eq!(cost(protocol, &format!("data: {body}\n\ndata: [DONE]\n\n")), None, "{protocol:?} {body}");
        }
    }
}

#[test]
fn usage_that_is_said_twice_is_the_same_or_unknown_and_in_a_stream_the_last_of_what_grows() {
    for protocol in Protocol::ALL {
        let (good, _) = fields(protocol);
        let one = usage(protocol, &texts(good));
        let more: Vec<u64> = good.iter().map(|count| count + 7).collect();
        let other = usage(protocol, &texts(&more));
        let name = if protocol == Protocol::Gemini { "\"usageMetadata\"" } else { "\"usage\"" };
        let twice = |other: &str| document(protocol, &one).replacen(name, &format!("{name}:{other},{name}"), 1);
        assert_eq!(cost(protocol, &twice(&one)), cost(protocol, &document(protocol, &one)), "{protocol:?}");
        assert_eq!(cost(protocol, &twice(&other)), None, "{protocol:?}");
        let grows = format!("{}{}", stream(protocol, &one), stream(protocol, &other));
        assert_eq!(cost(protocol, &grows), cost(protocol, &stream(protocol, &other)), "{protocol:?}");
        let nothing = usage(protocol, &texts(&vec![0; good.len()]));
        let falls = format!("{}{}", stream(protocol, &one), stream(protocol, &nothing));
        assert_eq!(cost(protocol, &falls), cost(protocol, &stream(protocol, &one)), "{protocol:?}");
        let breaks = format!("{}{}", stream(protocol, &one), stream(protocol, &one.replacen(":1", ":-1", 1)));
        assert_eq!(cost(protocol, &breaks), None, "{protocol:?}");
    }
}

fn any_count() -> impl Strategy<Value = String> {
    prop_oneof![3 => (0u64..3000).prop_map(|count| count.to_string()), 1 => prop::sample::select(ODD.to_vec()).prop_map(str::to_owned)]
}

proptest! {
    #[test]
    fn an_answer_costs_what_its_counts_say_or_nobody_knows_what(
        which in 0usize..4,
        counts in prop::collection::vec(any_count(), 5),
    ) {
        let protocol = Protocol::ALL[which];
        let counts = &counts[..fields(protocol).0.len()];
        // Read in another way than the meter does.
        let plain: Option<Vec<u64>> =
            counts.iter().map(|text| serde_json::from_str::<u64>(text).ok().filter(|count| *count < MOST)).collect();
        let expected = plain.and_then(|plain| expected(protocol, &plain));
        let found = costs(protocol, counts);
        prop_assert_eq!(found.is_some(), expected.is_some(), "{:?} {:?}", protocol, counts);
        let apart = found.zip(expected).map_or(0.0, |(found, expected)| (found - expected).abs());
        prop_assert!(apart < 1e-12, "{:?} {:?}: {:?} and {:?}", protocol, counts, found, expected);
    }
}
