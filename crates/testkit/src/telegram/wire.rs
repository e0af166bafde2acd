//! Parses requests to the Bot API and formats its answers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::http::{HttpRequest, Piece, whole, whole_bytes};
use crate::multipart::{self, Upload};

/// A refusal of the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// `error_code` and HTTP status.
    pub code: u16,
    /// The description, for example `Bad Request: chat not found`.
    pub description: String,
    /// `parameters.retry_after`, in seconds.
    pub retry_after: Option<u32>,
    /// `parameters.migrate_to_chat_id`.
    pub migrate_to: Option<i64>,
}

impl ApiError {
    /// Returns an error with a code and a complete description.
    #[must_use]
    pub fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), retry_after: None, migrate_to: None }
    }

    /// 400, with the text after `Bad Request: `.
    #[must_use]
    pub fn bad_request(why: impl AsRef<str>) -> Self {
        Self::new(400, format!("Bad Request: {}", why.as_ref()))
    }

    /// 401: the token is wrong or has been revoked.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized")
    }

    /// 403, with the text after `Forbidden: `.
    #[must_use]
    pub fn forbidden(why: impl AsRef<str>) -> Self {
        Self::new(403, format!("Forbidden: {}", why.as_ref()))
    }

    /// 409: another client polls.
    #[must_use]
    pub fn conflict() -> Self {
        let why = "Conflict: terminated by other getUpdates request; make sure that only one bot \
                   instance is running";
        Self::new(409, why)
    }

    /// 429: the bot must wait for this number of seconds.
    #[must_use]
    pub fn flood(retry_after: u32) -> Self {
        let why = format!("Too Many Requests: retry after {retry_after}");
        Self { retry_after: Some(retry_after), ..Self::new(429, why) }
    }

    /// 502, from a proxy of the platform.
    #[must_use]
    pub fn bad_gateway() -> Self {
        Self::new(502, "Bad Gateway")
    }

    pub(super) fn migrated(to: i64) -> Self {
        let error = Self::bad_request("group chat was upgraded to a supergroup chat");
        Self { migrate_to: Some(to), ..error }
    }

    pub(super) fn body(&self) -> Value {
        let mut body = json!({
            "ok": false, "error_code": self.code, "description": self.description });
        if let Some(seconds) = self.retry_after {
            body["parameters"] = json!({ "retry_after": seconds });
        }
        if let Some(chat) = self.migrate_to {
            body["parameters"] = json!({ "migrate_to_chat_id": chat });
        }
        body
    }

    pub(super) fn pieces(&self) -> Vec<Piece> {
        let seconds = self.retry_after.unwrap_or_default().to_string();
        let mut headers = vec![("content-type", "application/json")];
        if self.retry_after.is_some() {
            headers.push(("retry-after", &seconds));
        }
        whole(self.code, &headers, &self.body().to_string())
    }
}

/// Texts that the platform writes as other bytes, such as half of a surrogate pair.
#[derive(Debug, Default)]
pub(super) struct OddBytes(Vec<(String, Vec<u8>)>);

impl OddBytes {
    pub(super) fn add(&mut self, text: &str, bytes: &[u8]) {
        self.0.push((text.to_owned(), bytes.to_owned()));
    }

    /// Returns a body with these bytes in it.
    pub(super) fn write(&self, body: &str) -> Vec<u8> {
        self.0.iter().fold(body.as_bytes().to_vec(), |body, (text, bytes)| {
            let (mut written, mut rest) = (Vec::new(), &body[..]);
            while let Some(place) = rest.windows(text.len()).position(|w| w == text.as_bytes()) {
                written.extend_from_slice(&rest[..place]);
                written.extend_from_slice(bytes);
                rest = &rest[place + text.len()..];
            }
            [&written, rest].concat()
        })
    }

    /// Returns the answer to a successful call.
    pub(super) fn success(&self, result: &Value) -> Vec<Piece> {
        let body = self.write(&success_body(result));
        whole_bytes(200, &[("content-type", "application/json")], &body)
    }
}

/// Returns the answer to a successful call.
pub(super) fn success(result: &Value) -> Vec<Piece> {
    OddBytes::default().success(result)
}

/// Returns the page of a proxy that has no answer of the platform.
pub(super) fn page(status: u16) -> Vec<Piece> {
    let body = format!("<html><head><title>{status}</title></head><body>nginx</body></html>");
    whole(status, &[("content-type", "text/html")], &body)
}

/// Returns half of the answer, after which the connection is closed.
pub(super) fn half(result: &Value) -> Vec<Piece> {
    let body = success_body(result);
    let half = &body.as_bytes()[..body.len() / 2];
    let head = Piece::head(200, &[("content-type", "application/json")]);
    vec![head, Piece::chunk(half), Piece::Close]
}

fn success_body(result: &Value) -> String {
    json!({ "ok": true, "result": result }).to_string()
}

/// A call of a method.
#[derive(Debug, Default)]
pub(super) struct MethodCall {
    /// In lower case, because the platform ignores the case.
    pub(super) method: String,
    pub(super) args: Map<String, Value>,
    pub(super) files: BTreeMap<String, Upload>,
}

/// The target of a path.
#[derive(Debug)]
pub(super) enum PathTarget {
    Method { token: String, method: String },
    File { token: String, path: String },
}

/// Parses `/bot<TOKEN>/<method>` and `/file/bot<TOKEN>/<path>`.
pub(super) fn target(path: &str) -> Result<PathTarget, ApiError> {
    let path = multipart::percent_decoded(path.split('?').next().unwrap_or_default());
    let split = |prefix| {
        let (token, rest) = path.strip_prefix(prefix)?.split_once('/')?;
        Some((token.to_owned(), rest.to_owned()))
    };
    if let Some((token, path)) = split("/file/bot") {
        return Ok(PathTarget::File { token, path });
    }
    match split("/bot") {
        Some((token, method)) => Ok(PathTarget::Method { token, method }),
        None => Err(ApiError::new(404, "Not Found")),
    }
}

impl MethodCall {
    /// Returns `true` for a method that a bot tries on a server whose version it does not know.
    pub(super) fn is_probe(&self) -> bool {
        matches!(self.method.as_str(), "sendmessagedraft" | "sendrichmessage")
    }

    /// Parses the body, by its media type.
    pub(super) fn read(method: &str, request: &HttpRequest) -> Result<Self, ApiError> {
        let mut call = Self { method: method.to_ascii_lowercase(), ..Self::default() };
        let media_type = request.header("content-type").unwrap_or_default();
        if let Some(boundary) = multipart::boundary(media_type) {
            (call.args, call.files) = multipart::read(&request.body, boundary)
                .ok_or_else(|| ApiError::bad_request("can't parse multipart/form-data"))?;
        } else if !request.body.is_empty() {
            if !media_type.starts_with("application/json") {
                return Err(ApiError::bad_request("unsupported content-type"));
            }
            call.args = serde_json::from_slice(&request.body)
                .map_err(|_| ApiError::bad_request("can't parse JSON object"))?;
        }
        Ok(call)
    }

    /// Returns a parameter. A null counts as missing.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.args.get(name).filter(|value| !value.is_null())
    }

    /// Returns a whole number, which may also be a string.
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        let value = self.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// Returns a text, or an empty one if it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a boolean, which may also be a string.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| *value == true || *value == "true" || *value == "1")
    }

    /// Returns a structure, which may also be JSON in a string.
    pub(super) fn json(&self, name: &str) -> Result<Option<Value>, ApiError> {
        let unreadable = || ApiError::bad_request(format!("can't parse {name} JSON object"));
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| unreadable()),
            Some(value) => Ok(Some(value.clone())),
        }
    }
}
