//! A conversation as a model sees it.

use std::fmt;

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
    /// What people wrote.
    User {
        /// Plain text.
        text: String,
        /// The pictures that came with it, by reference; the text has a line for each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageRef>,
    },
    /// What the model answered.
    Assistant {
        /// What it said; may be empty if it called tools.
        text: String,
        /// The tools it called.
        calls: Vec<SentCall>,
        /// What the model that said it wants to have back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Reasoning>,
    },
    /// What a tool call came to.
    ToolResult {
        /// [`SentCall::id`] of the call.
        call: String,
        /// Whether the call succeeded.
        ok: bool,
        /// A text as it is, or JSON; `{"error": "..."}` of a call that failed.
        result: String,
    },
}

impl Message {
    /// What people wrote, without pictures.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), images: Vec::new() }
    }

    /// What a model answered, without reasoning.
    #[must_use]
    pub fn assistant(text: impl Into<String>, calls: Vec<SentCall>) -> Self {
        Self::Assistant { text: text.into(), calls, reasoning: None }
    }
}

/// How the agent begins what it says of the moment, behind the newest message.
pub const MOMENT: &str = "[It is ";

/// How the mark begins that the agent puts around what somebody said in a group; it ends in a line of
/// its own.
pub const SAID: &str = "<<<said ";

/// What people said in a user message: without what the agent says of the moment, behind it, and without
/// the marks that name who said it in a group.
#[must_use]
pub fn what_was_said(text: &str) -> &str {
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

/// What a model wrote on its way to the calls of a step, and wants to have back unchanged for as long
/// as the step is sent. Other models do not get it, and no person is shown it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// `provider/model`: whose it is.
    pub model: String,
    /// As its provider has it; opaque to everybody else.
    pub content: Value,
}

/// Without the content.
impl fmt::Debug for Reasoning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reasoning of {}", self.model)
    }
}

/// A picture in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImageRef {
    /// Relative to the root of the workspace.
    pub path: String,
}

/// A tool call as it is shown to the model again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentCall {
    /// Unique within the conversation.
    pub id: String,
    /// The tool's name as the model wrote it, with what no provider accepts replaced by `_`.
    pub name: String,
    /// Always an object.
    pub arguments: Map<String, Value>,
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// As the model wrote it; may name no tool.
    pub name: String,
    /// As the model wrote them.
    pub arguments: Arguments,
}

/// The arguments of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// What a call should have.
    Object(Map<String, Value>),
    /// Something else: a list, a number, half an object. The call fails with a message that tells
    /// the model so; the text is kept so that it can see what it wrote.
    Malformed(String),
}

impl Arguments {
    /// Reads arguments as models write them: an object, an object inside a string, nothing at all
    /// for a tool without parameters, or something else.
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

    /// An object in every case, so that a provider accepts it when the history is sent again.
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
    fn arguments_come_in_many_shapes() {
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
    fn malformed_arguments_go_back_as_an_object() {
        let sent = Arguments::parse("{oops").to_object();
        assert_eq!(Value::Object(sent), json!({"_malformed": "{oops"}));
    }
}
