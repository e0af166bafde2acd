use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;

fn asked(body: &Value) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        path: "/api/chat".to_owned(),
        headers: Vec::new(),
        body: body.to_string().into_bytes(),
    }
}

/// Returns a chat request. `more` replaces or adds fields.
fn with(more: &Value) -> Value {
    let mut body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "hi" }] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[track_caller]
fn refuses(card: &Card, more: &Value, status: u16, message: &str) {
    let refusal = check(&asked(&with(more)), card).unwrap_err();
    assert_eq!((refusal.status, refusal.message.as_str()), (status, message));
}

fn able(capabilities: &[&'static str]) -> Card {
    Card { capabilities: Some(capabilities.to_vec()), ..Card::default() }
}

#[test]
fn ollama_accepts_a_valid_request() {
    let call = json!({ "function": { "name": "look", "arguments": {} } });
    let parameters = json!({ "type": "object", "properties": { "x": {} } });
    let tool =
        json!({ "type": "function", "function": { "name": "look", "parameters": parameters } });
    let body = with(&json!({
        "messages": [
            { "role": "system", "content": "be kind" },
            { "role": "user", "content": "hi", "images": [STANDARD.encode("a picture")] },
            { "role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call] },
            { "role": "tool", "tool_name": "look", "content": "seen" },
        ],
        "tools": [tool], "stream": true, "think": true, "keep_alive": -1, "truncate": false,
        "options": { "num_ctx": 8192, "num_predict": 9 },
    }));
    assert_eq!(check(&asked(&body), &Card::default()).unwrap(), body);
}

#[test]
fn ollama_refuses_bad_paths_and_methods() {
    let good = asked(&with(&json!({})));
    let elsewhere = HttpRequest { path: "/v1/api/chat".to_owned(), ..good.clone() };
    let read = HttpRequest { method: "GET".to_owned(), ..good.clone() };
    for request in [elsewhere, read] {
        let refusal = check(&request, &Card::default()).unwrap_err();
        assert_eq!((refusal.status, refusal.message.as_str()), (404, "404 page not found"));
    }
    let empty = HttpRequest { body: Vec::new(), ..good.clone() };
    assert_eq!(check(&empty, &Card::default()).unwrap_err().message, "missing request body");
    let broken = HttpRequest { body: good.body[..5].to_vec(), ..good };
    assert_eq!(check(&broken, &Card::default()).unwrap_err().status, 400);
}

#[test]
fn ollama_checks_the_key_only_if_one_is_configured() {
    let with_key = |key: &str| HttpRequest {
        headers: vec![("authorization".to_owned(), format!("Bearer {key}"))],
        ..asked(&with(&json!({})))
    };
    let keyed = Card { key: Some(KEY), ..Card::default() };
    for request in [asked(&with(&json!({}))), with_key("another")] {
        let refusal = check(&request, &keyed).unwrap_err();
        assert_eq!((refusal.status, refusal.message.as_str()), (401, "unauthorized"));
        assert!(check(&request, &Card::default()).is_ok());
    }
    assert!(check(&with_key(KEY), &keyed).is_ok());
}

#[test]
fn ollama_refuses_bad_fields() {
    let message = |message: Value| json!({ "messages": [message] });
    let called = |arguments: Value| {
        let call = json!({ "function": { "name": "f", "arguments": arguments } });
        message(json!({ "role": "assistant", "tool_calls": [call] }))
    };
    let tool =
        |parameters: Value| json!({ "tools": [{ "function": { "parameters": parameters } }] });
    const INTO: &str = "into Go struct field ChatRequest.";
    let cases = [
        (json!({ "model": "" }), 400, "model is required".to_owned()),
        (
            json!({ "model": "llama0" }),
            404,
            "model \"llama0\" not found, try pulling it first".to_owned(),
        ),
        (
            json!({ "stream": "yes" }),
            400,
            format!("json: cannot unmarshal string {INTO}stream of type bool"),
        ),
        (
            json!({ "messages": "hi" }),
            400,
            format!("json: cannot unmarshal string {INTO}messages of type []api.Message"),
        ),
        (
            message(json!({ "role": "user", "content": [] })),
            400,
            format!("json: cannot unmarshal array {INTO}messages.content of type string"),
        ),
        (
            message(json!({ "role": "user", "images": ["a!"] })),
            400,
            "illegal base64 data at input byte 0".to_owned(),
        ),
        (
            called(json!("{}")),
            400,
            format!(
                "json: cannot unmarshal string {INTO}messages.tool_calls.function.arguments of type \
                 api.ToolCallFunctionArguments"
            ),
        ),
        (
            tool(json!(true)),
            400,
            format!(
                "json: cannot unmarshal bool {INTO}tools.function.parameters of type \
                 api.ToolFunctionParameters"
            ),
        ),
        (
            tool(json!({ "properties": { "x": true } })),
            400,
            format!(
                "json: cannot unmarshal bool {INTO}tools.function.parameters.properties of type \
                 api.ToolProperty"
            ),
        ),
        (
            json!({ "options": { "num_ctx": "many" } }),
            400,
            "option \"num_ctx\" must be of type integer".to_owned(),
        ),
        (
            json!({ "think": "much" }),
            400,
            "invalid think value: \"much\" (must be \"high\", \"medium\", \"low\", true, or false)"
                .to_owned(),
        ),
        (json!({ "keep_alive": "5" }), 400, "time: missing unit in duration \"5\"".to_owned()),
    ];
    for (more, status, message) in cases {
        refuses(&Card::default(), &more, status, &message);
    }
}

#[test]
fn ollama_refuses_features_that_the_model_lacks() {
    let can_chat = able(&["completion"]);
    let tools = json!({ "tools": [{ "type": "function", "function": { "name": "f" } }] });
    let says = "registry.ollama.ai/library/qwen-test:latest does not support tools";
    refuses(&can_chat, &tools, 400, says);
    for think in [json!(true), json!("high")] {
        let says = "\"qwen-test:8b\" does not support thinking";
        refuses(&can_chat, &json!({ "think": think }), 400, says);
    }
    assert!(check(&asked(&with(&json!({ "think": false }))), &can_chat).is_ok());
    let shows = json!({ "messages": [{ "role": "user", "content": "look", "images": ["aGk="] }] });
    let says = "this model is missing data required for image input";
    refuses(&can_chat, &shows, 500, says);
}

fn long() -> Value {
    let message = |role: &str| json!({ "role": role, "content": "word ".repeat(2000) });
    json!([message("system"), message("user"), message("assistant"), message("user")])
}

#[test]
fn ollama_truncates_long_conversations_silently_unless_forbidden() {
    let card = Card::default();
    let seen = |more: Value| check(&asked(&with(&more)), &card).unwrap()["messages"].clone();
    let by_default = seen(json!({ "messages": long() }));
    let roles: Vec<&Value> =
        by_default.as_array().unwrap().iter().map(|one| &one["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
    let context = json!({ "num_ctx": 32_768 });
    assert_eq!(seen(json!({ "messages": long(), "options": context })), long());
    let strict = json!({ "messages": long(), "truncate": false });
    refuses(&card, &strict, 400, "the input length exceeds the context length");
    let small = Card { context_length: 2048, ..Card::default() };
    let strict = json!({ "messages": long(), "truncate": false, "options": context });
    refuses(&small, &strict, 400, "the input length exceeds the context length");
    let of_file = Card { parameters: "num_ctx 32768", ..Card::default() };
    assert!(check(&asked(&with(&json!({ "messages": long() }))), &of_file).is_ok());
}
