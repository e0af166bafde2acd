//! Rules of steps, calls, results, and the log writes of calls.

use avocet_protocol::access::Trust;
use avocet_protocol::bus::SENT_TO_PROGRAM;
use avocet_protocol::model::{Arguments, Reasoning, ToolCall, Usage};
use avocet_protocol::store::{
    CommandAction, CommandReply, KeptResult, MemoryScope, NewStep, ScopeFilter, StoreError,
};
use avocet_protocol::tool::{LogWrite, ToolClass};
use avocet_protocol::turn::{AnswerEnding, CallResult, CallState, LoggedCall, ResultKind};
use serde_json::json;

use super::Backend;
use super::world::{World, call, good, planned, session};

fn remember(text: &str) -> LogWrite {
    LogWrite::Remember { scope: MemoryScope::Everyone, text: text.to_owned() }
}

async fn memories(world: &World<'_>, query: &str) -> usize {
    world.ports.memories.search_memories(&ScopeFilter::All, query, 5).await.unwrap().len()
}

/// A step closes only if every call has a result, and with the last result.
pub async fn close_step_requires_a_result_of_every_call(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, &["one", "two"]).await;
    for call in &calls {
        let refused = world.ports.log.close_step(turn.id, 0).await;
        assert_eq!(refused, Err(StoreError::Stale(format!("{} step 0", turn.id))));
        let finished = world.ports.log.finish_call(*call, &good(), None, &[]).await;
        assert_eq!(finished, Ok((call == &calls[1]).then(Vec::new)));
    }
    let again = world.ports.log.close_step(turn.id, 0).await;
    assert_eq!(again, Err(StoreError::Stale(format!("{} step 0", turn.id))));
    let step = &world.turn(&a).await.steps[0];
    assert!(step.closed);
    assert_eq!(step.text, "let me see");
    assert_eq!((step.usage.input, step.usage.output), (10, 1));
    assert_eq!(step.calls[1].call.name, "two");
}

/// A result has the kind that it was recorded with, whatever its text is, and the program that
/// asked gets its own calls only.
pub async fn finish_call_keeps_the_kind_of_a_result(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let message = world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let names = ResultKind::ALL.map(ResultKind::as_str);
    let calls = world.step(turn.id, 0, &names).await;
    for (call, kind) in calls.iter().zip(ResultKind::ALL) {
        let result = CallResult::ok(SENT_TO_PROGRAM.into()).with_kind(kind);
        world.ports.log.finish_call(*call, &result, None, &[]).await.unwrap();
    }
    let world = world.restart().await;
    let steps = world.take(&a).await.steps;
    let kinds = steps[0].calls.iter().filter_map(LoggedCall::result).map(|result| result.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), ResultKind::ALL);
    world.reply(turn.id, "ok").await;
    let status = world.ports.query.message(message).await.unwrap().unwrap();
    let sent: Vec<&str> = status.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(sent, ["sent_to_program"]);
}

/// A reply that contains calls as text is kept unchanged, through a crash and into the history.
pub async fn record_step_keeps_a_written_reply_unchanged(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let written = Some("look:\n```json\n{\"tool\": \"one\"}\n```".to_owned());
    let step = NewStep {
        number: 0,
        text: "look:".to_owned(),
        ending: AnswerEnding::Complete,
        calls: vec![call("one")],
        written: written.clone(),
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    world.ports.log.record_step(turn, &step).await.unwrap();
    let world = world.restart().await;
    assert_eq!(world.take(&a).await.steps[0].written, written);
    world.reply(turn, "ok").await;
    world.say(&a, "2").await;
    let next = world.take(&a).await.id;
    let steps = &world.ports.log.history(&a, next, 10_000).await.unwrap().turns[0].steps;
    assert_eq!((&steps[0].written, &steps[1].written), (&written, &None));
}

/// A secret in the arguments is there until the call has a result, also after a crash.
pub async fn finish_call_removes_secrets_from_the_arguments(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let fields = |token: &str| json!({ "url": "https://example.org", "token": token });
    let exact = fields("ghp_0123456789012345678901234567890123456789");
    let arguments = exact.as_object().cloned().map(Arguments::Object).unwrap();
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: vec![ToolCall { name: "fetch".to_owned(), arguments: arguments.clone() }],
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    world.ports.log.record_step(turn, &step).await.unwrap();
    let world = world.restart().await;
    let taken = world.take(&a).await;
    assert_eq!(taken.steps[0].calls[0].call.arguments, arguments);
    let id = taken.steps[0].calls[0].id;
    world.start(id, ToolClass::Verifiable).await;
    world.ports.log.finish_call(id, &good(), None, &[]).await.unwrap();
    world.reply(turn, "ok").await;
    world.say(&a, "2").await;
    let next = world.take(&a).await.id;
    let steps = &world.ports.log.history(&a, next, 10_000).await.unwrap().turns[0].steps;
    let shown = steps[0].calls[0].call.arguments.to_object();
    assert_eq!(serde_json::Value::Object(shown), fields("[secret]"));
}

/// Reasoning content for a model is kept unchanged, through a crash and into the history, where its
/// size counts.
pub async fn record_step_keeps_reasoning_unchanged(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await.id;
    let content = json!([{ "type": "thinking", "thinking": "\u{1F600} \"ä\"\n", "n": 1.5 }]);
    let reasoning = Some(Reasoning {
        host: Some("api.example.org".to_owned()),
        ..Reasoning::new("claude/test", content)
    });
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: vec![call("one")],
        written: None,
        reasoning: reasoning.clone(),
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    world.ports.log.record_step(turn, &step).await.unwrap();
    let world = world.restart().await;
    let resumed = world.take(&a).await;
    assert_eq!(resumed.steps[0].reasoning, reasoning);
    world.reply(turn, "ok").await;
    world.say(&a, "2").await;
    let next = world.take(&a).await.id;
    let seen = async || world.ports.log.history(&a, next, 10_000).await.unwrap().turns;
    assert_eq!(seen().await[0].steps[0].reasoning, reasoning);
    assert_eq!(seen().await[0].steps[1].reasoning, None);
}

/// Messages and memories of a call are written in the transaction of its result.
pub async fn finish_call_commits_log_writes_with_the_result(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["message"]).await[0];
    world.start(call, ToolClass::InLog).await;
    let world = world.restart().await;
    world.take(&a).await;
    assert_eq!(world.delivered_texts(&b).await, [""; 0]);

    world.start(call, ToolClass::InLog).await;
    let writes = [
        LogWrite::Message(planned(&b, &["part 1", "part 2"])),
        remember("the key is under the mat"),
    ];
    world.ports.log.finish_call(call, &good(), None, &writes).await.unwrap();
    let world = world.restart().await;
    assert_eq!(world.delivered_texts(&b).await, ["part 1", "part 2"]);
    assert_eq!(memories(&world, "key").await, 1);
    assert_eq!(world.call_state(&a, call).await, CallState::Finished(good()));
}

/// A second result is refused together with its log writes.
pub async fn finish_call_refuses_a_second_result(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["note"]).await[0];
    world.start(call, ToolClass::InLog).await;
    world.finish(call).await;
    let writes = [remember("twice")];
    let again = world.ports.log.finish_call(call, &good(), None, &writes).await;
    assert_eq!(again, Err(StoreError::Stale(call.to_string())));
    assert_eq!(memories(&world, "twice").await, 0);
    let restarted = world.ports.log.start_call(call, ToolClass::InLog, None).await;
    assert_eq!(restarted, Err(StoreError::Stale(call.to_string())));
}

/// The full text of a cut result can be read by its own session only.
pub async fn kept_result_returns_a_cut_result_to_its_session_only(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let call = world.step(turn.id, 0, &["read"]).await[0];
    world.start(call, ToolClass::Pure).await;
    world.ports.log.finish_call(call, &good(), Some("\"all of it\""), &[]).await.unwrap();
    let kept = &world.ports.kept;
    let handle = call.to_string();
    assert_eq!(
        kept.kept_result(&a, &handle).await,
        Ok(Some(KeptResult { body: "\"all of it\"".to_owned(), trust: Trust::Full }))
    );
    assert_eq!(kept.kept_result(&b, &handle).await, Ok(None));
    assert_eq!(kept.kept_result(&a, "t9s9c9").await, Ok(None));
}

/// The worker of an ended turn gets an error at its next write.
pub async fn stop_makes_later_writes_of_the_turn_fail(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, &["one", "two"]).await;
    world.start(calls[0], ToolClass::InLog).await;
    let stop = world.command(&a, "/stop").await;
    world
        .ports
        .inbox
        .settle_command(stop, &CommandAction::Stop(None), &CommandReply::default())
        .await
        .unwrap();

    let stale = StoreError::Stale(turn.id.to_string());
    let log = &world.ports.log;
    let writes = [remember("late")];
    assert_eq!(log.finish_call(calls[0], &good(), None, &writes).await, Err(stale.clone()));
    assert_eq!(log.start_call(calls[1], ToolClass::Effect, None).await, Err(stale.clone()));
    assert_eq!(log.close_step(turn.id, 0).await, Err(stale.clone()));
    assert_eq!(world.ports.turns.release(turn.id).await, Err(stale));
    assert_eq!(memories(&world, "late").await, 0);
}

/// F5 needs to know the texts that the message tool has sent to a chat.
pub async fn sent_texts_returns_messages_of_the_message_tool_by_chat(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    world.say(&a, "1").await;
    let turn = world.take(&a).await;
    let calls = world.step(turn.id, 0, &["message", "message"]).await;
    for (call, to, chunks) in [(calls[0], &a, ["all ", "done"]), (calls[1], &b, ["psst", ""])] {
        world.start(call, ToolClass::InLog).await;
        let writes = [LogWrite::Message(planned(to, &chunks))];
        world.ports.log.finish_call(call, &good(), None, &writes).await.unwrap();
    }
    let log = &world.ports.log;
    assert_eq!(log.sent_texts(turn.id, &a.address()).await, Ok(vec!["all done".to_owned()]));
    assert_eq!(log.sent_texts(turn.id, &b.address()).await, Ok(vec!["psst".to_owned()]));
    assert_eq!(log.sent_texts(turn.id, &session("c").address()).await, Ok(vec![]));
}
