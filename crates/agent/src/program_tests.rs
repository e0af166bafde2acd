use avocet_protocol::{Content, Inbox, ProgramMessage, ProgramRequest, ToolCall, Trust};
use avocet_testkit::Scripted;
use serde_json::{Map, json};

use super::*;
use crate::harness::{AgentHarness, answered};

fn request() -> ProgramRequest {
    let call = ProgramCall {
        id: "p0".to_owned(),
        name: "weather".to_owned(),
        arguments: Map::from_iter([("city".to_owned(), json!("Oslo"))]),
    };
    ProgramRequest {
        instructions: Some("Speak like a pirate.".to_owned()),
        earlier: vec![
            ProgramMessage::User { text: "is it cold?".to_owned() },
            ProgramMessage::Assistant { text: String::new(), calls: vec![call] },
            ProgramMessage::Result { call: "p0".to_owned(), text: "minus 3".to_owned() },
            ProgramMessage::Assistant { text: "Arr, cold.".to_owned(), calls: Vec::new() },
        ],
        ..ProgramRequest::default()
    }
}

fn with_tools() -> ProgramRequest {
    let tool = ProgramTool {
        name: "weather".to_owned(),
        description: "Ask for the weather.".to_owned(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}, "x-untrusted": true}),
    };
    ProgramRequest { tools: vec![tool], ..ProgramRequest::default() }
}

/// Accepts a message with this request.
async fn say(harness: &AgentHarness, text: &str, program: ProgramRequest) {
    let mut message = harness.message(text);
    message.inbound.content.program = Some(Box::new(program));
    harness.store.accept(&message, None).await.unwrap();
}

#[tokio::test]
async fn program_instructions_and_earlier_messages_are_shown_before_its_message() {
    let harness = AgentHarness::new(vec![Scripted::says("Aye."), Scripted::says("Yes.")]).await;
    say(&harness, "and tomorrow?", request()).await;
    let end = harness.run(harness.claim().await).await.unwrap();
    assert_eq!(answered(&end), "Aye.");
    harness.settle("Aye.").await;
    harness.turn("really?").await;
    let messages = harness.last_messages();
    let shown: Vec<String> = messages.iter().map(|message| format!("{message:?}")).collect();
    let all = shown.join("\n");
    let order = [
        "Speak like a pirate.",
        "is it cold?",
        "Oslo",
        "minus 3",
        "Arr, cold.",
        "and tomorrow?",
        "Aye.",
        "really?",
    ];
    let places: Vec<usize> = order.iter().map(|part| all.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{all}");
    let result = messages.iter().find_map(|message| match message {
        Message::ToolResult { result, .. } => Some(result.as_str()),
        _ => None,
    });
    assert!(result.unwrap().starts_with("<<<foreign "), "{result:?}");
}

#[tokio::test]
async fn program_result_without_its_call_is_shown_as_untrusted_text() {
    let harness = AgentHarness::new(vec![Scripted::says("Thanks.")]).await;
    let earlier =
        vec![ProgramMessage::Result { call: "t1s0c0".to_owned(), text: "minus 3".to_owned() }];
    let request = ProgramRequest { earlier, ..ProgramRequest::default() };
    assert!(request.has_untrusted_parts());
    say(&harness, "go on", request).await;
    harness.run(harness.claim().await).await.unwrap();
    let all = format!("{:?}", harness.last_messages());
    assert!(all.contains("[The result of the call t1s0c0:]\\n<<<foreign "), "{all}");
    let content = harness.record().await.origin.messages()[0].message.inbound.content.clone();
    assert!(Content::has_untrusted_parts(&content));
}

#[tokio::test]
async fn program_tool_is_offered_and_its_call_ends_the_turn() {
    let call = Scripted::calls(&[("weather", json!({"city": "Oslo"}))]);
    let harness = AgentHarness::new(vec![call]).await;
    say(&harness, "is it cold?", with_tools()).await;
    let end = harness.run(harness.claim().await).await.unwrap();
    assert_eq!(answered(&end), "");
    let request = harness.model.requests().pop().unwrap();
    let offered = request.tools.iter().find(|tool| tool.name == "weather").unwrap();
    assert_eq!(
        (offered.trust(), offered.description.as_str()),
        (Trust::Full, "Ask for the weather.")
    );
    let record = harness.record().await;
    let result = record.steps[0].calls[0].result().unwrap();
    assert_eq!((result.ok, &result.value), (true, &json!(SENT_TO_PROGRAM)));
}

#[tokio::test]
async fn program_schema_is_sent_and_shown() {
    let harness = AgentHarness::new(vec![Scripted::says("{}")]).await;
    let schema = json!({"type": "object"});
    let program =
        ProgramRequest { answer_schema: Some(schema.clone()), ..ProgramRequest::default() };
    say(&harness, "who?", program).await;
    harness.run(harness.claim().await).await.unwrap();
    let request = harness.model.requests().pop().unwrap();
    assert_eq!(request.answer_schema.as_deref(), Some(&schema));
    assert!(format!("{:?}", harness.last_messages()).contains(ANSWER_IN_JSON));
}

#[test]
fn program_calls_of_another_turn_are_not_its_own() {
    let call =
        ToolCall { name: "weather".to_owned(), arguments: avocet_protocol::Arguments::parse("{}") };
    let turn: TurnRecord = serde_json::from_value(json!({
        "id": "t1", "session": "terminal:local:a", "state": "running", "started_at": 0,
        "origin": {"messages": []}, "steps": [], "notice": null,
    }))
    .unwrap();
    assert!(call_result(&turn, &call).is_none());
}
