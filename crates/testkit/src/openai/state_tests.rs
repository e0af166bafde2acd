use super::*;

/// Returns the error for a history with this message.
fn complaint(on: InsistsOnState, message: &Value) -> Option<(u16, String)> {
    let user = json!({ "role": "user", "content": "hi" });
    let refusal = check(on, &json!({ "messages": [user, message] })).err()?;
    Some((refusal.status, refusal.message))
}

#[test]
fn state_of_earlier_answers_is_required_or_refused_as_by_the_vendors() {
    let step = |fields: Value| {
        let call = json!({ "id": "a", "type": "function", "function": { "name": "f" } });
        let mut step = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        step.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        step
    };
    let signed = |signature: &str| {
        let extra = json!({ "google": { "thought_signature": signature } });
        let call = json!({ "id": "a", "function": { "name": "f" }, "extra_content": extra });
        json!({ "role": "assistant", "tool_calls": [call] })
    };
    let thought = |text: &str| step(json!({ "reasoning_content": text }));
    let plain = || step(json!({}));
    use InsistsOnState::{
        KnownFields, NoReasoning, OwnSignature, Reasoning, ReasoningText, Signatures,
    };
    let table = [
        (Reasoning, thought(""), plain(), 400, "must be passed back to the API"),
        (
            ReasoningText,
            thought(" "),
            thought(""),
            400,
            "is missing in assistant tool call message",
        ),
        (ReasoningText, thought("hm"), plain(), 400, "at index 1"),
        (Signatures, signed("c2ln"), plain(), 400, "is missing a thought_signature"),
        (OwnSignature("c2ln"), signed("c2ln"), signed("b2xk"), 400, "signature is not valid"),
        (KnownFields, plain(), thought("hm"), 422, "reasoning_content: Extra inputs"),
        (NoReasoning, plain(), thought("hm"), 400, "'reasoning_content' is unsupported"),
    ];
    for (on, right, wrong, status, says) in table {
        assert_eq!(complaint(on, &right), None, "{on:?}");
        let (found, message) = complaint(on, &wrong).unwrap();
        assert_eq!(found, status, "{on:?}");
        assert!(message.contains(says), "{message}");
    }
    let answer = json!({ "role": "assistant", "content": "hello" });
    assert_eq!(complaint(Reasoning, &answer), None, "an answer without calls needs none");
}
