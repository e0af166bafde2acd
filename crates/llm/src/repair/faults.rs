//! Finds the fault that a refusal names, in the words of the providers and of servers that speak
//! their APIs.

use super::{RequestAdjustment, RequestFault};

/// Words that refuse a field, a role or a value.
const REFUSES: [&str; 22] = [
    "additional properties",
    "cannot be used",
    "does not exist",
    "does not support",
    "extra fields",
    "extra inputs",
    "extra_forbidden",
    "is allowed",
    "is deprecated",
    "is not enabled",
    "not allowed",
    "not permitted",
    "not recognized",
    "not supported",
    "only allowed",
    "should not",
    "unexpected",
    "unknown",
    "unrecognized",
    "unsupported",
    "must not",
    "no longer",
];
/// Words that miss something.
const MISSES: [&str; 8] = [
    "expected `thinking`",
    "is empty",
    "is missing",
    "missing",
    "must be passed",
    "must include",
    "passed back",
    "required",
];
/// Words that distrust a signature or encrypted data.
const DISTRUSTS: [&str; 9] = [
    "corrupt",
    "could not be",
    "decod",
    "decrypt",
    "expired",
    "invalid",
    "malformed",
    "not valid",
    "verif",
];
/// Words about calls and results that do not match, each with the API that uses them: chat
/// completions, Anthropic, Gemini, Responses, Mistral.
const UNMATCHED_CALLS: [&str; 17] = [
    "tool_call_id",
    "'tool_calls' must be followed",
    "role 'tool' must be",
    "`tool_calls` must be followed",
    "insufficient tool messages",
    "tool_use` ids",
    "tool_use_id",
    "`tool_result`",
    "tool result's tool id",
    "function response parts",
    "function call turn",
    "no tool call found",
    "no tool output found",
    "not the same number of function calls and responses",
    "tool call id",
    "unexpected role 'tool'",
    "unexpected tool call",
];
/// The fields of an assistant message that only some servers know. The longer names are first.
const STATE_FIELDS: [(&str, RequestAdjustment); 5] = [
    ("reasoning_content", RequestAdjustment::NoReasoningContent),
    ("reasoning_details", RequestAdjustment::NoReasoningDetails),
    ("extra_content", RequestAdjustment::NoExtraContent),
    ("reasoning", RequestAdjustment::NoReasoning),
    ("phase", RequestAdjustment::NoPhase),
];

impl RequestFault {
    /// The fault that the words of a refusal name; `None` if they name nothing that can be repaired.
    pub(crate) fn named_by(detail: &str) -> Option<Self> {
        let words = RefusalWords(detail.to_lowercase());
        words.fault_of_history().or_else(|| words.find_adjustment().map(Self::Adjustable))
    }
}

/// Returns `true` if a refusal says that the model or its server takes no tools.
pub(crate) fn names_missing_tools(detail: &str) -> bool {
    let words = RefusalWords(detail.to_lowercase());
    let is_about_tools = words.has_any(&["tool", "function call", "functions"]);
    let is_whole = words.has_any(&[
        "does not support tool",
        "does not support function",
        "support tool use",
        "tool use is not supported",
        "tool calling is not supported",
        "tool choice requires",
        "tools are not supported",
        "tools is not supported",
        "tools` is not supported",
        "tools' is not supported",
        "tools param requires",
        "requires --jinja",
        "function calling is not enabled",
        "function calling is not supported",
        "supplied: tools",
    ]);
    is_about_tools && is_whole
}

struct RefusalWords(String);

impl RefusalWords {
    fn has_word(&self, word: &str) -> bool {
        self.0.contains(word)
    }

    fn has_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has_word(word))
    }

    fn fault_of_history(&self) -> Option<RequestFault> {
        let is_signature =
            self.has_any(&["thought_signature", "thought signature", "thoughtsignature"]);
        if is_signature {
            return if self.has_any(&MISSES) {
                Some(RequestFault::Adjustable(RequestAdjustment::FillSignatures))
            } else {
                self.has_any(&DISTRUSTS).then_some(RequestFault::Thought)
            };
        }
        if self.names_a_thought() {
            return Some(RequestFault::Thought);
        }
        if self.has_any(&["reasoning_content", "reasoning content", "thinking content"])
            && self.has_any(&MISSES)
        {
            return Some(RequestFault::Adjustable(RequestAdjustment::FillReasoning));
        }
        let field = STATE_FIELDS.iter().find(|(field, _)| self.names_field(field));
        if let Some((_, adjustment)) = field.filter(|_| self.has_any(&REFUSES)) {
            return Some(RequestFault::Adjustable(*adjustment));
        }
        self.has_any(&UNMATCHED_CALLS).then_some(RequestFault::Calls)
    }

    /// Returns `true` if a thought is refused, in the words of Anthropic and of OpenAI's Responses.
    fn names_a_thought(&self) -> bool {
        let is_block = self.has_any(&["`thinking`", "thinking block", "redacted_thinking"])
            && self.has_any(&["signature", "modified", "`data`", "expected `thinking`"]);
        let is_sealed =
            self.has_any(&["encrypted_content", "encrypted content"]) && self.has_any(&DISTRUSTS);
        let is_item = self.has_word("reasoning")
            && self.has_any(&["following item", "without its required", "persisted"]);
        is_block
            || is_sealed
            || is_item
            || (self.has_word("item with id 'rs_") && self.has_word("not found"))
    }

    /// Returns `true` if the words name a field, and not a longer one that begins or ends alike.
    fn names_field(&self, field: &str) -> bool {
        // A word of English has spaces around it; a field has quotes or colons.
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ' ';
        self.0.match_indices(field).any(|(at, _)| {
            let before = self.0[..at].chars().next_back();
            let after = self.0[at + field.len()..].chars().next();
            let is_whole =
                before.is_none_or(|c| !is_part(c)) && after.is_none_or(|c| !is_part(c) && c != '.');
            is_whole || (field.contains('_') && before != Some('_'))
        })
    }

    fn find_adjustment(&self) -> Option<RequestAdjustment> {
        const OTHER_REFUSALS: [&str; 3] =
            ["roles must alternate", "only user and", "verified to stream"];
        if !self.has_any(&REFUSES) && !self.has_any(&OTHER_REFUSALS) {
            return None;
        }
        let table: [(&[&str], RequestAdjustment); 6] = [
            (&["stream_options", "include_usage"], RequestAdjustment::NoStreamOptions),
            (
                &[
                    "streaming",
                    "'stream'",
                    "`stream`",
                    "\"stream\"",
                    "stream=true",
                    "stream: true",
                    "verified to stream",
                ],
                RequestAdjustment::NoStream,
            ),
            (&["max_tokens", "max_completion_tokens"], RequestAdjustment::OtherMaxTokensField),
            (&["temperature"], RequestAdjustment::NoTemperature),
            (
                &[
                    "reasoning_effort",
                    "reasoning.effort",
                    "reasoning effort",
                    "chat_template_kwargs",
                    "enable_thinking",
                    "'thinking'",
                    "`thinking`",
                    "thinking is",
                    "effort parameter",
                ],
                RequestAdjustment::NoEffort,
            ),
            (
                &[
                    "system role",
                    "role system",
                    "'system'",
                    "`system`",
                    "\"system\"",
                    "system message",
                    "developer instruction",
                    "'developer'",
                    "`developer`",
                    "\"developer\"",
                    "developer role",
                    "roles must alternate",
                    "only user and",
                ],
                RequestAdjustment::OtherSystemRole,
            ),
        ];
        table.iter().find(|(names, _)| self.has_any(names)).map(|(_, adjustment)| *adjustment)
    }
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;
