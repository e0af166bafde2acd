//! How many tokens a text is, about: no tokeniser is asked, since each model has its own.

use serde_json::Value;

use crate::{Message, ModelRequest, SentCall, ToolSpec};

/// About what a picture costs, whatever its size in bytes.
pub const TOKENS_AN_IMAGE: u64 = 1000;
/// What a message costs beside its text: its role, and the marks around it.
const TOKENS_A_MESSAGE: u64 = 4;

/// The tokens of a text: four ASCII characters are one, every other character is one. Rather too
/// many than too few for what is no English prose.
#[must_use]
pub fn estimated_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    // Every character has one byte that is no continuation.
    let characters = text.bytes().filter(|byte| byte & 0xC0 != 0x80).count() as u64;
    ascii.div_ceil(4) + (characters - ascii)
}

impl Message {
    /// Its tokens, about; pictures not counted.
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
    /// Its tokens in a request, about.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let words = estimated_tokens(&self.name) + estimated_tokens(&self.description);
        words + json_tokens(&self.parameters) + TOKENS_A_MESSAGE
    }
}

impl ModelRequest {
    /// Its tokens, about.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let messages: u64 = self.messages.iter().map(Message::estimated_tokens).sum();
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

/// Without writing it down: a value may be large, and is counted before every request.
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
    fn a_token_is_four_letters_or_one_character_of_another_script() {
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
