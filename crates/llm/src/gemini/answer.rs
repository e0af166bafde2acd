//! Builds an answer from the chunks of its stream (Gemini API reference,
//! "GenerateContentResponse"), or from a complete body of a server without streaming.

use std::time::Duration;

use avocet_protocol::{ToolCall, Usage, plain_json};
use serde::Deserialize;
use serde_json::Value;

use super::signatures::Signatures;
use crate::detail::error_message;
use crate::dialects::given_arguments;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::finish::Finish;

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct GeminiAnswer {
    text: String,
    calls: Vec<FunctionCall>,
    signatures: Signatures,
    /// Bytes of reasoning.
    thought: u64,
    usage: GeminiUsage,
    end: Option<GeminiFinish>,
    blocked: Option<String>,
    bytes: usize,
}

/// The finish reason and its explanation.
#[derive(Debug)]
struct GeminiFinish {
    reason: String,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GeminiChunk {
    candidates: Vec<Candidate>,
    prompt_feedback: PromptFeedback,
    usage_metadata: Option<GeminiUsage>,
    error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Candidate {
    content: CandidateContent,
    finish_reason: Option<String>,
    finish_message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CandidateContent {
    parts: Vec<CandidatePart>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CandidatePart {
    text: Option<String>,
    /// `true` if the text is a summary of the reasoning.
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionCall {
    name: String,
    /// An object; a string on some compatible servers.
    args: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PromptFeedback {
    block_reason: Option<String>,
}

/// Token counts. Each chunk has the totals so far.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GeminiUsage {
    prompt_token_count: u64,
    tool_use_prompt_token_count: u64,
    cached_content_token_count: u64,
    candidates_token_count: u64,
    thoughts_token_count: u64,
}

impl StreamedAnswer for GeminiAnswer {
    /// Old models send a finish reason with every chunk, so only the end of the stream ends the
    /// answer.
    const FAREWELL: Duration = Duration::MAX;

    fn take(&mut self, data: &str) -> Result<AnswerPiece, AnswerError> {
        let chunk: GeminiChunk = serde_json::from_str(data).map_err(|error| {
            format!("an event is not a chunk of an answer ({})", plain_json(&error))
        })?;
        if let Some(error) = chunk.error {
            let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            let whole = serde_json::json!({ "error": error });
            let (status, _) = Self::refusal(status.unwrap_or(500), &whole);
            return Err(AnswerError::Status(
                status,
                error_message(&whole).unwrap_or_default().to_owned(),
            ));
        }
        self.usage = chunk.usage_metadata.unwrap_or(std::mem::take(&mut self.usage));
        self.blocked = chunk.prompt_feedback.block_reason.or(self.blocked.take());
        let Some(candidate) = chunk.candidates.into_iter().next() else {
            return Ok(AnswerPiece::KeepAlive);
        };
        let mut is_alive = false;
        if let Some(reason) = candidate.finish_reason {
            is_alive = true;
            self.end = Some(GeminiFinish { reason, message: candidate.finish_message });
        }
        let before = self.text.len();
        for part in candidate.content.parts {
            is_alive |= self.add(part);
        }
        Ok(match &self.text[before..] {
            "" if is_alive => AnswerPiece::Unseen,
            "" => AnswerPiece::KeepAlive,
            more => AnswerPiece::Text(more.to_owned()),
        })
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn cut(&mut self) {
        self.end = Some(GeminiFinish { reason: "MAX_TOKENS".to_owned(), message: String::new() });
    }

    fn finish(self) -> Result<CompleteAnswer, AnswerError> {
        let is_empty = self.text.is_empty() && self.calls.is_empty();
        if let Some(reason) = self.blocked.filter(|_| is_empty) {
            return Err(AnswerError::Declined(format!(
                "the model refuses to read this ({reason})"
            )));
        }
        let Some(GeminiFinish { reason, message }) = self.end else {
            return Err("the stream ended before the answer did".to_owned().into());
        };
        let ended = finish(&reason).ended(&reason, &message, is_empty)?;
        let call = |FunctionCall { name, args }| ToolCall {
            name,
            arguments: given_arguments(&args, ended.text_end()),
        };
        Ok(CompleteAnswer {
            text: self.text,
            calls: self.calls.into_iter().map(call).collect(),
            reasoning: self.signatures.kept(),
            thought: self.thought,
            usage: self.usage.total(),
            cost: None,
            truncated: ended.truncated,
            filtered: ended.filtered,
        })
    }

    /// Reads one chunk, or a list of all chunks from a server without event streams.
    fn take_whole(&mut self, body: &str) -> Result<(), AnswerError> {
        match serde_json::from_str(body) {
            Ok(Value::Array(chunks)) => {
                for chunk in chunks {
                    self.take(&chunk.to_string())?;
                }
                Ok(())
            }
            _ => self.take(body).map(drop),
        }
    }

    /// Google reports a wrong key as a bad argument, and the retry delay in the body. A used-up
    /// daily quota, recognised by the name of the limit, counts as missing credit instead of busy.
    fn refusal(status: u16, error: &Value) -> (u16, Option<Duration>) {
        let details = error["error"]["details"].as_array().map_or(&[][..], Vec::as_slice);
        let is_key = details.iter().any(|detail| detail["reason"] == "API_KEY_INVALID")
            || error_message(error).is_some_and(|says| says.starts_with("API key"));
        let limits = details.iter().filter_map(|detail| detail["violations"].as_array()).flatten();
        let mut limits = limits.filter_map(|limit| limit["quotaId"].as_str());
        let status = match status {
            400 if is_key => 401,
            429 if limits.any(|limit| limit.contains("PerDay")) => 402,
            other => other,
        };
        let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str());
        (status, delay.and_then(seconds))
    }
}

impl GeminiAnswer {
    /// Adds a part. Returns `true` if it contains some of the answer.
    fn add(&mut self, part: CandidatePart) -> bool {
        let CandidatePart { text, thought, thought_signature, function_call } = part;
        self.bytes += thought_signature.as_ref().map_or(0, String::len);
        if let Some(call) = function_call {
            self.bytes += ITEM + call.name.len() + call.args.to_string().len();
            self.calls.push(call);
            self.signatures.calls.push(thought_signature);
            return true;
        }
        self.signatures.text = thought_signature.or(self.signatures.text.take());
        let text = text.unwrap_or_default();
        self.bytes += text.len();
        if thought {
            self.thought += text.len() as u64;
        } else {
            self.text.push_str(&text);
        }
        !text.is_empty()
    }
}

/// Translates `finishReason` (Gemini API reference, "FinishReason").
fn finish(reason: &str) -> Finish {
    match reason {
        "STOP" => Finish::Complete,
        "MAX_TOKENS" => Finish::Truncated,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::Filtered,
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS" => Finish::Failed,
        _ => Finish::Unknown,
    }
}

/// Parses a duration of the API: `34.07s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

impl GeminiUsage {
    /// The total usage. The prompt count includes cached tokens; the candidates count excludes
    /// reasoning, so it is added.
    fn total(self) -> Usage {
        Usage {
            cached: self.cached_content_token_count,
            ..Usage::new(
                self.prompt_token_count.saturating_add(self.tool_use_prompt_token_count),
                self.candidates_token_count.saturating_add(self.thoughts_token_count),
            )
        }
    }
}
