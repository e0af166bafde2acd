//! What a request wants a message to be, checked as the platform checks it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::components;
use super::error::ApiError;
use super::form::{FormErrors, length};
use super::rest::Call;
use crate::multipart::Upload;

/// Characters of a message.
pub const TEXT_LIMIT: usize = 2000;
/// Characters of a nonce.
pub const NONCE_LIMIT: usize = 25;
/// Embeds in a message.
pub const EMBED_LIMIT: usize = 10;
/// Characters of all embeds of a message together.
pub const EMBED_TEXT_LIMIT: usize = 6000;
/// Files in a message.
pub const FILE_LIMIT: usize = 10;
/// Not in the channel, and for one person only.
pub(super) const EPHEMERAL: u64 = 1 << 6;

/// The fields of a request for a message; what is none was not given.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) text: Option<String>,
    pub(super) nonce: Option<String>,
    pub(super) enforce_nonce: bool,
    pub(super) reply_to: Option<u64>,
    /// The answer to a message that is not there is sent all the same.
    pub(super) reply_or_not: bool,
    pub(super) components: Option<Vec<Value>>,
    pub(super) embeds: Option<Vec<Value>>,
    pub(super) allowed_mentions: Option<Value>,
    pub(super) flags: Option<u64>,
    /// `attachments`: of an edit, those that stay; of both, those that come.
    pub(super) attachments: Option<Vec<Value>>,
    pub(super) files: Vec<Upload>,
}

/// What the test wants beyond the platform's own checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Bytes of a file.
    pub(super) file_size: usize,
    /// `allowed_mentions` has to be there.
    pub(super) allowed_mentions: bool,
}

impl Draft {
    /// Reads the fields from `body`, which is that of the call or a part of it.
    pub(super) fn read(call: &Call, body: &Value, rules: Rules) -> Result<Self, ApiError> {
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
        };
        draft.check(body, rules)?;
        Ok(draft)
    }

    fn check(&self, body: &Value, rules: Rules) -> Result<(), ApiError> {
        if self.files.iter().any(|file| file.bytes.len() > rules.file_size) {
            return Err(ApiError::too_large());
        }
        let mut errors = FormErrors::default();
        let text = self.text.as_deref().unwrap_or_default();
        errors.at_most("content", length(text), TEXT_LIMIT);
        let nonce = self.nonce.as_deref().unwrap_or_default();
        errors.at_most("nonce", length(nonce), NONCE_LIMIT);
        components::check(&body["components"], &mut errors);
        self.check_embeds(&mut errors);
        let attachments = self.attachments.as_ref().map_or(0, Vec::len);
        errors.at_most("attachments", attachments.max(self.files.len()), FILE_LIMIT);
        let says_something = self.text.is_some() || self.embeds.is_some();
        if rules.allowed_mentions && says_something && self.allowed_mentions.is_none() {
            errors.required("allowed_mentions");
        }
        errors.finish()
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

    /// There is nothing to see: white space does not count.
    pub(super) fn is_empty(&self) -> bool {
        self.text.as_deref().is_none_or(|text| text.trim().is_empty())
            && self.embeds.as_ref().is_none_or(Vec::is_empty)
            && self.components.as_ref().is_none_or(Vec::is_empty)
            && self.files.is_empty()
    }
}

/// A string, or a number.
fn nonce(given: &Value) -> Option<String> {
    match given {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The files of a form, in the order of their numbers: `files[0]`.
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
