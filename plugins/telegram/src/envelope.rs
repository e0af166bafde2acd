//! The envelope of an answer (Bot API, "Making requests"). It is read field by field, so that an odd
//! field costs nothing but itself: the platform has acted by then, and a repeated request would act
//! twice.

use avocet_protocol::model::decode_json;
use serde_json::Value;

use crate::fault::Parameters;
use crate::numbers::read_integer;

/// An answer of a Bot API server.
#[derive(Debug, PartialEq)]
pub(crate) struct ApiEnvelope {
    /// `true` if the method was carried out.
    pub(crate) is_ok: bool,
    /// `None` if the result is missing or cannot be decoded.
    pub(crate) result: Option<Value>,
    pub(crate) error_code: Option<u16>,
    pub(crate) description: Option<String>,
    pub(crate) parameters: Option<Parameters>,
}

impl ApiEnvelope {
    /// Reads a body. `None` if another server wrote it.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let Ok(mut fields) = decode_json::<Value>(body) else {
            return reports_success(body).then(Self::accepted);
        };
        let is_ok = match fields.get("ok") {
            Some(Value::Bool(is_ok)) => *is_ok,
            Some(ok) => *ok == "true" || *ok == 1,
            None => fields.get("result").is_some_and(|result| !result.is_null()),
        };
        let error_code = fields.get("error_code").and_then(read_integer);
        let description = match fields.get("description") {
            Some(Value::String(text)) => Some(text.clone()),
            None | Some(Value::Null) => None,
            Some(other) => Some(other.to_string()),
        };
        let is_envelope = is_ok || fields.get("ok").is_some() || error_code.is_some();
        is_envelope.then(|| Self {
            is_ok,
            result: fields.get_mut("result").map(Value::take).filter(|result| !result.is_null()),
            error_code: error_code.and_then(|code| code.try_into().ok()),
            description,
            parameters: fields.get("parameters").map(Parameters::read),
        })
    }

    /// An answer whose result cannot be decoded.
    fn accepted() -> Self {
        let (error_code, description, parameters) = (None, None, None);
        Self { is_ok: true, result: None, error_code, description, parameters }
    }
}

/// Returns `true` if a body that is no JSON has `"ok": true`. Quotation marks within a text are
/// escaped, so the words are a field.
fn reports_success(body: &[u8]) -> bool {
    let key = b"\"ok\"";
    let mut places = body.windows(key.len()).enumerate().filter(|(_, part)| part == key);
    places.any(|(place, _)| {
        let rest = body[place + key.len()..].trim_ascii_start();
        let value = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        value.is_some_and(|value| value.starts_with(b"true"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `is_ok`, `result` and `error_code` of an envelope.
    type EnvelopeFields = (bool, Option<Value>, Option<u16>);

    #[test]
    fn read_keeps_the_readable_fields_of_an_answer() {
        let table: [(&[u8], Option<EnvelopeFields>); 14] = [
            (br#"{"ok":true,"result":5}"#, Some((true, Some(json!(5)), None))),
            (br#"{"ok":"true","result":5}"#, Some((true, Some(json!(5)), None))),
            (br#"{"result":5}"#, Some((true, Some(json!(5)), None))),
            (
                br#"{"ok":true,"ok":true,"result":"\ud83d"}"#,
                Some((true, Some(json!("\u{fffd}")), None)),
            ),
            (br#"{"ok":true,"result":null,"parameters":[]}"#, Some((true, None, None))),
            (br#"{"ok":true,"result":{"x":1e999}}"#, Some((true, None, None))),
            (br#"{ "ok" : true, "result": {"#, Some((true, None, None))),
            (br#"{"ok":false,"error_code":"403","description":5}"#, Some((false, None, Some(403)))),
            (br#"{"ok":null,"error_code":400.0}"#, Some((false, None, Some(400)))),
            (br#"{"error_code":70000}"#, Some((false, None, None))),
            (br#"{"ok":false,"x":1e999}"#, None),
            (br#"{"message":"no such page"}"#, None),
            (b"<html>", None),
            (b"", None),
        ];
        for (body, expected) in table {
            let read = ApiEnvelope::read(body);
            let read = read.map(|read| (read.is_ok, read.result, read.error_code));
            assert_eq!(read, expected, "{}", String::from_utf8_lossy(body));
        }
    }
}
