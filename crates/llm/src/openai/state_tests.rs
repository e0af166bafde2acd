use avocet_protocol::model::SentCall;

use super::*;

const MODEL: &str = "local/qwen3";

fn add(state: &mut ArrivingState, delta: &Value) -> AddedState {
    state.add_delta(&WireJson::parse_text(&delta.to_string()).unwrap())
}

/// The content of an answer with these pieces of the message and these pieces of calls.
fn content(deltas: &[Value], calls: &[(usize, Value)], count: usize) -> Option<Value> {
    let mut state = ArrivingState::default();
    for delta in deltas {
        add(&mut state, delta);
    }
    for (index, call) in calls {
        state.add_call(*index, &WireJson::parse_text(&call.to_string()).unwrap());
    }
    state.into_content(count)
}

#[test]
fn arriving_state_keeps_each_field_under_its_name_and_the_same_text_once() {
    let table = [
        (vec![json!({ "content": "hi" })], None),
        (vec![json!({ "reasoning_content": null, "reasoning": "" })], None),
        (
            vec![json!({ "reasoning_content": "I " }), json!({ "reasoning_content": "look." })],
            Some(json!({ "reasoning_content": "I look." })),
        ),
        // DeepSeek refuses a step without the field, also if the model did not think.
        (vec![json!({ "reasoning_content": "" })], Some(json!({ "reasoning_content": "" }))),
        (vec![json!({ "reasoning": "hm" })], Some(json!({ "reasoning": "hm" }))),
        (
            vec![json!({ "reasoning_content": "hm", "reasoning": "hm" })],
            Some(json!({ "reasoning_content": "hm" })),
        ),
        (
            vec![
                json!({ "reasoning": "hm", "reasoning_details": [{ "type": "t", "text": "hm" }] }),
            ],
            Some(json!({ "reasoning_details": [{ "type": "t", "text": "hm" }] })),
        ),
        (vec![json!({ "reasoning_content": 7, "reasoning_details": "odd" })], None),
    ];
    for (deltas, message) in table {
        let expected = message.map(|message| json!({ "message": message, "calls": [null] }));
        assert_eq!(content(&deltas, &[], 1), expected, "{deltas:?}");
    }
}

#[test]
fn arriving_state_joins_the_pieces_of_reasoning_details_by_type_and_index() {
    let text = |index: u64, text: &str| json!({ "type": "reasoning.text", "index": index, "format": "anthropic-claude-v1", "text": text });
    let signed = json!({ "type": "reasoning.text", "index": 0, "signature": "sig", "text": null });
    let sealed = |data: &str| json!({ "type": "reasoning.encrypted", "index": 1, "id": "rs_1", "data": data });
    let minimax = |text: &str| json!({ "type": "reasoning.text", "index": 0, "format": "MiniMax-response-v1", "text": text });
    let table = [
        (
            vec![text(0, "I "), text(0, "look."), signed, sealed("ab"), sealed("cd"), text(2, "x")],
            json!([
                { "type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1",
                    "text": "I look.", "signature": "sig" },
                { "type": "reasoning.encrypted", "index": 1, "id": "rs_1", "data": "abcd" },
                text(2, "x"),
            ]),
        ),
        (
            vec![
                json!({ "type": "a", "summary": "I " }),
                json!({ "type": "a", "summary": "see" }),
                json!({ "type": "b", "data": "x" }),
                json!({ "type": "a", "summary": "so" }),
            ],
            json!([{ "type": "a", "summary": "I see" }, { "type": "b", "data": "x" },
                { "type": "a", "summary": "so" }]),
        ),
        (
            vec![minimax("The"), minimax("The user"), minimax("The user asks")],
            json!([minimax("The user asks")]),
        ),
        (vec![minimax("The"), minimax(" user")], json!([minimax("The user")])),
        (vec![text(0, "ha"), text(0, "haha")], json!([text(0, "hahaha")])),
    ];
    for (pieces, expected) in table {
        let deltas: Vec<Value> =
            pieces.iter().map(|piece| json!({ "reasoning_details": [piece] })).collect();
        let kept = content(&deltas, &[], 1).unwrap();
        assert_eq!(kept["message"]["reasoning_details"], expected);
    }
}

#[test]
fn arriving_state_keeps_extra_content_with_its_call() {
    let extra = json!({ "google": { "thought_signature": "c2ln", "more": [1] } });
    let pieces = [
        (1, json!({ "index": 1, "id": "a", "extra_content": { "google": { "more": [1] } } })),
        (1, json!({ "extra_content": { "google": { "thought_signature": "c2ln" } } })),
        (1, json!({ "extra_content": null, "function": { "arguments": "{}" } })),
    ];
    let kept = content(&[], &pieces, 2).unwrap();
    assert_eq!(kept, json!({ "message": {}, "calls": [null, { "extra_content": extra }] }));
    assert_eq!(content(&[], &[(0, json!({ "id": "a" }))], 1), None);
}

#[test]
fn arriving_state_counts_reasoning_once_and_all_kept_bytes() {
    let mut state = ArrivingState::default();
    let both = json!({ "reasoning_content": "four", "reasoning": "four" });
    assert_eq!(add(&mut state, &both), AddedState { thought: 4, kept: 8 });
    let sealed = json!({ "reasoning_details": [{ "type": "x", "data": "sealed" }] });
    let added = add(&mut state, &sealed);
    assert_eq!(added.thought, 0);
    assert!(added.kept >= 6, "{added:?}");
    let call = WireJson::parse_text(r#"{ "extra_content": { "a": "b" } }"#).unwrap();
    assert!(state.add_call(0, &call) > 0);
}

fn step(content: Option<Value>, model: &str) -> Message {
    let call = SentCall { id: "c".to_owned(), name: "f".to_owned(), arguments: Map::new() };
    let reasoning = content.map(|content| Reasoning::new(model, content));
    Message::Assistant { text: String::new(), calls: vec![call], reasoning }
}

#[test]
fn state_rules_fill_missing_reasoning_once_the_model_has_sent_some() {
    let own = json!({ "message": { "reasoning_content": "hm" }, "calls": [null] });
    let history =
        |steps: Vec<Message>| ModelRequest { messages: steps.into(), ..ModelRequest::default() };
    let fields = |request: &ModelRequest| {
        let rules = StateRules::new(MODEL, RequestAdjustments::default(), false, request);
        let sent = request.messages.iter().map(|message| match message {
            Message::Assistant { reasoning, .. } => json!(rules.message_fields(reasoning.as_ref())),
            _ => Value::Null,
        });
        sent.collect::<Vec<Value>>()
    };
    let mixed = history(vec![step(None, MODEL), step(Some(own.clone()), MODEL)]);
    let (hm, filled) = (json!({ "reasoning_content": "hm" }), json!({ "reasoning_content": " " }));
    assert_eq!(fields(&mixed), [filled, hm]);
    let others = history(vec![step(None, MODEL), step(Some(own), "other/model")]);
    assert_eq!(fields(&others), [json!({}), json!({})]);
}

#[test]
fn state_rules_give_the_first_call_a_placeholder_if_a_signature_is_wanted() {
    let request = ModelRequest::default();
    let placeholder = json!({ "extra_content": { "google":
        { "thought_signature": "skip_thought_signature_validator" } } });
    let signed = json!({ "extra_content": { "google": { "thought_signature": "c2ln" } } });
    let thought = Reasoning::new(MODEL, json!({ "message": {}, "calls": [signed, null] }));
    for (wants, thought, expected) in [
        (true, None, [placeholder.clone(), json!({})]),
        (true, Some(&thought), [signed.clone(), json!({})]),
        (false, Some(&thought), [signed.clone(), json!({})]),
        (false, None, [json!({}), json!({})]),
    ] {
        let rules = StateRules::new(MODEL, RequestAdjustments::default(), wants, &request);
        let sent = [0, 1].map(|index| json!(rules.call_fields(thought, index)));
        assert_eq!(sent, expected, "{wants} {thought:?}");
    }
}
