//! Checks deferred tools and the references to them (Anthropic API, "Tool search tool").

use serde_json::Value;

use super::{AnthropicRefusal, invalid};

pub(super) fn check(body: &Value) -> Result<(), AnthropicRefusal> {
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        match &tool["defer_loading"] {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) if tool.get("cache_control").is_none() => {}
            Value::Bool(true) => {
                return Err(invalid(format!(
                    "Tool '{name}' cannot have both defer_loading=true and cache_control set. \
                     Tools with defer_loading cannot use prompt caching."
                )));
            }
            _ => return Err(invalid("tools: defer_loading: Input should be a valid boolean")),
        }
    }
    let deferred = |tool: &&Value| tool["defer_loading"] == true;
    if !tools.is_empty() && tools.iter().all(|tool| deferred(&tool)) {
        return Err(invalid(
            "All tools have defer_loading set. At least one tool must be non-deferred.",
        ));
    }
    for name in references(&body["messages"]) {
        if !tools.iter().filter(deferred).any(|tool| tool["name"] == *name) {
            return Err(invalid(format!(
                "Tool reference {name} has no corresponding tool definition"
            )));
        }
    }
    Ok(())
}

/// The names in the references of all results.
fn references(messages: &Value) -> Vec<&Value> {
    let messages = messages.as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    let parts = blocks.flat_map(|block| block["content"].as_array().into_iter().flatten());
    parts.filter(|part| part["type"] == "tool_reference").map(|part| &part["tool_name"]).collect()
}
