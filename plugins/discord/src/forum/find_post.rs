//! Searches a forum for the post of a send with an unknown outcome.

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::Delivery;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::Timestamp;
use serenity::model::id::{ChannelId, MessageId, UserId};

use crate::Discord;
use crate::fault::{RestError, RestRefusal};
use crate::find_sent::is_sent_as;
use crate::history::first_id_after;
use crate::lenient::readable_items;
use crate::routes::Route;
use crate::sent_message::SentMessage;

/// Largest number of pages of closed posts that a search reads.
const MAX_PAGES: usize = 50;
/// Posts in a page: the platform's maximum (Discord API, "List Public Archived Threads").
const PAGE: usize = 100;

/// A page of threads (Discord API, "List Active Guild Threads", "List Public Archived Threads").
#[derive(Deserialize)]
struct ThreadPage {
    #[serde(default, deserialize_with = "readable_items")]
    threads: Vec<ThreadInfo>,
    #[serde(default)]
    has_more: bool,
}

#[derive(Deserialize)]
struct ThreadInfo {
    id: ChannelId,
    name: String,
    parent_id: ChannelId,
    owner_id: UserId,
    thread_metadata: ThreadMetadata,
}

#[derive(Deserialize)]
struct ThreadMetadata {
    /// The time of the last change between open and closed.
    archive_timestamp: String,
}

/// A post to find: the title and the text of a delivery whose earlier send has an unknown outcome.
struct WantedPost<'a> {
    forum: ChannelId,
    bot: UserId,
    title: &'a str,
    text: &'a str,
    delivery: &'a Delivery,
    /// The smallest possible id of the post.
    after: MessageId,
}

impl Discord {
    /// Returns the first message of the post that an earlier send has made.
    pub(super) async fn find_post(
        &self,
        forum: ChannelId,
        title: &str,
        delivery: &Delivery,
        text: &str,
    ) -> Result<Option<SentMessage>, SendError> {
        let Some(first) = delivery.first_sent_at else { return Ok(None) };
        let bot = self.own_id().await.map_err(|fault| self.outcome(&fault))?;
        let after = first_id_after(first);
        let wanted = WantedPost { forum, bot, title, text, delivery, after };
        let guild_id = self.forum_info(forum).await.map_err(|fault| self.outcome(&fault))?.guild_id;
        let open: ThreadPage = self
            .rest
            .get(Route::ActiveThreads { guild_id })
            .await
            .map_err(|fault| self.outcome(&fault))?;
        if let Some(sent) = self.find_post_in(&wanted, &open).await? {
            return Ok(Some(sent));
        }
        let mut before: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = self.closed_posts(forum, before.take()).await?;
            if let Some(sent) = self.find_post_in(&wanted, &page).await? {
                return Ok(Some(sent));
            }
            // The page begins with the post that was closed last.
            match page.threads.into_iter().next_back().filter(|_| page.has_more) {
                Some(last) if last.thread_metadata.changed_since(first) => {
                    before = Some(last.thread_metadata.archive_timestamp);
                }
                _ => return Ok(None),
            }
        }
        Err(SendError::Unknown("too many posts were closed since the first attempt".to_owned()))
    }

    async fn closed_posts(
        &self,
        channel_id: ChannelId,
        before: Option<String>,
    ) -> Result<ThreadPage, SendError> {
        let mut parameters = vec![("limit", PAGE.to_string())];
        parameters.extend(before.map(|before| ("before", before)));
        let route = Route::ArchivedThreads { channel_id };
        self.rest.get_with(route, &parameters).await.map_err(|fault| match fault {
            RestError::Refused(RestRefusal { status: 403, .. }) => SendError::Unknown(format!(
                "the forum's closed posts cannot be read: {fault}; let the bot read the history"
            )),
            fault => self.outcome(&fault),
        })
    }

    async fn find_post_in(
        &self,
        wanted: &WantedPost<'_>,
        page: &ThreadPage,
    ) -> Result<Option<SentMessage>, SendError> {
        for post in page.threads.iter().filter(|post| wanted.can_be(post)) {
            let message_id = MessageId::new(post.id.get());
            let route = Route::ChannelMessage { channel_id: post.id, message_id };
            match self.rest.get::<Value>(route).await {
                Ok(message) if is_sent_as(&message, wanted.bot, wanted.delivery, wanted.text) => {
                    let content = Some(wanted.text.to_owned());
                    return Ok(Some(SentMessage { id: Some(message_id), content }));
                }
                Ok(_) | Err(RestError::Refused(RestRefusal { status: 404, .. })) => {}
                Err(fault) => return Err(self.outcome(&fault)),
            }
        }
        Ok(None)
    }
}

impl ThreadMetadata {
    /// A time that cannot be read counts as an early one, which ends the search.
    fn changed_since(&self, moment: avocet_protocol::clock::Timestamp) -> bool {
        let changed = Timestamp::parse(&self.archive_timestamp);
        changed.is_ok_and(|changed| (changed.unix_timestamp() + 1) * 1000 >= moment.0)
    }
}

impl WantedPost<'_> {
    fn can_be(&self, post: &ThreadInfo) -> bool {
        post.parent_id == self.forum
            && post.owner_id == self.bot
            && post.id.get() > self.after.get()
            && post.name.trim() == self.title.trim()
    }
}
