//! Stops and starts the accounts whose settings change.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use avocet_protocol::Deliveries;

use super::Reloader;
use crate::exit::{Exit, Failure};
use crate::registry::{AccountId, ConfiguredChannel};

impl Reloader {
    /// The accounts that did not stop. Each reload tries to stop and to start them again.
    pub(super) fn unfinished(&self) -> MutexGuard<'_, BTreeSet<AccountId>> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the accounts.
    ///
    /// # Errors
    /// One account does not stop. The others run again as before.
    pub(super) async fn stop_accounts(
        &self,
        accounts: &BTreeSet<AccountId>,
    ) -> Result<(), Failure> {
        let mut stopped = BTreeSet::new();
        for account in accounts {
            if let Err(unfinished) = self.parts.intake.stop(account).await {
                self.restart_accounts(&stopped);
                self.unfinished().insert(account.clone());
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
        self.unfinished().clear();
        Ok(())
    }

    /// Starts stopped accounts again with their old settings.
    pub(super) fn restart_accounts(&self, stopped: &BTreeSet<AccountId>) {
        let channels = self.parts.agent_parts.channels.all().into_iter();
        channels
            .filter(|channel| stopped.contains(&(channel.name(), channel.account())))
            .for_each(|channel| self.parts.intake.start(channel));
    }

    /// Removes the accounts that are gone from the configuration.
    pub(super) fn remove_accounts(
        &self,
        accounts: &BTreeSet<AccountId>,
        configured: &[ConfiguredChannel],
    ) {
        for gone in accounts {
            if !configured.iter().any(|one| one.id() == *gone) {
                let (channel, account) = gone;
                tracing::info!(%channel, %account, "the account is removed; its messages wait");
                self.parts.agent_parts.channels.remove(channel, account);
            }
        }
    }

    /// Starts the accounts with their new settings, and delivers the messages that wait for them.
    pub(super) fn start_accounts(
        &self,
        accounts: &BTreeSet<AccountId>,
        configured: Vec<ConfiguredChannel>,
    ) {
        let changed = configured.into_iter().filter(|one| accounts.contains(&one.id()));
        for ConfiguredChannel { channel, .. } in changed {
            let (name, account) = (channel.name(), channel.account());
            tracing::info!(channel = %name, %account, "the account starts with its new settings");
            self.parts.agent_parts.channels.add(channel.clone());
            self.parts.intake.start(channel);
            self.parts.intake.deliverer().wake_account(&name, &account);
        }
    }
}
