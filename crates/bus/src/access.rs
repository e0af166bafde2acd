//! Access control: who has access, which chats are linked, and the changes of both. A request is
//! checked here, becomes one transaction of the log, and then takes effect in memory.

use async_trait::async_trait;
use avocet_protocol::access::{
    AccessControl, AccessError, Allow, Asker, ChatLink, Decision, Pairing, Person, PersonId, Role,
    Roles,
};
use avocet_protocol::chat::{ChatAddress, Inbound, SessionId};
use avocet_protocol::store::StoreError;
use tokio::sync::RwLockWriteGuard;

use crate::pairing::is_open;
use crate::{Admission, Bus};

/// The author of a decision at the command line.
const OPERATOR: &str = "the operator";

impl Bus {
    /// Blocks publishing while access control changes in the log and then in memory.
    pub async fn block_publishing(&self) -> RwLockWriteGuard<'_, ()> {
        self.access.block_publishing().await
    }

    /// Takes the access rules of a changed configuration. Messages that wait are admitted again
    /// before their turn, by the new rules.
    pub async fn change_rules(&self, admission: &Admission) {
        let _changing = self.block_publishing().await;
        self.access.admission.take_rules(admission);
    }

    /// Reloads access control from the log after a change.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    pub async fn reload_access(&self) -> Result<(), StoreError> {
        self.access.reload_access().await
    }

    /// Prepares a link, by which `chat` speaks in the session of `into`; the caller commits it.
    ///
    /// # Errors
    /// [`AccessError`] if the two cannot be linked.
    pub fn new_link(
        &self,
        into: &ChatAddress,
        chat: &ChatAddress,
    ) -> Result<ChatLink, AccessError> {
        let (into, chat) = (into.whole_chat(), chat.whole_chat());
        if into == chat {
            return Err(AccessError::Itself(chat));
        }
        for one in [&into, &chat] {
            if self.access.admission.role_in_private(one).is_none() {
                return Err(AccessError::NotPrivate(one.clone()));
            }
            if let Some(session) = self.access.admission.cache.session_of(one) {
                return Err(AccessError::Linked { chat: one.clone(), session });
            }
        }
        let own = SessionId::from_address(&chat)?;
        if let Some(link) = self.links().into_iter().find(|link| link.session == own) {
            return Err(AccessError::LinkedTo { chat, by: Box::new(link.chat) });
        }
        Ok(ChatLink { session: SessionId::from_address(&into)?, chat })
    }

    /// Returns the link of a chat, for unlinking.
    ///
    /// # Errors
    /// [`AccessError::NotLinked`] if the chat has no link.
    pub fn link_of(&self, chat: &ChatAddress) -> Result<ChatLink, AccessError> {
        let chat = chat.whole_chat();
        let session = self.access.admission.cache.session_of(&chat);
        match session {
            Some(session) => Ok(ChatLink { chat, session }),
            None => Err(AccessError::NotLinked(chat)),
        }
    }
}

#[async_trait]
impl AccessControl for Bus {
    fn pairings(&self) -> Vec<Pairing> {
        let now = self.clock.now();
        self.access.admission.cache.read(|access| {
            access.pairings.iter().filter(|pairing| is_open(pairing, now)).cloned().collect()
        })
    }

    async fn approve(&self, code: &str, role: Role) -> Result<Person, AccessError> {
        let (pairing, settled) = self.prepare_decision(code, Decision::Approved(role), OPERATOR)?;
        self.commit_decision(&settled).await?;
        let Pairing { person: id, name, .. } = pairing;
        Ok(Person { id, name, role, since: Some(self.clock.now()) })
    }

    async fn deny(&self, code: &str) -> Result<Pairing, AccessError> {
        let (pairing, settled) = self.prepare_decision(code, Decision::Denied, OPERATOR)?;
        self.commit_decision(&settled).await?;
        Ok(Pairing { decision: Some(Decision::Denied), ..pairing })
    }

    fn people(&self) -> Vec<Person> {
        let mut people = self.access.admission.cache.read(|access| access.people.clone());
        for (id, role) in self.access.admission.configured_people() {
            match people.iter_mut().find(|one| one.id == id) {
                Some(one) => one.role = one.role.max(role),
                None => people.push(Person { id, name: None, role, since: None }),
            }
        }
        people.sort_by(|one, other| one.id.cmp(&other.id));
        people
    }

    async fn remove_person(&self, person: &PersonId) -> Result<(), AccessError> {
        if self.access.admission.cache.role_of(person).is_none() {
            let configured = self.access.admission.own_role(person).is_some();
            let person = person.clone();
            return Err(if configured {
                AccessError::Configured(person)
            } else {
                AccessError::UnknownPerson(person)
            });
        }
        let _changing = self.block_publishing().await;
        let gone = self.access.people.remove_person(person).await?;
        self.reload_access().await?;
        if gone { Ok(()) } else { Err(AccessError::UnknownPerson(person.clone())) }
    }

    fn links(&self) -> Vec<ChatLink> {
        self.access.admission.cache.read(|access| access.links.clone())
    }

    async fn link(&self, into: &ChatAddress, chat: &ChatAddress) -> Result<ChatLink, AccessError> {
        let link = self.new_link(into, chat)?;
        let _changing = self.block_publishing().await;
        self.access.people.link(&link).await?;
        self.reload_access().await?;
        Ok(link)
    }

    async fn unlink(&self, chat: &ChatAddress) -> Result<ChatLink, AccessError> {
        let link = self.link_of(chat)?;
        let _changing = self.block_publishing().await;
        self.access.people.unlink(&link.chat).await?;
        self.reload_access().await?;
        Ok(link)
    }
}

impl Roles for Bus {
    fn role(&self, inbound: &Inbound) -> Role {
        self.access.admission.role_of_sender(inbound).unwrap_or_default()
    }

    fn is_owners(&self, inbound: &Inbound) -> bool {
        self.access.admission.author_role(inbound) == Some(Role::Owner)
    }

    fn asker(&self, inbound: &Inbound) -> Option<Asker> {
        let Inbound { address, chat, .. } = inbound;
        let admission = &self.access.admission;
        let session = admission.session_of(inbound).ok()?;
        let own = session.address();
        let linked = (!own.is_same_chat(address)).then(|| {
            admission.cache.owner_of_chat(&own).map(|sender| PersonId::from_sender(&own, sender))
        });
        let (address, person) = (address.clone(), PersonId::from_inbound(inbound));
        Some(Asker { address, chat: *chat, person, session, linked: linked.flatten() })
    }

    fn owners_chats(&self) -> Vec<ChatAddress> {
        let chats = self.access.admission.cache.read(|access| access.chats.clone()).into_iter();
        chats.map(|(chat, _)| chat).filter(|chat| self.is_owners_chat(chat)).collect()
    }

    fn may_decide_for(&self, chat: &ChatAddress, asked_in: Option<&ChatAddress>) -> bool {
        let is_own = |other: &ChatAddress| {
            (&chat.channel, &chat.account) == (&other.channel, &other.account)
        };
        asked_in.is_some_and(is_own)
            || match self.access.admission.access_rule(chat).as_deref() {
                Some(Allow::Local) => true,
                Some(Allow::Listed(lists)) => !lists.decides_own_only,
                None => false,
            }
    }

    fn is_owners_chat(&self, chat: &ChatAddress) -> bool {
        self.access.admission.role_in_private(chat) == Some(Role::Owner)
    }

    fn may_write(&self, chat: &ChatAddress) -> bool {
        self.access.admission.may_write(chat)
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
