use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn asked(body: &Value) -> HttpRequest {
    let headers = [("x-api-key", KEY), ("anthropic-version", "2023-06-01")];
    HttpRequest {
        method: "POST".to_owned(),
        path: "/v1/messages".to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        body: body.to_string().into_bytes(),
    }
}

/// Returns a request with these messages. `more` replaces, adds or (with null) removes fields.
fn with(messages: &Value, more: &Value) -> Value {
    let mut body = json!({ "model": MODEL, "max_tokens": 9000, "messages": messages });
    for (key, value) in more.as_object().unwrap() {
        if value.is_null() {
            body.as_object_mut().unwrap().remove(key);
        } else {
            body[key] = value.clone();
        }
    }
    body
}

#[track_caller]
fn takes(messages: &Value) {
    check(&asked(&with(messages, &json!({})))).unwrap();
}

#[track_caller]
fn refuses(body: &Value, status: u16, message: &str) {
    let refusal = check(&asked(body)).unwrap_err();
    assert!(refusal.message.contains(message), "{}", refusal.message);
    assert_eq!(refusal.status, status);
}

fn user(blocks: &[Value]) -> Value {
    json!({ "role": "user", "content": blocks })
}

fn assistant(blocks: &[Value]) -> Value {
    json!({ "role": "assistant", "content": blocks })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "look", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "seen" })
}

fn thought(words: &str) -> Value {
    json!({ "type": "thinking", "thinking": words, "signature": signature(words) })
}

#[test]
fn anthropic_accepts_a_valid_request() {
    takes(&json!([
        user(&[text("hi")]),
        assistant(&[text("I look"), call("1"), call("2")]),
        user(&[result("2"), result("1"), text("and?")]),
        { "role": "assistant", "content": "done" },
        { "role": "user", "content": "thanks" },
    ]));
}

#[test]
fn anthropic_accepts_adjacent_messages_of_one_role() {
    takes(&json!([
        user(&[text("a")]),
        user(&[text("b")]),
        assistant(&[text("c")]),
        assistant(&[call("1")]),
        user(&[result("1")]),
        user(&[text("d")])
    ]));
}

#[test]
fn anthropic_refuses_bad_headers_and_paths() {
    let good = asked(&with(&json!([user(&[text("hi")])]), &json!({})));
    let cases = [
        ("x-api-key", None, 401, "x-api-key header is required"),
        ("x-api-key", Some("sk-ant-wrong"), 401, "invalid x-api-key"),
        ("anthropic-version", None, 400, "anthropic-version: header is required"),
        ("anthropic-version", Some("1"), 400, "anthropic-version: \"1\" is not a valid version"),
    ];
    for (header, value, status, message) in cases {
        let mut request = good.clone();
        request.headers.retain(|(name, _)| name != header);
        request.headers.extend(value.map(|value| (header.to_owned(), value.to_owned())));
        let refusal = check(&request).unwrap_err();
        assert_eq!((refusal.status, refusal.message.as_str()), (status, message));
    }
    let elsewhere = HttpRequest { path: "/messages".to_owned(), ..good.clone() };
    assert_eq!(check(&elsewhere).unwrap_err().status, 404);
    let broken = HttpRequest { body: good.body[..5].to_vec(), ..good.clone() };
    assert!(check(&broken).unwrap_err().message.contains("not valid JSON"));
    let large = HttpRequest { body: vec![b' '; LARGEST + 1], ..good };
    let refusal = check(&large).unwrap_err();
    assert_eq!((refusal.status, refusal.kind), (413, "request_too_large"));
}

#[test]
fn anthropic_refuses_bad_request_fields() {
    let tool = |name: &str| json!({ "name": name, "input_schema": { "type": "object" } });
    let thinks =
        |budget: u64| json!({ "thinking": { "type": "enabled", "budget_tokens": budget } });
    let cases = [
        (json!({ "model": null }), 400, "model: Field required"),
        (json!({ "model": "claude-2" }), 404, "model: claude-2"),
        (json!({ "max_tokens": null }), 400, "max_tokens: Field required"),
        (json!({ "max_tokens": 0 }), 400, "max_tokens: Input should be greater than or equal to 1"),
        (json!({ "max_tokens": 99_999 }), 400, "max_tokens: 99999 > 64000"),
        (json!({ "messages": null }), 400, "messages: Field required"),
        (json!({ "stream_options": {} }), 400, "stream_options: Extra inputs are not permitted"),
        (json!({ "system": 1 }), 400, "system: Input should be a valid list"),
        (json!({ "system": [text("")] }), 400, "system: text content blocks must be non-empty"),
        (json!({ "tools": [tool("read file")] }), 400, "tools.0.custom.name: String should match"),
        (json!({ "tools": [{ "name": "f" }] }), 400, "tools.0.custom.input_schema: Field required"),
        (
            json!({ "tools": [{ "name": "f", "input_schema": { "type": "string" } }] }),
            400,
            "input_schema.type: Input should be 'object'",
        ),
        (json!({ "tools": [tool("f"), tool("f")] }), 400, "tools: Tool names must be unique."),
        (json!({ "thinking": { "type": "on" } }), 400, "Input tag 'on' found using 'type'"),
        (json!({ "thinking": { "type": "enabled" } }), 400, "budget_tokens: Field required"),
        (thinks(1023), 400, "Input should be greater than or equal to 1024"),
        (thinks(9000), 400, "`max_tokens` must be greater than `thinking.budget_tokens`."),
    ];
    for (more, status, message) in cases {
        refuses(&with(&json!([user(&[text("hi")])]), &more), status, message);
    }
}

#[test]
fn anthropic_refuses_bad_conversations() {
    let hi = user(&[text("hi")]);
    let cases = [
        (json!([]), "messages: at least one message is required"),
        (json!([assistant(&[text("hi")])]), "first message must use the \"user\" role"),
        (json!([{ "role": "system", "content": "x" }]), "Unexpected role \"system\""),
        (json!([{ "role": "user" }]), "messages.0.content: Field required"),
        (json!([user(&[])]), "messages.0: all messages must have non-empty content"),
        (
            json!([hi, assistant(&[call("1")])]),
            "without `tool_result` blocks immediately after: 1.",
        ),
        (
            json!([hi, assistant(&[call("1"), call("2")]), user(&[result("1")])]),
            "without `tool_result` blocks immediately after: 2.",
        ),
        (
            json!([hi, assistant(&[call("1")]), user(&[text("so"), result("1")])]),
            "without `tool_result` blocks immediately after: 1.",
        ),
        (
            json!([user(&[result("1")])]),
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 1.",
        ),
        (
            json!([hi, assistant(&[call("1")]), user(&[result("1"), result("1")])]),
            "each tool_use must have a single result. Found multiple `tool_result` blocks with id: 1",
        ),
        (
            json!([hi, assistant(&[call("1")]), user(&[result("1")]), assistant(&[call("1")])]),
            "messages.3: `tool_use` ids must be unique",
        ),
        (json!([hi, assistant(&[text("so ")])]), "cannot end with trailing whitespace"),
    ];
    for (messages, message) in cases {
        refuses(&with(&messages, &json!({})), 400, message);
    }
}

#[test]
fn anthropic_refuses_bad_content_blocks() {
    let cases = [
        (text(""), "messages: text content blocks must be non-empty"),
        (text(" \n"), "messages: text content blocks must contain non-whitespace text"),
        (json!({ "type": "text" }), "messages: text: Field required"),
        (json!({ "type": "image_url" }), "messages.0.content.0: Input tag 'image_url' found"),
        (call("1"), "`tool_use` blocks can only be in `assistant` messages"),
        (
            json!({ "type": "tool_result" }),
            "messages.0.content.0.tool_result.tool_use_id: Field required",
        ),
        (
            json!({ "type": "tool_result", "tool_use_id": "1", "content": 1 }),
            "tool_result.content: Input should be a valid string",
        ),
        (
            json!({ "type": "tool_result", "tool_use_id": "1", "is_error": "yes" }),
            "tool_result.is_error: Input should be a valid boolean",
        ),
        (
            json!({ "type": "tool_result", "tool_use_id": "1", "content": "", "is_error": true }),
            "messages.0.content.0.tool_result: content cannot be empty if `is_error` is true",
        ),
        (
            json!({ "type": "text", "text": "", "cache_control": { "type": "ephemeral" } }),
            "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
        ),
        (
            json!({ "type": "text", "text": "a", "cache_control": { "type": "for ever" } }),
            "messages.0.content.0.text.cache_control.type: Input should be 'ephemeral'",
        ),
    ];
    for (block, message) in cases {
        refuses(&with(&json!([user(&[block])]), &json!({})), 400, message);
    }
    let of_assistant = [
        (result("1"), "`tool_result` blocks can only be in `user` messages"),
        (call("a b"), "messages.1.content.0.tool_use.id: String should match pattern"),
        (json!({ "type": "tool_use", "name": "f", "input": {} }), "tool_use.id: Field required"),
        (
            json!({ "type": "tool_use", "id": "1", "name": "a b", "input": {} }),
            "messages.1.content.0.tool_use.name: String should match pattern",
        ),
        (
            json!({ "type": "tool_use", "id": "1", "name": "f", "input": "{}" }),
            "tool_use.input: Input should be a valid dictionary",
        ),
    ];
    for (block, message) in of_assistant {
        let messages = json!([user(&[text("hi")]), assistant(&[block])]);
        refuses(&with(&messages, &json!({})), 400, message);
    }
}

#[test]
fn anthropic_accepts_four_cache_marks_at_most() {
    let mark = |mut block: Value| {
        block["cache_control"] = json!({ "type": "ephemeral" });
        block
    };
    let tool = mark(json!({ "name": "f", "input_schema": { "type": "object" } }));
    let messages = |count: usize| json!([user(&vec![mark(text("hi")); count])]);
    let more = json!({ "system": [mark(text("be kind"))], "tools": [tool] });
    check(&asked(&with(&messages(2), &more))).unwrap();
    let refusal = "A maximum of 4 blocks with cache_control may be provided. Found 5.";
    refuses(&with(&messages(3), &more), 400, refusal);
    let thinks = json!([user(&[text("hi")]), assistant(&[mark(thought("hm")), text("ah")])]);
    let refusal = "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted";
    refuses(&with(&thinks, &json!({})), 400, refusal);
}

#[test]
fn anthropic_refuses_bad_images() {
    let image = |media_type: &str, data: &str| {
        let source = json!({ "type": "base64", "media_type": media_type, "data": data });
        json!({ "type": "image", "source": source })
    };
    takes(&json!([user(&[image("image/jpeg", "/9j/4A=="), text("look")])]));
    let large = STANDARD.encode([&[0xFF, 0xD8, 0xFF][..], &vec![0; 4_000_000]].concat());
    let cases = [
        (json!({ "type": "image", "source": { "type": "data" } }), "Input tag 'data' found"),
        (image("image/tiff", "/9j/4A=="), "media_type: Input should be 'image/jpeg', 'image/png'"),
        (image("image/png", "a!"), "image.source.base64.data: Invalid base64 data"),
        (image("image/png", "aGk="), "Could not process image"),
        (
            image("image/png", "/9j/4A=="),
            "base64.data: Image does not match the provided media type image/png",
        ),
        (image("image/jpeg", &large), "image exceeds 5 MB maximum: 5333340 bytes > 5242880 bytes"),
    ];
    for (block, message) in cases {
        refuses(&with(&json!([user(&[block])]), &json!({})), 400, message);
    }
}

#[test]
fn anthropic_models_refuse_forms_of_thinking_that_are_not_theirs() {
    let of = |model: &str, more: Value| {
        let mut body = with(&json!([user(&[text("hi")])]), &more);
        body["model"] = json!(model);
        body
    };
    let budget = json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } });
    let off = json!({ "thinking": { "type": "disabled" } });
    let adaptive = |effort: &str| {
        json!({ "thinking": { "type": "adaptive", "display": "summarized" },
        "output_config": { "effort": effort } })
    };
    for (model, more) in [
        (MODEL, budget.clone()),
        (ADAPTIVE, adaptive("xhigh")),
        (ADAPTIVE, off.clone()),
        (THINKER, adaptive("low")),
    ] {
        check(&asked(&of(model, more))).unwrap();
    }
    let cases = [
        (MODEL, adaptive("low"), "adaptive thinking is not supported on this model"),
        (MODEL, json!({ "output_config": { "effort": "low" } }), "does not support the effort"),
        (ADAPTIVE, budget.clone(), "\"thinking.type.enabled\" is not supported for this model."),
        (THINKER, budget, "\"thinking.type.enabled\" is not supported for this model."),
        (THINKER, off, "\"thinking.type.disabled\" is not supported for this model."),
        (THINKER, adaptive("off"), "output_config.effort: Input should be"),
        (THINKER, json!({ "output_config": { "level": 1 } }), "Extra inputs are not permitted"),
    ];
    for (model, more, message) in cases {
        refuses(&of(model, more), 400, message);
    }
}

fn thinking(messages: &Value) -> Value {
    with(messages, &json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } }))
}

#[test]
fn anthropic_requires_unchanged_thinking_blocks() {
    let hi = user(&[text("hi")]);
    let sealed = redacted("hm");
    check(&asked(&thinking(&json!([
        hi,
        assistant(&[thought("a"), sealed, text("so"), call("1")]),
        user(&[result("1")]),
        assistant(&[call("2")]),
        user(&[result("2")]),
    ]))))
    .unwrap();
    let before = json!([hi, assistant(&[text("no thought")]), user(&[text("and?")])]);
    check(&asked(&thinking(&before))).unwrap();

    let latest = |block: Value| json!([hi, assistant(&[block, call("1")]), user(&[result("1")])]);
    let mut unsigned = thought("a");
    unsigned.as_object_mut().unwrap().remove("signature");
    let mut changed = thought("a");
    changed["thinking"] = json!("b");
    let mut forged = thought("a");
    forged["signature"] = json!("Zm9yZ2Vk");
    let earlier =
        json!([hi, assistant(&[changed.clone(), text("x")]), hi, assistant(&[text("y")]), hi]);
    let cases = [
        (latest(unsigned), "messages.1.content.0.thinking.signature: Field required"),
        (latest(forged), "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (
            latest(changed),
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        ),
        (earlier, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (latest(json!({ "type": "thinking" })), "thinking.thinking: Field required"),
        (latest(json!({ "type": "redacted_thinking" })), "redacted_thinking.data: Field required"),
        (
            latest(json!({ "type": "redacted_thinking", "data": "eA==" })),
            "Invalid `data` in `redacted_thinking` block",
        ),
        (
            latest(text("so")),
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
        ),
        (
            json!([hi, assistant(&[text("x"), thought("a"), call("1")]), user(&[result("1")])]),
            "the first block must be `thinking` or `redacted_thinking`. Found `text`.",
        ),
        (
            json!([hi, assistant(&[thought("a")])]),
            "messages.1: The final block in an assistant message cannot be `thinking`.",
        ),
    ];
    for (messages, message) in cases {
        refuses(&thinking(&messages), 400, message);
    }
}

#[test]
fn anthropic_checks_deferred_tools_and_references_to_them() {
    let tool = |name: &str, deferred: bool| json!({ "name": name, "input_schema": { "type": "object" }, "defer_loading": deferred });
    let mut marked = tool("look", true);
    marked["cache_control"] = json!({ "type": "ephemeral" });
    let refers = |name: &str| {
        let content = json!([{ "type": "tool_reference", "tool_name": name }]);
        let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": content });
        json!([user(&[text("hi")]), assistant(&[call("a")]), user(&[result])])
    };
    let (first, other) = (tool("load", false), tool("look", true));
    let request = |messages: &Value, tools: &[&Value]| with(messages, &json!({ "tools": tools }));
    check(&asked(&request(&refers("look"), &[&first, &other]))).unwrap();
    let undefined = "has no corresponding tool definition";
    let cases = [
        (request(&refers("look"), &[&other]), "All tools have defer_loading set."),
        (request(&refers("look"), &[&first, &marked]), "cannot have both defer_loading=true"),
        (request(&refers("load"), &[&first, &other]), undefined),
        (request(&refers("walk"), &[&first, &other]), undefined),
    ];
    for (body, message) in cases {
        refuses(&body, 400, message);
    }
}
