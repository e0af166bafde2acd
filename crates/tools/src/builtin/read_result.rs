//! `read_result`: reads the rest of a truncated result.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::store::KeptResults;
use avocet_protocol::tool::{
    Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::BuiltinParts;

/// Bytes returned by default: fewer than the size at which a result is truncated.
const DEFAULT_LENGTH: usize = 32 * 1024;
const MAX_LENGTH: usize = 60 * 1024;

#[derive(Debug)]
pub(super) struct ReadResult {
    kept: Arc<dyn KeptResults>,
}

impl ReadResult {
    pub(super) fn new(parts: &BuiltinParts) -> Self {
        Self { kept: parts.kept_results.clone() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadResultArguments {
    handle: String,
    /// Bytes. Default: 0.
    offset: Option<usize>,
    /// Bytes, up to 61440. Default: 32768.
    #[schemars(range(min = 1, max = 61440))]
    length: Option<usize>,
}

#[async_trait]
impl Tool for ReadResult {
    type Arguments = ReadResultArguments;

    fn describe(&self) -> Description {
        const TEXT: &str = "Read more of a truncated result, by its handle.";
        Description::new("read_result", ToolClass::Pure, TEXT).parallel().for_everyone()
    }

    async fn execute(
        &self,
        arguments: ReadResultArguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let ReadResultArguments { handle, offset, length } = arguments;
        let kept = self.kept.kept_result(&context.session, &handle).await;
        let kept = kept.map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
        let Some(kept) = kept else {
            return Err(ToolError::InvalidArgs(format!(
                "no truncated result of this conversation has the handle {handle:?}"
            )));
        };
        // A JSON string is read as its text, everything else as JSON.
        let body = match serde_json::from_str(&kept.body) {
            Ok(Value::String(text)) => text,
            _ => kept.body,
        };
        let offset = body.floor_char_boundary(offset.unwrap_or(0));
        if offset == body.len() {
            return Err(ToolError::InvalidArgs(format!(
                "offset {offset} is at the end: the result is {} bytes long",
                body.len()
            )));
        }
        let length = length.unwrap_or(DEFAULT_LENGTH).min(MAX_LENGTH);
        let end = body.ceil_char_boundary(offset.saturating_add(length));
        let position = format!("[bytes {offset} to {end} of {}]", body.len());
        let value = json!(format!("{position}\n{}", &body[offset..end]));
        let output = ToolOutput::with_writes(value, Vec::new());
        Ok(ToolOutcome::Finished(ToolOutput { trust: Some(kept.trust), ..output }))
    }
}
