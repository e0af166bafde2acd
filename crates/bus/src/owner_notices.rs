//! Notices to the owners' private chats, each once under its key.

use avocet_protocol::access::{Person, PersonId, Roles};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatAddress, Content, Inbound};
use avocet_protocol::ids::DedupeKey;
use avocet_text::in_one_line;

use crate::Bus;
use crate::pairing::NAME_LENGTH;

impl Bus {
    /// Sends a text to the private chats of the owners, once for each key. Returns the name of an
    /// owner who got it, for a sentence; `None` if there is no such chat.
    pub async fn tell_owners(&self, key: &str, content: &Content) -> Option<String> {
        let mut told = None;
        for chat in self.owners_chats() {
            let sent = async {
                let key = DedupeKey::parse(key)?;
                self.enqueue_content(&chat, content, &key, None).await
            };
            match sent.await {
                Ok(_) => {
                    told.get_or_insert(chat);
                }
                Err(error) => tracing::warn!(%chat, %error, "cannot tell an owner"),
            }
        }
        told.map(|chat| self.name_of_owner(&chat))
    }

    /// Tells the owners, once for each chat, how to admit a group or a channel as which a person has
    /// written to the bot.
    pub(crate) async fn tell_how_to_admit(&self, inbound: &Inbound) {
        let Inbound { address, sender, .. } = inbound;
        let (chat, id) = (&address.chat, &sender.id);
        let name = in_one_line(sender.name.as_deref().unwrap_or_default(), NAME_LENGTH);
        let who = if chat.as_str() == id.as_str() {
            format!("An anonymous administrator of `{name}` has")
        } else {
            format!("Somebody who writes as `{name}` has")
        };
        let text = format!(
            "{who} written to me in `{address}`, and I did not read it. To admit everybody who writes so, \
             add {id} to `allow` in [channels.{}] of the configuration. I say this once for each chat.",
            address.channel
        );
        let notice = notices::HowToAdmit.for_reader(readers::Owner, text);
        self.tell_owners(&format!("admit {id} in {chat}"), &notice).await;
    }

    /// Returns the name of the owner of a private chat, as others know it.
    pub fn name_of_owner(&self, chat: &ChatAddress) -> String {
        let sender = self.access.admission.cache.owner_of_chat(chat);
        let person = sender.map(|sender| PersonId::from_sender(chat, sender));
        let name = self.access.admission.cache.read(|access| {
            let is_owner = |one: &&Person| Some(&one.id) == person.as_ref();
            access.people.iter().find(is_owner).and_then(|one| one.name.clone())
        });
        match name.map(|name| in_one_line(&name, NAME_LENGTH)).filter(|name| !name.is_empty()) {
            Some(name) => name,
            None => "My owner".to_owned(),
        }
    }
}
