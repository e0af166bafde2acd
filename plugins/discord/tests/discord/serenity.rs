//! Tests the fake of Discord with a second client. The payloads below are exactly those of serenity
//! 0.12.5's gateway client, and serenity's types read every answer. The client itself is left out
//! even of tests, because it brings a TLS library with known vulnerabilities (rustls 0.22).

use ::serenity::model::event::{Event, GatewayEvent};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::{ANN, TOKEN, World};

/// A connection as serenity's client makes it.
struct Shard(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Shard {
    /// Connects at the default address, also to resume a session: serenity's client ignores
    /// `resume_gateway_url`, which is one of the reasons against its use.
    async fn connect(world: &World) -> Self {
        let url = format!("{}/?v=10&encoding=json", world.platform.gateway_url());
        let mut shard = Self(connect_async(url).await.unwrap().0);
        assert!(matches!(shard.read().await, GatewayEvent::Hello(41_250)));
        shard
    }

    async fn send(&mut self, payload: &Value) {
        self.0.send(Message::text(payload.to_string())).await.unwrap();
    }

    /// The next payload, as serenity reads it.
    async fn read(&mut self) -> GatewayEvent {
        match self.0.next().await {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("serenity cannot read {text}: {error}")),
            other => panic!("no payload, but {other:?}"),
        }
    }

    async fn event(&mut self) -> (u64, Event) {
        match self.read().await {
            GatewayEvent::Dispatch(sequence, event) => (sequence, event),
            other => panic!("no event, but {other:?}"),
        }
    }

    async fn expect_message(&mut self, text: &str) -> u64 {
        let (sequence, event) = self.event().await;
        let Event::MessageCreate(created) = event else { panic!("no message, but {event:?}") };
        assert_eq!(created.message.content, text);
        sequence
    }
}

/// IDENTIFY for GUILDS and DIRECT_MESSAGES.
fn identify() -> Value {
    json!({ "op": 2, "d": {
        "compress": true, "token": format!("Bot {TOKEN}"), "large_threshold": 250, "shard": [0, 1],
        "intents": 4097,
        "properties": { "browser": "serenity", "device": "serenity", "os": "linux" },
        "presence": { "afk": false, "status": "online", "activities": [],
            "since": { "secs_since_epoch": 1_795_377_976, "nanos_since_epoch": 188_439_352 } },
    } })
}

fn resume(session: &str, sequence: u64) -> Value {
    let token = format!("Bot {TOKEN}");
    json!({ "op": 6, "d": { "session_id": session, "token": token, "seq": sequence } })
}

#[tokio::test]
async fn fake_gateway_accepts_serenity_payloads_and_answers_in_its_types() {
    let world = World::new().await;
    let mut shard = Shard::connect(&world).await;
    shard.send(&identify()).await;
    let (_, Event::Ready(ready)) = shard.event().await else { panic!("no READY") };
    let (_, Event::GuildCreate(guild)) = shard.event().await else { panic!("no GUILD_CREATE") };
    assert_eq!(ready.ready.guilds[0].id, guild.guild.id);
    assert!(guild.guild.channels.keys().any(|channel| channel.get() == world.channel));
    world.platform.say(world.dm, ANN, "hello");
    let sequence = shard.expect_message("hello").await;
    shard.send(&json!({ "op": 1, "d": sequence })).await;
    assert!(matches!(shard.read().await, GatewayEvent::HeartbeatAck));

    world.platform.request_reconnect();
    assert!(matches!(shard.read().await, GatewayEvent::Reconnect));
    drop(shard);
    let mut shard = Shard::connect(&world).await;
    shard.send(&resume(&ready.ready.session_id, sequence)).await;
    let (_, Event::Resumed(_)) = shard.event().await else { panic!("not RESUMED") };
    let resumes = world.platform.resumes();
    assert!(resumes[0].taken && !resumes[0].at_resume_url, "{resumes:?}");
    world.platform.say(world.dm, ANN, "again");
    shard.expect_message("again").await;
}
