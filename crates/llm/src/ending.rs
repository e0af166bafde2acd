//! Detects the end signals that some models write unasked: a line such as `TASK COMPLETE`, or a
//! call of a nonexistent tool. Both are removed from the reply.

use std::borrow::Cow;
use std::sync::LazyLock;

use avocet_protocol::model::{Arguments, Reasoning, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::dialects::{ReplyReader, TextEnd, known_elsewhere};
use crate::end_marks::is_mark;
use crate::gemini::signatures;
use crate::openai::responses::thoughts;
use crate::visible::visible_text;

/// End tools of other programs, each with aliases that are common words.
const TOOLS: [(&str, &[&str]); 2] =
    [("attempt_completion", &["final_answer", "finish"]), ("task_complete", &[])];
/// The argument with the answer.
const ANSWER: &str = "result";
/// Other names of that argument.
const ALSO: [&str; 4] = ["text", "answer", "summary", "message"];
/// The end tools if no tool of ours has one of their names.
static ENDINGS: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| with_endings(Cow::Borrowed(&[])));
/// The text of the reply if a model sends only an end signal.
pub(crate) const DONE: &str = "Done.";

/// Removes an end signal from the last line of a text.
pub(crate) fn without_mark(text: &str) -> &str {
    let text = text.trim_end();
    match text.rsplit_once('\n') {
        Some((rest, last)) if is_mark(last) => rest.trim_end(),
        _ => text,
    }
}

/// The callable tools plus the end tools, for the reader of a reply.
pub(crate) fn with_endings(offered: Cow<'_, [ToolSpec]>) -> Vec<ToolSpec> {
    let is_free = |name: &&str| known_elsewhere(name, &offered).is_none();
    let ending = |(name, others): &(&str, &[&str])| {
        let mut names = [*name].into_iter().chain(others.iter().copied()).filter(is_free);
        Some(ToolSpec {
            name: names.next()?.to_owned(),
            aliases: names.map(str::to_owned).collect(),
            group: String::new(),
            description: String::new(),
            parameters: json!({
                "type": "object",
                "properties": { ANSWER: { "type": "string", "x-aliases": ALSO } },
                "required": [ANSWER],
            }),
        })
    };
    let endings: Vec<ToolSpec> = TOOLS.iter().filter_map(ending).collect();
    let mut all = offered.into_owned();
    all.extend(endings);
    all
}

/// The end calls that were removed from an answer.
#[derive(Debug, Default)]
pub(crate) struct RemovedEndCalls {
    /// The text of the end calls. `None` if other calls remain or end calls are absent.
    pub(crate) answer: Option<String>,
    /// Indexes of the removed calls.
    places: Vec<usize>,
}

/// Removes the calls that only signal the end.
pub(crate) fn remove_end_calls(calls: &mut Vec<ToolCall>, offered: &[ToolSpec]) -> RemovedEndCalls {
    let (mut answers, mut places, mut place) = (Vec::new(), Vec::new(), 0..);
    calls.retain(|call| {
        let (answer, place) = (answer_of_end_call(call, offered), place.next());
        places.extend(place.filter(|_| answer.is_some()));
        answer.map(|answer| answers.push(answer)).is_none()
    });
    let is_end = calls.is_empty() && !answers.is_empty();
    let answer =
        is_end.then(|| answers.iter().fold(String::new(), |text, more| join_texts(&text, more)));
    RemovedEndCalls { answer, places }
}

impl RemovedEndCalls {
    /// Removes the parts of the reasoning that belong to removed native calls. The provider would
    /// refuse these parts or assign them to another call.
    pub(crate) fn out_of(&self, reasoning: Reasoning) -> Reasoning {
        let content = match reasoning.content {
            content if self.places.is_empty() => content,
            Value::Array(parts) => Value::Array(thoughts::without_calls(parts, &self.places)),
            content @ Value::Object(_) => signatures::without_calls(content, &self.places),
            other => other,
        };
        Reasoning { content, ..reasoning }
    }
}

/// Joins two texts, unless the first already ends with the second.
pub(crate) fn join_texts(text: &str, more: &str) -> String {
    let (text, more) = (text.trim_end(), more.trim());
    let is_said = more.is_empty() || text == more || text.ends_with(&format!("\n{more}"));
    match text {
        _ if is_said => text.to_owned(),
        "" => more.to_owned(),
        text => format!("{text}\n\n{more}"),
    }
}

/// The text of an end call; `None` for other calls.
fn answer_of_end_call(call: &ToolCall, offered: &[ToolSpec]) -> Option<String> {
    if known_elsewhere(&call.name, &ENDINGS).is_none()
        || known_elsewhere(&call.name, offered).is_some()
    {
        return None;
    }
    match &call.arguments {
        Arguments::Object(object) => Some(clean_argument(&in_object(object))),
        // A truncated object is invalid: the model gets an error instead.
        Arguments::Malformed(text) if text.trim_start().starts_with(['{', '[']) => None,
        Arguments::Malformed(text) => {
            Some(clean_argument(&serde_json::from_str(text).unwrap_or_else(|_| text.clone())))
        }
    }
}

fn in_object(object: &Map<String, Value>) -> String {
    let named = [ANSWER].iter().chain(&ALSO).find_map(|name| object.get(*name));
    let sole = || object.values().next().filter(|_| object.len() == 1);
    match named.or_else(sole) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Cleans an argument for people: removes the hidden parts, as in a reply.
fn clean_argument(argument: &str) -> String {
    ReplyReader::new(None, &[])
        .read(&visible_text(argument), TextEnd::Complete)
        .text
        .trim()
        .to_owned()
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
