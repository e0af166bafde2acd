//! Answers of servers, gateways and proxies in frames and fields that no specification has: each with
//! its text and calls, or with the words of its error.

use avocet_protocol::model::Arguments;
use serde_json::json;

use crate::anthropic::answer::AnthropicAnswer;
use crate::endpoint::{AnswerError, CompleteAnswer};
use crate::fuzzing::read_body;
use crate::gemini::answer::GeminiAnswer;
use crate::ollama::answer::OllamaAnswer;
use crate::openai::answer::OpenAiChatAnswer;
use crate::openai::responses::ResponsesAnswer;
use crate::testing::tool_call;

fn texts(answers: &[(&str, &str)], read: fn(&str) -> Result<CompleteAnswer, AnswerError>) {
    let mut wrong = Vec::new();
    for (body, expected) in answers {
        let text = read(body).map(|answer| answer.text);
        if text.as_deref() != Ok(*expected) {
            wrong.push(format!("{body}: {text:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn openai_chat_reads_answers_of_other_servers() {
    let so = r#"{"choices":[{"index":0,"delta":{"content":"so"}}]}"#;
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let whole = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"so"},"finish_reason":"stop"}]}"#;
    let frames = [
        // Usage first, an empty list of choices, and null in every place.
        format!("data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":3}}}}\n\ndata: {so}\n\ndata: {end}\n\n"),
        format!("data: {{\"choices\":null}}\n\ndata: {{\"choices\":[{{\"delta\":null}}]}}\n\ndata: {so}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
        format!("data: {{\"choices\":[null]}}\n\ndata: {{}}\n\ndata: {so}\n\ndata: {end}\n\n"),
        // Fields of events, and events without a space.
        format!("id: 1\nevent: message\nretry: 100\ndata:{so}\n\nevent:completion\ndata:{end}\n\ndata:[DONE]\n\n"),
        format!("\u{feff}data: {so}\r\rdata: {end}\r\r"),
        format!(": OPENROUTER PROCESSING\n\n: keep-alive\n\ndata: {so}\n\ndata: {end}\n\n"),
        format!("data: ping\n\ndata: {so}\n\ndata: heartbeat\n\ndata: {end}\n\n"),
        format!("{so}\n{end}\n"),
        format!("{so}{end}"),
        format!("data: {so}\n\ndata: {end}\n\ndata: [DONE]\n\ndata: [DONE]\n\n"),
        format!("data: data: {so}\n\ndata: data: {end}\n\n"),
        // Whole bodies.
        whole.to_owned(),
        format!("\n\n  {whole}\n"),
        format!(")]}}'\n{whole}"),
        format!("[{whole}]"),
        whole.replace("\"stop\"", "null"),
        whole.replace("\"stop\"", "\"\""),
        whole.replace("\"stop\"", "\"null\""),
        whole.replace("\"stop\"", "\"something_new\""),
        whole.replace("\"so\"", r#"[{"type":"text","text":"s"},{"type":"text","text":"o"}]"#),
        whole.replace("\"so\"", r#"{"type":"text","text":"so"}"#),
        whole.replace("\"message\"", "\"delta\""),
        // The form of text completions.
        r#"{"choices":[{"index":0,"text":"so","finish_reason":"stop"}]}"#.to_owned(),
        // Several answers.
        r#"{"choices":[{"index":1,"message":{"content":"no"},"finish_reason":"stop"},{"index":0,"message":{"content":"so"},"finish_reason":"stop"}]}"#.to_owned(),
        format!("data: {{\"choices\":[{{\"index\":1,\"delta\":{{\"content\":\"no\"}}}}]}}\n\ndata: {so}\n\ndata: {end}\n\n"),
        // An object in place of the list.
        r#"{"choices":{"index":0,"message":{"content":"so"},"finish_reason":"stop"}}"#.to_owned(),
    ];
    let table: Vec<(&str, &str)> = frames.iter().map(|body| (body.as_str(), "so")).collect();
    texts(&table, read_body::<OpenAiChatAnswer>);
}

#[test]
fn openai_chat_reads_arguments_however_they_are_written() {
    let one = json!({"x": 1});
    let mut wrong = Vec::new();
    for (arguments, expected) in [
        (json!("{\"x\":1}"), &one),
        (json!({"x": 1}), &one),
        (json!("```json\n{\"x\":1}\n```"), &one),
        (json!("{\"x\":1,}"), &one),
        (json!("{'x': 1}"), &one),
        (json!("{x: 1}"), &one),
        (json!(" \n{\"x\":1}\n "), &one),
        (json!("{\"x\":1}{\"x\":1}"), &one),
        (json!("{}{\"x\":1}"), &one),
        (json!("\"{\\\"x\\\":1}\""), &one),
        (json!(""), &json!({})),
        (json!("{}"), &json!({})),
        (json!({}), &json!({})),
        (json!(null), &json!({})),
        (json!("null"), &json!({})),
        (json!(" "), &json!({})),
        (json!("[]"), &json!({})),
        (json!([]), &json!({})),
    ] {
        let function = json!({"name": "one", "arguments": arguments});
        let message = json!({"content": null, "tool_calls": [{"id": "a", "type": "function", "function": function}]});
        let body = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        let calls = read_body::<OpenAiChatAnswer>(&body.to_string()).map(|answer| answer.calls);
        if calls != Ok(vec![tool_call("one", expected)]) {
            wrong.push(format!("{arguments}: {calls:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Two different calls are not one.
    let two = json!({"name": "one", "arguments": "{\"x\":1}{\"x\":2}"});
    let body = json!({"choices": [{"message": {"tool_calls": [{"function": two}]}, "finish_reason": "stop"}]});
    let calls = read_body::<OpenAiChatAnswer>(&body.to_string()).unwrap().calls;
    assert!(matches!(calls[0].arguments, Arguments::Malformed(_)), "{calls:?}");
}

/// Errors that come with the status 200.
#[test]
fn every_wire_keeps_the_words_of_an_error_with_status_200() {
    for (body, words) in [
        (r#"{"error":{"message":"no credit","type":"x"}}"#, "no credit"),
        (r#"{"error":"no credit"}"#, "no credit"),
        (r#"{"detail":"no credit"}"#, "no credit"),
        (r#"{"detail":[{"loc":["body"],"msg":"no credit"}]}"#, "no credit"),
        (r#"{"message":"no credit","code":"InvalidApiKey","request_id":"1"}"#, "no credit"),
        (r#"{"code":1113,"msg":"no credit","success":false}"#, "no credit"),
        (r#"{"error_code":17,"error_msg":"no credit"}"#, "no credit"),
        (
            r#"{"id":"1","choices":null,"base_resp":{"status_code":1008,"status_msg":"no credit"}}"#,
            "no credit",
        ),
        (r#"{"success":false,"errors":[{"code":1,"message":"no credit"}]}"#, "no credit"),
        ("data: {\"error\":{\"message\":\"no credit\"}}\n\n", "no credit"),
        ("event: error\ndata: no credit\n\n", "no credit"),
        ("error: no credit\n", "no credit"),
        ("data: {\"object\":\"error\",\"message\":\"no credit\"}\n\n", "no credit"),
        ("no credit", "no credit"),
    ] {
        for read in [
            read_body::<OpenAiChatAnswer>,
            read_body::<AnthropicAnswer>,
            read_body::<GeminiAnswer>,
            read_body::<OllamaAnswer>,
            read_body::<ResponsesAnswer>,
        ] {
            let error = format!("{:?}", read(body).map(|answer| answer.text).unwrap_err());
            assert!(error.contains(words), "{body}: {error}");
        }
    }
}

#[test]
fn anthropic_reads_events_out_of_order_and_without_their_ends() {
    let delta =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so"}}"#;
    let stop = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#;
    let over = r#"{"type":"message_stop"}"#;
    let whole = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"so"}],"stop_reason":"end_turn"}"#;
    let frames = [
        // No begin of the message and of the block, no end of the block.
        format!("data: {delta}\n\ndata: {stop}\n\ndata: {over}\n\n"),
        // No reason, or no end.
        format!("data: {delta}\n\ndata: {over}\n\n"),
        format!("data: {delta}\n\ndata: {stop}\n\n"),
        format!(
            "event: ping\ndata: {{\"type\":\"ping\"}}\n\nevent: content_block_delta\ndata: {delta}\n\nevent: message_stop\ndata: {over}\n\ndata: [DONE]\n\n"
        ),
        format!(
            "data: {{\"type\":\"vendor_event\",\"x\":1}}\n\ndata: {delta}\n\ndata: {stop}\n\ndata: {over}\n\n"
        ),
        whole.to_owned(),
        whole.replace("\"end_turn\"", "null"),
        whole.replace(r#"[{"type":"text","text":"so"}]"#, "\"so\""),
        whole.replace("\"type\":\"message\",", ""),
        whole.replace("{\"type\":\"text\",", "{"),
    ];
    let table: Vec<(&str, &str)> = frames.iter().map(|body| (body.as_str(), "so")).collect();
    texts(&table, read_body::<AnthropicAnswer>);
}

#[test]
fn gemini_responses_and_ollama_read_answers_of_other_servers() {
    let part = r#"{"candidates":[{"content":{"parts":[{"text":"so"}]},"finishReason":"STOP"}]}"#;
    texts(
        &[
            (part, "so"),
            (&format!("[{part}]"), "so"),
            (&format!("[{part}\n,\n{{\"usageMetadata\":{{}}}}]\n"), "so"),
            (
                &format!(
                    "[{}\n,\r\n{part}]",
                    part.replace("\"STOP\"", "null").replace("so", "and ")
                ),
                "and so",
            ),
            (&part.replace("{\"parts\"", "{\"role\":\"model\",\"parts\""), "so"),
            (&part.replace("\"STOP\"", "\"FINISH_REASON_UNSPECIFIED\""), "so"),
            (&part.replace(r#"[{"text":"so"}]"#, r#"{"text":"so"}"#), "so"),
            (&part.replace(r#"[{"text":"so"}]"#, r#"[{"text":"so"},{"text":null},{}]"#), "so"),
        ],
        read_body::<GeminiAnswer>,
    );
    let item =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"so"}]}"#;
    let response =
        format!(r#"{{"id":"r","object":"response","status":"completed","output":[{item}]}}"#);
    texts(
        &[
            (
                &format!(
                    "event: response.completed\ndata: {{\"type\":\"response.completed\",\"response\":{response}}}\n\n"
                ),
                "so",
            ),
            (&response, "so"),
            (
                &format!(
                    "data: {{\"type\":\"response.output_item.done\",\"item\":{item}}}\n\ndata: [DONE]\n\n"
                ),
                "so",
            ),
            (&response.replace("output_text", "text"), "so"),
        ],
        read_body::<ResponsesAnswer>,
    );
    texts(
        &[
            ("{\"message\":{\"content\":\"so\"},\"done\":true}", "so"),
            ("{\"response\":\"so\",\"done\":true}", "so"),
            (
                "{\"done\":false}\n{\"message\":null,\"done\":false}\n{\"message\":{\"content\":\"so\"},\"done\":true}\n",
                "so",
            ),
            ("data: {\"message\":{\"content\":\"so\"}}\n\ndata: {\"done\":\"true\"}\n\n", "so"),
        ],
        read_body::<OllamaAnswer>,
    );
}
