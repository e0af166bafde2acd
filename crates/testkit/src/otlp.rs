//! A collector of OpenTelemetry on loopback that receives traces and metrics as JSON over HTTP. It refuses what
//! the specification of OTLP forbids, and what real collectors refuse.

mod metrics;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use self::metrics::MetricsLog;
use crate::http::{HttpFake, HttpRequest, Piece, whole};
use crate::request_log::{FakeRefusal, RequestLog};

const JSON: &str = "application/json";
/// Bytes of the longest accepted request.
const MOST_BYTES: usize = 1024 * 1024;
/// 2001-09-09 in nanoseconds. An earlier time has a wrong unit.
const EARLIEST: u64 = 1_000_000_000_000_000_000;

/// A request with correct spans.
#[derive(Debug, Clone, PartialEq)]
pub struct OtlpRequest {
    /// The spans, as they were sent.
    pub spans: Vec<Value>,
    /// The attributes of the resource.
    pub resource: Map<String, Value>,
    /// The whole body.
    pub body: String,
    /// The value of the header `x-api-key`.
    pub api_key: Option<String>,
}

/// A collector at `http://ADDRESS`.
pub struct OtlpFake {
    server: HttpFake,
    log: RequestLog<OtlpRequest>,
    answers: Arc<Mutex<Vec<Vec<Piece>>>>,
    count: watch::Sender<usize>,
    metrics: Arc<MetricsLog>,
}

impl fmt::Debug for OtlpFake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpFake").field("address", &self.server.address()).finish()
    }
}

impl OtlpFake {
    /// Starts a collector.
    pub async fn start() -> Self {
        Self::answering(Vec::new()).await
    }

    /// Starts a collector that first gives these answers to correct requests, each once.
    pub async fn answering(answers: Vec<Vec<Piece>>) -> Self {
        let log = RequestLog::default();
        let answers = Arc::new(Mutex::new(answers));
        let count = watch::Sender::new(0);
        let (kept, first, counted) = (log.clone(), answers.clone(), count.clone());
        let metrics = Arc::<MetricsLog>::default();
        let measured = metrics.clone();
        let server = HttpFake::start(move |request| {
            if request.path == "/v1/metrics" {
                return measured.answer(&request);
            }
            let answer = kept.answer(check(&request), |_| {
                let mut first = first.lock();
                if first.is_empty() { accepted() } else { first.remove(0) }
            });
            counted.send_modify(|count| *count += 1);
            answer
        })
        .await;
        Self { server, log, answers, count, metrics }
    }

    /// Returns the value for `endpoint`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Returns the correct requests, also those with an answer of the test.
    #[must_use]
    pub fn requests(&self) -> Vec<OtlpRequest> {
        self.log.accepted()
    }

    /// Returns the spans of all correct requests.
    #[must_use]
    pub fn spans(&self) -> Vec<Value> {
        self.requests().into_iter().flat_map(|request| request.spans).collect()
    }

    /// Returns the reasons of refusals.
    #[must_use]
    pub fn refusals(&self) -> Vec<String> {
        [self.log.refusals(), self.metrics.refusals()].concat()
    }

    /// Waits until this many requests have arrived, correct ones and others.
    pub async fn received(&self, count: usize) {
        self.count.subscribe().wait_for(|received| *received >= count).await.unwrap();
    }

    /// Waits until the correct requests contain a span for which `is_wanted` is true.
    pub async fn received_span(&self, is_wanted: impl Fn(&Value) -> bool) {
        let mut count = self.count.subscribe();
        while !self.spans().iter().any(&is_wanted) {
            count.changed().await.unwrap();
        }
    }

    /// Returns the metrics of each correct request.
    #[must_use]
    pub fn metrics(&self) -> Vec<Vec<Value>> {
        self.metrics.requests()
    }

    /// Waits until this many correct requests with metrics have arrived.
    pub async fn received_metrics(&self, count: usize) {
        self.metrics.received(count).await;
    }

    /// Answers requests with metrics as a collector of traces alone does.
    pub fn refuse_metrics(&self) {
        self.metrics.refuse();
    }

    /// Gives these answers to the next correct requests.
    pub fn answer_next(&self, answers: Vec<Vec<Piece>>) {
        *self.answers.lock() = answers;
    }
}

/// Returns the value of an attribute of a span without its type; null without the attribute.
#[must_use]
pub fn attribute(span: &Value, key: &str) -> Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    found.map(|found| plain(&found["value"])).unwrap_or_default()
}

fn plain(value: &Value) -> Value {
    value.as_object().and_then(|typed| typed.values().next().cloned()).unwrap_or_default()
}

fn accepted() -> Vec<Piece> {
    // Collectors repeat the empty message of Protobuf.
    whole(200, &[("content-type", JSON)], &json!({ "partialSuccess": {} }).to_string())
}

fn check(request: &HttpRequest) -> Result<OtlpRequest, FakeRefusal> {
    let refused = |status: u16, message: String| {
        let body = json!({ "code": 3, "message": message }).to_string();
        FakeRefusal::new(status, JSON, &body, message)
    };
    if request.path != "/v1/traces" {
        return Err(refused(404, format!("404 page not found: {}", request.path)));
    }
    if request.method != "POST" {
        return Err(refused(405, format!("405 method not allowed: {}", request.method)));
    }
    let media_type = request.header("content-type").unwrap_or_default();
    if media_type.split(';').next() != Some(JSON) {
        return Err(refused(415, format!("415 unsupported media type: {media_type}")));
    }
    if request.body.len() > MOST_BYTES {
        return Err(refused(413, format!("{} bytes are too many", request.body.len())));
    }
    let api_key = request.header("x-api-key").map(str::to_owned);
    traces(&request.body, api_key).map_err(|message| refused(400, message))
}

type OtlpCheck<T> = Result<T, String>;

fn traces(body: &[u8], api_key: Option<String>) -> OtlpCheck<OtlpRequest> {
    let body = std::str::from_utf8(body).map_err(|error| error.to_string())?;
    let request: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let (mut spans, mut resource) = (Vec::new(), Map::new());
    for of_resource in list(fields(&request, &["resourceSpans"])?, "resourceSpans")? {
        let of_resource = fields(of_resource, &["resource", "scopeSpans", "schemaUrl"])?;
        let found = fields(&of_resource["resource"], &["attributes"])?;
        resource = attributes(&found["attributes"])?;
        if !resource.contains_key("service.name") {
            return Err("the resource has no service.name".to_owned());
        }
        for of_scope in list(of_resource, "scopeSpans")? {
            let of_scope = fields(of_scope, &["scope", "spans", "schemaUrl"])?;
            fields(&of_scope["scope"], &["name", "version", "attributes"])?;
            for span in list(of_scope, "spans")? {
                check_span(span).map_err(|error| format!("{error}: {span}"))?;
                spans.push(span.clone());
            }
        }
    }
    if spans.is_empty() {
        return Err("the request has no spans".to_owned());
    }
    Ok(OtlpRequest { spans, resource, body: body.to_owned(), api_key })
}

/// Returns the fields of an object, all of which have to be known.
fn fields<'v>(value: &'v Value, known: &[&str]) -> OtlpCheck<&'v Map<String, Value>> {
    let Some(object) = value.as_object() else { return Err(format!("no object: {value}")) };
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown field {key}")),
        None => Ok(object),
    }
}

fn list<'v>(object: &'v Map<String, Value>, key: &str) -> OtlpCheck<&'v Vec<Value>> {
    object.get(key).and_then(Value::as_array).ok_or_else(|| format!("{key} is no list"))
}

fn check_span(span: &Value) -> OtlpCheck<()> {
    let known = [
        "traceId",
        "spanId",
        "traceState",
        "parentSpanId",
        "flags",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "events",
        "links",
        "status",
    ];
    let span = fields(span, &known)?;
    id(span, "traceId", 32)?;
    id(span, "spanId", 16)?;
    if span.contains_key("parentSpanId") {
        id(span, "parentSpanId", 16)?;
        if span["parentSpanId"] == span["spanId"] {
            return Err("a span is its own parent".to_owned());
        }
    }
    if span.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err("a span has no name".to_owned());
    }
    if !span.get("kind").and_then(Value::as_u64).is_some_and(|kind| (1..=5).contains(&kind)) {
        return Err("kind is no number from 1 to 5".to_owned());
    }
    if nanoseconds(span, "startTimeUnixNano")? > nanoseconds(span, "endTimeUnixNano")? {
        return Err("a span ends before its start".to_owned());
    }
    attributes(&span["attributes"])?;
    match span.get("status") {
        Some(status) => check_status(status),
        None => Ok(()),
    }
}

fn check_status(status: &Value) -> OtlpCheck<()> {
    let status = fields(status, &["code", "message"])?;
    let code = status.get("code").and_then(Value::as_u64);
    let has_text = status.get("message").is_none_or(Value::is_string);
    match code {
        Some(0..=2) if has_text => Ok(()),
        _ => Err("status is not correct".to_owned()),
    }
}

/// Checks an id of this many hexadecimal digits in lower case.
fn id(span: &Map<String, Value>, key: &str, digits: usize) -> OtlpCheck<()> {
    let id = span.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_right = id.len() == digits && id.bytes().all(is_digit) && id.bytes().any(|b| b != b'0');
    if is_right {
        Ok(())
    } else {
        Err(format!("{key} has not {digits} hexadecimal digits: {id:?}"))
    }
}

fn nanoseconds(span: &Map<String, Value>, key: &str) -> OtlpCheck<u64> {
    let text = span.get(key).and_then(Value::as_str);
    let number = text.and_then(|text| text.parse::<u64>().ok());
    number.filter(|number| *number > EARLIEST).ok_or_else(|| format!("{key} is no text of ns"))
}

fn attributes(attributes: &Value) -> OtlpCheck<Map<String, Value>> {
    let Some(list) = attributes.as_array() else { return Err("attributes are no list".to_owned()) };
    let (mut read, mut keys) = (Map::new(), BTreeSet::new());
    for attribute in list {
        let attribute = fields(attribute, &["key", "value"])?;
        let key = attribute.get("key").and_then(Value::as_str).unwrap_or_default();
        if key.is_empty() || !keys.insert(key) {
            return Err(format!("the key {key:?} is empty or repeated"));
        }
        check_value(attribute.get("value").unwrap_or(&Value::Null))?;
        read.insert(key.to_owned(), plain(&attribute["value"]));
    }
    Ok(read)
}

/// Checks an `AnyValue`: exactly one field with a value of its type.
fn check_value(value: &Value) -> OtlpCheck<()> {
    let wrong = || format!("no value of an attribute: {value}");
    let Some(typed) = value.as_object().filter(|typed| typed.len() == 1) else {
        return Err(wrong());
    };
    let is_right = typed.iter().all(|(kind, value)| match kind.as_str() {
        "stringValue" => value.is_string(),
        "boolValue" => value.is_boolean(),
        "intValue" => value.as_str().is_some_and(|text| text.parse::<i64>().is_ok()),
        "doubleValue" => value.is_number(),
        "arrayValue" => fields(value, &["values"]).is_ok_and(|array| {
            array["values"].as_array().is_some_and(|all| all.iter().all(|v| check_value(v).is_ok()))
        }),
        _ => false,
    });
    if is_right { Ok(()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(change: impl Fn(&mut HttpRequest, &mut Value)) -> HttpRequest {
        let mut span = json!({
            "traceId": "0123456789abcdef0123456789abcdef",
            "spanId": "0123456789abcdef",
            "name": "chat",
            "kind": 3,
            "startTimeUnixNano": "1767225600000000000",
            "endTimeUnixNano": "1767225600001000000",
            "attributes": [{ "key": "a", "value": { "intValue": "7" } }],
        });
        let mut request = HttpRequest {
            method: "POST".to_owned(),
            path: "/v1/traces".to_owned(),
            headers: vec![("content-type".to_owned(), JSON.to_owned())],
            body: Vec::new(),
        };
        change(&mut request, &mut span);
        let name = json!({ "key": "service.name", "value": { "stringValue": "avocet" } });
        if request.body.is_empty() {
            let body = json!({ "resourceSpans": [{
                "resource": { "attributes": [name] },
                "scopeSpans": [{ "scope": { "name": "avocet" }, "spans": [span] }],
            }] });
            request.body = body.to_string().into_bytes();
        }
        request
    }

    #[test]
    fn check_refuses_requests_that_break_a_rule_of_otlp() {
        type Change = fn(&mut HttpRequest, &mut Value);
        assert_eq!(check(&request(|_, _| {})).unwrap().spans.len(), 1);
        let table: [(Change, &str); 17] = [
            (|request, _| request.method = "PUT".to_owned(), "405"),
            (|request, _| request.path = "/".to_owned(), "404"),
            (|request, _| request.headers.clear(), "415"),
            (|request, _| request.body = vec![b' '; MOST_BYTES + 1], "too many"),
            (|request, _| request.body = b"{}".to_vec(), "resourceSpans is no list"),
            (|_, span| span["trace_id"] = json!("a"), "unknown field trace_id"),
            (|_, span| span["traceId"] = json!("0".repeat(32)), "traceId"),
            (|_, span| span["traceId"] = json!("A".repeat(32)), "traceId"),
            (|_, span| span["spanId"] = json!("0123"), "spanId"),
            (|_, span| span["parentSpanId"] = json!(""), "parentSpanId"),
            (|_, span| span["kind"] = json!("SPAN_KIND_CLIENT"), "kind"),
            (|_, span| span["startTimeUnixNano"] = json!(1_767_225_600_000_u64), "no text of ns"),
            (|_, span| span["endTimeUnixNano"] = json!("1767225500000000000"), "before its start"),
            (|_, span| span["attributes"][0]["value"] = json!({ "intValue": 7 }), "no value"),
            (|_, span| span["attributes"][0]["value"] = json!("a"), "no value"),
            (|_, span| span["attributes"] = json!({ "a": 1 }), "no list"),
            (|_, span| span["status"] = json!({ "code": "ERROR" }), "status"),
        ];
        for (change, says) in table {
            let refusal = check(&request(change)).unwrap_err();
            assert!(refusal.message.contains(says), "{says}: {}", refusal.message);
        }
    }
}
