//! Answers to slash commands, in place of the command: the reply of the log becomes the response to
//! the interaction. The platform keeps the token of an interaction for 15 minutes, and so does the
//! memory; later, and after a restart, the reply is an ordinary message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_protocol::{Delivery, Receipt, SendError, within};
use reqwest::Method;
use serde_json::{Value, json};
use serenity::builder::CreateAllowedMentions;
use serenity::model::channel::MessageFlags;
use serenity::model::id::{ApplicationId, InteractionId};

use crate::fault::RestError;
use crate::routes::Route;
use crate::{Discord, compose, convert};

/// Time in which a reply can be the first response. The platform accepts that for three seconds
/// (Discord API, "Responding to an Interaction").
const FIRST_RESPONSE: Duration = Duration::from_millis(2500);
/// Time after which a command without a reply is acknowledged.
const DEFER_AFTER: Duration = Duration::from_millis(1500);
/// Time after which an acknowledgement without a reply is deleted.
const DELETE_AFTER: Duration = Duration::from_mins(1);
/// The platform's time of 15 minutes, less some room for a request.
const TOKEN_LIFETIME: Duration = Duration::from_secs(15 * 60 - 30);

/// Codes of refusals (Discord API, "JSON Error Codes").
const ALREADY_ACKNOWLEDGED: isize = 40_060;

/// Types of responses (Discord API, "Interaction Callback Type").
const MESSAGE: u8 = 4;
const DEFERRED_MESSAGE: u8 = 5;

/// The commands of this run that have no complete answer yet.
#[derive(Debug, Default)]
pub(crate) struct OpenCommands(Mutex<HashMap<InteractionId, Arc<OpenCommand>>>);

/// A called slash command.
pub(crate) struct OpenCommand {
    id: InteractionId,
    application: ApplicationId,
    token: String,
    /// `true` if only the caller sees the answer.
    is_ephemeral: bool,
    /// The time of the clock's `elapsed`.
    received: Duration,
    state: tokio::sync::Mutex<AnswerState>,
}

/// Leaves out the token, with which anyone can answer.
impl std::fmt::Debug for OpenCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenCommand").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The progress of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AnswerState {
    /// The platform has no response.
    Open,
    /// The platform shows that the bot is thinking.
    Deferred,
    /// The response shows the chunk with this nonce.
    Answered {
        nonce: String,
        /// The nonce of a further chunk that was sent with an unknown outcome.
        tried: Option<String>,
    },
    /// The response can no longer be changed.
    Closed,
}

impl OpenCommands {
    /// Notes a command before its commit, because the reply can come at once.
    pub(crate) fn insert(
        &self,
        id: InteractionId,
        application: ApplicationId,
        token: &str,
        is_ephemeral: bool,
        now: Duration,
    ) -> Arc<OpenCommand> {
        let (token, state) = (token.to_owned(), tokio::sync::Mutex::new(AnswerState::Open));
        let command = OpenCommand { id, application, token, is_ephemeral, received: now, state };
        let command = Arc::new(command);
        let mut commands = self.commands();
        commands.retain(|_, known| now.saturating_sub(known.received) < TOKEN_LIFETIME);
        commands.insert(id, command.clone());
        command
    }

    pub(crate) fn remove(&self, id: InteractionId) {
        self.commands().remove(&id);
    }

    /// Returns the command that a chunk answers, while its token is valid.
    fn answered_by(&self, delivery: &Delivery, now: Duration) -> Option<Arc<OpenCommand>> {
        let id = delivery.content.reply_to.as_ref().and_then(convert::interaction_of)?;
        let command = self.commands().get(&id).cloned()?;
        (now.saturating_sub(command.received) < TOKEN_LIFETIME).then_some(command)
    }

    fn commands(&self) -> MutexGuard<'_, HashMap<InteractionId, Arc<OpenCommand>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenCommand {
    /// Returns `true` if the platform accepts no first response any more.
    fn is_late(&self, now: Duration) -> bool {
        now.saturating_sub(self.received) >= FIRST_RESPONSE
    }

    fn callback(&self) -> Route<'_> {
        Route::InteractionResponse { interaction_id: self.id, token: &self.token }
    }

    fn original(&self) -> Route<'_> {
        Route::WebhookOriginalMessage { application_id: self.application, token: &self.token }
    }

    fn webhook(&self) -> Route<'_> {
        Route::Webhook { application_id: self.application, token: &self.token }
    }

    fn flags(&self) -> MessageFlags {
        let mut flags = MessageFlags::SUPPRESS_EMBEDS;
        flags.set(MessageFlags::EPHEMERAL, self.is_ephemeral);
        flags
    }

    /// Returns the fields of a new message.
    fn message(&self, delivery: &Delivery, text: &str) -> Value {
        let mut message = fields(delivery, text);
        message["flags"] = json!(self.flags());
        message
    }
}

/// Returns the fields that a new message and an edit have in common.
fn fields(delivery: &Delivery, text: &str) -> Value {
    json!({
        "content": text,
        "allowed_mentions": CreateAllowedMentions::new(),
        "components": compose::buttons(&delivery.content.choices),
    })
}

impl Discord {
    /// Answers a command in its place. Returns `None` if the chunk answers no open command; then it
    /// is sent as a message.
    pub(crate) async fn answer_in_place(
        &self,
        delivery: &Delivery,
        text: &str,
    ) -> Result<Option<Receipt>, SendError> {
        let answered = self.commands.answered_by(delivery, self.clock.elapsed());
        let Some(command) = answered else { return Ok(None) };
        let mut state = command.state.lock().await;
        let sent = match &*state {
            AnswerState::Open if command.is_late(self.clock.elapsed()) => return Ok(None),
            AnswerState::Open => self.respond_first(&command, delivery, text).await,
            AnswerState::Deferred => self.edit_response(&command, delivery, text).await,
            AnswerState::Answered { nonce, .. } if *nonce == delivery.nonce => {
                self.edit_response(&command, delivery, text).await
            }
            AnswerState::Answered { tried, .. } => {
                // The platform does not recognise a repeated message here.
                let repeat = delivery.repeat || tried.as_ref() == Some(&delivery.nonce);
                let more = command.message(delivery, &compose::text(&delivery.content, repeat));
                self.rest.send(Method::POST, command.webhook(), &more).await.map(|_| ())
            }
            AnswerState::Closed => return Ok(None),
        };
        match sent {
            Ok(()) => {
                if !matches!(*state, AnswerState::Answered { .. }) {
                    let nonce = delivery.nonce.clone();
                    *state = AnswerState::Answered { nonce, tried: None };
                }
                self.health.works();
                Ok(Some(Receipt { platform_id: None }))
            }
            Err(fault @ RestError::Refused(_)) if !fault.is_about_token() => {
                tracing::debug!(error = %fault, "a command cannot be answered in its place");
                *state = AnswerState::Closed;
                Ok(None)
            }
            Err(fault) => {
                let outcome = self.outcome(&fault);
                if let (AnswerState::Answered { tried, .. }, SendError::Unknown(_)) =
                    (&mut *state, &outcome)
                {
                    *tried = Some(delivery.nonce.clone());
                }
                Err(outcome)
            }
        }
    }

    /// Makes a reply the first response. If an earlier attempt had succeeded, the response is
    /// edited.
    async fn respond_first(
        &self,
        command: &OpenCommand,
        delivery: &Delivery,
        text: &str,
    ) -> Result<(), RestError> {
        let response = json!({ "type": MESSAGE, "data": command.message(delivery, text) });
        let responded = self.rest.send(Method::POST, command.callback(), &response).await;
        match responded {
            Err(fault) if fault.is_refused_with(ALREADY_ACKNOWLEDGED) => {
                self.edit_response(command, delivery, text).await
            }
            responded => responded.map(|_| ()),
        }
    }

    async fn edit_response(
        &self,
        command: &OpenCommand,
        delivery: &Delivery,
        text: &str,
    ) -> Result<(), RestError> {
        let edit = fields(delivery, text);
        self.rest.send(Method::PATCH, command.original(), &edit).await.map(|_| ())
    }

    /// Acknowledges a command whose reply takes long, and deletes the acknowledgement if there is
    /// no reply at all.
    pub(crate) async fn acknowledge_if_late(&self, command: Arc<OpenCommand>) {
        self.clock.sleep(DEFER_AFTER).await;
        if !self.acknowledge(&command).await {
            return;
        }
        self.clock.sleep(DELETE_AFTER).await;
        let mut state = command.state.lock().await;
        if *state == AnswerState::Deferred {
            *state = AnswerState::Closed;
            let deleted = self.rest.send(Method::DELETE, command.original(), &json!({})).await;
            if let Err(fault) = deleted {
                tracing::debug!(error = %fault, "cannot delete an acknowledgement without a reply");
            }
        }
    }

    /// Acknowledges a command that has no response yet. Returns `true` if it is deferred now.
    async fn acknowledge(&self, command: &OpenCommand) -> bool {
        let mut state = command.state.lock().await;
        if *state != AnswerState::Open {
            return false;
        }
        let ephemeral = MessageFlags::EPHEMERAL & command.flags();
        let response = json!({ "type": DEFERRED_MESSAGE, "data": { "flags": ephemeral } });
        let left = FIRST_RESPONSE.saturating_sub(DEFER_AFTER);
        let responding = self.rest.send(Method::POST, command.callback(), &response);
        *state = match within(self.clock.as_ref(), left, responding).await {
            Ok(Ok(_)) => AnswerState::Deferred,
            Ok(Err(fault)) => {
                tracing::debug!(error = %fault, "cannot acknowledge a command");
                AnswerState::Closed
            }
            Err(elapsed) => {
                tracing::debug!(error = %elapsed, "cannot acknowledge a command");
                AnswerState::Closed
            }
        };
        *state == AnswerState::Deferred
    }
}
