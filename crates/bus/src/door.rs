//! Access control and links: requests are checked here, become one transaction of the log, and then
//! take effect in memory.

use async_trait::async_trait;
use avocet_protocol::{
    Allow, ChatAddress, ChatKind, ChatLink, Decision, DoorError, Doorkeeper, Inbound, Pairing,
    PairingCode, Person, PersonId, Planned, PublishError, Role, Roles, SessionId, SettledPairing,
    StoreError, Timestamp,
};

use crate::Bus;
use crate::pairing::{self, KEPT, is_open, may_offer};

impl Bus {
    /// Prepares the approval or denial of a code; the caller commits it.
    ///
    /// # Errors
    /// [`DoorError`] if the code is unknown, expired or already decided.
    pub fn decision(
        &self,
        code: &str,
        decision: Decision,
    ) -> Result<(Pairing, SettledPairing), DoorError> {
        let pairing = self.open_pairing(code)?;
        let told = match decision {
            Decision::Approved(role) => {
                Some(self.destinations.plan(&pairing.chat, &pairing::welcome(role))?)
            }
            Decision::Denied => None,
        };
        let settled = SettledPairing { code: pairing.code.clone(), decision, told };
        Ok((pairing, settled))
    }

    /// Prepares a link, by which `chat` speaks in the session of `into`; the caller commits it.
    ///
    /// # Errors
    /// [`DoorError`] if the two cannot be linked.
    pub fn new_link(&self, into: &ChatAddress, chat: &ChatAddress) -> Result<ChatLink, DoorError> {
        let (into, chat) = (into.whole_chat(), chat.whole_chat());
        if into == chat {
            return Err(DoorError::Itself(chat));
        }
        for one in [&into, &chat] {
            if self.admission.role_in_private(one).is_none() {
                return Err(DoorError::NotPrivate(one.clone()));
            }
            if let Some(session) = self.admission.known.session_of(one) {
                return Err(DoorError::Linked { chat: one.clone(), session });
            }
        }
        let own = SessionId::of(&chat)?;
        if let Some(link) = self.links().into_iter().find(|link| link.session == own) {
            return Err(DoorError::LinkedTo { chat, by: Box::new(link.chat) });
        }
        Ok(ChatLink { session: SessionId::of(&into)?, chat })
    }

    /// Returns the link of a chat, for unlinking.
    ///
    /// # Errors
    /// [`DoorError::NotLinked`] if the chat has no link.
    pub fn link_of(&self, chat: &ChatAddress) -> Result<ChatLink, DoorError> {
        let chat = chat.whole_chat();
        let session = self.admission.known.session_of(&chat);
        match session {
            Some(session) => Ok(ChatLink { chat, session }),
            None => Err(DoorError::NotLinked(chat)),
        }
    }

    /// Reloads access control from the log after a change.
    ///
    /// # Errors
    /// [`StoreError`] if the log cannot be read.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        // One read at a time, so that the newest result stays.
        let _reading = self.reading.lock().await;
        self.admission.known.replace(self.people.known().await?);
        Ok(())
    }

    /// Records the private chat of a person with access.
    pub(crate) async fn meet(&self, inbound: &Inbound) -> Result<(), StoreError> {
        let Inbound { address, sender, chat, .. } = inbound;
        let local = matches!(self.admission.allow(address), Some(Allow::Local));
        if *chat == ChatKind::Group || local || self.admission.known.whose(address).is_some() {
            return Ok(());
        }
        self.people.meet(&address.whole_chat(), &sender.id).await?;
        self.refresh().await
    }

    /// Gives a code to a stranger in a private chat, and informs the owners. Above the limits, it
    /// does nothing.
    pub(crate) async fn offer_code(&self, inbound: &Inbound) -> Result<(), PublishError> {
        let Inbound { address, sender, chat, .. } = inbound;
        let pairs = match self.admission.allow(address) {
            Some(Allow::Listed(lists)) => lists.pairing,
            Some(Allow::Local) | None => false,
        };
        // A button press in another person's chat gets no reply there.
        let in_others = self.admission.known.whose(address).is_some_and(|whose| whose != sender.id);
        if *chat == ChatKind::Group || sender.is_bot || in_others || !pairs {
            return Ok(());
        }
        let _offering = self.offering.lock().await;
        let (person, now) = (PersonId::of(inbound), self.clock.now());
        if !self.admission.known.read(|known| may_offer(&known.pairings, &person, now)) {
            tracing::debug!(%person, "no code: there were enough lately");
            return Ok(());
        }
        let pairing = pairing::new(person, sender.name.as_deref(), address.whole_chat(), now);
        let said = self.said_of(&pairing, address)?;
        let forget = Timestamp(now.0.saturating_sub(Timestamp(0).after(KEPT).0));
        self.people.offer(&pairing, &said, forget).await?;
        self.refresh().await?;
        tracing::info!(person = %pairing.person, "a stranger was given a code");
        said.iter().for_each(|one| self.deliveries.wake(&one.address));
        Ok(())
    }

    /// Plans the hint to the stranger, and a notice for each owner with a known private chat.
    fn said_of(
        &self,
        pairing: &Pairing,
        address: &ChatAddress,
    ) -> Result<Vec<Planned>, PublishError> {
        let hint = self.destinations.plan(address, &pairing::hint(&pairing.code))?;
        let notice = pairing::notice(pairing);
        // Owners whose channel is gone are skipped.
        let notices = self
            .owners_chats()
            .into_iter()
            .filter_map(|chat| self.destinations.plan(&chat, &notice).ok());
        Ok(std::iter::once(hint).chain(notices).collect())
    }

    fn open_pairing(&self, code: &str) -> Result<Pairing, DoorError> {
        let code: PairingCode = code.parse()?;
        let found = self
            .admission
            .known
            .read(|known| known.pairings.iter().find(|pairing| pairing.code == code).cloned());
        match found {
            None => Err(DoorError::UnknownCode(code)),
            Some(Pairing { decision: Some(decision), .. }) => {
                Err(DoorError::UsedCode(code, decision.word()))
            }
            Some(pairing) if !is_open(&pairing, self.clock.now()) => {
                Err(DoorError::ExpiredCode(code))
            }
            Some(pairing) => Ok(pairing),
        }
    }

    /// Commits a decision. Fails if another one was faster.
    async fn decide(&self, settled: &SettledPairing) -> Result<(), DoorError> {
        let _changing = self.changing().await;
        let decided = self.people.decide(settled).await?;
        self.refresh().await?;
        if !decided {
            let code = settled.code.clone();
            return Err(self
                .open_pairing(code.as_str())
                .err()
                .unwrap_or(DoorError::ExpiredCode(code)));
        }
        if let Some(told) = &settled.told {
            self.deliveries.wake(&told.address);
        }
        Ok(())
    }
}

#[async_trait]
impl Doorkeeper for Bus {
    fn pairings(&self) -> Vec<Pairing> {
        let now = self.clock.now();
        self.admission.known.read(|known| {
            known.pairings.iter().filter(|pairing| is_open(pairing, now)).cloned().collect()
        })
    }

    async fn approve(&self, code: &str, role: Role) -> Result<Person, DoorError> {
        let (pairing, settled) = self.decision(code, Decision::Approved(role))?;
        self.decide(&settled).await?;
        let Pairing { person: id, name, .. } = pairing;
        Ok(Person { id, name, role, since: Some(self.clock.now()) })
    }

    async fn deny(&self, code: &str) -> Result<Pairing, DoorError> {
        let (pairing, settled) = self.decision(code, Decision::Denied)?;
        self.decide(&settled).await?;
        Ok(Pairing { decision: Some(Decision::Denied), ..pairing })
    }

    fn people(&self) -> Vec<Person> {
        let mut people = self.admission.known.read(|known| known.people.clone());
        for (id, role) in self.admission.configured() {
            match people.iter_mut().find(|one| one.id == id) {
                Some(one) => one.role = one.role.max(role),
                None => people.push(Person { id, name: None, role, since: None }),
            }
        }
        people.sort_by(|one, other| one.id.cmp(&other.id));
        people
    }

    async fn strike_off(&self, person: &PersonId) -> Result<(), DoorError> {
        if self.admission.known.role(person).is_none() {
            let configured = self.admission.own_role(person).is_some();
            let (yes, no): (fn(_) -> _, fn(_) -> _) =
                (DoorError::Configured, DoorError::UnknownPerson);
            return Err(if configured { yes } else { no }(person.clone()));
        }
        let _changing = self.changing().await;
        let gone = self.people.strike_off(person).await?;
        self.refresh().await?;
        if gone { Ok(()) } else { Err(DoorError::UnknownPerson(person.clone())) }
    }

    fn links(&self) -> Vec<ChatLink> {
        self.admission.known.read(|known| known.links.clone())
    }

    async fn link(&self, into: &ChatAddress, chat: &ChatAddress) -> Result<ChatLink, DoorError> {
        let link = self.new_link(into, chat)?;
        let _changing = self.changing().await;
        self.people.link(&link).await?;
        self.refresh().await?;
        Ok(link)
    }

    async fn unlink(&self, chat: &ChatAddress) -> Result<ChatLink, DoorError> {
        let link = self.link_of(chat)?;
        let _changing = self.changing().await;
        self.people.unlink(&link.chat).await?;
        self.refresh().await?;
        Ok(link)
    }
}

impl Roles for Bus {
    fn role(&self, inbound: &Inbound) -> Role {
        self.admission.role(inbound).unwrap_or_default()
    }

    fn is_owners(&self, inbound: &Inbound) -> bool {
        self.admission.own_role(&PersonId::of(inbound)) == Some(Role::Owner)
    }

    fn owners_chats(&self) -> Vec<ChatAddress> {
        let chats = self.admission.known.read(|known| known.chats.clone()).into_iter();
        let is_owners =
            |chat: &ChatAddress| self.admission.role_in_private(chat) == Some(Role::Owner);
        chats.map(|(chat, _)| chat).filter(is_owners).collect()
    }

    fn may_write(&self, chat: &ChatAddress) -> bool {
        self.admission.may_write(chat)
    }
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
