//! Model fakes for jobs on a real crate. Each decides by the request that it gets: by the calls and
//! the results in it, for example by the output of `cargo test`.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use serde_json::{Value, json};

/// A call in a request, with its result.
#[derive(Debug)]
pub(crate) struct SeenCall {
    name: String,
    result: String,
}

impl SeenCall {
    fn value(&self) -> Value {
        serde_json::from_str(&self.result).unwrap_or_else(|_| json!(self.result))
    }
}

/// Returns the calls in a request, in order.
fn seen(request: &Value) -> Vec<SeenCall> {
    let messages = request["messages"].as_array().unwrap();
    let result_of = |id: &Value| {
        let results = messages.iter().filter(|message| message["role"] == "tool");
        let mut own = results.filter(|message| message["tool_call_id"] == *id);
        own.next().and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
    };
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let seen = calls.map(|call| SeenCall {
        name: call["function"]["name"].as_str().unwrap().to_owned(),
        result: result_of(&call["id"]),
    });
    seen.collect()
}

/// Returns the last call of a tool.
fn last<'s>(seen: &'s [SeenCall], name: &str) -> Option<&'s SeenCall> {
    seen.iter().rfind(|call| call.name == name)
}

/// Returns the output of the last command if no file was changed after it.
fn fresh_output(seen: &[SeenCall]) -> Option<String> {
    let place = |name: &str| seen.iter().rposition(|call| call.name == name);
    let ran = place("exec_shell")?;
    if place("edit_file").is_some_and(|edited| edited > ran) {
        return None;
    }
    Some(seen[ran].value()["output"].as_str().unwrap_or_default().to_owned())
}

/// Returns the value behind `left:` or `right:` of a failed assertion.
fn side<'o>(output: &'o str, name: &str) -> &'o str {
    let line = output.lines().find_map(|line| line.trim().strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {output}")).trim()
}

fn cargo_test() -> ModelAnswer {
    ModelAnswer::call("exec_shell", json!({ "command": "cargo test --offline", "timeout": 300 }))
}

fn replace(find: &str, by: &str) -> ModelAnswer {
    ModelAnswer::call("edit_file", json!({ "path": "src/lib.rs", "find": find, "replace": by }))
}

/// Adds `longest` with a test: wrong at first, then corrected with the output of the failed test.
pub(crate) async fn builder() -> OpenAiFake {
    OpenAiFake::start(|request| builds(&seen(request))).await
}

fn builds(seen: &[SeenCall]) -> ModelAnswer {
    const WRONG: &str = "/// Returns the longest word of a text.\n\
        pub fn longest(text: &str) -> &str {\n    \
        text.split_whitespace().min_by_key(|word| word.len()).unwrap_or_default()\n}\n\n\
        #[cfg(test)]\nmod tests {\n    #[test]\n    fn longest_returns_the_longest_word() {\n        \
        assert_eq!(super::longest(\"a three bb\"), \"three\");\n    }\n\n";
    let branch = last(seen, "job_branch").unwrap_or_else(|| panic!("no branch in {seen:?}"));
    assert!(branch.value()["branch"].as_str().unwrap().starts_with("avocet/job-"), "{branch:?}");
    if last(seen, "list_directory").is_none() {
        return ModelAnswer::call("list_directory", json!({ "path": "src" }));
    }
    let Some(read) = last(seen, "read_file") else {
        assert!(last(seen, "list_directory").unwrap().result.contains("lib.rs"), "{seen:?}");
        return ModelAnswer::call("read_file", json!({ "path": "src/lib.rs" }));
    };
    if last(seen, "edit_file").is_none() {
        assert!(read.result.contains("pub fn words"), "{read:?}");
        return replace("#[cfg(test)]\nmod tests {\n", WRONG);
    }
    let Some(output) = fresh_output(seen) else { return cargo_test() };
    if output.contains("test result: FAILED") {
        assert!(output.contains("longest_returns_the_longest_word"), "{output}");
        let is_shortest = side(&output, "left:").len() < side(&output, "right:").len();
        let (wrong, right) = if is_shortest { ("min_by_key", "max_by_key") } else { ("?", "?") };
        return replace(wrong, right);
    }
    assert!(output.contains("test result: ok. 2 passed"), "{output}");
    if last(seen, "git_add").is_none() {
        return ModelAnswer::call("git_add", json!({ "paths": ["src"] }));
    }
    match last(seen, "git_commit") {
        None => ModelAnswer::call("git_commit", json!({ "message": "add longest" })),
        Some(commit) => {
            assert_eq!(commit.value()["subject"], "add longest", "{commit:?}");
            ModelAnswer::says("Added `longest` with a test.\n\nTASK COMPLETE")
        }
    }
}

/// Runs the failing test before it changes anything, and then repairs its cause.
pub(crate) async fn debugger() -> OpenAiFake {
    OpenAiFake::start(|request| debugs(&seen(request))).await
}

fn debugs(seen: &[SeenCall]) -> ModelAnswer {
    let Some(first) = seen.iter().find(|call| call.name == "exec_shell") else {
        assert!(last(seen, "edit_file").is_none(), "an edit before the reproduction: {seen:?}");
        return cargo_test();
    };
    let failure = first.value()["output"].as_str().unwrap().to_owned();
    assert!(failure.contains("test result: FAILED"), "it is not reproduced: {failure}");
    assert_eq!((side(&failure, "left:"), side(&failure, "right:")), ("3", "2"));
    let Some(read) = last(seen, "read_file") else {
        return ModelAnswer::call("read_file", json!({ "path": "src/lib.rs" }));
    };
    if last(seen, "edit_file").is_none() {
        assert!(read.result.contains("split(' ')"), "{read:?}");
        return replace("split(' ')", "split_whitespace()");
    }
    let Some(output) = fresh_output(seen) else { return cargo_test() };
    assert!(output.contains("test result: ok. 2 passed"), "{output}");
    ModelAnswer::says("Cause: `split(' ')` counts empty words.\n\nTASK COMPLETE")
}

/// Reads, tries to repair what it finds, and writes findings.
pub(crate) async fn reviewer() -> OpenAiFake {
    OpenAiFake::start(|request| {
        reads_only(request, "write_file", |found| {
            format!("1. src/lib.rs:{found}: double spaces count as words.\n\nTASK COMPLETE")
        })
    })
    .await
}

/// Looks for the code that a report concerns, tries to run it, and answers with a plan.
pub(crate) async fn triager() -> OpenAiFake {
    OpenAiFake::start(|request| {
        reads_only(request, "exec_shell", |found| {
            format!("Fault.\n1. Repair src/lib.rs line {found}.\n2. Add a test.\n\nTASK COMPLETE")
        })
    })
    .await
}

/// Searches for the cause, calls a tool that its profile lacks, and answers with the line.
fn reads_only(request: &Value, forbidden: &str, answer: impl Fn(&str) -> String) -> ModelAnswer {
    let offered = request["tools"].as_array().unwrap();
    assert!(offered.iter().all(|tool| tool["function"]["name"] != forbidden), "{offered:?}");
    let seen = seen(request);
    let Some(read) = last(&seen, "read_file") else {
        return ModelAnswer::call("read_file", json!({ "path": "src/lib.rs" }));
    };
    let line = read.result.lines().find(|line| line.contains("split(' ')")).unwrap();
    let line = line.split('\t').next().unwrap().to_owned();
    match last(&seen, forbidden) {
        None if forbidden == "write_file" => {
            let arguments = json!({ "path": "src/lib.rs", "content": "broken" });
            ModelAnswer::call(forbidden, arguments)
        }
        None => ModelAnswer::call(forbidden, json!({ "command": "rm -r src" })),
        Some(refused) => {
            assert!(refused.result.contains("is not a tool here"), "{refused:?}");
            ModelAnswer::says(answer(line.trim()))
        }
    }
}
