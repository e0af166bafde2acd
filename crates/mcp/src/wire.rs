//! The lenient layer between the wire of a server and the strict types of `rmcp`.
//!
//! `rmcp` reads each message into types that refuse the whole message for one odd field: a tool
//! without a schema costs all tools, and an unknown content block costs the result of a call that has
//! run. So a line, a body or an event is parsed into JSON values first. A batch becomes its messages. Id,
//! result and error of each are put in order, and the result is rebuilt from the fields that we use.
//! Then `rmcp` gets its own type.
//!
//! - A response says nothing about its method, so the layer remembers the requests that were sent.
//! - A field that cannot be read is absent. A tool that cannot be read is left out, with the reason
//!   in `_meta` of the list ([`LEFT_OUT`]), which `avocet mcp list` shows.
//! - Each response to an open request becomes a response with its id, or an error: a request never
//!   waits for an answer that has come.
//! - A value that is no message, such as a line of a log, is no message here either.

mod blocks;
mod fields;
mod lists;
#[cfg(test)]
mod property_tests;
mod results;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use avocet_protocol::model::decode_json;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, MetaObject, NumberOrString,
};
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use fields::{as_code, as_id, as_number, as_text};

/// The key in `_meta` with the reasons for tools that are left out, and other remarks.
const LEFT_OUT: &str = "avocet/left_out";
/// The data of an error that this layer has made.
const OUR_ERROR: &str = "avocet";
/// The most requests that are remembered. A further one removes the oldest, which has the smallest id.
const MOST_OPEN: usize = 1000;
/// The code of an error without one (JSON-RPC 2.0, "Internal error").
const INTERNAL_ERROR: i64 = -32603;
/// Characters of an error's text.
const LONGEST_ERROR: usize = 2000;

pub(crate) type ServerMessage = RxJsonRpcMessage<RoleClient>;

/// The messages of one connection with a server.
#[derive(Debug, Default)]
pub(crate) struct ServerWire {
    /// The methods of requests that have no response yet.
    open: Mutex<BTreeMap<i64, String>>,
    /// The first output that was no message.
    noise: Mutex<Option<String>>,
}

impl ServerWire {
    /// Remembers a request before it is sent, and forgets one that is cancelled.
    pub(crate) fn note_sent(&self, message: &ClientJsonRpcMessage) {
        let mut open = self.open.lock();
        match message {
            JsonRpcMessage::Request(request) => {
                let NumberOrString::Number(id) = request.id else { return };
                open.insert(id, request.request.method().to_owned());
                if open.len() > MOST_OPEN {
                    open.pop_first();
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(NumberOrString::Number(id)) = cancelled.params.request_id
                {
                    open.remove(&id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Forgets a request that could not be sent.
    pub(crate) fn forget_request(&self, message: &ClientJsonRpcMessage) {
        if let JsonRpcMessage::Request(request) = message
            && let NumberOrString::Number(id) = request.id
        {
            self.open.lock().remove(&id);
        }
    }

    /// Returns the messages of a text, in their order; empty if it has none. A response without a
    /// known id answers the request `asked`, or the only open one.
    pub(crate) fn read_messages(&self, text: &[u8], asked: Option<i64>) -> Vec<ServerMessage> {
        let values = parse_values(text).into_iter().flat_map(|value| match value {
            Value::Array(batch) => batch,
            single => vec![single],
        });
        values.filter_map(|value| self.read_message(value, asked)).collect()
    }

    /// Makes the response to a request that the server has answered in a way that cannot be read, or
    /// not at all. `None` if the request is not open.
    pub(crate) fn fail_request(&self, id: i64, why: String) -> Option<ServerMessage> {
        self.open.lock().remove(&id)?;
        Some(make_error(id, why))
    }

    /// Keeps the first output that is no message, for the reason of a failed start. Returns `true`
    /// for the first.
    pub(crate) fn note_noise(&self, shown: &str) -> bool {
        let mut noise = self.noise.lock();
        let is_first = noise.is_none();
        noise.get_or_insert_with(|| shown.to_owned());
        is_first
    }

    /// Returns the first output that was no message.
    pub(crate) fn first_noise(&self) -> Option<String> {
        self.noise.lock().clone()
    }

    fn read_message(&self, value: Value, asked: Option<i64>) -> Option<ServerMessage> {
        let Value::Object(mut object) = value else { return None };
        if let Some(method) = object.get("method").and_then(Value::as_str) {
            let is_known = object.contains_key("jsonrpc") || is_method_of_servers(method);
            return if is_known { rebuild_call(object) } else { None };
        }
        let has_answer = object.contains_key("result") || object.contains_key("error");
        if !has_answer && !object.contains_key("jsonrpc") {
            return None;
        }
        let (id, method) = self.take_request(&object, asked)?;
        let result = object.remove("result").unwrap_or_default();
        match read_error(object.get("error"), &result) {
            Some(error) => {
                let error = json!({"jsonrpc": "2.0", "id": id, "error": error});
                Some(ServerMessage::deserialize(error).unwrap_or_else(|_| {
                    make_error(id, "it sent an error that cannot be read".to_owned())
                }))
            }
            None => Some(rebuild_response(id, &method, result)),
        }
    }

    /// Finds the request that a response answers, which is then no longer open. A response to no open
    /// request is of no use.
    fn take_request(
        &self,
        object: &Map<String, Value>,
        asked: Option<i64>,
    ) -> Option<(i64, String)> {
        let mut open = self.open.lock();
        let stated = object.get("id").filter(|id| !id.is_null());
        let known = stated.and_then(as_id).filter(|id| open.contains_key(id));
        let only = || {
            // A line of a log may be an object with the key `error`.
            let is_lonely = stated.is_none() && open.len() == 1 && object.contains_key("jsonrpc");
            open.keys().next().copied().filter(|_| is_lonely)
        };
        let id = known.or(asked.filter(|id| open.contains_key(id))).or_else(only)?;
        open.remove(&id).map(|method| (id, method))
    }
}

/// Returns a wire on which these requests are open.
#[cfg(test)]
pub(crate) fn open_requests(requests: &[(i64, &str)]) -> std::sync::Arc<ServerWire> {
    let wire = ServerWire::default();
    wire.open.lock().extend(requests.iter().map(|(id, method)| (*id, (*method).to_owned())));
    std::sync::Arc::new(wire)
}

/// Returns the remarks of this layer about a result.
pub(crate) fn remarks_of(meta: Option<&MetaObject>) -> Vec<String> {
    let remarks = meta.and_then(|meta| meta.0.get(LEFT_OUT)).and_then(Value::as_array);
    remarks.into_iter().flatten().filter_map(as_text).collect()
}

/// Returns `true` if this layer has made the error, and not the server.
pub(crate) fn is_our_error(error: &ErrorData) -> bool {
    error.data.as_ref().is_some_and(|data| *data == json!({OUR_ERROR: true}))
}

/// Makes an error response whose text is a sentence of ours.
pub(crate) fn make_error(id: i64, why: String) -> ServerMessage {
    let error = ErrorData::internal_error(why, Some(json!({OUR_ERROR: true})));
    JsonRpcMessage::error(error, Some(NumberOrString::Number(id)))
}

/// Parses the JSON values of a text: one, or several in a row.
fn parse_values(text: &[u8]) -> Vec<Value> {
    if let Ok(value) = decode_json::<Value>(text) {
        return vec![value];
    }
    let lines = || text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let values: Vec<Value> = lines().filter_map(|line| decode_json(line).ok()).collect();
    if !values.is_empty() {
        return values;
    }
    // Several messages on one line. The rest after the first fault is left out.
    let read = |text: &[u8]| -> Vec<Value> {
        serde_json::Deserializer::from_slice(text).into_iter().map_while(Result::ok).collect()
    };
    let values = read(text);
    // A progress bar or the name of a logger may stand before the message.
    let is_message = values.iter().any(Value::is_object);
    if is_message { values } else { find_message(text).map(read).unwrap_or(values) }
}

/// Returns the text from the first object on whose first key is `jsonrpc`.
fn find_message(text: &[u8]) -> Option<&[u8]> {
    let opens = (0..text.len()).filter(|at| text[*at] == b'{');
    let mut rests = opens.map(|at| &text[at..]);
    rests.find(|rest| rest[1..].trim_ascii_start().starts_with(b"\"jsonrpc\""))
}

/// Returns `true` for a method that servers call. Without `jsonrpc`, another object with the key
/// `method` is a line of a log.
fn is_method_of_servers(method: &str) -> bool {
    let known = ["ping", "sampling/createMessage", "roots/list", "elicitation/create"];
    known.contains(&method) || method.starts_with("notifications/")
}

/// Rebuilds a request or a notification of the server. `None` if it cannot be read.
fn rebuild_call(mut object: Map<String, Value>) -> Option<ServerMessage> {
    object.retain(|key, _| ["id", "method", "params"].contains(&key.as_str()));
    object.insert("jsonrpc".to_owned(), json!("2.0"));
    if !object.get("params").is_some_and(|params| params.is_object() || params.is_array()) {
        object.remove("params");
    }
    match object.get("id") {
        Some(Value::String(_)) => {}
        Some(Value::Number(id)) if id.is_i64() => {}
        Some(Value::Null) | None => {
            object.remove("id");
        }
        // The answer has to repeat the id, and only texts and whole numbers can be repeated.
        Some(_) => return None,
    }
    if object["method"] == "notifications/progress"
        && let Some(Value::Object(params)) = object.get_mut("params")
    {
        let number = |key: &str| params.get(key).and_then(as_number);
        let (progress, total) = (number("progress").unwrap_or_default(), number("total"));
        let message = params.get("message").and_then(as_text);
        let token = params.get("progressToken").cloned().unwrap_or_default();
        let mut read = json!({"progressToken": token, "progress": progress});
        read.as_object_mut()?.extend(fields::present_fields([
            ("total", total.map(Value::from)),
            ("message", message.map(Value::from)),
        ]));
        object.insert("params".to_owned(), read);
    }
    ServerMessage::deserialize(Value::Object(object)).ok()
}

fn rebuild_response(id: i64, method: &str, result: Value) -> ServerMessage {
    let result = results::rebuild_result(method, result);
    let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
    ServerMessage::deserialize(response)
        .unwrap_or_else(|_| make_error(id, format!("its answer to {method} cannot be read")))
}

/// Reads the error of a response; `None` if the response has none. Some servers write an empty error
/// beside each result.
fn read_error(error: Option<&Value>, result: &Value) -> Option<Value> {
    let is_empty = match error {
        None | Some(Value::Null | Value::Bool(false)) => return None,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(Value::Object(object)) => object.is_empty(),
        Some(Value::Array(values)) => values.is_empty(),
        Some(Value::Number(number)) => number.as_f64() == Some(0.0),
        Some(Value::Bool(true)) => false,
    };
    if is_empty && !result.is_null() {
        return None;
    }
    let error = error.unwrap_or(&Value::Null);
    let texts = ["message", "error", "detail", "data"];
    let texts = texts.iter().filter_map(|key| error.get(key)).filter(|value| !value.is_null());
    let text = texts.filter_map(as_text).find(|text| !text.trim().is_empty());
    let text = text.or_else(|| as_text(error).filter(|text| !text.trim().is_empty() && !is_empty));
    let text = text.unwrap_or_else(|| "an error without a text".to_owned());
    let text: String = text.chars().take(LONGEST_ERROR).collect();
    let code = error.get("code").and_then(as_code).unwrap_or(INTERNAL_ERROR);
    Some(json!({"code": code, "message": text}))
}
