//! Runs the channels, from which messages enter the bus.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::bus::{Deliveries, Publish};
use avocet_protocol::channel::{Channel, ChannelContext, ChannelError, CommandHelp};
use avocet_protocol::clock::Clock;
use avocet_supervise::{Group, RestartDelays, UnfinishedTasks};
use parking_lot::Mutex;

use crate::registry::AccountId;

/// The restart policy for channels that end by themselves.
const CHANNEL_RESTART: RestartDelays = RestartDelays {
    first: Duration::from_secs(1),
    longest: Duration::from_mins(1),
    healthy_after: Duration::from_mins(2),
};

/// The time for an account to stop while the daemon runs.
const STOPPING: Duration = Duration::from_secs(10);

/// Runs the accounts, each in its own group.
#[derive(Debug)]
pub(crate) struct Intake {
    publish: Arc<dyn Publish>,
    deliveries: Arc<dyn Deliveries>,
    clock: Arc<dyn Clock>,
    group: Group,
    running: Mutex<BTreeMap<AccountId, Group>>,
}

impl Intake {
    /// Runs accounts until `group` is cancelled.
    pub(crate) fn new(
        publish: Arc<dyn Publish>,
        deliveries: Arc<dyn Deliveries>,
        clock: &Arc<dyn Clock>,
        group: &Group,
    ) -> Self {
        Self {
            publish,
            deliveries,
            clock: clock.clone(),
            group: group.clone(),
            running: Mutex::default(),
        }
    }

    /// Runs an account. A channel that fails for good logs the reason and stays down.
    pub(crate) fn start(&self, channel: Arc<dyn Channel>) {
        let name = format!("{}:{}", channel.name(), channel.account());
        let group = self.group.child_group(&name);
        self.running.lock().insert((channel.name(), channel.account()), group.clone());
        let commands: Arc<[CommandHelp]> = avocet_session::commands().collect();
        let context = ChannelContext {
            publish: self.publish.clone(),
            deliveries: self.deliveries.clone(),
            clock: self.clock.clone(),
            commands,
            stop: group.cancel_token(),
        };
        group.spawn_restarting(&name, self.clock.clone(), CHANNEL_RESTART, move || {
            let (channel, context) = (channel.clone(), context.clone());
            async move { run_channel(channel.as_ref(), context).await }
        });
    }

    /// Delivers the messages that wait for an account.
    pub(crate) fn deliver(&self, (channel, account): &AccountId) {
        self.deliveries.wake_account(channel, account);
    }

    /// Stops an account and waits for its end.
    ///
    /// # Errors
    /// [`UnfinishedTasks`] if the account still runs. It must not be started again, because it
    /// would then receive twice at the same time.
    pub(crate) async fn stop(&self, account: &AccountId) -> Result<(), UnfinishedTasks> {
        let Some(group) = self.running.lock().get(account).cloned() else { return Ok(()) };
        end_group(&group, self.clock.as_ref()).await?;
        self.running.lock().remove(account);
        Ok(())
    }
}

/// Cancels the tasks of an account, and aborts those that do not end in time.
async fn end_group(group: &Group, clock: &dyn Clock) -> Result<(), UnfinishedTasks> {
    group.cancel_tasks();
    let Err(unfinished) = group.wait_for_tasks(clock, STOPPING).await else { return Ok(()) };
    tracing::warn!(%unfinished, "the account does not stop in time; aborting it");
    group.abort_tasks();
    // An aborted task ends at its next pause.
    group.wait_for_tasks(clock, STOPPING).await
}

async fn run_channel(channel: &dyn Channel, context: ChannelContext) {
    let (name, account, stop) = (channel.name(), channel.account(), context.stop.clone());
    match channel.run(context).await {
        Ok(()) => {}
        Err(ChannelError::Interrupted(error)) => {
            tracing::warn!(%name, %account, error, "the channel was interrupted");
        }
        Err(ChannelError::Fatal(error)) => {
            tracing::error!(%name, %account, error, "the channel is down until this is fixed");
            stop.cancelled().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use avocet_testkit::ManualClock;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn end_reports_an_account_that_blocks_its_thread() {
        let clock = Arc::new(ManualClock::default());
        let group = Group::new("telegram:main");
        let (release, blocked) = flume::bounded::<()>(1);
        let (started, running) = flume::bounded::<()>(1);
        group.spawn("receive", async move {
            started.send(()).unwrap();
            // Ends when the other side is dropped.
            blocked.recv().unwrap_or_default();
        });
        running.recv().unwrap();
        let ending = async {
            let first = end_group(&group, clock.as_ref()).await;
            drop(release);
            (first, end_group(&group, clock.as_ref()).await)
        };
        let time = async {
            for _ in 0..2 {
                clock.sleeper(STOPPING).await;
                clock.advance(STOPPING);
            }
        };
        let ((first, second), ()) = tokio::join!(ending, time);
        assert!(first.unwrap_err().to_string().contains("receive"));
        second.unwrap();
    }
}
