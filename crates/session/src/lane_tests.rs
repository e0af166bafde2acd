//! Tests of the lanes: order, fairness, queue modes, children.

use avocet_protocol::access::Trust;
use avocet_protocol::bus::Deliveries;
use avocet_protocol::channel::Channel;
use avocet_protocol::chat::{InboundKind, NewInbound};
use avocet_protocol::store::{AcceptedAs, Inbox};

use super::*;

/// The answer of a turn during which a reload has removed its account waits for the account.
#[tokio::test]
async fn reply_of_a_removed_account_waits_until_it_is_back() {
    let permits = Arc::new(Semaphore::new(0));
    let harness = SessionHarness::new(gated_parrot(&permits)).await;
    let id = harness.say("hello").await;
    harness.asked(1).await;
    let channels = harness.sessions.lanes.parts.channels.clone();
    let (name, account) = (harness.channel.name(), harness.channel.account());
    channels.remove_channel(&name, &account);
    permits.add_permits(1);
    harness.idle().await;
    assert_eq!(harness.outcome(id).await, Some(Outcome::Replied));
    assert!(harness.channel.taken(0).await.is_empty(), "the account is removed");
    channels.add_channel(harness.channel.clone());
    harness.sessions.lanes.parts.deliverer.wake_account(&name, &account);
    assert_eq!(harness.channel.texts(1).await, ["hello"]);
}

/// A further part of the message before it.
fn part(text: &str, of: &str) -> Inbound {
    let content = Content { continues: Some(of.parse().unwrap()), ..Content::text(text) };
    let (sender, key) = (Sender::new("me".parse().unwrap()), text.parse().unwrap());
    Inbound::new(session("a").address(), sender, key, content)
}

async fn say_part(harness: &SessionHarness, text: &str, of: &str) -> MessageId {
    harness.bus.publish(part(text, of), None).await.unwrap().id
}

fn has_forward(request: &ModelRequest) -> bool {
    request.messages.iter().any(|message| match message {
        Message::User { text, .. } => text.contains("forward"),
        _ => false,
    })
}

/// A model that never answers a comment without what was forwarded with it.
fn waits_for_the_forward() -> ScriptedModel {
    ScriptedModel::answering(|request| {
        if has_forward(request) { Scripted::says("about both") } else { Scripted::Hang }
    })
}

#[tokio::test]
async fn further_part_begins_the_turn_of_its_message_anew_after_any_gap() {
    for gap in [0, 1, 20, 300, 500, 900] {
        for mode in ["queue", "collect", "steer", "interrupt"] {
            let harness = SessionHarness::new(waits_for_the_forward()).await;
            harness.say(&format!("/queue {mode}")).await;
            harness.channel.texts(1).await;
            let comment = harness.say("comment").await;
            harness.asked(1).await;
            harness.clock.advance(Duration::from_millis(gap));
            let forward = say_part(&harness, "forward", "comment").await;
            assert_eq!(harness.channel.texts(2).await[1], "about both", "{gap} ms, {mode}");
            harness.idle().await;
            let outcomes = [harness.outcome(comment).await, harness.outcome(forward).await];
            assert_eq!(outcomes, [Some(Outcome::Merged), Some(Outcome::Replied)]);
            assert_eq!(harness.channel.taken(2).await.len(), 2, "one answer");
        }
    }
}

#[tokio::test]
async fn further_part_is_answered_with_its_message_after_a_kill() {
    let harness = SessionHarness::new(waits_for_the_forward()).await;
    let comment = harness.say("comment").await;
    harness.asked(1).await;
    let harness = harness.restart(waits_for_the_forward()).await;
    harness.asked(1).await;
    let forward = say_part(&harness, "forward", "comment").await;
    let again = say_part(&harness, "forward", "comment").await;
    assert_eq!(again, forward, "the platform repeats it");
    assert_eq!(harness.channel.texts(1).await, ["about both"]);
    harness.idle().await;
    let outcomes = [harness.outcome(comment).await, harness.outcome(forward).await];
    assert_eq!(outcomes, [Some(Outcome::Merged), Some(Outcome::Replied)]);
    assert_eq!(harness.channel.taken(1).await.len(), 1, "one answer");
}

/// The wake-up may be lost, or come after the answer to the first part.
#[tokio::test]
async fn further_part_is_answered_with_its_message_without_a_signal() {
    let permits = Arc::new(Semaphore::new(0));
    let (gate, forwards) = (permits.clone(), has_forward);
    let harness = SessionHarness::new(ScriptedModel::answering(move |request| {
        let answer = if forwards(request) { "about both" } else { "about the comment" };
        Scripted::When(gate.clone(), Box::new(Scripted::says(answer)))
    }))
    .await;
    let comment = harness.say("comment").await;
    harness.asked(1).await;
    let inbound = part("forward", "comment");
    let (kind, removed, trust) = (InboundKind::Text, 0, Trust::Full);
    let forward = NewInbound { session: session("a"), kind, inbound, removed, trust };
    let forward = harness.store.accept(&forward, None).await.unwrap();
    assert!(matches!(forward.what, AcceptedAs::Joined(_)), "{forward:?}");
    permits.add_permits(2);
    assert_eq!(harness.channel.texts(1).await, ["about both"]);
    harness.idle().await;
    let outcomes = [harness.outcome(comment).await, harness.outcome(forward.id).await];
    assert_eq!(outcomes, [Some(Outcome::Merged), Some(Outcome::Replied)]);
    assert_eq!(harness.channel.taken(1).await.len(), 1, "one answer");
}

/// A signal may come after the lane has claimed the turn with the further part.
#[tokio::test]
async fn late_signal_of_a_further_part_leaves_the_turn_running() {
    let permits = Arc::new(Semaphore::new(0));
    let harness = SessionHarness::new(gated_parrot(&permits)).await;
    harness.say("hello").await;
    harness.asked(1).await;
    let parts = &harness.sessions.lanes.parts;
    let open = parts.query.session_status(&session("a")).await.unwrap().open.unwrap();
    parts.running.signal_restart(open.turn);
    permits.add_permits(1);
    assert_eq!(harness.channel.texts(1).await, ["hello"]);
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn turn_waits_for_an_announced_part_until_it_is_there_or_the_time_is_over() {
    for comes in [true, false] {
        let harness = SessionHarness::new(parrot()).await;
        let content = Content { more_within_ms: Some(2000), ..Content::text("cut") };
        let (sender, key) = (Sender::new("me".parse().unwrap()), "cut".parse().unwrap());
        let inbound = Inbound::new(session("a").address(), sender, key, content);
        harness.bus.publish(inbound, None).await.unwrap();
        let hold = Duration::from_secs(2);
        harness.clock.sleeper_within(hold..=hold).await;
        assert_eq!(harness.model.requests().len(), 0);
        if comes {
            harness.clock.advance(Duration::from_millis(900));
            say_part(&harness, "end", "cut").await;
        } else {
            harness.clock.advance(hold);
        }
        let expected = if comes { "cut\n\nend" } else { "cut" };
        assert_eq!(harness.channel.texts(1).await, [expected]);
        assert_eq!(harness.model.requests().len(), 1);
        harness.idle().await;
    }
}

#[tokio::test]
async fn sessions_answer_messages_of_one_session_in_order() {
    let harness = SessionHarness::new(parrot()).await;
    let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    for text in &texts {
        harness.say(text).await;
    }
    assert_eq!(harness.channel.texts(20).await, texts);
    harness.idle().await;
    assert!(harness.sessions.lanes.is_idle(), "an idle session costs no memory");
}

#[tokio::test]
async fn f39_one_slow_session_delays_no_other() {
    let harness =
        SessionHarness::new(ScriptedModel::answering(|request| match last_said(request) {
            "hang" => Scripted::Hang,
            text => Scripted::says(text),
        }))
        .await;
    harness.say_in("stuck", "hang").await;
    harness.asked(1).await;
    for number in 0..50 {
        harness.say_in(&format!("chat{number}"), "hello").await;
    }
    assert_eq!(harness.channel.taken(50).await.len(), 50);
}

#[tokio::test]
async fn sessions_share_running_slots_fairly() {
    let permits = Arc::new(Semaphore::new(0));
    let setup = Setup {
        limits: LaneLimits { max_running: 1, ..LaneLimits::default() },
        ..Setup::default()
    };
    let harness = SessionHarness::with(gated_parrot(&permits), setup).await;
    for text in ["a1", "a2", "a3"] {
        harness.say_in("a", text).await;
    }
    harness.asked(1).await;
    harness.say_in("b", "b1").await;
    while harness.sessions.lanes.count_busy() < 2 {
        tokio::task::yield_now().await;
    }
    permits.add_permits(4);
    let asked = harness.asked(4).await;
    assert_eq!(asked.iter().map(last_said).collect::<Vec<_>>(), ["a1", "b1", "a2", "a3"]);
}

#[tokio::test]
async fn collect_mode_answers_a_burst_of_messages_together() {
    let setup = Setup { limits: LaneLimits::default(), ..Setup::default() };
    let harness = SessionHarness::with(parrot(), setup).await;
    harness.say("/queue collect").await;
    while !harness.open_commands().await.is_empty() {
        tokio::task::yield_now().await;
    }
    let (pause, half) = (LaneLimits::default().burst, LaneLimits::default().burst / 2);
    harness.say("one").await;
    harness.clock.sleeper_within(pause..=pause).await;
    harness.clock.advance(half);
    harness.say("two").await;
    harness.clock.advance(half);
    harness.clock.sleeper_within(half..=half).await;
    assert!(harness.model.requests().is_empty(), "the second has only just come");
    harness.clock.advance(half);
    let asked = &harness.asked(1).await[0];
    let said = asked.messages.iter().filter_map(|message| match message {
        Message::User { text, .. } => Some(without_marks(text)),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>().join("\n"), "one\n\ntwo");
}

#[tokio::test]
async fn f16_queue_modes_pass_every_message_to_the_model_in_order() {
    for mode in ["queue", "collect", "steer", "interrupt"] {
        let permits = Arc::new(Semaphore::new(0));
        let gate = permits.clone();
        let harness = SessionHarness::new(ScriptedModel::answering(move |request| {
            let asked_for_tool = request
                .messages
                .iter()
                .any(|message| matches!(message, Message::User { text, .. } if without_marks(text) == "go"));
            let answered = matches!(request.messages.last(), Some(Message::ToolResult { .. }))
                || last_said(request) != "go";
            let then = if asked_for_tool && !answered {
                Scripted::calls(&[("echo", json!({}))])
            } else {
                Scripted::says("ok")
            };
            Scripted::When(gate.clone(), Box::new(then))
        }))
        .await;
        harness.say(&format!("/queue {mode}")).await;
        harness.channel.taken(1).await;
        let first = harness.say("go").await;
        harness.asked(1).await;
        let mut ids = vec![first];
        for text in ["1", "2", "3", "4", "5"] {
            ids.push(harness.say(text).await);
        }
        permits.add_permits(100);
        for id in &ids {
            while harness.outcome(*id).await.is_none() {
                tokio::task::yield_now().await;
            }
        }
        let transcript = harness.store.transcript(&session("a"), 99).await.unwrap();
        let mut read = Vec::new();
        for turn in &transcript {
            read.extend(turn.origin.messages().iter().map(|message| message.id));
            read.extend(turn.steps.iter().flat_map(|step| &step.steered).map(|one| one.id));
        }
        assert_eq!(read, ids, "{mode}");
        let outcomes = [harness.outcome(ids[0]).await, harness.outcome(ids[5]).await];
        let expected = match mode {
            "interrupt" => [Some(Outcome::Stopped), Some(Outcome::Replied)],
            "steer" => [Some(Outcome::Merged), Some(Outcome::Replied)],
            _ => [Some(Outcome::Replied); 2],
        };
        assert_eq!(outcomes, expected, "{mode}");
        let told = harness.channel.outcomes(ids.len()).await;
        let keys: std::collections::BTreeSet<&str> =
            told.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys.into_iter().collect::<Vec<_>>(), ["1", "2", "3", "4", "5", "go"], "{mode}");
        assert!(told.contains(&("go".to_owned(), expected[0].unwrap())), "{mode}: {told:?}");
    }
}

#[tokio::test]
async fn child_runs_in_its_own_session_and_answers_its_parent() {
    let harness = SessionHarness::new(ScriptedModel::answering(|request| {
        match (last_said(request), request.messages.last()) {
            ("count the files", _) => Scripted::says("seven"),
            (_, Some(Message::ToolResult { result, .. })) => Scripted::says(result),
            _ => Scripted::calls(&[("spawn", json!({"prompt": "count the files"}))]),
        }
    }))
    .await;
    harness.say("how many?").await;
    assert_eq!(harness.channel.texts(1).await, [r#"{"answer":"seven"}"#]);
    harness.idle().await;
    assert_eq!(harness.channel.taken(1).await.len(), 1, "the child says nothing in the chat");
}

#[tokio::test]
async fn ping_reports_a_turn_that_runs_too_long() {
    let harness = SessionHarness::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    assert_eq!(harness.sessions.ping().await, Ok(()));
    harness.say("hang").await;
    harness.asked(1).await;
    assert_eq!(harness.sessions.ping().await, Ok(()));
    let stuck =
        harness.sessions.lanes.parts.agents.now().agents.default().run.limits.turn.max_duration * 2;
    // The turn's own timeout would end it, but the turn is blocked before it sees the time.
    harness.clock.advance(stuck);
    let pinged = harness.sessions.ping().await;
    assert_eq!(pinged, Err(NotMoving::Turn(TurnId(1))));
    harness.sessions.group.abort_tasks();
    let clock: &dyn Clock = harness.clock.as_ref();
    harness.sessions.group.wait_for_tasks(clock, SECOND).await.unwrap();
}
