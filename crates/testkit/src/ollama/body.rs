//! Checks the types of a request's fields. The real server refuses values of the wrong type.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{OllamaRefusal, invalid};

/// Checks a chat request.
pub(super) fn check(body: &Value) -> Result<(), OllamaRefusal> {
    for (field, is_right, wanted) in [
        ("model", is_string as fn(&Value) -> bool, "string"),
        ("messages", Value::is_array, "[]api.Message"),
        ("stream", Value::is_boolean, "bool"),
        ("truncate", Value::is_boolean, "bool"),
        ("shift", Value::is_boolean, "bool"),
        ("options", Value::is_object, "map[string]interface {}"),
        ("format", |value| value.is_object() || *value == "json", "json.RawMessage"),
    ] {
        check_type(&body[field], is_right, field, wanted)?;
    }
    check_options(&body["options"])?;
    check_think(&body["think"])?;
    check_keep_alive(&body["keep_alive"])?;
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.into_iter().try_for_each(check_message)?;
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.into_iter().try_for_each(check_tool)
}

fn is_string(value: &Value) -> bool {
    value.is_string()
}

/// Accepts a missing or null field, because the server then uses its default.
fn check_type(
    value: &Value,
    is_right: fn(&Value) -> bool,
    field: &str,
    wanted: &str,
) -> Result<(), OllamaRefusal> {
    if value.is_null() || is_right(value) {
        return Ok(());
    }
    let found = match value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Null => "object",
    };
    Err(invalid(format!(
        "json: cannot unmarshal {found} into Go struct field ChatRequest.{field} of type {wanted}"
    )))
}

fn check_options(options: &Value) -> Result<(), OllamaRefusal> {
    for option in ["num_ctx", "num_predict"] {
        let value = &options[option];
        if !value.is_null() && !value.is_i64() {
            return Err(invalid(format!("option \"{option}\" must be of type integer")));
        }
    }
    Ok(())
}

fn check_think(think: &Value) -> Result<(), OllamaRefusal> {
    match think {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::String(level) if ["high", "medium", "low"].contains(&level.as_str()) => Ok(()),
        other => Err(invalid(format!(
            "invalid think value: {other} (must be \"high\", \"medium\", \"low\", true, or false)"
        ))),
    }
}

fn check_keep_alive(keep_alive: &Value) -> Result<(), OllamaRefusal> {
    let has_unit = |text: &str| text.ends_with(|c: char| c.is_ascii_alphabetic());
    match keep_alive {
        Value::Null | Value::Number(_) => Ok(()),
        Value::String(text) if has_unit(text) => Ok(()),
        other => Err(invalid(format!("time: missing unit in duration {other}"))),
    }
}

fn check_message(message: &Value) -> Result<(), OllamaRefusal> {
    for field in ["role", "content", "thinking", "tool_name"] {
        check_type(&message[field], is_string, &format!("messages.{field}"), "string")?;
    }
    for image in message["images"].as_array().into_iter().flatten() {
        let data = image.as_str().unwrap_or_default();
        STANDARD.decode(data).map_err(|_| invalid("illegal base64 data at input byte 0"))?;
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let field = "messages.tool_calls.function";
        check_type(&call["function"]["name"], is_string, &format!("{field}.name"), "string")?;
        let wanted = "api.ToolCallFunctionArguments";
        let arguments = &call["function"]["arguments"];
        check_type(arguments, Value::is_object, &format!("{field}.arguments"), wanted)?;
    }
    Ok(())
}

fn check_tool(tool: &Value) -> Result<(), OllamaRefusal> {
    let (field, parameters) = ("tools.function.parameters", &tool["function"]["parameters"]);
    check_type(parameters, Value::is_object, field, "api.ToolFunctionParameters")?;
    for property in parameters["properties"].as_object().into_iter().flat_map(|all| all.values()) {
        let field = format!("{field}.properties");
        check_type(property, Value::is_object, &field, "api.ToolProperty")?;
        let description = &property["description"];
        check_type(description, is_string, &format!("{field}.description"), "string")?;
    }
    Ok(())
}
