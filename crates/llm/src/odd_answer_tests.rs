//! Answers with odd fields and in odd frames: the cases from the field in `testdata`, and good
//! answers whose fields are changed at random.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

use crate::anthropic::answer::AnthropicAnswer;
use crate::endpoint::{AnswerError, CompleteAnswer};
use crate::fuzzing::read_body;
use crate::gemini::answer::GeminiAnswer;
use crate::ollama::answer::OllamaAnswer;
use crate::openai::answer::OpenAiChatAnswer;
use crate::openai::responses::ResponsesAnswer;
use crate::testing::tool_call;

type BodyReader = fn(&str) -> Result<CompleteAnswer, AnswerError>;

/// The wires, by the names of their folders and corpus files.
const WIRES: [(&str, BodyReader); 5] = [
    ("anthropic", read_body::<AnthropicAnswer>),
    ("gemini", read_body::<GeminiAnswer>),
    ("ollama", read_body::<OllamaAnswer>),
    ("openai_chat", read_body::<OpenAiChatAnswer>),
    ("openai_responses", read_body::<ResponsesAnswer>),
];

/// The keys of fields that carry the text or the end of an answer. No other field is needed.
const NEEDED: [&str; 21] = [
    "candidates",
    "choices",
    "content",
    "content_block",
    "delta",
    "done",
    "error",
    "finishReason",
    "finish_reason",
    "function",
    "functionCall",
    "item",
    "message",
    "output",
    "parts",
    "refusal",
    "response",
    "stop_reason",
    "text",
    "thought",
    "type",
];

fn in_package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files of a folder with their contents.
fn files(folder: &str) -> Vec<(String, String)> {
    let files = std::fs::read_dir(in_package("testdata").join(folder)).unwrap();
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    files.map(|file| read(file.unwrap().path())).collect()
}

/// The bodies of good answers of a wire.
fn good_bodies(wire: &str) -> Vec<String> {
    let path = in_package("../../tests/corpus/answers").join(format!("{wire}.txt"));
    let file = format!("\n{}", std::fs::read_to_string(path).unwrap());
    let cases = file.split("\n=== ").skip(1).map(|case| case.split_once('\n').unwrap().1);
    cases.map(|body| body.split("\n--- ").next().unwrap().to_owned()).collect()
}

#[test]
fn every_wire_reads_the_answers_with_odd_fields() {
    let mut read = 0;
    for (wire, read_body) in WIRES {
        for (path, body) in files(wire) {
            let expected = if path.contains("halves") { "HI 😀 END" } else { "ANSWER HERE" };
            let text = read_body(&body).map(|said| said.text);
            assert_eq!(text.as_deref(), Ok(expected), "{path}");
            read += 1;
        }
    }
    assert!(read >= 32, "{read}");
}

#[test]
fn every_wire_reads_an_answer_in_any_frame() {
    for (wire, read_body) in WIRES {
        for body in good_bodies(wire) {
            let whole = read_body(&body).unwrap();
            let single: String = body
                .lines()
                .filter(|line| !line.is_empty())
                .map(|line| format!("{line}\n"))
                .collect();
            let is_json = |line: &&str| line.contains('{');
            let bare: Vec<&str> = body
                .lines()
                .map(|line| line.strip_prefix("data: ").unwrap_or(line))
                .filter(is_json)
                .collect();
            let wrapped: Vec<String> = bare
                .iter()
                .map(|line| format!("data: : WAIT\n\nevent: x\ndata:{line}\n\n"))
                .collect();
            let split: Vec<String> = bare
                .iter()
                .map(|line| format!("data: {}\n\n", line.replacen(':', ":\ndata: ", 1)))
                .collect();
            // An answer of one line is a whole body in these frames.
            let end = if bare.len() == 1 { "" } else { "data: [DONE]\n\n" };
            let frames = [
                single.clone(),
                single.trim_end().to_owned(),
                body.replace('\n', "\r\n"),
                format!("\u{feff}{body}"),
                format!(": alive\n\n{body}: alive\n\n"),
                format!("{}\n", bare.join("\n")),
                format!("[{}]", bare.join(",\n")),
                wrapped.concat() + end,
                split.concat() + end,
            ];
            for frame in frames {
                let said = read_body(&frame);
                assert_eq!(said.as_ref(), Ok(&whole), "{wire}: {frame}");
            }
        }
    }
}

#[test]
fn every_wire_takes_done_as_the_end_of_an_answer_but_no_silence() {
    let table = [
        ("anthropic", json!({ "type": "content_block_delta", "delta": { "text": "so" } })),
        ("gemini", json!({ "candidates": [{ "content": { "parts": [{ "text": "so" }] } }] })),
        ("ollama", json!({ "message": { "content": "so" } })),
        ("openai_chat", json!({ "choices": [{ "delta": { "content": "so" } }] })),
        ("openai_responses", json!({ "type": "response.output_text.delta", "delta": "so" })),
    ];
    for ((wire, read_body), (_, piece)) in WIRES.into_iter().zip(table) {
        let text = |body: &str| read_body(body).map(|said| said.text);
        let stream = format!("data: {piece}\n\n");
        assert_eq!(text(&format!("{stream}data: [DONE]\n\n")).as_deref(), Ok("so"), "{wire}");
        assert!(text(&stream).is_err() && text("data: [DONE]\n\n").is_err(), "{wire}");
        assert!(text(&format!("{stream}data: {{\"error\": \"oops\"}}\n\n")).is_err(), "{wire}");
    }
}

#[test]
fn every_wire_reads_halves_of_characters_in_arguments() {
    // Cut between two pieces, or alone in the JSON that the model wrote.
    let cut = [r#"{\"x\": \"\ud83d"#, r#"\ude00\"}"#];
    let alone = [r#"{\"x\": \"\\ud83d"#, r#" a\"}"#];
    let pieces = |wire: &str, [one, two]: [&str; 2]| match wire {
        "anthropic" => format!(
            r#"data: {{"content_block": {{"type": "tool_use", "name": "one"}}}}

data: {{"delta": {{"partial_json": "{one}"}}}}

data: {{"delta": {{"partial_json": "{two}"}}}}
"#
        ),
        "openai_responses" => format!(
            r#"data: {{"type": "response.output_item.added", "item": {{"type": "function_call", "name": "one"}}}}

data: {{"type": "response.function_call_arguments.delta", "delta": "{one}"}}

data: {{"type": "response.function_call_arguments.delta", "delta": "{two}"}}
"#
        ),
        "openai_chat" => [one, two]
            .map(|piece| {
                format!(
                    "data: {{\"choices\": [{{\"delta\": {{\"tool_calls\": [{{\"index\": 0, \
                     \"function\": {{\"name\": \"one\", \"arguments\": \"{piece}\"}}}}]}}}}]}}\n\n"
                )
            })
            .concat(),
        "ollama" => format!(
            r#"data: {{"message": {{"tool_calls": [{{"function": {{"name": "one", "arguments": "{one}{two}"}}}}]}}}}

"#
        ),
        _ => format!(
            r#"data: {{"candidates": [{{"content": {{"parts": [{{"functionCall": {{"name": "one", "args": "{one}{two}"}}}}]}}}}]}}

"#
        ),
    };
    for (wire, read_body) in WIRES {
        for (halves, expected) in [(cut, "😀"), (alone, "\u{fffd} a")] {
            let body = format!("{}\ndata: [DONE]\n\n", pieces(wire, halves));
            let calls = read_body(&body).map(|said| said.calls);
            assert_eq!(calls, Ok(vec![tool_call("one", &json!({ "x": expected }))]), "{body}");
        }
    }
}

/// A change of a field that is not needed.
#[derive(Debug, Clone)]
enum FieldChange {
    Replace(Value),
    Remove,
    /// Adds the key a second time, before the field.
    Repeat(Value),
    MoveToEnd,
    /// Adds a field.
    Add(&'static str, Value),
}

fn odd_value() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(""),
        json!("x"),
        json!("0"),
        json!(0),
        json!(-1),
        json!(0.0),
        json!(-0.5),
        json!(1e300),
        json!(true),
        json!(false),
        json!([]),
        json!([null]),
        json!({}),
        json!({ "x": [1] }),
    ])
}

fn field_change() -> impl Strategy<Value = FieldChange> {
    let new = vec!["error", "x_new", "detail", "logprobs"];
    let nothing = vec![json!(null), json!(""), json!(false), json!(0), json!({}), json!([])];
    prop_oneof![
        odd_value().prop_map(FieldChange::Replace),
        Just(FieldChange::Remove),
        odd_value().prop_map(FieldChange::Repeat),
        Just(FieldChange::MoveToEnd),
        (select(new), select(nothing)).prop_map(|(key, value)| FieldChange::Add(key, value)),
    ]
}

/// All objects in a value that is an event, by their pointers, the innermost last.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(at.to_owned());
            for (key, value) in fields.iter().filter(|(key, _)| NEEDED.contains(&key.as_str())) {
                objects(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                objects(item, &format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
}

/// Changes a field of the event in a line. Repeated keys are written by hand.
fn changed(line: &str, object: &Index, field: &Index, change: &FieldChange) -> String {
    let Some(start) = line.find('{') else { return line.to_owned() };
    let Ok(mut event) = serde_json::from_str::<Value>(&line[start..]) else {
        return line.to_owned();
    };
    let mut places = Vec::new();
    objects(&event, "", &mut places);
    let place = &places[object.index(places.len())];
    let fields = event.pointer_mut(place).unwrap().as_object_mut().unwrap();
    if let FieldChange::Add(key, value) = change {
        fields.entry(*key).or_insert(value.clone());
        return format!("{}{event}", &line[..start]);
    }
    let keys: Vec<String> =
        fields.keys().filter(|key| !NEEDED.contains(&key.as_str())).cloned().collect();
    if keys.is_empty() {
        return line.to_owned();
    }
    let key = &keys[field.index(keys.len())];
    let mut repeated = None;
    match change {
        FieldChange::Replace(value) => fields[key] = value.clone(),
        FieldChange::Remove => drop(fields.shift_remove(key)),
        FieldChange::Repeat(value) => {
            let first = Map::from_iter([("first".to_owned(), value.clone())]);
            repeated = Some((format!("\"{key}\":"), Value::Object(first)["first"].to_string()));
        }
        FieldChange::MoveToEnd => {
            let value = fields.shift_remove(key).unwrap();
            fields.insert(key.clone(), value);
        }
        FieldChange::Add(..) => {}
    }
    let mut text = event.to_string();
    if let Some((key, value)) = repeated {
        text = text.replacen(&key, &format!("{key}{value},{key}"), 1);
    }
    format!("{}{text}", &line[..start])
}

/// The bodies of good answers with a text, and their texts, by wire.
static GOOD_ANSWERS: LazyLock<HashMap<&str, Vec<(String, String)>>> = LazyLock::new(|| {
    let of_wire = |read_body: BodyReader, wire| {
        let read = |body: String| (read_body(&body).unwrap().text, body);
        let answers = good_bodies(wire).into_iter().map(read);
        answers.filter(|(text, _)| !text.is_empty()).map(|(text, body)| (body, text)).collect()
    };
    WIRES.into_iter().map(|(wire, read_body)| (wire, of_wire(read_body, wire))).collect()
});

proptest! {
    // A fixed seed, so that a failure is the fault of a change.
    #![proptest_config(ProptestConfig {
        cases: 1000,
        rng_seed: RngSeed::Fixed(35),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_wire_reads_the_text_whatever_other_fields_are(
        wire in select(WIRES.to_vec()),
        body in any::<Index>(),
        changes in prop::collection::vec(
            (any::<Index>(), any::<Index>(), any::<Index>(), field_change()), 1..8),
    ) {
        let (name, read_body) = wire;
        let bodies = &*GOOD_ANSWERS[name];
        let (body, expected) = &bodies[body.index(bodies.len())];
        let mut lines: Vec<String> = body.lines().map(str::to_owned).collect();
        for (line, object, field, change) in &changes {
            let place = line.index(lines.len());
            lines[place] = changed(&lines[place], object, field, change);
        }
        let odd = lines.join("\n") + "\n";
        let said = read_body(&odd).map(|said| said.text);
        prop_assert_eq!(said.as_deref(), Ok(expected.as_str()), "{}: {}", name, odd);
    }
}
