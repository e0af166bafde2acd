//! The websocket under the gateway: JSON frames, uncompressed. The client of the REST API opens it,
//! so that the same proxy and the same certificates apply.

use avocet_net::describe_error;
use avocet_protocol::model::decode_json;
use futures_util::{SinkExt, StreamExt};
use reqwest::{Client, StatusCode, Upgraded, Url};
use serde_json::Value;
use serenity::constants::{GATEWAY_VERSION, Opcode};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// Largest frame, in bytes. A server with many channels and threads is described in one frame of
/// some megabytes.
const MAX_FRAME: usize = 64 << 20;

pub(super) struct Socket(WebSocketStream<Upgraded>);

/// One payload (Discord API, "Gateway Event Payload Structure").
#[derive(Debug)]
pub(super) struct GatewayPayload {
    pub(super) op: u8,
    pub(super) d: Value,
    pub(super) s: Option<u64>,
    pub(super) t: Option<String>,
}

impl GatewayPayload {
    /// Reads a payload. The operation is enough; with a name, even that may be missing.
    fn read(text: &[u8]) -> Option<Self> {
        let mut payload: Value = decode_json(text).ok()?;
        let op = read_number(&payload["op"]).and_then(|op| u8::try_from(op).ok());
        let t = payload["t"].as_str().map(str::to_owned);
        let op = op.or_else(|| t.as_ref().map(|_| Opcode::Dispatch.into()))?;
        let s = read_number(&payload["s"]);
        Some(Self { op, d: payload.get_mut("d").map(Value::take).unwrap_or_default(), s, t })
    }
}

/// Reads a number that may be a text or a whole fraction.
pub(super) fn read_number(value: &Value) -> Option<u64> {
    let fraction = value.as_f64().filter(|fraction| fraction.fract() == 0.0 && *fraction >= 0.0);
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .or_else(|| fraction.map(|fraction| fraction as u64))
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
    /// Connects (RFC 6455, "Opening Handshake").
    ///
    /// # Errors
    /// The cause, without the address.
    pub(super) async fn connect(client: &Client, address: &str) -> Result<Self, String> {
        let key = generate_key();
        let request = client
            .get(http_url(address).ok_or("the address is not that of a websocket")?)
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", &key);
        let response = request.send().await.map_err(describe_error)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(format!("HTTP {}", response.status().as_u16()));
        }
        let accepted = response.headers().get("sec-websocket-accept");
        if accepted.is_none_or(|accepted| *accepted != derive_accept_key(key.as_bytes())) {
            return Err("the other side speaks no websocket".to_owned());
        }
        let stream = response.upgrade().await.map_err(describe_error)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_FRAME))
            .max_frame_size(Some(MAX_FRAME));
        Ok(Self(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await))
    }

    /// Reads the next payload. This future can be dropped without losing data.
    pub(super) async fn read(&mut self) -> SocketRead {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return GatewayPayload::read(text.as_bytes())
                        .map_or(SocketRead::Unreadable, SocketRead::Frame);
                }
                Some(Ok(Message::Binary(bytes))) => {
                    return GatewayPayload::read(&bytes)
                        .map_or(SocketRead::Unreadable, SocketRead::Frame);
                }
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

/// Returns the URL of the request that opens a websocket.
fn http_url(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        _ => return None,
    };
    url.set_scheme(scheme).ok()?;
    url.set_query(Some(&format!("v={GATEWAY_VERSION}&encoding=json")));
    Some(url)
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
