//! Builds an answer from the events of its stream (Anthropic API reference, "Streaming Messages"),
//! or from a complete body of a server without streaming. Every field is optional: see
//! [`WireJson`]. The fields of an event decide what it is, because its type only repeats that.

use std::borrow::Cow;

use avocet_protocol::model::{Arguments, ToolCall, Usage};
use serde_json::{Value, json};

use crate::dialects::repair_arguments;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::finish::{FinishFlags, FinishReason};
use crate::openai::codes;
use crate::wire_json::WireJson;

/// The placeholder for the text of an answer among its thoughts.
pub(super) const SAID: &str = "message";
/// The placeholder for the next call of an answer among its thoughts.
const CALLED: &str = "call";

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct AnthropicAnswer {
    blocks: Vec<PartialBlock>,
    /// The reasoning that was not taken for display yet.
    new_thought: String,
    usage: AnthropicUsage,
    stop_reason: Option<String>,
    /// `true` once the server has said that nothing follows, with or without a stop reason.
    is_over: bool,
    bytes: usize,
}

#[derive(Debug)]
struct PartialBlock {
    index: Option<u64>,
    block: AnswerBlock,
    /// The received pieces of a call's input.
    json: String,
}

#[derive(Debug)]
enum AnswerBlock {
    Text {
        text: String,
    },
    ToolUse {
        name: String,
        /// Empty if the answer is streamed.
        input: Value,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    /// Encrypted reasoning.
    RedactedThinking {
        data: String,
    },
    /// Blocks of the server's own tools.
    Other,
}

/// A piece of a block.
#[derive(Debug, Clone, Copy)]
enum BlockDelta<'e> {
    Text(&'e str),
    Input(&'e str),
    Thinking(&'e str),
    Signature(&'e str),
}

/// Token counts. For each, the last readable value wins.
#[derive(Debug, Clone, Copy, Default)]
struct AnthropicUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl StreamedAnswer for AnthropicAnswer {
    fn take_event(&mut self, event: &WireJson<'_>) -> Result<AnswerPiece, AnswerError> {
        let (block, delta, message) =
            (event.get("content_block"), event.get("delta"), event.get("message"));
        self.usage.update_counts(event.get("usage"));
        if block.is_object() {
            return Ok(self.begin_block(event.get("index").read_count(), block));
        }
        if let Some(piece) = BlockDelta::read(delta) {
            return self.add_piece(event.get("index").read_count(), piece);
        }
        if let Some(reason) = read_reason(delta) {
            self.stop_reason = Some(reason);
            return Ok(AnswerPiece::Unseen);
        }
        match event.get("type").as_str() {
            Some("message_stop") => {
                self.is_over = true;
                Ok(AnswerPiece::End)
            }
            Some("message_delta") => Ok(AnswerPiece::Unseen),
            // The first event of a stream has an empty message.
            _ if message.is_object() => Ok(self.take_message(message)),
            _ => Ok(self.take_message(event)),
        }
    }

    fn take_thought(&mut self) -> String {
        std::mem::take(&mut self.new_thought)
    }

    fn end_answer(&mut self) {
        self.is_over = true;
    }

    fn has_ended(&self) -> bool {
        self.stop_reason.is_some()
    }

    fn kept_bytes(&self) -> usize {
        self.bytes
    }

    fn cut_answer(&mut self) {
        self.stop_reason = Some("max_tokens".to_owned());
    }

    fn error_status(error: &Value) -> Option<u16> {
        let of_type = error["type"].as_str().and_then(status_of_type);
        Some(of_type.or_else(|| codes::of_error(error)).unwrap_or(500))
    }

    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError> {
        let is_empty = self.blocks.iter().all(|partial| partial.block.is_without_answer());
        let (reason, finish) = match &self.stop_reason {
            Some(reason) => (reason.as_str(), finish_from_stop_reason(reason)),
            None if self.is_over && !is_empty => ("", FinishReason::Complete),
            None => return Err("the stream ended before the answer did".to_owned().into()),
        };
        let ended = finish.evaluate_answer(reason, "", is_empty)?;
        let FinishFlags { truncated, filtered } = ended;
        let mut said = CompleteAnswer {
            usage: self.usage.total_usage(),
            truncated,
            filtered,
            ..CompleteAnswer::default()
        };
        // Markers show the place of text and calls among thoughts.
        let mut thoughts = Vec::new();
        let last_text =
            self.blocks.iter().rposition(|one| matches!(one.block, AnswerBlock::Text { .. }));
        let mut place = 0..;
        let mut blocks = self.blocks.into_iter().peekable();
        while let Some(PartialBlock { block, json, .. }) = blocks.next() {
            let is_last_text = place.next() == last_text;
            match &block {
                AnswerBlock::Text { .. } if is_last_text => thoughts.push(Value::from(SAID)),
                AnswerBlock::ToolUse { .. } => thoughts.push(Value::from(CALLED)),
                _ => {}
            }
            match block {
                // Only the last block can be cut off before its arguments.
                AnswerBlock::ToolUse { name, .. }
                    if ended.text_end().is_cut() && json.is_empty() && blocks.peek().is_none() =>
                {
                    said.calls.push(ToolCall { name, arguments: Arguments::Malformed(json) });
                }
                AnswerBlock::Text { text } => said.text.push_str(&text),
                AnswerBlock::ToolUse { name, input } => {
                    let input = if json.is_empty() { input.to_string() } else { json };
                    let arguments = repair_arguments(&input, ended.text_end());
                    said.calls.push(ToolCall { name, arguments });
                }
                AnswerBlock::Thinking { thinking, signature } => {
                    said.thought += thinking.len() as u64;
                    thoughts.push(
                        json!({ "type": "thinking", "thinking": thinking, "signature": signature }),
                    );
                }
                AnswerBlock::RedactedThinking { data } => {
                    thoughts.push(json!({ "type": "redacted_thinking", "data": data }));
                }
                AnswerBlock::Other => {}
            }
        }
        said.reasoning = thoughts_to_keep(thoughts);
        Ok(said)
    }
}

/// The statuses of errors (Anthropic API reference, "Errors").
fn status_of_type(kind: &str) -> Option<u16> {
    Some(match kind {
        "overloaded_error" => 529,
        kind => codes::status_of_code(kind)?,
    })
}

/// Returns the thoughts to keep; `None` without thoughts. The markers stay only if a thought follows
/// one of them.
fn thoughts_to_keep(mut thoughts: Vec<Value>) -> Option<Value> {
    let last = thoughts.iter().rposition(Value::is_object)?;
    if thoughts[..last].iter().all(Value::is_object) {
        thoughts.retain(Value::is_object);
    }
    Some(Value::Array(thoughts))
}

/// The reason for the end in a message, or in the change of a message.
fn read_reason(message: &WireJson<'_>) -> Option<String> {
    message.get("stop_reason").read_reason().map(Cow::into_owned)
}

impl AnswerBlock {
    fn read(block: &WireJson<'_>) -> Self {
        let text = |key: &str| block.get(key).as_str().unwrap_or_default().to_owned();
        let has = |key: &str| block.get(key).as_str().is_some();
        match block.get("type").as_str() {
            Some("text") => Self::Text { text: text("text") },
            Some("tool_use") => {
                Self::ToolUse { name: text("name"), input: block.get("input").to_value() }
            }
            Some("thinking") => {
                Self::Thinking { thinking: text("thinking"), signature: text("signature") }
            }
            Some("redacted_thinking") => Self::RedactedThinking { data: text("data") },
            Some(_) => Self::Other,
            None if has("text") => Self::Text { text: text("text") },
            None if has("thinking") => {
                Self::Thinking { thinking: text("thinking"), signature: text("signature") }
            }
            None if has("name") => {
                Self::ToolUse { name: text("name"), input: block.get("input").to_value() }
            }
            None => Self::Other,
        }
    }

    /// An empty block for this piece; `None` for a piece of a call, which needs a name.
    fn for_piece(piece: BlockDelta<'_>) -> Option<Self> {
        let empty = String::new;
        match piece {
            BlockDelta::Text(_) => Some(Self::Text { text: empty() }),
            BlockDelta::Thinking(_) | BlockDelta::Signature(_) => {
                Some(Self::Thinking { thinking: empty(), signature: empty() })
            }
            BlockDelta::Input(_) => None,
        }
    }

    fn accepts_piece(&self, piece: BlockDelta<'_>) -> bool {
        matches!(
            (self, piece),
            (Self::Text { .. }, BlockDelta::Text(_))
                | (Self::ToolUse { .. }, BlockDelta::Input(_))
                | (Self::Thinking { .. }, BlockDelta::Thinking(_) | BlockDelta::Signature(_))
        )
    }

    /// Bytes of the block's initial content.
    fn initial_bytes(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::ToolUse { name, input: Value::Null } => name.len(),
            Self::ToolUse { name, input } => name.len() + input.to_string().len(),
            Self::Thinking { thinking, signature } => thinking.len() + signature.len(),
            Self::RedactedThinking { data } => data.len(),
            Self::Other => 0,
        }
    }

    fn is_without_answer(&self) -> bool {
        match self {
            Self::Text { text } => text.is_empty(),
            Self::ToolUse { .. } => false,
            Self::Thinking { .. } | Self::RedactedThinking { .. } | Self::Other => true,
        }
    }
}

impl AnthropicAnswer {
    /// Reads the message at the start of a stream, or a whole answer.
    fn take_message(&mut self, message: &WireJson<'_>) -> AnswerPiece {
        self.usage.update_counts(message.get("usage"));
        if let Some(reason) = read_reason(message) {
            self.stop_reason = Some(reason);
        }
        let mut text = String::new();
        for (index, block) in (0..).zip(message.get("content").read_list()) {
            let piece = match block {
                WireJson::Text(text) => {
                    self.push_block(Some(index), AnswerBlock::Text { text: text.to_string() })
                }
                block if block.is_object() => self.begin_block(Some(index), block),
                _ => AnswerPiece::KeepAlive,
            };
            if let AnswerPiece::Text(more) = piece {
                text.push_str(&more);
            }
        }
        piece_from_text(text)
    }

    fn begin_block(&mut self, index: Option<u64>, block: &WireJson<'_>) -> AnswerPiece {
        self.push_block(index, AnswerBlock::read(block))
    }

    fn push_block(&mut self, index: Option<u64>, block: AnswerBlock) -> AnswerPiece {
        let piece = match &block {
            AnswerBlock::Text { text } => piece_from_text(text.clone()),
            AnswerBlock::ToolUse { .. } | AnswerBlock::RedactedThinking { .. } => {
                AnswerPiece::Unseen
            }
            AnswerBlock::Thinking { thinking, .. } => {
                self.new_thought.push_str(thinking);
                AnswerPiece::KeepAlive
            }
            AnswerBlock::Other => AnswerPiece::KeepAlive,
        };
        self.bytes += ITEM + block.initial_bytes();
        self.blocks.push(PartialBlock { index, block, json: String::new() });
        piece
    }

    /// Appends a piece to its block: the one with its index, or the last one. Begins a block if
    /// neither can take the piece.
    ///
    /// # Errors
    /// If the arguments of a call come without its name.
    fn add_piece(
        &mut self,
        index: Option<u64>,
        piece: BlockDelta<'_>,
    ) -> Result<AnswerPiece, AnswerError> {
        let of_index = |partial: &PartialBlock| index.is_some() && partial.index == index;
        let place = self.blocks.iter().rposition(of_index);
        // Pieces of calls of the server's own tools are not ours.
        let is_ignored = place.is_some_and(|place| {
            matches!(self.blocks[place].block, AnswerBlock::Other)
                && matches!(piece, BlockDelta::Input(_))
        });
        if is_ignored {
            return Ok(AnswerPiece::Unseen);
        }
        let last = self.blocks.len().checked_sub(1);
        let takes = |place: &usize| self.blocks[*place].block.accepts_piece(piece);
        let place = place.filter(takes).or(last.filter(takes));
        let place = place.or_else(|| {
            let block = AnswerBlock::for_piece(piece)?;
            self.push_block(index, block);
            self.blocks.len().checked_sub(1)
        });
        let Some(partial) = place.and_then(|place| self.blocks.get_mut(place)) else {
            return Err("arguments belong to a call that has not begun".to_owned().into());
        };
        self.bytes += piece.as_text().len();
        match (&mut partial.block, piece) {
            (AnswerBlock::Text { text }, BlockDelta::Text(more)) => {
                text.push_str(more);
                return Ok(piece_from_text(more.to_owned()));
            }
            (AnswerBlock::ToolUse { .. }, BlockDelta::Input(more)) => partial.json.push_str(more),
            (AnswerBlock::Thinking { thinking, .. }, BlockDelta::Thinking(more)) => {
                thinking.push_str(more);
                self.new_thought.push_str(more);
            }
            (AnswerBlock::Thinking { signature, .. }, BlockDelta::Signature(more)) => {
                signature.push_str(more);
            }
            _ => {}
        }
        Ok(if piece.as_text().is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Unseen })
    }
}

impl<'e> BlockDelta<'e> {
    /// Reads a piece; `None` for other changes.
    fn read(delta: &'e WireJson<'_>) -> Option<Self> {
        let text = |key: &str| delta.get(key).as_str();
        text("text")
            .map(Self::Text)
            .or_else(|| text("partial_json").map(Self::Input))
            .or_else(|| text("thinking").map(Self::Thinking))
            .or_else(|| text("signature").map(Self::Signature))
            .or_else(|| delta.as_str().map(Self::Text))
    }

    fn as_text(self) -> &'e str {
        match self {
            Self::Text(text) | Self::Input(text) | Self::Thinking(text) | Self::Signature(text) => {
                text
            }
        }
    }
}

fn piece_from_text(text: String) -> AnswerPiece {
    if text.is_empty() { AnswerPiece::KeepAlive } else { AnswerPiece::Text(text) }
}

/// Translates `stop_reason` (Anthropic API reference, "Handling stop reasons").
fn finish_from_stop_reason(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "tool_use" | "stop_sequence" | "pause_turn" => FinishReason::Complete,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Truncated,
        "refusal" => FinishReason::Filtered,
        _ => FinishReason::Unknown,
    }
}

impl AnthropicUsage {
    fn update_counts(&mut self, newer: &WireJson<'_>) {
        let counts = [
            (&mut self.input_tokens, "input_tokens"),
            (&mut self.cache_creation_input_tokens, "cache_creation_input_tokens"),
            (&mut self.cache_read_input_tokens, "cache_read_input_tokens"),
            (&mut self.output_tokens, "output_tokens"),
        ];
        for (count, key) in counts {
            *count = newer.get(key).read_count().or(*count);
        }
    }

    /// The total usage. Tokens that were read from or written to the cache count as input as well.
    fn total_usage(self) -> Usage {
        let input =
            [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        Usage {
            input: input.into_iter().flatten().fold(0, u64::saturating_add),
            output: self.output_tokens.unwrap_or_default(),
            cached: self.cache_read_input_tokens.unwrap_or_default(),
            cache_written: self.cache_creation_input_tokens.unwrap_or_default(),
        }
    }
}
