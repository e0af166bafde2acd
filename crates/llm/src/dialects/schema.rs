//! Reads a tool's JSON Schema for the dialects: the arguments, their order and their types.

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::lenient::{self, MissingBrackets};

/// Finds a tool by its name or by an alias.
pub(super) fn find_tool<'s>(name: &str, tools: &'s [ToolSpec]) -> Option<&'s ToolSpec> {
    let other = || tools.iter().find(|tool| tool.aliases.iter().any(|alias| alias == name));
    tools.iter().find(|tool| tool.name == name).or_else(other)
}

/// Finds an argument of a tool by its name or by an alias. Returns its own name and its schema.
pub(super) fn find_property<'s>(tool: &'s ToolSpec, name: &str) -> Option<(&'s str, &'s Value)> {
    let properties = tool.parameters["properties"].as_object()?;
    let own = properties.get_key_value(name);
    let plain = name.trim_start_matches('-');
    let alias =
        || properties.iter().find(|(_, one)| property_aliases(one).any(|alias| alias == plain));
    own.or_else(alias).map(|(name, property)| (name.as_str(), property))
}

/// The other names of an argument, without dashes.
pub(super) fn property_aliases(property: &Value) -> impl Iterator<Item = &str> {
    let aliases = property["x-aliases"].as_array().into_iter().flatten();
    aliases.filter_map(Value::as_str).map(|alias| alias.trim_start_matches('-'))
}

/// The names of the required arguments, in the order of the schema.
pub(super) fn required_names(tool: &ToolSpec) -> Vec<&str> {
    let names = tool.parameters["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// All arguments, the required ones first.
pub(super) fn ordered_properties(tool: &ToolSpec) -> Vec<(&str, &Value)> {
    let required = required_names(tool);
    let all = &tool.parameters["properties"];
    let first = required.iter().filter_map(|name| Some((*name, all.get(*name)?)));
    let rest = all.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
    first.chain(rest.filter(|(name, _)| !required.contains(name))).collect()
}

/// The type of an argument: `string`, `integer`, `array`, ...; empty if unknown.
pub(super) fn kind(property: &Value) -> &str {
    match &property["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        _ => "",
    }
}

/// Converts a text to the type of an argument.
pub(super) fn typed_value(text: &str, property: &Value) -> Value {
    let as_text = || Value::String(text.to_owned());
    let as_json = |fits: fn(&Value) -> bool| match lenient::parse_value(
        text.trim(),
        MissingBrackets::Added,
    ) {
        Ok((value, bytes)) if bytes == text.trim().len() && fits(&value) => Some(value),
        _ => None,
    };
    match kind(property) {
        "string" => as_text(),
        "boolean" => as_json(Value::is_boolean).unwrap_or_else(as_text),
        "integer" | "number" => as_json(Value::is_number).unwrap_or_else(as_text),
        "object" => as_json(Value::is_object).unwrap_or_else(as_text),
        "array" => as_json(Value::is_array)
            .unwrap_or_else(|| Value::Array(vec![typed_value(text, &property["items"])])),
        _ => as_json(|value| !value.is_string()).unwrap_or_else(as_text),
    }
}

/// Replaces flags among the keys of arguments by the names of the schema: `-t` by `pattern`.
pub(super) fn without_flags(object: Map<String, Value>, tool: &ToolSpec) -> Map<String, Value> {
    if !object.keys().any(|key| key.starts_with('-')) {
        return object;
    }
    let mut named = Map::new();
    for (key, value) in object {
        let flag = key.strip_prefix('-').map(|flag| flag.trim_start_matches('-'));
        let Some((own, schema)) = flag.and_then(|flag| find_property(tool, flag)) else {
            named.insert(key, value);
            continue;
        };
        let end = schema["x-range"].as_str();
        match (value, end) {
            (Value::String(text), Some(end)) if text.contains(':') => {
                let (first, last) = text.split_once(':').unwrap_or_default();
                let last = typed_value(last, &tool.parameters["properties"][end]);
                named.insert(own.to_owned(), typed_value(first, schema));
                named.insert(end.to_owned(), last);
            }
            (Value::String(text), _) => {
                named.insert(own.to_owned(), typed_value(&text, schema));
            }
            (value, _) => {
                named.insert(own.to_owned(), value);
            }
        }
    }
    named
}

/// Returns `true` if a call names an offered tool and has all required arguments and only existing
/// ones.
pub(super) fn fits_schema(call: &ToolCall, tools: &[ToolSpec]) -> bool {
    let (Some(tool), Arguments::Object(object)) = (find_tool(&call.name, tools), &call.arguments)
    else {
        return false;
    };
    let own = |name: &String| find_property(tool, name).map(|(name, _)| name);
    let is_given = |name: &&str| object.keys().any(|key| own(key) == Some(*name));
    required_names(tool).iter().all(is_given) && object.keys().all(|key| own(key).is_some())
}

/// Converts a plain text to the single required argument of a tool: `read_file` of `src/main.rs`.
pub(super) fn with_sole_text(mut call: ToolCall, tools: &[ToolSpec]) -> ToolCall {
    let Arguments::Malformed(text) = &call.arguments else { return call };
    let text = text.trim().trim_matches(['"', '`']);
    let is_plain = !text.is_empty() && !text.contains(['{', '}', '[', ']', '"', '\n', '=', ':']);
    if is_plain
        && let Some(tool) = find_tool(&call.name, tools)
        && let [name] = required_names(tool)[..]
        && kind(&tool.parameters["properties"][name]) == "string"
    {
        let argument = (name.to_owned(), Value::String(text.to_owned()));
        call.arguments = Arguments::Object(Map::from_iter([argument]));
    }
    call
}
