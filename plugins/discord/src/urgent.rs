//! Processes commands before missed messages: `/stop` has to work even while a channel's history
//! cannot be read (F11).

use avocet_channel_kit::Stopped;
use serenity::model::channel::Message;

use crate::convert::MessageVersion;
use crate::gaps::SAID;
use crate::gateway::{Live, Me};
use crate::misread;
use crate::receive::Receiver;

impl Receiver<'_> {
    /// Returns the command in a live event, if it is one of ours.
    pub(crate) fn command_in(&self, me: Me, live: &Live) -> Option<Message> {
        let text = live.data["content"].as_str().filter(|_| live.name == SAID)?;
        if !self.bot(me).is_command(text) {
            return None;
        }
        misread::message(&live.data)
    }

    /// Processes a command that is held back. It also stays in its place in the history, and no
    /// cursor passes it before; then the log recognises it by its key.
    pub(crate) async fn hear_at_once(&self, me: Me, command: &Message) -> Result<(), Stopped> {
        let Some(place) = self.places.get(command.channel_id) else { return Ok(()) };
        if self.why_not(me, command, place).is_some() {
            return Ok(());
        }
        let converted = self.bot(me).message(command, place, MessageVersion::Original);
        self.intake.take(converted, None).await.map(drop)
    }
}
