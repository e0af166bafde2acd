//! The answers to a server's own requests and notifications.

#![expect(deprecated, reason = "roots are deprecated in the newest protocol, and servers use them")]

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, CreateMessageRequestMethod, CreateMessageRequestParams,
    CreateMessageResult, ErrorData, Implementation, InitializeRequestParams, ListRootsResult,
    ProgressNotificationParam, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

/// The client of one server.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    pub(crate) server: Arc<str>,
    /// Signals that the server has other tools now.
    pub(crate) list_changed: Arc<Notify>,
    /// Signals that a call makes progress.
    pub(crate) progress: Arc<Notify>,
    /// The directories that the server may use.
    pub(crate) roots: Arc<[PathBuf]>,
    /// `true` once the server has asked for a model, so that only the first request is logged.
    pub(crate) has_sampled: Arc<std::sync::atomic::AtomicBool>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        if !self.roots.is_empty() {
            capabilities.roots = Some(RootsCapabilities::default());
        }
        let software = Implementation::new("avocet", env!("CARGO_PKG_VERSION"));
        // All servers support the handshake of versions before 2026-07-28.
        InitializeRequestParams::new(capabilities, software)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        use std::sync::atomic::Ordering;
        if !self.has_sampled.swap(true, Ordering::SeqCst) {
            tracing::warn!(
                server = &*self.server,
                "an MCP server asks for a model, which is refused, as are further requests"
            );
        }
        Err(ErrorData::method_not_found::<CreateMessageRequestMethod>())
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let roots = self.roots.iter().map(|path| Root::new(format!("file://{}", path.display())));
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.list_changed.notify_one();
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.notify_waiters();
    }
}
