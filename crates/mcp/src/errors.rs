//! Describes failures of `rmcp` in plain sentences. Its own texts name Rust types and print values.

use std::error::Error;

use avocet_net::NetError;
use rmcp::model::ErrorData;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpError};

use crate::http::HttpError;
use crate::wire::is_our_error;

/// The reason for an end of the connection that is not known better.
const ENDED: &str = "the connection ended";

pub(crate) fn describe_request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => describe_report(error),
        ServiceError::UnexpectedResponse => {
            "the server sent a response of the wrong type".to_owned()
        }
        ServiceError::Cancelled { .. } => "the request was cancelled".to_owned(),
        ServiceError::Timeout { timeout } => {
            format!("it did not answer within {} s", timeout.as_secs())
        }
        ServiceError::TransportSend(error) => describe_cause(error),
        _ => ENDED.to_owned(),
    }
}

/// Describes the reason for which a connection could not begin.
pub(crate) fn describe_start(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => describe_report(error),
        ClientInitializeError::TransportError { error, .. } => describe_cause(error),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "its answer to the first request (initialize) is of another kind".to_owned()
        }
        ClientInitializeError::Cancelled => "the start was cancelled".to_owned(),
        _ => {
            "it ended the connection without an answer to the first request (initialize)".to_owned()
        }
    }
}

fn describe_report(error: &ErrorData) -> String {
    if is_our_error(error) {
        return error.message.to_string();
    }
    format!("the server reports: {} (code {})", error.message, error.code.0)
}

/// Describes the known error among an error and its causes.
fn describe_cause(error: &(dyn Error + 'static)) -> String {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return describe_http(error);
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return error.to_string();
        }
        next = error.source();
    }
    ENDED.to_owned()
}

fn describe_http(error: &HttpError) -> String {
    match error {
        StreamableHttpError::Client(error) => error.to_string(),
        StreamableHttpError::SessionExpired => {
            "the server has ended the session (HTTP status 404)".to_owned()
        }
        StreamableHttpError::Sse(SseError::Body(error)) => match error.downcast_ref::<NetError>() {
            Some(error) => error.to_string(),
            None => ENDED.to_owned(),
        },
        StreamableHttpError::ReinitializationFailed(error) => describe_report(error),
        StreamableHttpError::SessionRecoveryTimeout
        | StreamableHttpError::ControlRequestTimeout => "it did not answer in time".to_owned(),
        StreamableHttpError::Sse(_)
        | StreamableHttpError::Deserialize(_)
        | StreamableHttpError::UnexpectedServerResponse(_) => {
            "it answered with something else than a message of MCP; is the address right?"
                .to_owned()
        }
        _ => ENDED.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::borrow::Cow;

    use rmcp::model::{NumberOrString, ServerResult};
    use rmcp::transport::DynamicTransportError;

    use super::*;
    use crate::http::RequestError;

    fn transport(error: impl Error + Send + Sync + 'static) -> DynamicTransportError {
        let (name, kind) = ("rmcp::transport::worker::WorkerTransport<X>", TypeId::of::<u8>());
        DynamicTransportError::from_parts(name, kind, Box::new(error))
    }

    #[test]
    fn errors_of_rmcp_are_described_without_names_of_types() {
        let unreadable = |why: &str| HttpError::Client(RequestError::Unreadable(why.to_owned()));
        let start = |error| ClientInitializeError::TransportError {
            error: transport(error),
            context: Cow::Borrowed("send initialize"),
        };
        let id = NumberOrString::Number;
        let starts = [
            start(unreadable("it answered with a web page")),
            start(HttpError::UnexpectedServerResponse("empty sse stream".into())),
            start(HttpError::TransportChannelClosed),
            ClientInitializeError::ExpectedInitResult(Some(ServerResult::empty(()))),
            ClientInitializeError::ConflictInitResponseId(id(1), id(2)),
            ClientInitializeError::ConnectionClosed("initialize response".to_owned()),
            ClientInitializeError::JsonRpcError(ErrorData::internal_error("no", None)),
        ];
        let requests = [
            ServiceError::TransportSend(transport(HttpError::SessionExpired)),
            ServiceError::TransportSend(transport(std::io::Error::other("it does not read"))),
            ServiceError::TransportClosed,
            ServiceError::Cancelled { reason: None },
            ServiceError::McpError(ErrorData::internal_error("no", None)),
        ];
        let texts = starts.iter().map(describe_start);
        for text in texts.chain(requests.iter().map(describe_request)) {
            for part in ["::", "Some(", "[", "{", "Error", "SSE", "Transport"] {
                assert!(!text.contains(part), "{text}");
            }
        }
        assert_eq!(describe_start(&starts[0]), "it answered with a web page");
        assert_eq!(describe_request(&requests[1]), "it does not read");
    }
}
