//! Texts for the model that are common to the dialects: the list of tools, the rules, and the
//! results of calls.

use avocet_protocol::model::SentCall;
use avocet_protocol::tool::{ToolSpec, is_rare};
use avocet_text::append_line;
use serde_json::{Map, Value, json};

use super::{AnsweredCall, schema};

/// A correct path for the examples, and wrong versions of it.
const RIGHT_PATH: &str = "src/parser/lexer.rs";
const WRONG_PATHS: [&str; 2] = ["lexer.rs", "/home/user/project/src/parser/lexer.rs"];

/// Arguments that are paths.
const PATHS: [&str; 3] = ["path", "file_path", "working_dir"];

/// Writes the list of tools and the rules. `with_aliases` includes other names, `written` writes a
/// call.
pub(super) fn list_tools(
    tools: &[ToolSpec],
    syntax: &str,
    with_aliases: bool,
    written: &dyn Fn(SentCall) -> String,
) -> String {
    let mut text = String::from("# Tools\n\nYou can use these tools:\n");
    for tool in tools {
        text.push_str(&list_tool(tool, with_aliases));
    }
    let Some(tool) = tools.iter().find(|tool| path_of(tool).is_some()).or(tools.first()) else {
        return String::new();
    };
    let example = |path: &str| written(example_call(tool, path));
    let right = example(RIGHT_PATH);
    text.push_str(&format!("\n## How to call a tool\n\n{syntax} For example:\n\n{right}\n\n"));
    if path_of(tool).is_some() {
        text.push_str(
            "Always give the full path, relative to the workspace root. The example above is \
             right; these are wrong:\n\n",
        );
        WRONG_PATHS.iter().for_each(|wrong| text.push_str(&format!("{}\n\n", example(wrong))));
    }
    text.push_str(RULES);
    text
}

const RULES: &str = "Rules:\n- Call only the tools that are listed, with the arguments that are \
    listed.\n- After your calls, stop. The results come in the next message; never write a result \
    yourself.\n- If a call fails, read the error, correct the call and try again.\n- When the work \
    is done, answer in plain text, without a call.";

fn list_tool(tool: &ToolSpec, with_aliases: bool) -> String {
    let ToolSpec { name, aliases, description, .. } = tool;
    let mut text = format!("\n## {name}\n\n{description}\n");
    if with_aliases && !aliases.is_empty() {
        text.push_str(&format!("Also called {}.\n", aliases.join(", ")));
    }
    let required = schema::required_names(tool);
    let shown =
        schema::ordered_properties(tool).into_iter().filter(|(_, property)| !is_rare(property));
    for (name, property) in shown {
        let optional = if required.contains(&name) { "" } else { ", optional" };
        let kind = match schema::kind(property) {
            "" => "any value".to_owned(),
            "array" => format!("list of {}", schema::kind(&property["items"])),
            kind => kind.to_owned(),
        };
        let flags = if with_aliases { list_flags(property) } else { String::new() };
        let about = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        let about = if about.is_empty() { about } else { format!(": {about}") };
        append_line(&mut text, format_args!("- {name} ({kind}{optional}{flags}){about}"));
        if let Some(values) = property["enum"].as_array() {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            append_line(&mut text, format_args!("  One of {}.", values.join(", ")));
        }
    }
    text
}

/// The one-letter names of an argument, as flags. Longer names are accepted but left out here.
fn list_flags(property: &Value) -> String {
    let range = if property["x-range"].is_string() { " FIRST:LAST" } else { "" };
    let short = schema::property_aliases(property).filter(|alias| alias.len() == 1);
    short.map(|alias| format!(", also -{alias}{range}")).collect()
}

fn path_of(tool: &ToolSpec) -> Option<&'static str> {
    PATHS.into_iter().find(|path| schema::required_names(tool).contains(path))
}

/// An example call with all required arguments.
fn example_call(tool: &ToolSpec, path: &str) -> SentCall {
    let value = |name: &str| {
        let property = &tool.parameters["properties"][name];
        match schema::kind(property) {
            _ if PATHS.contains(&name) => json!(path),
            "integer" | "number" => json!(1),
            "boolean" => json!(true),
            "array" => json!([]),
            "object" => json!({}),
            _ => property["enum"].get(0).cloned().unwrap_or_else(|| json!("...")),
        }
    };
    let arguments =
        schema::required_names(tool).into_iter().map(|name| (name.to_owned(), value(name)));
    SentCall { id: String::new(), name: tool.name.clone(), arguments: arguments.collect() }
}

pub(super) fn write_results(results: &[AnsweredCall<'_>]) -> String {
    let several = results.len() > 1;
    let mut text = String::new();
    for (number, answered) in results.iter().enumerate() {
        if several {
            text.push_str(&format!("{}. ", number + 1));
        }
        text.push_str(&write_outcome(answered));
        text.push_str("\n\n");
    }
    text.push_str(GO_ON);
    text
}

pub(super) const GO_ON: &str =
    "Continue with the next steps. When the work is done, answer without a call.";

/// Writes a result, or an error with the input of the call.
pub(super) fn write_outcome(answered: &AnsweredCall<'_>) -> String {
    let AnsweredCall { call: SentCall { name, arguments, .. }, ok, result } = answered;
    if *ok {
        return format!("{name} succeeded:\n{result}");
    }
    let (error, input) = (error_message(result), Value::Object(arguments.clone()));
    let error = error.as_deref().unwrap_or(result);
    format!("{name} failed: {error}\nThe input was: {input}")
}

fn error_message(result: &str) -> Option<String> {
    let object: Map<String, Value> = serde_json::from_str(result).ok()?;
    let error = object.get("error").filter(|_| object.len() == 1)?;
    Some(error.as_str().map_or_else(|| error.to_string(), str::to_owned))
}

/// Writes a call as an object in one line. Escapes every `<`, so that the object is free of marks.
pub(super) fn call_as_object(call: &SentCall, name: &str, arguments: &str) -> String {
    let body = json_line(&Value::Object(call.arguments.clone()));
    format!("{{\"{name}\": {}, \"{arguments}\": {body}}}", json!(call.name))
}

pub(super) fn json_line(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}
