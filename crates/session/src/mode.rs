//! `/mode`: shows or changes what the agent may do in a conversation without a question.

use avocet_protocol::access::{PermissionMode, Role};
use avocet_protocol::chat::SessionId;
use avocet_protocol::session::SessionSetting;
use avocet_protocol::store::{CommandAction, StoreError};
use avocet_text::end_sentence;

use crate::SessionParts;
use crate::command_plan::CommandPlan;

/// Plans `/mode`.
pub(crate) async fn plan_mode(
    parts: &SessionParts,
    session: &SessionId,
    argument: &str,
    role: Role,
) -> Result<CommandPlan, StoreError> {
    let status = parts.with_retry(|| parts.query.session_status(session)).await?;
    if argument.is_empty() {
        let mut text = format!("{}.", describe_mode(status.permission_mode));
        if role >= Role::Owner {
            let words = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
            text.push_str(&format!(" /mode {words} chooses another."));
        }
        return Ok(CommandPlan::with_text(text));
    }
    if role < Role::Owner {
        let refusal = "Only my owner can choose the mode; /mode shows it.";
        return Ok(CommandPlan::with_text(refusal));
    }
    Ok(match argument.parse::<PermissionMode>() {
        Ok(mode) => {
            let done = format!("{}. This applies from the next message on.", describe_mode(mode));
            let action = CommandAction::Choose(SessionSetting::Permissions(mode));
            CommandPlan::with_action(action, &done, &done)
        }
        Err(error) => CommandPlan::with_text(end_sentence(format!("I stay as I am: {error}"))),
    })
}

/// Describes the mode of a conversation.
pub(crate) fn describe_mode(mode: PermissionMode) -> String {
    format!("Mode: {}; {}", mode.as_str(), mode.effect())
}
