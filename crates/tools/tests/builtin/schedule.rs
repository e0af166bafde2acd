//! The tool `schedule`: its answers, its log writes and its refusals.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Inbound, InboundKind, NewInbound, Sender, SessionId};
use avocet_protocol::ids::CallId;
use avocet_protocol::model::Usage;
use avocet_protocol::schedule::{Schedule, ScheduledWork};
use avocet_protocol::store::{EndedSchedules, Inbox, NewStep, Schedules, Suspects, TurnLog, Turns};
use avocet_protocol::tool::{ToolContext, Toolbox};
use avocet_protocol::turn::{AnswerEnding, CallResult};
use avocet_testkit::START;
use serde_json::{Value, json};

use crate::world::{World, call, context};

fn add(text: &str) -> Value {
    json!({ "action": "add", "text": text, "in": "2" })
}

/// Runs a call in a turn of the log, so that its writes take effect.
async fn run(world: &World, arguments: Value) -> Value {
    let session = context().session;
    let key = arguments.to_string().replace('/', " ").parse().unwrap();
    let sender = Sender::new("me".parse().unwrap());
    let content = avocet_protocol::chat::Content::text("please");
    let inbound = Inbound::new(session.address(), sender, key, content);
    let kind = InboundKind::Text;
    let message =
        NewInbound { session: session.clone(), kind, inbound, removed: 0, trust: Trust::Full };
    world.store.accept(&message, None).await.unwrap();
    let claim = world.store.claim(&session, Suspects::Exclude, std::time::Duration::ZERO);
    let avocet_protocol::store::Claim::Turn(claimed) = claim.await.unwrap() else {
        panic!("no turn")
    };
    let turn = claimed.turn.id;
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: vec![call("schedule", &arguments)],
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust: Trust::Full,
        spent: Vec::new(),
    };
    world.store.record_step(turn, &step).await.unwrap();
    let id = CallId { turn, step: 0, ordinal: 0 };
    let output = world.run("schedule", arguments).await.unwrap();
    let result = CallResult::ok(output.value.clone());
    world.store.finish_call(id, &result, None, &output.writes).await.unwrap();
    let end = avocet_protocol::store::Settlement::new(avocet_protocol::chat::Outcome::Replied);
    world.store.settle(turn, &end).await.unwrap();
    output.value
}

async fn all(world: &World) -> Vec<Schedule> {
    world.store.schedules(None, EndedSchedules::Exclude).await.unwrap()
}

#[tokio::test]
async fn schedule_add_list_pause_resume_and_remove_work() {
    let world = World::new().await;
    let due = START.0 + 120_000;
    assert_eq!(
        run(&world, add("stretch")).await,
        json!(format!("Added s1. Next: {due} ms (UTC)."))
    );
    let hourly =
        json!({ "action": "add", "task": "look", "cron": "0 * * * *", "zone": "Asia/Tokyo" });
    let added = run(&world, hourly).await;
    assert_eq!(added.as_str().unwrap().matches("(Asia/Tokyo)").count(), 3, "{added}");
    let [reminder, task] = &all(&world).await[..] else { panic!() };
    assert_eq!(reminder.work, ScheduledWork::Text("stretch".to_owned()));
    assert_eq!(task.work, ScheduledWork::Task("look".to_owned()));
    assert_eq!(reminder.owner.address, context().session.address());
    let list = run(&world, json!({ "action": "list" })).await;
    assert_eq!(list[0]["text"], "stretch");
    assert_eq!(list[1]["times"], "cron 0 * * * *");
    assert_eq!(run(&world, json!({ "action": "pause", "id": "s2" })).await, "paused s2");
    assert_eq!(run(&world, json!({ "action": "list", "id": "1" })).await[1]["next"], "paused");
    assert_eq!(run(&world, json!({ "action": "resume", "id": "s2" })).await, "resumed s2");
    assert!(all(&world).await[1].next_at.is_some());
    assert_eq!(run(&world, json!({ "action": "remove", "id": "s1" })).await, "removed s1");
    assert_eq!(all(&world).await.len(), 1);
}

#[tokio::test]
async fn schedule_refuses_wrong_arguments_with_their_correction() {
    let world = World::new().await;
    let table = [
        (json!({ "action": "add", "in": "2" }), "either text or task"),
        (json!({ "action": "add", "in": "2", "text": "a", "task": "b" }), "either text or task"),
        (json!({ "action": "add", "in": "2", "text": " " }), "text is empty"),
        (json!({ "action": "add", "in": "2", "text": "x".repeat(5000) }), "at most 4096"),
        (json!({ "action": "add", "text": "a" }), "exactly one"),
        (json!({ "action": "remove" }), "use list"),
        (json!({ "action": "remove", "id": "s9" }), "no schedule s9"),
    ];
    for (arguments, expected) in table {
        let error = world.run("schedule", arguments.clone()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

/// A job cannot create jobs: neither a scheduled run nor a sub-agent.
#[tokio::test]
async fn f17_schedule_is_refused_in_jobs_and_children() {
    let world = World::new().await;
    let of = |session: &str| ToolContext { session: session.parse().unwrap(), ..context() };
    let child = ToolContext { chat: None, ..of("spawn:t1:s0c0") };
    for context in [of("schedule:local:1"), of("job:local:1"), of("terminal:local:job-1"), child] {
        for arguments in [add("again"), json!({ "action": "list" })] {
            let error = world.run_in(&context, "schedule", arguments).await.unwrap_err();
            assert!(error.to_string().contains("a job cannot create jobs"), "{error}");
        }
    }
}

#[tokio::test]
async fn schedule_has_a_limit_for_each_chat() {
    let world = World::new().await;
    for number in 0..100 {
        run(&world, json!({ "action": "add", "text": format!("n{number}"), "in": "2" })).await;
    }
    let error = world.run("schedule", add("more")).await.unwrap_err().to_string();
    assert!(error.contains("100 schedules already"), "{error}");
    let other: SessionId = "terminal:local:other".parse().unwrap();
    let other = ToolContext { chat: Some(other.address()), session: other, ..context() };
    assert!(world.run_in(&other, "schedule", add("more")).await.is_ok());
}

/// Text that asks the agent to schedule something gets an approval first.
#[tokio::test]
async fn schedule_needs_approval_after_untrusted_text() {
    let world = World::new().await;
    let asks = async |arguments: Value, trust| {
        let context = ToolContext { trust, ..context() };
        let call = call("schedule", &arguments);
        world.registry.prepare(&call, None, &context).await.unwrap().approval.is_some()
    };
    assert!(asks(add("x"), Trust::Low).await);
    assert!(!asks(add("x"), Trust::User).await);
    assert!(!asks(json!({ "action": "list" }), Trust::Low).await);
}
