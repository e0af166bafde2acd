use serde_json::json;

use super::*;
use crate::openai::KEY;

fn asked(body: &Value) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        path: "/v1/responses".to_owned(),
        headers: vec![("authorization".to_owned(), format!("Bearer {KEY}"))],
        body: body.to_string().into_bytes(),
    }
}

fn body(input: &Value) -> Value {
    json!({ "model": MODEL, "store": false, "input": input })
}

#[track_caller]
fn refuses(body: &Value, message: &str) {
    let refusal = check(&asked(body)).unwrap_err();
    assert!(refusal.message.contains(message), "{}", refusal.message);
}

/// Returns a request with this additional field.
fn with(key: &str, value: &Value) -> Value {
    let mut body = body(&json!("hi"));
    body[key] = value.clone();
    body
}

fn call(id: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": arguments })
}

fn output(id: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": "text" })
}

fn user() -> Value {
    json!({ "role": "user", "content": "hi" })
}

#[test]
fn responses_accepts_a_valid_request() {
    let shown = json!([{ "type": "input_text", "text": "look" },
        { "type": "input_image", "image_url": "data:image/jpeg;base64,/9j/4A==" }]);
    let mut body = body(&json!([
        { "role": "user", "content": shown },
        { "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "I look" }] },
        thought("rs_1", "hm"),
        thought("rs_2", "hm"),
        call("1", "{}"),
        call("2", "{}"),
        output("2"),
        output("1"),
    ]));
    body["include"] = json!(["reasoning.encrypted_content"]);
    body["reasoning"] = json!({ "effort": "low" });
    body["tools"] = json!([{ "type": "function", "name": "f", "parameters": { "type": "object" }, "strict": false }]);
    let read = check(&asked(&body)).unwrap();
    assert_eq!(last_results(&read), ["text", "text"]);
}

#[test]
fn responses_refuses_bad_fields() {
    refuses(&json!({ "input": "hi" }), "Missing required parameter: 'model'.");
    refuses(&with("model", &json!("gpt-0")), "The requested model 'gpt-0' does not exist.");
    refuses(&with("max_tokens", &json!(100)), "Unknown parameter: 'max_tokens'.");
    refuses(&with("max_output_tokens", &json!(15)), "Expected a value >= 16, but got 15");
    refuses(&with("temperature", &json!(1)), "'temperature' is not supported with this model.");
    let much = json!({ "effort": "much" });
    refuses(
        &with("reasoning", &much),
        "Unsupported value: 'much' is not supported with the 'gpt-5-test' model.",
    );
    for (key, value, says) in [
        ("include", json!(["reasoning.encrypted_content"]), "Encrypted content is not supported"),
        ("reasoning", json!({ "effort": "low" }), "'reasoning.effort' is not supported"),
    ] {
        let mut plain = with(key, &value);
        check(&asked(&plain)).unwrap();
        plain["model"] = json!(PLAIN);
        refuses(&plain, says);
    }
    let mut elsewhere = asked(&body(&json!("hi")));
    elsewhere.path = "/v1/chat/completions".to_owned();
    assert_eq!(check(&elsewhere).unwrap_err().status, 404);
    let mut wrong_key = asked(&body(&json!("hi")));
    wrong_key.headers[0].1 = "Bearer sk-wrong".to_owned();
    assert_eq!(check(&wrong_key).unwrap_err().status, 401);
    let mut broken = asked(&body(&json!("hi")));
    broken.body.truncate(3);
    assert!(check(&broken).unwrap_err().message.contains("could not parse"));
}

#[test]
fn responses_refuses_bad_tools() {
    let function = json!({ "name": "f", "parameters": { "type": "object" } });
    let cases = [
        (json!({ "type": "function", "function": function }), "'tools[0].name'."),
        (json!({ "name": "read file" }), "does not match pattern"),
        (json!({ "name": "f", "parameters": { "type": "string" } }), "got 'type: \"string\"'."),
        (function, "'additionalProperties' is required to be supplied and to be false."),
    ];
    for (tool, says) in cases {
        refuses(&with("tools", &json!([tool])), says);
    }
}

#[test]
fn responses_refuses_bad_items() {
    refuses(&body(&json!([])), "One of \"input\" or");
    refuses(&body(&json!([{ "role": "robot", "content": "" }])), "Invalid value: 'robot'.");
    refuses(&body(&json!([{ "role": "user" }])), "'input[0].content'.");
    refuses(&body(&json!([{ "type": "tool", "content": "" }])), "Invalid value: 'tool'.");
    refuses(&body(&json!([user(), output("1")])), "output with call_id 1.");
    refuses(&body(&json!([user(), call("1", "{}")])), "output found for function call 1.");
    let twice = json!([user(), call("1", "{}"), output("1"), output("1")]);
    refuses(&body(&twice), "No tool call found");
    refuses(&body(&json!([call("1", "{oops"), output("1")])), "not a JSON object");
    refuses(&body(&json!([call(&"1".repeat(65), "{}")])), "maximum length 64, but got a string");
    let mut unnamed = call("1", "{}");
    unnamed["name"] = json!("read file");
    refuses(&body(&json!([unnamed])), "does not match pattern");
    for (item, field) in [(call("1", "{}"), "call_id"), (call("1", "{}"), "arguments")] {
        let mut item = item;
        item.as_object_mut().unwrap().remove(field);
        refuses(&body(&json!([item])), &format!("'input[0].{field}'."));
    }
    let empty = json!({ "type": "function_call_output", "call_id": "1" });
    refuses(&body(&json!([call("1", "{}"), empty])), "'input[1].output'.");
}

#[test]
fn responses_refuses_bad_parts() {
    let said = |role: &str, part: Value| body(&json!([{ "role": role, "content": [part] }]));
    let input = json!({ "type": "input_text", "text": "x" });
    refuses(&said("assistant", input), "Supported values are: 'output_text' and 'refusal'.");
    let chat = json!({ "type": "text", "text": "x" });
    refuses(&said("user", chat), "Invalid value: 'text'. Supported values are: 'input_text'");
    refuses(&said("user", json!({ "type": "input_text" })), "'input[0].content[0].text'.");
    let object = json!({ "type": "input_image", "image_url": { "url": "data:" } });
    refuses(&said("user", object), "expected an image URL, but got an object instead.");
    let wrong = json!({ "type": "input_image", "image_url": "data:image/png;base64,/9j/4A==" });
    refuses(&said("user", wrong), "You uploaded an unsupported image.");
}

#[test]
fn responses_refuses_bad_reasoning_items() {
    let called = [call("1", "{}"), output("1")];
    let after = |thought: Value| body(&json!([thought, called[0], called[1]]));
    let without = |key: &str| {
        let mut thought = thought("rs_1", "hm");
        thought.as_object_mut().unwrap().remove(key);
        thought
    };
    refuses(&after(without("summary")), "'input[0].summary'.");
    refuses(&after(without("encrypted_content")), "Item with id 'rs_1' not found. Items are not");
    let mut changed = thought("rs_1", "hm");
    changed["id"] = json!("rs_2");
    refuses(&after(changed), "for item rs_2 could not be verified.");
    let alone = [json!([thought("rs_1", "hm")]), json!([thought("rs_1", "hm"), user()])];
    for input in alone {
        refuses(&body(&input), "'rs_1' of type 'reasoning' was provided without its required");
    }
}

#[test]
fn responses_returns_reasoning_only_if_included() {
    let thinks = || ModelAnswer::thinks("hm", ModelAnswer::says("ok"));
    let include = with("include", &json!(["reasoning.encrypted_content"]));
    assert!(matches!(given(&include, thinks()), ModelAnswer::Thinks(..)));
    assert!(matches!(given(&with("stream", &json!(true)), thinks()), ModelAnswer::Says(_)));
}

#[test]
fn responses_without_stream_returns_one_body() {
    let answer = given(&body(&json!("hi")), ModelAnswer::says("ok"));
    let ModelAnswer::Status(200, _, whole) = answer else { panic!() };
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["output"][0]["content"][0]["text"], "ok");
}

#[test]
fn responses_checks_searches_for_tools() {
    let search = json!({ "type": "tool_search", "execution": "client", "description": "loads",
        "parameters": { "type": "object", "properties": {} } });
    let tool = json!({ "type": "function", "name": "f", "strict": false, "defer_loading": true,
        "parameters": { "type": "object", "properties": {} } });
    let searched = json!({ "type": "tool_search_call", "call_id": "s", "execution": "client",
        "status": "completed", "arguments": {} });
    let found = json!({ "type": "tool_search_output", "call_id": "s", "execution": "client",
        "status": "completed", "tools": [tool] });
    let named = json!({ "type": "function_call", "call_id": "1", "name": "f", "namespace": "f",
        "arguments": "{}" });
    let valid = |input: Value| {
        let mut body = body(&input);
        body["tools"] = json!([search]);
        body
    };
    let whole = valid(json!([user(), searched, found, named, output("1")]));
    check(&asked(&whole)).unwrap();
    let mut plain = whole.clone();
    plain["model"] = json!(PLAIN);
    let mut shown = found.clone();
    shown["tools"][0]["defer_loading"] = json!(false);
    let cases = [
        (plain, "Tool 'tool_search' is not supported"),
        (with("tools", &json!([tool])), "Deferred tools require the 'tool_search' tool."),
        (valid(json!([user(), searched])), "No tool output found for function call s."),
        (valid(json!([user(), found])), "No tool call found"),
        (valid(json!([user(), searched, shown])), "not deferred"),
        (
            valid(json!([user(), searched, found, call("1", "{}"), output("1")])),
            "Missing namespace for function_call \"f\"",
        ),
        (valid(json!([user(), named, output("1")])), "namespace"),
    ];
    for (body, message) in cases {
        refuses(&body, message);
    }
}

#[test]
fn responses_takes_the_phase_of_an_answer_only() {
    let of = |role: &str, phase: &Value| {
        body(&json!([{ "role": role, "content": "hi", "phase": phase }]))
    };
    for phase in [json!("commentary"), json!("final_answer"), Value::Null] {
        check(&asked(&of("assistant", &phase))).unwrap();
    }
    refuses(&of("assistant", &json!("news")), "Supported values are: 'commentary'");
    refuses(&of("assistant", &json!(1)), "Supported values are: 'commentary'");
    refuses(&of("user", &json!("commentary")), "Unknown parameter: 'input[0].phase'.");
}
