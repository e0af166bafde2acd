//! Tests of the lenient layer: each kind of odd message, and what the client sees of it.

use rmcp::model::{CallToolResult, ServerResult};

use super::*;

/// Reads the response to a request with the id 5, as `rmcp` gets it.
pub(super) fn read(method: &str, response: &Value) -> ServerMessage {
    let wire = open_requests(&[(5, method)]);
    let mut messages = wire.read_messages(response.to_string().as_bytes(), None);
    assert_eq!(messages.len(), 1, "{response}");
    messages.remove(0)
}

pub(super) fn result_of(method: &str, result: &Value) -> ServerResult {
    match read(method, &json!({"jsonrpc": "2.0", "id": 5, "result": result})) {
        JsonRpcMessage::Response(response) => response.result,
        other => panic!("{result}: {other:?}"),
    }
}

fn call_result(result: &Value) -> CallToolResult {
    match result_of("tools/call", result) {
        ServerResult::CallToolResult(result) => result,
        other => panic!("{result}: {other:?}"),
    }
}

#[test]
fn read_messages_finds_the_response_in_every_envelope() {
    for text in [
        r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[]},"error":null}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[]},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[]},"error":""}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[]},"error":false}"#,
        r#"[{"jsonrpc":"2.0","id":5,"result":{"tools":[]}}]"#,
        r#"{"jsonrpc":"2.0","id":"5","result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":5.0,"result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","result":{"tools":[]}}"#,
        r#"{"jsonrpc":"1.0","id":5,"result":{"tools":[]}}"#,
        r#"{"id":5,"result":{"tools":[]}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":null,"result":{"tools":null}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":[]}"#,
        r#"{"jsonrpc":"2.0","id":5}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"tools\":[],\"x\":\"\\ud83d\"}}",
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"tools\":[]}}",
        r#"{"jsonrpc":"2.0","method":"notifications/x"} {"jsonrpc":"2.0","id":5,"result":{}}"#,
        // A progress bar, colours or the name of a logger in front.
        "Fetching 100%\r{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
        "\u{1b}[2K\u{1b}[1G{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
        "[server] {x} { \"jsonrpc\": \"2.0\", \"id\": 5, \"result\": {}} done",
    ] {
        let wire = open_requests(&[(5, "tools/list")]);
        let last = wire.read_messages(text.as_bytes(), None).pop();
        let Some(JsonRpcMessage::Response(response)) = last else { panic!("{text}: {last:?}") };
        assert_eq!(response.id, NumberOrString::Number(5), "{text}");
        assert!(matches!(response.result, ServerResult::ListToolsResult(_)), "{text}");
        assert!(wire.open.lock().is_empty());
    }
}

#[test]
fn read_messages_takes_no_line_of_a_log_for_a_message() {
    for text in [
        "INFO started",
        "7",
        "\"text\"",
        "{}",
        "[]",
        r#"{"level":"error","error":"no database"}"#,
        r#"{"method":"GET","path":"/","id":5}"#,
        r#"{"id":5,"name":"x"}"#,
        r#"{"jsonrpc":"2.0","id":6,"result":{}}"#,
        "{\"jsonrpc\":",
    ] {
        let wire = open_requests(&[(5, "tools/list")]);
        assert!(wire.read_messages(text.as_bytes(), None).is_empty(), "{text}");
        assert_eq!(wire.open.lock().len(), 1, "{text}");
    }
    // With two open requests, a response without an id answers neither.
    let wire = open_requests(&[(5, "tools/list"), (6, "ping")]);
    let text = br#"{"jsonrpc":"2.0","result":{}}"#;
    assert!(wire.read_messages(text, None).is_empty());
    assert_eq!(wire.read_messages(text, Some(6)).len(), 1);
}

#[test]
fn read_messages_keeps_the_words_of_an_error() {
    for (error, code, text) in [
        (json!({"code": -32601, "message": "no method"}), -32601, "no method"),
        (json!({"code": "-32601", "message": "no"}), -32601, "no"),
        (json!({"code": 1e30, "message": "no"}), -32603, "no"),
        (json!({"message": null, "data": "why"}), -32603, "why"),
        (json!({"error": "why"}), -32603, "why"),
        (json!("why"), -32603, "why"),
        (json!({}), -32603, "an error without a text"),
        (json!(["a"]), -32603, "[\"a\"]"),
        (json!(true), -32603, "true"),
    ] {
        let response = json!({"jsonrpc": "2.0", "id": 5, "error": error});
        let JsonRpcMessage::Error(read) = read("tools/list", &response) else { panic!("{error}") };
        assert_eq!((i64::from(read.error.code.0), &*read.error.message), (code, text), "{error}");
    }
}

#[test]
fn read_messages_reads_a_progress_report_of_odd_types() {
    let report = json!({"jsonrpc": "2.0", "id": null, "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": "3", "total": null, "message": 7}});
    let messages = ServerWire::default().read_messages(report.to_string().as_bytes(), None);
    let [JsonRpcMessage::Notification(notice)] = &messages[..] else { panic!("{messages:?}") };
    let text = serde_json::to_value(&notice.notification).unwrap();
    assert_eq!(text["params"]["progress"], 3.0);
    assert_eq!(text["params"]["message"], "7");
}

#[test]
fn rebuild_start_works_with_what_a_server_states() {
    for (result, name, version, has_tools) in [
        (
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}),
            "",
            "2025-06-18",
            true,
        ),
        (json!({"capabilities": null}), "", "2025-11-25", true),
        (json!(null), "", "2025-11-25", true),
        (
            json!({"protocolVersion": 3, "capabilities": {}, "serverInfo": null}),
            "",
            "2025-11-25",
            false,
        ),
        (
            json!({"capabilities": {"tools": null, "x": 1}, "serverInfo": "me"}),
            "me",
            "2025-11-25",
            false,
        ),
        (
            json!({"capabilities": {"tools": true}, "serverInfo": {"title": "me"}}),
            "me",
            "2025-11-25",
            true,
        ),
        (
            json!({"capabilities": {"tools": {"listChanged": "yes"}}, "serverInfo": {"name": 7, "version": 2}}),
            "7",
            "2025-11-25",
            true,
        ),
        (json!({"capabilities": [], "protocolVersion": "1999-01-01"}), "", "2024-11-05", true),
        (json!({"protocolVersion": "2025-11-01"}), "", "2025-06-18", true),
        (json!({"protocolVersion": "9999-01-01"}), "", "2025-11-25", true),
    ] {
        let ServerResult::InitializeResult(read) = result_of("initialize", &result) else {
            panic!("{result}");
        };
        assert_eq!(read.server_info.name, name, "{result}");
        assert_eq!(read.protocol_version.as_str(), version, "{result}");
        assert_eq!(read.capabilities.tools.is_some(), has_tools, "{result}");
    }
}

#[test]
fn rebuild_tools_leaves_out_only_what_cannot_be_read() {
    let good = json!({"name": "good", "inputSchema": {"type": "object"}});
    for (tool, expected) in [
        (json!({"name": "a"}), Ok("a")),
        (json!({"name": "a", "inputSchema": null}), Ok("a")),
        (json!({"name": "a", "inputSchema": {"type": "object", "properties": null}}), Ok("a")),
        (json!({"name": 7, "inputSchema": {}}), Ok("7")),
        (json!({"name": "a", "description": {"en": "x"}, "title": [], "icons": 1}), Ok("a")),
        (json!({"name": "a", "annotations": "none", "outputSchema": "x"}), Ok("a")),
        (json!({"name": "a", "annotations": {"readOnlyHint": "true", "title": 1}}), Ok("a")),
        (
            json!({"name": "a", "inputSchema": 7}),
            Err("\"a\" is left out: its inputSchema cannot be read (it is a number)"),
        ),
        (json!({"name": "a", "inputSchema": {"type": "string"}}), Err("its type is \"string\"")),
        (json!({"name": "a", "inputSchema": {"$ref": "#/nowhere"}}), Ok("a")),
        (json!({"inputSchema": {}}), Err("in place 2 is left out: it has no name")),
        (json!(null), Err("in place 2 is left out: it is no object")),
        (
            json!({"name": "a", "execution": {"taskSupport": "required"}}),
            Err("runs only as a task"),
        ),
        (json!({"name": "a", "execution": {"taskSupport": "optional"}}), Ok("a")),
    ] {
        let page = json!({"tools": [good, tool, good], "nextCursor": ""});
        let ServerResult::ListToolsResult(list) = result_of("tools/list", &page) else {
            panic!("{tool}");
        };
        assert!(list.next_cursor.is_none(), "{tool}");
        let names: Vec<&str> = list.tools.iter().map(|tool| &*tool.name).collect();
        let remarks = remarks_of(list.meta.as_ref());
        match expected {
            Ok(name) => {
                assert_eq!((names, remarks.len()), (vec!["good", name, "good"], 0), "{tool}");
            }
            Err(why) => {
                assert_eq!(names, ["good", "good"], "{tool}");
                assert!(remarks.len() == 1 && remarks[0].contains(why), "{tool}: {remarks:?}");
            }
        }
    }
}

#[test]
fn rebuild_tools_reads_lists_of_other_shapes() {
    for result in [
        json!([{"name": "a"}]),
        json!({"tools": {"name": "a"}}),
        json!({"tools": {"a": {"description": "x"}}}),
        json!({"tools": [{"name": "a", "input_schema": {"type": "object"}}], "nextCursor": null}),
    ] {
        let ServerResult::ListToolsResult(list) = result_of("tools/list", &result) else {
            panic!("{result}");
        };
        assert_eq!(list.tools.len(), 1, "{result}");
        assert_eq!(list.tools[0].name, "a");
    }
    for (cursor, expected) in [(json!(7), Some("7")), (json!({}), None), (json!("x"), Some("x"))] {
        let page = json!({"tools": [], "nextCursor": cursor});
        let ServerResult::ListToolsResult(list) = result_of("tools/list", &page) else {
            panic!("{page}");
        };
        assert_eq!(list.next_cursor.as_deref(), expected);
    }
}

#[test]
fn rebuild_call_result_keeps_what_can_be_read() {
    let hi = json!([{"type": "text", "text": "hi"}]);
    for (result, content) in [
        (json!({"content": "hi"}), hi.clone()),
        (json!({"content": {"type": "text", "text": "hi"}}), hi.clone()),
        (json!({"content": ["hi"]}), hi.clone()),
        (json!({"content": [{"text": "hi"}]}), hi.clone()),
        (
            json!({"content": [{"type": "text", "text": "hi", "annotations": 7, "_meta": []}]}),
            hi.clone(),
        ),
        (json!("hi"), hi.clone()),
        (json!(["hi"]), hi.clone()),
        (json!({"content": null}), json!([])),
        (json!(null), json!([])),
        (json!({}), json!([])),
        (json!({"content": [{"type": "text", "text": 7}]}), json!([{"type": "text", "text": "7"}])),
        (
            json!({"toolResult": {"a": 1}}),
            json!([{"type": "text", "text": "{\"toolResult\":{\"a\":1}}"}]),
        ),
        (
            json!({"content": [{"type": "chart", "points": [1, 2]}]}),
            json!([{"type": "text", "text": "[a content block of the unknown type \"chart\"] {\"points\":[1,2]}"}]),
        ),
        (
            json!({"content": [{"type": "video", "text": "a cat", "data": "x"}, {"type": "text", "text": "hi"}]}),
            json!([
                {"type": "text", "text": "[a content block of the unknown type \"video\"] a cat"},
                {"type": "text", "text": "hi"},
            ]),
        ),
        (
            json!({"content": [{"type": "image", "data": "data:image/png;base64,AA\nAA"}]}),
            json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]),
        ),
        (
            json!({"content": [{"type": "text", "text": null}, {"type": "text", "text": "hi"}]}),
            json!([{"type": "text", "text": ""}, {"type": "text", "text": "hi"}]),
        ),
        (
            json!({"content": [{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AAAA"}}]}),
            json!([{"type": "image", "data": "AAAA", "mimeType": "image/gif"}]),
        ),
        (
            json!({"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}),
            json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}]),
        ),
        (
            json!({"content": [{"type": "image", "url": "https://example.org/x.png"}]}),
            json!([{"type": "text", "text": "[a content block of the unknown type \"image\"] {\"url\":\"https://example.org/x.png\"}"}]),
        ),
        (
            json!({"content": [{"type": "resource", "uri": "a://b", "text": "c"}]}),
            json!([{"type": "resource", "resource": {"uri": "a://b", "text": "c"}}]),
        ),
        (
            json!({"content": [{"type": "resource_link", "uri": "a://b", "size": "large"}]}),
            json!([{"type": "resource_link", "uri": "a://b", "name": "a://b"}]),
        ),
    ] {
        let read = serde_json::to_value(call_result(&result).content).unwrap();
        assert_eq!(read, content, "{result}");
    }
    let data = "x".repeat(10_000);
    let block = json!({"content": [{"type": "video", "blob": data}]});
    let read = serde_json::to_value(call_result(&block)).unwrap().to_string();
    assert!(read.contains("[10000 bytes of data]") && read.len() < 300, "{read}");
}

#[test]
fn rebuild_call_result_reads_flags_and_structured_content_of_any_type() {
    for (flag, expected) in [
        (json!(true), Some(true)),
        (json!("true"), Some(true)),
        (json!("false"), Some(false)),
        (json!(1), Some(true)),
        (json!(null), None),
        (json!([]), None),
    ] {
        let result = json!({"content": [], "isError": flag});
        assert_eq!(call_result(&result).is_error, expected, "{flag}");
    }
    for structured in [json!([1]), json!("x"), json!(7), json!({"a": null})] {
        let result = json!({"content": "hi", "structuredContent": structured});
        let read = call_result(&result);
        assert_eq!((read.structured_content, read.content.len()), (Some(structured), 1));
    }
    let read = call_result(&json!({"content": "hi", "structuredContent": null}));
    assert_eq!((read.structured_content, read.content.len()), (None, 1));
    for result in [json!({"task": {"taskId": "1"}}), json!({"resultType": "input_required"})] {
        assert_eq!(call_result(&result).is_error, Some(true), "{result}");
    }
}

#[test]
fn results_about_resources_and_prompts_keep_their_readable_entries() {
    for (method, result, expected) in [
        (
            "resources/list",
            json!({"resources": [{"uri": "a://b"}, {"name": "x"}, 7], "nextCursor": ""}),
            json!({"resources": [{"uri": "a://b", "name": "a://b"}]}),
        ),
        (
            "resources/read",
            json!({"contents": [{"uri": "a://b", "text": 7}, {"uri": "a://c"}, {"blob": "AA AA"}]}),
            json!({"contents": [{"uri": "a://b", "text": "7"}, {"uri": "", "blob": "AAAA"}]}),
        ),
        (
            "prompts/list",
            json!({"prompts": [{"name": "p", "arguments": ["a", {"name": "b", "required": "yes"}, 7.5, null]}, {}]}),
            json!({"prompts": [{"name": "p", "arguments": [{"name": "a"}, {"name": "b", "required": true}, {"name": "7.5"}]}]}),
        ),
        (
            "prompts/get",
            json!({"messages": [{"role": "system", "content": ["a", {"type": "text", "text": "b"}]}, "c"]}),
            json!({"messages": [
                {"role": "user", "content": {"type": "text", "text": "a"}},
                {"role": "user", "content": {"type": "text", "text": "b"}},
                {"role": "user", "content": {"type": "text", "text": "c"}},
            ]}),
        ),
    ] {
        let read = serde_json::to_value(result_of(method, &result)).unwrap();
        assert_eq!(read, expected, "{method} {result}");
    }
}
