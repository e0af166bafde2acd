//! About how many tokens a text has, without its model's tokeniser: good enough to see whether a
//! request fits.

use crate::{Message, ModelRequest, SentCall, ToolSpec};

/// ASCII characters that are about a token; every other character counts as one.
const ASCII_A_TOKEN: u64 = 4;
/// About what a picture costs, whatever its size.
const A_PICTURE: u64 = 1000;
/// What stands around every message: its role, its marks.
const AROUND: u64 = 4;

/// About how many tokens a text has: one for four ASCII characters, one for each other character.
#[must_use]
pub fn estimated_tokens(text: &str) -> u64 {
    let all = text.chars().count() as u64;
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    ascii.div_ceil(ASCII_A_TOKEN) + (all - ascii)
}

impl Message {
    /// About how many tokens it has, without its pictures ([`estimated_tokens`]).
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        AROUND
            + match self {
                Self::System { text } | Self::User { text, .. } => estimated_tokens(text),
                Self::ToolResult { result, .. } => estimated_tokens(result),
                Self::Assistant { text, calls, reasoning } => {
                    let calls: u64 = calls.iter().map(of_call).sum();
                    let thought = reasoning.as_ref().map(|thought| thought.content.to_string());
                    estimated_tokens(text) + calls + thought.as_deref().map_or(0, estimated_tokens)
                }
            }
    }
}

impl ToolSpec {
    /// About how many tokens it has ([`estimated_tokens`]).
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let parameters = self.parameters.to_string();
        let parts = [self.name.as_str(), &self.description, &parameters];
        AROUND + parts.into_iter().map(estimated_tokens).sum::<u64>()
    }
}

impl ModelRequest {
    /// About how many tokens it has: messages, tools, and the pictures that are sent along.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let messages: u64 = self.messages.iter().map(Message::estimated_tokens).sum();
        let tools: u64 = self.tools.iter().map(ToolSpec::estimated_tokens).sum();
        messages + tools + self.images.len() as u64 * A_PICTURE
    }
}

fn of_call(call: &SentCall) -> u64 {
    let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
    AROUND + estimated_tokens(&call.name) + estimated_tokens(&arguments)
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
