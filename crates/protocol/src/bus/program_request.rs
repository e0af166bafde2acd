//! The parts of a program's request beside the text of its message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The request of a program that asks for one answer, as OpenAI's APIs do: its instructions, the
/// conversation that it keeps itself, and the tools that it runs itself. The words are those of the
/// message's sender, except for results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProgramRequest {
    /// The profile that answers the conversation from now on; `None` for the conversation's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Instructions for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The messages before this one that are not in the log, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<ProgramMessage>,
    /// Tools that the program runs itself. A call of one ends the turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ProgramTool>,
    /// The JSON Schema of the answer, if it has to be JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Value>,
}

/// A message of a conversation that a program keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ProgramMessage {
    /// The user of the program.
    User {
        /// The words.
        text: String,
    },
    /// An earlier answer.
    Assistant {
        /// The words; may be empty beside calls.
        text: String,
        /// The calls of the program's tools.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ProgramCall>,
    },
    /// The result of a call. It is untrusted.
    Result {
        /// The id of the call.
        call: String,
        /// The result.
        text: String,
    },
}

/// A call of a program's tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramCall {
    /// The id, by which its result refers to it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// A tool that a program runs itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramTool {
    /// The name.
    pub name: String,
    /// Its purpose and when to use it.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// The result of a call that the program runs, until the program sends the real one.
pub const SENT_TO_PROGRAM: &str =
    "the program that asked runs this call; its result comes with the next message";

/// The line after the instructions of a program, before the messages.
pub const END_OF_INSTRUCTIONS: &str = "[End of the program's instructions.]";

impl ProgramRequest {
    /// Returns `true` if a part of it comes from a person other than the sender.
    #[must_use]
    pub fn has_untrusted_parts(&self) -> bool {
        self.earlier.iter().any(|message| matches!(message, ProgramMessage::Result { .. }))
    }

    /// Iterates over all texts of the request.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let earlier = self.earlier.iter().map(|message| match message {
            ProgramMessage::User { text }
            | ProgramMessage::Assistant { text, .. }
            | ProgramMessage::Result { text, .. } => text.as_str(),
        });
        self.instructions.as_deref().into_iter().chain(earlier)
    }

    /// Replaces each text by the result of `change`.
    #[must_use]
    pub fn with_texts(mut self, mut change: impl FnMut(&str) -> String) -> Self {
        if let Some(text) = &mut self.instructions {
            *text = change(text);
        }
        for message in &mut self.earlier {
            let (ProgramMessage::User { text }
            | ProgramMessage::Assistant { text, .. }
            | ProgramMessage::Result { text, .. }) = message;
            *text = change(text);
        }
        self
    }

    /// Returns `true` if a tool of the program has this name.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
}
