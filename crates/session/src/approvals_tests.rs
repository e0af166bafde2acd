//! Tests of calls that need approval: prompts, access, and results.

use avocet_protocol::access::{ApprovalDecision, Approvals};
use avocet_protocol::ids::WaitId;

use super::people::household;
use super::*;

/// A model that calls a dangerous tool on request, and repeats the result.
fn dangerous() -> ScriptedModel {
    ScriptedModel::answering(|request| match request.messages.last() {
        Some(Message::ToolResult { result, .. }) => Scripted::says(result),
        _ => Scripted::calls(&[("dangerous", json!({ "n": last_said(request).len() }))]),
    })
}

#[tokio::test]
async fn approve_and_deny_apply_to_one_call_or_the_session() {
    const DENIED: &str = "denied by the owner; the reason: not on a Sunday";
    let table = [
        ("/approve", "Allowed.", r#"{"n":2}"#, 2),
        ("/approve w1", "Allowed.", r#"{"n":2}"#, 2),
        (
            "/APPROVE W1 Session",
            "Allowed, and similar calls too for this session.",
            r#"{"n":2}"#,
            1,
        ),
        ("/deny not on a Sunday", "Denied.", &format!(r#"{{"error":"{DENIED}"}}"#), 2),
        ("/deny w1 not on a Sunday", "Denied.", &format!(r#"{{"error":"{DENIED}"}}"#), 2),
    ];
    for (command, said, came_to, questions) in table {
        let harness = SessionHarness::new(dangerous()).await;
        harness.say("go").await;
        assert_eq!(harness.channel.texts(1).await, ["May I?"], "{command}");
        harness.say(command).await;
        let texts = harness.channel.texts(3).await;
        assert!(texts.contains(&said.to_owned()), "{command}: {texts:?}");
        assert!(texts.contains(&came_to.to_owned()), "{command}: {texts:?}");
        harness.say(&format!("again after {command}")).await;
        let texts = harness.channel.texts(4).await;
        let asked = texts.iter().filter(|text| *text == "May I?").count();
        assert_eq!(asked, questions, "{command}: {texts:?}");
    }
}

#[tokio::test]
async fn f14_approve_and_deny_are_for_owners_and_decide_once() {
    let harness = SessionHarness::with(dangerous(), household()).await;
    harness.publish_from("me", "own", "hello").await.unwrap();
    assert_eq!(harness.sent_to("own", 1).await, "May I?");
    harness.publish_from("bob", "own", "/approve").await.unwrap();
    assert_eq!(harness.sent_to("own", 2).await, "/approve is for my owner.");
    harness.publish_from("bob", "b", "/deny w1").await.unwrap();
    assert_eq!(harness.sent_to("b", 1).await, "/deny is for my owner.");
    assert_eq!(harness.tools.runs("dangerous"), 0);
    harness.publish_from("me", "own", "/approve w7").await.unwrap();
    let nothing = "No call waits for approval here, or it is decided already.";
    assert_eq!(harness.sent_to("own", 3).await, nothing);
    harness.publish_from("me", "own", "/approve w1 please").await.unwrap();
    assert!(harness.sent_to("own", 4).await.starts_with("Write /approve"));
    harness.publish_from("me", "own", "/approve w1").await.unwrap();
    harness.sent_to("own", 6).await;
    harness.idle().await;
    harness.publish_from("me", "own", "/deny w1").await.unwrap();
    assert_eq!(harness.sent_to("own", 7).await, nothing);
    assert_eq!(harness.tools.runs("dangerous"), 1);
}

#[tokio::test]
async fn approval_prompt_is_sent_to_owners_in_private_if_the_asker_may_not_decide() {
    let harness = SessionHarness::with(dangerous(), household()).await;
    harness.publish_from("me", "own", "/status").await.unwrap();
    harness.sent_to("own", 1).await;
    harness.publish_from("bob", "b", "go").await.unwrap();
    let plain = "I may do this only with permission. My owner has been asked, and I go on then.";
    assert_eq!(harness.sent_to("b", 1).await, plain);
    let notice = "In `terminal:local:b` I was asked by `bob`:\n\nMay I?";
    assert_eq!(harness.sent_to("own", 2).await, notice);
    harness.publish_from("me", "own", "/approve").await.unwrap();
    let listed = "I asked elsewhere, or after you wrote. Name the call, for example /approve w1:\n\n\
        - w1: dangerous, asked in terminal:local:b";
    assert_eq!(harness.sent_to("own", 3).await, listed);
    harness.publish_from("me", "own", "/deny").await.unwrap();
    let listed = listed.replace("/approve", "/deny");
    assert_eq!(harness.sent_to("own", 4).await, listed);
    harness.publish_from("me", "own", "/approve w1").await.unwrap();
    assert_eq!(harness.sent_to("own", 5).await, "Allowed.");
    assert_eq!(harness.sent_to("b", 2).await, r#"{"n":2}"#);
}

#[tokio::test]
async fn approval_prompt_of_a_child_is_sent_to_the_chat_of_its_parent() {
    let model = || {
        ScriptedModel::answering(|request| match (last_said(request), request.messages.last()) {
            (_, Some(Message::ToolResult { result, .. })) => Scripted::says(result),
            ("dig", _) => Scripted::calls(&[("dangerous", json!({}))]),
            _ => Scripted::calls(&[("spawn", json!({ "prompt": "dig" }))]),
        })
    };
    let harness = SessionHarness::new(model()).await;
    harness.say("go").await;
    assert_eq!(harness.channel.texts(1).await, ["For the task “dig”:\n\nMay I?"]);
    harness.sent().await;
    let harness = harness.restart(model()).await;
    harness.say("/approve").await;
    let texts = harness.channel.texts(3).await;
    assert!(texts.contains(&"Allowed.".to_owned()), "{texts:?}");
    assert!(texts.contains(&r#"{"answer":"{}"}"#.to_owned()), "{texts:?}");
    assert_eq!(harness.tools.runs("dangerous"), 1);
}

#[tokio::test]
async fn decisions_lists_open_approvals_and_decides_each_once() {
    let harness = SessionHarness::new(dangerous()).await;
    harness.say("go").await;
    harness.channel.texts(1).await;
    let decisions = harness.sessions.decisions();
    let open = decisions.open(50, None).await.unwrap();
    assert_eq!((open.len(), open[0].id, open[0].tool.as_str()), (1, WaitId(1), "dangerous"));
    assert_eq!(open[0].chat, Some(session("a").address()));
    assert_eq!(json!(open[0].arguments), json!({ "n": 2 }));
    let decide = async |wait, decision| decisions.decide(WaitId(wait), decision).await.unwrap();
    assert!(!decide(2, ApprovalDecision::Once).await);
    assert!(decide(1, ApprovalDecision::Once).await);
    assert!(!decide(1, ApprovalDecision::Once).await);
    assert_eq!(harness.channel.texts(2).await[1], r#"{"n":2}"#);
    assert_eq!(decisions.open(50, None).await.unwrap(), []);
}

#[tokio::test]
async fn trust_command_is_for_owners() {
    let answers = vec![
        Scripted::calls(&[("page", json!({ "text": "hi" }))]),
        Scripted::says("read"),
        Scripted::calls(&[("careful", json!({}))]),
        Scripted::says("done"),
    ];
    let harness = SessionHarness::with(ScriptedModel::new(answers), household()).await;
    harness.publish_from("me", "own", "read").await.unwrap();
    assert_eq!(harness.sent_to("own", 1).await, "read");
    harness.publish_from("bob", "own", "/trust me").await.unwrap();
    assert_eq!(harness.sent_to("own", 2).await, "/trust is for my owner.");
    let reads_others = async |place| {
        let status = format!("/status {place}");
        harness.publish_from("me", "own", &status).await.unwrap();
        harness.sent_to("own", place).await.contains("I have read untrusted content")
    };
    assert!(reads_others(3).await);
    harness.publish_from("me", "own", "/trust").await.unwrap();
    assert!(harness.sent_to("own", 4).await.starts_with("I now trust what I have read"));
    assert!(!reads_others(5).await);
    harness.publish_from("me", "own", "do it").await.unwrap();
    assert_eq!(harness.sent_to("own", 6).await, "done");
    assert!(!reads_others(7).await);
}

#[tokio::test]
async fn status_reports_untrusted_content_until_new() {
    let answers = vec![
        Scripted::calls(&[("page", json!({ "text": "hi" }))]),
        Scripted::says("read"),
        Scripted::says("still there"),
    ];
    let harness = SessionHarness::with(ScriptedModel::new(answers), household()).await;
    let table = [
        ("/status", "I am not doing anything.", false),
        ("read", "read", false),
        ("go on", "still there", false),
        ("/status now", "I am not doing anything.", true),
        ("/new", "This is a new conversation", false),
        ("/status then", "I am not doing anything.", false),
    ];
    for (place, (said, expected, warned)) in (1..).zip(table) {
        harness.publish_from("me", "own", said).await.unwrap();
        let told = harness.sent_to("own", place).await;
        assert!(told.starts_with(expected), "{told}");
        assert_eq!(told.contains("I have read untrusted content"), warned, "{said}: {told}");
    }
}

#[tokio::test]
async fn approval_becomes_its_outcome_by_an_edit_of_the_prompt() {
    let own = "terminal:local:own".parse().unwrap();
    for (command, shown) in [("/approve w1", "Allowed"), ("/deny w1 why", "Refused")] {
        let channel = FakeChannel::with_preview(SECOND);
        let harness =
            SessionHarness::on(TempStore::new(), channel.into(), dangerous(), household());
        let harness = harness.await;
        harness.publish_from("me", "own", "/status").await.unwrap();
        harness.sent_to("own", 1).await;
        harness.publish_from("bob", "b", "go").await.unwrap();
        harness.channel.taken(3).await;
        harness.sent().await;
        harness.publish_from("me", "own", command).await.unwrap();
        let is_outcome = |text: &String| text.starts_with(shown);
        // The chat of the member has a plain text, which stays.
        let ended = |texts: &[String]| texts.iter().filter(|text| is_outcome(text)).count() == 1;
        harness.channel.shows(ended).await;
        let taken = harness.channel.taken(5).await;
        let edits: Vec<_> = taken.iter().filter(|one| one.shown_as.is_some()).collect();
        assert!(edits.iter().all(|edit| edit.content.choices.is_empty()), "{edits:?}");
        assert!(edits.iter().all(|edit| edit.content.text.contains(" by me at ")), "{edits:?}");
        assert!(edits.iter().any(|edit| edit.address == own), "{edits:?}");
        let replies = taken.iter().filter(|one| one.address == own && one.shown_as.is_none());
        assert_eq!(replies.count(), 2, "the status and the prompt");
    }
}
