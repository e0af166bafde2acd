//! The corpus of realistic replies in `tests/corpus/dialects`, one file per dialect. Its README
//! explains the format.

use std::path::Path;

use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::ToolSpec;
use serde_json::Value;

use super::read::ParsedReply;
use super::{DIALECTS, Dialect, ReplyReader, TextEnd, find_dialect};
use crate::fuzzing::{corpus_tools, read_streamed};

struct Case {
    title: String,
    reply: String,
    calls: Vec<String>,
    text: String,
    is_instructed: bool,
    is_native: bool,
    is_auto: bool,
    end: TextEnd,
}

impl Case {
    fn is_for(&self, instructed: Option<&dyn Dialect>) -> bool {
        if instructed.is_some() { !self.is_native && !self.is_auto } else { !self.is_instructed }
    }

    fn reader<'t>(
        &self,
        instructed: Option<&'static dyn Dialect>,
        tools: &'t [ToolSpec],
    ) -> ReplyReader<'t> {
        ReplyReader { is_auto: self.is_auto, ..ReplyReader::new(instructed, tools) }
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
        let lines =
            |text: &str| if has("[crlf]") { text.replace('\n', "\r\n") } else { text.to_owned() };
        cases.push(Case {
            title: title.to_owned(),
            reply: lines(reply),
            calls: calls.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
            text: lines(text),
            is_instructed: has("[told]"),
            is_native: has("[native]"),
            is_auto: has("[auto]"),
            end: TextEnd::cut_if(has("[cut]")),
        });
    }
    cases
}

fn corpus() -> Vec<(&'static dyn Dialect, Vec<Case>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/dialects");
    let file = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
    DIALECTS.map(|dialect| (dialect, cases(&file(dialect.name())))).into_iter().collect()
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

fn fault(case: &Case, read: &ParsedReply, shown: &str) -> Option<String> {
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

/// Markup that no chat may see.
const MARKUP: [&str; 13] = [
    "]<]",
    "<|",
    "<｜",
    "｜>",
    "tool_call",
    "function_call",
    "arg_key",
    "arg_value",
    "<function",
    "<invoke",
    "<parameter",
    "<escape>",
    "tool_sep",
];

#[test]
fn f7_dialects_read_every_reply_of_the_corpus_as_expected() {
    let tools = corpus_tools();
    let (mut faults, mut count, mut marked) = (Vec::new(), 0, 0);
    for (dialect, cases) in corpus() {
        assert!(cases.len() >= 15, "{} has {} cases", dialect.name(), cases.len());
        count += cases.len();
        for case in &cases {
            for instructed in [Some(dialect), None] {
                if !case.is_for(instructed) {
                    continue;
                }
                let reader = case.reader(instructed, &tools);
                let (read, _, shown) = read_streamed(reader, &[&case.reply], case.end);
                let is_marked = MARKUP.iter().any(|mark| shown.contains(mark));
                marked += usize::from(is_marked && !case.calls.is_empty());
                let native = if instructed.is_none() { "native, " } else { "" };
                faults.extend(
                    fault(case, &read, &shown)
                        .map(|fault| format!("{native}{}: {fault}", dialect.name())),
                );
            }
        }
    }
    println!(
        "replies understood: {} of {count}; with raw markup shown: {marked}",
        count - faults.len().min(count)
    );
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    assert_eq!(marked, 0);
    assert!(count >= 700, "{count} cases");
}

/// Cuts each reply at every third character, and the next case one character later: the cases of a
/// dialect share their marks.
#[test]
fn f7_dialects_read_the_same_wherever_a_reply_is_cut() {
    let tools = corpus_tools();
    for (dialect, cases) in corpus() {
        for (number, case, instructed) in cases
            .iter()
            .enumerate()
            .flat_map(|(number, case)| [(number, case, Some(dialect)), (number, case, None)])
        {
            if !case.is_for(instructed) {
                continue;
            }
            let reader = case.reader(instructed, &tools);
            let places = case.reply.char_indices().map(|(at, _)| at).skip(number % 3).step_by(3);
            let mut cuts: Vec<Vec<&str>> =
                places.map(|at| case.reply.split_at(at)).map(|(a, b)| vec![a, b]).collect();
            cuts.push(case.reply.split("").collect());
            for pieces in cuts {
                let (read, meanwhile, shown) = read_streamed(reader, &pieces, case.end);
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
fn dialects_named_finds_every_dialect_by_its_name() {
    for dialect in DIALECTS {
        assert_eq!(find_dialect(dialect.name()).map(Dialect::name), Some(dialect.name()));
    }
    assert!(find_dialect("pidgin").is_none());
}
