//! Estimates of token counts. No tokeniser is used, because each model has its own.

use serde_json::Value;

use crate::model::{Message, ModelRequest, SentCall};
use crate::tool::{ToolSpec, is_rare};

/// Approximate cost of a picture, whatever its size in bytes.
pub const TOKENS_AN_IMAGE: u64 = 1000;
/// Tokens of a message in addition to its text: its role, and the marks around it.
const TOKENS_A_MESSAGE: u64 = 4;

/// Estimates the tokens of a text: one for four ASCII characters, and one for every other
/// character. For text other than English prose, the estimate tends to be too high.
#[must_use]
pub fn estimated_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    // Every character has exactly one byte that is not a continuation byte.
    let characters = text.bytes().filter(|byte| byte & 0xC0 != 0x80).count() as u64;
    ascii.div_ceil(4) + (characters - ascii)
}

impl Message {
    /// Estimates the tokens of the message, without pictures.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let text = match self {
            Self::System { text } | Self::User { text, .. } => estimated_tokens(text),
            Self::Assistant { text, calls, reasoning } => {
                let calls: u64 = calls.iter().map(call_tokens).sum();
                let reasoning = reasoning.as_ref().map_or(0, |one| json_tokens(&one.content));
                estimated_tokens(text) + calls + reasoning
            }
            Self::ToolResult { result, .. } => estimated_tokens(result),
        };
        text + TOKENS_A_MESSAGE
    }
}

impl ToolSpec {
    /// Estimates the tokens of the tool's description in a request.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let words = estimated_tokens(&self.name) + estimated_tokens(&self.description);
        words + schema_tokens(&self.parameters) + TOKENS_A_MESSAGE
    }
}

impl ModelRequest {
    /// Counts messages, offered tools and pictures. Deferred tools are not sent.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let messages = self.messages.estimated_tokens();
        let tools: u64 = self.tools.iter().map(ToolSpec::estimated_tokens).sum();
        messages + tools + self.images.len() as u64 * TOKENS_AN_IMAGE
    }
}

fn call_tokens(call: &SentCall) -> u64 {
    let arguments: u64 = call
        .arguments
        .iter()
        .map(|(name, value)| estimated_tokens(name) + json_tokens(value))
        .sum();
    estimated_tokens(&call.name) + arguments + TOKENS_A_MESSAGE
}

/// Counts only the parts of a schema that are sent.
fn schema_tokens(schema: &Value) -> u64 {
    match schema {
        Value::Object(object) => {
            let sent = object.iter().filter(|(key, one)| !key.starts_with("x-") && !is_rare(one));
            let of = |(key, one): (&String, &Value)| estimated_tokens(key) + schema_tokens(one);
            sent.map(of).sum::<u64>() + 1
        }
        other => json_tokens(other),
    }
}

/// Counts without serialising: a value may be large, and is counted before every request.
fn json_tokens(value: &Value) -> u64 {
    match value {
        Value::String(text) => estimated_tokens(text) + 1,
        Value::Array(values) => values.iter().map(json_tokens).sum::<u64>() + 1,
        Value::Object(object) => {
            let of = |(name, value): (&String, &Value)| estimated_tokens(name) + json_tokens(value);
            object.iter().map(of).sum::<u64>() + 1
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimated_tokens_counts_four_letters_or_one_character_of_another_script() {
        let table = [
            ("", 0),
            ("abcd", 1),
            ("abcde", 2),
            ("日本語", 3),
            ("naïve", 2),
            ("👍🏽", 2),
            ("a\u{0}", 1),
        ];
        for (text, tokens) in table {
            assert_eq!(estimated_tokens(text), tokens, "{text:?}");
        }
    }
}
