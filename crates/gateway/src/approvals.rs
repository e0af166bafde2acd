//! The methods of calls that have to be allowed. The commands of this program call them here too where no
//! daemon runs.

use avocet_protocol::{ApprovalDecision, Approvals, Redactor, StoreError, WaitId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::lists::{check_limit, presentable};
use crate::methods::read;
use crate::wire::RpcError;

/// `approval.list`: a list of `OpenApproval`, in the order in which they were asked, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListApprovals {
    /// Rows at most, from 1 to [`MOST_ROWS`](crate::MOST_ROWS).
    pub limit: u32,
    /// The last that is known already. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<WaitId>,
}

impl Default for ListApprovals {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// `approval.decide`: a call may run, or not. Answered with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decide {
    /// Which.
    pub id: WaitId,
    /// What is said to it.
    #[serde(flatten)]
    pub decision: ApprovalDecision,
}

/// The methods that there are here.
pub(crate) const METHODS: [&str; 2] = ["approval.decide", "approval.list"];

/// Answers a method of this list; `None` if the method is not in it.
///
/// # Errors
/// [`RpcError`] says what is wrong, and how to do it right.
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
        let params = if params.is_null() { json!({}) } else { params };
        let ListApprovals { limit, after } = read(method, params)?;
        check_limit(method, "limit", limit)?;
        let open = approvals.open(limit, after).await.map_err(|error| unavailable(&error))?;
        return Ok(presentable(json!(open), redactor));
    }
    let Decide { id, decision } = read(method, params)?;
    match approvals.decide(id, decision).await.map_err(|error| unavailable(&error))? {
        true => Ok(Value::Null),
        false => Err(RpcError::new(
            RpcError::NOT_FOUND,
            format!("nothing waits to be allowed as {id}; it was decided, or has expired"),
        )),
    }
}

fn unavailable(error: &StoreError) -> RpcError {
    RpcError::new(RpcError::UNAVAILABLE, error.to_string())
}
