//! What dialects read from the JSON Schema of a tool: which arguments there are, in which order, of
//! which type.

use avocet_protocol::{Arguments, ToolCall, ToolSpec};
use serde_json::{Map, Value};

use super::lenient;

/// The tool of this name, or that is called so elsewhere.
pub(super) fn tool<'s>(name: &str, tools: &'s [ToolSpec]) -> Option<&'s ToolSpec> {
    let other = || tools.iter().find(|tool| tool.aliases.iter().any(|alias| alias == name));
    tools.iter().find(|tool| tool.name == name).or_else(other)
}

/// The argument of a tool with this name, or this other name, and what it is called.
pub(super) fn property<'s>(tool: &'s ToolSpec, name: &str) -> Option<(&'s str, &'s Value)> {
    let properties = tool.parameters["properties"].as_object()?;
    let own = properties.get_key_value(name);
    let alias = || properties.iter().find(|(_, one)| aliases(one).any(|alias| alias == name));
    own.or_else(alias).map(|(name, property)| (name.as_str(), property))
}

/// The other names of an argument.
pub(super) fn aliases(property: &Value) -> impl Iterator<Item = &str> {
    let aliases = property["x-aliases"].as_array().into_iter().flatten();
    aliases.filter_map(Value::as_str).map(|alias| alias.trim_start_matches('-'))
}

/// The names of the arguments that a call must have, in the order of the schema.
pub(super) fn required(tool: &ToolSpec) -> Vec<&str> {
    let names = tool.parameters["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// The arguments that there are, those that a call must have first.
pub(super) fn properties(tool: &ToolSpec) -> Vec<(&str, &Value)> {
    let required = required(tool);
    let all = &tool.parameters["properties"];
    let first = required.iter().filter_map(|name| Some((*name, all.get(*name)?)));
    let rest = all.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
    first.chain(rest.filter(|(name, _)| !required.contains(name))).collect()
}

/// The type of an argument: `string`, `integer`, `array`, ...; empty where the schema does not say.
pub(super) fn kind(property: &Value) -> &str {
    match &property["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        _ => "",
    }
}

/// What a text stands for as the value of an argument.
pub(super) fn typed(text: &str, property: &Value) -> Value {
    let as_text = || Value::String(text.to_owned());
    let as_json = |fits: fn(&Value) -> bool| match lenient::value(text.trim(), true) {
        Ok((value, bytes)) if bytes == text.trim().len() && fits(&value) => Some(value),
        _ => None,
    };
    match kind(property) {
        "string" => as_text(),
        "boolean" => as_json(Value::is_boolean).unwrap_or_else(as_text),
        "integer" | "number" => as_json(Value::is_number).unwrap_or_else(as_text),
        "object" => as_json(Value::is_object).unwrap_or_else(as_text),
        "array" => as_json(Value::is_array)
            .unwrap_or_else(|| Value::Array(vec![typed(text, &property["items"])])),
        _ => as_json(|value| !value.is_string()).unwrap_or_else(as_text),
    }
}

/// Whether a call names a tool and has all arguments that it must have, and no others.
pub(super) fn fits(call: &ToolCall, tools: &[ToolSpec]) -> bool {
    let (Some(tool), Arguments::Object(object)) = (tool(&call.name, tools), &call.arguments) else {
        return false;
    };
    let own = |name: &String| property(tool, name).map(|(name, _)| name);
    let is_given = |name: &&str| object.keys().any(|key| own(key) == Some(*name));
    required(tool).iter().all(is_given) && object.keys().all(|key| own(key).is_some())
}

/// A call whose one text can only be its one argument: `read_file` of `src/main.rs`.
pub(super) fn with_sole_text(mut call: ToolCall, tools: &[ToolSpec]) -> ToolCall {
    let Arguments::Malformed(text) = &call.arguments else { return call };
    let text = text.trim().trim_matches(['"', '`']);
    let is_plain = !text.is_empty() && !text.contains(['{', '}', '[', ']', '"', '\n', '=', ':']);
    if is_plain
        && let Some(tool) = tool(&call.name, tools)
        && let [name] = required(tool)[..]
        && kind(&tool.parameters["properties"][name]) == "string"
    {
        let argument = (name.to_owned(), Value::String(text.to_owned()));
        call.arguments = Arguments::Object(Map::from_iter([argument]));
    }
    call
}
