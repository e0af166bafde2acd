use std::sync::Mutex;

use avocet_protocol::{Arguments, Message, Spent, ToolCall, ToolSpec, Usage};
use avocet_testkit::{Scripted, ScriptedModel};
use serde_json::{Value, json};

use super::*;

const CALL: &str =
    "I look.\n\n```json\n{\"tool\": \"read_file\", \"params\": {\"path\": \"a.rs\"}}\n```";

fn tools() -> Arc<[ToolSpec]> {
    let path = json!({ "type": "string", "description": "Relative to the root." });
    Arc::new([ToolSpec {
        name: "read_file".to_owned(),
        aliases: Vec::new(),
        description: "Read a file.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "path": path }, "required": ["path"] }),
    }])
}

fn read_file(path: &str) -> ToolCall {
    let arguments = Arguments::parse(&json!({ "path": path }).to_string());
    ToolCall { name: "read_file".to_owned(), arguments }
}

/// What comes of one answer: the request as the model gets it, the reply, what was shown.
async fn ask(style: ToolStyle, answer: Scripted) -> (ModelRequest, ModelReply, String) {
    let model = Arc::new(ScriptedModel::new(vec![answer]));
    let messages = vec![Message::user("Read it.")];
    let request = ModelRequest { messages, tools: tools(), images: Default::default() };
    let shown = Mutex::new(String::new());
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.lock().unwrap().push_str(text),
        Delta::Restart => shown.lock().unwrap().clear(),
        Delta::Lost(_) => {}
    };
    let reply = Dialected::new(model.clone(), style).complete(&request, &show).await.unwrap();
    (model.requests().remove(0), reply, shown.into_inner().unwrap())
}

#[tokio::test]
async fn what_is_shown_of_a_request_has_none_of_our_own_keys() {
    let mut tool = tools()[0].clone();
    tool.parameters["properties"]["path"]["x-aliases"] = json!(["file"]);
    let messages = vec![Message::user("Read it.")];
    let request = ModelRequest { messages, tools: [tool].into(), images: Default::default() };
    let model = Arc::new(ScriptedModel::new(Vec::new()));
    let sent = Dialected::new(model, ToolStyle::Native).as_sent(&request).await;
    assert_eq!(*sent.tools, *tools());
}

#[tokio::test]
async fn a_model_without_native_calls_is_told_of_tools_in_the_text_and_its_calls_are_read() {
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
async fn f8_of_what_a_limit_or_a_filter_ends_only_whole_calls_are_run() {
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
async fn f7_a_native_model_that_strays_into_text_is_understood() {
    let (request, reply, shown) = ask(ToolStyle::Native, Scripted::says(CALL)).await;
    assert_eq!((request.tools.len(), request.messages.len()), (1, 1));
    assert_eq!((reply.calls, reply.text.as_str()), (vec![read_file("a.rs")], "I look."));
    assert_eq!(shown, "I look.\n\n");
}

#[tokio::test]
async fn a_copy_of_native_calls_in_the_text_is_neither_run_nor_shown() {
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
async fn a_model_without_tools_is_offered_none_and_calls_none() {
    let text = "Hm. <tool_call>{\"name\": \"read_file\", \"arguments\": {}}</tool_call>";
    let (request, reply, shown) = ask(ToolStyle::None, Scripted::says(text)).await;
    assert_eq!((request.tools.len(), request.messages.len()), (0, 1));
    assert_eq!((reply.calls, reply.text.as_str(), shown.as_str()), (vec![], "Hm.", "Hm. "));
}

#[tokio::test]
async fn what_is_taken_back_is_read_afresh() {
    let (pieces, written) = flume::bounded(8);
    for piece in [Some("<tool_call>"), None, Some("Hello "), Some("there.")] {
        pieces.send(piece.map(str::to_owned)).unwrap();
    }
    drop(pieces);
    let (_, reply, shown) = ask(ToolStyle::Hermes, Scripted::Written(written)).await;
    assert_eq!((reply.text.as_str(), shown.as_str()), ("Hello there.", "Hello there."));
}

#[test]
fn every_style_but_two_is_a_dialect_of_its_name() {
    let names: Value = schemars::schema_for!(ToolStyle).to_value();
    let names = names["oneOf"].as_array().unwrap().iter().map(|one| one["const"].clone());
    for name in names {
        let style: ToolStyle = serde_json::from_value(name.clone()).unwrap();
        let dialect = style.dialect().map(Dialect::name);
        let is_none = matches!(style, ToolStyle::Native | ToolStyle::None);
        assert_eq!(dialect, (!is_none).then(|| name.as_str().unwrap()));
    }
}
