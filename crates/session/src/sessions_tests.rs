//! Tests of sessions with a real log, from the message to the platform.

use std::collections::BTreeMap;
use std::time::Duration;

use avocet_agent::Budgets;
use avocet_protocol::access::{Allow, AllowLists};
use avocet_protocol::bus::Publish;
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Content, Inbound, Outcome, Sender,
};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::MessageId;
use avocet_protocol::model::{Message, ModelError, ModelRequest, without_marks};
use avocet_protocol::store::{Query, Suspects, Turns};
use avocet_protocol::turn::{TurnEvent, TurnEvents, TurnState};
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeChannel, FakeFiles, OnFetch, Scripted, ScriptedModel, WAIT};
use serde_json::json;
use tokio::sync::Semaphore;

use super::*;
use crate::{Agents, BySession};
use harness::*;

#[path = "approvals_tests.rs"]
mod approvals;
#[path = "attachments_tests.rs"]
mod attachments;
#[path = "commands_tests.rs"]
mod commands;
#[path = "compact_tests.rs"]
mod compactions;
#[path = "failures_tests.rs"]
mod failures;
#[path = "sessions_harness.rs"]
mod harness;
#[path = "jobs_tests.rs"]
mod jobs;
#[path = "lane_tests.rs"]
mod lanes;
#[path = "memory_tests.rs"]
mod memories;
#[path = "model_tests.rs"]
mod models;
#[path = "mode_tests.rs"]
mod modes;
#[path = "notifying_tests.rs"]
mod notifying;
#[path = "options_tests.rs"]
mod options;
#[path = "people_tests.rs"]
mod people;
#[path = "preview_drafts_tests.rs"]
mod preview_drafts;
#[path = "preview_parts_tests.rs"]
mod preview_parts;
#[path = "preview_tests.rs"]
mod previews;
#[path = "questions_tests.rs"]
mod questions;
#[path = "reply_tests.rs"]
mod replies;
#[path = "rule_tests.rs"]
mod rules;
#[path = "sampler_tests.rs"]
mod samples;
#[path = "scheduled_tests.rs"]
mod scheduled;
#[path = "spending_tests.rs"]
mod spending;
#[path = "stop_all_tests.rs"]
mod stop_all;
#[path = "tasks_tests.rs"]
mod tasks;
#[path = "think_tests.rs"]
mod thinking;
#[path = "voice_tests.rs"]
mod voices;
#[path = "waits_tests.rs"]
mod waits;

#[tokio::test]
async fn sessions_answer_a_message_and_emit_its_events() {
    let harness = SessionHarness::new(parrot()).await;
    let events = harness.events.subscribe(&session("a"));
    let id = harness.say("hello").await;
    assert_eq!(harness.channel.texts(1).await, ["hello"]);
    assert_eq!(harness.outcome(id).await, Some(Outcome::Replied));
    let mut heard = Vec::new();
    while !matches!(heard.last(), Some(TurnEvent::Ended { .. })) {
        heard.push(events.recv_async().await.unwrap());
    }
    let TurnEvent::Started { turn, messages } = &heard[0] else { panic!("{heard:?}") };
    assert_eq!((messages[0].id, messages[0].text.as_str()), (id, "hello"));
    let ended =
        TurnEvent::Ended { turn: Some(*turn), messages: vec![id], outcome: Outcome::Replied };
    assert_eq!(heard.last(), Some(&ended));
    harness.idle().await;
}

#[tokio::test]
async fn start_resumes_an_interrupted_turn_from_its_log() {
    let harness = SessionHarness::new(ScriptedModel::answering(|_| {
        Scripted::calls(&[("post", json!({})), ("hang", json!({}))])
    }))
    .await;
    harness.say("go").await;
    while harness.tools.runs("hang") == 0 {
        tokio::task::yield_now().await;
    }
    let harness =
        harness.restart(ScriptedModel::answering(|request| match request.messages.last() {
            Some(Message::ToolResult { .. }) => Scripted::says("done"),
            _ => panic!("the step is in the log: {request:#?}"),
        }));
    let harness = tokio::join!(harness).0;
    while harness.tools.runs("hang") == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(harness.tools.runs("post"), 0, "what is finished is not run again");
}

#[tokio::test]
async fn readmit_drops_a_message_of_a_removed_person_with_a_notice() {
    let mut harness = SessionHarness::new(ScriptedModel::answering(|_| Scripted::Hang)).await;
    let id = harness.say("hello").await;
    harness.asked(1).await;
    harness.setup.allow = users(&["somebody else"]);
    let harness = harness.restart(ScriptedModel::new(Vec::new())).await;
    let notice = "You may no longer speak with me here, so I did not read your message.";
    assert_eq!(harness.channel.texts(1).await, [notice]);
    harness.idle().await;
    assert_eq!(harness.outcome(id).await, Some(Outcome::Dropped));
    let told = harness.channel.outcomes(1).await;
    assert_eq!(told, [("hello".to_owned(), Outcome::Dropped)]);
}

#[tokio::test]
async fn f25_orderly_stop_waits_and_then_releases_the_turn_without_an_attempt() {
    let permits = Arc::new(Semaphore::new(0));
    let harness = SessionHarness::new(gated_parrot(&permits)).await;
    let hanging = harness.say_in("a", "one").await.id;
    let queued = harness.say_in("a", "two").await.id;
    harness.asked(1).await;
    harness.bus.stop();
    let (clock, lanes) = (harness.clock.clone(), &harness.sessions);
    tokio::join!(lanes.stop(SECOND), async {
        clock.sleeper(SECOND).await;
        clock.advance(SECOND);
    });
    let turn = harness.store.transcript(&session("a"), 1).await.unwrap().remove(0);
    assert_eq!(turn.state, TurnState::Queued);
    let claim =
        harness.store.claim(&session("a"), Suspects::Exclude, Duration::ZERO).await.unwrap();
    let avocet_protocol::store::Claim::Turn(claimed) = claim else { panic!("{claim:?}") };
    assert_eq!(claimed.attempts, 0);
    harness.store.release(turn.id).await.unwrap();

    let harness = harness.restart(parrot()).await;
    assert_eq!(harness.channel.texts(2).await, ["one", "two"]);
    for id in [hanging, queued] {
        while harness.outcome(id).await.is_none() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn f25_orderly_stop_lets_a_turn_finish_and_claims_no_other() {
    let permits = Arc::new(Semaphore::new(0));
    let harness = SessionHarness::new(gated_parrot(&permits)).await;
    harness.say("one").await;
    let second = harness.say("two").await;
    harness.asked(1).await;
    let (clock, sessions) = (harness.clock.clone(), &harness.sessions);
    tokio::join!(sessions.stop(SECOND), async {
        clock.sleeper(SECOND).await;
        permits.add_permits(9);
    });
    assert_eq!(harness.channel.texts(1).await, ["one"]);
    assert_eq!(harness.outcome(second).await, None);
}
