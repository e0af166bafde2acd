//! Who was let in, as the log says, in memory: every message is looked up here.

use std::sync::{PoisonError, RwLock};

use avocet_protocol::{ChatAddress, Known, PersonId, Role, SenderId, SessionId};

/// What the log knows of people, as it was read last.
#[derive(Debug, Default)]
pub(crate) struct KnownPeople(RwLock<Known>);

impl KnownPeople {
    pub(crate) fn replace(&self, known: Known) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Looks at it. Nobody waits for anything meanwhile.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The role of somebody who was let in.
    pub(crate) fn role(&self, person: &PersonId) -> Option<Role> {
        self.read(|known| known.people.iter().find(|one| one.id == *person).map(|one| one.role))
    }

    /// The session that a chat is linked to.
    pub(crate) fn session_of(&self, chat: &ChatAddress) -> Option<SessionId> {
        self.read(|known| {
            let link = known.links.iter().find(|link| is_in(&link.chat, chat))?;
            Some(link.session.clone())
        })
    }

    /// Whose private chat it is, as far as is known.
    pub(crate) fn whose(&self, chat: &ChatAddress) -> Option<SenderId> {
        self.read(|known| {
            let (_, sender) = known.chats.iter().find(|(known, _)| is_in(known, chat))?;
            Some(sender.clone())
        })
    }
}

/// Whether an address is in a chat, whatever its topic.
pub(crate) fn is_in(chat: &ChatAddress, address: &ChatAddress) -> bool {
    chat.chat == address.chat && chat.account == address.account && chat.channel == address.channel
}
