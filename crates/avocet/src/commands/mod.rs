//! The commands, one file each, and how they reach a daemon or its log.

pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod audit;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod models;
pub(crate) mod people;
pub(crate) mod prompt;
pub(crate) mod run;
pub(crate) mod send;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod trust;
pub(crate) mod usage;

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;

use avocet_bus::Bus;
use avocet_gateway::{Client, MAX_LINE_BYTES};
use avocet_outbox::Channels;
use avocet_protocol::{ChatAddress, Deliveries};
use avocet_store::{Holder, OpenError, SqliteStore};

use crate::Context;
use crate::daemon::open_options;
use crate::exit::{Exit, Failure};
use crate::places::Configuration;
use crate::registry;

/// How long a daemon that is starting may take to open its socket.
const STARTING: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A daemon, or the log of one that does not run.
enum Reached {
    Daemon(Client),
    Log(SqliteStore),
}

/// Connects to the daemon; none if none runs.
async fn connect(context: &Context, configuration: &Configuration) -> Option<Client> {
    Client::connect(&configuration.socket, &context.root).await.ok()
}

/// Connects to the daemon, or takes its log if none runs. Waits for one that is just starting.
async fn reach(context: &Context, configuration: &Configuration) -> Result<Reached, Failure> {
    let began = context.clock.elapsed();
    loop {
        if let Some(client) = connect(context, configuration).await {
            return Ok(Reached::Daemon(client));
        }
        let options = open_options(configuration, Holder::Command, false);
        match SqliteStore::open(options, context.clock.clone(), &context.root).await {
            Ok(store) => return Ok(Reached::Log(store)),
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

/// A bus in front of the log of a daemon that does not run.
async fn bus_to_log(
    context: &Context,
    configuration: &Configuration,
    store: &Arc<SqliteStore>,
) -> Result<Bus, Failure> {
    let registry::Channels { channels, admission } =
        registry::channels(&configuration.document, &configuration.settings, &context.clock)?;
    let channels = channels.into_iter().map(|configured| configured.channel).collect();
    let channels = Arc::new(Channels::new(channels));
    let (bus, _) = Bus::open(avocet_bus::Parts {
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

/// Nobody delivers until a daemon runs.
#[derive(Debug)]
struct NoOutbox;

impl Deliveries for NoOutbox {
    fn wake(&self, _chat: &ChatAddress) {}
}

/// The log for looking, whether or not a daemon runs; none where none ever ran.
fn look(context: &Context, configuration: &Configuration) -> Result<Option<SqliteStore>, Failure> {
    Ok(SqliteStore::open_read_only(&configuration.data_dir, &context.root)?)
}

/// A text from the command line, or from stdin.
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
