//! The question in a request of OpenAI's APIs: its session, and the text of its last message.

use avocet_protocol::{ChatId, IdError, SessionId};
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::caller::HttpCaller;
use crate::problem::Problem;

/// The header that names a session.
const SESSION: &str = "x-avocet-session";

/// The conversation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiSession {
    pub(crate) session: SessionId,
    /// `true` if the chat belongs to the API: the response is the delivery of its replies.
    pub(crate) is_own: bool,
}

impl ApiSession {
    /// Returns the session of the header, else the one for `user`, else the one for the client.
    ///
    /// # Errors
    /// The name cannot be a part of a session id.
    pub(crate) fn of(
        headers: &HeaderMap,
        caller: &HttpCaller,
        user: Option<&str>,
    ) -> Result<Self, Problem> {
        if let Some(named) = headers.get(SESSION) {
            let session = named.to_str().ok().map(SessionId::parse);
            let session =
                session.ok_or_else(|| Problem::bad_request("X-Avocet-Session is not a session"))?;
            let session = session.map_err(|error| Problem::bad_request(error.to_string()))?;
            return Ok(Self { session, is_own: false });
        }
        let client = caller.0.sender.as_str().trim_start_matches("http:");
        let name = user.filter(|user| !user.is_empty()).unwrap_or(client);
        let wrong = |error: IdError| Problem::bad_request(format!("user: {error}"));
        let chat = ChatId::parse(&format!("api-{name}")).map_err(wrong)?;
        let session = SessionId::parse(&format!("terminal:local:{chat}")).map_err(wrong)?;
        Ok(Self { session, is_own: true })
    }
}

/// A message of a request.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ApiMessage {
    role: Option<String>,
    content: Option<ApiContent>,
}

/// A text, or parts that are text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
enum ApiContent {
    Text(String),
    Parts(Vec<ApiPart>),
}

/// A part of a message's content.
#[derive(Debug, Deserialize, ToSchema)]
struct ApiPart {
    /// `text` or `input_text`.
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// Returns the text of the last message, which has to be the user's.
///
/// # Errors
/// The last message is another one, or has a part that is not text.
pub(crate) fn last_text(messages: Vec<ApiMessage>) -> Result<String, Problem> {
    let last = messages.into_iter().next_back();
    let last = last.filter(|last| last.role.as_deref().unwrap_or("user") == "user");
    let content = last.and_then(|last| last.content).ok_or_else(|| {
        Problem::bad_request(
            "the last message must be one of the role `user` with a content; the agent keeps \
             the earlier ones itself",
        )
    })?;
    match content {
        ApiContent::Text(text) => Ok(text),
        ApiContent::Parts(parts) => {
            let texts = parts.into_iter().map(|part| match (part.kind.as_str(), part.text) {
                ("text" | "input_text", Some(text)) => Ok(text),
                (kind, _) => Err(Problem::bad_request(format!(
                    "a content of type {kind:?} is not supported; send text"
                ))),
            });
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
    }
}

/// Refuses a parameter that the agent cannot follow and whose loss would change the result.
///
/// # Errors
/// The value is set.
pub(crate) fn refuse_if_set(name: &str, value: Option<&Value>) -> Result<(), Problem> {
    let is_unset = value.is_none_or(|value| match value {
        Value::Array(items) => items.is_empty(),
        value => value.is_null(),
    });
    if is_unset {
        return Ok(());
    }
    Err(Problem::bad_request(format!(
        "`{name}` is not supported: the agent has its own tools and forms; leave it out"
    )))
}
