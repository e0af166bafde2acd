//! Checks searches for tools that the client runs (OpenAI API, "Tool search"): the tool, the calls,
//! and the calls of tools that a search has loaded.

use serde_json::Value;

use super::{PLAIN, TOOL_SEARCH, check_tool};
use crate::openai::{OpenAiRefusal, invalid};

pub(super) fn check(body: &Value) -> Result<(), OpenAiRefusal> {
    let tools = body["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let search = tools.iter().find(|tool| tool["type"] == TOOL_SEARCH);
    match search {
        Some(_) if body["model"] == PLAIN => {
            return Err(invalid(format!("Tool 'tool_search' is not supported with {PLAIN}.")));
        }
        Some(tool) if tool["execution"] != "client" || !tool["parameters"].is_object() => {
            return Err(invalid("Invalid value: 'tools': a search without parameters."));
        }
        _ => {}
    }
    let deferred = tools.iter().any(|tool| tool["defer_loading"] == true);
    if deferred && search.is_none() {
        return Err(invalid("Deferred tools require the 'tool_search' tool."));
    }
    let mut loaded: Vec<&Value> = Vec::new();
    for (place, item) in body["input"].as_array().into_iter().flatten().enumerate() {
        match item["type"].as_str().unwrap_or_default() {
            "tool_search_call" => check_ours(item, place, "arguments", Value::is_object)?,
            "tool_search_output" => {
                check_ours(item, place, "tools", Value::is_array)?;
                for tool in item["tools"].as_array().into_iter().flatten() {
                    check_tool(tool, place)?;
                    if tool["defer_loading"] != true {
                        let place = format!("input[{place}].tools");
                        return Err(invalid(format!("Invalid value: '{place}': not deferred.")));
                    }
                    loaded.push(&tool["name"]);
                }
            }
            "function_call" => check_namespace(item, place, tools, &loaded)?,
            _ => {}
        }
    }
    Ok(())
}

fn check_ours(
    item: &Value,
    place: usize,
    field: &str,
    is_valid: impl Fn(&Value) -> bool,
) -> Result<(), OpenAiRefusal> {
    if item["execution"] != "client" || !item["call_id"].is_string() || !is_valid(&item[field]) {
        return Err(invalid(format!("Missing required parameter: 'input[{place}].{field}'.")));
    }
    Ok(())
}

/// Checks the namespace of a call: a tool that a search has loaded is in one with its own name.
fn check_namespace(
    call: &Value,
    place: usize,
    tools: &[Value],
    loaded: &[&Value],
) -> Result<(), OpenAiRefusal> {
    let (name, namespace) = (&call["name"], &call["namespace"]);
    let is_first = tools.iter().any(|tool| tool["name"] == *name);
    if loaded.contains(&name) && !is_first && namespace != name {
        return Err(invalid(format!(
            "Missing namespace for function_call {name}. It does not exist in the default \
             namespace. Round-trip the model's function_call item with its namespace field \
             included."
        )));
    }
    if !namespace.is_null() && !loaded.contains(&namespace) {
        return Err(invalid(format!("Invalid value: 'input[{place}].namespace': {namespace}.")));
    }
    Ok(())
}
