//! Presses of buttons with a command, such as a decision. The message with the button stays as it
//! is, or shows the outcome. A refusal, a late or a second press is answered to its presser only.

use serenity::builder::CreateInteractionResponse;

use super::{AnswerState, CommandAnswer};
use crate::Discord;

impl Discord {
    /// Acknowledges a press that has no response yet. What the command says is a further response
    /// then, because the first one is the message with the button.
    pub(crate) async fn acknowledge_press(&self, press: &CommandAnswer) {
        let mut state = press.state.lock().await;
        if *state != AnswerState::Open {
            return;
        }
        let acknowledgement = CreateInteractionResponse::Acknowledge;
        self.respond(self.clock.as_ref(), press.id, &press.token, &acknowledgement).await;
        *state = AnswerState::answered("", true);
    }
}
