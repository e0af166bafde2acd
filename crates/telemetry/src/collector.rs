//! Sends requests to the collector and reads its answers (OTLP specification, "OTLP/HTTP
//! Response").

use std::time::Duration;

use avocet_net::{HttpClient, HttpResponse, NetError};
use avocet_protocol::clock::{Clock, within};
use serde_json::Value;

use crate::config::TelemetryConfig;

/// The timeout of a request.
const LIMIT: Duration = Duration::from_secs(30);
/// Bytes of an answer that are read.
const LONGEST_ANSWER: usize = 4 * 1024;
/// Characters of an answer that a log line shows.
const LONGEST_SHOWN: usize = 300;

/// The collector of the configuration.
#[derive(Debug)]
pub(crate) struct TraceCollector {
    traces: String,
    metrics: String,
    http: HttpClient,
}

/// The answer of the collector to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CollectorAnswer {
    /// The collector has the spans.
    Accepted {
        /// The part that it has rejected, or another warning.
        warning: Option<String>,
    },
    /// The same request will fail again.
    Refused(String),
    /// The same request may succeed later.
    Later {
        why: String,
        /// The wait that the collector asks for.
        after: Option<Duration>,
    },
}

impl TraceCollector {
    pub(crate) fn new(config: &TelemetryConfig) -> Result<Self, NetError> {
        let [traces, metrics] = config.collector_urls();
        Ok(Self { traces, metrics, http: HttpClient::with_headers(&config.headers)? })
    }

    /// Sends a request with encoded spans.
    pub(crate) async fn send(&self, clock: &dyn Clock, body: Vec<u8>) -> CollectorAnswer {
        self.send_to(&self.traces, clock, body).await
    }

    /// Sends a request with encoded metrics.
    pub(crate) async fn send_metrics(&self, clock: &dyn Clock, body: Vec<u8>) -> CollectorAnswer {
        self.send_to(&self.metrics, clock, body).await
    }

    async fn send_to(&self, url: &str, clock: &dyn Clock, body: Vec<u8>) -> CollectorAnswer {
        let answer = within(clock, LIMIT, self.exchange_body(url, body)).await;
        let timeout = || format!("the collector did not answer within {} s", LIMIT.as_secs());
        answer.unwrap_or_else(|_| CollectorAnswer::Later { why: timeout(), after: None })
    }

    async fn exchange_body(&self, url: &str, body: Vec<u8>) -> CollectorAnswer {
        match self.http.post_json(url, &[], body).await {
            Ok(answer) => self.read(answer).await,
            Err(error @ NetError::Invalid(_)) => CollectorAnswer::Refused(error.to_string()),
            Err(error) => CollectorAnswer::Later { why: error.to_string(), after: None },
        }
    }

    async fn read(&self, answer: HttpResponse) -> CollectorAnswer {
        let (status, after) = (answer.status(), answer.retry_after());
        // The status alone decides: a broken body of an answer changes nothing.
        let body = answer.read_text(LONGEST_ANSWER).await.unwrap_or_default();
        let why = || self.refusal_text(status, &body);
        match status {
            200..=299 => CollectorAnswer::Accepted { warning: self.partial_success(&body) },
            429 | 502 | 503 | 504 => CollectorAnswer::Later { why: why(), after },
            _ => CollectorAnswer::Refused(why()),
        }
    }

    fn refusal_text(&self, status: u16, body: &str) -> String {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let says = self.shorten_text(error["message"].as_str().unwrap_or(body));
        match says.as_str() {
            "" => format!("the collector answered {status}"),
            says => format!("the collector answered {status}: {says}"),
        }
    }

    /// Returns the warning of an answer; `None` if all spans were accepted.
    fn partial_success(&self, body: &str) -> Option<String> {
        let answer: Value = serde_json::from_str(body).ok()?;
        let partial = &answer["partialSuccess"];
        let rejected = &partial["rejectedSpans"];
        // OTLP encodes 64-bit numbers as strings, but a reader has to accept numbers, too.
        let text =
            rejected.as_str().map(str::to_owned).or(rejected.as_u64().map(|n| n.to_string()));
        let rejected = text.unwrap_or_else(|| "0".to_owned());
        let message = self.shorten_text(partial["errorMessage"].as_str().unwrap_or_default());
        match (rejected.as_str(), message.as_str()) {
            ("0", "") => None,
            (rejected, message) => {
                Some(format!("the collector rejected {rejected} spans: {message}"))
            }
        }
    }

    /// Shortens a text of the collector, and removes the values of headers from it.
    fn shorten_text(&self, text: &str) -> String {
        self.http.redact_headers(text.trim()).chars().take(LONGEST_SHOWN).collect()
    }
}
