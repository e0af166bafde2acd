//! Publishes converted events to the bus, and counts refused ones under a reason.

use avocet_channel_kit::unreadable;
use avocet_protocol::{Cursor, Inbound};

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
            Converted::Unreadable(inbound) => {
                self.decline(&inbound).await?;
                Some("without text")
            }
        };
        match ignored {
            Some(reason) => self.ignore(reason, cursor).await,
            None => Ok(()),
        }
    }

    /// Publishes a message. Returns the reason if the bus refuses it.
    async fn publish(
        &self,
        inbound: Inbound,
        cursor: Option<Cursor>,
    ) -> Result<Option<&'static str>, Stopped> {
        let publishing = || self.context.publish.publish(inbound.clone(), cursor.clone());
        Ok(match committed(self.context, publishing).await? {
            Ok(_) => None,
            Err(refusal) => {
                tracing::info!(%refusal, "a message was not taken");
                Some(refusal.counted_as())
            }
        })
    }

    /// Tells a permitted sender once that their message contains nothing to read.
    async fn decline(&self, inbound: &Inbound) -> Result<(), Stopped> {
        let line = unreadable("an empty one, or one whose content Discord does not show me");
        let declining = || self.context.publish.decline(inbound.clone(), line.clone());
        if let Err(refusal) = committed(self.context, declining).await? {
            tracing::info!(%refusal, "the sender was not told that a message cannot be read");
        }
        Ok(())
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
