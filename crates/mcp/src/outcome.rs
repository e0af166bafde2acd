//! The result of a call as the model reads it.

use avocet_protocol::tool::ToolError;
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, ResourceContents};
use serde_json::{Value, json};

use crate::form::cut_text;

/// Characters of the name and of the description of a link.
const SHOWN: usize = 300;
/// Bytes of the longest address of a link that is shown.
const LONGEST_URI: usize = 8 * 1024;

/// Returns the value of a result, or its error. `kept` are the paths of the blocks that are files of
/// the workspace now.
pub(crate) fn of_call(result: CallToolResult, kept: &[Option<String>]) -> Result<Value, ToolError> {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let text = text_of(&content);
    let path = |place: usize| kept.get(place).and_then(Option::as_deref);
    let parts = content.iter().enumerate();
    let parts: Vec<Value> = parts.map(|(place, block)| of_block(block, path(place))).collect();
    let value = match (structured_content, parts) {
        (Some(structured), _) if is_same(&structured, text.as_deref()) => structured,
        (Some(structured), parts) if parts.is_empty() => structured,
        (Some(structured), parts) => json!({"structured": structured, "content": parts}),
        (None, mut parts) if parts.len() == 1 => parts.remove(0),
        (None, parts) => Value::Array(parts),
    };
    if is_error == Some(true) {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        return Err(ToolError::ExecutionFailed(text));
    }
    Ok(value)
}

/// Returns the text if that is all of the content.
fn text_of(content: &[ContentBlock]) -> Option<String> {
    match content {
        [ContentBlock::Text(text)] => Some(text.text.clone()),
        _ => None,
    }
}

/// Returns `true` if a text repeats the structured content, as MCP asks of servers.
fn is_same(structured: &Value, text: Option<&str>) -> bool {
    text.is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|it| it == *structured))
}

/// Returns a part of a result. The bytes of pictures and recordings are left out: a model cannot
/// read them as text. `path` is the file that has them.
pub(crate) fn of_block(block: &ContentBlock, path: Option<&str>) -> Value {
    match block {
        ContentBlock::Text(text) => json!(text.text),
        ContentBlock::Image(image) => media_json("image", &image.mime_type, &image.data, path),
        ContentBlock::Audio(audio) => media_json("audio", &audio.mime_type, &audio.data, path),
        ContentBlock::Resource(embedded) => of_resource(&embedded.resource, path),
        ContentBlock::ResourceLink(link) => {
            // A part of an address leads nowhere.
            let uri = match link.uri.len() {
                ..=LONGEST_URI => json!(link.uri),
                _ => json!(null),
            };
            let mut shown = json!({
                "resource_link": uri,
                "name": cut_text(&link.name, SHOWN),
                "description": link.description.as_deref().map(|text| cut_text(text, SHOWN)),
                "media_type": link.mime_type,
            });
            if uri.is_null() {
                shown["note"] = json!(format!("the address has {} bytes", link.uri.len()));
            }
            shown
        }
        other => json!(other),
    }
}

fn media_json(kind: &str, media_type: &str, base64: &str, path: Option<&str>) -> Value {
    let media_type = cut_text(media_type, SHOWN);
    match path {
        Some(path) => json!({kind: media_type, "bytes": bytes_of(base64), "saved_as": path}),
        None => {
            json!({kind: media_type, "bytes": bytes_of(base64), "note": "the data is not shown"})
        }
    }
}

/// Returns the number of bytes that a text in Base64 (RFC 4648) stands for.
fn bytes_of(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

pub(crate) fn of_resource(resource: &ResourceContents, path: Option<&str>) -> Value {
    match resource {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            json!({"resource": uri, "media_type": mime_type, "text": text})
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let media_type = mime_type.as_deref().unwrap_or("application/octet-stream");
            let mut value = media_json("data", media_type, blob, path);
            value["resource"] = json!(uri);
            value
        }
        other => json!(other),
    }
}

/// Returns the messages of a prompt.
pub(crate) fn of_prompt(prompt: &GetPromptResult) -> Value {
    let messages = prompt
        .messages
        .iter()
        .map(|message| json!({"role": message.role, "content": of_block(&message.content, None)}));
    json!({"description": prompt.description, "messages": messages.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(result: Value) -> Result<Value, ToolError> {
        of_call(serde_json::from_value(result).unwrap(), &[])
    }

    #[test]
    fn of_call_keeps_every_kind_of_content() {
        let text = json!({"type": "text", "text": "hi"});
        for (result, value) in [
            (json!({"content": [text]}), json!("hi")),
            (json!({"content": []}), json!([])),
            (json!({"content": [text, text]}), json!(["hi", "hi"])),
            (
                json!({"content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": {"a": 1}}),
                json!({"a": 1}),
            ),
            (
                json!({"content": [text], "structuredContent": {"a": 1}}),
                json!({"structured": {"a": 1}, "content": ["hi"]}),
            ),
            (
                json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}),
                json!({"image": "image/png", "bytes": 3, "note": "the data is not shown"}),
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "a://b", "text": "c"}}]}),
                json!({"resource": "a://b", "media_type": null, "text": "c"}),
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "a://b", "name": "n"}]}),
                json!({"resource_link": "a://b", "name": "n", "description": null, "media_type": null}),
            ),
        ] {
            assert_eq!(outcome(result.clone()), Ok(value), "{result}");
        }
    }

    #[test]
    fn of_call_names_the_files_of_pictures_and_bounds_links() {
        let picture = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let link = json!({"type": "resource_link", "uri": "a://b", "name": "n".repeat(999)});
        let result = serde_json::from_value(json!({"content": [picture, link]})).unwrap();
        let value = of_call(result, &[Some("inbox/t1s0c0-0.png".to_owned())]).unwrap();
        let kept = json!({"image": "image/png", "bytes": 3, "saved_as": "inbox/t1s0c0-0.png"});
        assert_eq!(value[0], kept);
        assert_eq!(value[1]["name"].as_str().unwrap().chars().count(), SHOWN + 1);
        let link = |length: usize| {
            let link = json!({"type": "resource_link", "uri": "a".repeat(length), "name": "n"});
            of_block(&serde_json::from_value(link).unwrap(), None)
        };
        assert_eq!(link(LONGEST_URI)["resource_link"].as_str().unwrap().len(), LONGEST_URI);
        let long = link(LONGEST_URI + 1);
        assert!(long["resource_link"].is_null() && long["note"] == "the address has 8193 bytes");
    }

    #[test]
    fn of_call_returns_the_text_of_an_error() {
        let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
        assert_eq!(outcome(failed), Err(ToolError::ExecutionFailed("no".to_owned())));
    }
}
