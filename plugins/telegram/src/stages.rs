//! The stages of an update, in the order of [`InboundStages`].

use avocet_channel_kit::{Converted, InboundStages, Intake, Stopped, Taken};

use crate::bot::{Audience, BotIdentity};
use crate::convert::{NOT_MENTIONED, convert_for};
use crate::last_parts::ContinuedMessage;
use crate::moved::GroupMove;
use crate::telegram::user_reactions::{ReactionUpdate, ReceivedMessage};
use crate::update::Update;
use crate::{Telegram, album, greeting};

/// An update, or those of an album, on the way into the log.
pub(crate) struct UpdateStages<'a> {
    telegram: &'a Telegram,
    intake: Intake<'a>,
    bot: BotIdentity<'a>,
    /// The first one of `updates`.
    update: &'a Update,
    updates: &'a [Update],
    audience: Audience,
    /// The message of which this one is a further part.
    continued: Option<ContinuedMessage>,
    /// The message that gets the reactions of its chat; `None` if the update is no such message.
    received: Option<ReceivedMessage>,
}

impl<'a> UpdateStages<'a> {
    pub(crate) fn new(
        telegram: &'a Telegram,
        intake: Intake<'a>,
        bot: BotIdentity<'a>,
        update: &'a Update,
        updates: &'a [Update],
        audience: Audience,
    ) -> Self {
        let continued = telegram.last_parts.find_continued(update);
        Self { telegram, intake, bot, update, updates, audience, continued, received: None }
    }

    /// Records a move in the log and tells the operator once. The platform reports it in both
    /// chats.
    async fn record_move(&self, moved: GroupMove) -> Result<(), Stopped> {
        let Telegram { name, account, moves, .. } = self.telegram;
        if moves.knows(moved) {
            return Ok(());
        }
        self.intake.move_cursor(moved.cursor()).await?;
        moves.note_move(moved);
        let GroupMove { from, to } = moved;
        if moves.is_named(to) {
            tracing::info!(
                %account,
                "the group {from} is now the supergroup {to}, which [channels.{name}] groups \
                    names: it is a separate chat"
            );
        } else {
            tracing::warn!(
                %account,
                "the group {from} is now the supergroup {to} and continues as {from}, with the \
                    same conversation and rules; for a new conversation, name {to} in \
                    [channels.{name}] groups"
            );
        }
        Ok(())
    }
}

impl InboundStages for UpdateStages<'_> {
    fn find_known_part(&mut self) -> Option<&'static str> {
        let parts = &self.telegram.kept_parts;
        let are_known = self.updates.iter().all(|update| parts.has_joined(update));
        are_known.then_some("a known part of a message")
    }

    async fn follow_move(&mut self) -> Result<Option<&'static str>, Stopped> {
        if let Some(change) = greeting::read_membership(self.update) {
            if let Ok(Some((inbound, text))) =
                greeting::read_greeting(&self.bot, self.update, change)
            {
                self.intake.greet_group(&inbound, &text).await?;
            }
            return Ok(Some("a change of the bot's membership"));
        }
        let Some(moved) = GroupMove::read(self.update) else { return Ok(None) };
        self.record_move(moved).await?;
        Ok(Some("a group that moved"))
    }

    fn note_quietly(&mut self) -> bool {
        let reaction = ReactionUpdate::read(self.update);
        if let Some(reaction) = &reaction {
            self.telegram.note_user_reaction(reaction);
        }
        reaction.is_some()
    }

    fn find_aside(&mut self) -> Option<&'static str> {
        self.update.checklist_change.as_ref().map(|_| "a change of a checklist")
    }

    fn note_aside(&mut self) {
        let chat = self.bot.reading(self.update).address_of(self.update);
        if let Some((chat, change)) = chat.zip(self.update.checklist_change.as_ref()) {
            self.telegram.checklists.note(chat, change);
        }
    }

    /// The edit of a part becomes a correction of the whole message.
    async fn convert(&mut self) -> Converted {
        if let Some(edited) = self.telegram.joined.edit(self.update) {
            return edited.convert(&self.bot);
        }
        let mut converted = convert_for(self.audience, &self.bot, self.updates);
        if let Converted::Inbound(message) = &mut converted
            && message.corrects.is_none()
        {
            let hold = album::more_within(self.updates, self.continued.is_some());
            let content = &mut message.content;
            content.continues = self.continued.as_ref().map(|continued| continued.key.clone());
            content.more_within_ms = hold.and_then(|hold| hold.as_millis().try_into().ok());
        }
        converted
    }

    async fn add_recent_messages(&mut self, message: &mut Converted) {
        self.telegram.recent.add_context(message);
    }

    fn add_reactions(&mut self, message: &mut Converted) {
        self.telegram.ephemeral.note_command(message);
        self.received = self.telegram.with_reactions(message);
        if self.received.is_some() {
            self.telegram.checklists.add_changes(message);
        }
    }

    fn note_committed(&mut self, message: &Converted, taken: &Taken) {
        let Telegram { joined, recent, checklists, .. } = self.telegram;
        let is_accepted = *taken == Taken::Accepted;
        if let Some(received) = self.received.take().filter(|_| is_accepted) {
            self.telegram.note_received(&received);
            if let Converted::Inbound(message) = message {
                checklists.forget(&message.address);
            }
        }
        if matches!(taken, Taken::Accepted | Taken::Repeated) {
            joined.note(self.updates);
        }
        self.telegram.last_parts.note_committed(
            self.updates,
            message,
            taken,
            self.continued.as_ref(),
        );
        match message {
            Converted::Inbound(message) if is_accepted => recent.forget_given(message),
            Converted::Ignored(NOT_MENTIONED) => recent.note_messages(&self.bot, self.updates),
            Converted::Inbound(_) | Converted::Unreadable(_) | Converted::Ignored(_) => {}
        }
    }
}
