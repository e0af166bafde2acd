//! Who may speak, and what a message has to look like. No channel can skip it: a lane takes only
//! what is [`Admitted`], and only this file makes that.

use std::collections::{BTreeMap, BTreeSet};

use avocet_protocol::{
    AccountName, Attachment, ChannelName, ChatAddress, Content, Inbound, InboundKind,
    LoggedInbound, NewInbound, PublishError, Quote, Sender, SenderId, SessionId, sanitise,
};

/// The longest text of one message, in bytes. Longer ones come as a file.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// A message that has passed admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted<T>(T);

impl<T> Admitted<T> {
    /// The message.
    #[must_use]
    pub fn get(&self) -> &T {
        &self.0
    }

    /// The message, for who needs it whole.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Who may speak on one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allow {
    /// Whoever can reach it: its door is guarded by the system (a terminal, the Unix socket).
    Local,
    /// These, by the platform's id. Empty means nobody.
    Listed(BTreeSet<SenderId>),
}

/// Who may speak on every account of this daemon. What is not in it is not admitted.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    accounts: BTreeMap<(ChannelName, AccountName), Allow>,
}

impl Admission {
    /// Lets an account in.
    #[must_use]
    pub fn with(mut self, channel: ChannelName, account: AccountName, allow: Allow) -> Self {
        self.accounts.insert((channel, account), allow);
        self
    }

    /// Whether this sender may speak there.
    #[must_use]
    pub fn allows(&self, address: &ChatAddress, sender: &SenderId) -> bool {
        match self.accounts.get(&(address.channel.clone(), address.account.clone())) {
            None => false,
            Some(Allow::Local) => true,
            Some(Allow::Listed(senders)) => senders.contains(sender),
        }
    }

    pub(crate) fn admit(&self, inbound: Inbound) -> Result<Admitted<NewInbound>, PublishError> {
        self.check(&inbound)?;
        let session = SessionId::of(&inbound.address)?;
        let bytes = inbound.content.text.len();
        if bytes > MAX_TEXT_BYTES {
            return Err(PublishError::TooLong { bytes, limit: MAX_TEXT_BYTES });
        }
        let (content, removed) = sanitise_content(inbound.content);
        if content.is_empty() {
            return Err(PublishError::Empty);
        }
        let name = inbound.sender.name.map(|name| sanitise(&name).text);
        let sender = Sender { name, ..inbound.sender };
        let kind = if is_command(&content.text) { InboundKind::Command } else { InboundKind::Text };
        let inbound = Inbound { sender, content, ..inbound };
        let removed = u32::try_from(removed).unwrap_or(u32::MAX);
        Ok(Admitted(NewInbound { session, kind, inbound, removed }))
    }

    /// Admits a message that comes out of the log: whoever sent it may have been struck off since.
    pub(crate) fn readmit(
        &self,
        message: LoggedInbound,
    ) -> Result<Admitted<LoggedInbound>, PublishError> {
        self.check(&message.message.inbound)?;
        Ok(Admitted(message))
    }

    fn check(&self, inbound: &Inbound) -> Result<(), PublishError> {
        if self.allows(&inbound.address, &inbound.sender.id) {
            return Ok(());
        }
        Err(PublishError::NotAllowed {
            channel: inbound.address.channel.to_string(),
            sender: inbound.sender.id.to_string(),
        })
    }
}

/// Sanitises every text of a content and counts the characters that went.
pub(crate) fn sanitise_content(content: Content) -> (Content, usize) {
    let mut removed = 0;
    let mut clean = |text: &str| {
        let clean = sanitise(text);
        removed += clean.removed;
        clean.text
    };
    let text = clean(&content.text);
    let attachments = content
        .attachments
        .into_iter()
        .map(|attachment| {
            let name = attachment.name.as_deref().map(&mut clean);
            Attachment { name, ..attachment }
        })
        .collect();
    let forwarded_from = content.forwarded_from.as_deref().map(&mut clean);
    let quote = content.quote.map(|quote| Quote {
        from: quote.from.as_deref().map(&mut clean),
        text: clean(&quote.text),
    });
    let Content { choices, .. } = content;
    (Content { text, quote, forwarded_from, styles: None, attachments, choices }, removed)
}

/// `/word`, alone or followed by an argument; `/word@bot` as in a group. A path is not a command.
fn is_command(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('/') else { return false };
    let word = rest.split(|c: char| c.is_whitespace() || c == '@').next().unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
