use std::time::Duration;

use avocet_protocol::access::{Role, Trust};
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Content, Inbound, InboundKind, NewInbound, Sender,
};
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::model::{Message, ModelError, ModelErrorDetail, ModelReply, Reasoning, Usage};
use avocet_protocol::store::{
    Answer, CommandReply, Inbox, Memories, ScopeFilter, StoreError, Turns,
};
use avocet_protocol::turn::{AnswerEnding, FailureCode, TurnEvent};
use avocet_testkit::Scripted;
use serde_json::{Value, json};

use crate::harness::{AgentHarness, LOGGED, answered, failed, session};
use crate::{FailedTurn, TurnEnd, TurnLimits};

#[tokio::test]
async fn run_tool_loop_returns_reasoning_in_every_later_request() {
    let reasoning = Some(Reasoning::new("test/scripted", json!(["hm"])));
    let Scripted::Reply(reply) = Scripted::calls(&[("echo", json!({}))]) else { panic!() };
    let thinks = Scripted::Reply(ModelReply { reasoning: reasoning.clone(), ..reply });
    let (model, detail) = ("test/scripted".to_owned(), "cut off".to_owned());
    let breaks = Scripted::Error(ModelError::BadAnswer { model, detail: detail.into() });
    let harness = AgentHarness::new(vec![thinks, breaks]).await;
    harness.turn("hi").await;
    let given_back = |harness: &AgentHarness| match &harness.last_messages()[2] {
        Message::Assistant { reasoning, .. } => reasoning.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(given_back(&harness), reasoning);
    let (harness, turn) = harness.restart(vec![Scripted::says("done")]).await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "done");
    assert_eq!(given_back(&harness), reasoning);
    harness.settle("done").await;
    let shown = serde_json::to_string(&harness.record().await).unwrap();
    assert!(!shown.contains("hm"), "no transcript has it: {shown}");
}

#[tokio::test]
async fn run_tool_loop_ends_the_turn_with_the_answer() {
    let harness = AgentHarness::new(vec![Scripted::says("\n hello \n")]).await;
    let end = harness.turn("hi").await;
    let usage = Usage::new(100, 10);
    assert_eq!(
        end,
        TurnEnd::Answered(Answer {
            step: 0,
            text: " hello".to_owned(),
            ending: AnswerEnding::Complete,
            usage,
            trust: Trust::Full
        })
    );
    let system = Message::System { text: "be kind".to_owned() };
    let said = "hi\n\n[It is Thursday, 1 January 2026, 00:00 UTC. This chat: terminal, private.]";
    assert_eq!(harness.last_messages(), [system, Message::user(said)]);
}

#[tokio::test]
async fn run_tool_loop_runs_calls_and_shows_their_results_to_the_model() {
    let calls = [("echo", json!({"n": 1})), ("post", json!({"n": 2})), ("note", json!({}))];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    assert_eq!(answered(&harness.turn("go").await), "done");
    assert_eq!(harness.last_results(), [r#"{"n":1}"#, r#"{"n":2}"#, "noted"]);
    assert_eq!(
        harness.store.search_memories(&ScopeFilter::All, "remember", 1).await.unwrap().len(),
        1
    );
    let events: Vec<TurnEvent> = harness.events.all();
    let call = |ordinal| Some(CallId { turn: TurnId(1), step: 0, ordinal });
    let finished = |name: &str, ordinal| TurnEvent::ToolFinished {
        name: name.to_owned(),
        ok: true,
        call: call(ordinal),
    };
    for expected in [
        TurnEvent::Thinking { step: 0 },
        TurnEvent::ToolStarted { name: "post".to_owned(), about: None, call: call(1) },
        finished("echo", 0),
        TurnEvent::Thinking { step: 1 },
        TurnEvent::Text { delta: "done".to_owned() },
    ] {
        assert!(events.contains(&expected), "{expected:?} in {events:?}");
    }
}

#[tokio::test]
async fn run_tool_loop_makes_a_failed_call_a_result_and_goes_on() {
    let calls = [("break", json!({})), ("nothing", json!({})), ("echo", json!([1]))];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls), Scripted::says("sorry")]).await;
    assert_eq!(answered(&harness.turn("go").await), "sorry");
    let results = harness.last_results();
    assert_eq!(results[0], r#"{"error":"execution failed: it \"broke\"\n"}"#);
    assert_eq!(results[1], r#"{"error":"tool not found: nothing"}"#);
    assert_eq!(results[2], r#"{"error":"invalid arguments: not an object: [1]"}"#);
}

#[tokio::test]
async fn run_tool_loop_marks_results_of_failed_calls() {
    let calls = [("break", json!({})), ("echo", json!({"error": "only said so"}))];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    assert_eq!(answered(&harness.turn("go").await), "done");
    let messages = harness.last_messages();
    let marks = messages.iter().filter_map(|message| match message {
        Message::ToolResult { ok, .. } => Some(*ok),
        _ => None,
    });
    assert_eq!(marks.collect::<Vec<_>>(), [false, true]);
}

fn circle(rounds: u32) -> Vec<Scripted> {
    (0..rounds).map(|n| Scripted::calls(&[("echo", json!({"n": n}))])).collect()
}

#[tokio::test]
async fn max_tool_iterations_ends_the_turn_with_a_notice_and_keeps_the_work() {
    for (configured, rounds) in [(20, 20), (3, 3), (1, 1), (0, 1)] {
        let mut harness = AgentHarness::new(circle(rounds)).await;
        harness.agent.limits.turn.max_tool_iterations = configured;
        let notice = failed(harness.turn("go").await);
        let words = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
        assert_eq!(
            notice,
            format!(
                "I stopped after {words} of tool calls without coming to an answer. What was done \
                 so far is kept; say \"continue\" to go on."
            )
        );
        assert_eq!(harness.record().await.steps.len(), rounds as usize);
    }
    assert_eq!(TurnLimits::default().max_tool_iterations, 20);
}

#[tokio::test]
async fn max_tool_calls_and_max_tokens_end_the_turn() {
    let many: Vec<(&str, Value)> = (0..40).map(|n| ("echo", json!({ "n": n }))).collect();
    let mut harness = AgentHarness::new(vec![Scripted::calls(&many)]).await;
    harness.agent.limits.turn.max_tool_calls = 30;
    assert!(failed(harness.turn("go").await).starts_with("I stopped after 30 tool calls"));
    assert_eq!(harness.runs("echo"), 30);

    let mut harness = AgentHarness::new(circle(2)).await;
    harness.agent.limits.turn.max_tokens = 200;
    let notice = failed(harness.turn("go").await);
    assert!(notice.starts_with("I stopped after 220 tokens (the limit for one answer is 200)"));
}

#[tokio::test]
async fn f18_turn_timeout_ends_the_turn_with_a_notice() {
    let harness = AgentHarness::new(vec![Scripted::Hang]).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    let half_hour = Duration::from_mins(30);
    let (end, ()) = tokio::join!(harness.run(turn), async {
        harness.clock.sleeper(half_hour).await;
        harness.clock.advance(half_hour);
    });
    let notice = failed(end.unwrap());
    assert!(notice.starts_with("I stopped because this took longer than 1800 s."), "{notice}");
}

#[tokio::test]
async fn f12_model_failure_is_a_visible_error() {
    let detail = ModelErrorDetail::with_status(401, "no such key");
    let error = ModelError::Unauthorized { model: "openai/gpt".to_owned(), detail };
    let end = AgentHarness::new(vec![Scripted::Error(error)]).await.turn("hi").await;
    let TurnEnd::Failed(FailedTurn { failure: Some(failure), .. }) = &end else {
        panic!("{end:?}")
    };
    assert_eq!((failure.code, failure.status), (FailureCode::KeyRefused, Some(401)));
    assert_eq!(
        failed(end),
        "I could not answer: openai/gpt refused the key (401: no such key); check api_key in the \
         configuration."
    );
}

#[tokio::test]
async fn run_tool_loop_marks_a_truncated_or_filtered_answer() {
    let once = ModelReply { text: "once".to_owned(), ..ModelReply::default() };
    let cut = ModelReply { truncated: true, ..once.clone() };
    let filtered = ModelReply { filtered: true, ..once };
    for (reply, says) in [
        (cut, "once\n\n[The answer was cut off: it reached its output limit.]"),
        (filtered, "once\n\n[A filter of the model's provider ended the answer here.]"),
    ] {
        let harness = AgentHarness::new(vec![Scripted::Reply(reply)]).await;
        let end = harness.turn("hi").await;
        assert_eq!(answered(&end), says);
    }
}

#[tokio::test]
async fn conversation_contains_the_notice_of_an_earlier_turn() {
    let harness = AgentHarness::new(vec![Scripted::says("sure")]).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    let settlement = avocet_protocol::store::Settlement {
        notice: Some("I stopped.".to_owned()),
        ..avocet_protocol::store::Settlement::new(avocet_protocol::chat::Outcome::Error)
    };
    harness.store.settle(turn.id, &settlement).await.unwrap();
    harness.turn("continue").await;
    let notice = Message::assistant("[I stopped.]", Vec::new());
    assert_eq!(harness.last_messages()[2], notice);
}

#[tokio::test]
async fn f16_steering_messages_reach_the_next_step_with_their_attachments() {
    let call = Scripted::calls(&[("echo", json!({}))]);
    let harness = AgentHarness::new(vec![call, Scripted::says("blue it is")]).await;
    let command = InboundKind::Command;
    harness.say("paint it red").await;
    let turn = harness.claim().await;
    let mode = NewInbound {
        session: session(),
        kind: command,
        inbound: Inbound::new(
            session().address(),
            Sender::new("me".parse().unwrap()),
            "mode".parse().unwrap(),
            Content::text("/queue steer"),
        ),
        removed: 0,
        trust: Trust::Full,
    };
    let mode = harness.store.accept(&mode, None).await.unwrap().id;
    let steer = avocet_protocol::store::CommandAction::SetMode(QueueMode::Steer);
    harness.store.settle_command(mode, &steer, &CommandReply::default()).await.unwrap();
    let elsewhere = AttachmentSource::Platform("f.jpg".to_owned());
    let photo = Attachment::new(AttachmentKind::Image, elsewhere);
    harness.say_with("no, blue", vec![photo]).await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "blue it is");
    let Some(Message::User { text, .. }) = harness.last_messages().pop() else { panic!() };
    assert_eq!(text, "no, blue\n[image: saved as inbox/f.jpg]");
}

#[tokio::test]
async fn run_tool_loop_of_a_released_turn_returns_stale() {
    let harness = AgentHarness::new(circle(1)).await;
    harness.say("go").await;
    let turn = harness.claim().await;
    let id = turn.id;
    harness.store.release(id).await.unwrap();
    assert_eq!(harness.run(turn).await, Err(StoreError::Stale(id.to_string())));
}

#[tokio::test]
async fn run_tool_loop_logs_calls_and_iterations() {
    let calls = [("break", json!({})), ("echo", json!({}))];
    let harness = AgentHarness::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    harness.turn("go").await;
    let logged = String::from_utf8(LOGGED.take()).unwrap();
    let logged: Vec<Value> =
        logged.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let debug = "DEBUG";
    let expected = [
        json!({"level": debug, "message": "executing tool calls", "iteration": 1, "count": 2}),
        json!({"level": debug, "message": "executing tool", "name": "break"}),
        json!({"level": debug, "message": "tool execution failed", "name": "break",
               "error": "execution failed: it \"broke\"\n"}),
        json!({"level": debug, "message": "executing tool", "name": "echo"}),
        json!({"level": debug, "message": "tool loop complete, returning text response",
               "iterations": 2}),
    ];
    assert_eq!(logged, expected);
}

#[tokio::test]
async fn f13_role_of_a_turn_is_the_lowest_role_of_its_authors() {
    let keys = || Scripted::calls(&[("keys", json!({}))]);
    let answers = vec![keys(), Scripted::says("ok"), keys(), Scripted::says("ok")];
    let harness = AgentHarness::new(answers).await;
    harness.turn("mine").await;
    assert_eq!(harness.runs("keys"), 1);
    harness.settle("ok").await;

    harness.say("of a guest's parent").await;
    let turn = harness.claim().await;
    let mut guest = turn.origin.messages()[0].clone();
    guest.message.inbound.sender.id = "guest".parse().unwrap();
    harness.run_in(turn, vec![guest]).await.unwrap();
    assert_eq!(harness.runs("keys"), 1, "refused");
    let (owner, user) = (Role::Owner, Role::User);
    let mut offered = harness.tools.offered();
    offered.dedup();
    assert_eq!(offered, [owner, user]);
}
