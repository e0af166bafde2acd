//! Chats that are closed to the bot: it was removed, or may not write there. A notice would be refused
//! there, too. So an owner gets it in a private chat, once until the chat takes a message again.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};

use avocet_protocol::access::Roles;
use avocet_protocol::bus::{Deliveries, Destinations};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatAddress, Planned};
use avocet_protocol::store::{Head, SendEnd};
use parking_lot::Mutex;

use crate::ChannelRegistry;

/// The closed chats that an owner knows.
#[derive(Debug, Default)]
pub(crate) struct ClosedChats {
    owners: OnceLock<OwnerNotices>,
    reported: Mutex<BTreeSet<ChatAddress>>,
}

/// The way to the owners. Both parts live as long as the daemon, and use the outbox themselves.
#[derive(Debug)]
pub(crate) struct OwnerNotices {
    pub(crate) roles: Weak<dyn Roles>,
    pub(crate) deliveries: Weak<dyn Deliveries>,
}

impl ClosedChats {
    /// Sets the way to the owners, once.
    pub(crate) fn set_owners(&self, owners: OwnerNotices) {
        self.owners.get_or_init(|| owners);
    }

    /// Plans the notice for an owner about a message that a closed chat has refused. `None` if an
    /// owner knows of the chat, or has no other chat.
    pub(crate) fn plan_notice(
        &self,
        channels: &Arc<ChannelRegistry>,
        head: &Head,
        error: &str,
    ) -> Option<Planned> {
        let closed = head.delivery.address.whole_chat();
        let roles = self.owners.get()?.roles.upgrade()?;
        let message = head.delivery.content.in_short();
        let text = format!(
            "I cannot write in `{closed}`: {error}. This message was not sent: {message}. I say this \
             once, until I can write there again; /resend there then tries it again."
        );
        let content = notices::ClosedChat.for_reader(readers::Owner, text);
        let chats = roles.owners_chats().into_iter().filter(|chat| *chat != closed);
        let notice = chats.filter_map(|chat| channels.plan(&chat, &content).ok()).next()?;
        self.reported.lock().insert(closed).then_some(notice)
    }

    /// Returns `true` for the private chat of an owner, and if no way to the owners is known.
    pub(crate) fn is_owners_chat(&self, chat: &ChatAddress) -> bool {
        let roles = self.owners.get().and_then(|owners| owners.roles.upgrade());
        roles.is_none_or(|roles| roles.is_owners_chat(chat))
    }

    /// Wakes the chat of a notice that stands in another chat than its message.
    pub(crate) fn wake_owner(&self, head: &Head, end: &SendEnd) {
        let notice = match end {
            SendEnd::Partly(rest) => return self.wake_owner(head, rest),
            SendEnd::Dead { notice, .. } => notice.as_ref(),
            _ => None,
        };
        let chat = notice.map(|notice| notice.address.whole_chat());
        let elsewhere = chat.filter(|chat| *chat != head.delivery.address.whole_chat());
        let deliveries = self.owners.get().and_then(|owners| owners.deliveries.upgrade());
        if let (Some(chat), Some(deliveries)) = (elsewhere, deliveries) {
            deliveries.wake(&chat);
        }
    }

    /// Notes that a chat takes messages.
    pub(crate) fn note_open(&self, chat: &ChatAddress) {
        let mut reported = self.reported.lock();
        if !reported.is_empty() {
            reported.remove(&chat.whole_chat());
        }
    }
}
