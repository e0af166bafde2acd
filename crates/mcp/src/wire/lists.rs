//! Lists of tools, resources and prompts. An entry that cannot be read costs no other one.

use serde_json::{Map, Value, json};

use super::LEFT_OUT;
use super::blocks::rebuild_resource;
use super::fields::{as_bool, as_list, as_plain_text, present_fields, text_field};
use crate::form::cut_text;
use crate::schema::{ToolSchema, read_schema};

/// Characters of a tool's name in a reason.
const SHOWN: usize = 80;
/// The hints of a tool that we use.
const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// Rebuilds a page of tools, with the reasons for those that are left out.
pub(super) fn rebuild_tools(result: Value) -> Value {
    let (entries, cursor) = split_page(result, "tools");
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    for (place, (key, entry)) in entries.into_iter().enumerate() {
        match rebuild_tool(key, entry) {
            Ok(tool) => tools.push(tool),
            Err(NoTool { name: Some(name), why }) => {
                left_out.push(format!("the tool {:?} is left out: {why}", cut_text(&name, SHOWN)));
            }
            Err(NoTool { name: None, why }) => {
                left_out.push(format!("the tool in place {} is left out: {why}", place + 1));
            }
        }
    }
    let meta = (!left_out.is_empty()).then(|| json!({LEFT_OUT: left_out}));
    page_json([("tools", Some(Value::Array(tools))), ("nextCursor", cursor), ("_meta", meta)])
}

pub(super) fn rebuild_resources(result: Value) -> Value {
    let (entries, cursor) = split_page(result, "resources");
    let entries = entries.into_iter().filter_map(|(_, entry)| rebuild_resource(entry.as_object()?));
    let entries: Vec<Value> = entries.map(Value::Object).collect();
    page_json([("resources", Some(Value::Array(entries))), ("nextCursor", cursor)])
}

pub(super) fn rebuild_prompts(result: Value) -> Value {
    let (entries, cursor) = split_page(result, "prompts");
    let entries = entries.into_iter().filter_map(|(key, entry)| rebuild_prompt(key, &entry));
    let entries: Vec<Value> = entries.map(Value::Object).collect();
    page_json([("prompts", Some(Value::Array(entries))), ("nextCursor", cursor)])
}

fn page_json<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    Value::Object(present_fields(fields))
}

/// An entry of a list, with its key if the list is an object.
type Entry = (Option<String>, Value);

/// Returns the entries of a page, and the cursor of the next one. An empty cursor is none.
fn split_page(result: Value, key: &str) -> (Vec<Entry>, Option<Value>) {
    let Value::Object(mut object) = result else {
        return (unnamed_entries(as_list(result)), None);
    };
    let cursor = text_field(&object, "nextCursor");
    let cursor = cursor.filter(|cursor| cursor.as_str().is_some_and(|text| !text.is_empty()));
    let entries = match object.remove(key) {
        // A single entry, or entries by name.
        Some(Value::Object(entries)) if !entries.contains_key("name") => {
            entries.into_iter().map(|(key, entry)| (Some(key), entry)).collect()
        }
        entries => unnamed_entries(as_list(entries.unwrap_or_default())),
    };
    (entries, cursor)
}

fn unnamed_entries(entries: Vec<Value>) -> Vec<Entry> {
    entries.into_iter().map(|entry| (None, entry)).collect()
}

/// The reason why an entry is no tool.
struct NoTool {
    name: Option<String>,
    why: String,
}

fn rebuild_tool(key: Option<String>, entry: Value) -> Result<Value, NoTool> {
    let Value::Object(mut object) = entry else {
        return Err(NoTool { name: key, why: "it is no object".to_owned() });
    };
    let name = object.get("name").and_then(as_plain_text).or(key).filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(NoTool { name: None, why: "it has no name".to_owned() });
    };
    let needs_task = object.get("execution").and_then(|execution| execution.get("taskSupport"));
    if needs_task.and_then(Value::as_str) == Some("required") {
        let why =
            "it runs only as a task (its taskSupport is \"required\"), which is not supported";
        return Err(NoTool { name: Some(name), why: why.to_owned() });
    }
    let schema = ["inputSchema", "input_schema", "parameters"];
    let schema = schema.iter().find_map(|key| object.remove(*key)).unwrap_or_default();
    let schema = match read_schema(schema) {
        ToolSchema::Usable(schema) => schema,
        ToolSchema::Unusable(why) => {
            let why = format!("its inputSchema cannot be read ({why})");
            return Err(NoTool { name: Some(name), why });
        }
    };
    let hints = object.get("annotations").and_then(Value::as_object).map(rebuild_hints);
    Ok(Value::Object(present_fields([
        ("name", Some(name.into())),
        ("title", text_field(&object, "title")),
        ("description", text_field(&object, "description")),
        ("inputSchema", Some(schema)),
        ("annotations", hints.map(Value::Object)),
    ])))
}

fn rebuild_hints(annotations: &Map<String, Value>) -> Map<String, Value> {
    let hint = |key| annotations.get(key).and_then(as_bool).map(Value::Bool);
    present_fields(HINTS.map(|key| (key, hint(key))))
}

fn rebuild_prompt(key: Option<String>, entry: &Value) -> Option<Map<String, Value>> {
    let object = entry.as_object()?;
    let name = text_field(object, "name").or(key.map(Value::from))?;
    let arguments = object.get("arguments").cloned().map(|arguments| {
        let arguments = as_list(arguments).into_iter();
        arguments.filter_map(|one| rebuild_argument(&one).map(Value::Object)).collect::<Vec<_>>()
    });
    Some(present_fields([
        ("name", Some(name)),
        ("title", text_field(object, "title")),
        ("description", text_field(object, "description")),
        ("arguments", arguments.map(Value::Array)),
    ]))
}

fn rebuild_argument(argument: &Value) -> Option<Map<String, Value>> {
    let Some(object) = argument.as_object() else {
        return Some(present_fields([("name", Some(as_plain_text(argument)?.into()))]));
    };
    Some(present_fields([
        ("name", Some(text_field(object, "name")?)),
        ("description", text_field(object, "description")),
        ("required", object.get("required").and_then(as_bool).map(Value::Bool)),
    ]))
}
