//! Tests for all dialects: they are distinguished, read the same however the reply is divided,
//! terminate, and never panic.

use avocet_protocol::model::{Arguments, ImageRef, Message, SentCall, ToolCall};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{AnsweredCall, DIALECTS, Dialect, ReplyReader, TextEnd, as_text};
use crate::fuzzing::{corpus_tools, read_streamed};

fn sent(id: &str, name: &str, arguments: Value) -> SentCall {
    let Value::Object(arguments) = arguments else { panic!("{arguments} is no object") };
    SentCall { id: id.to_owned(), name: name.to_owned(), arguments }
}

#[test]
fn dialects_render_tools_calls_and_results_in_their_own_format() {
    let tools: Vec<_> = corpus_tools()
        .into_iter()
        .filter(|tool| ["read_file", "search"].contains(&&*tool.name))
        .collect();
    let read = sent("1", "read_file", json!({ "path": "src/main.rs", "start_line": 3 }));
    let search = sent("2", "search", json!({ "pattern": "fn main() {", "all": true }));
    let results = [
        AnsweredCall { call: &read, ok: true, result: "3: fn main() {}" },
        AnsweredCall { call: &search, ok: false, result: r#"{"error":"file not found: src"}"# },
    ];
    for dialect in DIALECTS {
        let rendered = dialect.render_tools(&tools);
        let calls = dialect.render_calls(&[read.clone(), search.clone()], &tools);
        let (one, two) = (dialect.render_results(&results[..1]), dialect.render_results(&results));
        let parts =
            [("tools", rendered), ("calls", calls), ("a result", one), ("two results", two)];
        let parts = parts.map(|(title, text)| format!("===== {title}\n{text}\n"));
        insta::assert_snapshot!(dialect.name(), parts.concat());
    }
}

#[test]
fn dialects_are_distinguished_by_their_calls() {
    let (tools, call) = (corpus_tools(), sent("1", "read_file", json!({ "path": "a.rs" })));
    for dialect in DIALECTS {
        let text =
            format!("Let me see.\n\n{}", dialect.render_calls(std::slice::from_ref(&call), &tools));
        let read = ReplyReader::new(None, &tools).read(&text, TextEnd::Complete);
        assert_eq!(read.dialect.map(Dialect::name), Some(dialect.name()));
    }
    let read = ReplyReader::new(None, &tools).read("Just a text.", TextEnd::Complete);
    assert!(read.dialect.is_none());
}

#[test]
fn dialects_as_text_joins_the_results_of_a_step_in_one_message() {
    let tools = corpus_tools();
    let image = ImageRef { path: "inbox/a.png".to_owned() };
    let calls = vec![
        sent("1", "read_file", json!({ "path": "a.rs" })),
        sent("2", "memory_read", json!({})),
    ];
    let result = |call: &str, ok: bool, result: &str| Message::ToolResult {
        call: call.to_owned(),
        ok,
        result: result.to_owned(),
    };
    let messages = [
        Message::System { text: "Be kind.".to_owned() },
        Message::user("Read it."),
        Message::Assistant { text: "Yes.".to_owned(), calls, reasoning: None },
        result("1", true, "fn main() {}"),
        result("2", false, r#"{"error":"no notes"}"#),
        Message::User { text: "Wait!".to_owned(), images: vec![image.clone()] },
    ];
    let json = super::find_dialect("json").unwrap();
    let text = as_text(json, &messages, &tools);
    assert_eq!(avocet_testkit::history_complaint(&text), None);
    let [Message::System { text: system }, Message::User { .. }, assistant, answers] = &text[..]
    else {
        panic!("{text:#?}");
    };
    assert!(system.starts_with("Be kind.\n\n# Tools\n"), "{system}");
    let Message::Assistant { text: said, calls, .. } = assistant else { panic!("{assistant:?}") };
    assert!(said.starts_with("Yes.\n\n```json\n") && calls.is_empty(), "{said}");
    let Message::User { text: results, images } = answers else { panic!("{answers:?}") };
    assert!(
        results.starts_with("1. read_file succeeded:\nfn main() {}\n\n2. memory_read failed: ")
    );
    assert!(results.ends_with("\n\nWait!"), "{results}");
    assert_eq!(images, &[image]);

    let without = as_text(json, &[Message::user("Hi.")], &tools);
    assert!(matches!(&without[..], [Message::System { .. }, Message::User { .. }]));
    assert_eq!(as_text(json, &[Message::user("Hi.")], &[]), [Message::user("Hi.")]);
}

#[test]
fn dialects_render_a_result_as_an_error_only_if_the_call_failed() {
    let call = sent("1", "read_file", json!({ "path": "a" }));
    let outcome = |ok, result| {
        super::find_dialect("json").unwrap().render_results(&[AnsweredCall {
            call: &call,
            ok,
            result,
        }])
    };
    let error = r#"{"error":"gone"}"#;
    assert!(outcome(true, error).starts_with("read_file succeeded:\n{\"error\":\"gone\"}\n"));
    let input = "The input was: {\"path\":\"a\"}";
    assert!(outcome(false, error).starts_with(&format!("read_file failed: gone\n{input}")));
    assert!(outcome(false, "gone").starts_with(&format!("read_file failed: gone\n{input}")));
}

#[test]
fn f8_dialects_keep_unreadable_arguments_in_a_call_that_the_model_can_correct() {
    let tools = corpus_tools();
    let arguments = ["{\"path\": \"a", "{\"path\" \"a\"}", "{\"path\": \"a\" \"b\"}", "{path"];
    let forms = [
        ("```json\n{\"tool\": \"read_file\", \"params\": ", "}\n```"),
        ("<tool_call>{\"name\": \"read_file\", \"arguments\": ", "}</tool_call>"),
        ("<|python_tag|>{\"name\": \"read_file\", \"parameters\": ", "}"),
        ("[TOOL_CALLS]read_file", ""),
        ("<|channel|>commentary to=functions.read_file<|message|>", "<|call|>"),
        ("Action: read_file\nAction Input: ", "\n"),
        ("<function=read_file>", "</function>"),
    ];
    for ((before, after), arguments) in forms.iter().flat_map(|f| arguments.map(|a| (f, a))) {
        let text = format!("{before}{arguments}{after}");
        let (read, _, shown) =
            read_streamed(ReplyReader::new(None, &tools), &[&text], TextEnd::Complete);
        let [ToolCall { name, arguments: Arguments::Malformed(kept) }] = &read.calls[..] else {
            panic!("{text}: {read:?}");
        };
        assert!(name == "read_file" && kept.contains(arguments), "{text}: {read:?}");
        assert_eq!((read.text.as_str(), shown.as_str()), ("", ""), "{text}");
    }
}

#[test]
fn dialects_withhold_a_long_call_in_tiny_pieces_and_read_it_at_its_end() {
    let tools = corpus_tools();
    let content = "if (a < b) { \"x\"; } // [y]\n".repeat(500);
    let call = sent("1", "write_file", json!({ "path": "a.c", "content": content }));
    for dialect in DIALECTS {
        let whole = dialect.render_calls(std::slice::from_ref(&call), &tools);
        let pieces: Vec<&str> = whole.split_inclusive([' ', '\\']).collect();
        let reader = ReplyReader::new(None, &tools);
        let (read, meanwhile, shown) = read_streamed(reader, &pieces, TextEnd::Complete);
        let arguments = Arguments::Object(call.arguments.clone());
        assert_eq!(read.calls, [ToolCall { name: call.name.clone(), arguments }]);
        assert_eq!((meanwhile.as_str(), shown.as_str()), ("", ""));
    }
}

#[test]
fn dialects_show_a_block_that_cannot_be_a_call_while_it_streams() {
    let tools = corpus_tools();
    let table = [
        ("```bash\ncargo test", true),
        ("```\nJust a text", true),
        ("```json\nnull", true),
        ("```rust\nfn main", true),
        ("```bash\n# what\n\nread_file", false),
        ("```bash\n$ 'read_file'", false),
        ("```json\n\n{", false),
    ];
    for (begun, is_shown) in table {
        for instructed in [None, super::find_dialect("shell")] {
            let mut streamed = super::StreamedReply::new(ReplyReader::new(instructed, &tools));
            let shown = parking_lot::Mutex::new(String::new());
            for piece in [begun, " a\n", "more of it\n"] {
                streamed.push(piece, |delta| {
                    if let avocet_protocol::model::Delta::Text(text) = delta {
                        shown.lock().push_str(text);
                    }
                });
            }
            let shown = shown.into_inner();
            assert_eq!(shown.contains("more of it"), is_shown, "{begun}: {shown:?}");
        }
    }
}

#[test]
fn dialects_withhold_a_block_that_names_a_tool_only_if_it_can_be_a_call() {
    let tools = corpus_tools();
    for (instructed, held) in
        [(None, false), (super::find_dialect("json"), false), (super::find_dialect("shell"), true)]
    {
        let reader = ReplyReader::new(instructed, &tools);
        let mut streamed = super::StreamedReply::new(reader);
        let shown = parking_lot::Mutex::new(String::new());
        streamed.push("```bash\ncat README.md\nmore of it\n", |delta| {
            if let avocet_protocol::model::Delta::Text(text) = delta {
                shown.lock().push_str(text);
            }
        });
        assert_eq!(shown.into_inner().is_empty(), held);
    }
}

/// Texts that contain everything with a meaning in some dialect.
fn any_text() -> impl Strategy<Value = String> {
    let words = vec![
        "a",
        "word ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "\"",
        "'",
        "`",
        "```",
        "```\n",
        "{",
        "}",
        "[",
        "]",
        "\\",
        "\\n",
        ":",
        ",",
        "<",
        ">",
        "</tool_call>",
        "<tool_call>",
        "<|call|>",
        "<|channel|>",
        "</args>",
        "</tool_use>",
        "<|python_tag|>",
        "Observation: ",
        "Action: ",
        "Thought:",
        "Final Answer:",
        "é",
        "😀",
        "“",
        "”",
        "#",
        "$",
        "--x",
        "-",
        "=",
        "<think>",
        "</think>",
        "&lt;",
        "\u{0}",
        "//",
        "null",
        ";",
        "TASK COMPLETE",
        "<task_complete/>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁end｜>",
        "<｜DSML｜invoke name=\"a\">",
        "<|tool_calls_section_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tools_suffix|>",
        "<start_function_call>",
        "<escape>",
        "<arg_key>",
        "</arg_value>",
        "<function=a>",
        "<parameter=a>",
        "</parameter>",
        "</minimax:tool_call>",
        "<longcat_tool_call>",
        "<tool_calls>",
        "]<]minimax[>[",
        "]<]minimax[>[<path>",
        "<|open|>call tool=\"a\"<|sep|>",
        "<|close|>argument<|sep|>",
        "<|tool_call_start|>",
        "<|START_ACTION|>",
        "<|content_invoke_tool_json|>",
        "<function_calls>",
        "[ARGS]",
        "(a=1)",
    ];
    prop::collection::vec(prop::sample::select(words), 0..12).prop_map(|words| words.concat())
}

fn any_call() -> impl Strategy<Value = ToolCall> {
    let text = |name: &'static str| any_text().prop_map(move |text| (name.to_owned(), json!(text)));
    let line =
        |name: &'static str| any::<i32>().prop_map(move |line| (name.to_owned(), json!(line)));
    let kinds =
        prop::collection::vec(any_text(), 0..3).prop_map(|kinds| ("kinds".into(), json!(kinds)));
    let all = any::<bool>().prop_map(|all| ("all".to_owned(), json!(all)));
    let of = |name: &'static str, arguments: Vec<(String, Value)>| ToolCall {
        name: name.to_owned(),
        arguments: Arguments::Object(Map::from_iter(arguments)),
    };
    prop_oneof![
        Just(of("memory_read", vec![])),
        prop::option::of(text("path"))
            .prop_map(move |p| of("list_directory", p.into_iter().collect())),
        (text("path"), text("content")).prop_map(move |(a, b)| of("write_file", vec![a, b])),
        (text("path"), text("old_text"), text("new_text"))
            .prop_map(move |(a, b, c)| of("edit_file", vec![a, b, c])),
        (text("path"), prop::option::of(line("start_line")), prop::option::of(line("end_line")))
            .prop_map(move |(a, b, c)| of(
                "read_file",
                [Some(a), b, c].into_iter().flatten().collect()
            )),
        (text("pattern"), prop::option::of(kinds), prop::option::of(all)).prop_map(
            move |(a, b, c)| of("search", [Some(a), b, c].into_iter().flatten().collect())
        ),
    ]
}

/// Divides a text into pieces.
fn cut<'t>(whole: &'t str, cuts: &[prop::sample::Index]) -> Vec<&'t str> {
    let place = |cut: &prop::sample::Index| whole.floor_char_boundary(cut.index(whole.len() + 1));
    let mut places: Vec<usize> = cuts.iter().map(place).chain([0, whole.len()]).collect();
    places.sort_unstable();
    places.windows(2).map(|ends| &whole[ends[0]..ends[1]]).collect()
}

proptest! {
    #[test]
    fn f7_dialects_read_back_any_rendered_call_in_any_pieces_and_show_no_mark(
        calls in prop::collection::vec(any_call(), 1..4),
        before in prop::sample::select(vec!["", "Let me see.\n\n", "First [this](x) & `that`:\n"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let tools = corpus_tools();
        let sent: Vec<SentCall> = calls.iter().map(|call| SentCall {
            id: String::new(),
            name: call.name.clone(),
            arguments: call.arguments.to_object(),
        }).collect();
        for dialect in DIALECTS {
            let whole = format!("{before}{}", dialect.render_calls(&sent, &tools));
            for instructed in [Some(dialect), None] {
                let reader = ReplyReader::new(instructed, &tools);
                let (read, meanwhile, shown) = read_streamed(reader, &cut(&whole, &cuts), TextEnd::Complete);
                prop_assert_eq!(&read.calls, &calls, "{}: {}", dialect.name(), whole);
                prop_assert_eq!(&read.text, before.trim_end(), "{}: {}", dialect.name(), whole);
                prop_assert_eq!(shown.trim_end(), &read.text, "{}: {}", dialect.name(), whole);
                prop_assert!(shown.starts_with(&meanwhile));
            }
        }
    }

    #[test]
    fn f7_dialects_leave_text_without_calls_unchanged_in_any_pieces(
        words in prop::collection::vec(prop::sample::select(vec![
            "word", "<", ">", "[", "]", "|", "a[0](b)", "x<y>", "[1]", "|>", "<|", "1]", "]<", "[a](b)", "f(x=1)",
            "<answers>", "A <response> tag", "<b>", "</b>", "<think-tank>", "`<think>`", "\n", "- ", "é", "!",
            "tool_call", "functions", "`<|tool_call_start|>`", "open", "sep", "minimax", "call:",
        ]), 1..20),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let (tools, whole) = (corpus_tools(), format!("So: {}", words.join(" ")));
        let reader = ReplyReader::new(None, &tools);
        let (read, _, shown) = read_streamed(reader, &cut(&whole, &cuts), TextEnd::Complete);
        prop_assert!(read.calls.is_empty(), "{:?}", read.calls);
        prop_assert_eq!(&read.text, &whole);
        prop_assert_eq!(&shown, &whole);
    }

    #[test]
    fn f8_dialects_read_any_text_without_panic(
        parts in prop::collection::vec(prop_oneof![
            any_text(),
            any::<String>(),
            any_call().prop_map(|call| {
                let sent = SentCall { id: String::new(), name: call.name.clone(),
                    arguments: call.arguments.to_object() };
                let at = sent.arguments.len() % DIALECTS.len();
                let text = DIALECTS[at].render_calls(&[sent], &corpus_tools());
                text[..text.floor_char_boundary(text.len() * 2 / 3)].to_owned()
            }),
        ], 0..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        is_cut in any::<bool>(),
    ) {
        let (tools, whole) = (corpus_tools(), parts.concat());
        for instructed in DIALECTS.map(Some).into_iter().chain([None]) {
            let reader = ReplyReader::new(instructed, &tools);
            let (read, _, shown) = read_streamed(reader, &cut(&whole, &cuts), TextEnd::cut_if(is_cut));
            let last = shown.rsplit('⟲').next().unwrap_or_default();
            prop_assert!(read.text.trim_end() == last.trim_end(), "{:?} is shown as {:?}", read.text, last);
        }
    }
}
