//! The chat message that shows a preview. Its row is logged before the first send, and updated at
//! once with the outcome.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{
    Channel, ChatAddress, Content, Delivery, DeliveryId, LoggedInbound, PlatformId, Receipt,
    SendError, Showing, StoreError, Timestamp, TurnId, within,
};
use avocet_supervise::catch;

use crate::lane::Lanes;

/// Timeout of a channel, after which the outcome is unknown. The turn's end waits for this.
const SHOW_LIMIT: Duration = Duration::from_secs(10);

/// The place where a turn is shown.
#[derive(Clone, Copy)]
pub(super) struct Screen<'l> {
    pub(super) lanes: &'l Lanes,
    pub(super) channel: &'l Arc<dyn Channel>,
    pub(super) turn: TurnId,
    /// The message that it replies to.
    pub(super) to: &'l LoggedInbound,
    pub(super) chat: &'l ChatAddress,
}

/// The state of the preview message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The preview may begin: this run of the turn knows of none.
    Nowhere,
    /// Shown in this message.
    In(DeliveryId, PlatformId),
    /// The preview has ended.
    Over,
}

/// The result of showing content.
pub(super) struct Showed {
    pub(super) place: Place,
    /// Content that the chat shows now; `None` if unchanged.
    pub(super) content: Option<Content>,
    /// Time for which the platform asked to wait.
    pub(super) hold: Option<Duration>,
}

impl Showed {
    fn nothing(place: Place) -> Self {
        Self { place, content: None, hold: None }
    }
}

impl Screen<'_> {
    /// Plans a text with the channel.
    pub(super) fn plan(&self, text: &str) -> Vec<Content> {
        let planned = self.lanes.plan(self.to, &Content::text(text));
        planned.map(|planned| planned.chunks).unwrap_or_default()
    }

    /// Shows content. Always returns, whatever the channel does.
    pub(super) async fn show(self, place: Place, content: Content) -> Showed {
        use avocet_protocol::Preview;
        let outbox = &self.lanes.parts.outbox;
        let (id, platform_id) = match place {
            Place::Over => return Showed::nothing(place),
            Place::In(id, platform_id) => (id, platform_id),
            // A preview that would have to wait is skipped.
            Place::Nowhere if self.spare_turn(&content, None).is_err() => {
                return Showed::nothing(Place::Nowhere);
            }
            Place::Nowhere => match outbox.begin_preview(self.turn, self.chat, &content).await {
                Ok(Preview::Begun { id, nonce }) => return self.begin(id, nonce, content).await,
                Ok(Preview::Shown(id, platform_id)) => (id, platform_id),
                Ok(Preview::Later) => return Showed::nothing(Place::Nowhere),
                Ok(Preview::Over) => return Showed::nothing(Place::Over),
                Err(error) => {
                    tracing::debug!(%error, "there is no preview");
                    let again = error.is_transient();
                    return Showed::nothing(if again { Place::Nowhere } else { Place::Over });
                }
            },
        };
        self.edit(id, platform_id, content).await
    }

    /// Takes a send slot of the platform that messages can spare.
    fn spare_turn(&self, content: &Content, shown_as: Option<&PlatformId>) -> Result<(), Duration> {
        let new = Delivery::new(DeliveryId(0), self.chat.clone(), content.clone());
        self.channel.spare_turn(&Delivery { shown_as: shown_as.cloned(), ..new })
    }

    /// Sends the first message.
    async fn begin(self, id: DeliveryId, nonce: String, content: Content) -> Showed {
        let first = Delivery { nonce, ..self.delivery(id, &content) };
        let sent = self.deliver(first).await;
        tracing::debug!(%id, ok = sent.is_ok(), "the preview is sent");
        let refused = |hold: Duration| Showing::Refused {
            not_before: self.lanes.parts.clock.now().after(hold),
        };
        let (place, showing) = match sent {
            Ok(Receipt { platform_id: Some(platform_id) }) => {
                let place = Place::In(id, platform_id.clone());
                (place, Showing::Shown { content: content.clone(), platform_id })
            }
            Err(SendError::RetryAfter(hold)) => (Place::Over, refused(hold)),
            Err(
                SendError::Failed(_) | SendError::Nobody | SendError::Gone | SendError::Refused(_),
            ) => (Place::Over, Showing::Refused { not_before: Timestamp(0) }),
            Ok(Receipt { platform_id: None }) | Err(SendError::Unknown(_)) => {
                (Place::Over, Showing::Unknown)
            }
        };
        self.note(id, &showing).await;
        let content = (place != Place::Over).then_some(content);
        Showed { place, content, hold: None }
    }

    /// Edits the message. A skipped or refused edit is repeated after an interval.
    async fn edit(self, id: DeliveryId, platform_id: PlatformId, content: Content) -> Showed {
        let place = Place::In(id, platform_id.clone());
        if let Err(pause) = self.spare_turn(&content, Some(&platform_id)) {
            return Showed { place, content: None, hold: Some(pause) };
        }
        let shown_as = Some(platform_id.clone());
        match self.deliver(Delivery { shown_as, ..self.delivery(id, &content) }).await {
            Ok(_) => {
                let showing = Showing::Shown { content: content.clone(), platform_id };
                self.note(id, &showing).await;
                Showed { place, content: Some(content), hold: None }
            }
            Err(SendError::RetryAfter(hold)) => {
                let not_before = self.lanes.parts.clock.now().after(hold);
                self.note(id, &Showing::Refused { not_before }).await;
                Showed { place, content: None, hold: Some(hold) }
            }
            Err(SendError::Gone | SendError::Refused(_)) => Showed::nothing(Place::Over),
            Err(SendError::Failed(_) | SendError::Nobody | SendError::Unknown(_)) => {
                Showed::nothing(place)
            }
        }
    }

    fn delivery(&self, id: DeliveryId, content: &Content) -> Delivery {
        let turn = Some(self.turn);
        Delivery { turn, ..Delivery::new(id, self.chat.clone(), content.clone()) }
    }

    async fn deliver(&self, delivery: Delivery) -> Result<Receipt, SendError> {
        let clock = self.lanes.parts.clock.as_ref();
        match within(clock, SHOW_LIMIT, catch(self.channel.deliver(&delivery))).await {
            Ok(Ok(sent)) => sent,
            Ok(Err(panicked)) => Err(SendError::Unknown(panicked.to_string())),
            Err(elapsed) => Err(SendError::Unknown(elapsed.to_string())),
        }
    }

    /// Records the outcome in the log, since the end of the turn depends on it.
    async fn note(&self, id: DeliveryId, showing: &Showing) {
        let outbox = &self.lanes.parts.outbox;
        match self.lanes.patiently(|| outbox.finish_preview(id, showing)).await {
            // The turn was ended meanwhile.
            Ok(()) | Err(StoreError::Stale(_)) => {}
            Err(error) => tracing::warn!(%id, %error, "what became of a preview is not in the log"),
        }
    }
}
