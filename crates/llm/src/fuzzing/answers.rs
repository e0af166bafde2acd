//! Reads arbitrary bytes as the body of a provider's answer, and as server-sent events.

use avocet_net::NetError;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;

use super::piece_lengths;
use crate::body::{self, BodyEvent};
use crate::endpoint::{AnswerError, AnswerPiece, CompleteAnswer, StreamedAnswer};
use crate::event::{EventDecoder, TakenEvents};
use crate::{anthropic as messages, gemini as google, ollama as local, openai};

/// Reads an answer of OpenAI's chat completions.
pub fn fuzz_openai_chat(data: &[u8]) {
    fuzz_answer::<openai::answer::OpenAiChatAnswer>(data);
}

/// Reads an answer of OpenAI's Responses API.
pub fn fuzz_openai_responses(data: &[u8]) {
    fuzz_answer::<openai::responses::ResponsesAnswer>(data);
}

/// Reads an answer of Anthropic's Messages API.
pub fn fuzz_anthropic(data: &[u8]) {
    fuzz_answer::<messages::answer::AnthropicAnswer>(data);
}

/// Reads an answer of Gemini.
pub fn fuzz_gemini(data: &[u8]) {
    fuzz_answer::<google::answer::GeminiAnswer>(data);
}

/// Reads an answer of Ollama.
pub fn fuzz_ollama(data: &[u8]) {
    fuzz_answer::<local::answer::OllamaAnswer>(data);
}

/// Checks that a body contains the same events however it is divided.
pub fn fuzz_sse(data: &[u8]) {
    let (whole, cut) = (split_pieces(&[data]), split_pieces(&in_pieces(data)));
    match (&whole, &cut) {
        (Ok(whole), Ok(cut)) => assert_eq!(whole, cut),
        (Err(_), Err(_)) => {}
        _ => panic!("{whole:?} in pieces is {cut:?}"),
    }
}

/// Checks that the result is the same however an answer is divided, and that the shown text is the
/// text of the result.
fn fuzz_answer<A: StreamedAnswer>(data: &[u8]) {
    if let (Ok(whole), Ok(cut)) = (split_pieces(&[data]), split_pieces(&in_pieces(data))) {
        assert_eq!(complete_answer::<A>(whole), complete_answer::<A>(cut));
    }
    let error: Value = serde_json::from_slice(data).unwrap_or_default();
    A::refusal_status(400, &error);
}

#[cfg(test)]
pub(crate) fn read_body<A: StreamedAnswer>(body: &str) -> Result<CompleteAnswer, AnswerError> {
    complete_answer::<A>(split_pieces(&[body.as_bytes()])?)
}

/// The result of an answer with these events.
fn complete_answer<A: StreamedAnswer>(
    events: Vec<BodyEvent>,
) -> Result<CompleteAnswer, AnswerError> {
    let (mut answer, mut decoder, mut shown) =
        (A::default(), EventDecoder::default(), String::new());
    for event in events {
        let taken = match event {
            BodyEvent::Data(text) => decoder.take_data(&mut answer, &text, false)?,
            BodyEvent::Error(text) => decoder.take_data(&mut answer, &text, true)?,
            BodyEvent::Done | BodyEvent::Whole => {
                push_text(&mut shown, decoder.release_held(&mut answer)?);
                answer.end_answer();
                break;
            }
            other => return Err(format!("{other:?}").into()),
        };
        let is_end = taken.is_end || A::FAREWELL.is_zero() && answer.has_ended();
        push_text(&mut shown, taken);
        if is_end {
            break;
        }
    }
    push_text(&mut shown, decoder.release_held(&mut answer)?);
    let said = answer.finish_answer()?;
    // Items that arrive in parallel are ordered only at the end, so only the lengths are compared.
    assert_eq!(shown.len(), said.text.len(), "{shown:?} was shown of {:?}", said.text);
    Ok(said)
}

fn push_text(shown: &mut String, taken: TakenEvents) {
    if let AnswerPiece::Text(text) = taken.piece {
        shown.push_str(&text);
    }
}

pub(crate) fn split_pieces(pieces: &[&[u8]]) -> Result<Vec<BodyEvent>, String> {
    let pieces = stream::iter(pieces.iter().map(|piece| Ok::<_, NetError>(*piece)));
    let events = body::split_body(pieces).collect::<Vec<_>>().now_or_never();
    let events = events.unwrap_or_default().into_iter();
    events.map(|event| event.map_err(|error| error.to_string())).collect()
}

/// Divides bytes into pieces. Their lengths depend on the content.
fn in_pieces(data: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut lengths, mut pieces) = (data, piece_lengths(data), Vec::new());
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(lengths.next().unwrap_or(1).min(rest.len()));
        pieces.push(piece);
        rest = more;
    }
    pieces
}
