use serde_json::json;

use super::*;

fn request(body: &Value) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        path: "/v1/audio/speech".to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
    }
}

fn valid() -> Value {
    json!({ "model": "tts-1", "voice": "alloy", "input": "Hello.", "response_format": "opus" })
}

#[test]
fn speech_accepts_a_valid_request() {
    let call = check(&request(&valid())).unwrap();
    assert_eq!((call.input.as_str(), call.format.as_deref()), ("Hello.", Some("opus")));
}

#[test]
fn speech_refuses_the_requests_that_the_real_api_refuses() {
    let cases = [
        ("model", json!(""), "Missing required parameter: 'model'."),
        ("voice", Value::Null, "Missing required parameter: 'voice'."),
        ("input", json!(""), "Missing required parameter: 'input'."),
        ("input", json!("ä".repeat(INPUT_LIMIT + 1)), "maximum length 4096, but got a string"),
        ("response_format", json!("ogg"), "Invalid value: 'ogg'. Supported values are: 'mp3',"),
    ];
    for (name, value, message) in cases {
        let mut body = valid();
        body[name] = value;
        let refusal = check(&request(&body)).unwrap_err();
        assert!(refusal.status == 400 && refusal.message.contains(message), "{refusal:?}");
    }
    let mut longest = valid();
    longest["input"] = json!("ä".repeat(INPUT_LIMIT));
    assert!(check(&request(&longest)).is_ok());
    let mut wrong_key = request(&valid());
    wrong_key.headers.push(("authorization".to_owned(), "Bearer sk-no".to_owned()));
    let refusal = check(&wrong_key).unwrap_err();
    assert_eq!((refusal.status, &*refusal.message), (401, "Incorrect API key provided: sk-no."));
    let elsewhere = HttpRequest { path: "/v1/audio/speeches".to_owned(), ..request(&valid()) };
    assert_eq!(check(&elsewhere).unwrap_err().status, 404);
    let no_json = HttpRequest { body: b"input=Hello".to_vec(), ..request(&valid()) };
    assert!(check(&no_json).unwrap_err().message.contains("could not parse the JSON body"));
}
