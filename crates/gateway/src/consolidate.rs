//! The method that consolidates memories. If no daemon runs, the program's own command calls it
//! directly.

use avocet_protocol::{Consolidate, ConsolidateError, ConsolidateRequest, StoreError};
use serde_json::Value;

use crate::values::{or_empty, read, to_value, unavailable};
use crate::wire::RpcError;

/// The name of the method.
pub(crate) const METHODS: [&str; 1] = ["memory.consolidate"];

/// Answers `memory.consolidate`: see [`ConsolidateRequest`]. The result is a list of
/// [`ConsolidationReport`](avocet_protocol::ConsolidationReport).
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_consolidation(
    consolidate: &dyn Consolidate,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    let request: ConsolidateRequest = match read(method, or_empty(params)) {
        Ok(request) => request,
        Err(error) => return Some(Err(error)),
    };
    Some(match consolidate.consolidate(&request).await {
        Ok(reports) => to_value(Ok::<_, StoreError>(reports)),
        Err(ConsolidateError::Log(error)) => Err(unavailable(error)),
        Err(refused @ (ConsolidateError::Budget(_) | ConsolidateError::Runs(_))) => {
            Err(RpcError::new(RpcError::CONFLICT, refused.to_string()))
        }
    })
}
