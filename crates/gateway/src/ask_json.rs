//! The method that asks for an answer by a JSON Schema. If no daemon runs, the program's own command
//! calls it directly.

use avocet_protocol::{AskJson, AskJsonError, JsonQuestion, StoreError};
use serde_json::Value;

use crate::values::{read, to_value, unavailable};
use crate::wire::RpcError;

/// The name of the method.
pub(crate) const METHODS: [&str; 1] = ["ask.json"];

/// Answers `ask.json`: see [`JsonQuestion`]. The result is a
/// [`JsonAnswer`](avocet_protocol::JsonAnswer).
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_in_json(
    ask: &dyn AskJson,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    let question: JsonQuestion = match read(method, params) {
        Ok(question) => question,
        Err(error) => return Some(Err(error)),
    };
    Some(match ask.ask_json(&question).await {
        Ok(answer) => to_value(Ok::<_, StoreError>(answer)),
        Err(AskJsonError::Log(error)) => Err(unavailable(error)),
        Err(error @ AskJsonError::Schema(_)) => {
            Err(RpcError::new(RpcError::PARAMS, error.to_string()))
        }
        Err(error @ AskJsonError::Refused(_)) => {
            Err(RpcError::new(RpcError::CONFLICT, error.to_string()))
        }
    })
}
