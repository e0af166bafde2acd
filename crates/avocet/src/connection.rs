//! Connects a command to the running daemon.

use std::io;
use std::time::Duration;

use avocet_gateway::{Client, ClientError, NoParams, Ping};
use avocet_protocol::clock::{Clock, within};

use crate::configuration::Configuration;
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output;

/// The time within which a daemon normally answers.
const SOON: Duration = Duration::from_secs(2);
/// The time that a command waits for a daemon without a free place for its connection.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The interval between two attempts.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Connects to the daemon; `None` if no daemon runs. If the daemon is slow or has no free place,
/// warns and waits for up to `MAX_WAIT`.
///
/// # Errors
/// [`Failure`] if this user may not reach the socket, or the daemon stays busy. Without a daemon, a
/// fault of the configuration file is an error, too.
pub(crate) async fn connect_daemon(
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

/// Works as [`connect_daemon`], without a warning about the configuration file.
pub(crate) async fn connect_quietly(
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
        let why = match await_turn(clock, &client, &mut waiting).await {
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

/// Waits for the daemon's first answer, which proves that the connection has its place.
async fn await_turn(
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
            output::print_warning(&format!("waiting for the daemon: {why}"));
        }
    }
}
