//! The methods about calls that wait for approval.

use avocet_protocol::access::{ApprovalDecision, OpenApproval};
use avocet_protocol::ids::WaitId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, ListParams, NamesTarget, listed_rows, named_target};

/// `approval.list`: a list of `OpenApproval` in the order of the requests, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListApprovals {
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decide {
    /// The id of the wait for approval.
    pub id: WaitId,
    /// The decision.
    #[serde(flatten)]
    pub decision: ApprovalDecision,
}

impl NamesTarget for Decide {
    fn call_target(&self) -> CallTarget {
        CallTarget::Approval(self.id)
    }
}

impl ListParams for ListApprovals {
    type Row = OpenApproval;

    fn page_limit(&self) -> Option<u32> {
        Some(self.limit)
    }

    fn continue_behind(&mut self, row: OpenApproval) {
        self.after = Some(row.id);
    }
}

method!(Decide = "approval.decide": Self => (), Approver, named_target::<Self>());
method!(ListApprovals = "approval.list": Self => Vec<OpenApproval>, Observer, listed_rows::<Self>(), optional_params);
