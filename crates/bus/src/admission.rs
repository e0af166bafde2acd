//! Checks access and the form of messages. Channels have to pass these checks, because a lane takes
//! only [`AdmittedMessage`] messages, and only this file makes them.
//!
//! ```text
//! the role of a sender, the highest of    applies
//! the lists of the account                everywhere
//! an admission by pairing                 everywhere; it is in the log
//! a role of the platform                  in groups; only if the platform itself reports it
//!
//! in a group, then                        its own list replaces the account's, if it has one;
//!                                         an owner is a user, unless `owner_tools` is set
//! local account (socket, terminal)        owner; a named client or a webhook is a user, unless
//!                                         it is an operator
//! ```
//!
//! **No role, no entry.** Everything that is not listed is refused. An account that is unknown has
//! no roles.
//!
//! **Twice.** A message is admitted before its commit ([`Admission::admit_message`]), and again
//! when its turn or its command begins ([`Admission::readmit_message`]), because people lose access
//! in between. The second time only the access is checked: the text was cleaned before the log got
//! it.
//!
//! **The form** is made once: the session, the limit of length, and every text without invisible
//! and control characters. The name of a file that reads like an order becomes an untrusted part,
//! because another person may have named the file. A forwarded text is never a command, because its author did not send it
//! here.
//!
//! **Rules and people.** The lists come from the configuration and are replaced by a reload.
//! Admitted people and links come from the log, and a cache of them is read here
//! (`access_cache.rs`). The locks that keep both unchanged during a commit are in
//! `access_state.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use avocet_protocol::access::{Allow, PersonId, Role, Trust};
use avocet_protocol::bus::PublishError;
use avocet_protocol::chat::{
    Attachment, ChatAddress, ChatKind, Content, Inbound, InboundKind, LoggedInbound, NewInbound,
    Quote, Sender, SessionId,
};
use avocet_protocol::daemon::Live;
use avocet_protocol::ids::{AccountName, ChannelName, IdError, SenderId};
use avocet_text::{is_odd_name, sanitise};

use crate::access_cache::AccessCache;

/// Maximum length of a message's text, in bytes. Longer texts come as a file.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;

/// A message that has passed admission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedMessage<T> {
    message: T,
    role: Role,
}

impl<T> AdmittedMessage<T> {
    /// Borrows the message, which stays admitted.
    #[must_use]
    pub fn get(&self) -> &T {
        &self.message
    }

    /// Returns the role in which the message is handled.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the owned message.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.message
    }
}

/// Access control for all accounts of this daemon: the configuration's lists, and people admitted
/// later. Everyone else is refused.
#[derive(Debug, Default)]
pub struct Admission {
    rules: Live<AccessRules>,
    pub(crate) cache: AccessCache,
}

/// The access rules of the configuration.
#[derive(Debug, Clone, Default)]
struct AccessRules {
    accounts: BTreeMap<(ChannelName, AccountName), Arc<Allow>>,
    /// The named clients of the socket that are owners of local accounts.
    operators: BTreeSet<SenderId>,
}

impl Admission {
    /// Adds an account.
    #[must_use]
    pub fn with_account(self, channel: ChannelName, account: AccountName, allow: Allow) -> Self {
        self.change_rules(|rules| drop(rules.accounts.insert((channel, account), Arc::new(allow))));
        self
    }

    /// Makes these clients of the socket owners of local accounts. Other named clients are users
    /// there, because their rights on the socket are limited.
    #[must_use]
    pub fn with_operators(self, operators: BTreeSet<SenderId>) -> Self {
        self.change_rules(|rules| rules.operators = operators);
        self
    }

    fn change_rules(&self, change: impl FnOnce(&mut AccessRules)) {
        self.rules.change(|rules| {
            let mut rules = rules.clone();
            change(&mut rules);
            Arc::new(rules)
        });
    }

    /// Takes the rules of another configuration. People who were admitted later stay admitted.
    pub(crate) fn take_rules(&self, other: &Self) {
        self.rules.replace(other.rules.now());
    }

    /// Returns the role in which a message is handled; `None` if its sender lacks access there.
    #[must_use]
    pub fn role_of_sender(&self, inbound: &Inbound) -> Option<Role> {
        let own = self.author_role(inbound);
        match self.access_rule(&inbound.address).as_deref() {
            Some(Allow::Listed(lists)) if inbound.chat == ChatKind::Group => {
                lists.role_in_group(&inbound.address.chat, &inbound.sender.id, own)
            }
            _ => own,
        }
    }

    /// Returns the role of a message's author: their own, or the one that a role of the platform
    /// gives in a group.
    pub(crate) fn author_role(&self, inbound: &Inbound) -> Option<Role> {
        let own = self.own_role(&PersonId::from_inbound(inbound));
        match self.access_rule(&inbound.address).as_deref() {
            Some(Allow::Listed(lists)) if inbound.chat == ChatKind::Group => {
                own.max(lists.role_of_roles(&inbound.content.author_roles))
            }
            _ => own,
        }
    }

    /// Returns a person's role on an account, independent of the chat.
    pub(crate) fn own_role(&self, person: &PersonId) -> Option<Role> {
        let account = (person.channel.clone(), person.account.clone());
        let rules = self.rules.now();
        match &**rules.accounts.get(&account)? {
            Allow::Local if rules.is_limited(&person.sender) => Some(Role::User),
            Allow::Local => Some(Role::Owner),
            Allow::Listed(lists) => lists.role(&person.sender).max(self.cache.role_of(person)),
        }
    }

    /// Returns `true` if the agent may start a conversation in this chat.
    pub(crate) fn may_write(&self, chat: &ChatAddress) -> bool {
        match self.access_rule(chat).as_deref() {
            None => false,
            Some(Allow::Local) => true,
            Some(Allow::Listed(lists)) => {
                // The private chat of a person is unknown before their first message; their own id
                // stands for it.
                let person = SenderId::parse(chat.chat.as_str()).ok();
                lists.groups.contains_key(&chat.chat)
                    || self.role_in_private(chat).is_some()
                    || person.is_some_and(|person| lists.role(&person).is_some())
            }
        }
    }

    /// Returns the role of the person in a private chat; `None` for groups and unknown chats.
    pub(crate) fn role_in_private(&self, chat: &ChatAddress) -> Option<Role> {
        if matches!(self.access_rule(chat).as_deref(), Some(Allow::Local)) {
            return Some(Role::Owner);
        }
        self.own_role(&PersonId::from_sender(chat, self.cache.owner_of_chat(chat)?))
    }

    /// Returns the access rule of the account; `None` for an unknown account.
    pub(crate) fn access_rule(&self, address: &ChatAddress) -> Option<Arc<Allow>> {
        let account = (address.channel.clone(), address.account.clone());
        self.rules.now().accounts.get(&account).cloned()
    }

    /// Returns all people named in the configuration.
    pub(crate) fn configured_people(&self) -> Vec<(PersonId, Role)> {
        let rules = self.rules.now();
        let people = rules.accounts.iter().flat_map(|((channel, account), allow)| {
            let people = match &**allow {
                Allow::Local => Vec::new(),
                Allow::Listed(lists) => lists.people(),
            };
            people.into_iter().map(|(sender, role)| {
                let (channel, account) = (channel.clone(), account.clone());
                (PersonId { channel, account, sender }, role)
            })
        });
        people.collect()
    }

    pub(crate) fn without_owner(&self) -> Vec<String> {
        let is_owned = |channel: &ChannelName, account: &AccountName, allow: &Allow| match allow {
            Allow::Local => true,
            Allow::Listed(lists) => {
                !lists.owners.is_empty()
                    || self.cache.read(|access| {
                        access.people.iter().any(|one| {
                            one.role == Role::Owner
                                && one.id.channel == *channel
                                && one.id.account == *account
                        })
                    })
            }
        };
        let rules = self.rules.now();
        let accounts = rules.accounts.iter();
        let unowned =
            accounts.filter(|((channel, account), allow)| !is_owned(channel, account, allow));
        unowned.map(|((channel, account), _)| format!("{channel}:{account}")).collect()
    }

    /// Returns the session to which a message belongs.
    pub(crate) fn session_of(&self, inbound: &Inbound) -> Result<SessionId, IdError> {
        let linked = match inbound.chat {
            ChatKind::Private => self.cache.session_of(&inbound.address),
            ChatKind::Group => None,
        };
        linked.map_or_else(|| SessionId::from_address(&inbound.address), Ok)
    }

    pub(crate) fn admit_message(
        &self,
        mut inbound: Inbound,
    ) -> Result<AdmittedMessage<NewInbound>, PublishError> {
        // Only the platform itself knows them.
        if !inbound.from_platform {
            inbound.content.author_roles.clear();
        }
        let role = self.check_sender(&inbound)?;
        Ok(AdmittedMessage { message: self.prepare_message(inbound)?, role })
    }

    /// Checks the text of a message and sanitises it. The sender need not have access.
    pub(crate) fn prepare_message(&self, inbound: Inbound) -> Result<NewInbound, PublishError> {
        let session = self.session_of(&inbound)?;
        let parts = inbound.content.untyped_parts().map(|part| part.text.len());
        let bytes = inbound.content.text.len() + parts.sum::<usize>();
        if bytes > MAX_TEXT_BYTES {
            return Err(PublishError::TooLong { bytes, limit: MAX_TEXT_BYTES });
        }
        let (content, removed) = sanitise_content(inbound.content);
        if content.is_empty() {
            return Err(PublishError::Empty);
        }
        let name = inbound.sender.name.map(|name| sanitise(&name).text);
        let sender = Sender { name, ..inbound.sender };
        // Forwarded text is shown to the agent, but is never a command.
        let commands = content.forwarded_from.is_none() && is_command(&content.text);
        let kind = if commands { InboundKind::Command } else { InboundKind::Text };
        let inbound = Inbound { sender, content, ..inbound };
        let by_owner = self.author_role(&inbound) == Some(Role::Owner);
        let inbound = Inbound { by_owner, ..inbound };
        let removed = u32::try_from(removed).unwrap_or(u32::MAX);
        Ok(NewInbound { session, kind, inbound, removed, trust: Trust::Full })
    }

    /// Admits a message from the log again, since its sender may have lost access.
    pub(crate) fn readmit_message(
        &self,
        message: LoggedInbound,
    ) -> Result<AdmittedMessage<LoggedInbound>, PublishError> {
        let role = self.check_sender(&message.message.inbound)?;
        Ok(AdmittedMessage { message, role })
    }

    pub(crate) fn check_sender(&self, inbound: &Inbound) -> Result<Role, PublishError> {
        self.role_of_sender(inbound).ok_or_else(|| PublishError::NotAllowed {
            channel: inbound.address.channel.to_string(),
            sender: inbound.sender.id.to_string(),
        })
    }
}

impl AccessRules {
    /// Returns `true` for a webhook, for a client of `/mcp` with a lowered role, and for a named client
    /// of the socket or of the HTTP interface that is no operator.
    fn is_limited(&self, sender: &SenderId) -> bool {
        let is_named = ["client:", "hook:", "http:", "mcp:"]
            .iter()
            .any(|kind| sender.as_str().starts_with(kind));
        is_named && !self.operators.contains(sender)
    }
}

/// Sanitises every text of a content, and counts the removed characters.
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
        .collect::<Vec<_>>();
    let forwarded_from = content.forwarded_from.as_deref().map(&mut clean);
    let mut clean_quote = |quote: Quote| Quote {
        from: quote.from.as_deref().map(&mut clean),
        text: clean(&quote.text),
    };
    let quote = content.quote.map(&mut clean_quote);
    let earlier = content.earlier.into_iter().map(&mut clean_quote).collect();
    let forwarded = content.forwarded.into_iter().map(&mut clean_quote).collect();
    let quotes = content.quotes.into_iter().map(&mut clean_quote).collect();
    let mut untrusted: Vec<Quote> = content.untrusted.into_iter().map(clean_quote).collect();
    let attachments = attachments.into_iter().map(|file| part_odd_name(file, &mut untrusted));
    let attachments = attachments.collect();
    let program = content.program.map(|program| Box::new(program.with_texts(&mut clean)));
    let Content { choices, reply_to, pressed, by_button, author_roles, .. } = content;
    let Content { quotes_own, quoted, continues, more_within_ms, .. } = content;
    let content = Content {
        text,
        quote,
        quotes_own,
        quoted,
        // Only the log knows it.
        quote_trust: None,
        earlier,
        author_roles,
        reply_to,
        // Only the agent notifies people.
        notifies: None,
        continues,
        more_within_ms,
        pressed,
        by_button,
        forwarded_from,
        forwarded,
        quotes,
        untrusted,
        styles: None,
        attachments,
        choices,
        // Only the agent sends polls.
        poll: None,
        program,
    };
    (content, removed)
}

/// Moves a name that could be read as instructions to the untrusted parts. The file keeps the end of
/// the name, which tells its type.
fn part_odd_name(file: Attachment, untrusted: &mut Vec<Quote>) -> Attachment {
    const LONGEST_END: usize = 8;
    let Some(name) = file.name.as_deref().filter(|name| is_odd_name(name)) else { return file };
    let end = name.rsplit_once('.').map(|(_, end)| end);
    let end = end.filter(|end| {
        end.len() <= LONGEST_END && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let plain = end.map(|end| format!("file.{end}"));
    untrusted.push(Quote { from: Some("the name of a file".to_owned()), text: name.to_owned() });
    Attachment { name: plain, ..file }
}

/// Returns `true` for `/word` or, as in a group, `/word@bot`, alone or followed by an argument. A
/// path is not a command.
fn is_command(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix('/') else { return false };
    let word = rest.split(|c: char| c.is_whitespace() || c == '@').next().unwrap_or_default();
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
