//! The model. Its answer depends on the request alone, so that a repeated request gets the same
//! answer.

use std::time::Duration;

use avocet_testkit::openai::ModelAnswer;
use serde_json::{Value, json};

use crate::oracle::parse;
use crate::planner::TICK;
use crate::work::parse_work;

/// The kinds of requests that people make, in turn.
pub(crate) const KINDS: [&str; 6] = ["plain", "read", "write", "remember", "message", "post"];

/// The kinds of work that outlives its answer, and of its parts.
const WORK: [&str; 6] = ["tasks", "background", "remind", "later", "effect", "plain"];

/// The line that ends a job, if the instructions ask for it.
const COMPLETE: &str = "TASK COMPLETE";

/// A kind for people on platforms only: an answer so slow that they see it grow.
pub(crate) const SLOW: &str = "slow";

/// The same for an answer that takes several messages.
pub(crate) const LONG: &str = "long";

/// Parts of a long answer: words without a space, so that each grows by one piece.
pub(crate) const LONG_PARTS: u32 = 16;
const LONG_PART: usize = 300;

/// The end of every answer.
pub(crate) const END: &str = "that is all";

const SLOW_BEAT: Duration = Duration::from_millis(100);

/// A pause after every delta, so that kills fall into the middle of answers.
const BEAT: Duration = Duration::from_millis(1);

/// Answers messages of the form `KEY KIND`. A turn may have several: collected ones, and steering
/// ones. First come the calls of each, then `done KEY KEY ...`.
pub(crate) fn answer(request: &Value) -> ModelAnswer {
    let turn = turn(request);
    let asked = asked(turn);
    let called: String = turn.iter().map(|message| message["tool_calls"].to_string()).collect();
    let calls: Vec<(String, Value)> = asked
        .iter()
        .map(|(key, kind)| (key, calls(key, kind)))
        .filter(|(key, _)| {
            let is_in = |ending: &str| called.contains(&format!("{key}{ending}"));
            !is_in("\\\"") && !is_in(".") && !is_in("a effect")
        })
        .flat_map(|(_, calls)| calls)
        .collect();
    let keys: Vec<&str> = asked.iter().map(|(key, _)| *key).collect();
    let keys = keys.join(" ");
    let instructions = request["messages"][0]["content"].as_str().unwrap();
    let end =
        if instructions.contains(COMPLETE) { format!("{END}\n{COMPLETE}") } else { END.to_owned() };
    if !calls.is_empty() {
        return ModelAnswer::Slowly(BEAT, Box::new(ModelAnswer::Calls(calls)));
    }
    if asked.iter().any(|(_, kind)| *kind == LONG) {
        let first = asked.first().map_or("", |(key, _)| key);
        let parts: Vec<String> = (1..=LONG_PARTS).map(|part| long_part(first, part)).collect();
        let answer = ModelAnswer::says(format!("done {keys} {} and {end}", parts.join(" ")));
        return ModelAnswer::Slowly(SLOW_BEAT, Box::new(answer));
    }
    if asked.iter().any(|(_, kind)| *kind == SLOW) {
        let words = "word after word ".repeat(4);
        let answer = ModelAnswer::says(format!("done {keys} {words}and {end}"));
        return ModelAnswer::Slowly(SLOW_BEAT, Box::new(answer));
    }
    ModelAnswer::Slowly(BEAT, Box::new(ModelAnswer::says(format!("done {keys} and {end}"))))
}

/// Returns the messages of the current turn: those behind the last answer or notice.
fn turn(request: &Value) -> &[Value] {
    let messages = request["messages"].as_array().unwrap();
    let is_end = |message: &Value| {
        message["role"] == "assistant" && message["tool_calls"].as_array().is_none_or(Vec::is_empty)
    };
    let first = messages.iter().rposition(is_end).map_or(0, |end| end + 1);
    &messages[first..]
}

/// Returns the keys and kinds of the people's messages, in order.
fn asked(turn: &[Value]) -> Vec<(&str, &str)> {
    let said = turn.iter().filter(|message| message["role"] == "user");
    let texts = said.filter_map(|message| message["content"].as_str());
    let mut asked = Vec::new();
    for text in texts {
        let words: Vec<&str> = text.split_whitespace().collect();
        for pair in words.windows(2) {
            let is_kind = KINDS.contains(&pair[1]) || [SLOW, LONG].contains(&pair[1]);
            let is_message = parse(pair[0]).is_some() && is_kind;
            let is_work = parse_work(pair[0]).is_some() && WORK.contains(&pair[1]);
            if is_message || is_work || pair == [TICK, "every"] {
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
            vec![call("list_directory", json!({})), call("memory_search", json!({"query": key}))]
        }
        "write" => vec![call("write_file", json!({"path": file(key), "content": content(key)}))],
        "remember" => vec![call("memory_write", json!({"text": format!("note {key}")}))],
        "message" => vec![
            call("message", json!({"text": format!("note {key}")})),
            call("list_directory", json!({})),
        ],
        // The call after the effect stays open while the effect takes its time.
        "post" => vec![
            call("list_directory", json!({})),
            call("post", json!({"text": key})),
            call("memory_search", json!({"query": key})),
        ],
        "effect" => vec![call("post", json!({"text": key}))],
        "tasks" => vec![
            call("spawn", json!({"label": key, "task": format!("{key}a effect")})),
            call("spawn", json!({"label": key, "task": format!("{key}b effect")})),
        ],
        "background" => {
            let task = format!("{key}a effect");
            vec![call("spawn", json!({"label": key, "task": task, "background": true}))]
        }
        "remind" => {
            let text = format!("remind {key}");
            vec![call("schedule", json!({"action": "add", "in": "1s", "text": text}))]
        }
        "later" => {
            let task = format!("{key}a effect");
            let later = json!({"action": "add", "in": "1s", "task": task});
            vec![call("list_directory", json!({"path": "."})), call("schedule", later)]
        }
        "every" => vec![call("schedule", json!({"action": "add", "every": "1m", "text": key}))],
        _ => Vec::new(),
    }
}

fn long_part(key: &str, part: u32) -> String {
    format!("part{key}n{part}{}", "x".repeat(LONG_PART))
}

/// Reads a part of a long answer: the message that it answers, and its number.
pub(crate) fn parse_long_part(word: &str) -> Option<(usize, u32, u32)> {
    let (key, part) = word.strip_prefix("part")?.trim_end_matches('x').split_once('n')?;
    let (person, number) = parse(key)?;
    Some((person, number, part.parse().ok()?))
}

/// Returns the path of the file that a message writes.
pub(crate) fn file(key: &str) -> String {
    format!("files/{key}.txt")
}

/// Returns the content of that file.
pub(crate) fn content(key: &str) -> String {
    format!("the content of {key}\n").repeat(20)
}
