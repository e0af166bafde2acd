//! The method that consolidates memories. If no daemon runs, the program's own command calls it
//! directly.

use avocet_methods::ConsolidateRequest;
use avocet_protocol::memory::{Consolidate, ConsolidateError};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

impl<'a> From<MethodCall<'a>> for &'a dyn Consolidate {
    fn from(call: MethodCall<'a>) -> Self {
        call.parts.consolidate.as_ref()
    }
}

impl RunMethod for ConsolidateRequest {
    type Ports<'a> = &'a dyn Consolidate;

    async fn run(consolidate: Self::Ports<'_>, request: Self) -> Answered<Self> {
        match consolidate.consolidate(&request).await {
            Ok(reports) => Reply::with_whole(&reports),
            Err(ConsolidateError::Log(error)) => Err(unavailable(error)),
            Err(
                refused @ (ConsolidateError::Budget(_)
                | ConsolidateError::Runs(_)
                | ConsolidateError::Stopped),
            ) => Err(RpcError::new(RpcError::CONFLICT, refused.to_string())),
        }
    }
}
