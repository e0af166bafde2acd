//! What the bus makes of what was heard: it takes it, or says why not, which is counted.

use avocet_protocol::{Cursor, Inbound, NoCorrection, PublishError};

use crate::Discord;
use crate::commit::committed;
use crate::convert::Converted;
use crate::receive::{Receiver, Stopped};

impl Receiver<'_> {
    pub(crate) async fn commit(
        &self,
        converted: Converted,
        cursor: Option<Cursor>,
    ) -> Result<(), Stopped> {
        let ignored = match converted {
            Converted::Ignored(reason) => Some(reason),
            Converted::Inbound(inbound) => self.publish(*inbound, cursor.clone()).await?,
        };
        match ignored {
            Some(reason) => self.ignore(reason, cursor).await,
            None => Ok(()),
        }
    }

    /// Returns why the message was not taken, if it was not.
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
    ) -> Result<Option<&'static str>, Stopped> {
        let publishing = || self.context.publish.publish(inbound.clone(), cursor.clone());
        Ok(match committed(self.context, publishing).await? {
            Ok(_) => None,
            Err(PublishError::NotAllowed { sender, .. }) => {
                tracing::info!(sender, "not on the allow-list");
                Some("not allowed")
            }
            Err(PublishError::Empty) => Some("empty"),
            Err(PublishError::TooLong { .. }) => Some("too long"),
            Err(PublishError::BotTooOften { .. }) => Some("of a bot, too often"),
            Err(PublishError::NoCorrection(why)) => Some(no_correction(why)),
            Err(error) => {
                tracing::warn!(%error, "a message was refused");
                Some("refused")
            }
        })
    }

    pub(crate) async fn ignore(&self, reason: &str, cursor: Option<Cursor>) -> Result<(), Stopped> {
        let Discord { name, account, .. } = self.discord;
        let ignoring = || self.context.publish.ignore(name, account, reason, cursor.clone());
        if let Err(error) = committed(self.context, ignoring).await? {
            tracing::warn!(%error, "an event was not counted");
        }
        Ok(())
    }

    pub(crate) async fn move_to(&self, cursor: Cursor) -> Result<(), Stopped> {
        let Discord { name, account, .. } = self.discord;
        let moving = || self.context.publish.move_cursor(name, account, cursor.clone());
        if let Err(error) = committed(self.context, moving).await? {
            tracing::warn!(%error, "a cursor was not moved");
        }
        Ok(())
    }
}

fn no_correction(why: NoCorrection) -> &'static str {
    match why {
        NoCorrection::Unknown => "an edit of the unknown",
        NoCorrection::Answered => "an edit too late",
        NoCorrection::Command => "an edit of a command",
    }
}
