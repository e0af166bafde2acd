//! The result of a call: its text for the model, and its kind for programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Trust;

/// The result of a call, as the model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallResult {
    /// `true` if it succeeded; otherwise `value` is `{"error": "..."}`.
    pub ok: bool,
    /// The result, cut to the limit for one reading.
    pub value: Value,
    /// The trust level of the result.
    pub trust: Trust,
    /// The kind of result. Programs decide by it, and never by the text in `value`, which may come
    /// from a tool.
    #[serde(default, skip_serializing_if = "ResultKind::is_usual")]
    pub kind: ResultKind,
}

/// The kind of a call's result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// The tool's own result or error.
    #[default]
    Usual,
    /// The beginning of the tool's result, whose rest is kept.
    Cut,
    /// The program that asked runs the call, and sends the result with its next message.
    SentToProgram,
    /// The call did not run, because its approval was denied or expired.
    Denied,
    /// The call did not run, because a rule of the configuration or of the sandbox forbids it.
    Refused,
    /// The call did not run, because it was made twice before with the same result.
    Repeated,
    /// The call was interrupted, and it may have had its effect.
    OutcomeUnknown,
}

impl ResultKind {
    /// In the order of declaration.
    pub const ALL: [Self; 7] = [
        Self::Usual,
        Self::Cut,
        Self::SentToProgram,
        Self::Denied,
        Self::Refused,
        Self::Repeated,
        Self::OutcomeUnknown,
    ];

    /// The word in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Cut => "cut",
            Self::SentToProgram => "sent_to_program",
            Self::Denied => "denied",
            Self::Refused => "refused",
            Self::Repeated => "repeated",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }

    /// Returns `true` for the tool's own result or error.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::Usual
    }
}

impl CallResult {
    /// Makes a fully trusted result.
    #[must_use]
    pub fn ok(value: Value) -> Self {
        Self { ok: true, value, trust: Trust::Full, kind: ResultKind::Usual }
    }

    /// Makes the result of a failed call: the object `{"error": "..."}`.
    #[must_use]
    pub fn error(message: &str) -> Self {
        let value = serde_json::json!({ "error": message });
        Self { ok: false, value, trust: Trust::Full, kind: ResultKind::Usual }
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(self, kind: ResultKind) -> Self {
        Self { kind, ..self }
    }

    /// Returns `true` if the call did not run because its approval was denied or expired.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.kind == ResultKind::Denied
    }
}
