use super::*;

fn request(body: &Value) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        headers: vec![("authorization".to_owned(), format!("Bearer {KEY}"))],
        body: body.to_string().into_bytes(),
    }
}

fn body(messages: &Value) -> Value {
    json!({ "model": "m", "messages": messages })
}

fn assistant(call: &Value) -> Value {
    json!({ "role": "assistant", "content": null, "tool_calls": [call] })
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

#[track_caller]
fn refuses(body: &Value, message: &str) {
    let refusal = check(&request(body)).unwrap_err();
    assert!(refusal.message.contains(message), "{}", refusal.message);
    assert_eq!(refusal.status, 400);
}

#[test]
fn a_valid_request_passes() {
    let messages = json!([
        { "role": "system", "content": "be kind" },
        { "role": "user", "content": "hi" },
        assistant(&call("1", "read_file", "{}")),
        { "role": "tool", "tool_call_id": "1", "content": "text" },
        { "role": "user", "content": "thanks" },
    ]);
    check(&request(&body(&messages))).unwrap();
}

#[test]
fn each_refusal_of_the_real_api() {
    let user = json!({ "role": "user", "content": "hi" });
    refuses(&json!({ "messages": [user] }), "you must provide a model parameter");
    refuses(&body(&json!([])), "empty array");
    refuses(&body(&json!([{ "role": "robot", "content": "" }])), "Invalid value: 'robot'");
    refuses(&body(&json!([{ "role": "user", "content": null }])), "expected a string, got null");
    refuses(&body(&json!([user, { "role": "assistant", "content": null }])), "got null");
    refuses(&body(&json!([user, { "role": "system", "content": "x" }])), "at the beginning");
    let orphan = json!({ "role": "tool", "tool_call_id": "1", "content": "" });
    refuses(&body(&json!([user, orphan])), "must be a response to a preceeding message");
    let open = assistant(&call("1", "f", "{}"));
    refuses(&body(&json!([user, open])), "did not have response messages: 1");
    refuses(&body(&json!([user, open, user])), "did not have response messages: 1");
    let answer = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "" });
    refuses(&body(&json!([user, open, answer("1"), answer("1")])), "preceeding message");
    let bad = assistant(&call("1", "f", "{oops"));
    refuses(&body(&json!([user, bad, answer("1")])), "not a JSON object");
    let unnamed = assistant(&call("1", "read file", "{}"));
    refuses(&body(&json!([user, unnamed, answer("1")])), "does not match pattern");
    let tool = |name: &str, kind: &str| json!({ "type": "function", "function": { "name": name, "parameters": { "type": kind } } });
    let with_tool = |tool: Value| json!({ "model": "m", "messages": [user], "tools": [tool] });
    refuses(&with_tool(tool("", "object")), "does not match pattern");
    refuses(&with_tool(tool("f", "string")), "must be of type object");

    let mut wrong_key = request(&body(&json!([user])));
    wrong_key.headers[0].1 = "Bearer sk-wrong".to_owned();
    assert_eq!(check(&wrong_key).unwrap_err().status, 401);
    let mut elsewhere = request(&body(&json!([user])));
    elsewhere.path = "/chat/completions".to_owned();
    assert_eq!(check(&elsewhere).unwrap_err().status, 404);
    let mut broken = request(&body(&json!([user])));
    broken.body.truncate(3);
    assert!(check(&broken).unwrap_err().message.contains("could not parse"));
}
