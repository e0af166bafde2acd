//! Parses and checks the fields of a request for a message, like the platform.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::components;
use super::error::ApiError;
use super::form::{FormErrors, length};
use super::rest::ParsedRequest;
use crate::multipart::Upload;

/// Maximum length of a message in characters.
pub const TEXT_LIMIT: usize = 2000;
/// Maximum length of a nonce in characters.
pub const NONCE_LIMIT: usize = 25;
/// Maximum number of embeds in a message.
pub const EMBED_LIMIT: usize = 10;
/// Maximum length of all embeds of a message together, in characters.
pub const EMBED_TEXT_LIMIT: usize = 6000;
/// Maximum number of files in a message.
pub const FILE_LIMIT: usize = 10;
/// The flag of a message that only one user sees, outside of the channel.
pub(super) const EPHEMERAL: u64 = 1 << 6;

/// The flag of a voice message.
const VOICE: u64 = 1 << 13;

/// The fields of a request for a message. `None` for an absent field.
#[derive(Debug, Default)]
pub(super) struct MessageFields {
    pub(super) text: Option<String>,
    pub(super) nonce: Option<String>,
    pub(super) enforce_nonce: bool,
    pub(super) reply_to: Option<u64>,
    /// `true` if the message is also sent when the message that it replies to is gone.
    pub(super) reply_or_not: bool,
    pub(super) components: Option<Vec<Value>>,
    pub(super) embeds: Option<Vec<Value>>,
    pub(super) allowed_mentions: Option<Value>,
    pub(super) flags: Option<u64>,
    /// `attachments`: the new files and, in an edit, the remaining ones.
    pub(super) attachments: Option<Vec<Value>>,
    pub(super) files: Vec<Upload>,
    pub(super) poll: Option<Value>,
}

/// Checks that the test can change.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageRules {
    /// Maximum size of a file in bytes.
    pub(super) file_size: usize,
    /// `true` if `allowed_mentions` is required.
    pub(super) allowed_mentions: bool,
}

impl MessageFields {
    /// Parses the fields from `body`, which is the body of the call or a part of it.
    pub(super) fn read(
        call: &ParsedRequest,
        body: &Value,
        rules: MessageRules,
    ) -> Result<Self, ApiError> {
        if !body.is_object() {
            let mut errors = FormErrors::default();
            let why = "Only dictionaries may be used in a DictType";
            errors.add("_", "DICT_TYPE_CONVERT", why);
            return Err(errors.finish().unwrap_err());
        }
        let draft = Self {
            text: body["content"].as_str().map(str::to_owned),
            nonce: nonce(&body["nonce"]),
            enforce_nonce: body["enforce_nonce"] == true,
            reply_to: body["message_reference"]["message_id"]
                .as_str()
                .and_then(|id| id.parse().ok()),
            reply_or_not: body["message_reference"]["fail_if_not_exists"] == false,
            components: body["components"].as_array().cloned(),
            embeds: body["embeds"].as_array().cloned(),
            allowed_mentions: body
                .get("allowed_mentions")
                .filter(|given| !given.is_null())
                .cloned(),
            flags: body["flags"].as_u64(),
            attachments: body["attachments"].as_array().cloned(),
            files: files(&call.files),
            poll: body.get("poll").filter(|given| !given.is_null()).cloned(),
        };
        draft.check(body, rules)?;
        Ok(draft)
    }

    fn check(&self, body: &Value, rules: MessageRules) -> Result<(), ApiError> {
        if self.files.iter().any(|file| file.bytes.len() > rules.file_size) {
            return Err(ApiError::too_large());
        }
        self.check_voice()?;
        let mut errors = FormErrors::default();
        let text = self.text.as_deref().unwrap_or_default();
        errors.at_most("content", length(text), TEXT_LIMIT);
        let nonce = self.nonce.as_deref().unwrap_or_default();
        errors.at_most("nonce", length(nonce), NONCE_LIMIT);
        components::check(&body["components"], &mut errors);
        self.check_embeds(&mut errors);
        if let Some(poll) = &self.poll {
            check_poll(poll, &mut errors);
        }
        let attachments = self.attachments.as_ref().map_or(0, Vec::len);
        errors.at_most("attachments", attachments.max(self.files.len()), FILE_LIMIT);
        let says_something = self.text.is_some() || self.embeds.is_some();
        if rules.allowed_mentions && says_something && self.allowed_mentions.is_none() {
            errors.required("allowed_mentions");
        }
        errors.finish()
    }

    /// Checks a voice message (Discord API, "Voice Messages").
    fn check_voice(&self) -> Result<(), ApiError> {
        if self.flags.unwrap_or_default() & VOICE == 0 {
            return Ok(());
        }
        let refused = |code, why| Err(ApiError::new(400, code, why));
        if self.text.is_some() || self.embeds.is_some() || self.components.is_some() {
            return refused(50_159, "Voice messages do not support additional content.");
        }
        let described = self.attachments.as_deref().unwrap_or_default();
        let ([file], [described]) = (&self.files[..], described) else {
            return refused(50_160, "Voice messages must have a single audio attachment.");
        };
        let waveform = described["waveform"].as_str().unwrap_or_default();
        let points = STANDARD.decode(waveform).map_or(0, |points| points.len());
        let has_length = described["duration_secs"].as_f64().is_some_and(|length| length > 0.0);
        if !(1..=256).contains(&points) || !has_length || described["id"] != "0" {
            return refused(50_161, "Voice messages must have supporting metadata.");
        }
        if !file.bytes.starts_with(b"OggS") {
            return refused(50_160, "Voice messages must have a single audio attachment.");
        }
        Ok(())
    }

    fn check_embeds(&self, errors: &mut FormErrors) {
        let embeds = self.embeds.as_deref().unwrap_or_default();
        errors.at_most("embeds", embeds.len(), EMBED_LIMIT);
        let mut total = 0;
        for (place, embed) in embeds.iter().enumerate() {
            for (field, limit) in [("title", 256), ("description", 4096)] {
                let length = length(embed[field].as_str().unwrap_or_default());
                errors.at_most(&format!("embeds.{place}.{field}"), length, limit);
                total += length;
            }
            let fields = embed["fields"].as_array().map_or(&[][..], Vec::as_slice);
            errors.at_most(&format!("embeds.{place}.fields"), fields.len(), 25);
            for (field, value) in fields.iter().enumerate() {
                for (part, limit) in [("name", 256), ("value", 1024)] {
                    let length = length(value[part].as_str().unwrap_or_default());
                    let path = format!("embeds.{place}.fields.{field}.{part}");
                    errors.at_most(&path, length, limit);
                    total += length;
                }
            }
        }
        if total > EMBED_TEXT_LIMIT {
            let why = format!("Embed size exceeds maximum size of {EMBED_TEXT_LIMIT}");
            errors.add("embeds", "MAX_EMBED_SIZE_EXCEEDED", &why);
        }
    }

    /// Returns `true` if the message has no visible content. White space does not count.
    pub(super) fn is_empty(&self) -> bool {
        self.text.as_deref().is_none_or(|text| text.trim().is_empty())
            && self.embeds.as_ref().is_none_or(Vec::is_empty)
            && self.components.as_ref().is_none_or(Vec::is_empty)
            && self.files.is_empty()
            && self.poll.is_none()
    }
}

/// Checks a poll (Discord API, "Poll Create Request Object").
fn check_poll(poll: &Value, errors: &mut FormErrors) {
    let question = poll["question"]["text"].as_str().unwrap_or_default();
    if question.is_empty() {
        errors.required("poll.question.text");
    }
    errors.at_most("poll.question.text", length(question), 300);
    let answers = poll["answers"].as_array().map_or(&[][..], Vec::as_slice);
    if answers.len() < 2 {
        errors.add("poll.answers", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 10 in length.");
    }
    errors.at_most("poll.answers", answers.len(), 10);
    for (place, answer) in answers.iter().enumerate() {
        let path = format!("poll.answers.{place}.poll_media.text");
        let text = answer["poll_media"]["text"].as_str().unwrap_or_default();
        if text.is_empty() {
            errors.required(&path);
        }
        errors.at_most(&path, length(text), 55);
    }
    let hours = poll["duration"].as_u64().unwrap_or(24);
    if !(1..=768).contains(&hours) {
        let why = "int value should be between 1 and 768.";
        errors.add("poll.duration", "NUMBER_TYPE_MAX", why);
    }
}

/// Accepts a string or a number.
fn nonce(given: &Value) -> Option<String> {
    match given {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the files of a form in the order of their numbers: `files[0]`.
fn files(files: &BTreeMap<String, Upload>) -> Vec<Upload> {
    let number = |name: &str| -> Option<usize> {
        name.strip_prefix("files[")?.strip_suffix(']')?.parse().ok()
    };
    let mut numbered: Vec<(usize, &Upload)> =
        files.iter().filter_map(|(name, file)| Some((number(name)?, file))).collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, file)| file.clone()).collect()
}

#[cfg(test)]
#[path = "draft_tests.rs"]
mod tests;
