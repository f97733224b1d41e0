use proptest::prelude::*;

use super::*;

fn metered(protocol: Protocol, body: &str) -> Metered {
    let mut meter = Meter::new(protocol, true);
    meter.feed(body.as_bytes());
    meter.finish()
}

fn counts(tokens: Tokens) -> [Option<u64>; 5] {
    let Tokens { input, cached, written, written_hour: _, output, reasoning } = tokens;
    [input, cached, written, output, reasoning]
}

const MESSAGES: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"cache_creation":{"ephemeral_5m_input_tokens":40,"ephemeral_1h_input_tokens":60},"output_tokens":1,"service_tier":"standard"}}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\"usage\":{\"output_tokens\":999999}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":345}}

event: message_stop
data: {"type":"message_stop"}

"#;

const CHAT: &str = r#"data: {"id":"c","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}],"usage":null}

data: {"id":"c","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"id":"c","model":"gpt-4o-2024-08-06","choices":[],"usage":{"prompt_tokens":50,"completion_tokens":20,"total_tokens":70,"prompt_tokens_details":{"cached_tokens":30,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":7}}}

data: [DONE]

"#;

const RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","response":{"id":"r","status":"in_progress","model":"gpt-5-2025-08-07","usage":null}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"hi"}

event: response.completed
data: {"type":"response.completed","response":{"id":"r","status":"completed","model":"gpt-5-2025-08-07","usage":{"input_tokens":75,"input_tokens_details":{"cached_tokens":25},"output_tokens":120,"output_tokens_details":{"reasoning_tokens":64},"total_tokens":195}}}

"#;

const GEMINI: &str = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}],\"usageMetadata\":{\"promptTokenCount\":40,\"totalTokenCount\":44,\"candidatesTokenCount\":4},\"modelVersion\":\"gemini-2.5-flash\"}\r\n\r\ndata: {\"candidates\":[{\"content\":{},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":40,\"cachedContentTokenCount\":10,\"candidatesTokenCount\":9,\"thoughtsTokenCount\":21,\"totalTokenCount\":70},\"modelVersion\":\"gemini-2.5-flash\"}\r\n\r\n";

#[test]
fn what_openai_writes_into_a_cache_is_among_what_was_read_and_counted_once() {
    let chat = CHAT.replace("\"audio_tokens\":0", "\"cache_write_tokens\":15");
    assert_eq!(counts(metered(Protocol::Chat, &chat).tokens), [Some(5), Some(30), Some(15), Some(20), Some(7)]);
    let responses = RESPONSES.replace("{\"cached_tokens\":25}", "{\"cached_tokens\":25,\"cache_write_tokens\":10}");
    assert_eq!(counts(metered(Protocol::Responses, &responses).tokens)[..3], [Some(40), Some(25), Some(10)]);
    let odd = CHAT.replace("\"audio_tokens\":0", "\"cache_write_tokens\":21");
    assert_eq!(counts(metered(Protocol::Chat, &odd).tokens)[..3], [None, None, None], "more than was read");
}

#[test]
fn a_stream_of_messages_says_what_was_read_at_its_start_and_what_was_written_at_its_end() {
    let found = metered(Protocol::Messages, MESSAGES);
    assert_eq!(counts(found.tokens), [Some(12), Some(2000), Some(100), Some(345), None]);
    assert_eq!(found.tokens.written_hour, Some(60));
    assert_eq!(found.model.as_deref(), Some("claude-sonnet-4-5-20250929"));
    assert_eq!((found.finish.as_deref(), found.is_whole), (Some("end_turn"), true));
}

#[test]
fn of_a_stream_that_is_cut_off_what_was_written_is_not_known() {
    let cut = &MESSAGES[..MESSAGES.find("event: message_delta").unwrap()];
    let found = metered(Protocol::Messages, cut);
    assert_eq!(counts(found.tokens), [Some(12), Some(2000), Some(100), None, None]);
    assert!(!found.is_whole && found.finish.is_none());
    let cut = &GEMINI[..GEMINI.find("\r\n\r\ndata").unwrap()];
    let found = metered(Protocol::Gemini, cut);
    assert_eq!(counts(found.tokens), [Some(40), None, None, None, None]);
    let cut = &RESPONSES[..RESPONSES.find("event: response.completed").unwrap()];
    assert_eq!(counts(metered(Protocol::Responses, cut).tokens), [None; 5]);
}

#[test]
fn a_chat_counts_what_comes_out_of_the_cache_apart() {
    let found = metered(Protocol::Chat, CHAT);
    assert_eq!(counts(found.tokens), [Some(20), Some(30), None, Some(20), Some(7)]);
    assert_eq!(found.model.as_deref(), Some("gpt-4o-2024-08-06"));
    assert_eq!((found.finish.as_deref(), found.is_whole), (Some("stop"), true));
}

#[test]
fn a_chat_without_usage_is_whole_and_its_tokens_are_not_known() {
    let found =
        metered(Protocol::Chat, "data: {\"model\":\"m\",\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]");
    assert_eq!(counts(found.tokens), [None; 5]);
    assert!(found.is_whole);
}

#[test]
fn a_response_says_everything_at_its_end() {
    let found = metered(Protocol::Responses, RESPONSES);
    assert_eq!(counts(found.tokens), [Some(50), Some(25), None, Some(120), Some(64)]);
    assert_eq!(found.model.as_deref(), Some("gpt-5-2025-08-07"));
    assert_eq!((found.finish.as_deref(), found.is_whole), (Some("completed"), true));
}

#[test]
fn gemini_counts_reasoning_beside_the_answer_and_the_last_count_is_the_sum() {
    let found = metered(Protocol::Gemini, GEMINI);
    assert_eq!(counts(found.tokens), [Some(30), Some(10), None, Some(30), Some(21)]);
    assert_eq!((found.model.as_deref(), found.finish.as_deref()), (Some("gemini-2.5-flash"), Some("STOP")));
}

#[test]
fn gemini_may_stream_a_list_of_documents() {
    let list = GEMINI.replacen("data: ", "[", 1).replace("\r\n\r\ndata: ", ",\r\n").replace("\r\n\r\n", "]");
    assert_eq!(metered(Protocol::Gemini, &list), metered(Protocol::Gemini, GEMINI));
}

#[test]
fn an_answer_that_is_one_document_says_the_same() {
    let messages = r#"{"id":"m","type":"message","model":"claude-haiku-4-5","content":[{"type":"text","text":"x"}],"stop_reason":"max_tokens","usage":{"input_tokens":5,"output_tokens":6}}"#;
    let found = metered(Protocol::Messages, messages);
    assert_eq!(counts(found.tokens), [Some(5), None, None, Some(6), None]);
    assert_eq!((found.finish.as_deref(), found.is_whole), (Some("max_tokens"), true));
    let responses = r#"{"status":"incomplete","model":"o3","usage":{"input_tokens":5,"output_tokens":6}}"#;
    let found = metered(Protocol::Responses, responses);
    assert_eq!(
        (counts(found.tokens), found.finish.as_deref()),
        ([Some(5), None, None, Some(6), None], Some("incomplete"))
    );
    let blocked =
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8}}"#;
    assert_eq!(counts(metered(Protocol::Gemini, blocked).tokens), [Some(8), None, None, Some(0), None]);
    let cut = &messages[..messages.len() - 1];
    assert_eq!(metered(Protocol::Messages, cut), Metered::default());
}

#[test]
fn a_count_that_cannot_be_is_not_known() {
    let answer = |input: &str| format!(r#"{{"model":"m","usage":{{"prompt_tokens":{input},"completion_tokens":6}}}}"#);
    for odd in ["-3", "1.5", "1e3", "\"12\"", "99999999999999999999999", "9000000000000", "[12]", "{}", "true"] {
        let found = metered(Protocol::Chat, &answer(odd));
        assert_eq!(counts(found.tokens), [None, None, None, Some(6), None], "{odd}");
    }
    let more = r#"{"usage":{"prompt_tokens":5,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":7}}}"#;
    assert_eq!(counts(metered(Protocol::Chat, more).tokens), [None, None, None, Some(6), None]);
    let odd = r#"{"usage":{"prompt_tokens":5,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":"x"}}}"#;
    assert_eq!(counts(metered(Protocol::Chat, odd).tokens), [None, None, None, Some(6), None]);
}

#[test]
fn what_a_model_writes_about_usage_is_no_usage() {
    let text = r#"{"choices":[{"message":{"usage":{"prompt_tokens":1},"content":"{\"usage\":{\"prompt_tokens\":2}}"},"finish_reason":"stop"}],"model":"m"}"#;
    assert_eq!(counts(metered(Protocol::Chat, text).tokens), [None; 5]);
}

#[test]
fn an_error_is_no_answer() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
    assert_eq!(counts(metered(Protocol::Messages, error).tokens), [None; 5]);
    for body in ["", "<html>no</html>", "data: {\"a\"\n\n", "null", "\u{feff}data: x"] {
        for protocol in Protocol::ALL {
            assert_eq!(counts(metered(protocol, body).tokens), [None; 5], "{body}");
        }
    }
}

#[test]
fn an_answer_of_any_length_takes_the_same_memory() {
    let mut meter = Meter::new(Protocol::Chat, true);
    meter.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"");
    for _ in 0..10_000 {
        meter.feed(&[b'x'; 1000]);
    }
    assert!(meter.scan.held() < 1000, "{}", meter.scan.held());
    meter.feed(b"\"}}]}\n\n");
    meter.feed(&CHAT.as_bytes()[CHAT.find("data: {\"id\":\"c\",\"model\"").unwrap()..]);
    assert_eq!(counts(meter.finish().tokens), [Some(20), Some(30), None, Some(20), Some(7)]);
}

fn any_protocol() -> impl Strategy<Value = Protocol> {
    prop::sample::select(Protocol::ALL.to_vec())
}

proptest! {
    #[test]
    fn it_matters_nowhere_that_a_stream_is_cut_into_pieces(which in 0usize..4, cuts in prop::collection::vec(1usize..80, 0..60)) {
        let (protocol, body) = [
            (Protocol::Messages, MESSAGES), (Protocol::Chat, CHAT), (Protocol::Responses, RESPONSES), (Protocol::Gemini, GEMINI),
        ][which];
        let (mut meter, mut rest) = (Meter::new(protocol, true), body.as_bytes());
        for cut in cuts {
            let (piece, more) = rest.split_at(cut.min(rest.len()));
            meter.feed(piece);
            rest = more;
        }
        meter.feed(rest);
        prop_assert_eq!(meter.finish(), metered(protocol, body));
    }

    #[test]
    fn nothing_that_a_provider_sends_is_more_than_not_known(protocol in any_protocol(), is_stream: bool, body in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut meter = Meter::new(protocol, is_stream);
        meter.feed(&body);
        prop_assert_eq!(counts(meter.finish().tokens), [None; 5]);
    }

    #[test]
    fn a_stream_with_a_byte_that_is_wrong_never_counts_more_than_there_was(at in 0usize..600, byte: u8) {
        let mut body = MESSAGES.as_bytes().to_vec();
        let at = at % body.len();
        body[at] = byte;
        let mut meter = Meter::new(Protocol::Messages, true);
        meter.feed(&body);
        // A digit may have become another one; a text may never become a count.
        prop_assert!(meter.finish().tokens.output.is_none_or(|output| output < 999_999));
    }
}

/// A stream of llama.cpp's, whose client did not ask for usage.
const TIMED: &str = r#"data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"hi"}}],"model":"smollm2"}

data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"model":"smollm2","timings":{"cache_n":31,"prompt_n":1,"prompt_ms":29.8,"predicted_n":3,"predicted_ms":68.0}}

data: [DONE]

"#;

#[test]
fn what_llama_cpp_says_of_its_times_counts_where_it_says_nothing_of_usage() {
    assert_eq!(counts(metered(Protocol::Chat, TIMED).tokens), [Some(1), Some(31), None, Some(3), None]);
    let cut = TIMED.split("data: {\"choices\":[{\"finish_reason\":\"length\"").next().unwrap();
    assert_eq!(counts(metered(Protocol::Chat, cut).tokens), [None; 5]);
    // Usage has the word where it is said, also where it is said in a way that cannot be.
    let both = |usage: &str| TIMED.replace("\"timings\"", &format!("\"usage\":{usage},\"timings\""));
    let said = both(r#"{"prompt_tokens":40,"completion_tokens":5}"#);
    assert_eq!(counts(metered(Protocol::Chat, &said).tokens), [Some(40), None, None, Some(5), None]);
    let odd = both(r#"{"prompt_tokens":-1,"completion_tokens":"5"}"#);
    assert_eq!(counts(metered(Protocol::Chat, &odd).tokens), [None; 5]);
}
