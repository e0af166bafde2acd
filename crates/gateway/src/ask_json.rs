//! The method that asks for an answer by a JSON Schema. If no daemon runs, the program's own command
//! calls it directly.

use avocet_methods::JsonQuestion;
use avocet_protocol::model::{AskJson, AskJsonError};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

impl<'a> From<MethodCall<'a>> for &'a dyn AskJson {
    fn from(call: MethodCall<'a>) -> Self {
        call.parts.ask_json.as_ref()
    }
}

impl RunMethod for JsonQuestion {
    type Ports<'a> = &'a dyn AskJson;

    async fn run(ask: Self::Ports<'_>, question: Self) -> Answered<Self> {
        match ask.ask_json(&question).await {
            Ok(answer) => Reply::with_whole(&answer),
            Err(AskJsonError::Log(error)) => Err(unavailable(error)),
            Err(error @ AskJsonError::Schema(_)) => {
                Err(RpcError::new(RpcError::PARAMS, error.to_string()))
            }
            Err(error @ AskJsonError::Refused(_)) => {
                Err(RpcError::new(RpcError::CONFLICT, error.to_string()))
            }
        }
    }
}
