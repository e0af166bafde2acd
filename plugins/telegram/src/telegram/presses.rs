//! Answers to presses of buttons with a command, such as a decision. What the command says is shown to
//! the presser only, in the answer to the press: a missing right, a late press, a second press.
//!
//! ```text
//! pressed      held, until one of these:
//! refused      the answer says that there is no access
//! reply        the answer shows it; a long one, and one with buttons or files, is a message
//! edit         of the message with the button: the press ends soon, without a text
//! no reply     the press ends after a while, without a text
//! ```
//!
//! The platform takes one answer to a press, and only for a short time. A reply that comes later, and
//! one after a restart, is a message.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use avocet_channel_kit::Styled;
use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{Content, Delivery, Inbound, Receipt};
use avocet_protocol::ids::{ChatId, DedupeKey, PlatformId};
use parking_lot::Mutex;
use serde::de::IgnoredAny;
use teloxide::payloads::AnswerCallbackQuery;
use teloxide::types::CallbackQueryId;
use tokio::sync::Notify;

use crate::Telegram;
use crate::api::ANSWER_LIMIT;
use crate::commands;

/// The time that a press waits for the reply of its command. Apps show it as loading meanwhile.
const HELD_FOR: Duration = Duration::from_secs(10);
/// The time that a press waits after the message with its button has changed. The change shows what
/// the press did, unless the reply to another press is on its way.
const HELD_AFTER_EDIT: Duration = Duration::from_secs(1);
/// UTF-16 units of an answer (Bot API, answerCallbackQuery).
const MAX_ANSWER: usize = 200;
/// UTF-16 units of an answer that disappears by itself. A longer one is an alert.
const MAX_TOAST: usize = 80;

/// The presses that wait for the reply of their command.
#[derive(Debug, Default)]
pub(crate) struct HeldPresses {
    held: Mutex<HashMap<DedupeKey, HeldPress>>,
    changed: Notify,
}

/// A pressed button with a command.
#[derive(Debug, Clone)]
struct HeldPress {
    query: CallbackQueryId,
    chat: ChatId,
    /// The message with the button.
    message: Option<PlatformId>,
    /// The end of the wait, by the clock's `elapsed`.
    until: Duration,
    /// `true` if an answer was sent with an unknown outcome.
    is_tried: bool,
}

impl HeldPresses {
    /// Holds a press before its commit, because the reply can come at once. Returns `false` for a
    /// button without a command, whose press is answered at once.
    pub(crate) fn hold_press(
        &self,
        query: &CallbackQueryId,
        press: &Inbound,
        now: Duration,
    ) -> bool {
        if !commands::is_command(&press.content.text) {
            return false;
        }
        let press_to_hold = HeldPress {
            query: query.clone(),
            chat: press.address.chat.clone(),
            message: press.content.pressed.clone(),
            until: now + HELD_FOR,
            is_tried: false,
        };
        self.held.lock().entry(press.key.clone()).or_insert(press_to_hold);
        self.changed.notify_one();
        true
    }

    /// Removes a press that its command does not answer.
    pub(crate) fn remove_press(&self, press: &DedupeKey) {
        self.held.lock().remove(press);
    }

    /// Returns `true` if a chunk is shown in the answer to a press, which needs no turn.
    pub(crate) fn is_answered_by(&self, delivery: &Delivery) -> bool {
        let press = delivery.content.reply_to.as_ref();
        press.is_some_and(|press| self.held.lock().contains_key(press))
            && answer_text(delivery).is_some()
    }

    /// Ends the presses below a message soon, because the message has changed.
    fn end_soon(&self, chat: &ChatId, message: &PlatformId, now: Duration) {
        let until = now + HELD_AFTER_EDIT;
        for press in self.held.lock().values_mut() {
            if press.chat == *chat && press.message.as_ref() == Some(message) {
                press.until = press.until.min(until);
            }
        }
        self.changed.notify_one();
    }

    fn note_tried(&self, press: &DedupeKey) {
        if let Some(press) = self.held.lock().get_mut(press) {
            press.is_tried = true;
        }
    }

    /// Removes a press whose wait has ended. The error is the end of the next wait, if there is one.
    fn take_ended(&self, now: Duration) -> Result<CallbackQueryId, Option<Duration>> {
        let mut held = self.held.lock();
        let first = held.iter().min_by_key(|(_, press)| press.until);
        let (key, until) = first.map(|(key, press)| (key.clone(), press.until)).ok_or(None)?;
        if until > now {
            return Err(Some(until));
        }
        held.remove(&key).map(|ended| ended.query).ok_or(None)
    }
}

/// Returns the text of a chunk if the answer to a press can show it.
fn answer_text(delivery: &Delivery) -> Option<String> {
    let Delivery { content, shown_as, .. } = delivery;
    let Content { choices, attachments, poll, .. } = content;
    if shown_as.is_some() || !choices.is_empty() || !attachments.is_empty() || poll.is_some() {
        return None;
    }
    let text = Styled::from_content(content).text;
    (text.encode_utf16().count() <= MAX_ANSWER).then_some(text)
}

impl Telegram {
    /// Shows a chunk in the answer to its press. Returns `None` if the chunk has to be a message.
    pub(crate) async fn answer_press(
        &self,
        delivery: &Delivery,
    ) -> Option<Result<Receipt, SendError>> {
        let key = delivery.content.reply_to.as_ref()?;
        let press = self.presses.held.lock().get(key).cloned()?;
        let Some(text) = answer_text(delivery) else {
            self.presses.remove_press(key);
            self.end_press(press.query, None).await;
            return None;
        };
        let (clock, answer) = (self.clock.as_ref(), query_answer(press.query, Some(text)));
        match self.api.call_within(clock, ANSWER_LIMIT, answer).await {
            Ok(IgnoredAny) => {}
            Err(fault) if fault.has_code(400) => {
                self.presses.remove_press(key);
                tracing::debug!(error = %fault, "a press cannot be answered any more");
                if !press.is_tried {
                    return None;
                }
            }
            Err(fault) => {
                let outcome = self.outcome(&fault);
                if !matches!(outcome, SendError::Unknown(_)) {
                    return Some(Err(outcome));
                }
                // A second answer does nothing, so the first one is repeated without a mark.
                self.presses.note_tried(key);
                return Some(Err(SendError::Failed(fault.to_string())));
            }
        }
        self.presses.remove_press(key);
        Some(Ok(Receipt { platform_id: None }))
    }

    /// Notes that a chunk has arrived. An edit may show what a press did.
    pub(crate) fn note_pressed_message(&self, delivery: &Delivery) {
        if let Some(message) = &delivery.shown_as {
            let chat = &delivery.address.chat;
            self.presses.end_soon(chat, message, self.clock.elapsed());
        }
    }

    /// Ends the presses whose command has no reply.
    pub(crate) async fn keep_ending_presses(&self) -> Infallible {
        loop {
            let now = self.clock.elapsed();
            match self.presses.take_ended(now) {
                Ok(query) => self.end_press(query, None).await,
                Err(None) => self.presses.changed.notified().await,
                Err(Some(until)) => tokio::select! {
                    () = self.clock.sleep(until.saturating_sub(now)) => {}
                    () = self.presses.changed.notified() => {}
                },
            }
        }
    }

    /// Ends the loading indicator of a button, with a text for its presser if there is one.
    pub(crate) async fn end_press(&self, query: CallbackQueryId, text: Option<String>) {
        let (clock, answer) = (self.clock.as_ref(), query_answer(query, text));
        let answered: Result<IgnoredAny, _> =
            self.api.call_with_repeats(clock, ANSWER_LIMIT, answer).await;
        if let Err(error) = answered {
            tracing::debug!(%error, "cannot answer a button press");
        }
    }
}

/// The request that answers a press, with a text for its presser if there is one.
fn query_answer(query: CallbackQueryId, text: Option<String>) -> AnswerCallbackQuery {
    let mut answer = AnswerCallbackQuery::new(query);
    let is_long = |text: &String| text.encode_utf16().count() > MAX_TOAST;
    answer.show_alert = text.as_ref().filter(|text| is_long(text)).map(|_| true);
    answer.text = text;
    answer
}
