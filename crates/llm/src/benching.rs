//! Gives benchmarks access to private code: reading replies complete or streamed, and writing
//! requests.

use std::cell::{Cell, RefCell};

use avocet_protocol::model::{Delta, ModelRequest};
use avocet_protocol::tool::ToolSpec;

use crate::dialects::{ReplyReader, StreamedReply, TextEnd, find_dialect};
use crate::fuzzing;
use crate::visible::VisibleText;
use crate::{AnthropicModel, GeminiModel, OpenAi};

/// The tools for benchmarks.
#[must_use]
pub fn bench_tools() -> Vec<ToolSpec> {
    fuzzing::corpus_tools()
}

/// Reads a complete reply of a model that was instructed to write this dialect, or has native
/// calls.
/// Returns the number of calls.
#[must_use]
pub fn read(instructed: Option<&str>, tools: &[ToolSpec], text: &str) -> usize {
    reply_reader(instructed, tools).read(text, TextEnd::Complete).calls.len()
}

/// Removes hidden parts from a complete answer. Returns the bytes that are left.
#[must_use]
pub fn count_visible_bytes(text: &str) -> usize {
    let mut visible = VisibleText::default();
    visible.push(text, |_| {});
    visible.finish_text(|_| {}).len()
}

/// Reads a reply in pieces, with all steps up to a chat. Returns the number of shown bytes.
#[must_use]
pub fn count_streamed_bytes(
    instructed: Option<&str>,
    tools: &[ToolSpec],
    pieces: &[&str],
) -> usize {
    let shown = Cell::new(0);
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.set(shown.get() + text.len()),
        Delta::Restart => shown.set(0),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    let streamed = RefCell::new(StreamedReply::new(reply_reader(instructed, tools)));
    let mut visible = VisibleText::keeping_calls();
    let pass = |delta: Delta<'_>| match delta {
        Delta::Text(text) => streamed.borrow_mut().push(text, show),
        Delta::Restart => streamed.borrow_mut().discard_shown(),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    pieces.iter().for_each(|piece| visible.push(piece, pass));
    let text = visible.finish_text(pass);
    let streamed = streamed.into_inner();
    let read = streamed.read(&text, TextEnd::Complete);
    streamed.finish_text(&read.text, show);
    shown.get()
}

/// Splits a body that arrives in these pieces into events. Returns their number.
///
/// # Errors
/// The fault in the body.
pub fn count_events(pieces: &[&[u8]]) -> Result<usize, String> {
    fuzzing::split_pieces(pieces).map(|events| events.len())
}

/// A provider's model that writes requests.
pub trait WritesRequests {
    /// Returns the request body.
    ///
    /// # Errors
    /// The error of the JSON serialiser.
    fn write_request(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>>;
}

impl WritesRequests for AnthropicModel {
    fn write_request(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        self.request_body(request)
    }
}

impl WritesRequests for GeminiModel {
    fn write_request(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        self.request_body(request)
    }
}

impl WritesRequests for OpenAi {
    fn write_request(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        self.request_body(request)
    }
}

fn reply_reader<'t>(instructed: Option<&str>, tools: &'t [ToolSpec]) -> ReplyReader<'t> {
    ReplyReader::new(instructed.and_then(find_dialect), tools)
}
