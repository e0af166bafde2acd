//! The methods about failed messages.

use avocet_protocol::store::{DeadId, DeadLetter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CallTarget, ListParams, NamesTarget, listed_rows, named_target};

/// `dead.list`: a list of `DeadLetter`, the newest first, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListDeadLetters {
    /// The most rows, from 1 to 500.
    #[schemars(range(min = 1, max = 500))]
    pub limit: u32,
    /// The last dead letter that the client has. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<DeadId>,
}

impl Default for ListDeadLetters {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// `dead.show`: one `DeadLetter`. `dead.retry` and `dead.drop`: the result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedDeadLetter {
    /// The id of the dead letter.
    pub id: DeadId,
}

/// `dead.show`: one failed message, without secrets.
#[derive(Debug)]
pub enum ShowDeadLetter {}

/// `dead.retry`: delivers a failed message again, or lets the agent answer it again.
#[derive(Debug)]
pub enum RetryDeadLetter {}

/// `dead.drop`: removes a failed message from the list for good.
#[derive(Debug)]
pub enum DropDeadLetter {}

impl NamesTarget for NamedDeadLetter {
    fn call_target(&self) -> CallTarget {
        CallTarget::DeadLetter(self.id)
    }
}

impl ListParams for ListDeadLetters {
    type Row = DeadLetter;

    fn page_limit(&self) -> Option<u32> {
        Some(self.limit)
    }

    fn continue_behind(&mut self, row: DeadLetter) {
        self.after = Some(row.id);
    }
}

method!(DropDeadLetter = "dead.drop": NamedDeadLetter => (), Operator, named_target::<Self>(), outside_libraries);
method!(ListDeadLetters = "dead.list": Self => Vec<DeadLetter>, Observer, listed_rows::<Self>(), optional_params);
method!(RetryDeadLetter = "dead.retry": NamedDeadLetter => (), Sender, named_target::<Self>(), outside_libraries);
method!(ShowDeadLetter = "dead.show": NamedDeadLetter => DeadLetter, Observer, named_target::<Self>(), outside_libraries);
