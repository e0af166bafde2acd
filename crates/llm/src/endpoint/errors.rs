//! Turns errors of all providers into [`ModelError`]: of the network, of a response, and of a begun
//! answer. The variant shows the remedy, such as a retry, a shorter request or another key.

use std::time::Duration;

use avocet_net::{HttpResponse, NetError};
use avocet_protocol::model::{ModelError, ModelErrorDetail, decode_json};
use serde_json::Value;

use super::length::close_json;
use super::{AnswerError, ModelEndpoint, StreamedAnswer, wait, window};
use crate::detail::{clean_detail, error_text};
use crate::openai::codes;

/// Bytes of an error response that are read. A few hundred of them are shown.
const MAX_REFUSAL: usize = 64 * 1024;

#[derive(Debug, Clone, Copy)]
struct RequestRefusal<'r> {
    status: u16,
    code: &'r str,
    /// The message.
    says: &'r str,
    retry_after: Option<Duration>,
    /// The whole body as JSON; null if there is none.
    error: &'r Value,
}

impl ModelEndpoint {
    /// Turns a response with a status other than 200 into an error.
    pub(super) async fn error_from_response<A: StreamedAnswer>(
        &self,
        response: HttpResponse,
    ) -> ModelError {
        let (status, retry_after) = (response.status(), response.retry_after());
        let body = response.read_text(MAX_REFUSAL).await.unwrap_or_default();
        // A long body is cut.
        let error = decode_json::<Value>(body.as_bytes());
        let error =
            error.or_else(|_| decode_json(close_json(&body).as_bytes())).unwrap_or_default();
        // Google wraps an error in a list.
        let error = if error.is_array() { error[0].clone() } else { error };
        let says = error_text(&error, &body);
        let (code, kind) = (&error["error"]["code"], &error["error"]["type"]);
        let code = code.as_str().or(kind.as_str()).unwrap_or_default();
        let (status, asked) = A::refusal_status(status, &error);
        let retry_after = asked.or(retry_after);
        self.error_from_refusal(&RequestRefusal {
            status,
            code,
            says: &says,
            retry_after,
            error: &error,
        })
    }

    /// Turns a status, an error code and a message into an error.
    fn error_from_refusal(&self, refusal: &RequestRefusal<'_>) -> ModelError {
        let RequestRefusal { status, code, says, retry_after, error } = *refusal;
        let detail = match says.trim() {
            _ if (300..400).contains(&status) => {
                "the server redirects to another address; correct base_url".to_owned()
            }
            says => self.clean_text(says),
        };
        let detail = ModelErrorDetail::with_status(status, detail);
        let model = self.name.clone();
        let lasting = is_lasting(status, code, says);
        let window = || {
            let window = window::window_in_error(says, error);
            window.inspect(|tokens| self.window.learn_window(*tokens))
        };
        let retry_after =
            retry_after.or_else(|| wait::parse_waiting_time(says).filter(|_| status == 429));
        match status {
            401 | 403 => ModelError::Unauthorized { model, detail },
            413 => ModelError::TooLong { model, detail, window: window() },
            _ if lasting => ModelError::Refused { model, detail, lasting },
            // Some servers answer 500 instead of OpenAI's 400.
            500 if is_about_length(says, code) && is_request_too_long(says, code) => {
                ModelError::TooLong { model, detail, window: window() }
            }
            408 | 409 | 425 | 429 | 500.. => ModelError::Busy { model, detail, retry_after },
            _ if is_about_length(says, code) => {
                ModelError::TooLong { model, detail, window: window() }
            }
            _ => ModelError::Refused { model, detail, lasting },
        }
    }

    /// Turns a failure before the response into a [`ModelError`].
    pub(super) fn error_without_response(&self, error: NetError) -> ModelError {
        match error {
            NetError::Broken(detail) => self.bad_answer(detail),
            error @ NetError::TooLong(_) => self.broken_answer(&error),
            NetError::Invalid(detail) | NetError::Connect(detail) => ModelError::Unreachable {
                model: self.name.clone(),
                detail: self.clean_text(&detail).into(),
            },
        }
    }

    /// Turns a failure of a begun answer into a [`ModelError`].
    pub(super) fn error_from_answer(&self, error: AnswerError) -> ModelError {
        match error {
            // Without a status, the words decide.
            AnswerError::Unreadable(detail) if is_too_long(&detail) => {
                self.error_from_refusal(&RequestRefusal {
                    status: 413,
                    code: "",
                    says: &detail,
                    retry_after: None,
                    error: &Value::Null,
                })
            }
            AnswerError::Unreadable(detail) => self.bad_answer(detail),
            AnswerError::Status(status, says) => self.error_from_refusal(&RequestRefusal {
                status,
                code: "",
                says: &says,
                retry_after: None,
                error: &Value::Null,
            }),
            AnswerError::Declined(detail) => {
                let (model, detail) = (self.name.clone(), self.clean_text(&detail).into());
                ModelError::Refused { model, detail, lasting: false }
            }
        }
    }

    pub(super) fn bad_answer(&self, detail: impl AsRef<str>) -> ModelError {
        ModelError::BadAnswer {
            model: self.name.clone(),
            detail: self.clean_text(detail.as_ref()).into(),
        }
    }

    pub(super) fn broken_answer(&self, error: &NetError) -> ModelError {
        self.bad_answer(error.to_string())
    }

    fn clean_text(&self, text: &str) -> String {
        clean_detail(&self.http.redact_headers(text), self.keys.all_keys())
    }
}

/// Returns `true` if any other request would be refused too: the model is missing, or the credit is
/// used up (Anthropic reports that with 400). A 404 may also be about this one request: none of
/// OpenRouter's endpoints supports one of its features, or OpenAI does not know one of its items.
fn is_lasting(status: u16, code: &str, says: &str) -> bool {
    match status {
        300..400 | 402 => true,
        404 => !ONE_REQUEST.iter().any(|words| says.contains(words)),
        429 => codes::status_of_code(code) == Some(402),
        400 => says.contains("credit balance is too low"),
        _ => false,
    }
}

/// Words of a 404 that is about one request.
const ONE_REQUEST: [&str; 2] = ["No endpoints found that support", "Item with id"];

/// Error codes for a request that is too long.
const TOO_LONG: [&str; 4] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "tokens_limit_reached",
];

/// Returns `true` if an error about length reports that the request is too long. A server may also
/// fail to allocate memory for a context.
fn is_request_too_long(says: &str, code: &str) -> bool {
    TOO_LONG.contains(&code) || says.to_lowercase().contains("exceed")
}

/// Returns `true` if an error without a status reports that the request is too long.
fn is_too_long(says: &str) -> bool {
    let words = says.to_lowercase();
    is_about_length(says, "") && !words.contains("alloc") && !words.contains("memory")
}

/// Returns `true` if a refusal is about the context length, in the wording of OpenAI, vLLM,
/// llama.cpp, Ollama, LM Studio, OpenRouter, Anthropic, Gemini, Bedrock, Copilot, Doubao, Ernie, GLM,
/// Kimi, Qwen, SiliconFlow and TGI.
fn is_about_length(says: &str, code: &str) -> bool {
    const WORDS: [&str; 22] = [
        "context length",
        "context window",
        "context size",
        "maximum context",
        "maximum prompt length",
        "context the overflows",
        "too many tokens",
        "prompt is too long",
        "exceed context limit",
        "exceeds the maximum number of tokens",
        "payload size exceeds",
        "input is too long",
        "input length should be",
        "exceeded model token limit",
        "prompt exceeds max length",
        "prompt token count of",
        "prompt tokens too long",
        "exceed max message tokens",
        "less than max_seq_len",
        "`max_new_tokens` must be",
        "reduce the length of the messages",
        "input tokens exceed",
    ];
    let says = says.to_lowercase();
    TOO_LONG.contains(&code) || WORDS.iter().any(|words| says.contains(words))
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
