//! The running daemon. It is started from the outbox back to the channels, and stopped in the order of
//! a message's way, so that a stopped part gets no work.

use std::sync::Arc;
use std::time::Duration;

use avocet_config::LogDurability;
use avocet_gateway::Gateway;
use avocet_outbox::ChannelRegistry;
use avocet_protocol::daemon::LogStatus;
use avocet_protocol::store::{Query, StoreError};
use avocet_session::Sessions;
use avocet_store::{LogHolder, OpenOptions, SqliteStore};
use avocet_supervise::Group;
use tokio_util::sync::CancellationToken;

use crate::components::audit::Keeper;
use crate::components::ports::DaemonPorts;
use crate::configuration::Configuration;
use crate::daemon::children::Children;
use crate::daemon::reload::Reloader;
use crate::daemon::stuck::{Stuck, hung_channel};
use crate::environment::system_zone;
use crate::redaction;

/// The time for the last answers to be delivered when the daemon stops.
const DELIVERING: Duration = Duration::from_secs(5);

pub(crate) struct RunningDaemon {
    pub(super) ports: DaemonPorts,
    pub(super) sessions: Sessions,
    pub(super) gateway: Gateway,
    pub(super) children: Children,
    pub(super) audit: Arc<Keeper>,
    /// Cancelled when channels have to stop receiving.
    pub(super) intake: Group,
    pub(super) reloader: Arc<Reloader>,
    pub(super) group: Group,
}

/// The choices of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartOptions {
    /// `true` to begin with an empty log if the last one is damaged or missing.
    pub(crate) start_empty: bool,
    pub(crate) intake: ChannelIntake,
}

impl StartOptions {
    /// Returns the options of a daemon with all its channels.
    pub(crate) fn with_all_channels(start_empty: bool) -> Self {
        Self { start_empty, intake: ChannelIntake::Open }
    }
}

/// The treatment of the configured channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelIntake {
    /// They receive messages.
    Open,
    /// Only the socket accepts messages; platforms keep theirs.
    Closed,
}

/// Returns this program's options for opening the log.
pub(crate) fn open_options(configuration: &Configuration, holder: LogHolder) -> OpenOptions {
    let durability = match configuration.settings.durability {
        LogDurability::Synced => avocet_store::Durability::Synced,
        LogDurability::Process => avocet_store::Durability::Process,
    };
    OpenOptions {
        directory: configuration.data_dir.clone(),
        durability,
        default_mode: configuration.settings.sessions.queue_mode,
        answer_edits: configuration.settings.sessions.answer_edits,
        start_empty: false,
        redactor: redaction::shared_redactor(),
        zone: system_zone(),
        holder,
    }
}

impl RunningDaemon {
    /// Returns the part that takes a changed configuration into use.
    pub(crate) fn reloader(&self) -> &Reloader {
        &self.reloader
    }

    /// Checks that the receive loops of channels, the writer and the lanes make progress. The last two
    /// have to answer a ping.
    pub(crate) async fn ping(&self) -> Result<(), Stuck> {
        self.ports.store.ping_writer().await.map_err(Stuck::Log)?;
        self.sessions.ping().await.map_err(Stuck::Lanes)?;
        hung_channel(&self.ports.channels).map_or(Ok(()), Err)
    }

    /// The channels, for reports of their health.
    pub(crate) fn channels(&self) -> &ChannelRegistry {
        &self.ports.channels
    }

    /// Reads the numbers of messages and turns in the log.
    pub(crate) async fn log_status(&self) -> Result<LogStatus, StoreError> {
        self.ports.store.log_status().await
    }

    /// Waits until the log belongs to another process, or was deleted or replaced. Returns the
    /// reason.
    pub(crate) async fn wait_until_lost(&self) -> StoreError {
        self.ports.store.wait_until_lost().await
    }

    /// Ends the intake: from now on publishers are refused.
    pub(crate) fn end_intake(&self) {
        self.intake.cancel_tasks();
        self.ports.bus.stop();
    }

    /// Stops the intake, then the running turns, then the deliveries, then the programs of channels.
    /// `hurry` ends the waiting. Unfinished work continues at the next start.
    pub(crate) async fn stop(self, drain: Duration, hurry: &CancellationToken) {
        self.end_intake();
        let orderly = async {
            self.sessions.stop(drain).await;
            if let Err(unfinished) = self.ports.deliverer.stop(DELIVERING).await {
                tracing::info!(%unfinished, "some deliveries are unfinished; they continue at the \
                    next start");
            }
        };
        tokio::select! {
            () = orderly => {}
            () = hurry.cancelled() => {
                tracing::info!("stopping at once; unfinished work continues at the next start");
                self.sessions.stop(Duration::ZERO).await;
            }
        }
        tokio::select! {
            () = self.children.stop() => {}
            () = hurry.cancelled() => self.children.kill(),
        }
        self.gateway.close();
        self.group.cancel_tasks();
        let group = self.group.clone();
        if let Err(unfinished) =
            group.wait_for_tasks(self.ports.clock.as_ref(), Duration::from_secs(1)).await
        {
            tracing::debug!(%unfinished, "aborting unfinished tasks");
            group.abort_tasks();
        }
        self.audit.note_head().await;
        SqliteStore::clone(&self.ports.store).close().await;
    }
}
