//! What was said while nobody listened. Discord keeps nothing for a bot that is not connected, except
//! the history of each channel (F32).

use std::time::Duration;

use avocet_supervise::Backoff;
use serde::Deserialize;
use serde_json::Value;
use serenity::http::{LightMethod, Request, Route};
use serenity::model::channel::Message;
use serenity::model::id::{ChannelId, MessageId};

use crate::Discord;
use crate::fault::Fault;
use crate::gateway::Me;
use crate::places::{Described, Place};
use crate::receive::{Receiver, Stopped};

/// Messages in a page: the most that is given (Discord API, "Get Channel Messages").
const PAGE: usize = 100;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

impl Discord {
    /// The messages of a channel that come next after one, oldest first; a page of them.
    pub(crate) async fn history(
        &self,
        channel_id: ChannelId,
        after: MessageId,
    ) -> Result<Vec<Value>, Fault> {
        let parameters = vec![("after", after.to_string()), ("limit", PAGE.to_string())];
        let route = Route::ChannelMessages { channel_id };
        let request = Request::new(route, LightMethod::Get).params(Some(parameters));
        let mut page: Vec<Value> = self.rest.ask(request).await?.read()?;
        page.sort_by_key(id);
        Ok(page)
    }
}

/// The id of a message; the largest if it has none, so that it comes last.
pub(crate) fn id(message: &Value) -> MessageId {
    MessageId::deserialize(&message["id"]).unwrap_or(MessageId::new(u64::MAX - 1))
}

impl Receiver<'_> {
    /// Reads what is new in every channel that has been read before.
    pub(crate) async fn catch_up(&mut self, me: Me) -> Result<(), Stopped> {
        for (channel, read) in self.read.channels() {
            if let Some(place) = self.asked_place(channel).await? {
                self.catch_up_in(me, channel, place, read).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn catch_up_in(
        &mut self,
        me: Me,
        channel: ChannelId,
        place: Place,
        mut after: MessageId,
    ) -> Result<(), Stopped> {
        let discord = self.discord;
        loop {
            let page = self.patiently(|| discord.history(channel, after)).await?;
            let Some(last) = page.as_deref().and_then(|page| page.last()) else { return Ok(()) };
            let last = id(last);
            for message in page.iter().flatten() {
                match Message::deserialize(message) {
                    Ok(message) => self.hear(me, &message, place).await?,
                    Err(_) => self.unreadable(message).await?,
                }
            }
            if last <= after {
                return Ok(());
            }
            after = last;
        }
    }

    /// What a channel is. One that cannot be asked for is a channel of a server: what is said there
    /// is heard in the open.
    pub(crate) async fn place(
        &mut self,
        channel: ChannelId,
        private: bool,
    ) -> Result<Place, Stopped> {
        if private {
            return Ok(Place::Private);
        }
        Ok(self.asked_place(channel).await?.unwrap_or(Place::Channel))
    }

    async fn asked_place(&mut self, channel: ChannelId) -> Result<Option<Place>, Stopped> {
        if let Some(place) = self.places.get(channel) {
            return Ok(Some(place));
        }
        let rest = &self.discord.rest;
        let route = Route::Channel { channel_id: channel };
        let asked = self.patiently(|| rest.get::<Described>(route)).await?;
        let place = asked.map(|described| described.place());
        if let Some(place) = place {
            self.places.learn(channel, place);
        }
        Ok(place)
    }

    /// Asks until there is an answer. None if that is a refusal: the bot may have been shut out.
    pub(crate) async fn patiently<T, A>(&self, ask: impl Fn() -> A) -> Result<Option<T>, Stopped>
    where
        A: Future<Output = Result<T, Fault>>,
    {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        loop {
            let wait = match ask().await {
                Ok(answer) => return Ok(Some(answer)),
                Err(fault @ Fault::Refused(_)) => {
                    tracing::info!(error = %fault, "a channel cannot be read");
                    return Ok(None);
                }
                Err(Fault::Wait(wait)) => wait,
                Err(fault) => {
                    let wait = backoff.next_wait();
                    self.discord.health.fails("what was said meanwhile cannot be read");
                    tracing::warn!(error = %fault, ?wait, "a channel cannot be read yet");
                    wait
                }
            };
            self.context.clock.sleep(wait).await;
        }
    }
}
