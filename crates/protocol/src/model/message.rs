//! A conversation in the form that a model sees.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One message of a model request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The instructions; at most one, and first.
    System {
        /// Plain text.
        text: String,
    },
    /// Text from people.
    User {
        /// Plain text.
        text: String,
        /// The pictures of the message, by reference; the text has a line for each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageRef>,
    },
    /// An answer of the model.
    Assistant {
        /// The text; may be empty if there are calls.
        text: String,
        /// The tools that the model called.
        calls: Vec<SentCall>,
        /// Reasoning that the same model needs back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Reasoning>,
    },
    /// The result of a tool call.
    ToolResult {
        /// [`SentCall::id`] of the call.
        call: String,
        /// `true` if the call succeeded.
        ok: bool,
        /// Plain text, or JSON; `{"error": "..."}` for a failed call.
        result: String,
    },
}

impl Message {
    /// Makes a message of people, without pictures.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), images: Vec::new() }
    }

    /// Makes an answer of a model, without reasoning.
    #[must_use]
    pub fn assistant(text: impl Into<String>, calls: Vec<SentCall>) -> Self {
        Self::Assistant { text: text.into(), calls, reasoning: None }
    }
}

/// The beginning of the agent's note with the current time, which follows the newest message.
pub const MOMENT: &str = "[It is ";

/// The beginning of the mark that the agent puts around a person's text in a group. The end mark is
/// a separate line.
pub const SAID: &str = "<<<said ";

/// Returns the text that people wrote in a user message: without the agent's note about the time,
/// and without the marks that name the author in a group.
#[must_use]
pub fn without_marks(text: &str) -> &str {
    let said = match text.rfind(MOMENT) {
        Some(at) if text.ends_with(']') => text[..at].trim_end(),
        _ => text,
    };
    let marked = said.strip_prefix(SAID).and_then(|rest| rest.split_once('\n'));
    match marked.and_then(|(_, rest)| rest.rsplit_once('\n')) {
        Some((inside, end)) if end.starts_with("<<<end ") => inside,
        _ => said,
    }
}

/// Reasoning that a model wrote before the calls of a step. It is sent back to that model unchanged
/// with each request that contains the step. Other models, other servers and people never see it.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reasoning {
    /// The model that wrote it, as `provider/model`.
    pub model: String,
    /// The host name of the server that sent it. `None` in logs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The provider's own format; opaque to all other code.
    pub content: Value,
}

impl Reasoning {
    /// Makes the reasoning of a model whose server is unknown.
    #[must_use]
    pub fn new(model: impl Into<String>, content: Value) -> Self {
        Self { model: model.into(), host: None, content }
    }
}

/// Leaves out the content.
impl fmt::Debug for Reasoning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reasoning of {}", self.model)
    }
}

/// A picture in the workspace.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct ImageRef {
    /// Relative to the root of the workspace.
    pub path: String,
}

/// A tool call in the form that the model sees again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SentCall {
    /// Unique within the conversation.
    pub id: String,
    /// The tool's name as the model wrote it. Characters that a provider would refuse are replaced
    /// by `_`.
    pub name: String,
    /// Always an object.
    pub arguments: Map<String, Value>,
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// The name as written; a tool of this name may be missing.
    pub name: String,
    /// The arguments as written.
    pub arguments: Arguments,
}

/// The arguments of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// A valid object.
    Object(Map<String, Value>),
    /// Anything else: a list, a number, half an object. The call fails with a message for the
    /// model. The text is kept, so that the model can see its mistake.
    Malformed(String),
}

impl Arguments {
    /// Parses arguments as models write them: an object, an object inside a string, an empty text
    /// for a tool without parameters, or anything else.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Self::Object(map),
            Ok(Value::Null) => Self::Object(Map::new()),
            Ok(Value::String(inner)) => match serde_json::from_str(&inner) {
                Ok(Value::Object(map)) => Self::Object(map),
                _ if inner.trim().is_empty() => Self::Object(Map::new()),
                _ => Self::Malformed(text.to_owned()),
            },
            _ => Self::Malformed(text.to_owned()),
        }
    }

    /// Returns an object in every case, so that a provider accepts it when the history is sent
    /// again.
    #[must_use]
    pub fn to_object(&self) -> Map<String, Value> {
        match self {
            Self::Object(map) => map.clone(),
            Self::Malformed(text) => Map::from_iter([("_malformed".to_owned(), json!(text))]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, object: Option<Value>) {
        let expected = match object {
            Some(Value::Object(map)) => Arguments::Object(map),
            _ => Arguments::Malformed(text.to_owned()),
        };
        assert_eq!(Arguments::parse(text), expected);
    }

    #[test]
    fn arguments_parse_accepts_many_forms() {
        check(r#"{"path": "a"}"#, Some(json!({"path": "a"})));
        check(r#""{\"path\": \"a\"}""#, Some(json!({"path": "a"})));
        check("", Some(json!({})));
        check("  ", Some(json!({})));
        check("null", Some(json!({})));
        check(r#"" ""#, Some(json!({})));
        check(r#"{"path": "a"#, None);
        check("[1]", None);
        check("path=a", None);
        check(r#""just text""#, None);
    }

    #[test]
    fn arguments_to_object_wraps_malformed_arguments() {
        let sent = Arguments::parse("{oops").to_object();
        assert_eq!(Value::Object(sent), json!({"_malformed": "{oops"}));
    }
}
