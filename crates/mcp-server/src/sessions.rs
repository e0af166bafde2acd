//! Serves one stream.

use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::McpServer;

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
