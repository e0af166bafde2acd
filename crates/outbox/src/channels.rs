//! The channels of this daemon, by account.

use std::collections::BTreeMap;
use std::sync::Arc;

use avocet_protocol::bus::{Destinations, NoDestination};
use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{ChatAddress, Content, Planned};
use avocet_protocol::daemon::Live;
use avocet_protocol::ids::{AccountName, ChannelName};
use tokio::sync::Notify;

type ByAccount = BTreeMap<(ChannelName, AccountName), Arc<dyn Channel>>;

/// The channels of this daemon. They may change while it runs.
#[derive(Debug, Default)]
pub struct ChannelRegistry {
    by_account: Live<ByAccount>,
    /// The last channels of removed accounts. They only plan, and send nothing.
    removed: Live<ByAccount>,
    /// Notified after each change.
    changed: Notify,
}

impl ChannelRegistry {
    /// Takes these channels. Of two for the same account, the later one serves it.
    #[must_use]
    pub fn new(channels: Vec<Arc<dyn Channel>>) -> Self {
        let by_account =
            channels.into_iter().map(|channel| ((channel.name(), channel.account()), channel));
        let by_account = Live::new(by_account.collect::<ByAccount>());
        Self { by_account, ..Self::default() }
    }

    /// Adds a channel, or replaces the one of the same account.
    pub fn add_channel(&self, channel: Arc<dyn Channel>) {
        let account = (channel.name(), channel.account());
        change_channels(&self.by_account, |all| drop(all.insert(account.clone(), channel)));
        change_channels(&self.removed, |removed| drop(removed.remove(&account)));
        self.changed.notify_waiters();
    }

    /// Removes the channel of an account. Its messages wait in the outbox until it is added again.
    pub fn remove_channel(&self, name: &ChannelName, account: &AccountName) {
        let account = (name.clone(), account.clone());
        if let Some(channel) = self.by_account.now().get(&account).cloned() {
            // Planning finds the channel at every moment, so the copy comes first.
            change_channels(&self.removed, |removed| {
                drop(removed.insert(account.clone(), channel));
            });
        }
        change_channels(&self.by_account, |all| drop(all.remove(&account)));
        self.changed.notify_waiters();
    }

    /// Returns `true` if this channel serves an address: it is neither replaced nor removed.
    pub(crate) fn is_serving(&self, channel: &Arc<dyn Channel>, address: &ChatAddress) -> bool {
        self.channel_of(address).is_some_and(|current| Arc::ptr_eq(&current, channel))
    }

    /// Waits until another channel serves an address, or none.
    pub(crate) async fn wait_until_replaced(
        &self,
        channel: &Arc<dyn Channel>,
        address: &ChatAddress,
    ) {
        loop {
            let changed = self.changed.notified();
            if !self.is_serving(channel, address) {
                return;
            }
            changed.await;
        }
    }

    /// Plans an answer to a message like [`Destinations::plan`], also for an account that was removed
    /// after the message has arrived. Such an answer waits in the outbox.
    ///
    /// # Errors
    /// [`NoDestination`] if the account is unknown since the start of the daemon.
    pub fn plan_answer(
        &self,
        address: &ChatAddress,
        content: &Content,
    ) -> Result<Planned, NoDestination> {
        let account = (address.channel.clone(), address.account.clone());
        let removed = || self.removed.now().get(&account).cloned();
        match self.channel_of(address).or_else(removed) {
            Some(channel) => Ok(plan_content(channel.as_ref(), address, content)),
            None => Err(self.no_destination(address)),
        }
    }

    /// Returns every channel, by name and account.
    #[must_use]
    pub fn all_channels(&self) -> Vec<Arc<dyn Channel>> {
        self.by_account.now().values().cloned().collect()
    }

    /// Returns the channel that serves an address.
    #[must_use]
    pub fn channel_of(&self, address: &ChatAddress) -> Option<Arc<dyn Channel>> {
        let account = (address.channel.clone(), address.account.clone());
        self.by_account.now().get(&account).cloned()
    }

    fn no_destination(&self, address: &ChatAddress) -> NoDestination {
        let all = self.by_account.now();
        let names = all.keys().map(|(name, account)| format!("{name}:{account}"));
        let known = names.collect::<Vec<_>>().join(", ");
        NoDestination { address: address.to_string(), known }
    }
}

fn change_channels(channels: &Live<ByAccount>, change: impl FnOnce(&mut ByAccount)) {
    channels.change(|all| {
        let mut all = all.clone();
        change(&mut all);
        Arc::new(all)
    });
}

impl Destinations for ChannelRegistry {
    fn plan(&self, address: &ChatAddress, content: &Content) -> Result<Planned, NoDestination> {
        match self.channel_of(address) {
            Some(channel) => Ok(plan_content(channel.as_ref(), address, content)),
            None => Err(self.no_destination(address)),
        }
    }

    fn can_edit(&self, address: &ChatAddress) -> bool {
        self.channel_of(address).is_some_and(|channel| channel.capabilities().can_edit)
    }

    fn max_file_bytes(&self, address: &ChatAddress) -> Option<u64> {
        self.channel_of(address)?.max_file_bytes(address)
    }
}

fn plan_content(channel: &dyn Channel, address: &ChatAddress, content: &Content) -> Planned {
    let mut chunks = match &content.poll {
        Some(_) if !channel.capabilities().has_polls => channel.plan(&without_poll(content)),
        _ => channel.plan(content),
    };
    chunks.iter_mut().for_each(|chunk| chunk.notifies = None);
    if let Some(first) = chunks.first_mut() {
        first.reply_to.clone_from(&content.reply_to);
        first.notifies.clone_from(&content.notifies);
    }
    Planned { address: address.clone(), chunks }
}

/// Returns a poll as a text with a numbered list of its answers.
fn without_poll(content: &Content) -> Content {
    let mut text = Content { attachments: Vec::new(), ..content.clone() }.as_text();
    if content.poll.as_ref().is_some_and(|poll| poll.multiple) {
        text.push_str("\n\nSeveral answers are possible.");
    }
    Content { text, poll: None, ..content.clone() }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::chat::Poll;
    use avocet_testkit::FakeChannel;

    use super::*;

    #[test]
    fn destinations_plan_a_poll_as_a_list_for_a_channel_without_polls() {
        let channels = ChannelRegistry::new(vec![Arc::new(FakeChannel::default())]);
        let answers = vec!["tea".to_owned(), "coffee".to_owned()];
        let list = "Which?\n\n1. tea\n2. coffee";
        let several = format!("{list}\n\nSeveral answers are possible.");
        for (multiple, expected) in [(false, list), (true, &several)] {
            let poll = Poll { answers: answers.clone(), multiple, hours: 24 };
            let content = Content { poll: Some(poll), ..Content::text("Which?") };
            let planned = channels.plan(&"terminal:local:a".parse().unwrap(), &content).unwrap();
            assert_eq!(planned.chunks, [Content::text(expected)]);
        }
    }

    #[test]
    fn channels_of_finds_a_channel_that_was_added_and_not_a_removed_one() {
        let channels = ChannelRegistry::default();
        let channel = Arc::new(FakeChannel::default());
        let (name, account) = (channel.name(), channel.account());
        let chat: ChatAddress = format!("{name}:{account}:a").parse().unwrap();
        assert!(channels.channel_of(&chat).is_none());
        channels.add_channel(channel);
        assert!(channels.channel_of(&chat).is_some());
        channels.remove_channel(&name, &account);
        assert!(channels.channel_of(&chat).is_none() && channels.all_channels().is_empty());
    }

    #[test]
    fn plan_answer_plans_for_a_removed_channel_too() {
        let channel = Arc::new(FakeChannel::default());
        let (name, account) = (channel.name(), channel.account());
        let channels = ChannelRegistry::new(vec![channel.clone()]);
        let chat: ChatAddress = format!("{name}:{account}:a").parse().unwrap();
        let content = Content::text("late");
        let planned = channels.plan(&chat, &content).unwrap();
        channels.remove_channel(&name, &account);
        assert!(channels.plan(&chat, &content).is_err(), "new messages have no destination");
        assert_eq!(channels.plan_answer(&chat, &content).as_ref(), Ok(&planned));
        channels.add_channel(channel);
        assert_eq!(channels.plan_answer(&chat, &content), Ok(planned));
        let nowhere: ChatAddress = "icq:local:a".parse().unwrap();
        assert!(channels.plan_answer(&nowhere, &content).is_err());
    }

    #[test]
    fn destinations_plan_and_limit_files_by_the_channel_of_the_address() {
        let channels = ChannelRegistry::new(vec![Arc::new(FakeChannel::default())]);
        let chat: ChatAddress = "terminal:local:a".parse().unwrap();
        let content = Content::text("x".repeat(FakeChannel::LIMIT + 1));
        let planned = channels.plan(&chat, &content).unwrap();
        assert_eq!(planned.chunks.len(), 2);
        let (reply_to, notifies) = (Some("m1".parse().unwrap()), Some("77".parse().unwrap()));
        let reply = Content { reply_to, notifies, ..content.clone() };
        let planned = channels.plan(&chat, &reply).unwrap();
        let refers =
            planned.chunks.iter().map(|one| (one.reply_to.is_some(), one.notifies.is_some()));
        let refers: Vec<_> = refers.collect();
        assert_eq!(
            refers,
            [(true, true), (false, false)],
            "the channel does not do so in the others"
        );
        let limits = |address: &ChatAddress| channels.max_file_bytes(address);
        let nowhere: ChatAddress = "icq:local:a".parse().unwrap();
        assert_eq!(limits(&chat), Some(FakeChannel::MAX_FILE_BYTES));
        assert_eq!(limits(&nowhere), None);
        let error = channels.plan(&nowhere, &content).unwrap_err().to_string();
        assert_eq!(error, "icq:local:a is on no configured channel; there are: terminal:local");
    }
}
