//! The methods about calls that wait for approval. If no daemon runs, the program's own commands
//! call them directly.

use avocet_methods::{Decide, ListApprovals, SocketMethod};
use avocet_protocol::access::Approvals;
use avocet_text::{Redactor, escape_invisible};
use serde_json::{Map, Value};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::{check_limit, unavailable};
use crate::wire::RpcError;

/// The ports of these methods.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "each field is the port of its type")]
pub struct ApprovalPorts<'a> {
    pub approvals: &'a dyn Approvals,
    pub redactor: &'a Redactor,
}

impl<'a> From<MethodCall<'a>> for ApprovalPorts<'a> {
    fn from(call: MethodCall<'a>) -> Self {
        Self { approvals: call.parts.approvals.as_ref(), redactor: &call.parts.redactor }
    }
}

impl RunMethod for ListApprovals {
    type Ports<'a> = ApprovalPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { limit, after }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        let mut open = ports.approvals.open(limit, after).await.map_err(unavailable)?;
        for approval in &mut open {
            let arguments = std::mem::take(&mut approval.arguments);
            approval.arguments = with_escapes(arguments);
            approval.card.text = escape_invisible(&approval.card.text).into_owned();
        }
        Reply::without_secrets(&open, ports.redactor)
    }
}

impl RunMethod for Decide {
    type Ports<'a> = ApprovalPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { id, decision }: Self) -> Answered<Self> {
        if ports.approvals.decide(id, decision).await.map_err(unavailable)? {
            return Reply::with_whole(&());
        }
        let message = format!("no call waits for approval as {id}; it was decided, or has expired");
        Err(RpcError::new(RpcError::NOT_FOUND, message))
    }
}

/// Shows the invisible characters of arguments, in names and in texts, since a person decides about
/// exactly these arguments.
fn with_escapes(arguments: Map<String, Value>) -> Map<String, Value> {
    let pairs = arguments.into_iter();
    pairs.map(|(name, value)| (escape_invisible(&name).into_owned(), escape_value(value))).collect()
}

fn escape_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(escape_invisible(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(escape_value).collect(),
        Value::Object(object) => Value::Object(with_escapes(object)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
