use avocet_protocol::access::Trust;
use avocet_protocol::bus::{ProgramMessage, ProgramRequest};
use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource, Content};
use avocet_protocol::model::{ModelReply, ToolCall};
use avocet_protocol::store::Inbox;
use avocet_protocol::turn::ResultKind;
use avocet_testkit::Scripted;
use serde_json::{Map, json};

use super::*;
use crate::harness::{AgentHarness, answered, failed};

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
    assert_eq!(result.kind, ResultKind::SentToProgram);
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

#[tokio::test]
async fn program_answer_that_does_not_match_its_schema_is_corrected_twice_at_most() {
    let says = Scripted::says;
    let wrong = "the answer is 7";
    let text = "{\"city\": ".to_owned();
    let cut = Scripted::Reply(ModelReply { text, truncated: true, ..ModelReply::default() });
    let good = "{\"city\": \"Porto\"}";
    let fenced = "```json\n{\"city\": \"Porto\"}\n```";
    let table = [
        (vec![says(good)], Ok(good)),
        (vec![says(fenced)], Ok(fenced)),
        (vec![says(wrong), says(" "), says(good)], Ok(good)),
        (vec![says("{}"), says("{\"city\": 7}"), says(good)], Ok(good)),
        (vec![cut], Ok("{\"city\":\n\n[The answer was cut off")),
        (vec![says(wrong), says("{}"), says("{\"city\": 7}")], Err("at /city: 7 is not of type")),
    ];
    for (place, (answers, expected)) in table.into_iter().enumerate() {
        let requests = answers.len();
        let harness = AgentHarness::new(answers).await;
        let schema = json!({
            "type": "object", "required": ["city"], "properties": { "city": { "type": "string" } },
        });
        let program = ProgramRequest { answer_schema: Some(schema), ..ProgramRequest::default() };
        say(&harness, "where?", program).await;
        let end = harness.run(harness.claim().await).await.unwrap();
        assert_eq!(harness.model.requests().len(), requests, "{place}");
        match expected {
            Ok(text) => assert!(answered(&end).starts_with(text), "{place}: {end:?}"),
            Err(fault) => {
                let notice = failed(end);
                assert!(notice.contains("in 3 answers") && notice.contains(fault), "{notice}");
            }
        }
        if requests == 3 && place != 2 {
            let messages = harness.last_messages();
            let [.., said, fix] = &messages[..] else { panic!("{messages:?}") };
            let Message::Assistant { text, .. } = said else { panic!("{said:?}") };
            assert!(text.starts_with('{'), "{text}");
            let Message::User { text, .. } = fix else { panic!("{fix:?}") };
            assert!(text.contains("This is not valid by the schema: "), "{text}");
        }
    }
}

#[tokio::test]
async fn program_with_an_invalid_schema_gets_an_error_without_a_request() {
    let harness = AgentHarness::new(Vec::new()).await;
    let schema = json!({"type": "text"});
    let program = ProgramRequest { answer_schema: Some(schema), ..ProgramRequest::default() };
    say(&harness, "where?", program).await;
    let notice = failed(harness.run(harness.claim().await).await.unwrap());
    assert!(notice.contains("the JSON Schema of the answer is invalid: /type: "), "{notice}");
    assert!(harness.model.requests().is_empty());
}

#[tokio::test]
async fn program_that_asks_for_json_gets_an_error_for_a_picture_that_no_model_sees() {
    for schema in [None, Some(json!({"type": "object"}))] {
        let harness = AgentHarness::new(vec![Scripted::says("{}")]).await;
        let mut message = harness.message("look");
        let here = AttachmentSource::Workspace("inbox/m1-0.heic".to_owned());
        let picture = Attachment {
            media_type: Some("image/heic".to_owned()),
            ..Attachment::new(AttachmentKind::Document, here)
        };
        message.inbound.content.attachments = vec![picture];
        let program = ProgramRequest { answer_schema: schema.clone(), ..request() };
        message.inbound.content.program = Some(Box::new(program));
        harness.store.accept(&message, None).await.unwrap();
        let end = harness.run(harness.claim().await).await.unwrap();
        let told = match schema {
            None => answered(&end).to_owned(),
            Some(_) => failed(end),
        };
        assert!(told.contains("I cannot see pictures in the format HEIC."), "{told}");
        assert_eq!(told.starts_with("{}\n\n["), harness.model.requests().len() == 1, "{told}");
    }
}

#[test]
fn program_calls_of_another_turn_are_not_its_own() {
    let call = ToolCall {
        name: "weather".to_owned(),
        arguments: avocet_protocol::model::Arguments::parse("{}"),
    };
    let turn: TurnRecord = serde_json::from_value(json!({
        "id": "t1", "session": "terminal:local:a", "state": "running", "started_at": 0,
        "origin": {"messages": []}, "steps": [], "notice": null,
    }))
    .unwrap();
    assert!(call_result(&turn, &call).is_none());
}
