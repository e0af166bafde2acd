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
    let refusal = check(&request(body), ImageInput::Accepted).unwrap_err();
    assert!(refusal.message.contains(message), "{}", refusal.message);
    assert_eq!(refusal.status, 400);
}

#[test]
fn openai_accepts_a_valid_request() {
    let messages = json!([
        { "role": "system", "content": "be kind" },
        { "role": "user", "content": "hi" },
        assistant(&call("1", "read_file", "{}")),
        { "role": "tool", "tool_call_id": "1", "content": "text" },
        { "role": "user", "content": "thanks" },
    ]);
    check(&request(&body(&messages)), ImageInput::Accepted).unwrap();
}

#[test]
fn openai_lists_models_only_with_the_key() {
    let ask = |key: Option<&str>| {
        let headers = key.map(|key| ("authorization".to_owned(), format!("Bearer {key}")));
        let request =
            HttpRequest { headers: headers.into_iter().collect(), ..request(&Value::Null) };
        let pieces = listed(&request, &["one", "two"]);
        let bytes = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Bytes(bytes) => Some(bytes),
            _ => None,
        });
        String::from_utf8(bytes.flatten().collect()).unwrap()
    };
    for key in [None, Some("sk-other")] {
        assert!(ask(key).starts_with("HTTP/1.1 401 "), "{key:?}");
    }
    let list = ask(Some(KEY));
    assert!(list.starts_with("HTTP/1.1 200 ") && list.contains("\"id\":\"two\""), "{list}");
}

#[test]
fn openai_refuses_the_requests_that_the_real_api_refuses() {
    let user = json!({ "role": "user", "content": "hi" });
    refuses(&json!({ "messages": [user] }), "you must provide a model parameter");
    refuses(&body(&json!([])), "empty array");
    refuses(&body(&json!([{ "role": "robot", "content": "" }])), "Invalid value: 'robot'");
    refuses(&body(&json!([{ "role": "user", "content": null }])), "expected a string, got null");
    refuses(&body(&json!([user, { "role": "assistant", "content": null }])), "got null");
    refuses(&body(&json!([user, { "role": "system", "content": "x" }])), "at the beginning");
    refuses(&body(&json!([user, { "role": "developer", "content": "x" }])), "at the beginning");
    let unstreamed = json!({ "model": "m", "messages": [user], "stream_options": {} });
    refuses(&unstreamed, "only allowed when 'stream' is enabled.");
    let twice =
        json!({ "model": "m", "messages": [user], "max_tokens": 1, "max_completion_tokens": 1 });
    refuses(&twice, "at the same time is not supported.");
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
    assert_eq!(check(&wrong_key, ImageInput::Accepted).unwrap_err().status, 401);
    let mut elsewhere = request(&body(&json!([user])));
    elsewhere.path = "/chat/completions".to_owned();
    assert_eq!(check(&elsewhere, ImageInput::Accepted).unwrap_err().status, 404);
    let mut broken = request(&body(&json!([user])));
    broken.body.truncate(3);
    assert!(check(&broken, ImageInput::Accepted).unwrap_err().message.contains("could not parse"));
}

fn shows(part: &Value) -> Value {
    let parts = json!([{ "type": "text", "text": "look" }, part]);
    body(&json!([{ "role": "user", "content": parts }]))
}

fn image(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

#[test]
fn openai_accepts_an_image_only_for_a_vision_model() {
    let shown = shows(&image("data:image/jpeg;base64,/9j/4A=="));
    assert_eq!(last_user_text(&check(&request(&shown), ImageInput::Accepted).unwrap()), "look");
    let refusal = check(&request(&shown), ImageInput::Refused).unwrap_err().message;
    assert_eq!(refusal, "Invalid content type. image_url is only supported by certain models.");
}

#[test]
fn openai_refuses_bad_images() {
    let cases = [
        (json!({ "type": "image", "url": "x" }), "Invalid value: 'image'. Supported values are"),
        (json!({ "type": "text" }), "Missing required parameter: 'messages[0].content[1].text'."),
        (
            json!({ "type": "image_url", "image_url": "data:" }),
            "expected an object, but got a string",
        ),
        (json!({ "type": "image_url", "image_url": {} }), "[1].image_url.url'."),
        (image("file:///a.jpg"), "Failed to download image from file:///a.jpg."),
        (image("data:text/plain;base64,aGk="), "Invalid MIME type."),
        (image("data:image/png;base64,a!"), "Invalid base64 image_url."),
        (image("data:image/png"), "Invalid base64 image_url."),
        (image("data:image/png;base64,aGk="), "You uploaded an unsupported image."),
        (image("data:image/png;base64,/9j/4A=="), "You uploaded an unsupported image."),
    ];
    for (part, message) in cases {
        refuses(&shows(&part), message);
    }
    refuses(&body(&json!([{ "role": "user", "content": [] }])), "empty array");
    let system = json!([{ "role": "system", "content": [{ "type": "text", "text": "x" }] }]);
    refuses(&body(&system), "expected a string");
}
