//! The methods about the web console.

use avocet_methods::{ListBrowsers, NoParams, OpenWeb, SignOutWeb, SocketMethod};
use avocet_protocol::channel::WebError;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::wire::RpcError;

impl RunMethod for OpenWeb {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { port }: Self) -> Answered<Self> {
        let sender = &call.caller.sender;
        // The configuration limits named clients, and a token of the console would outlive their
        // tables.
        if !sender.as_str().starts_with("uid:") {
            let message = format!(
                "{}: the console is for a user of this system, and {sender} is a client of the \
                 configuration; connect without `hello` of a client",
                Self::NAME
            );
            return Err(RpcError::new(RpcError::PARAMS, message));
        }
        Reply::with_whole(&call.parts.web.open(sender, port).await.map_err(refusal)?)
    }
}

impl RunMethod for ListBrowsers {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&call.parts.web.browsers())
    }
}

impl RunMethod for SignOutWeb {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { browser }: Self) -> Answered<Self> {
        call.parts.web.sign_out(browser.as_deref()).await.map_err(refusal)?;
        Reply::with_whole(&())
    }
}

fn refusal(error: WebError) -> RpcError {
    match error {
        WebError::Refused(message) => RpcError::new(RpcError::PARAMS, message),
        WebError::Failed(message) => RpcError::new(RpcError::UNAVAILABLE, message),
    }
}
