//! The methods about the settings of a conversation that people choose.

use avocet_methods::{SetSessionOption, ShowOptions};
use avocet_protocol::session::SetOptionError;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

impl RunMethod for ShowOptions {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { session }: Self) -> Answered<Self> {
        let options = call.parts.options.session_options(&session).await;
        Reply::fitting(&options.map_err(unavailable)?)
    }
}

impl RunMethod for SetSessionOption {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, change: Self) -> Answered<Self> {
        let options = &call.parts.options;
        let options = options.set_session_option(&call.caller.sender, &change).await;
        Reply::fitting(&options.map_err(|error| refused(&error))?)
    }
}

fn refused(error: &SetOptionError) -> RpcError {
    let code = match error {
        SetOptionError::NotOwner { .. } => RpcError::NOT_ALLOWED,
        SetOptionError::Unknown(_) => RpcError::PARAMS,
        SetOptionError::Log(_) => RpcError::UNAVAILABLE,
    };
    RpcError::new(code, error.to_string())
}
