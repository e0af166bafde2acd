//! Dialects: how a model without native tool calls writes a call, and how it is read back; also what
//! is read where a model with native calls writes one as text. Pure: no I/O, in linear time.

mod call;
mod harmony;
mod hermes;
mod json;
pub(crate) mod lenient;
mod llama;
mod made_up;
mod mistral;
mod python;
mod react;
mod read;
mod schema;
mod shell;
mod stray;
mod stream;
mod tags;
mod words;
mod xml;

use std::fmt;

use avocet_protocol::{Message, SentCall, ToolCall, ToolSpec};

pub(crate) use call::{given_arguments, known_elsewhere, repaired};
pub(crate) use read::Read;
pub(crate) use read::Reader;
pub(crate) use stray::is_meant;
pub(crate) use stream::Streamed;

/// Every dialect, in the order in which a text is tried.
const DIALECTS: [&dyn Dialect; 8] = [
    &harmony::Harmony,
    &hermes::Hermes,
    &json::Json,
    &llama::Llama,
    &mistral::Mistral,
    &react::React,
    &shell::Shell,
    &xml::Xml,
];

/// A way to write tool calls as text.
pub(crate) trait Dialect: fmt::Debug + Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &'static str;

    /// How a call is written, for the model: a sentence, without an example.
    fn syntax(&self) -> &'static str;

    /// Calls as the model would have written them.
    fn render_calls(&self, calls: &[SentCall], tools: &[ToolSpec]) -> String;

    /// The part of the system prompt that lists the tools and shows how they are called.
    fn render_tools(&self, tools: &[ToolSpec]) -> String {
        let written = |call| self.render_calls(&[call], tools);
        words::tools(tools, self.syntax(), self.tells_aliases(), &written)
    }

    /// Whether the list of tools says what else they and their arguments are called.
    fn tells_aliases(&self) -> bool {
        false
    }

    /// Whether calls stand between control words, which models use for nothing else.
    fn has_control_words(&self) -> bool {
        false
    }

    /// What calls came to, as a message to the model.
    fn render_results(&self, results: &[Answered<'_>]) -> String {
        words::results(results)
    }

    /// What a place in the text begins with: one where `<`, `[` or `{` stands, or the start of a line.
    fn at_start(&self, place: &Place<'_>) -> Sight {
        let _ = place;
        Sight::Nothing
    }

    /// Whether blocks with this word behind their fence can be calls.
    fn takes_fence(&self, info: &str) -> bool {
        let _ = info;
        false
    }

    /// Whether a fenced block that begins so, and is not whole, can still be calls; the place is the
    /// block's first line.
    fn may_be_call(&self, place: &Place<'_>) -> bool {
        let _ = place;
        true
    }

    /// The calls that a fenced block consists of, and the bytes that are read; the place is the
    /// block's first line.
    fn in_fence(&self, place: &Place<'_>) -> Option<(usize, Vec<ToolCall>)> {
        let _ = place;
        None
    }
}

/// How earlier calls are shown to a model that has no tools.
pub(crate) const PLAIN: &dyn Dialect = &json::Json;

/// The dialect of this name.
pub(crate) fn named(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name() == name)
}

/// The names of all dialects.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    DIALECTS.into_iter().map(Dialect::name)
}

/// A call and what it came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered<'m> {
    /// What was called.
    pub(crate) call: &'m SentCall,
    /// Whether it succeeded.
    pub(crate) ok: bool,
    /// JSON, or a text as it is; `{"error": ...}` if it failed.
    pub(crate) result: &'m str,
}

/// A place in a reply, and what is known there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'t> {
    /// The reply from here on.
    rest: &'t str,
    /// A line begins here, not counting the marks of lists and quotes.
    is_line: bool,
    /// Nothing follows.
    is_all: bool,
    /// The reply was cut off at the model's output limit.
    is_cut: bool,
    /// The model was told to write calls in this dialect.
    is_told: bool,
    /// A call came before.
    has_called: bool,
    /// What can be called.
    tools: &'t [ToolSpec],
}

impl<'t> Place<'t> {
    /// The same, so many bytes later, in a line.
    fn after(&self, bytes: usize) -> Place<'t> {
        Place { rest: &self.rest[bytes..], is_line: false, ..*self }
    }
}

/// What a text begins with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sight {
    /// No call.
    Nothing,
    /// So many bytes that are no call.
    Plain(usize),
    /// What it is depends on what comes.
    Open,
    /// So many bytes that stand for a text.
    Said(usize, String),
    /// So many bytes that are calls, and the text that came with them.
    Calls(usize, String, Vec<ToolCall>),
    /// What the model makes up: nothing that follows counts.
    MadeUp,
}

/// Calls without a text, in so many bytes; nothing if there are none.
fn calls(bytes: usize, calls: Vec<ToolCall>) -> Sight {
    if calls.is_empty() { Sight::Nothing } else { Sight::Calls(bytes, String::new(), calls) }
}

/// The start of a text, whatever its case; what follows it.
fn strip<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// Whether a text is the beginning of a word, whatever its case.
fn begins(word: &str, text: &str) -> bool {
    word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
}

/// Where a word begins in a text, whatever its case. The word's first byte is no letter.
fn find(text: &str, word: &str) -> Option<usize> {
    let first = word.chars().next()?;
    text.match_indices(first).map(|(at, _)| at).find(|at| strip(&text[*at..], word).is_some())
}

/// A conversation in which calls and results are text, and which tells of the tools.
pub(crate) fn as_text(
    dialect: &dyn Dialect,
    messages: &[Message],
    tools: &[ToolSpec],
) -> Vec<Message> {
    words::conversation(dialect, messages, tools)
}

#[cfg(test)]
#[path = "corpus_tests.rs"]
mod corpus_tests;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;
