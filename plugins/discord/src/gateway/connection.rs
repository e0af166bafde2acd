//! One connection to the gateway, from HELLO to its end.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use avocet_protocol::clock::within;
use serde::Deserialize;
use serde_json::{Value, json};
use serenity::constants::Opcode;
use serenity::model::gateway::GatewayIntents;
use serenity::model::id::{ApplicationId, GuildId, UserId};
use tokio::sync::watch;

use crate::presence::{ShownPresence, WorkSigns};

use super::heartbeat::{Heartbeat, REPLY_TIMEOUT};
use super::socket::{GatewayPayload, Socket, SocketRead, read_number};
use super::{BotIds, ConnectionLoss, GatewayClient, LiveEvent, Session, SessionEvent, close};

/// Timeout of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The used fields of READY.
struct Ready {
    session_id: String,
    resume_gateway_url: Option<String>,
    bot: BotIds,
    /// The servers with a readable id.
    servers: BTreeSet<GuildId>,
}

impl Ready {
    /// Reads READY. `None` without a session or the ids of the bot.
    fn read(data: &Value) -> Option<Self> {
        let user = UserId::deserialize(&data["user"]["id"]).ok()?;
        let application = ApplicationId::deserialize(&data["application"]["id"]).ok()?;
        let guilds = data["guilds"].as_array().into_iter().flatten();
        Some(Self {
            session_id: data["session_id"].as_str()?.to_owned(),
            resume_gateway_url: data["resume_gateway_url"].as_str().map(str::to_owned),
            bot: BotIds { user, application },
            servers: guilds.flat_map(|guild| GuildId::deserialize(&guild["id"])).collect(),
        })
    }
}

impl GatewayClient<'_> {
    /// Connects, and listens until the connection is lost.
    pub(super) async fn connect(&mut self) -> Result<Infallible, ConnectionLoss> {
        let address = self.address().await?;
        let lost = |why: &str| ConnectionLoss::Resumable(why.to_owned());
        let clock = self.context.clock.clone();
        let connecting = Socket::connect(&self.discord.rest.gateway, &address);
        let connecting = within(clock.as_ref(), CONNECT_TIMEOUT, connecting).await;
        let connected = connecting.unwrap_or_else(|elapsed| Err(elapsed.to_string()));
        let mut socket = connected.map_err(|cause| lost(&format!("cannot connect: {cause}")))?;
        let hello = within(clock.as_ref(), REPLY_TIMEOUT, socket.read());
        let hello = match hello.await.map_err(|_| lost("no HELLO"))? {
            SocketRead::Frame(frame) if Opcode::from(frame.op) == Opcode::Hello => frame.d,
            SocketRead::Closed(code) => return Err(close::lost(self.discord, code)),
            SocketRead::Frame(_) | SocketRead::Unreadable => return Err(lost("no HELLO")),
        };
        let interval = read_number(&hello["heartbeat_interval"]);
        let interval = interval.ok_or_else(|| lost("HELLO cannot be read"))?;
        // The count of sessions waits for the log, for example while the disk is full.
        self.discord.health.watch.suspend();
        let first = self.identify_or_resume().await?;
        let interval = Duration::from_millis(interval.max(1));
        let jitter = u32::try_from(clock.now().0.rem_euclid(1000)).unwrap_or_default();
        let signs = self.discord.activity.follow();
        let mut connection = OpenConnection {
            heartbeat: Heartbeat::new(interval, clock.elapsed(), jitter),
            gateway: self,
            address,
            socket,
            logged_unreadable: false,
            presence: None,
            signs,
        };
        connection.write(&first).await?;
        connection.listen().await
    }

    /// Returns RESUME, or IDENTIFY, which is counted first.
    async fn identify_or_resume(&mut self) -> Result<Value, ConnectionLoss> {
        let token = self.discord.rest.token();
        if let Some(Session { id, sequence, .. }) = &self.session {
            return Ok(json!({
                "op": u8::from(Opcode::Resume),
                "d": { "token": token, "session_id": id, "seq": sequence },
            }));
        }
        self.budget.count(self.discord, self.context).await.map_err(ConnectionLoss::Over)?;
        Ok(json!({
            "op": u8::from(Opcode::Identify),
            "d": {
                "token": token,
                "intents": intents(self.discord.settings.message_content).bits(),
                "properties": {
                    "os": std::env::consts::OS, "browser": "avocet", "device": "avocet",
                },
            },
        }))
    }
}

fn intents(content: bool) -> GatewayIntents {
    let mut intents = GatewayIntents::GUILDS
        | GatewayIntents::GUILD_MESSAGES
        | GatewayIntents::DIRECT_MESSAGES
        | GatewayIntents::GUILD_MESSAGE_REACTIONS
        | GatewayIntents::DIRECT_MESSAGE_REACTIONS;
    intents.set(GatewayIntents::MESSAGE_CONTENT, content);
    intents
}

/// An open connection, which reads payloads and sends heartbeats.
struct OpenConnection<'a, 'g> {
    gateway: &'a mut GatewayClient<'g>,
    address: String,
    socket: Socket,
    heartbeat: Heartbeat,
    /// `true` once unreadable data was logged.
    logged_unreadable: bool,
    /// The presence; `None` before the session.
    presence: Option<ShownPresence>,
    signs: watch::Receiver<WorkSigns>,
}

impl OpenConnection<'_, '_> {
    async fn listen(&mut self) -> Result<Infallible, ConnectionLoss> {
        let clock = self.gateway.context.clock.clone();
        loop {
            let wait = self.update_presence().await?;
            let deadline = self.heartbeat.until_deadline(clock.elapsed());
            let wait = wait.map_or(deadline, |wait| wait.min(deadline));
            self.gateway.discord.health.watch.expect_within(wait);
            let read = tokio::select! {
                biased;
                () = clock.sleep(wait) => None,
                Ok(()) = self.signs.changed() => None,
                read = self.socket.read() => Some(read),
            };
            if let Some(why) = self.heartbeat.missed_deadline(clock.elapsed()) {
                return Err(ConnectionLoss::Resumable(why.to_owned()));
            }
            match read {
                None => self.send_heartbeat_if_due().await?,
                Some(SocketRead::Frame(frame)) => self.receive(frame).await?,
                Some(SocketRead::Unreadable) => self.log_unreadable(),
                Some(SocketRead::Closed(code)) => {
                    return Err(close::lost(self.gateway.discord, code));
                }
            }
        }
    }

    /// Shows the presence if it has changed. Returns the time until it may change by itself.
    async fn update_presence(&mut self) -> Result<Option<Duration>, ConnectionLoss> {
        let (signs, now) = (*self.signs.borrow_and_update(), self.gateway.context.clock.elapsed());
        let Some(presence) = &mut self.presence else { return Ok(None) };
        let (update, due) = (presence.update(signs, now), presence.due(signs, now));
        if let Some(update) = update {
            self.write(&update).await?;
        }
        Ok(due)
    }

    /// Logs unreadable data once: there may be much of it.
    fn log_unreadable(&mut self) {
        if !std::mem::replace(&mut self.logged_unreadable, true) {
            let account = &self.gateway.discord.account;
            tracing::warn!(%account, "Discord sent data that is not a gateway event; it is ignored");
        }
    }

    async fn receive(&mut self, frame: GatewayPayload) -> Result<(), ConnectionLoss> {
        self.heartbeat.received(self.gateway.context.clock.elapsed());
        match Opcode::from(frame.op) {
            Opcode::Dispatch => self.dispatch(frame).await,
            Opcode::Heartbeat => self.send_heartbeat().await,
            Opcode::HeartbeatAck => {
                self.heartbeat.acknowledged();
                self.gateway.discord.health.works();
                Ok(())
            }
            Opcode::Reconnect => {
                Err(ConnectionLoss::Resumable("the gateway requests a new connection".to_owned()))
            }
            Opcode::InvalidSession => {
                let why = "the session cannot go on".to_owned();
                Err(if frame.d == true {
                    ConnectionLoss::Resumable(why)
                } else {
                    ConnectionLoss::Over(why)
                })
            }
            _ => Ok(()),
        }
    }

    async fn dispatch(&mut self, frame: GatewayPayload) -> Result<(), ConnectionLoss> {
        let event = match frame.t.as_deref() {
            Some("READY") => Some(self.ready(&frame.d)?),
            Some("RESUMED") => None,
            _ => {
                let name = frame.t.unwrap_or_default();
                Some(SessionEvent::Dispatch(LiveEvent { name, data: frame.d }))
            }
        };
        let is_start = matches!(event, None | Some(SessionEvent::Started { .. }));
        if let Some(event) = event {
            self.enqueue(event).await?;
        }
        if let (Some(session), Some(sequence)) = (&mut self.gateway.session, frame.s) {
            session.sequence = sequence;
        }
        if is_start {
            self.session_started();
        }
        Ok(())
    }

    fn ready(&mut self, data: &Value) -> Result<SessionEvent, ConnectionLoss> {
        let ready = Ready::read(data)
            .ok_or_else(|| ConnectionLoss::Over("READY cannot be read".to_owned()))?;
        let secure =
            |url: &String| url.starts_with("wss://") || !self.address.starts_with("wss://");
        let resume_url = ready.resume_gateway_url.filter(secure);
        self.gateway.session = Some(Session {
            id: ready.session_id,
            sequence: 0,
            resume_url: resume_url.unwrap_or_else(|| self.address.clone()),
            failed_resumes: 0,
        });
        Ok(SessionEvent::Started { bot: ready.bot, servers: ready.servers })
    }

    /// Notes that the session has started, or was resumed.
    fn session_started(&mut self) {
        self.heartbeat.session_started();
        self.presence = Some(ShownPresence::new(self.gateway.discord.settings.presence));
        self.gateway.backoff.reset_delay();
        self.gateway.discord.health.refusals.note_acceptance();
        self.gateway.discord.health.works();
        if let Some(session) = &mut self.gateway.session {
            session.failed_resumes = 0;
        }
        tracing::info!(account = %self.gateway.discord.account, "connected");
    }

    /// Puts an event into the queue. While the queue is full, reading pauses but heartbeats
    /// continue. If the connection breaks meanwhile, its events are read from the history.
    async fn enqueue(&mut self, event: SessionEvent) -> Result<(), ConnectionLoss> {
        let clock = self.gateway.context.clock.clone();
        let events = self.gateway.events.clone();
        let began = clock.elapsed();
        let mut sending = std::pin::pin!(events.send_async(event));
        loop {
            let wait = self.heartbeat.until_heartbeat(clock.elapsed());
            self.gateway.discord.health.watch.expect_within(wait);
            tokio::select! {
                biased;
                sent = &mut sending => {
                    if clock.elapsed() > began {
                        self.heartbeat.extend(clock.elapsed());
                    }
                    return sent
                        .map_err(|_| ConnectionLoss::Over("the event queue is closed".to_owned()));
                }
                () = clock.sleep(wait) => self.send_heartbeat_if_due().await?,
            }
        }
    }

    async fn send_heartbeat_if_due(&mut self) -> Result<(), ConnectionLoss> {
        if self.heartbeat.is_due(self.gateway.context.clock.elapsed()) {
            return self.send_heartbeat().await;
        }
        Ok(())
    }

    async fn send_heartbeat(&mut self) -> Result<(), ConnectionLoss> {
        self.heartbeat.sent(self.gateway.context.clock.elapsed());
        let sequence = self.gateway.session.as_ref().map(|session| session.sequence);
        self.write(&json!({ "op": u8::from(Opcode::Heartbeat), "d": sequence })).await
    }

    async fn write(&mut self, payload: &Value) -> Result<(), ConnectionLoss> {
        let clock = self.gateway.context.clock.clone();
        match within(clock.as_ref(), REPLY_TIMEOUT, self.socket.write(payload)).await {
            Ok(true) => Ok(()),
            _ => Err(ConnectionLoss::Resumable("the connection broke".to_owned())),
        }
    }
}
