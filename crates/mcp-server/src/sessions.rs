//! The session of a client, and the service of one stream.

use avocet_protocol::{IdError, SessionId};
use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::McpServer;

/// The most characters of a client's name in its session.
const MOST_CHARS: usize = 40;

/// Returns the session of a client by the name that it gives itself: `terminal:local:mcp-NAME`.
/// Characters other than ASCII letters, digits, `_` and `-` become `-`.
///
/// # Errors
/// [`IdError`] if the name cannot be a part of a session id.
pub fn client_session(name: &str) -> Result<SessionId, IdError> {
    let safe = name.trim().chars().take(MOST_CHARS).map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || "_-".contains(c) => c,
        _ => '-',
    });
    let safe: String = safe.collect();
    let safe = if safe.is_empty() { "client" } else { safe.as_str() };
    SessionId::parse(&format!("terminal:local:mcp-{safe}"))
}

/// Serves one client on a stream of lines until it closes the stream, or `stop` fires.
///
/// # Errors
/// The text names the fault of a client that does not speak the protocol.
pub async fn serve_stream<R, W>(
    server: McpServer,
    reader: R,
    writer: W,
    stop: CancellationToken,
) -> Result<(), String>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let running = match serve_server_with_ct(server, (reader, writer), stop).await {
        Ok(running) => running,
        // A client that only checks that the program starts closes the stream at once.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(format!("the client did not begin as MCP wants: {error}")),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(format!("the server ended: {error}")),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_session_keeps_safe_characters_of_the_name() {
        let table = [
            ("claude-ai", "terminal:local:mcp-claude-ai"),
            ("Visual Studio Code", "terminal:local:mcp-visual-studio-code"),
            ("a/../b:c\0", "terminal:local:mcp-a----b-c-"),
            ("", "terminal:local:mcp-client"),
            ("é", "terminal:local:mcp--"),
        ];
        for (name, session) in table {
            assert_eq!(client_session(name).unwrap().as_str(), session, "{name:?}");
        }
        assert!(client_session(&"x".repeat(1000)).unwrap().as_str().len() < 80);
    }
}
