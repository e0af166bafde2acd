//! The method about the profiles of agents.

use avocet_methods::{ListAgents, NoParams};

use crate::run::{Answered, MethodCall, Reply, RunMethod};

impl RunMethod for ListAgents {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::without_secrets(&call.parts.agents.now().to_vec(), &call.parts.redactor)
    }
}
