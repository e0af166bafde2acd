//! Destinations without real chats.

use avocet_protocol::bus::{Deliveries, Destinations, NoDestination};
use avocet_protocol::chat::{ChatAddress, Content, Planned};
use avocet_protocol::ids::{AccountName, ChannelName};
use parking_lot::Mutex;

/// Accepts every chat of `terminal`. Each chunk is a single word.
#[derive(Debug, Default)]
pub struct FakeDestinations {
    woken: Mutex<Vec<ChatAddress>>,
    woken_accounts: Mutex<Vec<String>>,
}

impl FakeDestinations {
    /// Maximum size in bytes of a file for the chat `terminal:local:small`.
    pub const SMALL_FILE: u64 = 8;

    /// Returns the chats whose delivery workers were woken.
    #[must_use]
    pub fn woken(&self) -> Vec<ChatAddress> {
        self.woken.lock().clone()
    }

    /// Returns the accounts, as `channel:account`, all of whose chats were woken.
    #[must_use]
    pub fn woken_accounts(&self) -> Vec<String> {
        self.woken_accounts.lock().clone()
    }
}

impl Destinations for FakeDestinations {
    fn plan(&self, address: &ChatAddress, content: &Content) -> Result<Planned, NoDestination> {
        if address.channel.as_str() != "terminal" {
            let known = "terminal:local".to_owned();
            return Err(NoDestination { address: address.to_string(), known });
        }
        let words = content.text.split(' ').map(Content::text);
        let mut chunks: Vec<Content> = words.collect();
        let last = chunks.pop().unwrap_or_default();
        chunks.push(Content { text: last.text, ..content.clone() });
        Ok(Planned { address: address.clone(), chunks })
    }

    fn can_edit(&self, _: &ChatAddress) -> bool {
        true
    }

    fn max_file_bytes(&self, address: &ChatAddress) -> Option<u64> {
        (address.chat.as_str() == "small").then_some(Self::SMALL_FILE)
    }
}

impl Deliveries for FakeDestinations {
    fn wake(&self, chat: &ChatAddress) {
        self.woken.lock().push(chat.clone());
    }

    fn wake_account(&self, channel: &ChannelName, account: &AccountName) {
        self.woken_accounts.lock().push(format!("{channel}:{account}"));
    }
}
