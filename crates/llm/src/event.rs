//! Decodes the events of a stream for the readers of all wires, and finds errors among them.
//!
//! An event is parsed once. Text that is no JSON is a sign of life. JSON with the faults that
//! [`decode_json`] repairs is read in a second pass. Several values in one event count as several
//! events.
//!
//! # Halves of characters
//!
//! A server that cuts its text by UTF-16 units sends an emoji as `\ud83d` at the end of one piece
//! and `\ude00` at the start of the next. Each half alone is invalid JSON. The readers of the wires
//! know nothing of this: an event that ends a string in a first half is held until the next event,
//! and the joined character moves to its string. A half without its other half becomes U+FFFD. The
//! pieces of one text are recognised by their place in the event: the keys that lead to the string.

mod halves;

use std::borrow::Cow;

use avocet_protocol::model::decode_json;
use avocet_text::plain_json;
use serde_json::Value;

use crate::detail::error_message;
use crate::endpoint::{AnswerError, AnswerPiece, StreamedAnswer};
use crate::wire_json::WireJson;
use halves::HalfJoiner;

/// Fields that only an answer has.
const ANSWER_FIELDS: [&str; 14] = [
    "candidates",
    "choices",
    "content",
    "content_block",
    "delta",
    "done",
    "item",
    "output",
    "promptFeedback",
    "response",
    "text",
    "usage",
    "usageMetadata",
    "end",
];

/// Decodes the events of one answer.
#[derive(Debug, Default)]
pub(crate) struct EventDecoder {
    joiner: HalfJoiner,
}

/// The sum of the pieces of some events.
#[derive(Debug, Default)]
struct PieceSum {
    text: String,
    is_unseen: bool,
    is_end: bool,
}

/// The result of the events in one text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TakenEvents {
    pub(crate) piece: AnswerPiece,
    /// `true` if the answer ends after the piece.
    pub(crate) is_end: bool,
}

impl EventDecoder {
    /// Passes the data of an event on to an answer. `is_error` marks an event that its stream calls
    /// an error.
    ///
    /// # Errors
    /// The error of the event, or of a piece of JSON that cannot be read: some of the answer is
    /// missing then.
    pub(crate) fn take_data<A: StreamedAnswer>(
        &mut self,
        answer: &mut A,
        data: &str,
        is_error: bool,
    ) -> Result<TakenEvents, AnswerError> {
        let mut sum = PieceSum::default();
        if !data.trim_start_matches(['\u{feff}', ' ', '\n', '\t']).starts_with(['{', '[']) {
            return if is_error {
                Err(read_error::<A>(&Value::from(data)))
            } else {
                sum.into_events()
            };
        }
        match WireJson::parse_text(data) {
            Ok(event) if self.joiner.is_idle() => sum.take_event(answer, &event, is_error)?,
            Ok(event) => {
                for event in self.joiner.push(event.to_value().into()) {
                    sum.take_event(answer, &event, is_error)?;
                }
            }
            Err(error) => {
                let values = repair_json(data).ok_or_else(|| {
                    format!("an event is no part of an answer ({})", plain_json(&error))
                })?;
                for value in values {
                    for event in self.joiner.push(value.into()) {
                        sum.take_event(answer, &event, is_error)?;
                    }
                }
            }
        }
        sum.into_events()
    }

    /// Passes on the events that wait for the other half of a character.
    ///
    /// # Errors
    /// As for [`Self::take_data`].
    pub(crate) fn release_held<A: StreamedAnswer>(
        &mut self,
        answer: &mut A,
    ) -> Result<TakenEvents, AnswerError> {
        let mut sum = PieceSum::default();
        for event in self.joiner.release_held() {
            sum.take_event(answer, &event, false)?;
        }
        sum.into_events()
    }
}

/// Reads JSON with faults: lone halves of characters, and those that [`decode_json`] repairs. Or
/// several values in one text. `None` if nothing can be read.
fn repair_json(data: &str) -> Option<Vec<Value>> {
    if let Ok(value) = decode_json(halves::mark_halves(data).as_bytes()) {
        return Some(vec![value]);
    }
    let several = serde_json::Deserializer::from_str(data).into_iter::<Value>();
    let several: Vec<Value> = several.map_while(Result::ok).collect();
    if several.len() > 1 {
        return Some(several);
    }
    let lines = data.lines().filter(|line| line.trim_start().starts_with('{'));
    let lines: Option<Vec<Value>> =
        lines.map(|line| decode_json(halves::mark_halves(line).as_bytes()).ok()).collect();
    lines.filter(|lines| !lines.is_empty())
}

impl PieceSum {
    fn take_event<A: StreamedAnswer>(
        &mut self,
        answer: &mut A,
        event: &WireJson<'_>,
        is_error: bool,
    ) -> Result<(), AnswerError> {
        for event in event.read_list().iter().filter(|event| event.is_object()) {
            if let Some(error) = find_error(event, is_error) {
                return Err(read_error::<A>(&error.to_value()));
            }
            match answer.take_event(event)? {
                AnswerPiece::Text(text) if self.text.is_empty() => self.text = text,
                AnswerPiece::Text(text) => self.text.push_str(&text),
                AnswerPiece::End => self.is_end = true,
                AnswerPiece::Unseen => self.is_unseen = true,
                AnswerPiece::KeepAlive => {}
            }
        }
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the last step of functions that can fail")]
    fn into_events(self) -> Result<TakenEvents, AnswerError> {
        let Self { text, is_unseen, is_end } = self;
        let piece = match () {
            () if !text.is_empty() => AnswerPiece::Text(text),
            () if is_end => AnswerPiece::End,
            () if is_unseen => AnswerPiece::Unseen,
            () => AnswerPiece::KeepAlive,
        };
        Ok(TakenEvents { piece, is_end })
    }
}

/// Finds the error in an event, in the formats of all servers. An `error` that says nothing is
/// none.
fn find_error<'e, 'j>(event: &'e WireJson<'j>, is_error: bool) -> Option<&'e WireJson<'j>> {
    let error = event.get("error");
    if error.has_content() {
        return Some(error);
    }
    let is_kind = |key: &str| event.get(key).as_str().is_some_and(|kind| kind.ends_with("error"));
    let has_field = |key: &&str| event.get(key).has_content() || event.get(key).is_true();
    let is_answer = || ANSWER_FIELDS.iter().any(has_field);
    let has_words = || error_message(&event.to_value()).is_some();
    let is_named = is_error || is_kind("type") || is_kind("object");
    (is_named || !event.get("message").is_object() && !is_answer() && has_words()).then_some(event)
}

/// Converts the error of an event to the error that it would have been before the stream.
pub(crate) fn read_error<A: StreamedAnswer>(error: &Value) -> AnswerError {
    let says = match error {
        Value::String(says) => says.clone(),
        error => error_message(error).map_or_else(|| describe_error(error), Cow::into_owned),
    };
    match A::error_status(error) {
        Some(status) => AnswerError::Status(status, says),
        None => AnswerError::Unreadable(format!("it failed in the middle: {says}")),
    }
}

/// Describes an error without a message by its code or type.
fn describe_error(error: &Value) -> String {
    let names = [&error["code"], &error["type"], &error["status"]];
    let name = names.into_iter().find_map(|name| name.as_str().filter(|name| !name.is_empty()));
    name.map_or_else(|| error.to_string(), |name| format!("it failed ({name})"))
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
