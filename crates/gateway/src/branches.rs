//! The method that continues an earlier point of a conversation in a new one.

use avocet_methods::{BranchSession, CallTarget, SocketMethod};
use avocet_protocol::store::BranchedSession;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::scope::ChatScope;
use crate::values::unavailable;
use crate::wire::RpcError;

/// Channels in which every name is a chat.
const FREE_CHANNELS: [&str; 2] = ["terminal", "web"];

impl RunMethod for BranchSession {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, branch: Self) -> Answered<Self> {
        let MethodCall { parts, caller, .. } = call;
        let target = CallTarget::Session(branch.into.clone());
        ChatScope { parts, caller }.check_target(Self::NAME, target).await?;
        check_place(&branch)?;
        let Self { session, into, .. } = &branch;
        let (code, message) =
            match parts.branches.branch_session(&branch).await.map_err(unavailable)? {
                BranchedSession::Copied { turns } => return Reply::with_whole(&turns),
                BranchedSession::UnknownSession => {
                    (RpcError::NOT_FOUND, format!("there is no session {session}"))
                }
                BranchedSession::UnknownTurn(turn) => {
                    (RpcError::NOT_FOUND, format!("{session} has no turn {turn}"))
                }
                BranchedSession::OpenTurn(turn) => (
                    RpcError::CONFLICT,
                    format!("{turn} has not ended; wait for its answer, or stop it with /stop"),
                ),
                BranchedSession::Taken => (
                    RpcError::CONFLICT,
                    format!("there is a session {into} already; choose another name"),
                ),
            };
        Err(RpcError::new(code, message))
    }
}

/// Refuses a branch in a chat that its platform does not have.
fn check_place(branch: &BranchSession) -> Result<(), RpcError> {
    let (from, to) = (branch.session.address(), branch.into.address());
    let is_same_account = (&from.channel, &from.account) == (&to.channel, &to.account);
    if is_same_account || FREE_CHANNELS.contains(&to.channel.as_str()) {
        return Ok(());
    }
    let message = format!(
        "{}: into is {}; it must be a session of {}:{}, of the terminal or of the web console",
        BranchSession::NAME,
        branch.into,
        from.channel,
        from.account
    );
    Err(RpcError::new(RpcError::PARAMS, message))
}
