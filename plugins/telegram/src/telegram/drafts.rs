//! Drafts: answers that a private chat shows while they are written. `sendMessageDraft` came with
//! Bot API 9.3, and all bots may use it since 9.5. teloxide does not know this method.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use avocet_channel_kit::Styled;
use avocet_protocol::chat::{ChatAddress, Content, DraftError};
use avocet_protocol::ids::TurnId;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::IgnoredAny;
use teloxide::requests::Payload;
use teloxide::types::{ChatId, MessageEntity, ThreadId, True};

use crate::Telegram;
use crate::api::ANSWER_LIMIT;
use crate::compose::entities_of;
use crate::fault::BotApiError;
use crate::topic;

/// The pause before another draft if the rate limits have no room.
const PAUSE: Duration = Duration::from_secs(1);
/// Lifetime of a draft (Bot API, sendMessageDraft).
const DRAFT_KEPT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct BotDrafts {
    /// `false` by configuration, or once the server has refused the method: it is an older server,
    /// or bots may not send drafts.
    are_possible: AtomicBool,
    /// The time of the last draft in each chat that may show one.
    shown: Mutex<BTreeMap<ChatAddress, Duration>>,
}

impl BotDrafts {
    pub(crate) fn new(are_possible: bool) -> Self {
        Self { are_possible: AtomicBool::new(are_possible), shown: Mutex::default() }
    }

    /// Returns `true` if the chat shows a draft, which needs no typing indicator.
    pub(crate) fn is_shown(&self, chat: &ChatAddress, now: Duration) -> bool {
        self.shown.lock().get(chat).is_some_and(|shown| now < *shown + DRAFT_KEPT)
    }

    /// Notes that a message has replaced the draft.
    pub(crate) fn end(&self, chat: &ChatAddress) {
        self.shown.lock().remove(chat);
    }

    fn note(&self, chat: &ChatAddress, now: Duration) {
        let mut shown = self.shown.lock();
        shown.retain(|_, at| now < *at + DRAFT_KEPT);
        shown.insert(chat.clone(), now);
    }
}

/// The request (Bot API, sendMessageDraft).
#[derive(Debug, Clone, Serialize)]
struct SendMessageDraft {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<ThreadId>,
    /// Not zero. The platform animates the changes of a draft with the same number.
    draft_id: i64,
    text: String,
    entities: Vec<MessageEntity>,
    /// `true` to show a button that stops the answer (Bot API 10.3). Older servers ignore both fields.
    can_stop: bool,
    /// `true` to show the draft after the button was pressed, until the bot sends the message.
    keep_on_stop: bool,
}

impl Payload for SendMessageDraft {
    type Output = True;
    const NAME: &'static str = "SendMessageDraft";
}

impl Telegram {
    /// Returns `true` for a private chat if drafts are on and the server knows them.
    pub(crate) fn may_draft(&self, chat: &ChatAddress) -> bool {
        self.drafts.are_possible.load(Ordering::Relaxed)
            && self.place(chat).is_ok_and(|place| place.chat.is_user())
    }

    /// Shows a draft in a private chat. Once the server has refused the method, the bot sends no
    /// more drafts until its next start.
    pub(crate) async fn send_draft(
        &self,
        chat: &ChatAddress,
        turn: TurnId,
        content: &Content,
    ) -> Result<(), DraftError> {
        let now = self.clock.elapsed();
        let Ok(place) = self.place(chat) else { return Err(DraftError::Unsupported) };
        if !self.may_draft(chat) || self.lost_topics.get(chat, now).is_some() {
            return Err(DraftError::Unsupported);
        }
        if !self.pace.spare_request(&chat.chat) {
            return Err(DraftError::Later(PAUSE));
        }
        let text = Styled::from_content(content);
        let entities = entities_of(&text).map_err(|_| DraftError::Unsupported)?;
        let request = SendMessageDraft {
            chat_id: place.chat,
            message_thread_id: topic::thread_of_chat(chat),
            draft_id: turn.0,
            text: text.text,
            entities,
            can_stop: true,
            keep_on_stop: true,
        };
        let clock = self.clock.as_ref();
        match self.api.call_within::<IgnoredAny, _>(clock, ANSWER_LIMIT, request).await {
            Ok(_) => {
                self.drafts.note(chat, now);
                Ok(())
            }
            Err(fault) => Err(self.draft_error(&fault)),
        }
    }

    fn draft_error(&self, fault: &BotApiError) -> DraftError {
        match fault {
            BotApiError::Wait(wait) => DraftError::Later(*wait),
            fault if fault.is_unsupported() => {
                self.drafts.are_possible.store(false, Ordering::Relaxed);
                tracing::info!(account = %self.account, error = %fault, "the server shows no \
                    drafts; growing answers are messages until the next start");
                DraftError::Unsupported
            }
            // The chat is the cause, and the preview message shows it.
            fault if fault.has_code(400) || fault.has_code(403) => DraftError::Unsupported,
            fault => DraftError::Failed(fault.to_string()),
        }
    }
}
