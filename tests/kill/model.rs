//! The model: what it answers follows from the request alone, so that asking again changes nothing.

use std::time::Duration;

use avocet_testkit::openai::{ModelAnswer, last_results, last_user_text};
use serde_json::{Value, json};

/// What people ask for, in turn.
pub(crate) const KINDS: [&str; 6] = ["plain", "read", "write", "remember", "message", "post"];

/// What only people on platforms ask for: an answer that takes its time, so that they see it grow.
pub(crate) const SLOW: &str = "slow";

/// How every answer ends.
pub(crate) const END: &str = "that is all";

const SLOW_BEAT: Duration = Duration::from_millis(100);

/// Every delta takes a moment, so that a kill falls into the middle of answers.
const BEAT: Duration = Duration::from_millis(1);

/// `KEY KIND` is asked; first come the calls, then `done KEY`.
pub(crate) fn answer(request: &Value) -> ModelAnswer {
    let asked = last_user_text(request);
    let (key, kind) = asked.split_once(' ').unwrap();
    let called = !last_results(request).is_empty();
    let call = |name: &str, arguments: Value| (name.to_owned(), arguments);
    let calls = match kind {
        _ if called => Vec::new(),
        "plain" | SLOW => Vec::new(),
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
        other => panic!("nobody asks for {other}"),
    };
    if kind == SLOW {
        let words = "word after word ".repeat(4);
        let answer = ModelAnswer::says(format!("done {key} {words}and {END}"));
        return ModelAnswer::Slowly(SLOW_BEAT, Box::new(answer));
    }
    let answer = if calls.is_empty() {
        ModelAnswer::says(format!("done {key} and {END}"))
    } else {
        ModelAnswer::Calls(calls)
    };
    ModelAnswer::Slowly(BEAT, Box::new(answer))
}

/// The file that a message has written.
pub(crate) fn file(key: &str) -> String {
    format!("files/{key}.txt")
}

/// What is in it.
pub(crate) fn content(key: &str) -> String {
    format!("the content of {key}\n").repeat(20)
}
