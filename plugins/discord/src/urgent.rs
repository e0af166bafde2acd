//! Commands do not wait for what was missed: `/stop` has to stop something while a channel's history
//! cannot be read, too (F11).

use serenity::model::channel::Message;

use crate::gaps::SAID;
use crate::gateway::{Live, Me};
use crate::misread;
use crate::receive::{Receiver, Stopped};

impl Receiver<'_> {
    /// The command that comes live, if it is one of ours.
    pub(crate) fn command_in(&self, me: Me, live: &Live) -> Option<Message> {
        let text = live.data["content"].as_str().filter(|_| live.name == SAID)?;
        if !self.bot(me).is_command(text) {
            return None;
        }
        misread::message(&live.data)
    }

    /// Hears a command that waits. It goes on waiting for its place in the history, which no cursor
    /// passes before; by its key the log knows it then.
    pub(crate) async fn hear_at_once(&self, me: Me, command: &Message) -> Result<(), Stopped> {
        let Some(place) = self.places.get(command.channel_id) else { return Ok(()) };
        if self.why_not(me, command, place).is_some() {
            return Ok(());
        }
        self.commit(self.bot(me).message(command, place, false), None).await
    }
}
