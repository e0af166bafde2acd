//! One connection to the gateway, from HELLO to its end.

use std::convert::Infallible;
use std::time::Duration;

use avocet_protocol::within;
use serde::Deserialize;
use serde_json::{Value, json};
use serenity::constants::Opcode;
use serenity::model::gateway::GatewayIntents;
use serenity::model::id::{ApplicationId, GuildId, UserId};

use super::pulse::{PATIENCE, Pulse};
use super::socket::{GatewayPayload, Socket, SocketRead};
use super::{ConnectionLoss, GatewayClient, Live, Me, Session, SessionEvent, close};

/// Timeout of connecting.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The used fields of HELLO.
#[derive(Deserialize)]
struct Hello {
    heartbeat_interval: u64,
}

/// The used fields of READY.
#[derive(Deserialize)]
struct Ready {
    session_id: String,
    resume_gateway_url: Option<String>,
    user: Named<UserId>,
    application: Named<ApplicationId>,
    #[serde(default)]
    guilds: Vec<Named<GuildId>>,
}

#[derive(Deserialize)]
struct Named<T> {
    id: T,
}

impl GatewayClient<'_> {
    /// Connects, and listens until the connection is lost.
    pub(super) async fn connect(&mut self) -> Result<Infallible, ConnectionLoss> {
        let address = self.address().await?;
        let lost = |why: &str| ConnectionLoss::Resumable(why.to_owned());
        let clock = self.context.clock.clone();
        let connecting = within(clock.as_ref(), CONNECT_LIMIT, Socket::connect(&address));
        let mut socket =
            connecting.await.ok().flatten().ok_or_else(|| lost("no connection to be had"))?;
        let hello = within(clock.as_ref(), PATIENCE, socket.read());
        let hello = match hello.await.map_err(|_| lost("no HELLO"))? {
            SocketRead::Frame(frame) if Opcode::from(frame.op) == Opcode::Hello => frame.d,
            SocketRead::Closed(code) => return Err(close::lost(self.discord, code)),
            SocketRead::Frame(_) | SocketRead::Unreadable => return Err(lost("no HELLO")),
        };
        let hello = Hello::deserialize(hello).map_err(|_| lost("HELLO cannot be read"))?;
        let introduction = self.introduction().await?;
        let interval = Duration::from_millis(hello.heartbeat_interval.max(1));
        let jitter = u32::try_from(clock.now().0.rem_euclid(1000)).unwrap_or_default();
        let mut listener = Listener {
            pulse: Pulse::new(interval, clock.elapsed(), jitter),
            gateway: self,
            address,
            socket,
            puzzled: false,
        };
        listener.write(&introduction).await?;
        listener.listen().await
    }

    /// Returns RESUME, or IDENTIFY, which is counted first.
    async fn introduction(&mut self) -> Result<Value, ConnectionLoss> {
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
    let mut intents =
        GatewayIntents::GUILDS | GatewayIntents::GUILD_MESSAGES | GatewayIntents::DIRECT_MESSAGES;
    intents.set(GatewayIntents::MESSAGE_CONTENT, content);
    intents
}

/// A connection that listens.
struct Listener<'a, 'g> {
    gateway: &'a mut GatewayClient<'g>,
    address: String,
    socket: Socket,
    pulse: Pulse,
    /// `true` once unreadable data was logged.
    puzzled: bool,
}

impl Listener<'_, '_> {
    async fn listen(&mut self) -> Result<Infallible, ConnectionLoss> {
        let clock = self.gateway.context.clock.clone();
        loop {
            let quiet = self.pulse.quiet(clock.elapsed());
            let read = tokio::select! {
                biased;
                () = clock.sleep(quiet) => None,
                read = self.socket.read() => Some(read),
            };
            if let Some(why) = self.pulse.dead(clock.elapsed()) {
                return Err(ConnectionLoss::Resumable(why.to_owned()));
            }
            match read {
                None => self.beat_if_due().await?,
                Some(SocketRead::Frame(frame)) => self.heard(frame).await?,
                Some(SocketRead::Unreadable) => self.unreadable(),
                Some(SocketRead::Closed(code)) => {
                    return Err(close::lost(self.gateway.discord, code));
                }
            }
        }
    }

    /// Logs unreadable data once: there may be much of it.
    fn unreadable(&mut self) {
        if !std::mem::replace(&mut self.puzzled, true) {
            let account = &self.gateway.discord.account;
            tracing::warn!(%account, "Discord sent data that is no gateway event; it is ignored");
        }
    }

    async fn heard(&mut self, frame: GatewayPayload) -> Result<(), ConnectionLoss> {
        self.pulse.heard(self.gateway.context.clock.elapsed());
        match Opcode::from(frame.op) {
            Opcode::Dispatch => self.dispatched(frame).await,
            Opcode::Heartbeat => self.beat().await,
            Opcode::HeartbeatAck => {
                self.pulse.acknowledged();
                self.gateway.discord.health.works();
                Ok(())
            }
            Opcode::Reconnect => Err(ConnectionLoss::Resumable("asked to connect anew".to_owned())),
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

    async fn dispatched(&mut self, frame: GatewayPayload) -> Result<(), ConnectionLoss> {
        let event = match frame.t.as_deref() {
            Some("READY") => Some(self.ready(frame.d)?),
            Some("RESUMED") => None,
            _ => {
                let name = frame.t.unwrap_or_default();
                Some(SessionEvent::Dispatch(Live { name, data: frame.d }))
            }
        };
        let begun = matches!(event, None | Some(SessionEvent::Began(..)));
        if let Some(event) = event {
            self.pass_on(event).await?;
        }
        if let (Some(session), Some(sequence)) = (&mut self.gateway.session, frame.s) {
            session.sequence = sequence;
        }
        if begun {
            self.begun();
        }
        Ok(())
    }

    fn ready(&mut self, data: Value) -> Result<SessionEvent, ConnectionLoss> {
        let ready = Ready::deserialize(data)
            .map_err(|_| ConnectionLoss::Over("READY cannot be read".to_owned()))?;
        let secure =
            |url: &String| url.starts_with("wss://") || !self.address.starts_with("wss://");
        let resume_url = ready.resume_gateway_url.filter(secure);
        self.gateway.session = Some(Session {
            id: ready.session_id,
            sequence: 0,
            resume_url: resume_url.unwrap_or_else(|| self.address.clone()),
            failed: 0,
        });
        let me = Me { user: ready.user.id, application: ready.application.id };
        Ok(SessionEvent::Began(me, ready.guilds.into_iter().map(|guild| guild.id).collect()))
    }

    /// Notes that the session has begun, or was resumed.
    fn begun(&mut self) {
        self.pulse.begun();
        self.gateway.backoff.reset();
        self.gateway.discord.health.works();
        if let Some(session) = &mut self.gateway.session {
            session.failed = 0;
        }
        tracing::info!(account = %self.gateway.discord.account, "connected");
    }

    /// Puts an event into the queue. While the queue is full, reading pauses but heartbeats
    /// continue. If the connection breaks meanwhile, its events are read from the history.
    async fn pass_on(&mut self, event: SessionEvent) -> Result<(), ConnectionLoss> {
        let clock = self.gateway.context.clock.clone();
        let events = self.gateway.events.clone();
        let began = clock.elapsed();
        let mut passing = std::pin::pin!(events.send_async(event));
        loop {
            let until_beat = self.pulse.until_beat(clock.elapsed());
            tokio::select! {
                biased;
                passed = &mut passing => {
                    if clock.elapsed() > began {
                        self.pulse.excuse(clock.elapsed());
                    }
                    return passed
                        .map_err(|_| ConnectionLoss::Over("the events have no receiver".to_owned()));
                }
                () = clock.sleep(until_beat) => self.beat_if_due().await?,
            }
        }
    }

    async fn beat_if_due(&mut self) -> Result<(), ConnectionLoss> {
        match self.pulse.is_due(self.gateway.context.clock.elapsed()) {
            true => self.beat().await,
            false => Ok(()),
        }
    }

    async fn beat(&mut self) -> Result<(), ConnectionLoss> {
        self.pulse.beat(self.gateway.context.clock.elapsed());
        let sequence = self.gateway.session.as_ref().map(|session| session.sequence);
        self.write(&json!({ "op": u8::from(Opcode::Heartbeat), "d": sequence })).await
    }

    async fn write(&mut self, payload: &Value) -> Result<(), ConnectionLoss> {
        let clock = self.gateway.context.clock.clone();
        match within(clock.as_ref(), PATIENCE, self.socket.write(payload)).await {
            Ok(true) => Ok(()),
            _ => Err(ConnectionLoss::Resumable("the connection broke".to_owned())),
        }
    }
}
