//! Answers of our own, in the shape of an error that the client of each protocol understands.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use overnight_model::call::Protocol;
use serde_json::{Value, json};

use super::stream::Body;

/// Says no, and why. A status below 500 is not tried again by any of the clients that we know, but for 429.
pub(super) fn refuse(protocol: Option<Protocol>, status: StatusCode, what: &str) -> Box<Response<Body>> {
    let body = shaped(protocol, status, &format!("overnight: {what}")).to_string();
    let mut response = Response::new(Body::whole(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Box::new(response)
}

fn shaped(protocol: Option<Protocol>, status: StatusCode, what: &str) -> Value {
    let kind = match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::NOT_FOUND => "not_found_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    };
    match protocol {
        Some(Protocol::Messages) => json!({ "type": "error", "error": { "type": kind, "message": what } }),
        Some(Protocol::Gemini) => {
            let name = match status {
                StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
                StatusCode::NOT_FOUND => "NOT_FOUND",
                status if status.is_server_error() => "UNAVAILABLE",
                _ => "INVALID_ARGUMENT",
            };
            json!({ "error": { "code": status.as_u16(), "message": what, "status": name } })
        }
        Some(Protocol::Chat | Protocol::Responses) | None => {
            json!({ "error": { "message": what, "type": kind, "param": null, "code": null } })
        }
    }
}
