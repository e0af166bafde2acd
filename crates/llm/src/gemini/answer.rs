//! Builds an answer from the chunks of its stream (Gemini API reference,
//! "GenerateContentResponse"), or from a complete body of a server without streaming. Every field is
//! optional: see [`WireJson`].

use std::time::Duration;

use avocet_protocol::model::{ToolCall, Usage};
use serde_json::{Value, json};

use super::signatures::AnswerSignatures;
use crate::detail::error_message;
use crate::dialects::given_arguments;
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, ITEM, StreamedAnswer};
use crate::finish::{FinishFlags, FinishReason};
use crate::openai::codes;
use crate::wire_json::WireJson;

/// The part of an answer that has arrived.
#[derive(Debug, Default)]
pub(crate) struct GeminiAnswer {
    text: String,
    calls: Vec<FunctionCall>,
    signatures: AnswerSignatures,
    /// Bytes of reasoning.
    thought: u64,
    /// The reasoning that was not taken for display yet.
    new_thought: String,
    usage: GeminiUsage,
    end: Option<GeminiFinish>,
    /// `true` once the server has said that nothing follows, with or without a finish reason.
    is_over: bool,
    blocked: Option<String>,
    bytes: usize,
}

/// The finish reason and its explanation.
#[derive(Debug)]
struct GeminiFinish {
    reason: String,
    message: String,
}

#[derive(Debug)]
struct FunctionCall {
    name: String,
    /// An object; a string on some compatible servers.
    args: Value,
}

/// Token counts. Each chunk has the totals so far.
#[derive(Debug, Default)]
struct GeminiUsage {
    prompt: u64,
    tool_use_prompt: u64,
    cached: u64,
    candidates: u64,
    thoughts: u64,
}

impl StreamedAnswer for GeminiAnswer {
    /// Old models send a finish reason with every chunk, so only the end of the stream ends the
    /// answer.
    const FAREWELL: Duration = Duration::MAX;

    fn take_event(&mut self, chunk: &WireJson<'_>) -> Result<AnswerPiece, AnswerError> {
        self.usage.update_counts(chunk.get("usageMetadata"));
        let blocked = chunk.get("promptFeedback").get("blockReason").as_str();
        if let Some(reason) = blocked.filter(|reason| !reason.is_empty()) {
            self.blocked = Some(reason.to_owned());
        }
        let mut candidates = chunk.get("candidates").read_list().iter();
        let Some(candidate) = candidates.find(|candidate| is_first_candidate(candidate)) else {
            return Ok(AnswerPiece::KeepAlive);
        };
        let mut is_alive = false;
        if let Some(reason) = candidate.get("finishReason").read_reason() {
            is_alive = true;
            let message = candidate.get("finishMessage").as_str().unwrap_or_default().to_owned();
            self.end = Some(GeminiFinish { reason: reason.into_owned(), message });
        }
        let before = self.text.len();
        let content = candidate.get("content");
        let parts = if content.is_object() { content.get("parts") } else { content };
        for part in parts.read_list() {
            is_alive |= self.add_part(part);
        }
        Ok(match &self.text[before..] {
            "" if is_alive => AnswerPiece::Unseen,
            "" => AnswerPiece::KeepAlive,
            more => AnswerPiece::Text(more.to_owned()),
        })
    }

    fn take_thought(&mut self) -> String {
        std::mem::take(&mut self.new_thought)
    }

    fn end_answer(&mut self) {
        self.is_over = true;
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn kept_bytes(&self) -> usize {
        self.bytes
    }

    fn cut_answer(&mut self) {
        self.end = Some(GeminiFinish { reason: "MAX_TOKENS".to_owned(), message: String::new() });
    }

    fn finish_answer(self) -> Result<CompleteAnswer, AnswerError> {
        let is_empty = self.text.is_empty() && self.calls.is_empty();
        if let Some(reason) = self.blocked.filter(|_| is_empty) {
            return Err(AnswerError::Declined(format!(
                "the model refuses to read this ({reason})"
            )));
        }
        let ended = match self.end {
            Some(GeminiFinish { reason, message }) => {
                finish_from_reason(&reason).evaluate_answer(&reason, &message, is_empty)?
            }
            None if self.is_over && !is_empty => FinishFlags::default(),
            None => return Err("the stream ended before the answer did".to_owned().into()),
        };
        let call = |FunctionCall { name, args }| ToolCall {
            name,
            arguments: given_arguments(&args, ended.text_end()),
        };
        Ok(CompleteAnswer {
            text: self.text,
            calls: self.calls.into_iter().map(call).collect(),
            reasoning: self.signatures.to_stored(),
            thought: self.thought,
            usage: self.usage.total_usage(),
            cost: None,
            truncated: ended.truncated,
            filtered: ended.filtered,
        })
    }

    fn error_status(error: &Value) -> Option<u16> {
        let status = codes::of_error(error).unwrap_or(500);
        Some(Self::refusal_status(status, &json!({ "error": error })).0)
    }

    /// Google reports a wrong key as a bad argument, and the retry delay in the body. A used-up
    /// daily quota, recognised by the name of the limit, counts as missing credit instead of busy.
    fn refusal_status(status: u16, error: &Value) -> (u16, Option<Duration>) {
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
        (status, delay.and_then(parse_seconds))
    }
}

impl GeminiAnswer {
    /// Adds a part. Returns `true` if it contains some of the answer.
    fn add_part(&mut self, part: &WireJson<'_>) -> bool {
        let signature = part.get("thoughtSignature").as_str().map(str::to_owned);
        self.bytes += signature.as_ref().map_or(0, String::len);
        let call = part.get("functionCall");
        if let Some(name) = call.get("name").as_str().filter(|name| !name.is_empty()) {
            let call = FunctionCall { name: name.to_owned(), args: call.get("args").to_value() };
            self.bytes += ITEM + call.name.len() + call.args.to_string().len();
            self.calls.push(call);
            self.signatures.calls.push(signature);
            return true;
        }
        self.signatures.text = signature.or(self.signatures.text.take());
        let text = part.get("text").read_text().or_else(|| part.read_text()).unwrap_or_default();
        self.bytes += text.len();
        if part.get("thought").is_true() {
            self.thought += text.len() as u64;
            self.new_thought.push_str(&text);
        } else {
            self.text.push_str(&text);
        }
        !text.is_empty()
    }
}

/// Returns `true` for the candidate that is the answer. Others are other answers.
fn is_first_candidate(candidate: &WireJson<'_>) -> bool {
    candidate.is_object() && candidate.get("index").read_count().unwrap_or_default() == 0
}

/// Translates `finishReason` (Gemini API reference, "FinishReason"), by its name or its number.
fn finish_from_reason(reason: &str) -> FinishReason {
    match reason {
        "STOP" | "stop" | "1" => FinishReason::Complete,
        "MAX_TOKENS" | "2" => FinishReason::Truncated,
        "SAFETY"
        | "3"
        | "RECITATION"
        | "4"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::Filtered,
        "MALFORMED_FUNCTION_CALL"
        | "MALFORMED_RESPONSE"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS" => FinishReason::Failed,
        _ => FinishReason::Unknown,
    }
}

/// Parses a duration of the API: `34.07s`.
fn parse_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

impl GeminiUsage {
    /// Reads the counts. One that cannot be read leaves the one before it.
    fn update_counts(&mut self, newer: &WireJson<'_>) {
        let counts = [
            (&mut self.prompt, "promptTokenCount"),
            (&mut self.tool_use_prompt, "toolUsePromptTokenCount"),
            (&mut self.cached, "cachedContentTokenCount"),
            (&mut self.candidates, "candidatesTokenCount"),
            (&mut self.thoughts, "thoughtsTokenCount"),
        ];
        for (count, key) in counts {
            *count = newer.get(key).read_count().unwrap_or(*count);
        }
    }

    /// The total usage. The prompt count includes cached tokens; the candidates count excludes
    /// reasoning, so it is added.
    fn total_usage(self) -> Usage {
        Usage {
            cached: self.cached,
            ..Usage::new(
                self.prompt.saturating_add(self.tool_use_prompt),
                self.candidates.saturating_add(self.thoughts),
            )
        }
    }
}
