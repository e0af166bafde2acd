//! Dialects: the ways to write a tool call as text, for models without native calls, and the
//! readers for them. The readers also find calls that a model with native calls writes as text. No
//! I/O; linear time.

mod answered_call;
mod arguments_in_tags;
mod call;
mod conversation;
mod dialect;
mod escaped;
mod families;
mod harmony;
mod hermes;
mod intent;
mod invented;
mod json;
pub(crate) mod lenient;
mod llama;
mod marked;
mod marks;
mod python;
mod react;
mod read;
mod schema;
mod shell;
mod stream;
mod tags;
mod words;
mod xml;

use avocet_protocol::model::Message;
use avocet_protocol::tool::ToolSpec;

pub(crate) use answered_call::AnsweredCall;
pub(crate) use call::{given_arguments, known_elsewhere, repair_arguments};
pub(crate) use dialect::{Dialect, TextEnd};
pub(crate) use intent::{is_meant, is_meant_between_texts};
pub(crate) use read::ParsedReply;
pub(crate) use read::ReplyReader;
pub(crate) use stream::StreamedReply;

use dialect::{
    DialectMatch, ReplyPosition, find_ignoring_case, is_beginning_of, match_of_calls,
    strip_ignoring_case,
};

/// The number of families with their own tokens or tags.
const FAMILIES: usize = families::FAMILIES.len();
/// The dialects with a reader of their own. Some have openings that families have, too.
const OTHERS: [&dyn Dialect; 7] = [
    &harmony::HarmonyDialect,
    &hermes::HermesDialect,
    &json::JsonDialect,
    &llama::LlamaDialect,
    &react::ReactDialect,
    &shell::ShellDialect,
    &xml::XmlDialect,
];

/// All dialects, in the order in which they are tried on a text.
static DIALECTS: [&dyn Dialect; FAMILIES + OTHERS.len()] = {
    let mut all: [&dyn Dialect; FAMILIES + OTHERS.len()] =
        [&json::JsonDialect; FAMILIES + OTHERS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < FAMILIES { &families::FAMILIES[at] } else { OTHERS[at - FAMILIES] };
        at += 1;
    }
    all
};

/// The dialect that shows earlier calls to a model without tools.
pub(crate) const PLAIN: &dyn Dialect = &json::JsonDialect;

pub(crate) fn find_dialect(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name() == name)
}

#[cfg(any(test, feature = "testing"))]
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    DIALECTS.into_iter().map(Dialect::name)
}

/// Converts a conversation so that calls, results and the list of tools are text.
pub(crate) fn as_text<'m>(
    dialect: &dyn Dialect,
    messages: impl IntoIterator<Item = &'m Message>,
    tools: &[ToolSpec],
) -> Vec<Message> {
    conversation::conversation_as_text(dialect, messages, tools)
}

#[cfg(test)]
#[path = "bounded_tests.rs"]
mod bounded_tests;
#[cfg(test)]
#[path = "corpus_tests.rs"]
mod corpus_tests;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;
