//! Fake roles by name.

use avocet_protocol::access::{Asker, PersonId, Role, Roles};
use avocet_protocol::chat::{ChatAddress, Inbound, SessionId};

/// Every sender except `guest` is an owner. Every chat of `terminal` except `forbidden` may be
/// written to.
#[derive(Debug, Default, Clone, Copy)]
pub struct FakeRoles;

impl Roles for FakeRoles {
    fn role(&self, inbound: &Inbound) -> Role {
        if inbound.sender.id.as_str() == "guest" { Role::User } else { Role::Owner }
    }

    fn is_owners(&self, inbound: &Inbound) -> bool {
        self.role(inbound) == Role::Owner
    }

    fn asker(&self, inbound: &Inbound) -> Option<Asker> {
        Some(Asker {
            address: inbound.address.clone(),
            chat: inbound.chat,
            person: PersonId::from_inbound(inbound),
            session: SessionId::from_address(&inbound.address).unwrap(),
            linked: None,
        })
    }

    fn owners_chats(&self) -> Vec<ChatAddress> {
        Vec::new()
    }

    fn may_decide_for(&self, _: &ChatAddress, _: Option<&ChatAddress>) -> bool {
        true
    }

    fn is_owners_chat(&self, _: &ChatAddress) -> bool {
        true
    }

    fn may_write(&self, chat: &ChatAddress) -> bool {
        chat.channel.as_str() == "terminal" && chat.chat.as_str() != "forbidden"
    }
}
