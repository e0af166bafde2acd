//! Prompts and cancellations of the editor.

use std::sync::Arc;

use agent_client_protocol::Error;
use agent_client_protocol::v1;
use agent_client_protocol::v1::schema::{ContentBlock, PromptResponse, StopReason};
use avocet_gateway::{
    Ask, AskResult, AttachParams, Client, ClientError, PublishedFile, UntrustedPart, Wait,
};
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::{DedupeKey, MessageId};
use avocet_protocol::store::MessageStatus;
use futures_util::FutureExt;

use super::buffers::attach_editor;
use super::{Done, EditorSession, OpenPrompt};
use crate::editor::{Editor, failed, invalid};
use crate::prompt::PromptContent;

/// Shown if a cancelled prompt waits behind the turn of another message, for example of another
/// client of the chat.
const NOT_BEGUN: &str = "\n\n(The prompt waits behind another message. It cannot be withdrawn; it may \
    be answered together with that message.)\n\n";
/// Shown for a prompt of a session that a later request has opened.
const OPENED_AGAIN: &str = "the session was opened again";

impl EditorSession {
    pub(super) async fn take_prompt(
        &mut self,
        content: Vec<ContentBlock>,
        responder: v1::Responder<PromptResponse>,
    ) {
        if self.prompt.is_some() || self.servers.has_prompt() {
            let message = "the session still answers another prompt; cancel it first";
            return answer_prompt(responder, Err(invalid(message)));
        }
        let held = self.hold_for_servers(content, responder).await;
        let Some((content, responder)) = held else { return };
        match self.publish(content).await {
            Ok((message, files)) => {
                self.prompt = Some(OpenPrompt { message, responder, files, is_cancelled: false });
                self.wait_for(message);
            }
            Err(error) => answer_prompt(responder, Err(error)),
        }
    }

    /// Sends a prompt to the chat. Returns its message and the references of its files.
    async fn publish(
        &mut self,
        content: Vec<ContentBlock>,
    ) -> Result<(MessageId, Vec<String>), Error> {
        let content = PromptContent::read(content, &self.place).map_err(invalid)?;
        let client = self.connected().await.map_err(failed)?;
        if let Some(notice) = self.notice.take() {
            self.editor.say(&notice);
        }
        let mut attachments = Vec::new();
        for file in content.files {
            client.keep_file(file.published.reference.clone(), file.bytes);
            attachments.push(file.published);
        }
        let files: Vec<String> = attachments.iter().map(|file| file.reference.clone()).collect();
        match self.send(&client, content.text, attachments, content.untrusted).await {
            Ok(message) => Ok((message, files)),
            Err(error) => {
                files.iter().for_each(|file| client.forget_file(file));
                Err(failed(error.to_string()))
            }
        }
    }

    /// Returns the connection to the daemon; makes a new one if it was lost.
    pub(super) async fn connected(&mut self) -> Result<Arc<Client>, String> {
        if let Some(client) = &self.client {
            if !client.incoming().is_disconnected() {
                return Ok(client.clone());
            }
            self.lose_daemon();
        }
        let client =
            Arc::new(attach(self.connector.as_ref(), &self.place.session, &self.editor).await?);
        self.client = Some(client.clone());
        self.begin_servers();
        Ok(client)
    }

    /// Publishes a message of the person.
    pub(super) async fn send(
        &mut self,
        client: &Client,
        text: String,
        attachments: Vec<PublishedFile>,
        untrusted: Vec<UntrustedPart>,
    ) -> Result<MessageId, ClientError> {
        let key = DedupeKey::parse(&uuid::Uuid::new_v4().to_string()).ok();
        let session = self.place.session.clone();
        let ask = Ask { key, attachments, untrusted, ..Ask::new(session, text) };
        let asked: AskResult = self.call::<Ask>(client, &ask).await?;
        self.own.put(asked.message, ());
        Ok(asked.message)
    }

    /// Waits for the outcome of a prompt beside the session.
    pub(super) fn wait_for(&mut self, message: MessageId) {
        if let Some(client) = self.client.clone() {
            let waiting = async move {
                let status = client.call::<Wait>(&Wait { message, seconds: None }).await;
                Done::Outcome { message, status }
            };
            self.work.push(waiting.boxed());
        }
    }

    pub(super) async fn cancel(&mut self) {
        if self.end_held_prompt(Ok(StopReason::Cancelled)) {
            return;
        }
        match &mut self.prompt {
            Some(prompt) => {
                prompt.is_cancelled = true;
                let message = prompt.message;
                // `/stop` would end the turn of another message.
                if !self.has_begun(message).await {
                    if self.turn.is_some() {
                        self.editor.say(NOT_BEGUN);
                    }
                    return;
                }
            }
            // A turn that waits for an answer goes on between two prompts.
            None if self.wait.is_none() => return,
            None => {}
        }
        self.stop_turn().await;
    }

    /// Returns `false` for a message that waits behind the turn of another one.
    async fn has_begun(&mut self, message: MessageId) -> bool {
        let Some(client) = self.client.clone() else { return true };
        let wait = Wait { message, seconds: Some(0) };
        match self.call::<Wait>(&client, &wait).await {
            Ok(status) => status.turn.is_some() || status.outcome.is_some(),
            Err(error) => {
                tracing::warn!(%error, "cannot read the state of the prompt");
                true
            }
        }
    }

    /// Stops the turn with the command of the chat. Its reply is not for the person.
    pub(super) async fn stop_turn(&mut self) {
        let Some(client) = self.client.clone() else { return };
        match self.send_stop(&client).await {
            Ok(MessageStatus { turn, reply, .. }) => {
                self.text.remember(turn, reply.as_deref().unwrap_or_default());
            }
            Err(error) => {
                tracing::warn!(%error, "cannot stop the turn");
                if let Some(prompt) = self.prompt.take() {
                    self.end_prompt(prompt, Err(failed(format!("cannot stop the turn: {error}"))));
                }
            }
        }
    }

    async fn send_stop(&mut self, client: &Client) -> Result<MessageStatus, ClientError> {
        let message = self.send(client, "/stop".to_owned(), Vec::new(), Vec::new()).await?;
        self.call::<Wait>(client, &Wait { message, seconds: None }).await
    }

    /// Stops the turn of an open prompt, because the editor has closed the session.
    pub(super) async fn close(mut self) {
        self.end_held_prompt(Ok(StopReason::Cancelled));
        if let Some(prompt) = self.prompt.take() {
            self.stop_turn().await;
            self.end_prompt(prompt, Ok(StopReason::Cancelled));
        }
    }

    /// Ends the session without an effect on its turn.
    pub(super) fn end_session(mut self) {
        self.end_held_prompt(Err(failed(OPENED_AGAIN)));
        if let Some(prompt) = self.prompt.take() {
            self.end_prompt(prompt, Err(failed(OPENED_AGAIN)));
        }
    }

    /// Answers the editor.
    pub(super) fn end_prompt(&mut self, prompt: OpenPrompt, end: Result<StopReason, Error>) {
        if let Some(client) = &self.client {
            prompt.files.iter().for_each(|file| client.forget_file(file));
        }
        answer_prompt(prompt.responder, end);
    }
}

pub(super) fn answer_prompt(
    responder: v1::Responder<PromptResponse>,
    end: Result<StopReason, Error>,
) {
    if let Err(error) = responder.respond_with_result(end.map(PromptResponse::new)) {
        tracing::debug!(%error, "cannot answer the editor");
    }
}

/// Connects to the daemon, and attaches to the chat of a session.
pub(crate) async fn attach(
    connector: &dyn crate::daemon::ConnectDaemon,
    session: &SessionId,
    editor: &Editor,
) -> Result<Client, String> {
    let client = connector.connect().await?;
    let attached = AttachParams { thoughts: true, ..AttachParams::to_chat(session.address()) };
    let attached = client.call::<AttachParams>(&attached).await;
    attached.map_err(|error| format!("cannot open the chat {session}: {error}"))?;
    attach_editor(&client, session, editor).await;
    Ok(client)
}
