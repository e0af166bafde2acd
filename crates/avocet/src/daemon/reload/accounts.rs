//! Stops and starts the accounts whose settings change.

use std::collections::BTreeSet;
use std::sync::Arc;

use avocet_outbox::ChannelRegistry;
use parking_lot::Mutex;

use crate::daemon::intake::Intake;
use crate::exit::{Exit, Failure};
use crate::registry::{AccountId, ConfiguredChannel};

/// The accounts of the running daemon.
#[derive(Debug)]
pub(crate) struct LiveAccounts {
    intake: Arc<Intake>,
    channels: Arc<ChannelRegistry>,
    /// The accounts that did not stop.
    unfinished: Mutex<BTreeSet<AccountId>>,
}

impl LiveAccounts {
    pub(crate) fn new(intake: Arc<Intake>, channels: &Arc<ChannelRegistry>) -> Self {
        Self { intake, channels: channels.clone(), unfinished: Mutex::default() }
    }

    /// Returns the accounts that a reload stops and starts: the changed ones, those that did not
    /// stop at an earlier reload, and those that their platform refuses.
    pub(super) fn due(&self, changed: &BTreeSet<AccountId>) -> BTreeSet<AccountId> {
        let channels = self.channels.all_channels().into_iter();
        let refused = channels
            .filter(|channel| channel.is_refused())
            .map(|channel| (channel.name(), channel.account()));
        self.unfinished.lock().union(changed).cloned().chain(refused).collect()
    }

    /// Stops the accounts that are due.
    ///
    /// # Errors
    /// One account does not stop. The others run again as before.
    pub(super) async fn stop(&self, due: &BTreeSet<AccountId>) -> Result<(), Failure> {
        let mut stopped = BTreeSet::new();
        for account in due {
            if let Err(unfinished) = self.intake.stop(account).await {
                self.restart(&stopped);
                self.unfinished.lock().insert(account.clone());
                let (channel, account) = account;
                let message = format!(
                    "the account {channel}:{account} does not stop ({unfinished}), so it cannot \
                        start with other settings and receives nothing; restart the daemon, or reload \
                        later"
                );
                return Err(Failure::new(Exit::Failed, message));
            }
            stopped.insert(account.clone());
        }
        self.unfinished.lock().clear();
        Ok(())
    }

    /// Starts stopped accounts again with their old settings.
    pub(super) fn restart(&self, stopped: &BTreeSet<AccountId>) {
        let channels = self.channels.all_channels().into_iter();
        channels
            .filter(|channel| stopped.contains(&(channel.name(), channel.account())))
            .for_each(|channel| self.intake.start(channel));
    }

    /// Removes the accounts that are gone from the configuration.
    pub(super) fn remove(&self, due: &BTreeSet<AccountId>, configured: &[ConfiguredChannel]) {
        for gone in due {
            if !configured.iter().any(|one| one.id() == *gone) {
                let (channel, account) = gone;
                tracing::info!(%channel, %account, "the account is removed; its messages wait");
                self.channels.remove_channel(channel, account);
            }
        }
    }

    /// Starts the accounts with their new settings, and delivers the messages that wait for them.
    pub(super) fn start(&self, due: &BTreeSet<AccountId>, configured: Vec<ConfiguredChannel>) {
        let changed = configured.into_iter().filter(|one| due.contains(&one.id()));
        for one in changed {
            let id = one.id();
            let (channel, account) = &id;
            tracing::info!(%channel, %account, "the account starts with its new settings");
            self.channels.add_channel(one.channel.clone());
            self.intake.start(one.channel);
            self.intake.deliver(&id);
        }
    }
}

#[cfg(test)]
#[path = "accounts_tests.rs"]
mod tests;
