//! The tools that a request's client runs, and the form of the answer.

use avocet_protocol::bus::ProgramTool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::OpenAiError;

/// A tool: in an object under `function` (Chat Completions), or beside the type (Responses).
#[derive(Debug, Deserialize)]
pub(crate) struct ApiTool {
    #[serde(rename = "type", default)]
    kind: String,
    function: Option<ToolFunction>,
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct ToolFunction {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
}

/// Reads the tools of a request, as far as `choice` allows the agent to call them.
///
/// # Errors
/// A tool is not a function, or its name is one that providers refuse.
pub(crate) fn read_tools(
    tools: Option<Vec<ApiTool>>,
    choice: Option<&Value>,
) -> Result<Vec<ProgramTool>, OpenAiError> {
    let tools = tools.unwrap_or_default().into_iter().map(read_tool);
    let tools = tools.collect::<Result<Vec<_>, _>>()?;
    let Some(choice) = choice else { return Ok(tools) };
    let named = choice["function"]["name"].as_str().or_else(|| choice["name"].as_str());
    match choice.as_str() {
        Some("auto" | "required") => Ok(tools),
        Some("none") => Ok(Vec::new()),
        _ if named.is_some() => {
            Ok(tools.into_iter().filter(|tool| Some(tool.name.as_str()) == named).collect())
        }
        _ => {
            let detail = "`tool_choice` is not supported with another value than auto, none, \
                          required or a function"
                .to_owned();
            Err(OpenAiError::unsupported("tool_choice", "unsupported_value", detail))
        }
    }
}

/// Returns the instruction that a choice of tools adds; `None` if the agent is free.
pub(crate) fn instruction_of_choice(
    choice: Option<&Value>,
    tools: &[ProgramTool],
) -> Option<String> {
    let choice = choice.filter(|choice| !matches!(choice.as_str(), Some("auto" | "none")))?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let is_one = choice.is_object() || names.len() == 1;
    let one = if is_one { "this tool" } else { "one of these tools" };
    (!names.is_empty())
        .then(|| format!("End your answer with a call of {one}: {}.", names.join(", ")))
}

fn read_tool(tool: ApiTool) -> Result<ProgramTool, OpenAiError> {
    let ApiTool { kind, function, name, description, parameters } = tool;
    if kind != "function" {
        let detail = format!(
            "`tools`: a tool of type {kind:?} is not supported; the agent has its own tools, and \
             takes functions that the client runs"
        );
        return Err(OpenAiError::unsupported("tools", "unsupported_value", detail));
    }
    let (name, description, parameters) = match function {
        Some(ToolFunction { name, description, parameters }) => {
            (Some(name), description, parameters)
        }
        None => (name, description, parameters),
    };
    let name = name.ok_or_else(|| OpenAiError::invalid("tools", "a function needs `name`"))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        let reason =
            format!("the name {name:?} must have 1 to 64 letters, digits, underscores or hyphens");
        return Err(OpenAiError::invalid("tools", reason));
    }
    let parameters = parameters.filter(|schema| !schema.is_null());
    let parameters = parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    if !parameters.is_object() {
        return Err(OpenAiError::invalid(
            "tools",
            format!("the parameters of {name} are no object"),
        ));
    }
    Ok(ProgramTool { name, description: description.unwrap_or_default(), parameters })
}

/// Returns the JSON Schema that a format of the answer asks for; `None` for plain text. `param` is
/// the parameter with the format.
///
/// # Errors
/// The format is not supported, or lacks its schema.
pub(crate) fn read_format(
    format: Option<&Value>,
    param: &str,
) -> Result<Option<Value>, OpenAiError> {
    let Some(format) = format.filter(|format| !format.is_null()) else { return Ok(None) };
    match format["type"].as_str() {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(json!({ "type": "object" }))),
        Some("json_schema") => {
            let schema = [&format["json_schema"]["schema"], &format["schema"]];
            let schema = schema.into_iter().find(|schema| schema.is_object());
            let schema =
                schema.ok_or_else(|| OpenAiError::invalid(param, "`schema` is missing"))?;
            Ok(Some(schema.clone()))
        }
        _ => {
            let detail = format!(
                "`{param}` is not supported with another type than text, json_object or json_schema"
            );
            Err(OpenAiError::unsupported(param, "unsupported_value", detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_tools_takes_functions_of_both_apis_and_follows_the_choice() {
        let tools = || {
            serde_json::from_value::<Vec<ApiTool>>(json!([
                {"type": "function", "function": {"name": "a", "description": "A.", "strict": true}},
                {"type": "function", "name": "b", "parameters": {"type": "object"}},
            ]))
            .unwrap()
        };
        let table = [
            (json!("auto"), "a b", None),
            (json!("none"), "", None),
            (json!("required"), "a b", Some("one of these tools: a, b.")),
            (json!({"type": "function", "function": {"name": "b"}}), "b", Some("this tool: b.")),
            (json!({"type": "function", "name": "a"}), "a", Some("this tool: a.")),
        ];
        for (choice, expected, says) in table {
            let found = read_tools(Some(tools()), Some(&choice)).unwrap();
            let names: Vec<&str> = found.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names.join(" "), expected, "{choice}");
            let instruction = instruction_of_choice(Some(&choice), &found);
            assert_eq!(instruction.is_some(), says.is_some(), "{choice}");
            assert!(instruction.unwrap_or_default().ends_with(says.unwrap_or_default()));
        }
    }

    #[test]
    fn read_tools_and_read_format_name_what_is_not_supported() {
        let tool = |tool: Value| {
            let tools = serde_json::from_value(json!([tool])).unwrap();
            read_tools(Some(tools), None).unwrap_err().detail().to_owned()
        };
        assert!(tool(json!({"type": "web_search"})).contains("\"web_search\" is not supported"));
        assert!(tool(json!({"type": "function", "name": "a b"})).contains("\"a b\""));
        assert!(tool(json!({"type": "function"})).contains("needs `name`"));
        let formats = [
            (json!({"type": "text"}), Ok(None)),
            (json!({"type": "json_object"}), Ok(Some(json!({"type": "object"})))),
            (
                json!({"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}),
                Ok(Some(json!({}))),
            ),
            (json!({"type": "json_schema", "name": "x", "schema": {}}), Ok(Some(json!({})))),
            (json!({"type": "json_schema"}), Err(())),
            (json!({"type": "grammar"}), Err(())),
        ];
        for (format, expected) in formats {
            assert_eq!(
                read_format(Some(&format), "text.format").map_err(drop),
                expected,
                "{format}"
            );
        }
    }
}
