//! The access of a command to a running daemon, or to the log of a stopped one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use avocet_bus::Bus;
use avocet_gateway::{Client, ClientError, ClientMethod, RpcError};
use avocet_outbox::ChannelRegistry;
use avocet_protocol::bus::Deliveries;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_store::{LogHolder, OpenError, SqliteStore};
use serde_json::Value;

use crate::cli::faulty_file::for_daemon;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::{LOOK_AGAIN, connect_daemon};
use crate::context::CommandContext;
use crate::daemon::running::{RunningDaemon, StartOptions, open_options};
use crate::exit::{Exit, Failure};
use crate::registry;

/// The time for a starting daemon to open its socket.
pub(super) const STARTING: Duration = Duration::from_secs(10);

/// A running daemon, or the log of a stopped one.
pub(super) enum Reached {
    Daemon(Client),
    Log(Box<OfflineLog>),
}

/// The log of a stopped daemon.
pub(super) struct OfflineLog {
    pub(super) store: Arc<SqliteStore>,
    /// Loaded for [`ConfigurationUse::Log`].
    pub(super) configuration: Configuration,
}

impl OfflineLog {
    pub(super) async fn close(self) {
        Arc::unwrap_or_clone(self.store).close().await;
    }
}

/// Connects to the running daemon, or starts one here. If a daemon is just starting elsewhere,
/// waits for it.
pub(super) async fn join_or_start(
    context: &CommandContext,
    configuration: &Configuration,
    start_empty: bool,
) -> Result<(Client, Option<RunningDaemon>), Failure> {
    let began = context.clock.elapsed();
    loop {
        if let Some(client) = connect_daemon(context, configuration).await? {
            return Ok((client, None));
        }
        let started = match Configuration::load(context, ConfigurationUse::Everything) {
            Ok(whole) => {
                RunningDaemon::start(context, &whole, StartOptions::with_all_channels(start_empty))
                    .await
            }
            Err(failure) => Err(failure),
        };
        match started {
            Ok(daemon) => {
                let client = Client::connect(&configuration.socket, &context.root).await?;
                return Ok((client, Some(daemon)));
            }
            Err(failure) if failure.exit == Exit::TryLater => {
                if context.clock.elapsed().saturating_sub(began) > STARTING {
                    return Err(failure);
                }
                context.clock.sleep(LOOK_AGAIN).await;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Collects every row of a list that comes in pages of `limit` rows, each behind the last known
/// row.
pub(super) async fn all_rows<T>(
    limit: u32,
    page: impl AsyncFn(Option<&T>) -> Result<Vec<T>, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    loop {
        let more = page(all.last()).await?;
        let is_last = more.len() < limit as usize;
        all.extend(more);
        if is_last {
            return Ok(all);
        }
    }
}

/// Connects to the daemon, or takes its log if none runs. If one is just starting, waits for it.
pub(super) async fn reach_daemon_or_log(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Reached, Failure> {
    let began = context.clock.elapsed();
    loop {
        if let Some(client) = connect_daemon(context, configuration).await? {
            return Ok(Reached::Daemon(client));
        }
        // Text that goes into the log is stripped of the secrets that are known here.
        let configuration = Configuration::load(context, ConfigurationUse::Log)?;
        let options = open_options(&configuration, LogHolder::Command);
        match SqliteStore::open(options, context.clock.clone(), &context.root).await {
            Ok(store) => {
                return Ok(Reached::Log(Box::new(OfflineLog {
                    store: Arc::new(store),
                    configuration,
                })));
            }
            Err(error @ OpenError::Locked { .. }) => {
                if context.clock.elapsed().saturating_sub(began) > STARTING {
                    return Err(error.into());
                }
                context.clock.sleep(LOOK_AGAIN).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Calls a method of the daemon. If no daemon runs, `in_log` does the same on its log.
pub(super) async fn call_daemon_or_log<M: ClientMethod>(
    context: &CommandContext,
    params: &M::Params,
    in_log: impl AsyncFnOnce(&OfflineLog, Value) -> Result<RpcAnswer, Failure>,
) -> Result<M::Answer, Failure> {
    let configuration = for_daemon(context)?;
    let log = match reach_daemon_or_log(context, &configuration).await? {
        Reached::Daemon(client) => return Ok(client.call::<M>(params).await?),
        Reached::Log(log) => log,
    };
    let params = serde_json::to_value(params).map_err(io::Error::from)?;
    let answered = in_log(&log, params).await;
    log.close().await;
    let value = answered?.map_err(ClientError::Refused)?;
    Ok(serde_json::from_value(value).map_err(io::Error::from)?)
}

pub(super) type RpcAnswer = Result<Value, RpcError>;

/// A bus in front of the log of a stopped daemon.
pub(super) async fn bus_to_log(
    context: &CommandContext,
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
) -> Result<Bus, Failure> {
    let registry::Channels { channels, admission } =
        registry::make_channels(&configuration.document, &configuration.settings, &context.clock)?;
    let channels = channels.into_iter().map(|configured| configured.channel).collect();
    let channels = Arc::new(ChannelRegistry::new(channels));
    let (bus, _) = Bus::open(avocet_bus::BusParts {
        admission,
        inbox: store.clone(),
        outbox: store.clone(),
        people: store.clone(),
        destinations: channels,
        deliveries: Arc::new(NoOutbox),
        clock: context.clock.clone(),
    })
    .await?;
    Ok(bus)
}

/// Ignores wake-ups: messages are delivered once a daemon runs.
#[derive(Debug)]
pub(super) struct NoOutbox;

impl Deliveries for NoOutbox {
    fn wake(&self, _chat: &ChatAddress) {}

    fn wake_account(&self, _channel: &ChannelName, _account: &AccountName) {}
}

/// Opens the log read-only, beside a daemon or without one; `None` if no daemon ever ran.
pub(super) fn open_log_read_only(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Option<SqliteStore>, Failure> {
    if let Some(fault) = &configuration.fault {
        return Err(fault.failure());
    }
    Ok(SqliteStore::open_read_only(&configuration.data_dir, &context.root)?)
}
