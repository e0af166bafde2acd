//! The model: what it answers follows from the request alone, so that asking again changes nothing.

use std::time::Duration;

use avocet_testkit::openai::ModelAnswer;
use serde_json::{Value, json};

use crate::oracle::parse;

/// What people ask for, in turn.
pub(crate) const KINDS: [&str; 6] = ["plain", "read", "write", "remember", "message", "post"];

/// What only people on platforms ask for: an answer that takes its time, so that they see it grow.
pub(crate) const SLOW: &str = "slow";

/// How every answer ends.
pub(crate) const END: &str = "that is all";

const SLOW_BEAT: Duration = Duration::from_millis(100);

/// Every delta takes a moment, so that a kill falls into the middle of answers.
const BEAT: Duration = Duration::from_millis(1);

/// A message is `KEY KIND`. The turn may have several: collected ones, and those that steered it. First come the
/// calls of each, then `done KEY KEY ...`.
pub(crate) fn answer(request: &Value) -> ModelAnswer {
    let turn = turn(request);
    let asked = asked(turn);
    let called: String = turn.iter().map(|message| message["tool_calls"].to_string()).collect();
    let calls: Vec<(String, Value)> = asked
        .iter()
        .map(|(key, kind)| (key, calls(key, kind)))
        .filter(|(key, _)| {
            !called.contains(&format!("{key}\\\"")) && !called.contains(&format!("{key}."))
        })
        .flat_map(|(_, calls)| calls)
        .collect();
    let keys: Vec<&str> = asked.iter().map(|(key, _)| *key).collect();
    let keys = keys.join(" ");
    if !calls.is_empty() {
        return ModelAnswer::Slowly(BEAT, Box::new(ModelAnswer::Calls(calls)));
    }
    if asked.iter().any(|(_, kind)| *kind == SLOW) {
        let words = "word after word ".repeat(4);
        let answer = ModelAnswer::says(format!("done {keys} {words}and {END}"));
        return ModelAnswer::Slowly(SLOW_BEAT, Box::new(answer));
    }
    ModelAnswer::Slowly(BEAT, Box::new(ModelAnswer::says(format!("done {keys} and {END}"))))
}

/// The messages of the turn that goes on: those behind the last answer or notice.
fn turn(request: &Value) -> &[Value] {
    let messages = request["messages"].as_array().unwrap();
    let is_end = |message: &Value| {
        message["role"] == "assistant" && message["tool_calls"].as_array().is_none_or(Vec::is_empty)
    };
    let first = messages.iter().rposition(is_end).map_or(0, |end| end + 1);
    &messages[first..]
}

/// The keys and kinds of the people's messages, in order.
fn asked(turn: &[Value]) -> Vec<(&str, &str)> {
    let said = turn.iter().filter(|message| message["role"] == "user");
    let texts = said.filter_map(|message| message["content"].as_str());
    let mut asked = Vec::new();
    for text in texts {
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let is_kind = KINDS.contains(&pair[1]) || pair[1] == SLOW;
            if parse(pair[0]).is_some() && is_kind {
                asked.push((pair[0], pair[1]));
            }
        }
    }
    asked
}

fn calls(key: &str, kind: &str) -> Vec<(String, Value)> {
    let call = |name: &str, arguments: Value| (name.to_owned(), arguments);
    match kind {
        "read" => {
            vec![call("list_directory", json!({})), call("memory_read", json!({"query": key}))]
        }
        "write" => vec![call("write_file", json!({"path": file(key), "content": content(key)}))],
        "remember" => vec![call("memory_write", json!({"text": format!("note {key}")}))],
        "message" => vec![
            call("message", json!({"text": format!("note {key}")})),
            call("list_directory", json!({})),
        ],
        // What comes after the effect is open while the effect takes its time.
        "post" => vec![
            call("list_directory", json!({})),
            call("post", json!({"text": key})),
            call("memory_read", json!({"query": key})),
        ],
        _ => Vec::new(),
    }
}

/// The file that a message has written.
pub(crate) fn file(key: &str) -> String {
    format!("files/{key}.txt")
}

/// What is in it.
pub(crate) fn content(key: &str) -> String {
    format!("the content of {key}\n").repeat(20)
}
