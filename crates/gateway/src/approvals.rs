//! The methods about calls that wait for approval. If no daemon runs, the program's own commands
//! call them directly.

use avocet_protocol::{ApprovalDecision, Approvals, Redactor, WaitId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{check_limit, or_empty, presentable, read, unavailable};
use crate::wire::RpcError;

/// `approval.list`: a list of `OpenApproval` in the order of the requests, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListApprovals {
    /// The most rows, from 1 to [`MOST_ROWS`](crate::MOST_ROWS).
    pub limit: u32,
    /// The last row that the client has. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<WaitId>,
}

impl Default for ListApprovals {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// `approval.decide`: approves or denies a call. The result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decide {
    /// The id of the wait for approval.
    pub id: WaitId,
    /// The decision.
    #[serde(flatten)]
    pub decision: ApprovalDecision,
}

/// The names of these methods.
pub(crate) const METHODS: [&str; 2] = ["approval.decide", "approval.list"];

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_approvals(
    approvals: &dyn Approvals,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(approvals, redactor, method, params).await)
}

async fn answer(
    approvals: &dyn Approvals,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    if method == "approval.list" {
        let ListApprovals { limit, after } = read(method, or_empty(params))?;
        check_limit(method, "limit", limit)?;
        let open = approvals.open(limit, after).await.map_err(unavailable)?;
        return Ok(presentable(json!(open), redactor));
    }
    let Decide { id, decision } = read(method, params)?;
    if approvals.decide(id, decision).await.map_err(unavailable)? {
        return Ok(Value::Null);
    }
    let message = format!("no call waits for approval as {id}; it was decided, or has expired");
    Err(RpcError::new(RpcError::NOT_FOUND, message))
}
