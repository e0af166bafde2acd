//! The bus of the fake daemon: keeps what is published.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use avocet_protocol::bus::{Publish, PublishError};
use avocet_protocol::chat::{ChatAddress, Content, Cursor, Inbound, Outbound};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, DeliveryId, MessageId};
use avocet_protocol::store::{Accepted, AcceptedAs, Enqueued, UnansweredMessage};

use super::FakeDaemon;

#[async_trait]
impl Publish for FakeDaemon {
    async fn publish(&self, one: Inbound, to: Option<Cursor>) -> Result<Accepted, PublishError> {
        if let Some(refusal) = self.refusal.lock().clone() {
            return Err(refusal);
        }
        let slow = self.slow.lock().clone();
        if let Some((began, go_on)) = slow {
            began.send_async(()).await.unwrap();
            go_on.recv_async().await.unwrap();
        }
        if self.is_uneven.load(Ordering::Relaxed)
            && one.key.as_str().ends_with(['1', '3', '5', '7', '9'])
        {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        }
        self.cursors.lock().push(to);
        let mut asked = self.asked.lock();
        let known = asked.iter().position(|known| known.key == one.key);
        if let Some(place) = known.filter(|place| asked[*place].content != one.content) {
            let used_for = MessageId(place as i64 + 1).to_string();
            return Err(PublishError::KeyTaken { key: one.key.to_string(), used_for });
        }
        let what = if known.is_some() { AcceptedAs::Duplicate } else { AcceptedAs::Queued };
        let place = known.unwrap_or(asked.len());
        asked.push(one);
        Ok(Accepted { id: MessageId(place as i64 + 1), what })
    }

    async fn decline(&self, _: Inbound, _: Content) -> Result<(), PublishError> {
        Ok(())
    }

    async fn withdraw_message(
        &self,
        chat: &ChatAddress,
        key: &DedupeKey,
    ) -> Result<(), PublishError> {
        self.withdrawn.lock().push((chat.to_string(), key.to_string()));
        Ok(())
    }

    async fn list_unanswered(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: u32,
    ) -> Result<Vec<UnansweredMessage>, PublishError> {
        Ok(Vec::new())
    }

    async fn ignore(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: &str,
        to: Option<Cursor>,
    ) -> Result<(), PublishError> {
        self.cursors.lock().push(to);
        Ok(())
    }

    async fn cursors(&self, _: &ChannelName, _: &AccountName) -> Result<Vec<Cursor>, PublishError> {
        Ok(vec![Cursor { scope: "#team".to_owned(), position: "16".to_owned() }])
    }

    async fn move_cursor(
        &self,
        _: &ChannelName,
        _: &AccountName,
        _: Cursor,
    ) -> Result<(), PublishError> {
        Ok(())
    }

    async fn send(&self, _: Outbound, _: DedupeKey) -> Result<Enqueued, PublishError> {
        Ok(Enqueued { id: DeliveryId(9), duplicate: false, key_taken: false })
    }
}
