//! A connection to the gateway: sends and receives bytes. `session.rs` handles the payloads.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::gateway::{GatewayFault, OutgoingFrame};
use super::platform::SharedPlatform;

/// The code of a connection that ended without one (RFC 6455, 7.1.5).
const NO_CODE: u16 = 1006;

/// Serves the gateway on its own port, until its runtime is dropped.
#[expect(clippy::disallowed_methods, reason = "a fake is not part of the daemon")]
pub(super) async fn listen(shared: Arc<SharedPlatform>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    shared.change(|platform| {
        platform.gateway.url = format!("ws://{address}");
        platform.gateway.resume_url = format!("ws://{address}{}", super::RESUME_PATH);
    });
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(shared.clone(), stream));
        }
    });
}

async fn serve(shared: Arc<SharedPlatform>, stream: TcpStream) {
    let (id, fault) = shared.change(|platform| platform.gateway.accept());
    // A disconnecting client is not an error of the server.
    let code = match fault {
        Some(GatewayFault::Reset) => reset(&stream),
        Some(GatewayFault::Hang) => hang(&stream).await,
        _ => converse(&shared, id, stream).await.unwrap_or(NO_CODE),
    };
    shared.change(|platform| {
        let now = platform.now;
        platform.gateway.disconnect(id, code, now);
    });
}

fn reset(stream: &TcpStream) -> u16 {
    stream.set_zero_linger().unwrap();
    NO_CODE
}

/// Sends nothing until the client disconnects.
async fn hang(stream: &TcpStream) -> u16 {
    let mut buffer = [0; 1024];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
            _ => {}
        }
    }
    NO_CODE
}

/// Exchanges payloads until one side closes. Returns the client's close code.
async fn converse(shared: &SharedPlatform, id: u64, stream: TcpStream) -> Result<u16, Error> {
    stream.set_nodelay(true)?;
    let mut path = String::new();
    #[expect(clippy::result_large_err, reason = "the type is that of the library")]
    let note_path = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        path = request.uri().to_string();
        Ok(response)
    };
    let mut socket = accept_hdr_async(stream, note_path).await?;
    shared.change(|platform| platform.open(id, &path));
    let mut changed = shared.changed.subscribe();
    loop {
        changed.mark_unchanged();
        while let Some(frame) = next_frame(shared, id) {
            match frame {
                OutgoingFrame::Text(text) => socket.send(Message::text(text)).await?,
                OutgoingFrame::Close(code, why) => return close(socket, code, why).await,
                OutgoingFrame::Drop => return Ok(reset(socket.get_ref())),
            }
        }
        tokio::select! {
            _ = changed.changed() => {}
            heard = socket.next() => match heard {
                Some(Ok(Message::Text(text))) => shared.change(|platform| platform.hear(id, &text)),
                Some(Ok(Message::Close(frame))) => return closed(socket, frame).await,
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(NO_CODE),
            }
        }
    }
}

fn next_frame(shared: &SharedPlatform, id: u64) -> Option<OutgoingFrame> {
    shared.lock().gateway.next_frame(id)
}

/// Closes the connection from the platform's side and waits for the client. Without the wait, the
/// client could miss the code.
async fn close(
    mut socket: WebSocketStream<TcpStream>,
    code: u16,
    why: String,
) -> Result<u16, Error> {
    let frame = CloseFrame { code: code.into(), reason: why.into() };
    socket.close(Some(frame)).await?;
    while let Some(Ok(_)) = socket.next().await {}
    // The client's code only repeats the platform's.
    Ok(NO_CODE)
}

/// Handles a close by the client.
async fn closed(
    mut socket: WebSocketStream<TcpStream>,
    frame: Option<CloseFrame>,
) -> Result<u16, Error> {
    let code = frame.map_or(NO_CODE, |frame| frame.code.into());
    // Reading on sends the answer to the close.
    while let Some(Ok(_)) = socket.next().await {}
    Ok(code)
}
