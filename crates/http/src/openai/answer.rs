//! The answer to a request, as the log has it after the turn.

use avocet_protocol::bus::ProgramCall;
use avocet_protocol::chat::Outcome;
use avocet_protocol::ids::MessageId;
use avocet_protocol::model::Usage;
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::AnswerEnding;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::error::OpenAiError;

/// The reason why an answer ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerEnd {
    /// It is complete.
    Stop,
    /// It reached its output limit.
    Length,
    /// A filter of the model's provider ended it.
    Filtered,
    /// The client has to run calls.
    Calls,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnAnswer {
    pub(crate) message: MessageId,
    pub(crate) outcome: Outcome,
    pub(crate) text: String,
    pub(crate) end: AnswerEnd,
    pub(crate) usage: Usage,
    pub(crate) calls: Vec<ProgramCall>,
}

impl TurnAnswer {
    /// Returns the answer of a message that has its outcome.
    ///
    /// # Errors
    /// The turn ended with an error, or without an answer.
    pub(crate) fn new(status: MessageStatus, outcome: Outcome) -> Result<Self, OpenAiError> {
        let MessageStatus { id, reply, ending, failed, failure, usage, calls, .. } = status;
        let reply = reply.unwrap_or_default();
        match outcome {
            Outcome::Error => return Err(OpenAiError::of_failure(failure.as_ref(), reply)),
            Outcome::Merged if failed => {
                return Err(OpenAiError::of_failure(failure.as_ref(), reply));
            }
            Outcome::Dropped => {
                let status = StatusCode::BAD_GATEWAY;
                return Err(OpenAiError::no_answer(status, "message_dropped", reply));
            }
            Outcome::Stopped => {
                let detail = "the turn was stopped before it had an answer".to_owned();
                return Err(OpenAiError::no_answer(StatusCode::CONFLICT, "turn_stopped", detail));
            }
            Outcome::Replied | Outcome::Merged => {}
        }
        let end = match ending {
            _ if !calls.is_empty() => AnswerEnd::Calls,
            AnswerEnding::Complete => AnswerEnd::Stop,
            AnswerEnding::CutOff => AnswerEnd::Length,
            AnswerEnding::Filtered => AnswerEnd::Filtered,
        };
        let text = ending.without_mark(&reply).to_owned();
        Ok(Self { message: id, outcome, text, end, usage: usage.unwrap_or_default(), calls })
    }

    /// Checks that the answer is JSON, if the request asked for JSON, and removes a code fence.
    ///
    /// # Errors
    /// The answer is not JSON.
    pub(crate) fn in_json(self, wants_json: bool) -> Result<Self, OpenAiError> {
        if !wants_json || self.end != AnswerEnd::Stop {
            return Ok(self);
        }
        let text = without_fence(&self.text);
        match serde_json::from_str::<Value>(text) {
            Ok(_) => Ok(Self { text: text.to_owned(), ..self }),
            Err(error) => Err(OpenAiError::no_answer(
                StatusCode::BAD_GATEWAY,
                "invalid_answer",
                format!("the model did not answer in JSON ({error}): {}", self.text),
            )),
        }
    }

    /// The tokens in the form of Chat Completions.
    pub(crate) fn chat_usage(&self) -> Value {
        let Usage { input, output, cached, .. } = self.usage;
        json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": self.usage.total(),
            "prompt_tokens_details": { "cached_tokens": cached, "audio_tokens": 0 },
            "completion_tokens_details": { "reasoning_tokens": 0, "audio_tokens": 0 },
        })
    }

    /// The tokens in the form of Responses.
    pub(crate) fn response_usage(&self) -> Value {
        let Usage { input, output, cached, .. } = self.usage;
        json!({
            "input_tokens": input, "output_tokens": output, "total_tokens": self.usage.total(),
            "input_tokens_details": { "cached_tokens": cached },
            "output_tokens_details": { "reasoning_tokens": 0 },
        })
    }
}

/// Returns the content of a code fence around the whole text; another text unchanged.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, inside)| inside.trim())
}

#[cfg(test)]
mod tests {
    use avocet_protocol::turn::{CUT_OFF, FILTERED, FailureCode, TurnFailure};

    use super::*;

    fn status(reply: &str) -> MessageStatus {
        MessageStatus {
            id: MessageId(1),
            session: "terminal:local:a".parse().unwrap(),
            turn: None,
            outcome: None,
            reply: Some(reply.to_owned()),
            ending: AnswerEnding::Complete,
            failed: false,
            failure: None,
            received_at: None,
            usage: Some(Usage::new(3, 4)),
            calls: Vec::new(),
        }
    }

    #[test]
    fn turn_answer_is_an_error_if_the_turn_has_none() {
        let failed = MessageStatus { failed: true, ..status("why") };
        let table = [
            (status("why"), Outcome::Error, 502, "turn_failed"),
            (failed, Outcome::Merged, 502, "turn_failed"),
            (status("why"), Outcome::Dropped, 502, "message_dropped"),
            (status(""), Outcome::Stopped, 409, "turn_stopped"),
        ];
        for (status, outcome, code, name) in table {
            let error = TurnAnswer::new(status, outcome).unwrap_err();
            assert_eq!(error.to_json()["error"]["code"], name);
            let detail = error.detail().to_owned();
            let response = axum::response::IntoResponse::into_response(error);
            assert_eq!(response.status().as_u16(), code, "{detail}");
            assert_eq!(response.headers()["x-should-retry"], "false");
        }
        assert!(TurnAnswer::new(status("hi"), Outcome::Merged).is_ok());
    }

    #[test]
    fn turn_answer_of_a_failed_model_has_the_status_of_its_provider() {
        let of = |code, status, seconds| TurnFailure {
            code,
            model: Some("a/b".to_owned()),
            status,
            retry_after_seconds: seconds,
        };
        let table = [
            (of(FailureCode::RateLimited, Some(429), Some(7)), 429, "rate_limit_exceeded"),
            (of(FailureCode::Quota, Some(402), None), 402, "insufficient_quota"),
            (of(FailureCode::Quota, Some(429), None), 429, "insufficient_quota"),
            (of(FailureCode::KeyRefused, Some(401), None), 502, "turn_failed"),
            (of(FailureCode::KeyRefused, Some(403), None), 502, "turn_failed"),
            (of(FailureCode::ContextTooLong, Some(413), None), 400, "context_length_exceeded"),
            (of(FailureCode::Unavailable, Some(500), None), 503, "unavailable"),
            (of(FailureCode::Unavailable, None, Some(2)), 503, "unavailable"),
            (of(FailureCode::TimedOut, None, None), 504, "timed_out"),
            (of(FailureCode::BadAnswer, None, None), 502, "turn_failed"),
            (of(FailureCode::RefusedByFilter, None, None), 400, "content_filter"),
            (of(FailureCode::Refused, Some(404), None), 502, "turn_failed"),
            (FailureCode::LimitReached.into(), 502, "turn_failed"),
            (FailureCode::Internal.into(), 502, "turn_failed"),
        ];
        for (failure, expected, name) in table {
            let wait = failure.retry_after_seconds.map(|seconds| seconds.to_string());
            let status = MessageStatus { failure: Some(failure.clone()), ..status("why") };
            let error = TurnAnswer::new(status, Outcome::Error).unwrap_err();
            assert_eq!(error.to_json()["error"]["code"], name, "{failure:?}");
            let response = axum::response::IntoResponse::into_response(error);
            assert_eq!(response.status().as_u16(), expected, "{failure:?}");
            let asked = response.headers().get("retry-after").map(|value| value.to_str().unwrap());
            assert_eq!(asked, wait.as_deref(), "{failure:?}");
        }
    }

    #[test]
    fn turn_answer_tells_where_the_text_was_cut() {
        let table = [
            ("whole".to_owned(), AnswerEnding::Complete, "whole", AnswerEnd::Stop),
            (format!("half\n\n{CUT_OFF}"), AnswerEnding::CutOff, "half", AnswerEnd::Length),
            (format!("half\n\n{FILTERED}"), AnswerEnding::Filtered, "half", AnswerEnd::Filtered),
            // The model wrote this text itself.
            (CUT_OFF.to_owned(), AnswerEnding::Complete, CUT_OFF, AnswerEnd::Stop),
        ];
        for (reply, ending, text, end) in table {
            let status = MessageStatus { ending, ..status(&reply) };
            let answer = TurnAnswer::new(status, Outcome::Replied).unwrap();
            assert_eq!((answer.text.as_str(), answer.end), (text, end), "{reply}");
        }
    }

    #[test]
    fn turn_answer_in_json_loses_its_fence_or_is_an_error() {
        let answer = |reply: &str| TurnAnswer::new(status(reply), Outcome::Replied).unwrap();
        let fenced = answer("```json\n{\"a\": 1}\n```").in_json(true).unwrap();
        assert_eq!(fenced.text, "{\"a\": 1}");
        let error = answer("no").in_json(true).unwrap_err();
        assert!(error.detail().contains("did not answer in JSON"), "{error:?}");
        assert_eq!(answer("no").in_json(false).unwrap().text, "no");
    }
}
