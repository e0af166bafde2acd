//! Requests of programs that ask for one answer, such as those of OpenAI's APIs. They are messages
//! with more parts than `ask` has on the socket.

use avocet_methods::{Ask, AskResult, PublishedFile, SocketMethod};
use avocet_protocol::access::ClientRole;
use avocet_protocol::bus::ProgramRequest;
use avocet_protocol::chat::{Content, Inbound, Sender, SessionId};
use avocet_protocol::ids::DedupeKey;
use avocet_protocol::store::AcceptedAs;

use crate::caller::Caller;
use crate::client_files::attachments;
use crate::messages::{new_key, refusal};
use crate::methods::check_rights;
use crate::parts::GatewayParts;
use crate::wire::RpcError;

/// The message of a program.
#[derive(Debug, Clone)]
pub struct ProgramAsk {
    /// The conversation.
    pub session: SessionId,
    /// The text of the message.
    pub text: String,
    /// Identifies repetitions of the same message; `None` for a random key.
    pub key: Option<DedupeKey>,
    /// Files that a client attached to the chat keeps until the daemon reads them.
    pub files: Vec<PublishedFile>,
    /// The other parts of the request.
    pub program: ProgramRequest,
}

/// Sends the message of a program to the agent. Returns after the commit.
///
/// # Errors
/// [`RpcError`] if the caller may not write to the conversation or choose the profile, there is no
/// such profile, or the message was not accepted.
pub async fn ask_for_program(
    parts: &GatewayParts,
    caller: &Caller,
    ask: ProgramAsk,
) -> Result<AskResult, RpcError> {
    let ProgramAsk { session, text, key, files, program } = ask;
    let ask = Ask::new(session, text);
    check_rights::<Ask>(parts, caller, &ask).await?;
    let Ask { session, text, .. } = ask;
    if let Some(agent) = &program.agent {
        check_agent(parts, caller, agent)?;
    }
    let chat = session.address();
    let attachments = attachments(Ask::NAME, &chat, files)?;
    let program = (program != ProgramRequest::default()).then(|| Box::new(program));
    let content = Content { attachments, program, ..Content::text(text) };
    let sender = Sender::new(caller.sender.clone());
    let inbound = Inbound::new(chat, sender, key.map_or_else(new_key, Ok)?, content);
    let accepted = parts.publish.publish(inbound, None).await.map_err(|error| refusal(&error))?;
    let duplicate = accepted.what == AcceptedAs::Duplicate;
    Ok(AskResult { message: accepted.id, duplicate })
}

/// Refuses an unknown profile, and every choice of a client that is no operator: the profile of a
/// conversation limits its tools.
fn check_agent(parts: &GatewayParts, caller: &Caller, agent: &str) -> Result<(), RpcError> {
    let agents = parts.agents.now();
    if !agents.iter().any(|known| known.name == agent) {
        let message = format!("there is no profile {agent:?}");
        return Err(RpcError::new(RpcError::NOT_FOUND, message));
    }
    let (least, role) = (ClientRole::Operator, caller.role);
    if role >= least {
        return Ok(());
    }
    let reason =
        format!("to choose the profile {agent} needs the role {least}, and its role is {role}");
    Err(caller.refusal(&reason, "role"))
}
