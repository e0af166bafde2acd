//! Tests of the lanes: order, fairness, queue modes, children.

use avocet_protocol::bus::Deliveries;
use avocet_protocol::channel::Channel;

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
