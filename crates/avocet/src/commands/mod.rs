//! The commands, one file each, and their access to a daemon or its log.

pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod consolidate;
pub(crate) mod copies;
pub(crate) mod db;
pub(crate) mod dead;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod faulty_file;
pub(crate) mod init;
pub(crate) mod jobs;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod models;
mod offline_agent;
pub(crate) mod people;
pub(crate) mod prompt;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod send;
pub(crate) mod service;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod status;
pub(crate) mod tasks;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod trust;
pub(crate) mod update;
pub(crate) mod usage;
pub(crate) mod web;

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;

use avocet_bus::Bus;
use avocet_gateway::{Client, ClientError, ClientMethod, MAX_LINE_BYTES, NoParams, Ping, RpcError};
use avocet_outbox::ChannelRegistry;
use avocet_protocol::{AccountName, ChannelName, ChatAddress, Clock, Deliveries, within};
use avocet_store::{LogHolder, OpenError, SqliteStore};
use serde_json::Value;

use crate::commands::faulty_file::for_daemon;
use crate::configuration::{Configuration, Uses};
use crate::context::CommandContext;
use crate::daemon::{RunningDaemon, StartOptions, open_options};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::registry;

/// The time within which a daemon normally answers.
const SOON: Duration = Duration::from_secs(2);
/// The time that a command waits for a daemon without a free place for its connection.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The time for a starting daemon to open its socket.
const STARTING: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A running daemon, or the log of a stopped one.
enum Reached {
    Daemon(Client),
    Log(Box<OfflineLog>),
}

/// The log of a stopped daemon.
struct OfflineLog {
    store: Arc<SqliteStore>,
    /// Loaded for [`Uses::Log`].
    configuration: Configuration,
}

impl OfflineLog {
    async fn close(self) {
        Arc::unwrap_or_clone(self.store).close().await;
    }
}

/// Connects to the daemon; `None` if no daemon runs. If the daemon is slow or has no free place,
/// warns and waits for up to `MAX_WAIT`.
///
/// # Errors
/// [`Failure`] if this user may not reach the socket, or the daemon stays busy. Without a daemon, a
/// fault of the configuration file is an error, too.
async fn connect(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Option<Client>, Failure> {
    let client = connect_quietly(context, configuration).await?;
    if client.is_some()
        && let Some(fault) = &configuration.fault
    {
        fault.warn();
    }
    Ok(client)
}

/// Works as [`connect`], without a warning about the configuration file.
async fn connect_quietly(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Option<Client>, Failure> {
    let (clock, began) = (context.clock.as_ref(), context.clock.elapsed());
    let mut waiting = Waiting::default();
    loop {
        let client = match Client::connect(&configuration.socket, &context.root).await {
            Ok(client) => client,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let message = format!(
                    "cannot connect to the daemon at {}: permission denied; run this command as \
                        the daemon's user, or with sudo",
                    configuration.socket.display()
                );
                return Err(Failure::new(Exit::Failed, message));
            }
            Err(_) => return configuration.fault.as_ref().map_or(Ok(None), |it| Err(it.failure())),
        };
        let why = match place(clock, &client, &mut waiting).await {
            Ok(()) => return Ok(Some(client)),
            Err(ClientError::Lost) => return Err(ClientError::Lost.into()),
            Err(refusal) => refusal.to_string(),
        };
        if clock.elapsed().saturating_sub(began) > MAX_WAIT {
            return Err(Failure::new(Exit::TryLater, why));
        }
        waiting.say(&why);
        clock.sleep(LOOK_AGAIN * 4).await;
    }
}

/// Connects to the running daemon, or starts one here. If a daemon is just starting elsewhere,
/// waits for it.
async fn join_or_start(
    context: &CommandContext,
    configuration: &Configuration,
    start_empty: bool,
) -> Result<(Client, Option<RunningDaemon>), Failure> {
    let began = context.clock.elapsed();
    loop {
        if let Some(client) = connect(context, configuration).await? {
            return Ok((client, None));
        }
        let started = match Configuration::load(context, Uses::Everything) {
            Ok(whole) => {
                RunningDaemon::start(context, &whole, StartOptions::serving(start_empty)).await
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

/// Waits for the daemon's first answer, which proves that the connection has its place.
async fn place(
    clock: &dyn Clock,
    client: &Client,
    waiting: &mut Waiting,
) -> Result<(), ClientError> {
    let ping = client.call::<Ping>(&NoParams {});
    tokio::pin!(ping);
    let answer = match within(clock, SOON, &mut ping).await {
        Ok(answer) => answer,
        Err(_) => {
            waiting.say(&format!("no answer for {} s", SOON.as_secs()));
            ping.await
        }
    };
    match answer {
        // An older daemon refuses the unknown method, which is an answer too.
        Err(ClientError::Refused(refusal)) if !refusal.is_transient() => Ok(()),
        answer => answer.map(drop),
    }
}

/// Prints once why a command waits for the daemon.
#[derive(Debug, Default)]
struct Waiting {
    has_said: bool,
}

impl Waiting {
    fn say(&mut self, why: &str) {
        if !std::mem::replace(&mut self.has_said, true) {
            output::warning(&format!("waiting for the daemon: {why}"));
        }
    }
}

/// Collects every row of a list that comes in pages of `limit` rows, each behind the last known
/// row.
async fn all_rows<T>(
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
async fn reach(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Reached, Failure> {
    let began = context.clock.elapsed();
    loop {
        if let Some(client) = connect(context, configuration).await? {
            return Ok(Reached::Daemon(client));
        }
        // Text that goes into the log is stripped of the secrets that are known here.
        let configuration = Configuration::load(context, Uses::Log)?;
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
async fn call<M: ClientMethod>(
    context: &CommandContext,
    params: &M::Params,
    in_log: impl AsyncFnOnce(&OfflineLog, Value) -> Result<RpcAnswer, Failure>,
) -> Result<M::Answer, Failure> {
    let configuration = for_daemon(context)?;
    let log = match reach(context, &configuration).await? {
        Reached::Daemon(client) => return Ok(client.call::<M>(params).await?),
        Reached::Log(log) => log,
    };
    let params = serde_json::to_value(params).map_err(io::Error::from)?;
    let answered = in_log(&log, params).await;
    log.close().await;
    let value = answered?.map_err(ClientError::Refused)?;
    Ok(serde_json::from_value(value).map_err(io::Error::from)?)
}

type RpcAnswer = Result<Value, RpcError>;

/// A bus in front of the log of a stopped daemon.
async fn bus_to_log(
    context: &CommandContext,
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
) -> Result<Bus, Failure> {
    let registry::Channels { channels, admission } =
        registry::channels(&configuration.document, &configuration.settings, &context.clock)?;
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
struct NoOutbox;

impl Deliveries for NoOutbox {
    fn wake(&self, _chat: &ChatAddress) {}

    fn wake_account(&self, _channel: &ChannelName, _account: &AccountName) {}
}

/// Opens the log read-only, beside a daemon or without one; `None` if no daemon ever ran.
fn look(
    context: &CommandContext,
    configuration: &Configuration,
) -> Result<Option<SqliteStore>, Failure> {
    if let Some(fault) = &configuration.fault {
        return Err(fault.failure());
    }
    Ok(SqliteStore::open_read_only(&configuration.data_dir, &context.root)?)
}

/// Returns a text from the command line, or from stdin.
fn text_or_stdin(text: Option<String>) -> Result<String, Failure> {
    match text {
        Some(text) if text != "-" => return Ok(text),
        None if io::stdin().is_terminal() => {
            let message = "there is no text; give it as an argument, or on stdin";
            return Err(Failure::new(Exit::Failed, message));
        }
        _ => {}
    }
    let mut bytes = Vec::new();
    let limit = MAX_LINE_BYTES as u64;
    io::stdin().take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_LINE_BYTES {
        let message = format!("the text is longer than {MAX_LINE_BYTES} bytes; send it as a file");
        return Err(Failure::new(Exit::Failed, message));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            Exit::Failed,
            format!("the text is not UTF-8 (at byte {at}); send it in UTF-8"),
        )
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}
