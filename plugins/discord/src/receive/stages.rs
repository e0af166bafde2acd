//! The stages of a message and of its edits, in the order of [`InboundStages`]. The platform has no
//! messages of several parts, and a channel keeps its id.

use avocet_channel_kit::{Converted, InboundStages, Taken};
use avocet_protocol::chat::Inbound;
use serenity::model::channel::Message;

use crate::channels::DiscordChannel;
use crate::convert::{MessageVersion, NOT_MENTIONED};
use crate::discord::reactions::ReactionChange;
use crate::gateway::BotIds;

use super::Receiver;

/// The reason for skipping a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// The message is the bot's own. It is not counted.
    Own,
    /// The message is counted under this reason.
    Ignored(&'static str),
}

/// A message, or its edit, on the way into the log.
pub(super) struct MessageStages<'a, 'r> {
    receiver: &'a mut Receiver<'r>,
    bot: BotIds,
    message: &'a Message,
    version: MessageVersion,
    channel_type: DiscordChannel,
    /// `None` if the message is for the agent.
    skipped: Option<SkipReason>,
}

impl<'a, 'r> MessageStages<'a, 'r> {
    pub(super) fn new(
        receiver: &'a mut Receiver<'r>,
        bot: BotIds,
        message: &'a Message,
        version: MessageVersion,
    ) -> Self {
        let channel_type = receiver.channel_type(message.channel_id);
        let skipped = receiver.skip_reason(bot, message, channel_type);
        Self { receiver, bot, message, version, channel_type, skipped }
    }

    fn is_original(&self) -> bool {
        self.version == MessageVersion::Original
    }

    fn is_command(&self) -> bool {
        self.receiver.identity(self.bot).is_command(&self.message.content)
    }

    /// Notes that the context of an accepted message is in the conversation now. Shows that the
    /// message was received, if the bot reacts to messages.
    fn note_accepted(&mut self, inbound: &Inbound) {
        let (receiver, message) = (&mut *self.receiver, self.message);
        let channel = message.channel_id;
        receiver.reactions.forget_chat(&channel);
        receiver.recent.forget_messages(&channel, |id| *id <= message.id);
        receiver.recent.note_context(message.id, inbound.content.earlier.clone());
        let emojis = &receiver.discord.settings.reactions;
        let change = ReactionChange::received(emojis, channel, message.id);
        // A message that is received again may have its answer.
        if let Some(change) = change.filter(|_| !receiver.reacting.has_ended(message.id)) {
            receiver.react(change);
        }
    }
}

impl InboundStages for MessageStages<'_, '_> {
    /// Notes a message of the bot itself, to which people can react. Its edits change nothing.
    fn note_quietly(&mut self) -> bool {
        let is_own = self.skipped == Some(SkipReason::Own);
        if is_own && self.is_original() {
            let channel = self.message.channel_id;
            self.receiver.reactions.note_own(channel, self.message.id);
            if matches!(self.channel_type, DiscordChannel::Thread { .. }) {
                self.receiver.note_spoken(channel);
            }
        }
        is_own
    }

    async fn convert(&mut self) -> Converted {
        if let Some(SkipReason::Ignored(reason)) = self.skipped {
            return Converted::Ignored(reason);
        }
        let (message, channel_type) = (self.message, self.channel_type);
        let receiver = &mut *self.receiver;
        let identity = receiver.identity(self.bot);
        let mut converted = identity.message(message, channel_type, self.version);
        if let Some(heading) = receiver.posts.heading(message, channel_type) {
            converted.put_above(&heading);
        }
        if self.version == MessageVersion::Original && identity.wants_thread(message, channel_type)
        {
            receiver.discord.task_threads.want(message.id, &identity.title(message));
        }
        let roles = receiver.author_roles(message, channel_type).await;
        converted.set_author_roles(roles);
        converted
    }

    /// Sets the messages before a mention in a server. An edit gets those of its original message.
    async fn add_recent_messages(&mut self, message: &mut Converted) {
        if self.is_command() {
            return;
        }
        if !self.is_original() {
            message.set_earlier(self.receiver.recent.find_context(&self.message.id));
        } else if self.channel_type != DiscordChannel::Direct {
            let earlier = self.receiver.messages_before(self.message);
            message.set_earlier(earlier);
        }
    }

    fn add_reactions(&mut self, message: &mut Converted) {
        if self.is_original() && !self.is_command() {
            let Message { channel_id, author, .. } = self.message;
            message.add_earlier(self.receiver.reactions.of_chat(channel_id, author.id.get()));
        }
    }

    fn note_committed(&mut self, message: &Converted, taken: &Taken) {
        if !self.is_original() {
            return;
        }
        self.receiver.unmentioned.pop(&self.message.id);
        match message {
            Converted::Inbound(inbound) if *taken == Taken::Accepted && !self.is_command() => {
                self.note_accepted(inbound);
            }
            Converted::Ignored(NOT_MENTIONED) => {
                self.receiver.note_recent(self.bot, self.message);
                self.receiver.unmentioned.put(self.message.id, ());
            }
            Converted::Inbound(_) | Converted::Unreadable(_) | Converted::Ignored(_) => {}
        }
    }
}
