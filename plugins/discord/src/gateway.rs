//! The connection to the gateway, which is kept up while the channel runs. Its events go into a
//! bounded queue in their order.
//!
//! The page "Add a channel" of the book gives the reasons against the gateway clients of serenity
//! and twilight.
//!
//! serenity supplies the types and the bodies of messages. This module holds the rest of the
//! protocol.

mod close;
mod connection;
mod heartbeat;
mod identify_budget;
mod socket;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use avocet_protocol::channel::{ChannelContext, ChannelError};
use avocet_protocol::chat::Cursor;
use avocet_supervise::Backoff;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::gateway::SessionStartLimit;
use serenity::model::id::{ApplicationId, GuildId, UserId};

use crate::Discord;
use crate::fault::{RestError, RestRefusal};
use crate::routes::Route;

use identify_budget::IdentifyBudget;

const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest backoff. Jitter makes it up to 40 s, so events come again within 60 s after a loss
/// if the platform is reachable (F9).
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Time for the requests before a connection, with their retries.
const CONNECTING: Duration = Duration::from_mins(3);
/// Attempts to resume a session before it is abandoned.
const MAX_RESUMES: u32 = 3;
/// Events that may wait for their commit; then reading pauses.
const QUEUE_EVENTS: usize = 256;

/// Names of events (Discord API, "Gateway Events").
pub(crate) const MESSAGE_CREATE: &str = "MESSAGE_CREATE";
pub(crate) const MESSAGE_UPDATE: &str = "MESSAGE_UPDATE";
pub(crate) const MESSAGE_DELETE: &str = "MESSAGE_DELETE";
pub(crate) const INTERACTION_CREATE: &str = "INTERACTION_CREATE";

/// An event of the gateway.
#[derive(Debug)]
pub(crate) enum SessionEvent {
    /// A new session has started: earlier messages are only in the history.
    Started {
        bot: BotIds,
        /// The servers that the platform is about to describe.
        servers: BTreeSet<GuildId>,
    },
    /// Any other event.
    Dispatch(LiveEvent),
}

/// An event, as the platform sends it.
#[derive(Debug)]
pub(crate) struct LiveEvent {
    /// Discord's name of the event.
    pub(crate) name: String,
    pub(crate) data: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BotIds {
    pub(crate) user: UserId,
    pub(crate) application: ApplicationId,
}

/// Makes the queue between the connection and the receiver.
pub(crate) fn event_queue() -> (flume::Sender<SessionEvent>, flume::Receiver<SessionEvent>) {
    flume::bounded(QUEUE_EVENTS)
}

/// Keeps the connection up. The budget of IDENTIFYs is read from the account's cursors.
pub(crate) struct GatewayClient<'a> {
    discord: &'a Discord,
    context: &'a ChannelContext,
    events: flume::Sender<SessionEvent>,
    budget: IdentifyBudget,
    session: Option<Session>,
    backoff: Backoff,
}

/// A session that can be resumed.
#[derive(Debug, Clone)]
struct Session {
    id: String,
    /// The number of the last received event.
    sequence: u64,
    resume_url: String,
    /// Failed attempts to resume the session.
    failed_resumes: u32,
}

/// The reason why a connection is lost, with its consequence.
#[derive(Debug, PartialEq)]
enum ConnectionLoss {
    /// The session can be resumed.
    Resumable(String),
    /// The session is over, or never began.
    Over(String),
    /// The connection is retried after this time.
    Later(String, Duration),
    /// Discord refuses the bot. The operator may have to help, but the refusal may also be false.
    Refused(String),
    /// Only a new version of the program can help.
    Fatal(String),
}

impl<'a> GatewayClient<'a> {
    pub(crate) fn new(
        discord: &'a Discord,
        context: &'a ChannelContext,
        events: flume::Sender<SessionEvent>,
        cursors: &[Cursor],
    ) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let budget = IdentifyBudget::read(cursors, context.clock.elapsed());
        Self { discord, context, events, budget, session: None, backoff }
    }

    /// Connects again and again.
    ///
    /// # Errors
    /// [`ChannelError::Fatal`] if another try is useless.
    pub(crate) async fn run(mut self) -> Result<Infallible, ChannelError> {
        let _watched = self.discord.health.watch.run();
        loop {
            self.discord.health.watch.expect_within(CONNECTING);
            let lost = match self.connect().await {
                Ok(never) => match never {},
                Err(lost) => lost,
            };
            let wait = self.wait_after(lost)?;
            self.discord.health.watch.expect_within(wait);
            self.context.clock.sleep(wait).await;
        }
    }

    fn wait_after(&mut self, lost: ConnectionLoss) -> Result<Duration, ChannelError> {
        let (why, wait) = match lost {
            ConnectionLoss::Fatal(why) => {
                self.discord.health.fails(&why);
                return Err(ChannelError::Fatal(why));
            }
            ConnectionLoss::Refused(why) => {
                self.session = None;
                return Ok(self.wait_after_refusal(&why));
            }
            ConnectionLoss::Later(why, wait) => (why, wait),
            ConnectionLoss::Over(why) => {
                self.session = None;
                (why, self.backoff.next_wait())
            }
            ConnectionLoss::Resumable(why) => {
                self.session = self.session.take().and_then(Session::after_failure);
                (why, self.backoff.next_wait())
            }
        };
        let account = &self.discord.account;
        tracing::warn!(%account, error = why, ?wait, "no connection to the gateway");
        self.discord.health.fails(&why);
        Ok(wait)
    }

    fn wait_after_refusal(&self, why: &str) -> Duration {
        let Discord { account, health, .. } = self.discord;
        let wait = health.refusals.note_refusal();
        health.fails(why);
        let minutes = wait.as_secs() / 60;
        tracing::error!(
            %account,
            error = why,
            minutes,
            "Discord refuses the bot; asking again after these minutes, or at once when the \
                configuration is reloaded"
        );
        wait
    }

    /// Returns the address to connect to: the one of the session, or the one for a new session if
    /// the budget allows a new session now.
    async fn address(&self) -> Result<String, ConnectionLoss> {
        if let Some(session) = &self.session {
            return Ok(session.resume_url.clone());
        }
        let (address, limit) =
            self.request_address().await.map_err(|fault| self.address_error(&fault))?;
        let (now, elapsed) = (self.context.clock.now(), self.context.clock.elapsed());
        match self.budget.wait(limit.as_ref(), now, elapsed) {
            Some(wait) => Err(ConnectionLoss::Later(format!("{}", self.budget), wait)),
            None => Ok(address),
        }
    }

    /// Requests the address of the gateway. A server that imitates Discord may lack the bot's own
    /// route.
    async fn request_address(&self) -> Result<(String, Option<SessionStartLimit>), RestError> {
        let gateway: Value = match self.discord.rest.get(Route::GatewayBot).await {
            Err(RestError::Refused(RestRefusal { status: 404, .. })) => {
                self.discord.rest.get(Route::Gateway).await?
            }
            answer => answer?,
        };
        let unknown = RestError::Broken("Discord does not name the address of its gateway");
        let address = gateway["url"].as_str().ok_or(unknown)?.to_owned();
        Ok((address, SessionStartLimit::deserialize(&gateway["session_start_limit"]).ok()))
    }

    fn address_error(&self, fault: &RestError) -> ConnectionLoss {
        match fault {
            fault if fault.is_about_token() => {
                ConnectionLoss::Refused(self.discord.unknown_token())
            }
            RestError::Wait(wait) => ConnectionLoss::Later(fault.to_string(), *wait),
            fault => ConnectionLoss::Over(fault.to_string()),
        }
    }
}

impl Session {
    /// Counts a failed attempt to resume, or a lost connection. Returns `None` after too many.
    fn after_failure(self) -> Option<Self> {
        let failed_resumes = self.failed_resumes + 1;
        (failed_resumes <= MAX_RESUMES).then_some(Self { failed_resumes, ..self })
    }
}
