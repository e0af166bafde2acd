//! `memory_write`: stores a note for later.

use async_trait::async_trait;
use avocet_protocol::{
    Description, LogWrite, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// A note is a thought, not a file.
const MAX_NOTE_BYTES: usize = 8 * 1024;

#[derive(Debug)]
pub(super) struct MemoryWrite;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The note: one fact, in a sentence that can be understood without this conversation.
    text: String,
}

#[async_trait]
impl Tool for MemoryWrite {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Store a note beyond this conversation: a fact, a wish, a decision. \
            Find it again with memory_read.";
        Description::new("memory_write", ToolClass::InLog, TEXT)
    }

    async fn execute(
        &self,
        arguments: Arguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let text = arguments.text.trim().to_owned();
        if text.is_empty() {
            return Err(ToolError::InvalidArgs("text is empty".to_owned()));
        }
        if text.len() > MAX_NOTE_BYTES {
            return Err(ToolError::InvalidArgs(format!(
                "text is {} bytes long; a note has at most {MAX_NOTE_BYTES}. Write a file instead",
                text.len()
            )));
        }
        let value = json!(format!("remembered: {text}"));
        Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, vec![LogWrite::Note { text }])))
    }
}
