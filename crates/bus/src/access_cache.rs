//! A copy in memory of the log's access control data, because every message needs it.

use avocet_protocol::access::{PersonId, Role, StoredAccess};
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::ids::SenderId;
use parking_lot::RwLock;

/// Access control data as last read from the log.
#[derive(Debug, Default)]
pub(crate) struct AccessCache(RwLock<StoredAccess>);

impl AccessCache {
    pub(crate) fn replace_access(&self, access: StoredAccess) {
        *self.0.write() = access;
    }

    /// Runs `look` on the data under a read lock; `look` must return at once.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&StoredAccess) -> T) -> T {
        look(&self.0.read())
    }

    /// Returns the role of an admitted person.
    pub(crate) fn role_of(&self, person: &PersonId) -> Option<Role> {
        self.read(|access| access.people.iter().find(|one| one.id == *person).map(|one| one.role))
    }

    /// Returns the session to which a chat is linked.
    pub(crate) fn session_of(&self, chat: &ChatAddress) -> Option<SessionId> {
        self.read(|access| {
            let link = access.links.iter().find(|link| is_in(&link.chat, chat))?;
            Some(link.session.clone())
        })
    }

    /// Returns the person whose private chat this is, if known.
    pub(crate) fn owner_of_chat(&self, chat: &ChatAddress) -> Option<SenderId> {
        self.read(|access| {
            let (_, sender) = access.chats.iter().find(|(known, _)| is_in(known, chat))?;
            Some(sender.clone())
        })
    }
}

/// Returns `true` if an address is in this chat, in any topic.
pub(crate) fn is_in(chat: &ChatAddress, address: &ChatAddress) -> bool {
    chat.chat == address.chat && chat.account == address.account && chat.channel == address.channel
}
