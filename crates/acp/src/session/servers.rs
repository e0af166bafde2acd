//! The start of the editor's MCP servers. A prompt waits for it, so that its turn has their tools.

use agent_client_protocol::Error;
use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{ContentBlock, PromptResponse, StopReason};
use avocet_gateway::{ClientError, GiveServers};
use avocet_protocol::session::SessionServerStart;
use futures_util::FutureExt;

use super::{Done, EditorSession};
use crate::editor::failed;
use crate::servers::EditorServers;

/// The servers of a session, and a prompt that waits for their start.
#[derive(Debug, Default)]
pub(super) struct ServerStarts {
    servers: EditorServers,
    is_starting: bool,
    /// The prompt that goes on after the start.
    held: Option<HeldPrompt>,
}

/// A prompt that was not sent yet.
#[derive(Debug)]
struct HeldPrompt {
    content: Vec<ContentBlock>,
    responder: Responder<PromptResponse>,
}

impl ServerStarts {
    pub(super) fn new(servers: EditorServers) -> Self {
        Self { servers, ..Self::default() }
    }

    /// Returns `true` if a prompt waits for the start.
    pub(super) fn has_prompt(&self) -> bool {
        self.held.is_some()
    }
}

impl EditorSession {
    /// Gives the servers to the daemon, on a new connection.
    pub(super) fn begin_servers(&mut self) {
        let Some(client) = self.client.clone() else { return };
        let ServerStarts { servers, is_starting, .. } = &mut self.servers;
        if servers.is_empty() {
            let remark = servers.describe_failures(Ok(Vec::new()));
            return self.add_notice(&remark);
        }
        *is_starting = true;
        let params = servers.to_params(&self.place.session);
        let starting =
            async move { Done::Servers(client.call_with_json::<GiveServers>(params).await) };
        self.work.push(starting.boxed());
    }

    /// Connects to the daemon, and keeps the prompt back while servers start. Returns the prompt if it can
    /// be sent.
    pub(super) async fn hold_for_servers(
        &mut self,
        content: Vec<ContentBlock>,
        responder: Responder<PromptResponse>,
    ) -> Option<(Vec<ContentBlock>, Responder<PromptResponse>)> {
        if !self.servers.servers.is_empty()
            && let Err(error) = self.connected().await
        {
            super::editor_side::answer_prompt(responder, Err(failed(error)));
            return None;
        }
        if self.servers.is_starting {
            self.servers.held = Some(HeldPrompt { content, responder });
            return None;
        }
        Some((content, responder))
    }

    /// Notes the outcome of the start, and sends the prompt that waited for it.
    pub(super) async fn end_server_start(
        &mut self,
        started: Result<Vec<SessionServerStart>, ClientError>,
    ) {
        if matches!(started, Err(ClientError::Lost)) {
            return self.lose_daemon();
        }
        self.servers.is_starting = false;
        let remark = self.servers.servers.describe_failures(started);
        self.add_notice(&remark);
        if let Some(HeldPrompt { content, responder }) = self.servers.held.take() {
            self.take_prompt(content, responder).await;
        }
    }

    /// Answers the prompt that waits for the start; `false` without one.
    pub(super) fn end_held_prompt(&mut self, end: Result<StopReason, Error>) -> bool {
        let Some(HeldPrompt { responder, .. }) = self.servers.held.take() else { return false };
        super::editor_side::answer_prompt(responder, end);
        true
    }

    /// Forgets the start on a lost connection.
    pub(super) fn lose_servers(&mut self) {
        self.servers.is_starting = false;
        let message = "the connection to the daemon was lost; send the prompt again";
        self.end_held_prompt(Err(failed(message)));
    }

    fn add_notice(&mut self, remark: &str) {
        if !remark.is_empty() {
            self.notice.get_or_insert_default().push_str(remark);
        }
    }
}
