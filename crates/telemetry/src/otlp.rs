//! The JSON encoding of OTLP traces (OTLP specification, "JSON Protobuf Encoding"): ids are
//! hexadecimal, 64-bit numbers are strings, and enumerations are numbers.

use avocet_protocol::clock::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// Bytes of the longest text of an attribute. Longer ones are cut, so that a span fits a request.
const LONGEST_TEXT: usize = 16 * 1024;
/// The mark at the end of a text that was cut.
const CUT: &str = "…";

/// The kind of a span (`Span.SpanKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// Work inside of the daemon.
    Internal = 1,
    /// A request to another server.
    Client = 3,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OtlpSpan {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent_span_id: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) start_time_unix_nano: String,
    pub(crate) end_time_unix_nano: String,
    pub(crate) attributes: Vec<SpanAttribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<SpanStatus>,
}

/// The status of a span (`SpanStatus`). Only errors have one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SpanStatus {
    code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl SpanStatus {
    /// `STATUS_CODE_ERROR`.
    const ERROR: u8 = 2;

    pub(crate) fn from_error(message: Option<String>) -> Self {
        Self { code: Self::ERROR, message }
    }
}

/// An attribute (`KeyValue`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SpanAttribute {
    key: &'static str,
    value: Value,
}

impl SpanAttribute {
    pub(crate) fn from_text(key: &'static str, value: impl Into<String>) -> Self {
        Self { key, value: json!({ "stringValue": cut_text(value.into()) }) }
    }

    /// JSON as a text. Its texts are cut before.
    pub(crate) fn from_json(key: &'static str, value: &Value) -> Self {
        Self { key, value: json!({ "stringValue": value.to_string() }) }
    }

    pub(crate) fn from_texts(key: &'static str, values: impl IntoIterator<Item = String>) -> Self {
        let values = values.into_iter().map(|value| json!({ "stringValue": value }));
        let values: Vec<_> = values.collect();
        Self { key, value: json!({ "arrayValue": { "values": values } }) }
    }

    pub(crate) fn from_number(key: &'static str, value: impl Into<i128>) -> Self {
        Self { key, value: json!({ "intValue": value.into().to_string() }) }
    }

    pub(crate) fn from_float(key: &'static str, value: f64) -> Self {
        Self { key, value: json!({ "doubleValue": value }) }
    }

    pub(crate) fn from_flag(key: &'static str, value: bool) -> Self {
        Self { key, value: json!({ "boolValue": value }) }
    }
}

/// Cuts a text to [`LONGEST_TEXT`] bytes.
pub(crate) fn cut_text(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT - CUT.len()));
        text.push_str(CUT);
    }
    text
}

/// Returns a time as a string of nanoseconds since 1970.
pub(crate) fn format_nanoseconds(at: Timestamp) -> String {
    let milliseconds = u128::try_from(at.0).unwrap_or_default();
    (milliseconds * 1_000_000).to_string()
}

/// Puts encoded spans into a request (`ExportTraceServiceRequest`).
pub(crate) fn trace_request(log: &str, spans: &[String]) -> Vec<u8> {
    let (resource, scope) = (resource_json(log), scope_json());
    let spans = spans.join(",");
    let request = format!(
        r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{scope},"spans":[{spans}]}}]}}]}}"#
    );
    request.into_bytes()
}

/// Describes the daemon (`Resource`).
pub(crate) fn resource_json(log: &str) -> Value {
    json!({ "attributes": [
        SpanAttribute::from_text("service.name", "avocet"),
        SpanAttribute::from_text("service.version", env!("CARGO_PKG_VERSION")),
        SpanAttribute::from_text("service.instance.id", log),
    ] })
}

/// Names the part that has measured (`InstrumentationScope`).
pub(crate) fn scope_json() -> Value {
    json!({ "name": "avocet", "version": env!("CARGO_PKG_VERSION") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_text_is_cut_at_a_character() {
        let long = "ä".repeat(LONGEST_TEXT);
        let SpanAttribute { value, .. } = SpanAttribute::from_text("a", long);
        let text = value["stringValue"].as_str().unwrap();
        assert!(text.len() <= LONGEST_TEXT && text.ends_with("ä…"), "{}", text.len());
    }

    #[test]
    fn nanoseconds_are_exact_beyond_the_precision_of_a_float() {
        assert_eq!(format_nanoseconds(Timestamp(1_767_225_600_001)), "1767225600001000000");
    }
}
