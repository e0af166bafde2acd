//! `/voice`: show or choose when answers are spoken.

use avocet_protocol::chat::SessionId;
use avocet_protocol::model::VoiceMode;
use avocet_protocol::store::{CommandAction, StoreError};

use crate::SessionParts;
use crate::command_plan::CommandPlan;
use crate::spoken::SpokenAnswers;

/// Plans `/voice`.
pub(crate) async fn plan_voice(
    parts: &SessionParts,
    session: &SessionId,
    argument: &str,
) -> Result<CommandPlan, StoreError> {
    let Some(SpokenAnswers { when, .. }) = &parts.spoken else {
        let refusal = "I cannot speak: my operator has to add the table [speech] to my \
                       configuration.";
        return Ok(CommandPlan::with_text(refusal));
    };
    if argument.is_empty() {
        let status = parts.with_retry(|| parts.query.session_status(session)).await?;
        let mode = status.voice.unwrap_or(*when);
        let text = format!(
            "Voice is {}: {}. /voice {} changes it.",
            mode.as_str(),
            describe_mode(mode),
            list_modes()
        );
        return Ok(CommandPlan::with_text(text));
    }
    Ok(match argument.parse::<VoiceMode>() {
        Ok(mode) => {
            let done = format!("Voice is {} from now on: {}.", mode.as_str(), describe_mode(mode));
            CommandPlan::with_action(CommandAction::SetVoice(mode), &done, &done)
        }
        Err(_) => CommandPlan::with_text(format!(
            "There is no voice mode {argument:?}; there are {}.",
            list_modes()
        )),
    })
}

fn list_modes() -> String {
    VoiceMode::ALL.map(VoiceMode::as_str).join(", ")
}

fn describe_mode(mode: VoiceMode) -> &'static str {
    match mode {
        VoiceMode::On => "I speak each answer and send its text too",
        VoiceMode::Off => "my answers are text only",
        VoiceMode::Auto => "I speak my answers to voice messages and send their text too",
    }
}
