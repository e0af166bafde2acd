use std::time::Duration;

use avocet_protocol::{
    Attachment, AttachmentKind, AttachmentSource, CallResult, CommandReply, Content, Evidence,
    Inbound, InboundKind, Inbox, Message, ModelError, NewInbound, Notes, QueueMode, Reasoning,
    Resolution, Sender, ToolCall, ToolClass, Trust, Turns, Usage, Verdict, WaitKind,
};
use avocet_testkit::{Scripted, ScriptedModel};
use serde_json::{Value, json};

use super::*;
use crate::world::{LOGGED, World, answered, failed, session};

#[path = "spending_tests.rs"]
mod spending;

#[tokio::test]
async fn run_tool_loop_returns_reasoning_in_every_later_request() {
    let reasoning = Some(Reasoning { model: "test/scripted".to_owned(), content: json!(["hm"]) });
    let Scripted::Reply(reply) = Scripted::calls(&[("echo", json!({}))]) else { panic!() };
    let thinks = Scripted::Reply(ModelReply { reasoning: reasoning.clone(), ..reply });
    let (model, detail) = ("test/scripted".to_owned(), "cut off".to_owned());
    let breaks = Scripted::Error(ModelError::BadAnswer { model, detail });
    let world = World::new(vec![thinks, breaks]).await;
    world.turn("hi").await;
    let given_back = |world: &World| match &world.last_messages()[2] {
        Message::Assistant { reasoning, .. } => reasoning.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(given_back(&world), reasoning);
    let (world, turn) = world.restart(vec![Scripted::says("done")]).await;
    assert_eq!(answered(&world.run(turn).await.unwrap()), "done");
    assert_eq!(given_back(&world), reasoning);
    world.settle("done").await;
    let shown = serde_json::to_string(&world.record().await).unwrap();
    assert!(!shown.contains("hm"), "no transcript has it: {shown}");
}

#[tokio::test]
async fn run_tool_loop_ends_the_turn_with_the_answer() {
    let world = World::new(vec![Scripted::says("\n hello \n")]).await;
    let end = world.turn("hi").await;
    let usage = Usage::new(100, 10);
    assert_eq!(
        end,
        TurnEnd::Answered(Answer { step: 0, text: " hello".to_owned(), usage, trust: Trust::Full })
    );
    let system = Message::System { text: "be kind".to_owned() };
    let said = "hi\n\n[It is Thursday, 1 January 2026, 00:00 UTC. This chat: terminal, private.]";
    assert_eq!(world.last_messages(), [system, Message::user(said)]);
}

#[tokio::test]
async fn run_tool_loop_runs_calls_and_shows_their_results_to_the_model() {
    let calls = [("echo", json!({"n": 1})), ("post", json!({"n": 2})), ("note", json!({}))];
    let world = World::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    assert_eq!(answered(&world.turn("go").await), "done");
    assert_eq!(world.last_results(), [r#"{"n":1}"#, r#"{"n":2}"#, "noted"]);
    assert_eq!(world.store.search("remember", 1).await.unwrap().len(), 1);
    let events: Vec<TurnEvent> = world.events.all();
    let finished = |name: &str| TurnEvent::ToolFinished { name: name.to_owned(), ok: true };
    for expected in [
        TurnEvent::Thinking { step: 0 },
        TurnEvent::ToolStarted { name: "post".to_owned() },
        finished("echo"),
        TurnEvent::Thinking { step: 1 },
        TurnEvent::Text { delta: "done".to_owned() },
    ] {
        assert!(events.contains(&expected), "{expected:?} in {events:?}");
    }
}

#[tokio::test]
async fn run_tool_loop_makes_a_failed_call_a_result_and_goes_on() {
    let calls = [("break", json!({})), ("nothing", json!({})), ("echo", json!([1]))];
    let world = World::new(vec![Scripted::calls(&calls), Scripted::says("sorry")]).await;
    assert_eq!(answered(&world.turn("go").await), "sorry");
    let results = world.last_results();
    assert_eq!(results[0], r#"{"error":"execution failed: it \"broke\"\n"}"#);
    assert_eq!(results[1], r#"{"error":"tool not found: nothing"}"#);
    assert_eq!(results[2], r#"{"error":"invalid arguments: not an object: [1]"}"#);
}

#[tokio::test]
async fn run_tool_loop_marks_results_of_failed_calls() {
    let calls = [("break", json!({})), ("echo", json!({"error": "only said so"}))];
    let world = World::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    assert_eq!(answered(&world.turn("go").await), "done");
    let messages = world.last_messages();
    let marks = messages.iter().filter_map(|message| match message {
        Message::ToolResult { ok, .. } => Some(*ok),
        _ => None,
    });
    assert_eq!(marks.collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn run_calls_runs_parallel_tools_concurrently() {
    let calls = [("together", json!({})), ("together", json!({"other": true}))];
    let world = World::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    assert_eq!(answered(&world.turn("go").await), "done");
    assert_eq!(world.last_results(), ["together"; 2]);
}

#[tokio::test]
async fn run_call_cuts_and_keeps_a_result_that_is_too_large() {
    for (arguments, most) in
        [(json!({}), avocet_protocol::Description::MOST_OUTPUT), (json!({ "output": 2000 }), 2000)]
    {
        let call = Scripted::calls(&[("large", arguments)]);
        let world = World::new(vec![call, Scripted::says("long")]).await;
        world.turn("go").await;
        let shown = &world.last_results()[0];
        assert!(shown.len() <= most && shown.len() > most - 10, "{}", shown.len());
        assert!(shown.contains("read_result"));
        let kept =
            avocet_protocol::KeptResults::kept_result(&*world.store, &session(), "t1s0c0").await;
        assert_eq!(kept.unwrap().unwrap().body.len(), 100_002);
    }
}

#[tokio::test]
async fn run_call_cuts_an_error_that_is_too_long() {
    let call = Scripted::calls(&[("break", json!({ "long": true }))]);
    let world = World::new(vec![call, Scripted::says("long")]).await;
    world.turn("go").await;
    let shown = &world.last_results()[0];
    assert!(shown.len() < 20_000 && shown.contains("of 100018 bytes shown]"), "{}", shown.len());
}

fn circle(rounds: u32) -> Vec<Scripted> {
    (0..rounds).map(|n| Scripted::calls(&[("echo", json!({"n": n}))])).collect()
}

#[tokio::test]
async fn max_tool_iterations_ends_the_turn_with_a_notice_and_keeps_the_work() {
    for (configured, rounds) in [(20, 20), (3, 3), (1, 1), (0, 1)] {
        let mut world = World::new(circle(rounds)).await;
        world.agent.limits.max_tool_iterations = configured;
        let notice = failed(world.turn("go").await);
        let words = if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") };
        assert_eq!(
            notice,
            format!(
                "I stopped after {words} of tool calls without coming to an answer. What was done \
                 so far is kept; say \"continue\" to go on."
            )
        );
        assert_eq!(world.record().await.steps.len(), rounds as usize);
    }
    assert_eq!(TurnLimits::default().max_tool_iterations, 20);
}

#[tokio::test]
async fn max_tool_calls_and_max_tokens_end_the_turn() {
    let many: Vec<(&str, Value)> = (0..40).map(|n| ("echo", json!({ "n": n }))).collect();
    let mut world = World::new(vec![Scripted::calls(&many)]).await;
    world.agent.limits.max_tool_calls = 30;
    assert!(failed(world.turn("go").await).starts_with("I stopped after 30 tool calls"));
    assert_eq!(world.runs("echo"), 30);

    let mut world = World::new(circle(2)).await;
    world.agent.limits.max_tokens = 200;
    let notice = failed(world.turn("go").await);
    assert!(notice.starts_with("I stopped after 220 tokens (the limit for one answer is 200)"));
}

#[tokio::test]
async fn f18_run_tool_loop_refuses_a_third_identical_call_with_the_identical_result() {
    let same = || Scripted::calls(&[("post", json!({"to": "bank"}))]);
    let world = World::new(vec![same(), same(), same(), Scripted::says("ok")]).await;
    assert_eq!(answered(&world.turn("go").await), "ok");
    assert_eq!(world.runs("post"), 2);
    assert!(world.last_results()[0].contains("twice with the same result"));
}

#[tokio::test]
async fn f18_turn_timeout_ends_the_turn_with_a_notice() {
    let world = World::new(vec![Scripted::Hang]).await;
    world.say("go").await;
    let turn = world.claim().await;
    let half_hour = Duration::from_mins(30);
    let (end, ()) = tokio::join!(world.run(turn), async {
        world.clock.sleeper(half_hour).await;
        world.clock.advance(half_hour);
    });
    let notice = failed(end.unwrap());
    assert!(notice.starts_with("I stopped because this took longer than 1800 s."), "{notice}");
}

#[tokio::test]
async fn f40_empty_answer_is_retried_a_limited_number_of_times() {
    let world = World::new(vec![Scripted::says(" "), Scripted::says("at last")]).await;
    let end = world.turn("hi").await;
    let TurnEnd::Answered(answer) = end else { panic!("{end:?}") };
    assert_eq!((answer.text.as_str(), answer.usage.input), ("at last", 200));

    let nothing = vec![Scripted::says(""), Scripted::says("\n"), Scripted::says("")];
    let notice = failed(World::new(nothing).await.turn("hi").await);
    assert_eq!(
        notice,
        "I could not answer: test/scripted answered 3 times with nothing. /new starts afresh."
    );
}

#[tokio::test]
async fn f12_model_failure_is_a_visible_error() {
    let detail = "401: no such key".to_owned();
    let error = ModelError::Unauthorized { model: "openai/gpt".to_owned(), detail };
    let notice = failed(World::new(vec![Scripted::Error(error)]).await.turn("hi").await);
    assert_eq!(
        notice,
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
        let world = World::new(vec![Scripted::Reply(reply)]).await;
        let end = world.turn("hi").await;
        assert_eq!(answered(&end), says);
    }
}

#[tokio::test]
async fn conversation_contains_the_notice_of_an_earlier_turn() {
    let world = World::new(vec![Scripted::says("sure")]).await;
    world.say("go").await;
    let turn = world.claim().await;
    let settlement = avocet_protocol::Settlement {
        outcome: avocet_protocol::Outcome::Error,
        answer: None,
        notice: Some("I stopped.".to_owned()),
        reply: None,
    };
    world.store.settle(turn.id, &settlement).await.unwrap();
    world.turn("continue").await;
    let notice = Message::assistant("[I stopped.]", Vec::new());
    assert_eq!(world.last_messages()[2], notice);
}

#[tokio::test]
async fn f16_steering_messages_reach_the_next_step() {
    let call = Scripted::calls(&[("echo", json!({}))]);
    let world = World::new(vec![call, Scripted::says("blue it is")]).await;
    let command = InboundKind::Command;
    world.say("paint it red").await;
    let turn = world.claim().await;
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
    };
    let mode = world.store.accept(&mode, None).await.unwrap().id;
    let steer = avocet_protocol::CommandAction::SetMode(QueueMode::Steer);
    world.store.settle_command(mode, &steer, &CommandReply::default()).await.unwrap();
    world.say("no, blue").await;
    assert_eq!(answered(&world.run(turn).await.unwrap()), "blue it is");
    let last = world.last_messages().pop();
    assert_eq!(last, Some(Message::user("no, blue")));
}

#[tokio::test]
async fn approval_makes_the_call_wait_and_then_run() {
    let calls = [("echo", json!({})), ("dangerous", json!({})), ("post", json!({}))];
    let world = World::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    let TurnEnd::Waiting { call, request } = world.turn("go").await else { panic!() };
    assert_eq!((call.ordinal, request.kind), (1, WaitKind::Approval));
    assert_eq!((world.runs("echo"), world.runs("dangerous"), world.runs("post")), (1, 0, 0));
    let wait = world.wait(call, request).await;
    world.store.resolve(wait, &Resolution::Run).await.unwrap();
    let turn = world.claim().await;
    assert_eq!(answered(&world.run(turn).await.unwrap()), "done");
    assert_eq!((world.runs("echo"), world.runs("dangerous"), world.runs("post")), (1, 1, 1));
}

#[tokio::test]
async fn ask_waits_for_the_answer_to_its_question() {
    let world =
        World::new(vec![Scripted::calls(&[("ask", json!({}))]), Scripted::says("blue!")]).await;
    let TurnEnd::Waiting { call, request } = world.turn("go").await else { panic!() };
    world.wait(call, request).await;
    world.say("blue").await;
    let turn = world.claim().await;
    assert_eq!(answered(&world.run(turn).await.unwrap()), "blue!");
    assert_eq!(world.last_results(), [r#"{"answer":"blue"}"#]);
}

/// A turn whose first step has the finished call `first`, and `second`, which was running when the
/// process died; and the turn as it is claimed again.
async fn died_in(second: &str, class: ToolClass, verdict: Verdict) -> (World, TurnRecord) {
    let world = World::verifying(Vec::new(), verdict).await;
    world.say("go").await;
    let turn = world.claim().await;
    let call = |name: &str| ToolCall {
        name: name.to_owned(),
        arguments: avocet_protocol::Arguments::Object(serde_json::Map::new()),
    };
    let calls = vec![call("post"), call(second)];
    let step = NewStep {
        number: 0,
        text: String::new(),
        calls,
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
    };
    world.store.record_step(turn.id, &step).await.unwrap();
    let id = |ordinal| CallId { turn: turn.id, step: 0, ordinal };
    world.store.start_call(id(0), ToolClass::Effect, None).await.unwrap();
    let done = CallResult::ok(json!("done before"));
    world.store.finish_call(id(0), &done, None, &[]).await.unwrap();
    let subject = "file.txt".to_owned();
    let evidence = Evidence { subject, before: None, after: "x".to_owned() };
    let evidence = (class == ToolClass::Verifiable).then_some(&evidence);
    world.store.start_call(id(1), class, evidence).await.unwrap();
    world.restart(vec![Scripted::says("done")]).await
}

#[tokio::test]
async fn run_tool_loop_resumes_an_interrupted_turn_without_repeating_finished_calls() {
    for (name, class) in [("echo", ToolClass::Pure), ("note", ToolClass::InLog)] {
        let (world, turn) = died_in(name, class, Verdict::Unknown).await;
        assert_eq!(answered(&world.run(turn).await.unwrap()), "done");
        assert_eq!(world.last_results()[0], "done before", "finished calls are not repeated");
        assert_eq!((world.runs("post"), world.runs(name)), (0, 1));
    }
}

#[tokio::test]
async fn verify_decides_an_interrupted_write_by_comparison() {
    let table = [
        (Verdict::Happened(json!("written")), 0, "written"),
        (Verdict::DidNotHappen, 1, "{}"),
        (
            Verdict::Unknown,
            0,
            "{\"error\":\"interrupted by a restart, and file.txt is now neither as it was before \
             nor as it should be after; look at it before you repeat the call\"}",
        ),
    ];
    for (verdict, runs, result) in table {
        let (world, turn) = died_in("write", ToolClass::Verifiable, verdict).await;
        assert_eq!(answered(&world.run(turn).await.unwrap()), "done");
        assert_eq!((world.runs("write"), world.last_results()[1].as_str()), (runs, result));
    }
}

#[tokio::test]
async fn interrupted_effect_is_not_retried_without_a_choice_of_a_person() {
    let (world, turn) = died_in("post", ToolClass::Effect, Verdict::Unknown).await;
    let TurnEnd::Waiting { call, request } = world.run(turn).await.unwrap() else { panic!() };
    assert_eq!((call.ordinal, request.kind), (1, WaitKind::Choice));
    let prompt = request.prompt.unwrap();
    assert_eq!(
        prompt.text,
        "I was interrupted while running `post`: /retry {wait} or /skip {wait}?"
    );
    let says: Vec<&str> = prompt.choices.iter().map(|choice| choice.says.as_str()).collect();
    assert_eq!(says, ["/retry {wait}", "/skip {wait}"]);
    assert_eq!(world.runs("post"), 0);
}

#[tokio::test]
async fn run_tool_loop_of_a_released_turn_returns_stale() {
    let world = World::new(circle(1)).await;
    world.say("go").await;
    let turn = world.claim().await;
    let id = turn.id;
    world.store.release(id).await.unwrap();
    assert_eq!(world.run(turn).await, Err(StoreError::Stale(id.to_string())));
}

#[tokio::test]
async fn run_tool_loop_logs_calls_and_iterations() {
    let calls = [("break", json!({})), ("echo", json!({}))];
    let world = World::new(vec![Scripted::calls(&calls), Scripted::says("done")]).await;
    world.turn("go").await;
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
async fn run_calls_waits_for_a_parallel_call_that_starts_a_wait() {
    let calls = [("wonder", json!({})), ("note", json!({}))];
    let world = World::new(vec![Scripted::calls(&calls)]).await;
    let end = world.turn("go").await;
    assert!(matches!(end, TurnEnd::Waiting { call, .. } if call.ordinal == 0), "{end:?}");
}

#[tokio::test]
async fn f13_role_of_a_turn_is_the_lowest_role_of_its_authors() {
    let keys = || Scripted::calls(&[("keys", json!({}))]);
    let answers = vec![keys(), Scripted::says("ok"), keys(), Scripted::says("ok")];
    let world = World::new(answers).await;
    world.turn("mine").await;
    assert_eq!(world.runs("keys"), 1);
    world.settle("ok").await;

    world.say("of a guest's parent").await;
    let turn = world.claim().await;
    let mut guest = turn.origin.messages()[0].clone();
    guest.message.inbound.sender.id = "guest".parse().unwrap();
    world.run_in(turn, vec![guest]).await.unwrap();
    assert_eq!(world.runs("keys"), 1, "refused");
    let (owner, user) = (Role::Owner, Role::User);
    assert_eq!(world.tools.offered(), [owner, owner, user, user]);
}

#[tokio::test]
async fn request_has_pictures_for_a_vision_model_and_a_line_for_every_model() {
    for eyes in [true, false] {
        let mut world = World::new(Vec::new()).await;
        let model = ScriptedModel::new(vec![Scripted::says("a beach")]);
        let model = Arc::new(if eyes { model.with_eyes() } else { model });
        world.agent.model = model.clone();
        world.files.put("inbox/m1-0.jpg", &[0xFF, 0xD8, 0xFF, 0xE0]);
        let here = AttachmentSource::Workspace("inbox/m1-0.jpg".to_owned());
        world.say_with("look", vec![Attachment::new(AttachmentKind::Image, here)]).await;
        let turn = world.claim().await;
        world.run(turn).await.unwrap();
        let request = &model.requests()[0];
        let [_, Message::User { text, images }] = &request.messages[..] else { panic!() };
        assert!(text.starts_with("look\n[image: saved as inbox/m1-0.jpg]\n\n"), "{text}");
        let shown: Vec<_> = request.images.keys().collect();
        assert_eq!(shown, if eyes { vec![&images[0]] } else { vec![] });
    }
}

#[tokio::test]
async fn refused_picture_is_left_out_of_the_retried_request() {
    let of = || ("fake/model".to_owned(), "not this image".to_owned());
    let refused = |lasting| {
        let (model, detail) = of();
        ModelError::Refused { model, detail, lasting }
    };
    let (end, shown) = refused_a_picture(refused(true)).await;
    assert!(failed(end).contains("refused the request"), "it is not about the picture");
    assert_eq!(shown, [1]);
    let (end, shown) = refused_a_picture(refused(false)).await;
    assert_eq!((answered(&end), shown), ("I cannot see it.", vec![1, 0]));
    for (window, shown) in [(None, [1, 0]), (Some(30_000), [1, 1])] {
        let (model, detail) = of();
        let (end, asked) = refused_a_picture(ModelError::TooLong { model, detail, window }).await;
        assert_eq!((answered(&end), &asked[..]), ("I cannot see it.", &shown[..]));
    }
}

/// Runs a turn whose first request, with a picture, gets this refusal. Returns its end and the
/// number of pictures in each request.
async fn refused_a_picture(refusal: ModelError) -> (TurnEnd, Vec<usize>) {
    let mut world = World::new(Vec::new()).await;
    let answers = vec![Scripted::Error(refusal), Scripted::says("I cannot see it.")];
    let model = ScriptedModel::new(answers).with_eyes();
    let model = Arc::new(model);
    world.agent.model = model.clone();
    world.files.put("inbox/m1-0.jpg", &[0xFF, 0xD8, 0xFF, 0xE0]);
    let here = AttachmentSource::Workspace("inbox/m1-0.jpg".to_owned());
    world.say_with("look", vec![Attachment::new(AttachmentKind::Image, here)]).await;
    let turn = world.claim().await;
    let end = world.run(turn).await.unwrap();
    (end, model.requests().iter().map(|asked| asked.images.len()).collect())
}
