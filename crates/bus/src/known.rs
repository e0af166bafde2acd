//! A copy in memory of the log's access control data, because every message needs it.

use std::sync::{PoisonError, RwLock};

use avocet_protocol::{ChatAddress, Known, PersonId, Role, SenderId, SessionId};

/// Access control data as last read from the log.
#[derive(Debug, Default)]
pub(crate) struct KnownPeople(RwLock<Known>);

impl KnownPeople {
    pub(crate) fn replace(&self, known: Known) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Runs `look` on the data under a read lock; `look` must return at once.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the role of an admitted person.
    pub(crate) fn role(&self, person: &PersonId) -> Option<Role> {
        self.read(|known| known.people.iter().find(|one| one.id == *person).map(|one| one.role))
    }

    /// Returns the session to which a chat is linked.
    pub(crate) fn session_of(&self, chat: &ChatAddress) -> Option<SessionId> {
        self.read(|known| {
            let link = known.links.iter().find(|link| is_in(&link.chat, chat))?;
            Some(link.session.clone())
        })
    }

    /// Returns the person whose private chat this is, if known.
    pub(crate) fn whose(&self, chat: &ChatAddress) -> Option<SenderId> {
        self.read(|known| {
            let (_, sender) = known.chats.iter().find(|(known, _)| is_in(known, chat))?;
            Some(sender.clone())
        })
    }
}

/// Returns `true` if an address is in this chat, in any topic.
pub(crate) fn is_in(chat: &ChatAddress, address: &ChatAddress) -> bool {
    chat.chat == address.chat && chat.account == address.account && chat.channel == address.channel
}
