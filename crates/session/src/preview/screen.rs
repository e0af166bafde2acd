//! The message of a chat that a preview is shown in: its row in the log comes before its first send,
//! and learns at once what became of it.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::{
    Channel, ChatAddress, Content, Delivery, DeliveryId, LoggedInbound, PlatformId, Receipt,
    SendError, Showing, StoreError, Timestamp, TurnId, within,
};
use avocet_supervise::catch;

use crate::lane::Lanes;

/// How long a channel may take; after that nobody knows what became of it, and the turn's end,
/// which waits for it, goes on.
const SHOW_LIMIT: Duration = Duration::from_secs(10);

/// Where a turn is shown.
#[derive(Clone, Copy)]
pub(super) struct Screen<'l> {
    pub(super) lanes: &'l Lanes,
    pub(super) channel: &'l Arc<dyn Channel>,
    pub(super) turn: TurnId,
    /// What it is the reply to.
    pub(super) to: &'l LoggedInbound,
    pub(super) chat: &'l ChatAddress,
}

/// Where the preview is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// It has not begun, as far as this run of the turn knows.
    Nowhere,
    /// In this message.
    In(DeliveryId, PlatformId),
    /// There will be no more of it.
    Over,
}

/// What came of showing something.
pub(super) struct Showed {
    pub(super) place: Place,
    /// What the chat shows now; none if it is as it was.
    pub(super) content: Option<Content>,
    /// How long the platform wants to be left alone.
    pub(super) hold: Option<Duration>,
}

impl Showed {
    fn nothing(place: Place) -> Self {
        Self { place, content: None, hold: None }
    }
}

impl Screen<'_> {
    /// A text as the channel cuts it.
    pub(super) fn plan(&self, text: &str) -> Vec<Content> {
        let planned = self.lanes.plan(self.to, &Content::text(text));
        planned.map(|planned| planned.chunks).unwrap_or_default()
    }

    /// Shows something. Comes to an answer, whatever happens in the channel.
    pub(super) async fn show(self, place: Place, content: Content) -> Showed {
        use avocet_protocol::Preview;
        let outbox = &self.lanes.parts.outbox;
        let (id, platform_id) = match place {
            Place::Over => return Showed::nothing(place),
            Place::In(id, platform_id) => (id, platform_id),
            // A preview that would have to wait is not begun.
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

    /// Takes a turn of the platform that no message needs.
    fn spare_turn(&self, content: &Content, shown_as: Option<&PlatformId>) -> Result<(), Duration> {
        let new = Delivery::new(DeliveryId(0), self.chat.clone(), content.clone());
        self.channel.spare_turn(&Delivery { shown_as: shown_as.cloned(), ..new })
    }

    /// The first send.
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

    /// Shows more in the same message. An edit that was left out or not taken is made again after an
    /// interval.
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

    /// Into the log: the end of the turn depends on it.
    async fn note(&self, id: DeliveryId, showing: &Showing) {
        let outbox = &self.lanes.parts.outbox;
        match self.lanes.patiently(|| outbox.finish_preview(id, showing)).await {
            // The turn was ended meanwhile.
            Ok(()) | Err(StoreError::Stale(_)) => {}
            Err(error) => tracing::warn!(%id, %error, "what became of a preview is not in the log"),
        }
    }
}
