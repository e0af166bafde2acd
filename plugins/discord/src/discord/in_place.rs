//! Answers to slash commands, in place of the command: the reply in the log becomes the response to
//! the interaction. The token of an interaction is valid for 15 minutes, and only memory holds it.
//! Later, and after a restart, the reply is a normal message. A reply that only the caller may see
//! is never sent as a normal message: a note replaces it.

mod presses;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use avocet_channel_kit::ANSWER_NOT_SHOWN;
use avocet_protocol::LruMap;
use avocet_protocol::channel::SendError;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{Content, Delivery, Receipt};
use avocet_protocol::clock::{Clock, Timestamp, within};
use parking_lot::Mutex;
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
/// The validity of a token at the platform, 15 minutes, minus the time for a request.
const TOKEN_LIFETIME: Duration = Duration::from_secs(15 * 60 - 30);

/// Codes of refusals (Discord API, "JSON Error Codes").
const ALREADY_ACKNOWLEDGED: isize = 40_060;
/// There is no response yet.
const UNKNOWN_WEBHOOK: isize = 10_015;
const UNKNOWN_MESSAGE: isize = 10_008;

/// Largest number of commands whose note is remembered.
const MAX_NOTED: usize = 1000;

/// Types of responses (Discord API, "Interaction Callback Type").
const MESSAGE: u8 = 4;
const DEFERRED_MESSAGE: u8 = 5;

/// The commands of this run that have no complete answer yet.
#[derive(Debug, Default)]
pub(crate) struct CommandAnswers {
    open: Mutex<HashMap<InteractionId, Arc<CommandAnswer>>>,
    /// Commands whose answer was replaced by [`ANSWER_NOT_SHOWN`].
    noted: Mutex<LruMap<InteractionId, (), MAX_NOTED>>,
}

/// A called slash command.
pub(crate) struct CommandAnswer {
    id: InteractionId,
    application: ApplicationId,
    token: String,
    /// `true` if only the caller sees the answer.
    is_ephemeral: bool,
    /// The time of the clock's `elapsed`.
    received: Duration,
    /// The time from the call to `received`.
    age: Duration,
    state: tokio::sync::Mutex<AnswerState>,
}

/// Leaves out the token, with which anyone can answer.
impl std::fmt::Debug for CommandAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandAnswer").field("id", &self.id).finish_non_exhaustive()
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
        /// `false` if the response was sent with an unknown outcome.
        is_confirmed: bool,
        /// The nonce of a further chunk that was sent with an unknown outcome.
        tried: Option<String>,
    },
    /// The response can no longer be changed.
    Closed,
}

impl CommandAnswers {
    /// Notes a command before its commit, because the reply can come at once. Returns `None` for a
    /// known command: the platform repeats events after a broken connection.
    pub(crate) fn insert(
        &self,
        id: InteractionId,
        application: ApplicationId,
        token: &str,
        is_ephemeral: bool,
        clock: &dyn Clock,
    ) -> Option<Arc<CommandAnswer>> {
        let (token, state) = (token.to_owned(), tokio::sync::Mutex::new(AnswerState::Open));
        let now = clock.elapsed();
        let called = id.created_at();
        let called = called.unix_timestamp() * 1000 + i64::from(called.millisecond());
        let age = Timestamp(called).until(clock.now());
        let age = if age < FIRST_RESPONSE { age } else { Duration::ZERO };
        let command =
            CommandAnswer { id, application, token, is_ephemeral, received: now, age, state };
        let command = Arc::new(command);
        let mut commands = self.open.lock();
        commands.retain(|_, known| now.saturating_sub(known.received) < TOKEN_LIFETIME);
        let Entry::Vacant(free) = commands.entry(id) else { return None };
        Some(free.insert(command).clone())
    }

    pub(crate) fn remove(&self, id: InteractionId) {
        self.open.lock().remove(&id);
    }

    /// Returns the command that a chunk answers, while its token is valid.
    fn answered_by(&self, delivery: &Delivery, now: Duration) -> Option<Arc<CommandAnswer>> {
        let id = delivery.content.reply_to.as_ref().and_then(convert::interaction_of)?;
        let command = self.open.lock().get(&id).cloned()?;
        (now.saturating_sub(command.received) < TOKEN_LIFETIME).then_some(command)
    }
}

impl AnswerState {
    /// Notes that a chunk arrived.
    fn confirm(&mut self, sent: &str) {
        match self {
            Self::Answered { nonce, is_confirmed, .. } => *is_confirmed |= nonce == sent,
            _ => *self = Self::answered(sent, true),
        }
    }

    /// Notes that a chunk was sent with an unknown outcome.
    fn note_unknown(&mut self, sent: &str) {
        match self {
            Self::Open => *self = Self::answered(sent, false),
            Self::Answered { nonce, tried, .. } if nonce != sent => *tried = Some(sent.to_owned()),
            _ => {}
        }
    }

    /// Returns `true` if a further chunk was sent before with an unknown outcome.
    fn was_tried(&self, sent: &str) -> bool {
        matches!(self, Self::Answered { tried: Some(tried), .. } if tried == sent)
    }

    fn answered(nonce: &str, is_confirmed: bool) -> Self {
        Self::Answered { nonce: nonce.to_owned(), is_confirmed, tried: None }
    }
}

impl CommandAnswer {
    /// Returns `true` if the platform accepts no first response any more.
    fn is_late(&self, now: Duration) -> bool {
        now.saturating_sub(self.received) >= FIRST_RESPONSE
    }

    /// Returns the time until an acknowledgement is due. The time since the call counts, too, but
    /// an age at which the platform accepts no response comes from clocks that differ.
    fn defer_in(&self, now: Duration) -> Duration {
        let waited = now.saturating_sub(self.received);
        DEFER_AFTER.saturating_sub(self.age + waited)
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
    /// Sends a chunk as a response to its command. Returns `None` if the chunk answers no open
    /// command, and has to be sent as a message.
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
            AnswerState::Answered { nonce, is_confirmed, .. } if *nonce == delivery.nonce => {
                self.repeat_response(&command, delivery, text, *is_confirmed).await
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
                state.confirm(&delivery.nonce);
                self.health.works();
                Ok(Some(Receipt { platform_id: None }))
            }
            Err(fault @ RestError::Refused(_)) if !fault.is_about_token() => {
                tracing::debug!(error = %fault, "a command cannot be answered in its place");
                *state = AnswerState::Closed;
                Ok(None)
            }
            Err(fault) => match self.outcome(&fault) {
                SendError::Unknown(_) if state.was_tried(&delivery.nonce) => {
                    tracing::info!(error = %fault, "a part of an answer was sent twice, each time \
                        with an unknown outcome; not sending it again");
                    Ok(Some(Receipt { platform_id: None }))
                }
                outcome @ SendError::Unknown(_) => {
                    state.note_unknown(&delivery.nonce);
                    Err(outcome)
                }
                outcome => Err(outcome),
            },
        }
    }

    /// Returns `true` if an earlier run may have shown this answer in place of its command.
    pub(crate) fn may_be_answered(&self, delivery: &Delivery) -> bool {
        let id = delivery.content.reply_to.as_ref().and_then(convert::interaction_of);
        let is_unknown = |id| !self.commands.open.lock().contains_key(&id);
        delivery.first_sent_at.is_some() && id.is_some_and(is_unknown)
    }

    /// Edits the response, which may have an unknown outcome. If it never arrived, it is sent again
    /// while the platform accepts a first response.
    async fn repeat_response(
        &self,
        command: &CommandAnswer,
        delivery: &Delivery,
        text: &str,
        is_confirmed: bool,
    ) -> Result<(), RestError> {
        let edited = self.edit_response(command, delivery, text).await;
        let is_missing = |fault: &RestError| {
            [UNKNOWN_WEBHOOK, UNKNOWN_MESSAGE].iter().any(|code| fault.is_refused_with(*code))
        };
        let is_late = command.is_late(self.clock.elapsed());
        if is_confirmed || is_late || !edited.as_ref().is_err_and(is_missing) {
            return edited;
        }
        self.respond_first(command, delivery, text).await
    }

    /// Sends a note instead of an answer that only its caller may see, once for each command.
    /// Returns `None` for other deliveries.
    pub(crate) async fn note_unshown(
        &self,
        delivery: &Delivery,
    ) -> Result<Option<Receipt>, SendError> {
        let key = delivery.content.reply_to.as_ref().filter(|key| convert::is_ephemeral(key));
        let Some(id) = key.and_then(convert::interaction_of) else { return Ok(None) };
        if self.commands.noted.lock().contains(&id) {
            return Ok(Some(Receipt { platform_id: None }));
        }
        let content = notices::LateAnswer.for_reader(readers::EVERYBODY, ANSWER_NOT_SHOWN);
        let content = Content { reply_to: None, ..content };
        let nonce = format!("note{id}");
        let note = Delivery { content, nonce, files: Vec::new(), ..delivery.clone() };
        let channel = self.target(&delivery.address).await?;
        let sent = self.create(channel, &note, ANSWER_NOT_SHOWN, note.nonce.clone()).await?;
        self.commands.noted.lock().put(id, ());
        Ok(Some(sent.to_receipt()))
    }

    /// Makes a reply the first response. If an earlier attempt had succeeded, the response is
    /// edited.
    async fn respond_first(
        &self,
        command: &CommandAnswer,
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
        command: &CommandAnswer,
        delivery: &Delivery,
        text: &str,
    ) -> Result<(), RestError> {
        let edit = fields(delivery, text);
        self.rest.send(Method::PATCH, command.original(), &edit).await.map(|_| ())
    }

    /// Commits a command, and acknowledges it if the commit takes long.
    pub(crate) async fn acknowledge_during<T>(
        &self,
        command: &CommandAnswer,
        commit: impl Future<Output = T>,
    ) -> T {
        let mut commit = std::pin::pin!(commit);
        let late = self.clock.sleep(command.defer_in(self.clock.elapsed()));
        tokio::select! {
            biased;
            done = &mut commit => return done,
            () = late => {}
        }
        tokio::join!(commit, self.acknowledge(command)).0
    }

    /// Replaces the acknowledgement of a refused command. Returns `false` if there is none.
    pub(crate) async fn replace_acknowledgement(
        &self,
        command: &CommandAnswer,
        text: &str,
    ) -> bool {
        let state = command.state.lock().await;
        if *state != AnswerState::Deferred {
            return false;
        }
        let edit = json!({ "content": text, "allowed_mentions": CreateAllowedMentions::new() });
        let edited = self.rest.send(Method::PATCH, command.original(), &edit).await;
        if let Err(fault) = edited {
            tracing::debug!(error = %fault, "cannot answer a refused command");
        }
        true
    }

    /// Acknowledges a command whose reply takes long. Deletes the acknowledgement if no reply
    /// comes.
    pub(crate) async fn acknowledge_if_late(&self, command: Arc<CommandAnswer>) {
        self.clock.sleep(command.defer_in(self.clock.elapsed())).await;
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
    async fn acknowledge(&self, command: &CommandAnswer) -> bool {
        let mut state = command.state.lock().await;
        if *state != AnswerState::Open {
            return *state == AnswerState::Deferred;
        }
        let ephemeral = MessageFlags::EPHEMERAL & command.flags();
        let response = json!({ "type": DEFERRED_MESSAGE, "data": { "flags": ephemeral } });
        let left = FIRST_RESPONSE.saturating_sub(DEFER_AFTER);
        let responding = self.rest.send(Method::POST, command.callback(), &response);
        *state = match within(self.clock.as_ref(), left, responding).await {
            Ok(Ok(_)) => AnswerState::Deferred,
            Ok(Err(fault)) if fault.is_refused_with(ALREADY_ACKNOWLEDGED) => AnswerState::Deferred,
            // The acknowledgement may have arrived. If it did not, editing it is refused.
            Ok(Err(fault @ (RestError::Server(_) | RestError::Broken(_)))) => {
                tracing::debug!(error = %fault, "an acknowledgement has an unknown outcome");
                AnswerState::Deferred
            }
            Ok(Err(fault)) => {
                tracing::debug!(error = %fault, "cannot acknowledge a command");
                AnswerState::Closed
            }
            Err(elapsed) => {
                tracing::debug!(error = %elapsed, "an acknowledgement has an unknown outcome");
                AnswerState::Deferred
            }
        };
        *state == AnswerState::Deferred
    }
}
