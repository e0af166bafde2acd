//! Tests of the mode of a session: what the agent may do without a question.

use super::models::says;
use super::*;

/// A model that gives a task to a sub-agent, which writes, and repeats the result.
fn delegating_writer() -> ScriptedModel {
    ScriptedModel::answering(|request| match (request.messages.last(), last_said(request)) {
        (Some(Message::ToolResult { result, .. }), _) => Scripted::says(result),
        (_, "delegate" | "delegate again") => {
            Scripted::calls(&[("spawn", json!({ "prompt": "write" }))])
        }
        (_, "write") => Scripted::calls(&[("write", json!({ "n": 1 }))]),
        (_, said) => Scripted::says(said),
    })
}

#[tokio::test]
async fn mode_command_shows_and_sets_the_mode_of_a_session() {
    let harness = SessionHarness::new(parrot()).await;
    let said = says(&harness, &["/mode", "/mode Read", "/status", "/mode plan", "/mode default"]);
    let said = said.await;
    let expected = [
        "Mode: default; the configuration decides which calls need your approval. /mode default, \
         ask, read chooses another.",
        "Mode: read; I only read and plan, and refuse calls that have an effect. This applies from \
         the next message on.",
        "I am not doing anything. Mode: read; I only read and plan, and refuse calls that have an \
         effect.",
        "I stay as I am: unknown mode \"plan\"; use default, ask or read.",
        "Mode: default; the configuration decides which calls need your approval. This applies from \
         the next message on.",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn mode_command_lets_only_owners_choose() {
    let setup = Setup { allow: users(&["me"]), ..Setup::default() };
    let harness = SessionHarness::with(parrot(), setup).await;
    let said = says(&harness, &["/mode default", "/mode"]).await;
    assert_eq!(said[0], "Only my owner can choose the mode; /mode shows it.");
    let shown = "Mode: default; the configuration decides which calls need your approval.";
    assert_eq!(said[1], shown);
}

#[tokio::test]
async fn mode_read_refuses_the_effects_of_a_session_and_its_sub_agents_after_a_restart() {
    let harness = SessionHarness::new(delegating_writer()).await;
    says(&harness, &["/mode read"]).await;
    harness.sent().await;
    let harness = harness.restart(delegating_writer()).await;
    for (said, count) in [("write", 2), ("delegate", 3)] {
        harness.say(said).await;
        let answer = harness.channel.texts(count).await.pop().unwrap();
        assert!(answer.contains("the mode is read"), "{said}: {answer}");
    }
    assert_eq!(harness.tools.runs("write"), 0);
    harness.say("/mode default").await;
    harness.channel.texts(4).await;
    harness.say("delegate again").await;
    assert_eq!(harness.channel.texts(5).await[4], r#"{"answer":"{\"n\":1}"}"#);
    assert_eq!(harness.tools.runs("write"), 1);
}

#[tokio::test]
async fn mode_ask_asks_before_the_effect_of_a_sub_agent() {
    let harness = SessionHarness::new(delegating_writer()).await;
    says(&harness, &["/mode ask"]).await;
    harness.say("delegate").await;
    assert_eq!(harness.channel.texts(2).await[1], "For the task “write”:\n\nMay I?");
    assert_eq!(harness.tools.runs("write"), 0);
    harness.say("/approve").await;
    assert_eq!(harness.channel.texts(4).await[3], r#"{"answer":"{\"n\":1}"}"#);
    assert_eq!(harness.tools.runs("write"), 1);
}
