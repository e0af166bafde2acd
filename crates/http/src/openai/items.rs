//! The messages of a request. Those of Chat Completions and the items of Responses become one list,
//! and the list becomes one message for the agent.

use std::collections::HashMap;

use avocet_protocol::bus::{ProgramCall, ProgramMessage};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::OpenAiError;
use super::parts::{ApiContent, ReadContent};
use super::request_files::RequestFile;

/// The text of a message that only brings results of calls.
const GO_ON: &str = "[The results of your calls are above. Go on.]";

/// A message of Chat Completions, or an item of Responses. The keys of all kinds stand side by side.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ApiItem {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    #[serde(default)]
    content: ApiContent,
    tool_calls: Option<Vec<MessageCall>>,
    tool_call_id: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    output: Option<ApiContent>,
}

/// A call in a message of the assistant.
#[derive(Debug, Deserialize)]
struct MessageCall {
    id: String,
    function: ApiFunction,
}

#[derive(Debug, Deserialize)]
struct ApiFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Debug)]
enum ReadItem {
    Instructions(String),
    User(ReadContent),
    Assistant {
        text: String,
        calls: Vec<ProgramCall>,
    },
    Result {
        call: String,
        text: String,
    },
    /// State of another model, which this agent does not need.
    Nothing,
}

/// The messages of a request as one message for the agent.
#[derive(Debug, Default)]
pub(crate) struct RequestMessages {
    pub(crate) instructions: Option<String>,
    pub(crate) earlier: Vec<ProgramMessage>,
    pub(crate) text: String,
    pub(crate) files: Vec<RequestFile>,
}

impl ApiItem {
    /// Makes a user's message.
    pub(crate) fn user(text: String) -> Self {
        Self { content: ApiContent::Text(text), ..Self::default() }
    }

    fn read(self, param: &str) -> Result<ReadItem, OpenAiError> {
        let invalid = |reason: &str| OpenAiError::invalid(param, reason);
        match self.kind.as_deref() {
            None | Some("message") => {}
            Some("function_call") => {
                let (Some(id), Some(name)) = (self.call_id, self.name) else {
                    return Err(invalid("a function_call needs `call_id` and `name`"));
                };
                let arguments = self.arguments.unwrap_or_default();
                let calls = vec![read_call(param, id, name, &arguments)?];
                return Ok(ReadItem::Assistant { text: String::new(), calls });
            }
            Some("function_call_output") => {
                let call = self
                    .call_id
                    .ok_or_else(|| invalid("a function_call_output needs `call_id`"))?;
                let text = self.output.unwrap_or_default().read(param)?.text;
                return Ok(ReadItem::Result { call, text });
            }
            Some("reasoning") => return Ok(ReadItem::Nothing),
            Some(kind) => {
                return Err(invalid(&format!("an item of type {kind:?} is not supported")));
            }
        }
        let role = self.role.as_deref().unwrap_or("user");
        if !["system", "developer", "user", "assistant", "tool"].contains(&role) {
            return Err(invalid(&format!("a message of the role {role:?} is not supported")));
        }
        let content = self.content.read(param)?;
        Ok(match role {
            "system" | "developer" => ReadItem::Instructions(content.text),
            "assistant" => {
                let calls = self.tool_calls.unwrap_or_default().into_iter();
                let calls = calls.map(|MessageCall { id, function }| {
                    read_call(param, id, function.name, &function.arguments)
                });
                let calls = calls.collect::<Result<_, _>>()?;
                ReadItem::Assistant { text: content.text, calls }
            }
            "tool" => {
                let call = self.tool_call_id;
                let call = call
                    .ok_or_else(|| invalid("a message of the role `tool` needs `tool_call_id`"))?;
                ReadItem::Result { call, text: content.text }
            }
            _ => ReadItem::User(content),
        })
    }
}

fn read_call(
    param: &str,
    id: String,
    name: String,
    arguments: &str,
) -> Result<ProgramCall, OpenAiError> {
    let arguments = match arguments.trim() {
        "" => Map::new(),
        text => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => arguments,
            _ => {
                let reason = format!("the arguments of the call {id} are not a JSON object");
                return Err(OpenAiError::invalid(param, reason));
            }
        },
    };
    Ok(ProgramCall { id, name, arguments })
}

/// Reads the messages of a request. If the log keeps the conversation (`is_kept`), those up to the
/// last answer are in the log already. `param` is the parameter with the messages.
///
/// # Errors
/// A message cannot be read, or the last one is not of a user or a tool.
pub(crate) fn read_messages(
    items: Vec<ApiItem>,
    param: &str,
    is_kept: bool,
) -> Result<RequestMessages, OpenAiError> {
    let mut found = RequestMessages::default();
    let mut instructions: Vec<String> = Vec::new();
    let mut last: Option<ReadContent> = None;
    for item in items {
        let item = item.read(param)?;
        if let Some(before) =
            last.take_if(|_| !matches!(item, ReadItem::Instructions(_) | ReadItem::Nothing))
        {
            found.add_user(before);
        }
        match item {
            ReadItem::Instructions(text) => instructions.push(text),
            ReadItem::User(content) => last = Some(content),
            ReadItem::Assistant { .. } if is_kept => {
                found.earlier.clear();
                found.files.clear();
            }
            ReadItem::Assistant { text, calls } => found.add_answer(text, calls),
            ReadItem::Result { call, text } => {
                found.earlier.push(ProgramMessage::Result { call, text });
            }
            ReadItem::Nothing => {}
        }
    }
    match last {
        Some(ReadContent { text, files }) if !text.trim().is_empty() || !files.is_empty() => {
            found.text = text;
            found.files.extend(files);
        }
        None if matches!(found.earlier.last(), Some(ProgramMessage::Result { .. })) => {
            GO_ON.clone_into(&mut found.text);
        }
        _ => {
            let reason = "the last message must be one of the role `user` with a content, or the \
                          result of a call";
            return Err(OpenAiError::invalid(param, reason));
        }
    }
    instructions.retain(|text| !text.trim().is_empty());
    found.instructions = Some(instructions.join("\n\n")).filter(|text| !text.is_empty());
    if !is_kept {
        found.rename_calls(param)?;
    }
    Ok(found)
}

impl RequestMessages {
    /// Adds an earlier message of the user. Its files come with the last message.
    fn add_user(&mut self, ReadContent { mut text, files }: ReadContent) {
        for file in &files {
            let name = file.name.as_deref().unwrap_or("without a name");
            text.push_str(&format!("\n[a file, {name}, which is attached to the last message]"));
        }
        self.files.extend(files);
        self.earlier.push(ProgramMessage::User { text });
    }

    /// Adds an answer. Calls that follow each other belong to one answer.
    fn add_answer(&mut self, text: String, mut calls: Vec<ProgramCall>) {
        if let Some(ProgramMessage::Assistant { calls: before, .. }) = self.earlier.last_mut()
            && text.is_empty()
        {
            before.append(&mut calls);
            return;
        }
        self.earlier.push(ProgramMessage::Assistant { text, calls });
    }

    /// Gives the calls ids of our own form, which every provider takes.
    fn rename_calls(&mut self, param: &str) -> Result<(), OpenAiError> {
        let mut names = HashMap::new();
        for message in &mut self.earlier {
            match message {
                ProgramMessage::Assistant { calls, .. } => {
                    for call in calls {
                        let name = format!("p{}", names.len());
                        names.insert(std::mem::replace(&mut call.id, name.clone()), name);
                    }
                }
                ProgramMessage::Result { call, .. } => {
                    let Some(name) = names.get(call) else {
                        let reason = format!("there is no call {call:?} before its result");
                        return Err(OpenAiError::invalid(param, reason));
                    };
                    call.clone_from(name);
                }
                ProgramMessage::User { .. } => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(items: Value, is_kept: bool) -> Result<RequestMessages, String> {
        let items = serde_json::from_value(items).unwrap();
        read_messages(items, "messages", is_kept).map_err(|error| error.detail().to_owned())
    }

    fn with_tools() -> Value {
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "cold?"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_!", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_!", "content": "minus 3"},
        ])
    }

    #[test]
    fn read_messages_makes_the_history_of_a_conversation_of_its_own() {
        let found = read(with_tools(), false).unwrap();
        assert_eq!(
            (found.instructions.as_deref(), found.text.as_str()),
            (Some("Be brief."), GO_ON)
        );
        let expected = json!([
            {"role": "user", "text": "cold?"},
            {"role": "assistant", "text": "", "calls": [{"id": "p0", "name": "weather", "arguments": {"city": "Oslo"}}]},
            {"role": "result", "call": "p0", "text": "minus 3"},
        ]);
        assert_eq!(json!(found.earlier), expected);
    }

    #[test]
    fn read_messages_of_a_kept_conversation_are_those_after_the_last_answer() {
        let found = read(with_tools(), true).unwrap();
        let expected = json!([{"role": "result", "call": "call_!", "text": "minus 3"}]);
        assert_eq!((json!(found.earlier), found.text.as_str()), (expected, GO_ON));
        let chat = json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "c"},
            {"role": "user", "content": "d"},
        ]);
        let found = read(chat, true).unwrap();
        assert_eq!(json!(found.earlier), json!([{"role": "user", "text": "c"}]));
        assert_eq!((found.instructions.as_deref(), found.text.as_str()), (Some("Be kind."), "d"));
    }

    #[test]
    fn read_messages_takes_the_items_of_responses() {
        let items = json!([
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "cold?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}", "id": "fc_1"},
            {"type": "function_call", "call_id": "b", "name": "weather", "arguments": ""},
            {"type": "function_call_output", "call_id": "a", "output": "minus 3"},
            {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "minus 4"}]},
        ]);
        let found = read(items, false).unwrap();
        let call = |id| json!({"id": id, "name": "weather", "arguments": {}});
        let expected = json!([
            {"role": "user", "text": "cold?"},
            {"role": "assistant", "text": "", "calls": [call("p0"), call("p1")]},
            {"role": "result", "call": "p0", "text": "minus 3"},
            {"role": "result", "call": "p1", "text": "minus 4"},
        ]);
        assert_eq!(json!(found.earlier), expected);
    }

    #[test]
    fn read_messages_names_the_fault() {
        let table = [
            (json!([]), "the last message must be"),
            (json!([{"role": "assistant", "content": "x"}]), "the last message must be"),
            (json!([{"role": "user", "content": " "}]), "the last message must be"),
            (json!([{"role": "critic", "content": "x"}]), "the role \"critic\" is not supported"),
            (json!([{"role": "tool", "content": "x"}]), "needs `tool_call_id`"),
            (
                json!([{"role": "tool", "tool_call_id": "a", "content": "x"}]),
                "there is no call \"a\"",
            ),
            (json!([{"type": "item_reference", "id": "x"}]), "\"item_reference\" is not supported"),
            (
                json!([{"type": "function_call", "call_id": "a", "name": "x", "arguments": "["}]),
                "not a JSON object",
            ),
        ];
        for (items, says) in table {
            let error = read(items, false).unwrap_err();
            assert!(error.contains(says), "{says}: {error}");
        }
    }
}
