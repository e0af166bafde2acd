//! How a model says that it is done, where saying it is not asked for: in a line of its own, or by
//! calling a tool that there is not. Neither is part of what it says.

use avocet_protocol::{Arguments, Reasoning, ToolCall, ToolSpec};
use serde_json::{Map, Value, json};

use crate::dialects::{Reader, known_elsewhere};
use crate::gemini::signatures;
use crate::hidden::visible;
use crate::openai::responses::thoughts;

/// Lines that say nothing else.
const MARKS: [&str; 8] = [
    "TASK COMPLETE",
    "TASK_COMPLETE",
    "[TASK COMPLETE]",
    "[TASK_COMPLETE]",
    "<task_complete>",
    "<task_complete/>",
    "<task_complete />",
    "</task_complete>",
];
/// What the tools are called elsewhere; the second in each row are common words.
const TOOLS: [(&str, &[&str]); 2] =
    [("attempt_completion", &["final_answer", "finish"]), ("task_complete", &[])];
/// The argument with the answer.
const ANSWER: &str = "result";
/// Its other names.
const ALSO: [&str; 4] = ["text", "answer", "summary", "message"];
/// What is said where a model ends with nothing but that.
pub(crate) const DONE: &str = "Done.";

/// Whether a line says that all is done.
pub(crate) fn is_mark(line: &str) -> bool {
    MARKS.contains(&line.trim())
}

/// A text without the line at its end that says that all is done.
pub(crate) fn without_mark(text: &str) -> &str {
    let text = text.trim_end();
    match text.rsplit_once('\n') {
        Some((rest, last)) if is_mark(last) => rest.trim_end(),
        _ => text,
    }
}

/// Whether a line that is not whole can become one that says so.
pub(crate) fn may_be_mark(line: &str) -> bool {
    let start = line.trim_start();
    MARKS.iter().any(|mark| mark.starts_with(start) || *mark == start.trim_end())
}

/// The tools that are offered, and those by which a model ends, for whoever reads its reply.
pub(crate) fn with_endings(offered: &[ToolSpec]) -> Vec<ToolSpec> {
    let is_free = |name: &&str| known_elsewhere(name, offered).is_none();
    let ending = |(name, others): &(&str, &[&str])| {
        let mut names = [*name].into_iter().chain(others.iter().copied()).filter(is_free);
        Some(ToolSpec {
            name: names.next()?.to_owned(),
            aliases: names.map(str::to_owned).collect(),
            description: String::new(),
            parameters: json!({
                "type": "object",
                "properties": { ANSWER: { "type": "string", "x-aliases": ALSO } },
                "required": [ANSWER],
            }),
        })
    };
    offered.iter().cloned().chain(TOOLS.iter().filter_map(ending)).collect()
}

/// What was taken out of an answer.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The end of the answer, where no other calls are left; empty if that is nothing.
    pub(crate) answer: Option<String>,
    /// Where the calls were.
    places: Vec<usize>,
}

/// Takes the calls out that only say that all is done.
pub(crate) fn take(calls: &mut Vec<ToolCall>, offered: &[ToolSpec]) -> Taken {
    let (mut answers, mut places, mut place) = (Vec::new(), Vec::new(), 0..);
    calls.retain(|call| {
        let (answer, place) = (answer(call, offered), place.next());
        places.extend(place.filter(|_| answer.is_some()));
        answer.map(|answer| answers.push(answer)).is_none()
    });
    let is_end = calls.is_empty() && !answers.is_empty();
    let answer =
        is_end.then(|| answers.iter().fold(String::new(), |text, more| joined(&text, more)));
    Taken { answer, places }
}

impl Taken {
    /// What was thought, without what belongs to the native calls that were taken out: its provider would
    /// refuse it, or take it for what led to another.
    pub(crate) fn out_of(&self, reasoning: Reasoning) -> Reasoning {
        let content = match reasoning.content {
            content if self.places.is_empty() => content,
            Value::Array(parts) => Value::Array(thoughts::without(parts, &self.places)),
            content @ Value::Object(_) => signatures::without(content, &self.places),
            other => other,
        };
        Reasoning { content, ..reasoning }
    }
}

/// Two texts, unless the one ends as the other.
pub(crate) fn joined(text: &str, more: &str) -> String {
    let (text, more) = (text.trim_end(), more.trim());
    let is_said = more.is_empty() || text == more || text.ends_with(&format!("\n{more}"));
    match text {
        _ if is_said => text.to_owned(),
        "" => more.to_owned(),
        text => format!("{text}\n\n{more}"),
    }
}

/// What a call that ends says; none if it is another.
fn answer(call: &ToolCall, offered: &[ToolSpec]) -> Option<String> {
    let endings = &with_endings(&[])[..];
    if known_elsewhere(&call.name, offered).is_some()
        || known_elsewhere(&call.name, endings).is_none()
    {
        return None;
    }
    match &call.arguments {
        Arguments::Object(object) => Some(said(&in_object(object))),
        // Half an object is no answer: the model is told so.
        Arguments::Malformed(text) if text.trim_start().starts_with(['{', '[']) => None,
        Arguments::Malformed(text) => {
            Some(said(&serde_json::from_str(text).unwrap_or_else(|_| text.clone())))
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

/// An argument as a text that people read: what is hidden in a reply is hidden in it.
fn said(argument: &str) -> String {
    Reader { told: None, tools: &[] }.read(&visible(argument), false).text.trim().to_owned()
}

#[cfg(test)]
#[path = "ending_tests.rs"]
mod tests;
