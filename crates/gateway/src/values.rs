//! Parameters and results of methods: read, checked, and fitted into a line.

use avocet_methods::MOST_ROWS;
use avocet_protocol::store::StoreError;
use avocet_text::{Redactor, cut_texts, plain_json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::MAX_LINE_BYTES;
use crate::wire::RpcError;

/// The most bytes of a result that fit into a line together with its frame.
const FITS: usize = MAX_LINE_BYTES - 4096;

pub(crate) fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, RpcError> {
    check_have_names(method, &params)?;
    serde_json::from_value(params).map_err(|error| params_error(method, &error))
}

/// Refuses parameters in a list. `serde` would take them as the fields of the type, in their order.
pub(crate) fn check_have_names(method: &str, params: &Value) -> Result<(), RpcError> {
    if !params.is_array() {
        return Ok(());
    }
    let message = format!("{method}: the parameters are a list; send an object with their names");
    Err(RpcError::new(RpcError::PARAMS, message))
}

/// Makes the error of parameters that cannot be read.
pub(crate) fn params_error(method: &str, error: &serde_json::Error) -> RpcError {
    RpcError::new(RpcError::PARAMS, format!("{method}: {}", plain_json(error)))
}

pub(crate) fn to_value<T: Serialize>(found: Result<T, StoreError>) -> Result<Value, RpcError> {
    let found = found.map_err(unavailable)?;
    serde_json::to_value(found).map_err(unavailable)
}

/// Returns the empty object for missing parameters, for methods whose parameters are all optional.
pub(crate) fn or_empty(params: Value) -> Value {
    if params.is_null() { json!({}) } else { params }
}

pub(crate) fn unavailable(error: impl std::fmt::Display) -> RpcError {
    RpcError::new(RpcError::UNAVAILABLE, error.to_string())
}

/// Refuses a page size outside of 1 to `MOST_ROWS`.
pub(crate) fn check_limit(method: &str, name: &str, rows: u32) -> Result<(), RpcError> {
    if (1..=MOST_ROWS).contains(&rows) {
        return Ok(());
    }
    let message = format!(
        "{method}: {name} is {rows}; it must be from 1 to {MOST_ROWS}. A longer list is read page \
            by page"
    );
    Err(RpcError::new(RpcError::PARAMS, message))
}

/// Prepares text of models and tools for people: without secrets, and short enough for a line.
#[must_use]
pub fn make_presentable(mut value: Value, redactor: &Redactor) -> Value {
    redactor.redact_json(&mut value);
    fitting(value)
}

/// Returns `true` if a result of this size fits into a line.
pub(crate) fn fits_line(bytes: usize) -> bool {
    bytes <= FITS
}

/// Cuts the longest texts of a value until it fits into a line.
pub(crate) fn fitting(mut value: Value) -> Value {
    for most in [256 * 1024, 32 * 1024, 4096, 256] {
        if value.to_string().len() <= FITS {
            break;
        }
        cut_texts(&mut value, most);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitting_cuts_the_longest_texts_of_an_answer_longer_than_a_line() {
        let short = json!({ "a": ["x".repeat(300 * 1024), 7] });
        assert_eq!(fitting(short.clone()), short);
        // Escapes make the line longer than its texts.
        for text in ["é", "\u{1}"] {
            let long = json!([{ "text": text.repeat(2 * 1024 * 1024), "id": "t1" }, "short"]);
            let cut = fitting(long);
            assert!(cut.to_string().len() <= FITS);
            assert_eq!((&cut[0]["id"], &cut[1]), (&json!("t1"), &json!("short")));
            let shown = cut[0]["text"].as_str().unwrap();
            assert!(shown.starts_with(text) && shown.ends_with(" more bytes)"));
        }
        let many = json!(vec!["x".repeat(64 * 1024); 3000]);
        assert!(fitting(many).to_string().len() <= FITS);
    }

    #[test]
    fn check_limit_names_the_largest_page() {
        assert_eq!(check_limit("usage", "limit", 500), Ok(()));
        for rows in [0, 501, 100_000] {
            let error = check_limit("usage", "limit", rows).unwrap_err();
            assert_eq!(error.code, RpcError::PARAMS);
            assert!(error.message.contains(&format!("limit is {rows}; it must be from 1 to 500")));
        }
    }
}
