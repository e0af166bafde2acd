//! The websocket under the gateway: JSON frames, uncompressed.

use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use serenity::constants::GATEWAY_VERSION;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// Largest frame, in bytes. A server with many channels and threads is described in one frame of
/// some megabytes.
const MAX_FRAME: usize = 64 << 20;

pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// One payload (Discord API, "Gateway Event Payload Structure").
#[derive(Debug, Deserialize)]
pub(super) struct GatewayPayload {
    pub(super) op: u8,
    #[serde(default)]
    pub(super) d: Value,
    #[serde(default)]
    pub(super) s: Option<u64>,
    #[serde(default)]
    pub(super) t: Option<String>,
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum SocketRead {
    Frame(GatewayPayload),
    /// Data in another format.
    Unreadable,
    /// The end of the connection, with a code if the other side sent one.
    Closed(Option<u16>),
}

impl Socket {
    /// Connects. Returns `None` on failure.
    pub(super) async fn connect(address: &str) -> Option<Self> {
        let mut url = reqwest::Url::parse(address).ok()?;
        url.set_query(Some(&format!("v={GATEWAY_VERSION}&encoding=json")));
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME))
            .max_frame_size(Some(MAX_FRAME));
        let connected = connect_async_with_config(url.as_str(), Some(config), true).await;
        connected.ok().map(|(stream, _)| Self(stream))
    }

    /// Reads the next payload. This future can be dropped without losing data.
    pub(super) async fn read(&mut self) -> SocketRead {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text)
                        .map_or(SocketRead::Unreadable, SocketRead::Frame);
                }
                Some(Ok(Message::Binary(_))) => return SocketRead::Unreadable,
                Some(Ok(Message::Close(frame))) => {
                    return SocketRead::Closed(frame.map(|frame| frame.code.into()));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(_)) | None => return SocketRead::Closed(None),
            }
        }
    }

    /// Writes a payload. Returns `false` on failure.
    pub(super) async fn write(&mut self, payload: &Value) -> bool {
        self.0.send(Message::text(payload.to_string())).await.is_ok()
    }
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
