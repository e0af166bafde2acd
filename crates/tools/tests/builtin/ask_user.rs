//! `ask_user`: valid questions and invalid ones.

use std::time::Duration;

use avocet_protocol::chat::Choice;
use avocet_protocol::tool::{ToolContext, ToolError, ToolOutcome, Toolbox, WaitKind, WaitRequest};
use serde_json::{Value, json};

use crate::world::{World, call, context};

async fn ask(world: &World, arguments: Value) -> Result<WaitRequest, ToolError> {
    match world.registry.execute(&call("ask_user", &arguments), &context()).await? {
        ToolOutcome::Waiting(request) => Ok(request),
        ToolOutcome::Finished(output) => panic!("{output:?}"),
    }
}

#[tokio::test]
async fn ask_user_waits_for_an_answer() {
    let world = World::new().await;
    let request = ask(&world, json!({"question": "Which **one**?"})).await.unwrap();
    assert_eq!((request.kind, request.expires_after), (WaitKind::Answer, Duration::from_hours(24)));
    let prompt = request.prompt.unwrap();
    assert_eq!((prompt.text.as_str(), prompt.choices), ("Which **one**?", vec![]));

    let arguments =
        json!({"question": "Which?", "options": ["red", " blue "], "timeout_minutes": 5});
    let request = ask(&world, arguments).await.unwrap();
    assert_eq!(request.expires_after, Duration::from_mins(5));
    let buttons = vec![Choice::new("red", "red"), Choice::new("blue", "blue")];
    assert_eq!(request.prompt.unwrap().choices, buttons);
}

#[tokio::test]
async fn ask_user_explains_why_it_refuses_a_question() {
    let world = World::new().await;
    let many: Vec<String> = (0..9).map(|number| number.to_string()).collect();
    for (arguments, wrong) in [
        (json!({"question": " "}), "question is empty"),
        (json!({"question": "?", "options": many}), "more than 8 items"),
        (json!({"question": "?", "options": ["ä".repeat(33)]}), "has more than 64 bytes"),
        (json!({"question": "?", "options": ["a", " a"]}), "\"a\" is there twice"),
        (json!({"question": "?", "options": [""]}), "is empty"),
        (json!({"question": "?", "options": ["a\nb"]}), "has more than one line"),
        (json!({"question": "?", "options": ["/stop"]}), "would be a command"),
        (json!({"question": "?", "timeout_minutes": 0}), "timeout_minutes"),
    ] {
        let error = ask(&world, arguments.clone()).await.unwrap_err().to_string();
        assert!(error.starts_with("invalid arguments: ") && error.contains(wrong), "{error}");
    }
    let without_chat = ToolContext { chat: None, ..context() };
    let asked = call("ask_user", &json!({"question": "?"}));
    let error = world.registry.execute(&asked, &without_chat).await.unwrap_err();
    assert!(error.to_string().contains("no person can answer"), "{error}");
}
