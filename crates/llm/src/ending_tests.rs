use std::sync::Arc;

use avocet_protocol::model::{Delta, Message, Model, ModelReply, ModelRequest};
use avocet_testkit::{Scripted, ScriptedModel};
use parking_lot::Mutex;

use super::*;
use crate::{DialectModel, ToolStyle};

const STYLES: [ToolStyle; 4] =
    [ToolStyle::Native, ToolStyle::None, ToolStyle::Json, ToolStyle::React];

fn tool(name: &str) -> ToolSpec {
    let path = json!({ "type": "string" });
    ToolSpec {
        name: name.to_owned(),
        aliases: Vec::new(),
        group: String::new(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": { "path": path }, "required": ["path"] }),
    }
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: Arguments::parse(arguments) }
}

/// The reply of a model with these tools, and the shown text after each update.
async fn ask(style: ToolStyle, tools: &[ToolSpec], answer: Scripted) -> (ModelReply, Vec<String>) {
    let model = Arc::new(ScriptedModel::new(vec![answer]));
    let messages = vec![Message::user("Do it.")].into();
    let request = ModelRequest {
        messages,
        tools: tools.into(),
        images: Default::default(),
        ..ModelRequest::default()
    };
    let (shown, now) = (Mutex::new(Vec::new()), Mutex::new(String::new()));
    let show = |delta: Delta<'_>| {
        let mut now = now.lock();
        match delta {
            Delta::Text(text) => now.push_str(text),
            Delta::Restart => now.clear(),
            Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
        }
        shown.lock().push(now.clone());
    };
    let reply = DialectModel::new(model, style).complete(&request, &show).await.unwrap();
    (reply, shown.into_inner())
}

/// Asks for a text in these pieces. Fails if the shown text differs from the reply.
async fn read(style: ToolStyle, pieces: &[&str]) -> ModelReply {
    let (sent, written) = flume::bounded(pieces.len());
    pieces.iter().for_each(|piece| sent.send(Some((*piece).to_owned())).unwrap());
    drop(sent);
    let (reply, shown) = ask(style, &[tool("read_file")], Scripted::Written(written)).await;
    for shown in &shown {
        assert!(reply.text.starts_with(shown.trim_end()), "{shown:?} of {:?}", reply.text);
    }
    assert_eq!(shown.last().map_or("", |shown| shown.trim_end()), reply.text.trim_end());
    reply
}

#[tokio::test]
async fn ending_line_that_reports_completion_ends_the_answer() {
    let table = [
        ("I did it.\n\nTASK COMPLETE", "I did it."),
        ("I did it.\nTASK_COMPLETE\n", "I did it."),
        ("I did it.\n[TASK COMPLETE]\n\nUser: thanks!\nYou are welcome.", "I did it."),
        ("I did it.\r\n  [TASK_COMPLETE] \r\n", "I did it."),
        ("I did it.\n<task_complete>", "I did it."),
        ("I did it.\n<task_complete/>\nmore", "I did it."),
        // An end signal may also precede the answer.
        ("TASK COMPLETE\n\nI did it.\n", "I did it."),
        ("TASK COMPLETE\nI did it.\nTASK COMPLETE\nmore", "I did it."),
        ("TASK COMPLETE", "Done."),
        ("\n<task_complete/>\n", "Done."),
    ];
    for (written, text) in table {
        for style in STYLES {
            let reply = read(style, &[written]).await;
            assert_eq!((reply.text.as_str(), reply.calls.len()), (text, 0), "{written:?}");
            assert!(reply.is_done, "{written:?}");
            let chars: Vec<&str> = written.split("").collect();
            assert_eq!(read(style, &chars).await.text, text, "{written:?}");
            for (at, _) in written.char_indices() {
                let (before, after) = written.split_at(at);
                assert_eq!(read(style, &[before, after]).await.text, text, "{before:?} {after:?}");
            }
        }
    }
}

#[tokio::test]
async fn ending_keeps_a_completion_phrase_in_prose_or_code() {
    for written in [
        "Task complete.",
        "Task complete",
        "It is now\nTASK COMPLETED\nand more",
        "The marker is TASK COMPLETE\nand so on",
        "```\nTASK COMPLETE\n```\nends it",
        "Say `TASK COMPLETE`.",
        "- TASK COMPLETE\n- open",
        "TASK COMPLETE!",
    ] {
        for style in STYLES {
            let reply = read(style, &[written]).await;
            assert_eq!((reply.text.as_str(), reply.is_done), (written, false));
            let chars: Vec<&str> = written.split("").collect();
            assert_eq!(read(style, &chars).await.text, written);
        }
    }
}

#[tokio::test]
async fn ending_mark_keeps_calls_before_it_and_drops_calls_after_it() {
    let written = "I look.\n<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \
        \"a\"}}</tool_call>\nTASK COMPLETE\n<tool_call>{\"name\": \"read_file\", \"arguments\": \
        {\"path\": \"b\"}}</tool_call>";
    let reply = read(ToolStyle::Hermes, &[written]).await;
    assert_eq!(reply.text, "I look.");
    assert_eq!(reply.calls, [call("read_file", r#"{"path": "a"}"#)]);
}

#[tokio::test]
async fn ending_mark_ends_a_react_thought() {
    let reply = read(ToolStyle::React, &["Thought: I am done.\nTASK COMPLETE\nThought: no"]).await;
    assert_eq!(reply.text, "I am done.");
}

#[tokio::test]
async fn ending_call_alone_becomes_the_answer() {
    let table = [
        ("attempt_completion", r#"{"result": "I did it."}"#, "", "I did it."),
        ("task_complete", r#"{"summary": "I did it."}"#, "", "I did it."),
        ("finish", r#"{"answer": "I did it."}"#, "", "I did it."),
        ("final_answer", r#"{"text": "I did it."}"#, "", "I did it."),
        ("Final-Answer", r#"{"message": "I did it."}"#, "", "I did it."),
        ("finish", r#"{"response": "I did it."}"#, "", "I did it."),
        ("finish", r#"{"answer": 42}"#, "", "42"),
        ("finish", r#""I did it.""#, "", "I did it."),
        ("finish", "I did it.", "", "I did it."),
        ("finish", "{}", "", "Done."),
        ("finish", "{}", "I did it.", "I did it."),
        ("finish", r#"{"result": "It works."}"#, "I did it.", "I did it.\n\nIt works."),
        ("finish", r#"{"result": "I did it."}"#, "I did it.", "I did it."),
        ("finish", r#"{"result": "<think>hm</think>It works.\nTASK COMPLETE"}"#, "", "It works."),
    ];
    for (name, arguments, said, text) in table {
        for style in STYLES {
            let calls = vec![call(name, arguments)];
            let answer = ModelReply { text: said.to_owned(), calls, ..ModelReply::default() };
            let (reply, shown) = ask(style, &[tool("read_file")], Scripted::Reply(answer)).await;
            assert_eq!((reply.text.as_str(), reply.calls.len()), (text, 0), "{arguments}");
            assert_eq!(shown.last().unwrap(), text, "{arguments}");
        }
    }
}

#[tokio::test]
async fn ending_call_in_the_text_becomes_the_answer() {
    let table = [
        (
            ToolStyle::Native,
            "Well.\n\n<attempt_completion>\n<result>\nI did it.\n</result>\n</attempt_completion>",
        ),
        (
            ToolStyle::Xml,
            "Well.\n\n<tool_use><tool>finish</tool><args>{\"result\": \"I did it.\"}</args></tool_use>",
        ),
        (
            ToolStyle::Json,
            "Well.\n\n```json\n{\"tool\": \"task_complete\", \"params\": {\"summary\": \"I did it.\"}}\n```",
        ),
        (
            ToolStyle::Hermes,
            "Well.\n<tool_call>{\"name\": \"final_answer\", \"arguments\": {\"answer\": \"I did it.\"}}</tool_call>",
        ),
        (ToolStyle::React, "Thought: Well.\nAction: finish\nAction Input: I did it."),
        (ToolStyle::Shell, "Well.\n\n```bash\nattempt_completion \"I did it.\"\n```"),
        (
            ToolStyle::None,
            "Well.\n<tool_call>{\"name\": \"finish\", \"arguments\": {\"answer\": \"I did it.\"}}</tool_call>",
        ),
    ];
    for (style, written) in table {
        let chars: Vec<&str> = written.split("").collect();
        for pieces in [&[written][..], &chars] {
            let reply = read(style, pieces).await;
            let found = (reply.text.as_str(), reply.calls.len());
            assert_eq!(found, ("Well.\n\nI did it.", 0), "{written}");
        }
    }
}

#[tokio::test]
async fn ending_call_beside_other_calls_is_dropped() {
    let look = call("read_file", r#"{"path": "a"}"#);
    let end = call("finish", r#"{"result": "I did it."}"#);
    for calls in [vec![look.clone(), end.clone()], vec![end, look.clone()]] {
        let answer = ModelReply { text: "I look.".to_owned(), calls, ..ModelReply::default() };
        let (reply, shown) =
            ask(ToolStyle::Native, &[tool("read_file")], Scripted::Reply(answer)).await;
        assert_eq!((reply.text.as_str(), &reply.calls[..]), ("I look.", &[look.clone()][..]));
        assert_eq!(shown.last().unwrap(), "I look.");
    }
}

#[tokio::test]
async fn ending_named_tool_that_is_offered_is_called() {
    let aliased = ToolSpec { aliases: vec!["finish".to_owned()], ..tool("end_game") };
    for (tools, name) in [([tool("finish")], "finish"), ([aliased], "finish")] {
        let calls = vec![call(name, r#"{"path": "a"}"#)];
        let answer = ModelReply { calls: calls.clone(), ..ModelReply::default() };
        let (reply, _) = ask(ToolStyle::Native, &tools, Scripted::Reply(answer)).await;
        assert_eq!((reply.text.as_str(), reply.calls), ("", calls));
    }
}

#[tokio::test]
async fn ending_call_in_a_truncated_answer_is_left_for_the_model_to_correct() {
    let calls = vec![call("finish", r#"{"result": "I did"#)];
    let answer = ModelReply { calls: calls.clone(), truncated: true, ..ModelReply::default() };
    let (reply, _) = ask(ToolStyle::Native, &[], Scripted::Reply(answer)).await;
    assert_eq!((reply.text.as_str(), reply.calls), ("", calls));
}

#[tokio::test]
async fn ending_call_that_is_removed_takes_its_reasoning_along() {
    let [one, two] = [json!({ "id": "rs_1" }), json!({ "id": "rs_2" })];
    let signed = |calls: Value| json!({ "text": "t", "calls": calls });
    let table = [
        (json!([one, "call", two, "call"]), json!([two, "call"])),
        (signed(json!(["a", null])), signed(json!([null]))),
        (json!([{ "type": "thinking" }]), json!([{ "type": "thinking" }])),
        (json!("hm"), json!("hm")),
    ];
    for (content, expected) in table {
        let calls = vec![call("attempt_completion", "{}"), call("read_file", "{}")];
        let reasoning = Some(Reasoning::new("openai/o", content));
        let answer = ModelReply { calls, reasoning, ..ModelReply::default() };
        let tools = [tool("read_file")];
        let reply = ask(ToolStyle::Native, &tools, Scripted::Reply(answer)).await.0;
        assert_eq!(reply.calls, [call("read_file", "{}")]);
        assert_eq!(reply.reasoning.unwrap().content, expected);
    }
}
