//! JSON-RPC 2.0 (jsonrpc.org, "JSON-RPC 2.0 Specification") as used on the socket.

use avocet_protocol::model::decode_json;
use avocet_text::plain_json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest line, in bytes.
pub const MAX_LINE_BYTES: usize = 1024 * 1024;

/// One line, in either direction: a request, a notification or a response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RpcMessage {
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: Value, result: Result<Value, RpcError> },
}

/// The error in a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// A code of the specification, or one of ours.
    pub code: i64,
    /// The fault, and its correction.
    pub message: String,
    /// More about the error. The answer to `deliver` may have `{"retry_after": SECONDS}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Defines the codes of errors, and the list of them with their descriptions, from which the client
/// libraries are made.
macro_rules! error_codes {
    ($($(#[doc = $text:literal])+ $name:ident = $code:literal;)+) => {
        impl RpcError {
            $($(#[doc = $text])+ pub const $name: i64 = $code;)+

            /// The name, the code and the description of each error.
            #[cfg(test)]
            pub(crate) const CODES: &[(&str, i64, &str)] =
                &[$((stringify!($name), $code, concat!($($text),+))),+];
        }
    };
}

error_codes! {
    /// The line is not JSON in UTF-8.
    PARSE = -32700;
    /// The line is not a request.
    REQUEST = -32600;
    /// The method is unknown; the message lists all methods.
    METHOD = -32601;
    /// A parameter is wrong.
    PARAMS = -32602;
    /// The sender may not do this.
    NOT_ALLOWED = -32001;
    /// The chat, session or message does not exist.
    NOT_FOUND = -32002;
    /// The daemon cannot answer now; the same request may succeed later.
    UNAVAILABLE = -32003;
    /// The key was used for another message, the job or session is busy, or the configuration file
    /// has changed.
    CONFLICT = -32004;
}

impl RpcError {
    /// Creates an error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Returns `true` if the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.code == Self::UNAVAILABLE
    }
}

impl RpcMessage {
    pub(crate) fn parse(line: &[u8]) -> Result<Self, RpcError> {
        let text = std::str::from_utf8(line).map_err(|error| {
            let at = error.valid_up_to();
            let fix = "send JSON in UTF-8";
            RpcError::new(RpcError::PARSE, format!("the line is not UTF-8 (at byte {at}); {fix}"))
        })?;
        let mut value: Value = decode_json(text.as_bytes()).map_err(|error| {
            RpcError::new(
                RpcError::PARSE,
                format!("the line cannot be read: {}", plain_json(&error)),
            )
        })?;
        if let Value::Array(requests) = &value {
            let message = format!(
                "the line is a batch of {} requests, and batches are not supported; send each \
                    request on its own line; there is no need to wait for the answers in between",
                requests.len()
            );
            return Err(RpcError::new(RpcError::REQUEST, message));
        }
        let id = value.get_mut("id").map(Value::take);
        let method = value["method"].as_str().map(str::to_owned);
        match (id, method) {
            (Some(id), Some(method)) => {
                Ok(Self::Request { id, method, params: value["params"].take() })
            }
            (None, Some(method)) => {
                Ok(Self::Notification { method, params: value["params"].take() })
            }
            (Some(id), None) if value.get("result").is_some() => {
                Ok(Self::Response { id, result: Ok(value["result"].take()) })
            }
            (Some(id), None) if value.get("error").is_some() => {
                let error = serde_json::from_value(value["error"].take()).unwrap_or_else(|_| {
                    RpcError::new(RpcError::REQUEST, "an error that cannot be read")
                });
                Ok(Self::Response { id, result: Err(error) })
            }
            _ => Err(RpcError::new(
                RpcError::REQUEST,
                "not a request: give jsonrpc, id, method and params",
            )),
        }
    }

    /// Writes the message as a line, with its end.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        match self {
            Self::Request { id, method, params } => {
                let (id, method, params) = (Some(id), Some(method.as_str()), Some(params));
                RpcLine { id, method, params, ..RpcLine::new() }.bytes()
            }
            Self::Notification { method, params } => notification(method, params),
            Self::Response { id, result: Ok(result) } => {
                RpcLine::<Value> { id: Some(id), result: Some(result), ..RpcLine::new() }.bytes()
            }
            Self::Response { id, result: Err(error) } => {
                RpcLine::<Value> { id: Some(id), error: Some(error), ..RpcLine::new() }.bytes()
            }
        }
    }
}

/// Writes a notification as a line, with its end.
pub(crate) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    RpcLine { method: Some(method), params: Some(params), ..RpcLine::new() }.bytes()
}

/// The parts of a line, written without a copy.
#[derive(Serialize)]
struct RpcLine<'m, P> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'m RpcError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'m Value>,
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'m P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'m Value>,
}

impl<P: Serialize> RpcLine<'_, P> {
    const fn new() -> Self {
        Self { error: None, id: None, jsonrpc: "2.0", method: None, params: None, result: None }
    }

    fn bytes(&self) -> Vec<u8> {
        // Values of JSON and our own events can always be serialised.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn message_parse_reads_back_its_own_lines() {
        let (id, method) = (json!(7), "ask".to_owned());
        let error = RpcError::new(-32001, "no\nway");
        for message in [
            RpcMessage::Request { id: id.clone(), method: method.clone(), params: json!({"a": 1}) },
            RpcMessage::Notification { method, params: json!([1]) },
            RpcMessage::Response { id: json!("x"), result: Ok(json!(null)) },
            RpcMessage::Response { id, result: Err(error) },
        ] {
            let line = message.to_line();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(RpcMessage::parse(&line), Ok(message));
        }
    }

    #[test]
    fn message_parse_reads_a_lone_half_of_a_surrogate_pair() {
        let line =
            br#"{"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {"text": "\ud83d!"}}"#;
        let RpcMessage::Request { params, .. } = RpcMessage::parse(line).unwrap() else {
            panic!("no request")
        };
        assert_eq!(params["text"], "\u{fffd}!");
    }

    #[test]
    fn message_parse_error_names_the_fault() {
        let refusal = |line: &[u8]| RpcMessage::parse(line).unwrap_err();
        assert_eq!(refusal(b"{oops").code, RpcError::PARSE);
        let invalid = refusal(b"{\"a\": \"\xff\"}");
        assert_eq!(invalid.message, "the line is not UTF-8 (at byte 7); send JSON in UTF-8");
        let batch = refusal(br#"[{"jsonrpc": "2.0", "id": 1, "method": "status"}, {}]"#);
        assert!(batch.message.starts_with("the line is a batch of 2 requests"), "{batch}");
        for line in ["[]", "7", "{}", "{\"id\": 1}"] {
            assert_eq!(refusal(line.as_bytes()).code, RpcError::REQUEST, "{line}");
        }
    }
}
