//! What benchmarks run of what is private: replies read whole and while they stream, and requests
//! written.

use std::cell::{Cell, RefCell};

use avocet_protocol::{Delta, ModelRequest, ToolSpec};

use crate::asking::Framing;
use crate::dialects::{Reader, Streamed, named};
use crate::fuzzing;
use crate::hidden::Visible;
use crate::{Anthropic, Gemini, OpenAi};

/// What can be called.
#[must_use]
pub fn tools() -> Vec<ToolSpec> {
    fuzzing::tools()
}

/// Reads a whole reply of a model that was told to write this dialect, or has native calls. Returns how
/// many calls are in it.
#[must_use]
pub fn read(told: Option<&str>, tools: &[ToolSpec], text: &str) -> usize {
    reader(told, tools).read(text, false).calls.len()
}

/// Takes hidden parts out of a whole answer. Returns the bytes that are left.
#[must_use]
pub fn visible(text: &str) -> usize {
    let mut visible = Visible::default();
    visible.push(text, |_| {});
    visible.finish(|_| {}).len()
}

/// Takes a reply in pieces, all the way to a chat. Returns the bytes that were shown.
#[must_use]
pub fn stream(told: Option<&str>, tools: &[ToolSpec], pieces: &[&str]) -> usize {
    let shown = Cell::new(0);
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.set(shown.get() + text.len()),
        Delta::Restart => shown.set(0),
        Delta::Lost(_) => {}
    };
    let streamed = RefCell::new(Streamed::new(reader(told, tools)));
    let mut visible = Visible::keeping_calls();
    let pass = |delta: Delta<'_>| match delta {
        Delta::Text(text) => streamed.borrow_mut().push(text, show),
        Delta::Restart => streamed.borrow_mut().restart(),
        Delta::Lost(_) => {}
    };
    pieces.iter().for_each(|piece| visible.push(piece, pass));
    let text = visible.finish(pass);
    let streamed = streamed.into_inner();
    let read = streamed.read(&text, false);
    streamed.finish(&read.text, show);
    shown.get()
}

/// Splits a body that comes in these pieces into events. Returns how many there are.
///
/// # Errors
/// What is wrong with the body.
pub fn events(pieces: &[&[u8]]) -> Result<usize, String> {
    fuzzing::split(Framing::Events, pieces).map(|events| events.len())
}

/// A provider's model, as far as its requests go.
pub trait Writes {
    /// The request as it is sent.
    ///
    /// # Errors
    /// That of JSON.
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

fn reader<'t>(told: Option<&str>, tools: &'t [ToolSpec]) -> Reader<'t> {
    Reader { told: told.and_then(named), tools }
}
