//! The corpus: replies as models write them, in `tests/corpus/dialects`, one file per dialect; its
//! README says what a case looks like.

use std::path::Path;
use std::sync::Mutex;

use avocet_protocol::{Arguments, Delta, ToolCall, ToolSpec};
use serde_json::{Value, json};

use super::read::Read;
use super::{DIALECTS, Dialect, Reader, Streamed, named};
use crate::hidden::Visible;

pub(super) fn tools() -> Vec<ToolSpec> {
    let aliases = |name: &str| match name {
        "edit_file" => &["code_edit", "edit"][..],
        "list_directory" => &["ls", "navigate"],
        "read_file" => &["cat", "file", "show"],
        "write_file" => &["write"],
        _ => &[],
    };
    let tool = |name: &str, description: &str, properties: Value, required: Value| ToolSpec {
        name: name.to_owned(),
        aliases: aliases(name).iter().map(|alias| (*alias).to_owned()).collect(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required,
            "additionalProperties": false }),
    };
    let text = |about: &str| json!({ "type": "string", "description": about });
    let path = json!({ "type": "string", "description": "Path relative to the workspace root.",
        "x-aliases": ["file_path"] });
    vec![
        tool(
            "edit_file",
            "Replace a text in a file.",
            json!({ "path": path,
                "old_text": { "type": "string", "description": "What is there.",
                    "x-aliases": ["find_text", "old_string"] },
                "new_text": text("What comes in its place.") }),
            json!(["path", "old_text", "new_text"]),
        ),
        tool("list_directory", "List a directory.", json!({ "path": text("Which.") }), json!([])),
        tool("memory_read", "Recall every note.", json!({}), json!([])),
        tool(
            "read_file",
            "Read a text file, or some of its lines.",
            json!({
                "path": path,
                "start_line": { "type": "integer", "description": "The first line, from 1.",
                    "x-aliases": ["l"], "x-range": "end_line" },
                "end_line": { "type": "integer", "description": "The last line." },
            }),
            json!(["path"]),
        ),
        tool(
            "search",
            "Find lines in files.",
            json!({
                "pattern": { "type": "string", "description": "What to find.", "x-aliases": ["t"] },
                "path": text("Where to look."),
                "all": { "type": "boolean", "description": "Hidden files, too.", "x-aliases": ["a"] },
                "kinds": { "type": "array", "items": { "type": "string" }, "description": "Endings." },
            }),
            json!(["pattern"]),
        ),
        tool(
            "write_file",
            "Write a file.",
            json!({ "path": path,
                "content": text("The whole file.") }),
            json!(["path", "content"]),
        ),
    ]
}

struct Case {
    title: String,
    reply: String,
    calls: Vec<String>,
    text: String,
    is_told: bool,
    is_native: bool,
    is_cut: bool,
}

impl Case {
    fn is_for(&self, told: Option<&dyn Dialect>) -> bool {
        if told.is_some() { !self.is_native } else { !self.is_told }
    }
}

fn cases(file: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for case in format!("\n{file}").split("\n=== ").skip(1) {
        let (title, body) = case.split_once('\n').unwrap();
        let body = body.trim_end_matches('\n');
        let (body, text) = body.split_once("\n--- text\n").unwrap_or((body, ""));
        let (reply, calls) = body.split_once("\n--- calls\n").unwrap_or((body, ""));
        let has = |flag: &str| title.contains(flag);
        let lines = |text: &str| match has("[crlf]") {
            true => text.replace('\n', "\r\n"),
            false => text.to_owned(),
        };
        cases.push(Case {
            title: title.to_owned(),
            reply: lines(reply),
            calls: calls.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
            text: lines(text),
            is_told: has("[told]"),
            is_native: has("[native]"),
            is_cut: has("[cut]"),
        });
    }
    cases
}

fn corpus() -> Vec<(&'static dyn Dialect, Vec<Case>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/dialects");
    let file = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
    DIALECTS.map(|dialect| (dialect, cases(&file(dialect.name())))).into_iter().collect()
}

/// A reply that comes in these pieces, and what was shown meanwhile and at the end.
pub(super) fn streamed(
    reader: Reader<'_>,
    pieces: &[&str],
    is_cut: bool,
) -> (Read, String, String) {
    let shown = Mutex::new(String::new());
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.lock().unwrap().push_str(text),
        Delta::Restart => shown.lock().unwrap().push('⟲'),
    };
    let streamed = Mutex::new(Streamed::new(reader));
    let mut visible = Visible::keeping_calls();
    let pass = |delta: Delta<'_>| match delta {
        Delta::Text(text) => streamed.lock().unwrap().push(text, show),
        Delta::Restart => {
            streamed.lock().unwrap().restart();
            shown.lock().unwrap().clear();
        }
    };
    for piece in pieces {
        visible.push(piece, pass);
    }
    let text = visible.finish(pass);
    let meanwhile = shown.lock().unwrap().clone();
    let streamed = streamed.into_inner().unwrap();
    let read = streamed.read(&text, is_cut);
    streamed.finish(&read.text, show);
    (read, meanwhile, shown.into_inner().unwrap())
}

fn is_like(call: &ToolCall, expected: &str) -> bool {
    let (name, arguments) = expected.split_once(' ').unwrap();
    call.name == name
        && match (&call.arguments, arguments.strip_prefix('!')) {
            (Arguments::Malformed(text), Some(part)) => text.contains(part.trim()),
            (Arguments::Object(object), None) => {
                serde_json::from_str::<Value>(arguments).unwrap() == Value::Object(object.clone())
            }
            _ => false,
        }
}

fn fault(case: &Case, read: &Read, shown: &str) -> Option<String> {
    let same = read.calls.len() == case.calls.len()
        && read.calls.iter().zip(&case.calls).all(|(call, expected)| is_like(call, expected));
    let is_right = same && read.text == case.text && shown.trim_end() == case.text.trim_end();
    let (calls, text) = (&read.calls, &read.text);
    (!is_right).then(|| {
        format!(
            "{}\n  calls {calls:?}\n  text {text:?}\n  want {:?}\n  shown {shown:?}",
            case.title, case.text
        )
    })
}

#[test]
fn f7_every_reply_of_the_corpus_is_read_as_it_is_meant() {
    let tools = tools();
    let (mut faults, mut count) = (Vec::new(), 0);
    for (dialect, cases) in corpus() {
        assert!(cases.len() >= 15, "{} has {} cases", dialect.name(), cases.len());
        count += cases.len();
        for case in &cases {
            for told in [Some(dialect), None] {
                if !case.is_for(told) {
                    continue;
                }
                let reader = Reader { told, tools: &tools };
                let (read, _, shown) = streamed(reader, &[&case.reply], case.is_cut);
                let native = if told.is_none() { "native, " } else { "" };
                faults.extend(
                    fault(case, &read, &shown)
                        .map(|fault| format!("{native}{}: {fault}", dialect.name())),
                );
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    assert!(count >= 200, "{count} cases");
}

#[test]
fn f7_it_does_not_matter_where_a_reply_is_cut() {
    let tools = tools();
    for (dialect, cases) in corpus() {
        for (case, told) in cases.iter().flat_map(|case| [(case, Some(dialect)), (case, None)]) {
            if !case.is_for(told) {
                continue;
            }
            let reader = Reader { told, tools: &tools };
            let places = case.reply.char_indices().map(|(at, _)| at);
            let mut cuts: Vec<Vec<&str>> =
                places.map(|at| case.reply.split_at(at)).map(|(a, b)| vec![a, b]).collect();
            cuts.push(case.reply.split("").collect());
            for pieces in cuts {
                let (read, meanwhile, shown) = streamed(reader, &pieces, case.is_cut);
                assert_eq!(fault(case, &read, &shown), None, "{}: {pieces:?}", dialect.name());
                assert!(
                    case.text.starts_with(meanwhile.trim_end()),
                    "{meanwhile:?} of {:?}",
                    case.title
                );
            }
        }
    }
}

#[test]
fn every_dialect_has_its_name() {
    for dialect in DIALECTS {
        assert_eq!(named(dialect.name()).map(Dialect::name), Some(dialect.name()));
    }
    assert!(named("pidgin").is_none());
}
