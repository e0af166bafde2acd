//! The transport over streamable HTTP (MCP, "Streamable HTTP") with our own client, which keeps to
//! the rules for addresses. `answers` reads what comes back, and `events` its events.

mod answers;
mod events;

use std::collections::HashMap;
use std::sync::Arc;

use avocet_net::{HttpClient, HttpResponse, NetError};
use avocet_text::Secret;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use crate::oauth::{BearerChallenge, ServerAccess};
use crate::wire::ServerWire;

use answers::read_stream;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// The error of a challenge for further scopes (RFC 6750, section 3.1).
const INSUFFICIENT: &str = "insufficient_scope";

/// Our client of one server.
#[derive(Debug, Clone)]
pub(crate) struct StreamableHttp {
    pub(crate) client: HttpClient,
    /// The tokens of the server; `None` if `client` has one in its headers.
    pub(crate) access: Option<Arc<ServerAccess>>,
    /// The messages of the connection.
    pub(crate) wire: Arc<ServerWire>,
}

#[derive(Debug, Clone, Copy)]
enum ServerRequest<'r> {
    Post(&'r [u8]),
    Get,
    Delete,
}

/// The reason why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error(transparent)]
    Net(#[from] NetError),
    /// The server refuses the login.
    #[error("{}", .0.why)]
    Refused(LoginRefusal),
    /// The answer has no message. The text is a sentence.
    #[error("{0}")]
    Unreadable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginRefusal {
    /// The reason and the next step, as a sentence.
    pub(crate) why: String,
    /// `true` if further requests of the connection would fail, too.
    pub(crate) ends_link: bool,
}

impl LoginRefusal {
    /// Finds the refusal of the login among an error and its causes.
    pub(crate) fn find_in_causes(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(StreamableHttpError::Client(RequestError::Refused(refusal))) =
                error.downcast_ref::<HttpError>()
            {
                return Some(refusal.clone());
            }
            next = error.source();
        }
        None
    }
}

pub(crate) type HttpError = StreamableHttpError<RequestError>;
type BoxedEvents = BoxStream<'static, Result<Sse, SseError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttp {
    /// Sends a request with the token of the server. If the server refuses the token, sends it once
    /// more with a new one.
    async fn send(
        &self,
        uri: &str,
        headers: &[(&str, &str)],
        request: ServerRequest<'_>,
    ) -> Result<HttpResponse, HttpError> {
        let Some(access) = &self.access else {
            return self.send_once(uri, headers, request, None).await;
        };
        let refusal = |why, ends_link| {
            StreamableHttpError::Client(RequestError::Refused(LoginRefusal { why, ends_link }))
        };
        let no_token = |why| refusal(why, true);
        let token = access.token_for_request().await.map_err(no_token)?;
        let mut response = self.send_once(uri, headers, request, token.as_ref()).await?;
        if response.status() == 401 {
            let challenge = find_challenge(&response);
            if challenge.is_none() && !access.has_login(token.as_ref()) {
                return Ok(response);
            }
            let token = access.renew_refused(challenge, token.as_ref()).await;
            let token = token.map_err(no_token)?;
            response = self.send_once(uri, headers, request, Some(&token)).await?;
        }
        match (response.status(), find_challenge(&response)) {
            (401, _) => Err(no_token(access.refused_again())),
            (403, Some(challenge)) if challenge.error.as_deref() == Some(INSUFFICIENT) => {
                Err(refusal(access.note_missing_scopes(&challenge).await, false))
            }
            _ => {
                access.note_accepted();
                Ok(response)
            }
        }
    }

    async fn send_once(
        &self,
        uri: &str,
        headers: &[(&str, &str)],
        request: ServerRequest<'_>,
        token: Option<&Secret>,
    ) -> Result<HttpResponse, HttpError> {
        if let (Some(access), Some(token)) = (&self.access, token) {
            access.sent.keep_token(token);
        }
        let token = token.map(|token| format!("Bearer {}", token.expose()));
        let token = token.as_deref().map(|token| ("authorization", token));
        let headers: Vec<_> = headers.iter().copied().chain(token).collect();
        let response = match request {
            ServerRequest::Post(body) => self.client.post_json(uri, &headers, body.to_vec()).await,
            ServerRequest::Get => self.client.get(uri, &headers).await,
            ServerRequest::Delete => self.client.send_delete(uri, &headers).await,
        };
        response.map_err(failed_request)
    }

    /// Removes the secrets of our requests from a text of the server, which may repeat them.
    pub(crate) fn redact_secrets(&self, text: &str) -> String {
        let text = self.client.redact_headers(text);
        match &self.access {
            Some(access) => access.sent.redact_tokens(text),
            None => text,
        }
    }
}

fn failed_request(error: NetError) -> HttpError {
    StreamableHttpError::Client(error.into())
}

fn unreadable_answer(why: String) -> HttpError {
    StreamableHttpError::Client(RequestError::Unreadable(why))
}

fn find_challenge(response: &HttpResponse) -> Option<BearerChallenge> {
    let headers = response.header_values("www-authenticate");
    BearerChallenge::find_in_headers(headers.iter().map(String::as_str))
}

fn header_texts<'h>(
    custom: &'h Headers,
    session: Option<&'h str>,
    accept: &'h str,
) -> Vec<(&'h str, &'h str)> {
    let custom =
        custom.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let session = session.map(|session| (SESSION, session));
    custom.chain(session).chain([("accept", accept)]).collect()
}

impl StreamableHttpClient for StreamableHttp {
    type Error = RequestError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.wire.note_sent(&message);
        let body = serde_json::to_vec(&message)?;
        let accept = format!("{JSON}, {EVENTS}");
        let headers = header_texts(&custom_headers, session_id.as_deref(), &accept);
        let answered = async {
            let response = self.send(&uri, &headers, ServerRequest::Post(&body)).await?;
            self.read_answer(response, &message, session_id.is_some()).await
        };
        answered.await.inspect_err(|_| self.wire.forget_request(&message))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        let headers = header_texts(&custom_headers, Some(&session_id), JSON);
        // A server may refuse to end a session early.
        self.send(&uri, &headers, ServerRequest::Delete).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxedEvents, HttpError> {
        let mut headers = header_texts(&custom_headers, session_id.as_deref(), EVENTS);
        headers.extend(last_event_id.as_deref().map(|id| (LAST_EVENT, id)));
        let response = self.send(&uri, &headers, ServerRequest::Get).await?;
        match response.status() {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            200..=299 if response.has_media_type(EVENTS) => Ok(read_stream(self, response)),
            // A server that has no such stream says so in many ways.
            200..=299 | 400 | 404 | 406 | 501 if last_event_id.is_none() => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            _ => Err(self.read_refusal(response).await),
        }
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
