//! A delivery attempt: a chunk's text and destination, adapted to refusals of the platform.

use avocet_channel_kit::Styled;
use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{ChatAddress, Delivery, REPEAT_MARK, Receipt};
use avocet_protocol::ids::PlatformId;
use teloxide::types::{ChatId, MessageEntity, ReplyParameters, ThreadId};

use crate::Telegram;
use crate::api::MessageReceipt;
use crate::compose::entities_of;
use crate::direct_topics::{DirectTopic, InDirectTopic};
use crate::fault::BotApiError;
use crate::moved::{ChatPlace, MessageNumber};
use crate::topic::{self, TopicLoss};

/// Characters of a message reserved for the lines that may be put above the text.
pub(crate) const LINES_ABOVE: usize = REPEAT_MARK.len() + 1 + TopicLoss::LONGEST_LINE + 1;

/// An attempt to deliver a chunk.
pub(crate) struct Attempt<'a> {
    pub(crate) delivery: &'a Delivery,
    /// The message to edit; `None` to send a new one.
    pub(crate) edited: Option<MessageNumber>,
    pub(crate) place: ChatPlace,
    /// The reason why the message goes to the main chat instead of its topic.
    pub(crate) lost: Option<TopicLoss>,
    pub(crate) text: Styled,
    pub(crate) entities: Vec<MessageEntity>,
}

impl<'a> Attempt<'a> {
    /// # Errors
    /// [`SendError`] if the chat, a link, or the id of the message to edit is invalid.
    pub(crate) fn new(telegram: &Telegram, delivery: &'a Delivery) -> Result<Self, SendError> {
        let number = |shown| MessageNumber::of_sent(shown).ok_or(SendError::Gone);
        let edited = delivery.shown_as.as_ref().map(number).transpose()?;
        let lost = match edited {
            Some(number) => number.lost,
            None => telegram.lost_topics.get(&delivery.address, telegram.clock.elapsed()),
        };
        let place = telegram.place(&delivery.address)?;
        let text = Styled::default();
        let attempt = Self { delivery, edited, place, lost, text, entities: Vec::new() };
        attempt.composed()
    }

    /// Composes the text of the message with its extra lines.
    fn composed(mut self) -> Result<Self, SendError> {
        let Self { delivery, edited, lost, .. } = &self;
        let mut text = Styled::from_content(&delivery.content);
        if let Some(lost) = lost {
            text = below(lost.line(), text);
        }
        if delivery.repeat && edited.is_none() {
            text = below(REPEAT_MARK, text);
        }
        self.entities = entities_of(&text)?;
        self.text = text;
        Ok(self)
    }

    pub(crate) fn topic(&self) -> Option<ThreadId> {
        topic::thread_of_chat(&self.delivery.address).filter(|_| self.lost.is_none())
    }

    /// Adds the topic of direct messages to a request.
    pub(crate) fn in_topic<P>(&self, payload: P) -> InDirectTopic<P> {
        let direct_messages_topic_id = DirectTopic::from_chat(&self.delivery.address);
        InDirectTopic { payload, direct_messages_topic_id }
    }

    /// The message to reply to. `None` if that message was left behind in a moved group, or if this
    /// one goes outside of its topic: a reply would put it back there. If that message was deleted,
    /// the platform sends this one without the reply.
    pub(crate) fn reply_to(&self) -> Option<ReplyParameters> {
        let key = self.delivery.content.reply_to.as_ref().filter(|_| self.lost.is_none())?;
        let replied = self.place.message(MessageNumber::of_received(key)?)?;
        Some(ReplyParameters::new(replied).allow_sending_without_reply())
    }

    /// The receipt for the message that the platform has made.
    pub(crate) fn receipt(&self, MessageReceipt { id }: MessageReceipt) -> Receipt {
        let in_supergroup = self.place.moved;
        let number = id.map(|id| MessageNumber { id, in_supergroup, lost: self.lost });
        // An edited message keeps its id.
        let number = number.or(self.edited);
        let platform_id = number.and_then(|number| PlatformId::parse(&number.to_string()).ok());
        Receipt { platform_id }
    }

    /// Changes the part that the platform refused, if another may work: the chat, the formatting
    /// (F23), or the topic.
    ///
    /// # Errors
    /// The outcome of the send, if every change has been tried.
    pub(crate) fn adapt(
        mut self,
        telegram: &Telegram,
        fault: &BotApiError,
    ) -> Result<Self, SendError> {
        match (fault, TopicLoss::from_fault(fault)) {
            (BotApiError::Moved(new), _) if *new != self.place.chat => {
                self.place = ChatPlace::moved_to(*new);
                Ok(self)
            }
            (fault, _) if is_about_formatting(fault) && !self.entities.is_empty() => {
                self.entities.clear();
                Ok(self)
            }
            (_, Some(lost)) if self.topic().is_some() => {
                let now = telegram.clock.elapsed();
                telegram.lost_topics.add(&self.delivery.address, lost, now);
                self.lost = Some(lost);
                self.composed()
            }
            _ => Err(telegram.outcome(fault)),
        }
    }
}

impl Telegram {
    /// The platform's chat for an address.
    pub(crate) fn place(&self, chat: &ChatAddress) -> Result<ChatPlace, SendError> {
        let chat = chat.chat.as_str();
        let unknown = |_| format!("{chat} is not a chat of Telegram: it is not a number");
        let chat = chat.parse().map(ChatId).map_err(unknown).map_err(SendError::Refused)?;
        Ok(self.moves.place(chat))
    }
}

/// Returns `true` if the refusal is about the formatting, rather than the message.
fn is_about_formatting(fault: &BotApiError) -> bool {
    fault.has_code(400) && fault.contains("entit")
}

/// Puts a line above a text.
fn below(line: &str, text: Styled) -> Styled {
    let line = format!("{line}\n");
    let mut styles = text.styles;
    for range in &mut styles {
        range.start += line.len();
        range.end += line.len();
    }
    Styled { text: line + &text.text, styles }
}
