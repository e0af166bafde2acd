//! Ended work of a session: outcomes of prompts, and answers of the person.

use agent_client_protocol::v1::schema::StopReason;
use avocet_gateway::{ClientError, Decide, DeliveryChunk, RpcError};
use avocet_protocol::chat::Outcome;
use avocet_protocol::ids::{MessageId, WaitId};
use avocet_protocol::store::MessageStatus;

use super::{Done, EditorSession};
use crate::approval::{PermissionAnswer, choice_says, decision};
use crate::editor::failed;

impl EditorSession {
    pub(super) async fn take_done(&mut self, done: Done) {
        match done {
            Done::Outcome { message, status } => self.take_outcome(message, status).await,
            Done::Approval { wait, answer, question } => {
                self.decide(wait, answer, question.map(|question| *question)).await;
            }
            Done::Choice { choices, answer } => match answer {
                Ok(outcome) => {
                    if let Some(says) = choice_says(&outcome, &choices) {
                        self.answer(says).await;
                    }
                }
                Err(error) => self.ask_in_text(&error.to_string(), None),
            },
            Done::Servers(started) => self.end_server_start(started).await,
            Done::Form(Ok(Some(answer))) => self.answer(answer).await,
            Done::Form(Ok(None)) => self.end_with_question(),
            Done::Form(Err(error)) => {
                tracing::warn!(%error, "the editor cannot show a form");
                self.end_with_question();
            }
        }
    }

    /// Ends the open prompt if this is the outcome of its message.
    async fn take_outcome(
        &mut self,
        message: MessageId,
        status: Result<MessageStatus, ClientError>,
    ) {
        if self.prompt.as_ref().is_none_or(|prompt| prompt.message != message) {
            return;
        }
        // Events before the outcome may be on their way.
        self.take_arrived().await;
        let status = match status {
            Ok(status) => status,
            Err(ClientError::Lost) => return self.lose_daemon(),
            Err(error) => {
                if let Some(prompt) = self.prompt.take() {
                    self.end_prompt(prompt, Err(failed(error.to_string())));
                }
                return;
            }
        };
        if status.outcome == Some(Outcome::Merged)
            && let (Some(first), Some(prompt)) = (self.asked.take(), &mut self.prompt)
        {
            // The answer to a question belongs to the turn of an earlier message.
            prompt.message = first;
            return self.wait_for(first);
        }
        self.show_calls().await;
        let Some(prompt) = self.prompt.take() else { return };
        let is_stopped = prompt.is_cancelled || status.outcome == Some(Outcome::Stopped);
        if is_stopped {
            status.turn.into_iter().for_each(|turn| self.text.leave_out_turn(turn));
        } else if let Some(reply) = &status.reply
            && let Some(rest) = self.text.take_reply(status.turn, reply)
        {
            self.editor.say(&rest);
        }
        self.asked = None;
        let reason = if is_stopped { StopReason::Cancelled } else { StopReason::EndTurn };
        self.end_prompt(prompt, Ok(reason));
    }

    /// Ends the open prompt with a question of the agent.
    pub(super) fn end_with_question(&mut self) {
        if let Some(prompt) = self.prompt.take() {
            self.asked = self.asked.or(Some(prompt.message));
            self.end_prompt(prompt, Ok(StopReason::EndTurn));
        }
    }

    /// Sends the person's decision about a call to the daemon.
    async fn decide(
        &mut self,
        wait: WaitId,
        answer: PermissionAnswer,
        question: Option<DeliveryChunk>,
    ) {
        let outcome = match answer {
            Ok(outcome) => outcome,
            Err(error) => return self.ask_in_text(&error.to_string(), question),
        };
        // `/stop` has ended the wait.
        if self.prompt.as_ref().is_some_and(|prompt| prompt.is_cancelled) {
            return;
        }
        let Some(client) = self.client.clone() else { return };
        let decide = Decide { id: wait, decision: decision(&outcome) };
        match self.call::<Decide>(&client, &decide).await {
            // The call was decided elsewhere, or has expired.
            Ok(_) | Err(ClientError::Refused(RpcError { code: RpcError::NOT_FOUND, .. })) => {}
            Err(error) => self.editor.say(&format!("\n\nCannot decide about {wait}: {error}\n\n")),
        }
    }

    /// Shows a question as text, because the editor cannot show it otherwise.
    fn ask_in_text(&mut self, error: &str, question: Option<DeliveryChunk>) {
        tracing::warn!(error, "the editor cannot ask for a permission");
        if let Some(question) = question {
            let choices = question.choices.iter();
            let choices = choices.map(|one| format!("\n- {}: `{}`", one.label, one.says));
            self.editor.say(&format!("\n\n{}{}", question.text, choices.collect::<String>()));
        }
        self.end_with_question();
    }

    /// Sends an answer of the person to the chat, inside of the open prompt.
    async fn answer(&mut self, text: String) {
        let Some(client) = self.client.clone() else { return };
        if let Err(error) = self.send(&client, text, Vec::new(), Vec::new()).await {
            self.editor.say(&format!("\n\nCannot send the answer: {error}\n\n"));
        }
    }
}
