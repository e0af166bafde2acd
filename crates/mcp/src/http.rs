//! The transport over streamable HTTP (MCP, "Streamable HTTP") with our own client, which keeps to
//! the rules for addresses.

use std::collections::HashMap;
use std::sync::Arc;

use avocet_net::{HttpClient, HttpResponse, NetError};
use avocet_protocol::Secret;
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt, try_unfold};
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::lines::LONGEST_LINE;
use crate::oauth::{BearerChallenge, ServerAccess};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// The error of a challenge for further scopes (RFC 6750, section 3.1).
const INSUFFICIENT: &str = "insufficient_scope";
/// Bytes of an error's body that are shown.
const ERROR_BYTES: usize = 500;

/// Our client of one server.
#[derive(Debug, Clone)]
pub(crate) struct StreamableHttp {
    pub(crate) client: HttpClient,
    /// The tokens of the server; `None` if `client` has one in its headers.
    pub(crate) access: Option<Arc<ServerAccess>>,
}

/// A request to the server.
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
}

/// A refusal of the login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoginRefusal {
    /// The reason and the next step, as a sentence.
    pub(crate) why: String,
    /// `true` if further requests of the connection would fail, too.
    pub(crate) ends_link: bool,
}

impl LoginRefusal {
    /// Finds the refusal of the login among an error and its causes.
    pub(crate) fn find(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
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

type HttpError = StreamableHttpError<RequestError>;
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
        let token = access.token().await.map_err(no_token)?;
        let mut response = self.send_once(uri, headers, request, token.as_ref()).await?;
        if response.status() == 401 {
            let challenge = challenge(&response);
            if challenge.is_none() && !access.has_login(token.as_ref()) {
                return Ok(response);
            }
            let token = access.refused(challenge, token.as_ref()).await;
            let token = token.map_err(no_token)?;
            response = self.send_once(uri, headers, request, Some(&token)).await?;
        }
        match (response.status(), challenge(&response)) {
            (401, _) => Err(no_token(access.refused_again())),
            (403, Some(challenge)) if challenge.error.as_deref() == Some(INSUFFICIENT) => {
                Err(refusal(access.insufficient(&challenge).await, false))
            }
            _ => {
                access.accepted();
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
            access.sent.note(token);
        }
        let token = token.map(|token| format!("Bearer {}", token.expose()));
        let token = token.as_deref().map(|token| ("authorization", token));
        let headers: Vec<_> = headers.iter().copied().chain(token).collect();
        let response = match request {
            ServerRequest::Post(body) => self.client.post_json(uri, &headers, body.to_vec()).await,
            ServerRequest::Get => self.client.get(uri, &headers).await,
            ServerRequest::Delete => self.client.delete(uri, &headers).await,
        };
        response.map_err(failed)
    }

    async fn posted(
        &self,
        response: HttpResponse,
        message: &ClientJsonRpcMessage,
        in_session: bool,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let status = response.status();
        match status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            404 if in_session => return Err(StreamableHttpError::SessionExpired),
            200..=299 => {}
            _ => return Err(self.refused(response).await),
        }
        let session = response.header(SESSION).map(str::to_owned);
        if response.is(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        if !matches!(message, ClientJsonRpcMessage::Request(_)) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !response.is(JSON) {
            let kind = response.header("content-type").map(str::to_owned);
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let read = response.beginning(LONGEST_LINE).await.map_err(failed)?;
        match read {
            (_, true) => Err(failed(NetError::TooLong(LONGEST_LINE))),
            (text, false) => {
                Ok(StreamableHttpPostResponse::Json(serde_json::from_str(&text)?, session))
            }
        }
    }

    /// Removes the secrets of our requests from a text of the server, which may repeat them.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let text = self.client.redacted(text);
        match &self.access {
            Some(access) => access.sent.redacted(text),
            None => text,
        }
    }

    /// Describes a refusal, without secrets that the server may repeat.
    async fn refused(&self, response: HttpResponse) -> HttpError {
        let status = response.status();
        let text = response.text(ERROR_BYTES).await.unwrap_or_default();
        let text = self.redacted(text.trim());
        StreamableHttpError::UnexpectedServerResponse(format!("HTTP status {status} {text}").into())
    }
}

fn failed(error: NetError) -> HttpError {
    StreamableHttpError::Client(error.into())
}

/// Returns the challenge of a refusal.
fn challenge(response: &HttpResponse) -> Option<BearerChallenge> {
    let headers = response.headers("www-authenticate");
    BearerChallenge::find(headers.iter().map(String::as_str))
}

/// Returns the headers of a request as texts.
fn texts<'h>(
    custom: &'h Headers,
    session: Option<&'h str>,
    accept: &'h str,
) -> Vec<(&'h str, &'h str)> {
    let custom =
        custom.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let session = session.map(|session| (SESSION, session));
    custom.chain(session).chain([("accept", accept)]).collect()
}

/// Reads the events of a body. An event that is too large ends the stream.
fn events(response: HttpResponse) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = try_unfold((response, 0_usize), async |(mut response, size)| {
        let Some(chunk) = response.chunk().await? else { return Ok(None) };
        // Events end with an empty line, which is mostly in one chunk. Lines end with LF or CRLF.
        let is_empty_line =
            |at: &usize| matches!(&chunk[*at..], [b'\n', b'\n', ..] | [b'\n', b'\r', b'\n', ..]);
        let rest = (0..chunk.len()).rfind(is_empty_line);
        let size = rest.map_or(size + chunk.len(), |end| chunk.len() - end);
        if size > LONGEST_LINE {
            return Err(NetError::TooLong(LONGEST_LINE));
        }
        Ok::<Option<(Bytes, (HttpResponse, usize))>, NetError>(Some((chunk, (response, size))))
    });
    SseStream::from_bytes_stream(Box::pin(chunks)).boxed()
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
        let body = serde_json::to_vec(&message)?;
        let accept = format!("{JSON}, {EVENTS}");
        let headers = texts(&custom_headers, session_id.as_deref(), &accept);
        let response = self.send(&uri, &headers, ServerRequest::Post(&body)).await?;
        self.posted(response, &message, session_id.is_some()).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        let headers = texts(&custom_headers, Some(&session_id), JSON);
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
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let mut headers = texts(&custom_headers, session_id.as_deref(), EVENTS);
        headers.extend(last_event_id.as_deref().map(|id| (LAST_EVENT, id)));
        let response = self.send(&uri, &headers, ServerRequest::Get).await?;
        match response.status() {
            405 => Err(StreamableHttpError::ServerDoesNotSupportSse),
            200..=299 if response.is(EVENTS) => Ok(events(response)),
            _ => Err(self.refused(response).await),
        }
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
