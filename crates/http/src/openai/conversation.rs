//! The conversation of a request.

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::{ChatId, IdError};
use avocet_protocol::store::MessageStatus;
use avocet_text::in_hexadecimal;
use axum::http::HeaderMap;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::error::OpenAiError;
use crate::caller::HttpCaller;
use crate::problem::Problem;
use crate::state::HttpState;

/// The header that names a session.
const SESSION: &str = "x-avocet-session";
/// The beginning of a response's id.
pub(crate) const RESPONSE: &str = "resp_";

/// The conversation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiSession {
    pub(crate) session: SessionId,
    /// `true` if the chat belongs to the API: the response is the delivery of its replies.
    pub(crate) is_own: bool,
    /// `true` if the log may have earlier messages: those of the request do not count then.
    pub(crate) is_kept: bool,
}

/// The parts of a request that name its conversation.
#[derive(Debug, Default)]
pub(crate) struct NamedConversation<'r> {
    pub(crate) user: Option<&'r str>,
    pub(crate) conversation: Option<&'r ConversationName>,
    pub(crate) previous_response: Option<&'r str>,
    /// The value of the header Idempotency-Key.
    pub(crate) key: Option<&'r str>,
}

/// The parameter `conversation`: an id, alone or in an object.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum ConversationName {
    Id(String),
    Object { id: String },
}

impl ApiSession {
    /// Returns the session of the header, of the previous response, of `conversation` or of `user`;
    /// else a session of the request's own. A repetition with the same key gets the same one.
    ///
    /// # Errors
    /// A name cannot be a part of a session id, or the previous response is unknown.
    pub(crate) async fn find(
        state: &HttpState,
        caller: &HttpCaller,
        headers: &HeaderMap,
        named: NamedConversation<'_>,
    ) -> Result<Self, OpenAiError> {
        if let Some(header) = headers.get(SESSION) {
            let session = header.to_str().ok().map(SessionId::parse);
            let session =
                session.ok_or_else(|| Problem::bad_request("X-Avocet-Session is not a session"))?;
            let session = session.map_err(|error| Problem::bad_request(error.to_string()))?;
            return Ok(Self { session, is_own: false, is_kept: true });
        }
        if let Some(response) = named.previous_response {
            let MessageStatus { session, .. } =
                status_of_response(state, caller, response, "previous_response_id").await?;
            let is_own =
                session.is_one_off() || session.as_str().starts_with("terminal:local:api-");
            return Ok(Self { session, is_own, is_kept: true });
        }
        let conversation = named.conversation.map(|name| match name {
            ConversationName::Id(id) | ConversationName::Object { id } => id.as_str(),
        });
        let name = conversation.map(|id| ("conversation", id));
        let name = name.or_else(|| named.user.map(|user| ("user", user)));
        if let Some((param, name)) = name.filter(|(_, name)| !name.is_empty()) {
            let session =
                named_session(name).map_err(|error| OpenAiError::invalid(param, error))?;
            return Ok(Self { session, is_own: true, is_kept: true });
        }
        let client = caller.0.sender.as_str();
        let client = client.rsplit(':').next().unwrap_or(client);
        let id = match named.key {
            Some(key) => in_hexadecimal(&Sha256::digest(key)[..16]),
            None => uuid::Uuid::new_v4().simple().to_string(),
        };
        let session = SessionId::one_off(client, &id);
        let session = session.map_err(|error| Problem::bad_request(error.to_string()))?;
        Ok(Self { session, is_own: true, is_kept: false })
    }
}

fn named_session(name: &str) -> Result<SessionId, IdError> {
    let chat = ChatId::parse(&format!("api-{name}"))?;
    SessionId::parse(&format!("terminal:local:{chat}"))
}

/// Returns the status of the message behind a response.
///
/// # Errors
/// There is no such response, or the client may not read it.
pub(crate) async fn status_of_response(
    state: &HttpState,
    caller: &HttpCaller,
    response: &str,
    param: &str,
) -> Result<MessageStatus, OpenAiError> {
    let unknown = || {
        let detail = format!("`{param}`: there is no response {response:?}");
        OpenAiError::from(Problem::not_found(detail))
    };
    let message = response.strip_prefix(RESPONSE).ok_or_else(unknown)?;
    let is_number = message.strip_prefix('m').is_some_and(|rest| rest.parse::<i64>().is_ok());
    if !is_number {
        return Err(unknown());
    }
    state
        .wait_for_status(caller, message, 0)
        .await
        .map_err(|problem| if problem.status == 404 { unknown() } else { problem.into() })
}
