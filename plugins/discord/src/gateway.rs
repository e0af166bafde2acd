//! The connection to the gateway, kept up for as long as the channel runs. What it hears goes into a
//! bounded queue in the order in which it came.
//!
//! serenity's own gateway client is not used, for reasons that its source (0.12.5) shows:
//! - It identifies again by itself, whenever a session cannot go on. Here every IDENTIFY is counted in
//!   the log before it is made, because 1,000 a day reset the token (F9).
//! - It tells nobody with which code it was closed, and after 4010 and 4011 it reads the closed
//!   connection in a loop that never yields, until the next heartbeat fails.
//! - It has no limit for making a connection, and it resumes at the ordinary address.
//! - It spawns a task for every event, so that their order is lost.
//! - It brings rustls 0.22, whose certificate checks have known vulnerabilities (RUSTSEC-2026-0049).
//!
//! What is here is the protocol alone: its types and the bodies of its messages are serenity's.

mod close;
mod connection;
mod pulse;
mod socket;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use avocet_protocol::{ChannelContext, ChannelError};
use avocet_supervise::Backoff;
use serde_json::Value;
use serenity::model::gateway::{BotGateway, Gateway as Address, SessionStartLimit};
use serenity::model::id::{ApplicationId, GuildId, UserId};

use crate::Discord;
use crate::budget::Budget;
use crate::fault::{Fault, Refusal};
use crate::routes::Route;

const FIRST_WAIT: Duration = Duration::from_secs(1);
/// With its jitter 40 s: after a loss it receives again within 60 s if the platform is there (F9).
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Attempts to resume a session before it is given up.
const MAX_RESUMES: u32 = 3;
/// Events that may wait to be committed; then reading waits.
const QUEUE: usize = 256;

/// What the gateway said.
#[derive(Debug)]
pub(crate) enum Event {
    /// A new session has begun: what was said before is only in the history. These servers are going
    /// to be described.
    Began(Me, BTreeSet<GuildId>),
    /// Something happened.
    Dispatch(Live),
}

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Live {
    /// Discord's name for it.
    pub(crate) name: String,
    /// What belongs to it.
    pub(crate) data: Value,
}

/// Who the bot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Me {
    pub(crate) user: UserId,
    pub(crate) application: ApplicationId,
}

/// A queue of events.
pub(crate) fn queue() -> (flume::Sender<Event>, flume::Receiver<Event>) {
    flume::bounded(QUEUE)
}

/// The connection.
pub(crate) struct Gateway<'a> {
    discord: &'a Discord,
    context: &'a ChannelContext,
    events: flume::Sender<Event>,
    budget: Budget,
    session: Option<Session>,
    backoff: Backoff,
}

/// What can be resumed.
#[derive(Debug, Clone)]
struct Session {
    id: String,
    /// The last event that was heard.
    sequence: u64,
    resume_url: String,
    /// Attempts to resume it that came to nothing.
    failed: u32,
}

/// Why there is no connection, or none any more.
#[derive(Debug, PartialEq)]
enum Lost {
    /// The session can be resumed.
    Resumable(String),
    /// The session is over, or never began.
    Over(String),
    /// It is tried again after so long.
    Later(String, Duration),
    /// Only the operator can help.
    Fatal(String),
}

impl<'a> Gateway<'a> {
    pub(crate) fn new(
        discord: &'a Discord,
        context: &'a ChannelContext,
        events: flume::Sender<Event>,
        budget: Budget,
    ) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { discord, context, events, budget, session: None, backoff }
    }

    /// Connects, again and again, until only the operator can help.
    ///
    /// # Errors
    /// [`ChannelError::Fatal`].
    pub(crate) async fn run(mut self) -> Result<Infallible, ChannelError> {
        loop {
            let lost = match self.connect().await {
                Ok(never) => match never {},
                Err(lost) => lost,
            };
            let wait = self.wait_after(lost)?;
            self.context.clock.sleep(wait).await;
        }
    }

    fn wait_after(&mut self, lost: Lost) -> Result<Duration, ChannelError> {
        let (why, wait) = match lost {
            Lost::Fatal(why) => {
                self.discord.health.fails(&why);
                return Err(ChannelError::Fatal(why));
            }
            Lost::Later(why, wait) => (why, wait),
            Lost::Over(why) => {
                self.session = None;
                (why, self.backoff.next_wait())
            }
            Lost::Resumable(why) => {
                self.session = self.session.take().and_then(Session::failed_again);
                (why, self.backoff.next_wait())
            }
        };
        let account = &self.discord.account;
        tracing::warn!(%account, error = why, ?wait, "no connection to the gateway");
        self.discord.health.fails(&why);
        Ok(wait)
    }

    /// Where to connect to: where the session goes on, or where a new one may begin now.
    async fn address(&self) -> Result<String, Lost> {
        if let Some(session) = &self.session {
            return Ok(session.resume_url.clone());
        }
        let (address, limit) = self.ask_address().await.map_err(|fault| self.no_address(&fault))?;
        let (now, elapsed) = (self.context.clock.now(), self.context.clock.elapsed());
        match self.budget.wait(limit.as_ref(), now, elapsed) {
            Some(wait) => Err(Lost::Later(format!("{}", self.budget), wait)),
            None => Ok(address),
        }
    }

    /// A server that speaks Discord's protocol need not have the bot's own address.
    async fn ask_address(&self) -> Result<(String, Option<SessionStartLimit>), Fault> {
        match self.discord.rest.get::<BotGateway>(Route::GatewayBot).await {
            Ok(gateway) => Ok((gateway.url, Some(gateway.session_start_limit))),
            Err(Fault::Refused(Refusal { status: 404, .. })) => {
                let gateway: Address = self.discord.rest.get(Route::Gateway).await?;
                Ok((gateway.url, None))
            }
            Err(fault) => Err(fault),
        }
    }

    fn no_address(&self, fault: &Fault) -> Lost {
        match fault {
            fault if fault.is_about_token() => Lost::Fatal(self.discord.unknown_token()),
            Fault::Wait(wait) => Lost::Later(fault.to_string(), *wait),
            fault => Lost::Over(fault.to_string()),
        }
    }
}

impl Session {
    /// What is left of it after an attempt to resume it, or a connection, came to nothing.
    fn failed_again(self) -> Option<Self> {
        let failed = self.failed + 1;
        (failed <= MAX_RESUMES).then_some(Self { failed, ..self })
    }
}
