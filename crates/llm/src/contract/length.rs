//! Limits on the length of an answer. Memory is bounded for any server; a longer answer ends there
//! and is marked as truncated.

use avocet_protocol::model::{Arguments, ModelError, ToolCall};
use avocet_testkit::ModelAnswer;
use avocet_testkit::http::Piece;
use serde_json::json;

use super::server::{WireModel, ask_once};
use super::{AnswerBit, ModelSetup, ProviderWire, StreamEnd, at_once, wire_head};
use crate::endpoint::MAX_ANSWER;
use crate::testing::{ShownReply, ask_model};

/// More bytes than the limit of an answer, in pieces.
const PIECE: usize = 64 * 1024;
const PIECES: usize = MAX_ANSWER / PIECE + 8;

/// A value that the models of all wires accept, with a byte limit just below [`MAX_ANSWER`].
const TOKENS: u32 = 62_000;
/// The possible lengths of an answer that was cut at the limit for `TOKENS`.
const CUT: std::ops::RangeInclusive<usize> = TOKENS as usize * 32 - 1..=MAX_ANSWER;

/// A stream that stays open for ever after these events.
fn endless_stream<W: ProviderWire>(bits: &[AnswerBit<'_>]) -> ModelAnswer {
    let events = W::answer_events(bits, StreamEnd::Lost);
    let chunks = events.iter().map(|event| Piece::chunk(event.as_bytes()));
    let pieces = [wire_head::<W>()].into_iter().chain(chunks).chain([Piece::Hang]);
    ModelAnswer::Raw(pieces.collect())
}

async fn with_tokens<W: ProviderWire>(tokens: u32, answer: ModelAnswer) -> ShownReply {
    let setup =
        ModelSetup { max_output_tokens: Some(tokens), ..ModelSetup::without_retries::<W>() };
    let served = WireModel::<W>::start(vec![answer], setup).await;
    ask_model(served.model.as_ref()).await
}

pub(super) async fn complete_truncates_an_endless_text<W: ProviderWire>() {
    let piece = "é".repeat(PIECE / 2);
    let said = [AnswerBit::Text("x"), AnswerBit::Text(&piece)];
    let bits = [&said[..], &vec![AnswerBit::Text(&piece); PIECES]].concat();
    let asked = with_tokens::<W>(TOKENS, endless_stream::<W>(&bits)).await;
    let reply = asked.reply.unwrap();
    assert!(reply.truncated && reply.calls.is_empty() && reply.reasoning.is_none());
    assert!(CUT.contains(&reply.text.len()), "{}", reply.text.len());
    assert!(reply.text == asked.shown, "what is shown is what is said");
}

pub(super) async fn complete_truncates_near_a_token_limit_that_the_server_ignores<
    W: ProviderWire,
>() {
    let piece = "word ".repeat(1000);
    let bits = vec![AnswerBit::Text(&piece); 200];
    let reply = with_tokens::<W>(100, endless_stream::<W>(&bits)).await.reply.unwrap();
    // Some wires add tokens for reasoning.
    assert!(reply.truncated && (3200..700_000).contains(&reply.text.len()), "{}", reply.text.len());
}

pub(super) async fn complete_truncates_endless_reasoning<W: ProviderWire>() {
    let piece = "hm ".repeat(PIECE / 3);
    let bits = vec![AnswerBit::Thought(&piece); PIECES];
    let reply = with_tokens::<W>(TOKENS, endless_stream::<W>(&bits)).await.reply.unwrap();
    assert!(reply.truncated && reply.text.is_empty() && reply.reasoning.is_none());
}

pub(super) async fn complete_returns_endless_arguments_as_a_malformed_call<W: ProviderWire>() {
    let piece = "x".repeat(PIECE);
    let mut bits =
        vec![AnswerBit::Call(0, Some("a"), "one"), AnswerBit::Arguments(0, "{\"a\": \"")];
    bits.extend(vec![AnswerBit::Arguments(0, &piece); PIECES]);
    let reply = with_tokens::<W>(TOKENS, endless_stream::<W>(&bits)).await.reply.unwrap();
    assert!(reply.truncated);
    let [call] = &reply.calls[..] else { panic!("{} calls", reply.calls.len()) };
    let Arguments::Malformed(kept) = &call.arguments else { panic!("it can run") };
    assert!(kept.len() <= 1024, "{}", kept.len());
}

pub(super) async fn complete_truncates_a_million_empty_calls<W: ProviderWire>() {
    let names: Vec<String> = (0..MAX_ANSWER / 64 + 10).map(|number| number.to_string()).collect();
    let calls = (0..).zip(&names).map(|(number, name)| AnswerBit::Whole(number, name, json!({})));
    let events = W::answer_events(&calls.collect::<Vec<_>>(), StreamEnd::Lost).concat();
    let body = Piece::chunk(events.as_bytes());
    let answer = ModelAnswer::Raw(vec![wire_head::<W>(), body, Piece::Hang]);
    let reply = with_tokens::<W>(TOKENS, answer).await.reply.unwrap();
    assert!(reply.truncated && !reply.calls.is_empty());
}

pub(super) async fn complete_ends_at_an_endless_line_with_its_text_or_an_error<W: ProviderWire>() {
    let said = AnswerBit::Text("one ");
    for (bits, text) in [(&[][..], None), (&[said], Some("one "))] {
        let mut pieces = vec![wire_head::<W>()];
        pieces.extend(
            W::answer_events(bits, StreamEnd::Lost)
                .iter()
                .map(|event| Piece::chunk(event.as_bytes())),
        );
        pieces.extend(vec![Piece::chunk(&vec![b'x'; 1024 * 1024]); 5]);
        pieces.push(Piece::Hang);
        let reply = ask_once::<W>(ModelAnswer::Raw(pieces)).await.reply;
        match (reply, text) {
            (Ok(reply), Some(text)) => assert!(reply.truncated && reply.text == text),
            (Err(error), None) => {
                assert!(error.to_string().contains("longer than 4194304 bytes"), "{error}");
            }
            (reply, _) => panic!("{reply:?}"),
        }
    }
}

pub(super) async fn complete_truncates_or_refuses_an_endless_answer_without_a_stream<
    W: ProviderWire,
>() {
    for megabytes in [3, 5, 20] {
        let text = "ä".repeat(megabytes * 1024 * 512);
        let asked = with_tokens::<W>(TOKENS, at_once(&W::whole_answer(&text, None, None))).await;
        // A cut body is unreadable if its beginning omits the type of its content.
        match asked.reply {
            Ok(reply) => {
                assert!(reply.truncated && reply.calls.is_empty(), "{megabytes}");
                assert!(CUT.contains(&reply.text.len()), "{megabytes}: {}", reply.text.len());
                assert_eq!(asked.shown.len(), reply.text.len());
            }
            Err(error) => assert_too_long(&error, megabytes),
        }
    }
    let arguments = json!({ "content": "x".repeat(5 * 1024 * 1024) });
    let whole = W::whole_answer("here", Some(("write_file", arguments)), None);
    match with_tokens::<W>(TOKENS, at_once(&whole)).await.reply {
        Ok(reply) => {
            let can_run = |call: &ToolCall| matches!(call.arguments, Arguments::Object(_));
            assert!(reply.truncated && !reply.calls.iter().any(can_run), "a cut call can run");
        }
        Err(error) => assert_too_long(&error, 5),
    }
}

#[track_caller]
fn assert_too_long(error: &ModelError, megabytes: usize) {
    assert!(megabytes > 4, "{megabytes} MB are read: {error}");
    assert!(error.to_string().contains("longer than 4194304 bytes"), "{error}");
}

pub(super) async fn complete_shortens_an_endless_refusal<W: ProviderWire>() {
    let says = format!("no such thing {}", "x".repeat(1024 * 1024));
    let body = W::refusal_body(400, &says).to_string();
    let headers = [("content-type", "application/json")];
    let pieces = vec![Piece::head(400, &headers), Piece::chunk(body.as_bytes()), Piece::Hang];
    let error = ask_once::<W>(ModelAnswer::Raw(pieces)).await.reply.unwrap_err().to_string();
    assert!(error.contains("no such thing") && error.len() < 1000, "{error}");
}
