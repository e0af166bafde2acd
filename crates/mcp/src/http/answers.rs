//! The answers to posted messages. The first bytes of a body decide what it is: its media type may be
//! wrong or missing.

use std::collections::VecDeque;
use std::sync::Arc;

use avocet_net::{HttpResponse, NetError};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, NumberOrString};
use rmcp::transport::streamable_http_client::{StreamableHttpError, StreamableHttpPostResponse};
use serde_json::Value;

use super::events::{AnswerBody, read_events, send_events};
use super::{EVENTS, HttpError, SESSION, StreamableHttp, failed_request, unreadable_answer};
use crate::lines::LONGEST_LINE;
use crate::wire::ServerMessage;

/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 4000;
/// Characters of a body that are shown.
const SHOWN: usize = 500;
/// The fields of events, one of which begins a body of events.
const FIELDS: [&str; 5] = ["data:", "event:", "id:", "retry:", ":"];
/// The words for a session that has ended, in lower case.
const ENDED: [&str; 7] =
    ["not found", "expired", "invalid", "no valid", "unknown", "does not exist", "terminated"];
/// Bytes that are needed to tell these fields apart.
const LONGEST_FIELD: usize = 8;

/// The kind of a body, as its first bytes tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Empty,
    Json,
    Events,
    /// HTML or XML.
    Page,
    Other,
}

impl BodyKind {
    fn from_start(start: &str) -> Self {
        let start = start.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
        match start.chars().next() {
            None => Self::Empty,
            Some('{' | '[') => Self::Json,
            Some('<') => Self::Page,
            Some(_) if FIELDS.iter().any(|field| start.starts_with(field)) => Self::Events,
            Some(_) => Self::Other,
        }
    }
}

impl StreamableHttp {
    pub(super) async fn read_answer(
        &self,
        response: HttpResponse,
        message: &ClientJsonRpcMessage,
        in_session: bool,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let asked = match message {
            JsonRpcMessage::Request(request) => Some(&request.id),
            _ => None,
        };
        let session = response.header_value(SESSION).map(str::to_owned);
        match (response.status(), asked) {
            (404, _) if in_session => return Err(StreamableHttpError::SessionExpired),
            (200..=299, None) => return Ok(StreamableHttpPostResponse::Accepted),
            // A server that refuses a notice may answer requests.
            (status @ 400..=599, None) if is_notice(message) && !matches!(status, 401 | 403) => {
                tracing::debug!(status, "an MCP server refuses a notification");
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            (400, Some(_)) if in_session => return self.read_status_400(response, asked).await,
            (200..=299, Some(_)) => {}
            _ => return self.read_failure(response, asked).await,
        }
        let asked = number_of(asked);
        let status = response.status();
        let (body, kind) = self.read_start(response).await?;
        match kind {
            // The answer comes over the stream of the session. Some servers answer at once, though.
            BodyKind::Empty | BodyKind::Other
                if matches!(status, 202 | 204) && !is_start(message) =>
            {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            BodyKind::Events => {
                let events = read_events(body, self.wire.clone(), asked);
                Ok(StreamableHttpPostResponse::Sse(events, session))
            }
            BodyKind::Json => {
                let mut messages = self.read_json(body, asked).await?;
                if let [_] = &*messages
                    && let Some(message) = messages.pop()
                {
                    return Ok(StreamableHttpPostResponse::Json(message, session));
                }
                Ok(StreamableHttpPostResponse::Sse(send_events(&messages), session))
            }
            other => Err(self.describe_body(body, other).await),
        }
    }

    /// Reads a refusal with the status 400. Some servers use it for a session that has ended, and not
    /// 404, as MCP asks of them.
    async fn read_status_400(
        &self,
        response: HttpResponse,
        asked: Option<&NumberOrString>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let text = response.read_text(ERROR_BYTES).await.unwrap_or_default();
        let lower = text.to_lowercase();
        let is_end = lower.contains("session")
            && ENDED.iter().any(|word| lower.contains(word))
            && !lower.contains("\"result\"");
        if is_end {
            return Err(StreamableHttpError::SessionExpired);
        }
        self.read_failure_text(400, text, asked, None)
    }

    /// Reads a refusal, which may have the error of the request as a message.
    async fn read_failure(
        &self,
        response: HttpResponse,
        asked: Option<&NumberOrString>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let status = response.status();
        if status < 400 {
            return Err(self.read_refusal(response).await);
        }
        let session = response.header_value(SESSION).map(str::to_owned);
        let text = response.read_text(ERROR_BYTES).await.unwrap_or_default();
        self.read_failure_text(status, text, asked, session)
    }

    /// Returns the message in the body of a refusal, so that the connection goes on.
    fn read_failure_text(
        &self,
        status: u16,
        text: String,
        asked: Option<&NumberOrString>,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let is_message =
            BodyKind::from_start(&text) == BodyKind::Json && text.contains("\"jsonrpc\"");
        if let Some(asked) = number_of(asked)
            && is_message
            && !matches!(status, 401 | 403)
            && let [message] = &*self.wire.read_messages(text.as_bytes(), Some(asked))
        {
            return Ok(StreamableHttpPostResponse::Json(message.clone(), session));
        }
        Err(self.describe_refusal(status, text))
    }

    /// Reads the body until its kind is known.
    async fn read_start(
        &self,
        mut response: HttpResponse,
    ) -> Result<(AnswerBody, BodyKind), HttpError> {
        let mut read = VecDeque::new();
        if response.has_media_type(EVENTS) {
            // The first event may come much later.
            return Ok((AnswerBody { response, read }, BodyKind::Events));
        }
        let mut start = String::new();
        while start.trim().len() < LONGEST_FIELD
            && let Some(chunk) = response.next_chunk().await.map_err(failed_request)?
        {
            let beginning = &chunk[..chunk.len().min(SHOWN)];
            start.push_str(&String::from_utf8_lossy(beginning));
            read.push_back(chunk);
            if matches!(BodyKind::from_start(&start), BodyKind::Json | BodyKind::Page) {
                break;
            }
        }
        Ok((AnswerBody { response, read }, BodyKind::from_start(&start)))
    }

    /// Reads a body of JSON: a message, a batch, or a message on each line.
    async fn read_json(
        &self,
        body: AnswerBody,
        asked: Option<i64>,
    ) -> Result<Vec<ServerMessage>, HttpError> {
        let text = read_all(body, LONGEST_LINE).await.map_err(failed_request)?;
        let mut messages = self.wire.read_messages(&text, asked);
        if let Some(asked) = asked {
            let shown = cut_text(&self.redact_secrets(&String::from_utf8_lossy(&text)), 80);
            let why = format!("it answered without a result: {shown:?}");
            messages.extend(self.wire.fail_request(asked, why));
        }
        Ok(messages)
    }

    /// Describes a body without a message.
    async fn describe_body(&self, body: AnswerBody, kind: BodyKind) -> HttpError {
        let stated = body.response.header_value("content-type").map(str::to_owned);
        let stated = stated.unwrap_or_else(|| "without a type".to_owned());
        let what = match kind {
            BodyKind::Empty => "an empty body".to_owned(),
            BodyKind::Page => format!("a web page ({stated})"),
            BodyKind::Json | BodyKind::Events | BodyKind::Other => {
                let text = read_all(body, ERROR_BYTES).await.unwrap_or_default();
                let shown = cut_text(&self.redact_secrets(&String::from_utf8_lossy(&text)), 80);
                format!("a text ({stated}: {shown:?})")
            }
        };
        unreadable_answer(format!("it answered with {what} instead of MCP; is the address right?"))
    }

    /// Describes a refusal, without secrets that the server may repeat.
    pub(super) async fn read_refusal(&self, response: HttpResponse) -> HttpError {
        let status = response.status();
        if let 300..=399 = status
            && let Some(place) = response.header_value("location")
        {
            let place = self.redact_secrets(&cut_text(place, SHOWN));
            return unreadable_answer(format!(
                "it has moved (HTTP status {status}): write its new address {place} in `url`"
            ));
        }
        let text = response.read_text(ERROR_BYTES).await.unwrap_or_default();
        self.describe_refusal(status, text)
    }

    fn describe_refusal(&self, status: u16, text: String) -> HttpError {
        let said = match BodyKind::from_start(&text) {
            BodyKind::Page => "with a web page; is the address right?".to_owned(),
            BodyKind::Json => said_in_json(&text).unwrap_or(text),
            BodyKind::Empty | BodyKind::Events | BodyKind::Other => text,
        };
        let said = self.redact_secrets(&cut_text(said.trim(), SHOWN));
        let hint = match status {
            405 => {
                "; it takes no posted messages: the address may be that of the older transport \
                    with events (SSE), and its address for streamable HTTP is needed"
            }
            404 => "; is the address right?",
            _ => "",
        };
        let hint = if said.ends_with(hint) { "" } else { hint };
        unreadable_answer(format!("HTTP status {status} {said}").trim_end().to_owned() + hint)
    }
}

fn number_of(asked: Option<&NumberOrString>) -> Option<i64> {
    match asked {
        Some(NumberOrString::Number(id)) => Some(*id),
        _ => None,
    }
}

fn is_notice(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Notification(_))
}

fn is_start(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if request.request.method() == "initialize")
}

/// Returns the text of an error in a body of JSON.
fn said_in_json(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let paths = ["/error/message", "/error_description", "/message", "/detail", "/error"];
    paths.iter().find_map(|path| value.pointer(path)?.as_str().map(str::to_owned))
}

/// Returns the beginning of a text of the server on one line.
fn cut_text(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().filter(|c| !c.is_control()).take(most).collect()
}

/// Reads the rest of a body, up to a limit.
async fn read_all(mut body: AnswerBody, limit: usize) -> Result<Vec<u8>, NetError> {
    let mut all = Vec::new();
    while let Some(chunk) = body.next().await? {
        all.extend_from_slice(&chunk);
        if all.len() > limit {
            return Err(NetError::TooLong(limit));
        }
    }
    Ok(all)
}

/// Returns the events of the stream that a server opens for its own messages.
pub(super) fn read_stream(http: &StreamableHttp, response: HttpResponse) -> super::BoxedEvents {
    let body = AnswerBody { response, read: VecDeque::new() };
    read_events(body, Arc::clone(&http.wire), None)
}
