use std::path::Path;

use avocet_protocol::model::{Arguments, Message, Spent, ToolCall, Usage};
use avocet_protocol::tool::ToolSpec;
use avocet_testkit::{Scripted, ScriptedModel};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::*;

const CALL: &str =
    "I look.\n\n```json\n{\"tool\": \"read_file\", \"params\": {\"path\": \"a.rs\"}}\n```";

fn tools() -> Arc<[ToolSpec]> {
    let path = json!({ "type": "string", "description": "Relative to the root." });
    Arc::new([ToolSpec {
        name: "read_file".to_owned(),
        aliases: Vec::new(),
        group: String::new(),
        description: "Read a file.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "path": path }, "required": ["path"] }),
    }])
}

fn read_file(path: &str) -> ToolCall {
    let arguments = Arguments::parse(&json!({ "path": path }).to_string());
    ToolCall { name: "read_file".to_owned(), arguments }
}

/// The result of one answer: the translated request, the reply, and the shown text.
async fn ask(style: ToolStyle, answer: Scripted) -> (ModelRequest, ModelReply, String) {
    ask_with((style, TextCalls::Ask), tools(), answer).await
}

async fn ask_with(
    (style, text_calls): (ToolStyle, TextCalls),
    tools: Arc<[ToolSpec]>,
    answer: Scripted,
) -> (ModelRequest, ModelReply, String) {
    let model = Arc::new(ScriptedModel::new(vec![answer]));
    let messages = vec![Message::user("Read it.")].into();
    let request =
        ModelRequest { messages, tools, images: Default::default(), ..ModelRequest::default() };
    let shown = Mutex::new(String::new());
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.lock().push_str(text),
        Delta::Restart => shown.lock().clear(),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    let dialected = DialectModel::new(model.clone(), style).with_text_calls(text_calls);
    let reply = dialected.complete(&request, &show).await.unwrap();
    (model.requests().remove(0), reply, shown.into_inner())
}

#[tokio::test]
async fn dialected_as_sent_leaves_out_our_own_schema_keys() {
    let mut tool = tools()[0].clone();
    tool.parameters["properties"]["path"]["x-aliases"] = json!(["file"]);
    let messages = vec![Message::user("Read it.")].into();
    let request = ModelRequest {
        messages,
        tools: [tool].into(),
        images: Default::default(),
        ..ModelRequest::default()
    };
    let model = Arc::new(ScriptedModel::new(Vec::new()));
    let sent = DialectModel::new(model, ToolStyle::Native).as_sent(&request).await;
    assert_eq!(*sent.tools, *tools());
}

#[tokio::test]
async fn dialected_writes_tools_and_reads_calls_as_text_for_a_model_without_native_calls() {
    let spent = vec![Spent { model: String::new(), usage: Usage::new(7, 3), cost: None }];
    let answer = ModelReply {
        text: CALL.to_owned(),
        spent: spent.clone(),
        truncated: true,
        ..ModelReply::default()
    };
    let (request, reply, shown) = ask(ToolStyle::Json, Scripted::Reply(answer)).await;
    assert!(request.tools.is_empty());
    let Message::System { text } = &request.messages[0] else { panic!("{request:?}") };
    assert!(text.contains("## read_file") && text.contains("\"params\""), "{text}");
    assert_eq!(shown, "I look.\n\n");
    let (text, calls) = ("I look.".to_owned(), vec![read_file("a.rs")]);
    assert_eq!(
        reply,
        ModelReply { text, calls, spent: spent.clone(), truncated: true, ..ModelReply::default() }
    );
}

#[tokio::test]
async fn f8_dialected_runs_only_complete_calls_of_an_answer_ended_by_a_limit_or_filter() {
    let begun = [
        (ToolStyle::Json, "```json\n{\"tool\": \"read_file\", \"params\": {\"path\": \"b"),
        (ToolStyle::Hermes, "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"b"),
        (ToolStyle::React, "Action: read_file\nAction Input: {\"path\": \"b"),
        (ToolStyle::Xml, "<tool_use>\n<tool>read_file</tool>\n<args>{\"path\": \"b"),
        (ToolStyle::Xml, "<read_file>\n<path>b"),
        (ToolStyle::Native, "<function=read_file>\n<parameter=path>\nb"),
        (ToolStyle::Xml, "<tool_use>\n<name>read_file</name>\n<path>b"),
        (ToolStyle::Native, "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"b"),
    ];
    for (style, half) in begun {
        for truncated in [true, false] {
            let text = format!("I look.\n\n{half}");
            let answer =
                ModelReply { text, truncated, filtered: !truncated, ..ModelReply::default() };
            let reply = ask(style, Scripted::Reply(answer)).await.1;
            let runs =
                reply.calls.iter().filter(|call| matches!(call.arguments, Arguments::Object(_)));
            assert_eq!(runs.count(), 0, "{style:?}: {:?}", reply.calls);
            assert_eq!((reply.truncated, reply.filtered), (truncated, !truncated));
        }
    }
    let text = CALL.to_owned();
    let answer = ModelReply { text, filtered: true, ..ModelReply::default() };
    assert_eq!(ask(ToolStyle::Json, Scripted::Reply(answer)).await.1.calls, [read_file("a.rs")]);
}

#[tokio::test]
async fn f7_dialected_reads_a_call_as_text_of_a_native_model() {
    let (request, reply, shown) = ask(ToolStyle::Native, Scripted::says(CALL)).await;
    assert_eq!((request.tools.len(), request.messages.len()), (1, 1));
    assert_eq!((reply.calls, reply.text.as_str()), (vec![read_file("a.rs")], "I look."));
    assert_eq!((reply.written.as_deref(), shown.as_str()), (Some(CALL), "I look.\n\n"));
}

#[tokio::test]
async fn tool_style_auto_offers_tools_and_reads_commands_with_names_from_other_agents() {
    let mut tools = tools().to_vec();
    tools[0].aliases = vec!["file".to_owned()];
    let text = "Let me read the file:\n\n```bash\nfile a.rs\n```";
    let call = ToolCall { name: "file".to_owned(), ..read_file("a.rs") };
    for (style, calls) in [(ToolStyle::Auto, vec![call]), (ToolStyle::Native, vec![])] {
        let style = (style, TextCalls::Ask);
        let (request, reply, _) = ask_with(style, tools.clone().into(), Scripted::says(text)).await;
        assert_eq!((request.tools.len(), request.messages.len()), (1, 1));
        assert_eq!(reply.written, (!calls.is_empty()).then(|| text.to_owned()), "{style:?}");
        assert_eq!(reply.calls, calls, "{style:?}");
    }
}

#[tokio::test]
async fn tool_style_auto_takes_calls_between_sentences_but_no_examples() {
    let block = "```json\n{\"tool\": \"read_file\", \"params\": {\"path\": \"a.rs\"}}\n```";
    let tokens = "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0\
        <|tool_call_argument_begin|>{\"path\": \"a.rs\"}<|tool_call_end|>";
    let table = [
        (format!("I look.\n\n{block}\n\nNow again:\n\n{block}"), 2),
        (format!("{tokens}\nOne moment."), 1),
        (format!("{block}\n\nThe key names the tool."), 0),
        (format!("For example:\n\n{block}\n\nNow again:\n\n{block}"), 0),
        (format!("{tokens}\nShall I run it?"), 0),
    ];
    for (text, count) in table {
        let style = (ToolStyle::Auto, TextCalls::Ask);
        let (_, reply, _) = ask_with(style, tools(), Scripted::says(&text)).await;
        assert_eq!(reply.calls.len(), count, "{text}");
    }
}

#[tokio::test]
async fn text_calls_decides_what_becomes_of_a_call_as_text() {
    use TextCalls::{Ask, Ignore, Run};
    use ToolStyle::{Json, Native};
    let followed = format!("{CALL}\n\nShall I?");
    let framed = CALL.replace("I look.", "An example:");
    let call = Some("a.rs");
    // The configuration, the answer, the expected call, and `true` if the call is marked as written
    // text.
    let table = [
        (Native, Ask, CALL, call, true),
        (Native, Ask, &followed, None, false),
        (Native, Ask, &framed, None, false),
        (Native, Run, CALL, call, false),
        (Native, Run, &followed, call, false),
        (Native, Run, &framed, call, false),
        (Native, Ignore, CALL, None, false),
        (Json, Ask, CALL, call, false),
        (Json, Ask, &followed, call, false),
        (Json, Ask, &framed, call, false),
        (Json, Ignore, CALL, call, false),
    ];
    for (style, text_calls, text, call, is_marked) in table {
        let answer = Scripted::says(text);
        let (_, reply, shown) = ask_with((style, text_calls), tools(), answer).await;
        let case = format!("{style:?} {text_calls:?} {text:?}");
        assert_eq!(reply.calls, call.map(read_file).into_iter().collect::<Vec<_>>(), "{case}");
        assert_eq!(reply.written, is_marked.then(|| text.to_owned()), "{case}");
        if call.is_none() {
            assert_eq!((reply.text.as_str(), shown.as_str()), (text, text), "{case}");
        }
    }
}

#[tokio::test]
async fn dialected_keeps_an_explained_call_beside_native_calls_in_the_text() {
    let example = CALL.replace("read_file", "write_file");
    let tools = crate::fuzzing::corpus_tools().into();
    let calls = vec![read_file("b.rs")];
    let answer =
        ModelReply { text: example.clone(), calls: calls.clone(), ..ModelReply::default() };
    let style = (ToolStyle::Native, TextCalls::Ask);
    let (_, reply, shown) = ask_with(style, tools, Scripted::Reply(answer)).await;
    assert_eq!((reply.calls, reply.written), (calls, None));
    assert_eq!((reply.text, shown), (example.clone(), example));
}

/// The replies in `tests/corpus/explained` with their titles.
fn explained() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/explained");
    let mut replies = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            let file = format!("\n{}", std::fs::read_to_string(&path).unwrap());
            let cases = file.split("\n=== ").skip(1).map(|case| case.split_once('\n').unwrap());
            replies.extend(cases.map(|(title, reply)| {
                (format!("{}: {title}", path.display()), reply.trim_end().to_owned())
            }));
        }
    }
    replies
}

/// The tools that the replies name.
fn acting_tools() -> Arc<[ToolSpec]> {
    let names = [
        "create_directory",
        "delete_file",
        "edit_file",
        "exec_shell",
        "memory_write",
        "message",
        "write_file",
    ];
    let properties = ["command", "content", "find", "path", "replace", "text"];
    let properties: Map<String, Value> =
        properties.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        aliases: Vec::new(),
        group: String::new(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": properties, "required": [] }),
    };
    names.map(tool).into()
}

#[tokio::test]
async fn f7_dialected_reads_an_explained_call_as_text_wherever_the_reply_is_cut() {
    let (replies, tools) = (explained(), acting_tools());
    let mut are_read = 0;
    for (title, reply) in &replies {
        let run =
            ask_with((ToolStyle::Native, TextCalls::Run), tools.clone(), Scripted::says(reply));
        are_read += usize::from(!run.await.1.calls.is_empty());
        let places = reply.char_indices().map(|(at, _)| at).step_by(7);
        let mut cuts: Vec<Vec<&str>> =
            places.map(|at| reply.split_at(at)).map(|(a, b)| vec![a, b]).collect();
        cuts.push(reply.split("").collect());
        for pieces in cuts {
            let (sender, written) = flume::bounded(pieces.len().max(1));
            pieces.iter().for_each(|piece| sender.send(Some((*piece).to_owned())).unwrap());
            drop(sender);
            let style = (ToolStyle::Native, TextCalls::Ask);
            let (_, read, shown) = ask_with(style, tools.clone(), Scripted::Written(written)).await;
            assert_eq!(read.calls, [], "{title}: {pieces:?}");
            assert_eq!((&read.text, shown.trim_end()), (reply, reply.as_str()), "{title}");
        }
    }
    assert!(replies.len() >= 100, "{} replies", replies.len());
    // The calls are readable, so the rule alone keeps them from running.
    assert!(are_read >= 100, "{are_read} of {} hold a call that can be read", replies.len());
}

#[tokio::test]
async fn dialected_neither_runs_nor_shows_a_text_copy_of_native_calls() {
    let native = vec![read_file("b.rs")];
    let answer =
        ModelReply { text: CALL.to_owned(), calls: native.clone(), ..ModelReply::default() };
    let (_, reply, shown) = ask(ToolStyle::Native, Scripted::Reply(answer)).await;
    assert_eq!(
        (reply.calls, reply.text.as_str(), shown.as_str()),
        (native, "I look.", "I look.\n\n")
    );
}

#[tokio::test]
async fn dialected_offers_no_tools_and_reads_no_calls_if_the_tool_style_is_none() {
    let text = "Hm. <tool_call>{\"name\": \"read_file\", \"arguments\": {}}</tool_call>";
    let (request, reply, shown) = ask(ToolStyle::None, Scripted::says(text)).await;
    assert_eq!((request.tools.len(), request.messages.len()), (0, 1));
    assert_eq!((reply.calls, reply.text.as_str(), shown.as_str()), (vec![], "Hm.", "Hm. "));
}

#[tokio::test]
async fn dialected_reads_afresh_after_a_restart() {
    let (pieces, written) = flume::bounded(8);
    for piece in [Some("<tool_call>"), None, Some("Hello "), Some("there.")] {
        pieces.send(piece.map(str::to_owned)).unwrap();
    }
    drop(pieces);
    let (_, reply, shown) = ask(ToolStyle::Hermes, Scripted::Written(written)).await;
    assert_eq!((reply.text.as_str(), shown.as_str()), ("Hello there.", "Hello there."));
}

#[test]
fn tool_style_other_than_native_auto_and_none_is_the_dialect_of_its_name() {
    let names: Value = schemars::schema_for!(ToolStyle).to_value();
    let names = names["oneOf"].as_array().unwrap().iter().map(|one| one["const"].clone());
    for name in names {
        let style: ToolStyle = serde_json::from_value(name.clone()).unwrap();
        let dialect = style.text_dialect().map(Dialect::name);
        let is_none = matches!(style, ToolStyle::Native | ToolStyle::Auto | ToolStyle::None);
        assert_eq!(dialect, (!is_none).then(|| name.as_str().unwrap()));
    }
}
