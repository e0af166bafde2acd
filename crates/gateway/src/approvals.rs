//! The methods of calls that have to be allowed. The commands of this program call them here too where no
//! daemon runs.

use avocet_protocol::{ApprovalDecision, Approvals, StoreError, WaitId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::methods::read;
use crate::wire::RpcError;

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

/// Answers a method of this list; none if it is none of them.
///
/// # Errors
/// [`RpcError`] says what is wrong, and how to do it right.
pub async fn answer_about_approvals(
    approvals: &dyn Approvals,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(approvals, method, params).await)
}

async fn answer(approvals: &dyn Approvals, method: &str, params: Value) -> Result<Value, RpcError> {
    if method == "approval.list" {
        return approvals.open().await.map(|open| json!(open)).map_err(|error| unavailable(&error));
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
