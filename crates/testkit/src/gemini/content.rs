//! Checks the parts of a content: texts, images, calls and results.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

use super::{GeminiRefusal, check_fields, invalid};
use crate::image::media_type_of;

/// The signature that is used for a call of another model.
pub const SKIPPED: &str = "skip_thought_signature_validator";
/// The prefix of the fake's signatures, before encoding.
const SIGNED: &str = "signed:";

/// Returns the signature of a call after this thought.
#[must_use]
pub fn signature(thinking: &str) -> String {
    STANDARD.encode(format!("{SIGNED}{thinking}"))
}

/// Checks the parts of a content.
pub(super) fn check_parts(parts: &Value, here: &str) -> Result<(), GeminiRefusal> {
    let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
    if parts.is_empty() {
        return Err(invalid(format!(
            "* GenerateContentRequest.{here}.parts: contents.parts must not be empty.\n"
        )));
    }
    for (number, part) in parts.iter().enumerate() {
        check_part(part, &format!("{here}.parts[{number}]"))?;
    }
    Ok(())
}

/// Checks a part, which must have exactly one field with data.
fn check_part(part: &Value, here: &str) -> Result<(), GeminiRefusal> {
    const DATA: [&str; 4] = ["text", "inlineData", "functionCall", "functionResponse"];
    let known = [&DATA[..], &["thoughtSignature"]].concat();
    check_fields(part, &known, here)?;
    let data: Vec<&str> = DATA.into_iter().filter(|kind| part.get(kind).is_some()).collect();
    let [kind] = data[..] else {
        return Err(invalid(format!(
            "* GenerateContentRequest.{here}.data: required oneof field 'data' must have one \
             initialized field\n"
        )));
    };
    check_signature(&part["thoughtSignature"], here)?;
    match kind {
        "text" => check_text(part),
        "inlineData" => check_image(&part["inlineData"], here),
        "functionCall" => {
            let here = format!("{here}.function_call");
            check_fields(&part["functionCall"], &["id", "name", "args"], &here)?;
            check_struct(&part["functionCall"]["args"], &format!("{here}.args"))?;
            check_name(&part["functionCall"]["name"], &here)
        }
        _ => {
            let here = format!("{here}.function_response");
            check_fields(&part["functionResponse"], &["id", "name", "response"], &here)?;
            check_struct(&part["functionResponse"]["response"], &format!("{here}.response"))?;
            check_name(&part["functionResponse"]["name"], &here)
        }
    }
}

/// Refuses an empty text, unless it has a signature.
fn check_text(part: &Value) -> Result<(), GeminiRefusal> {
    match part["text"].as_str() {
        Some("") if part["thoughtSignature"].is_null() => {
            Err(invalid("Unable to submit request because it must have a text parameter."))
        }
        Some(_) => Ok(()),
        None => Err(invalid("Invalid value at 'contents.parts.text' (TYPE_STRING)")),
    }
}

/// Checks the name of a function.
pub(super) fn check_name(name: &Value, here: &str) -> Result<(), GeminiRefusal> {
    let name = name.as_str().unwrap_or_default();
    if name.is_empty() {
        return Err(invalid(format!(
            "* GenerateContentRequest.{here}.name: [FIELD_INVALID] Function name cannot be empty.\n"
        )));
    }
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let taken = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    if begins && name.len() <= 64 && name.chars().all(taken) {
        return Ok(());
    }
    Err(invalid(format!(
        "* GenerateContentRequest.{here}.name: [FIELD_INVALID] Invalid function name. Must start \
         with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), \
         dots (.), colons (:), or dashes (-), with a maximum length of 64.\n"
    )))
}

fn check_struct(value: &Value, here: &str) -> Result<(), GeminiRefusal> {
    match value {
        Value::Null | Value::Object(_) => Ok(()),
        other => Err(invalid(format!(
            "Invalid value at '{here}' (type.googleapis.com/google.protobuf.Struct), {other}"
        ))),
    }
}

fn check_signature(signature: &Value, here: &str) -> Result<(), GeminiRefusal> {
    match signature.as_str() {
        None | Some(SKIPPED) => return Ok(()),
        Some(text) => {
            let bytes = STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text));
            let bytes = bytes.map_err(|_| {
                invalid(format!("Invalid value at '{here}.thought_signature' (TYPE_BYTES)"))
            })?;
            if bytes.starts_with(SIGNED.as_bytes()) {
                return Ok(());
            }
        }
    }
    Err(invalid("Corrupted thought signature."))
}

fn check_image(image: &Value, here: &str) -> Result<(), GeminiRefusal> {
    const TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
    check_fields(image, &["mimeType", "data"], &format!("{here}.inline_data"))?;
    let media_type = image["mimeType"].as_str().unwrap_or_default();
    if !TYPES.contains(&media_type) {
        return Err(invalid(format!("Unsupported MIME type: {media_type}")));
    }
    let data = STANDARD.decode(image["data"].as_str().unwrap_or_default()).map_err(|_| {
        invalid(format!(
            "Invalid value at '{here}.inline_data.data' (TYPE_BYTES), Base64 decoding failed"
        ))
    })?;
    match media_type_of(&data) {
        Some(_) => Ok(()),
        None => Err(invalid(
            "Unable to process input image. Please retry or report in \
                             https://developers.generativeai.google/guide/troubleshooting",
        )),
    }
}
