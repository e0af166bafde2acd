//! What a refusal means, in whatever words it comes, and who can do something about it.

use std::time::Duration;

use avocet_net::HttpResponse;
use avocet_protocol::ModelError;
use serde_json::Value;

use super::{Answer, Endpoint};
use crate::detail::says;
use crate::openai::codes;

/// Bytes of a refusal that are read. A few hundred of them are shown.
const MAX_REFUSAL: usize = 64 * 1024;

impl Endpoint {
    /// What an answer other than 200 means.
    pub(super) async fn refusal<A: Answer>(&self, response: HttpResponse) -> ModelError {
        let (status, retry_after) = (response.status(), response.retry_after());
        let body = response.text(MAX_REFUSAL).await.unwrap_or_default();
        let error = serde_json::from_str::<Value>(&body).unwrap_or_default();
        let says = says(&error).unwrap_or(&body);
        let (code, kind) = (&error["error"]["code"], &error["error"]["type"]);
        let code = code.as_str().or(kind.as_str()).unwrap_or_default();
        let (status, asked) = A::refusal(status, &error);
        self.refused(status, code, says, asked.or(retry_after))
    }

    /// What a refusal means, and who can do something about it.
    pub(super) fn refused(
        &self,
        status: u16,
        code: &str,
        says: &str,
        retry_after: Option<Duration>,
    ) -> ModelError {
        let detail = self.clean(&format!("{status}: {}", says.trim()));
        let model = self.name.clone();
        let lasting = is_lasting(status, code, says);
        match status {
            401 | 403 => ModelError::Unauthorized { model, detail },
            413 => ModelError::TooLong { model, detail, window: None },
            _ if lasting => ModelError::Refused { model, detail, lasting },
            // So do some servers answer whom OpenAI would have answered with 400.
            500 if is_about_length(says, code) && exceeds(says, code) => {
                ModelError::TooLong { model, detail, window: None }
            }
            408 | 409 | 425 | 429 | 500.. => ModelError::Busy { model, detail, retry_after },
            _ if is_about_length(says, code) => ModelError::TooLong { model, detail, window: None },
            _ => ModelError::Refused { model, detail, lasting },
        }
    }
}

/// Whether any other request would be refused too: there is no such model, or no money for it (which
/// Anthropic says with 400). OpenRouter also says 404 where none of its endpoints can do what this one
/// request wants.
fn is_lasting(status: u16, code: &str, says: &str) -> bool {
    match status {
        402 => true,
        404 => !says.contains("No endpoints found that support"),
        429 => codes::status(code) == Some(402),
        400 => says.contains("credit balance is too low"),
        _ => false,
    }
}

/// What a request that is too long is called in words.
const TOO_LONG: [&str; 2] = ["context_length_exceeded", "exceed_context_size_error"];

/// Whether an error that speaks of length says that there is too much: a server may also fail to make
/// room for a context.
fn exceeds(says: &str, code: &str) -> bool {
    TOO_LONG.contains(&code) || says.to_lowercase().contains("exceed")
}

/// Whether a refusal speaks of the context's length, in the words of OpenAI, vLLM, llama.cpp,
/// Ollama, LM Studio, OpenRouter, Anthropic and Gemini.
fn is_about_length(says: &str, code: &str) -> bool {
    const WORDS: [&str; 9] = [
        "context length",
        "context window",
        "context size",
        "maximum context",
        "too many tokens",
        "prompt is too long",
        "exceed context limit",
        "exceeds the maximum number of tokens",
        "payload size exceeds",
    ];
    let says = says.to_lowercase();
    TOO_LONG.contains(&code) || WORDS.iter().any(|words| says.contains(words))
}

#[cfg(test)]
#[path = "refusal_tests.rs"]
mod tests;
