//! Results, rebuilt for the method of their request.

use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value, json};

use super::LEFT_OUT;
use super::blocks::{rebuild_block, rebuild_content, rebuild_contents, text_block};
use super::fields::{as_bool, as_list, as_plain_text, as_text, present_fields, text_field};
use super::lists::{rebuild_prompts, rebuild_resources, rebuild_tools};
use crate::form::cut_text;

/// Characters of a version that are shown.
const SHOWN: usize = 100;
/// The parts of a server's capabilities that we use.
const CAPABILITIES: [&str; 3] = ["tools", "resources", "prompts"];
/// The result of a call that goes on as a task, or that asks for more input.
const NO_RESULT: &str =
    "the server asks for more input or starts a task, which this client does not support";

/// Rebuilds a result from the fields that we use.
pub(super) fn rebuild_result(method: &str, result: Value) -> Value {
    match method {
        "initialize" => rebuild_start(&result),
        "tools/list" => rebuild_tools(result),
        "tools/call" => rebuild_call_result(result),
        "resources/list" => rebuild_resources(result),
        "resources/read" => rebuild_read(result),
        "prompts/list" => rebuild_prompts(result),
        "prompts/get" => rebuild_prompt_text(result),
        _ if result.is_object() => result,
        _ => json!({}),
    }
}

/// Rebuilds the result of `initialize`. A server that states nothing is asked for its tools.
fn rebuild_start(result: &Value) -> Value {
    let nothing = Map::new();
    let object = result.as_object().unwrap_or(&nothing);
    let (version, remark) = read_version(object.get("protocolVersion"));
    let info = object.get("serverInfo").and_then(Value::as_object).unwrap_or(&nothing);
    let name = ["name", "title"].iter().find_map(|key| text_field(info, key));
    let name = name.or_else(|| object.get("serverInfo").and_then(as_plain_text).map(Value::from));
    json!({
        "protocolVersion": version,
        "capabilities": read_capabilities(object.get("capabilities")),
        "serverInfo": {
            "name": name.unwrap_or_else(|| json!("")),
            "version": text_field(info, "version").unwrap_or_else(|| json!("")),
        },
        "_meta": {LEFT_OUT: Vec::from_iter(remark)},
    })
}

/// Returns the version of the protocol that the connection uses, and a remark if the server states
/// another one.
fn read_version(stated: Option<&Value>) -> (&str, Option<String>) {
    let latest = &ProtocolVersion::LATEST_WITH_INITIALIZE;
    let Some(stated) = stated.and_then(Value::as_str).filter(|text| !text.is_empty()) else {
        return (latest.as_str(), None);
    };
    let known = ProtocolVersion::KNOWN_VERSIONS;
    if known.iter().any(|version| version.as_str() == stated) {
        return (stated, None);
    }
    let is_usable = |version: &&ProtocolVersion| {
        version.as_str() <= stated && version.as_str() <= latest.as_str()
    };
    let used = known.iter().rfind(is_usable).or(known.first()).unwrap_or(latest).as_str();
    let names: Vec<&str> = known.iter().map(ProtocolVersion::as_str).collect();
    let remark = format!(
        "it speaks version {:?} of MCP, which is unknown, and is used like {used}; the known \
         versions are {}",
        cut_text(stated, SHOWN),
        names.join(", ")
    );
    (used, Some(remark))
}

fn read_capabilities(stated: Option<&Value>) -> Map<String, Value> {
    let Some(Value::Object(stated)) = stated else {
        return present_fields([("tools", Some(json!({})))]);
    };
    let read = |key: &str| match stated.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => None,
        Some(Value::Object(parts)) => {
            let part = |key| parts.get(key).and_then(as_bool).map(Value::Bool);
            let parts = ["listChanged", "subscribe"].map(|key| (key, part(key)));
            Some(Value::Object(present_fields(parts)))
        }
        Some(_) => Some(json!({})),
    };
    present_fields(CAPABILITIES.map(|key| (key, read(key))))
}

/// Rebuilds the result of a call. Its text reaches the model in any form: the tool has run.
fn rebuild_call_result(result: Value) -> Value {
    let Value::Object(mut object) = result else {
        return json!({"content": rebuild_content(result)});
    };
    let is_open =
        object.get("resultType").is_some_and(|kind| kind != "complete" && kind.is_string());
    let content = object.remove("content");
    let structured = object.remove("structuredContent").filter(|value| !value.is_null());
    let is_task = object.get("task").is_some_and(Value::is_object) && content.is_none();
    if is_open || is_task {
        return json!({"content": [text_block(NO_RESULT)], "isError": true});
    }
    let is_error = object.get("isError").and_then(as_bool);
    let content = match content {
        Some(content) => rebuild_content(content),
        None if structured.is_some() => Vec::new(),
        None => {
            object.retain(|key, _| !["_meta", "isError", "resultType"].contains(&key.as_str()));
            if object.is_empty() {
                Vec::new()
            } else {
                vec![text_block(&Value::Object(object).to_string())]
            }
        }
    };
    Value::Object(present_fields([
        ("content", Some(Value::Array(content))),
        ("structuredContent", structured),
        ("isError", is_error.map(Value::Bool)),
    ]))
}

fn rebuild_read(result: Value) -> Value {
    let contents = match result {
        Value::Object(mut object) => object.remove("contents").or_else(|| object.remove("content")),
        other => Some(other),
    };
    let contents = as_list(contents.unwrap_or_default());
    let contents: Vec<Value> = contents.iter().filter_map(rebuild_contents).collect();
    json!({"contents": contents})
}

/// Rebuilds the messages of a prompt. A message with several blocks becomes several messages.
fn rebuild_prompt_text(result: Value) -> Value {
    let Value::Object(mut object) = result else {
        return json!({"messages": as_text(&result).map(user_message).into_iter().collect::<Vec<_>>()});
    };
    let messages = as_list(object.remove("messages").unwrap_or_default());
    let messages: Vec<Value> = messages.into_iter().flat_map(rebuild_prompt_message).collect();
    Value::Object(present_fields([
        ("description", text_field(&object, "description")),
        ("messages", Some(Value::Array(messages))),
    ]))
}

fn rebuild_prompt_message(message: Value) -> Vec<Value> {
    let Value::Object(mut object) = message else {
        return as_text(&message).map(user_message).into_iter().collect();
    };
    let role = match object.get("role").and_then(Value::as_str) {
        Some("assistant") => "assistant",
        _ => "user",
    };
    let content = as_list(object.remove("content").unwrap_or_default()).into_iter();
    content.map(|block| json!({"role": role, "content": rebuild_block(block)})).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "made for map")]
fn user_message(text: String) -> Value {
    json!({"role": "user", "content": text_block(&text)})
}
