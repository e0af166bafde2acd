//! The action of a command, with its replies.

use avocet_protocol::chat::{Choice, Content, LoggedInbound, Planned};
use avocet_protocol::store::{CommandAction, CommandReply};

use crate::SessionParts;
use crate::questions::TakenAnswer;

/// The action of a command, with its replies for success and for the lack of a target.
pub(crate) struct CommandPlan {
    pub(crate) action: CommandAction,
    done: String,
    nothing: String,
    /// Buttons below the reply for success.
    choices: Vec<Choice>,
    /// `true` if the reply takes the place of the message whose button was pressed.
    is_in_place: bool,
    /// The answer for a running call, given after the reply is committed.
    pub(crate) answer: Option<TakenAnswer>,
}

impl CommandPlan {
    pub(crate) fn with_text(text: impl Into<String>) -> Self {
        Self::with_action(CommandAction::None, text, "")
    }

    pub(crate) fn with_action(
        action: CommandAction,
        done: impl Into<String>,
        nothing: &str,
    ) -> Self {
        let (done, nothing) = (done.into(), nothing.to_owned());
        Self { action, done, nothing, choices: Vec::new(), is_in_place: false, answer: None }
    }

    pub(crate) fn with_answer(self, answer: TakenAnswer) -> Self {
        Self { answer: Some(answer), ..self }
    }

    /// Adds buttons.
    pub(crate) fn with_choices(self, choices: Vec<Choice>) -> Self {
        Self { choices, ..self }
    }

    /// Lets the reply to a pressed button take the place of the message with the button.
    pub(crate) fn in_place(self) -> Self {
        Self { is_in_place: true, ..self }
    }

    /// Plans the replies in the chat of the command.
    pub(crate) fn plan_replies(
        &self,
        parts: &SessionParts,
        command: &LoggedInbound,
    ) -> CommandReply {
        let say = |text: &str, choices: &[Choice]| -> Option<Planned> {
            let content = Content { choices: choices.to_vec(), ..Content::text(text) };
            if text.is_empty() { None } else { parts.plan_message(command, &content) }
        };
        let pressed = command.message.inbound.content.pressed.clone();
        CommandReply {
            done: say(&self.done, &self.choices),
            nothing: say(&self.nothing, &[]),
            replaces: pressed.filter(|_| self.is_in_place),
        }
    }
}
