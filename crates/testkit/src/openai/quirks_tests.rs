use super::*;

/// Returns the error for a request with this header and body.
fn complaint(on: Insists, header: &str, body: &Value) -> Option<String> {
    let request = HttpRequest {
        method: "POST".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        headers: vec![("x-key".to_owned(), header.to_owned())],
        body: Vec::new(),
    };
    check(on, &request, body).err().map(|refusal| refusal.message)
}

#[test]
fn quirks_refuse_a_request_that_a_strict_server_refuses() {
    let instructed = |role: &str| json!({ "messages": [{ "role": role }] });
    let thinks = |thinks: bool| json!({ "chat_template_kwargs": { "enable_thinking": thinks } });
    let (most, newer) = (json!({ "max_tokens": 9 }), json!({ "max_completion_tokens": 9 }));
    let (stream, whole) = (json!({ "stream": true }), json!({ "stream": false }));
    let table = [
        (Insists::MaxCompletionTokens, newer.clone(), most.clone(), "Use 'max_completion_tokens'"),
        (Insists::MaxTokens, most, newer, "supplied: max_completion_tokens"),
        (Insists::Developer, instructed("developer"), instructed("system"), "[0].role' does not"),
        (Insists::NoInstructions, instructed("user"), instructed("system"), "System role not"),
        (Insists::NoInstructions, instructed("user"), instructed("developer"), "System role not"),
        (Insists::NoStreamOptions, stream.clone(), json!({ "stream_options": {} }), "supplied: "),
        (Insists::NoStream, whole, stream, "Streaming is not supported"),
        (Insists::NoThinking, thinks(false), thinks(true), "Thinking is not supported"),
        (Insists::NoThinking, thinks(false), json!({}), "Thinking is not supported"),
        (Insists::NoTools, json!({}), json!({ "tools": [{}] }), "does not support tools"),
        (Insists::NoTemperature, json!({}), json!({ "temperature": 0.5 }), "'temperature' does"),
        (Insists::NoEffort, json!({}), json!({ "reasoning_effort": "low" }), "supplied: reason"),
    ];
    for (on, right, wrong, says) in table {
        assert_eq!(complaint(on, "", &right), None, "{on:?}");
        let complaint = complaint(on, "", &wrong).unwrap();
        assert!(complaint.contains(says), "{complaint}");
    }
    let header = Insists::Header("x-key", "k");
    assert_eq!(complaint(header, "k", &Value::Null), None);
    let missing = complaint(header, "", &Value::Null);
    assert_eq!(missing.as_deref(), Some("The header x-key is missing or wrong."));
}
