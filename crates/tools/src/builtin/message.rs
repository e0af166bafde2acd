//! `message`: sends a message now, with or without files, to this chat or another.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{Role, Roles};
use avocet_protocol::bus::Destinations;
use avocet_protocol::chat::{ChatAddress, Content};
use avocet_protocol::tool::{
    Caution, Description, Leaving, LogWrite, Question, Tool, ToolClass, ToolContext, ToolError,
    ToolOutcome, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::BuiltinParts;
use super::attachments::{FileRecipient, check_attachments};
use super::files::ToolFiles;
use super::poll;
use crate::approval::fence_text;

#[derive(Debug)]
pub(super) struct MessageTool {
    destinations: Arc<dyn Destinations>,
    roles: Arc<dyn Roles>,
    files: ToolFiles,
}

impl MessageTool {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        let files = ToolFiles { roots: parts.roots.clone() };
        Self { destinations: parts.destinations.clone(), roles: parts.roles.clone(), files }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MessageToolArguments {
    #[serde(default)]
    text: String,
    #[serde(default)]
    #[schemars(length(max = 10))]
    files: Vec<String>,
    chat: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 12))]
    poll: Vec<String>,
}

impl MessageToolArguments {
    /// Returns all that leaves as text.
    fn shown_text(&self) -> String {
        let parts = std::iter::once(&self.text).chain(&self.poll).map(String::as_str);
        parts.collect::<Vec<_>>().join("\n")
    }
}

#[async_trait]
impl Tool for MessageTool {
    type Arguments = MessageToolArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Send text, files or a poll before your answer, or to another chat.";
        // Everyone sees this description, so it must omit the operator's directories.
        Description::new("message", ToolClass::InLog, TEXT).in_group("chat").for_everyone()
    }

    async fn caution(&self, arguments: &MessageToolArguments, context: &ToolContext) -> Caution {
        let chat = arguments.chat.as_deref().and_then(|chat| chat.parse().ok());
        let is_here = arguments.chat.is_none() || (chat.is_some() && chat == context.chat);
        if is_here && arguments.files.is_empty() {
            // Same as a final answer: `leaving` covers the leak check.
            return Caution::Never;
        }
        // Other chats and files are for owners; `execute` refuses users.
        if context.trust.suffices_for(context.role) { Caution::ByTrust } else { Caution::Always }
    }

    fn leaving(&self, arguments: &MessageToolArguments) -> Vec<Leaving> {
        vec![Leaving::Text(arguments.shown_text())]
    }

    fn paths(&self, arguments: &MessageToolArguments) -> Vec<String> {
        arguments.files.iter().map(|path| self.files.roots.canonical_name(path)).collect()
    }

    async fn question(
        &self,
        arguments: &MessageToolArguments,
        _: &ToolContext,
    ) -> Option<Question> {
        let MessageToolArguments { files, chat, .. } = arguments;
        let text = arguments.shown_text();
        let chat = chat.as_deref().unwrap_or("this chat");
        let mut sorted = files.clone();
        sorted.sort_unstable();
        let files = if files.is_empty() {
            String::new()
        } else {
            format!("\n\nWith these files:\n{}", fence_text(&files.join("\n"), ""))
        };
        let shown = format!("To:\n{}\n\n{}{files}", fence_text(chat, ""), fence_text(&text, ""));
        let scope = [&[chat.to_owned()], &sorted[..]].concat().join(" ");
        Some(Question { shown, scope, shape: None })
    }

    async fn execute(
        &self,
        arguments: MessageToolArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        // Checked before any lookup, so that a user cannot learn which files exist.
        if !arguments.files.is_empty() && context.role < Role::Owner {
            let why = "sending files of the workspace is for owners";
            return Err(ToolError::PermissionDenied(why.to_owned()));
        }
        let address = match arguments.chat {
            None => context.chat.clone().ok_or_else(|| {
                ToolError::InvalidArgs("this turn has no chat of its own; give chat".to_owned())
            })?,
            Some(chat) => self.permitted_chat(&chat, context)?,
        };
        let poll = poll::read(&arguments.text, &arguments.files, &arguments.poll)?;
        let max_file_bytes = self.destinations.max_file_bytes(&address);
        let to = FileRecipient { address: address.clone(), max_file_bytes };
        let attachments = self.files.run_in_all_roots(context, move |roots| {
            check_attachments(roots, &arguments.files, &to)
        });
        let text = Content { poll, ..Content::text(arguments.text) };
        let content = Content { attachments: attachments.await?, ..text };
        if content.is_empty() {
            return Err(ToolError::InvalidArgs("text is empty, and there are no files".to_owned()));
        }
        let planned = self
            .destinations
            .plan(&address, &content)
            .map_err(|error| ToolError::InvalidArgs(error.to_string()))?;
        let value = json!(format!("queued for delivery to {address}"));
        let writes = vec![LogWrite::Message(planned)];
        Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, writes)))
    }
}

impl MessageTool {
    fn permitted_chat(&self, chat: &str, context: &ToolContext) -> Result<ChatAddress, ToolError> {
        let address: ChatAddress =
            chat.parse().map_err(|error: avocet_protocol::ids::IdError| {
                ToolError::InvalidArgs(error.to_string())
            })?;
        if context.chat.as_ref() == Some(&address) {
            return Ok(address);
        }
        if context.role < Role::Owner {
            return Err(ToolError::PermissionDenied(format!(
                "writing to {address} is for owners; only this chat may be written to"
            )));
        }
        if self.roles.may_write(&address) {
            return Ok(address);
        }
        Err(ToolError::PermissionDenied(format!(
            "{address} is not a chat that you may write to; chats of people who may speak here are, and \
             groups that the configuration names"
        )))
    }
}
