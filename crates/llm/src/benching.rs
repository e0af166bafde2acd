//! Gives benchmarks access to private code: reading replies complete or streamed, and writing
//! requests.

use std::cell::{Cell, RefCell};

use avocet_protocol::{Delta, ModelRequest, ToolSpec};

use crate::dialects::{ReplyReader, Streamed, TextEnd, named};
use crate::fuzzing;
use crate::visible::Visible;
use crate::{Anthropic, Gemini, OpenAi};

/// The tools for benchmarks.
#[must_use]
pub fn tools() -> Vec<ToolSpec> {
    fuzzing::tools()
}

/// Reads a complete reply of a model that was instructed to write this dialect, or has native
/// calls.
/// Returns the number of calls.
#[must_use]
pub fn read(instructed: Option<&str>, tools: &[ToolSpec], text: &str) -> usize {
    reader(instructed, tools).read(text, TextEnd::Complete).calls.len()
}

/// Removes hidden parts from a complete answer. Returns the bytes that are left.
#[must_use]
pub fn visible(text: &str) -> usize {
    let mut visible = Visible::default();
    visible.push(text, |_| {});
    visible.finish(|_| {}).len()
}

/// Reads a reply in pieces, with all steps up to a chat. Returns the number of shown bytes.
#[must_use]
pub fn stream(instructed: Option<&str>, tools: &[ToolSpec], pieces: &[&str]) -> usize {
    let shown = Cell::new(0);
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.set(shown.get() + text.len()),
        Delta::Restart => shown.set(0),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    let streamed = RefCell::new(Streamed::new(reader(instructed, tools)));
    let mut visible = Visible::keeping_calls();
    let pass = |delta: Delta<'_>| match delta {
        Delta::Text(text) => streamed.borrow_mut().push(text, show),
        Delta::Restart => streamed.borrow_mut().restart(),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    pieces.iter().for_each(|piece| visible.push(piece, pass));
    let text = visible.finish(pass);
    let streamed = streamed.into_inner();
    let read = streamed.read(&text, TextEnd::Complete);
    streamed.finish(&read.text, show);
    shown.get()
}

/// Splits a body that arrives in these pieces into events. Returns their number.
///
/// # Errors
/// The fault in the body.
pub fn events(pieces: &[&[u8]]) -> Result<usize, String> {
    fuzzing::split(pieces).map(|events| events.len())
}

/// A provider's model that writes requests.
pub trait Writes {
    /// Returns the request body.
    ///
    /// # Errors
    /// The error of the JSON serialiser.
    fn written(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>>;
}

impl Writes for Anthropic {
    fn written(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        self.body(request)
    }
}

impl Writes for Gemini {
    fn written(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        self.body(request)
    }
}

impl Writes for OpenAi {
    fn written(&self, request: &ModelRequest) -> serde_json::Result<Vec<u8>> {
        self.body(request)
    }
}

fn reader<'t>(instructed: Option<&str>, tools: &'t [ToolSpec]) -> ReplyReader<'t> {
    ReplyReader::new(instructed.and_then(named), tools)
}
