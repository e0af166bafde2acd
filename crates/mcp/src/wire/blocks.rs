//! Content blocks: the parts of a tool's result, and of a prompt.

use serde_json::{Map, Value, json};

use super::fields::{as_list, as_plain_text, as_text, present_fields, text_field};
use crate::form::cut_text;

/// Characters of a block that cannot be read, as the model sees them.
const SHOWN: usize = 4000;
/// Bytes of the longest text in such a block. A longer one without a space is data.
const LONGEST_WORD: usize = 500;
/// The media type of data without one (RFC 2046, section 4.5.1).
const ANY_TYPE: &str = "application/octet-stream";

/// Rebuilds the content of a result: a list of blocks, one block, or a text.
pub(super) fn rebuild_content(content: Value) -> Vec<Value> {
    as_list(content).into_iter().map(rebuild_block).collect()
}

/// Rebuilds a block. One of an unknown kind becomes a text that names the kind, so that the model gets
/// what can be read.
pub(super) fn rebuild_block(block: Value) -> Value {
    let Value::Object(object) = block else {
        return text_block(&as_text(&block).unwrap_or_default());
    };
    let kind = object.get("type").and_then(as_plain_text);
    let read = match kind.as_deref() {
        Some("text") if object.get("text").is_some_and(Value::is_null) => Some(text_block("")),
        Some("text") | None => object.get("text").and_then(as_text).map(|text| text_block(&text)),
        Some(kind @ ("image" | "audio")) => rebuild_media(kind, &object),
        // A block in the form of a provider of models.
        Some("image_url") => read_picture_address(object.get("image_url")),
        Some("resource") => match object.get("resource").and_then(rebuild_contents) {
            Some(resource) => Some(json!({"type": "resource", "resource": resource})),
            None => rebuild_contents(&Value::Object(object.clone()))
                .map(|resource| json!({"type": "resource", "resource": resource})),
        },
        Some("resource_link") => rebuild_resource(&object).map(|mut link| {
            link.insert("type".to_owned(), json!("resource_link"));
            Value::Object(link)
        }),
        Some(_) => None,
    };
    read.unwrap_or_else(|| describe_unknown(kind.as_deref(), object))
}

/// Rebuilds a resource of a list, and of a link. `None` without a URI.
pub(super) fn rebuild_resource(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    let uri = text_field(object, "uri").or_else(|| text_field(object, "url"))?;
    let name = text_field(object, "name").or_else(|| text_field(object, "title"));
    Some(present_fields([
        ("name", Some(name.unwrap_or_else(|| uri.clone()))),
        ("uri", Some(uri)),
        ("description", text_field(object, "description")),
        ("mimeType", text_field(object, "mimeType")),
    ]))
}

/// Rebuilds the contents of a resource. `None` without content.
pub(super) fn rebuild_contents(contents: &Value) -> Option<Value> {
    let Value::Object(object) = contents else {
        return as_text(contents).map(|text| json!({"uri": "", "text": text}));
    };
    let blob = object.get("blob").and_then(Value::as_str).map(bare_base64);
    let text = object.get("text").and_then(as_text);
    if text.is_none() && blob.is_none() {
        return None;
    }
    Some(Value::Object(present_fields([
        ("uri", Some(text_field(object, "uri").unwrap_or_else(|| json!("")))),
        ("mimeType", text_field(object, "mimeType")),
        ("blob", blob.filter(|_| text.is_none()).map(Value::from)),
        ("text", text.map(Value::from)),
    ])))
}

pub(super) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn rebuild_media(kind: &str, object: &Map<String, Value>) -> Option<Value> {
    // Anthropic's form has the data in `source`.
    let source = object.get("source").and_then(Value::as_object);
    let object = source.filter(|source| source.contains_key("data")).unwrap_or(object);
    let data = object.get("data").and_then(Value::as_str)?;
    let stated = ["mimeType", "mime_type", "mediaType", "media_type"];
    let stated = stated.iter().find_map(|key| object.get(*key).and_then(as_plain_text));
    let media_type = stated.or_else(|| Some(data_address(data)?.0.to_owned()));
    let media_type = media_type.unwrap_or_else(|| ANY_TYPE.to_owned());
    Some(json!({"type": kind, "data": bare_base64(data), "mimeType": media_type}))
}

/// Reads a picture in the form of OpenAI, whose address has the data. `None` for another address.
fn read_picture_address(stated: Option<&Value>) -> Option<Value> {
    let stated = stated?;
    let address = stated.as_str().or_else(|| stated.get("url")?.as_str())?;
    let (media_type, _) = data_address(address)?;
    Some(json!({"type": "image", "data": bare_base64(address), "mimeType": media_type}))
}

/// Returns the media type and the data of a `data:` address (RFC 2397).
fn data_address(text: &str) -> Option<(&str, &str)> {
    let (head, data) = text.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.split(';').next().filter(|name| !name.is_empty());
    Some((media_type.unwrap_or(ANY_TYPE), data))
}

/// Returns the Base64 text without an address around it, and without line ends.
fn bare_base64(text: &str) -> String {
    let data = data_address(text).map_or(text, |(_, data)| data);
    data.chars().filter(|c| !c.is_ascii_whitespace()).collect()
}

/// Returns a block of an unknown kind as text.
fn describe_unknown(kind: Option<&str>, mut object: Map<String, Value>) -> Value {
    object.remove("type");
    let kind = match kind {
        Some(kind) => format!("of the unknown type {:?}", cut_text(kind, LONGEST_WORD)),
        None => "without a type".to_owned(),
    };
    let text = object.get("text").and_then(Value::as_str).map(str::to_owned);
    let content = text.unwrap_or_else(|| {
        let mut value = Value::Object(object);
        leave_out_data(&mut value);
        value.to_string()
    });
    text_block(&format!("[a content block {kind}] {}", cut_text(&content, SHOWN)))
}

/// Replaces long texts without a space, which a model cannot read, by their length.
fn leave_out_data(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST_WORD && !text.contains(' ') => {
            *text = format!("[{} bytes of data]", text.len());
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out_data),
        Value::Object(object) => object.values_mut().for_each(leave_out_data),
        _ => {}
    }
}
