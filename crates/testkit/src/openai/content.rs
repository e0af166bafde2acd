//! Checks the content of a message: a text, or parts. A part can be an image if the model accepts
//! images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{ImageInput, OpenAiRefusal, invalid};
use crate::image::media_type_of;

/// Checks the content of a message that must have one. Only user messages may contain images.
pub(super) fn check(
    message: &Value,
    place: usize,
    images: ImageInput,
) -> Result<(), OpenAiRefusal> {
    match &message["content"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) if message["role"] == "user" => check_parts(parts, place, images),
        _ => Err(invalid(format!(
            "Invalid value for 'content': expected a string, got null. (messages.[{place}])"
        ))),
    }
}

/// Returns the text of a message, without its other parts.
pub(super) fn text(message: &Value) -> &str {
    let part = || message["content"].as_array()?.iter().find_map(|part| part["text"].as_str());
    message["content"].as_str().or_else(part).unwrap_or_default()
}

fn check_parts(parts: &[Value], place: usize, images: ImageInput) -> Result<(), OpenAiRefusal> {
    if parts.is_empty() {
        return Err(invalid(format!(
            "Invalid 'messages[{place}].content': empty array. Expected an array with minimum \
             length 1, but got an empty array instead."
        )));
    }
    for (number, part) in parts.iter().enumerate() {
        let here = format!("messages[{place}].content[{number}]");
        match part["type"].as_str().unwrap_or_default() {
            "text" if part["text"].is_string() => {}
            "text" => return Err(invalid(format!("Missing required parameter: '{here}.text'."))),
            "image_url" => check_image(part, &here, images)?,
            other => {
                return Err(invalid(format!(
                    "Invalid value: '{other}'. Supported values are: 'text', 'image_url', \
                     'input_audio', 'refusal', 'audio', and 'file'."
                )));
            }
        }
    }
    Ok(())
}

fn check_image(part: &Value, here: &str, images: ImageInput) -> Result<(), OpenAiRefusal> {
    if images == ImageInput::Refused {
        return Err(invalid(
            "Invalid content type. image_url is only supported by certain models.",
        ));
    }
    if part["image_url"].is_string() {
        return Err(invalid(format!(
            "Invalid type for '{here}.image_url': expected an object, but got a string instead."
        )));
    }
    let Some(url) = part["image_url"]["url"].as_str() else {
        return Err(invalid(format!("Missing required parameter: '{here}.image_url.url'.")));
    };
    check_url(url)
}

/// Checks the URL of an image. It must contain the data, because the fake downloads nothing.
pub(super) fn check_url(url: &str) -> Result<(), OpenAiRefusal> {
    let Some(data) = url.strip_prefix("data:") else {
        return Err(invalid(format!("Failed to download image from {url}. Image URL is invalid.")));
    };
    const FORMATS: &str = "You uploaded an unsupported image. Please make sure your image has of one \
        the following formats: ['png', 'jpeg', 'gif', 'webp'].";
    let (media_type, data) = data.split_once(";base64,").unwrap_or((data, ""));
    if !media_type.starts_with("image/") {
        return Err(invalid("Invalid MIME type. Only image types are supported."));
    }
    match STANDARD.decode(data) {
        Ok(bytes) if bytes.is_empty() => Err(invalid("Invalid base64 image_url.")),
        Err(_) => Err(invalid("Invalid base64 image_url.")),
        Ok(bytes) if media_type_of(&bytes) == Some(media_type) => Ok(()),
        Ok(_) => Err(invalid(FORMATS)),
    }
}
