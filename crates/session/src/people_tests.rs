//! Tests of roles and links in commands, turns and chats.

use avocet_protocol::access::{AccessControl, Role};
use avocet_protocol::bus::PublishError;

use super::*;

/// An account where `me` is an owner and `bob` a user; others get a code.
pub(super) fn household() -> Setup {
    let ids = |ids: &[&str]| ids.iter().map(|id| id.parse().unwrap()).collect();
    let (users, owners) = (ids(&["bob"]), ids(&["me"]));
    let allow = Allow::Listed(AllowLists { users, owners, pairing: true, ..AllowLists::default() });
    Setup { allow, ..Setup::default() }
}

impl SessionHarness {
    /// Publishes a message like a platform.
    pub(super) async fn publish_from(
        &self,
        sender: &str,
        chat: &str,
        text: &str,
    ) -> Result<MessageId, PublishError> {
        let inbound = Inbound::new(
            session(chat).address(),
            Sender::new(sender.parse().unwrap()),
            text.replace('/', "command ").parse().unwrap(),
            Content::text(text),
        );
        let inbound = Inbound { from_platform: true, ..inbound };
        self.bus.publish(inbound, None).await.map(|accepted| accepted.id)
    }

    /// Returns a chat's message number `count`, once it was sent.
    pub(super) async fn sent_to(&self, chat: &str, count: usize) -> String {
        let chat = session(chat).address();
        for all in 1.. {
            let taken = self.channel.taken(all).await;
            let mut told = taken.into_iter().filter(|one| one.address == chat);
            if let Some(one) = told.nth(count - 1) {
                return one.content.text;
            }
        }
        unreachable!("the loop ends only by a return")
    }
}

#[tokio::test]
async fn f14_pair_lets_only_an_owner_admit_a_stranger_from_a_chat() {
    let harness = SessionHarness::with(parrot(), household()).await;
    harness.publish_from("me", "own", "hello").await.unwrap();
    assert_eq!(harness.sent_to("own", 1).await, "hello");
    assert!(harness.publish_from("cid", "c", "let me in").await.is_err());
    let code = harness.bus.pairings()[0].code.to_string();
    let notice = harness.sent_to("own", 2).await;
    assert!(notice.contains("`terminal:local:cid`") && notice.contains(&code), "{notice}");

    let approve = format!("/pair approve {code}");
    harness.publish_from("bob", "b", &approve).await.unwrap();
    let refusal = "/pair is for my owner, and only in a private chat.";
    assert_eq!(harness.sent_to("b", 1).await, refusal);
    harness.publish_from("me", "own", "/pair").await.unwrap();
    let list = harness.sent_to("own", 3).await;
    assert!(list.ends_with(&format!("{code}: `terminal:local:cid`, for 10 min")), "{list}");
    harness.publish_from("me", "own", &format!("/pair approve {code} --owner")).await.unwrap();
    assert!(harness.sent_to("own", 4).await.contains("8 characters"), "no chat makes an owner");
    harness.publish_from("me", "own", &approve).await.unwrap();
    let decided = harness.sent_to("own", 5).await;
    let text = "`terminal:local:cid` may speak with me, approved by `me` at ";
    assert!(decided.starts_with(text) && !decided.contains('{'), "{decided}");
    assert_eq!(
        harness.sent_to("c", 2).await,
        "You may speak with me now. I am reading your message."
    );
    assert_eq!(harness.sent_to("c", 3).await, "let me in", "the first message is answered");
    harness.publish_from("cid", "c", "thanks").await.unwrap();
    assert_eq!(harness.sent_to("c", 4).await, "thanks");
    harness.publish_from("me", "own", &format!("{approve} ")).await.unwrap();
    let replayed = format!("The code {code} was approved before; a code can be used once.");
    assert_eq!(harness.sent_to("own", 6).await, replayed);
    let role =
        harness.bus.people().iter().find(|one| one.id.sender.as_str() == "cid").unwrap().role;
    assert_eq!(role, Role::User);
}

#[tokio::test]
async fn f14_owner_tool_is_refused_in_the_turn_of_a_user_and_of_its_child() {
    let model = || {
        ScriptedModel::answering(|request| match request.messages.last() {
            Some(Message::ToolResult { result, .. }) => Scripted::says(result),
            Some(Message::User { text, .. }) if without_marks(text) == "delegate" => {
                Scripted::calls(&[("spawn", json!({"prompt": "the keys"}))])
            }
            _ => Scripted::calls(&[("keys", json!({}))]),
        })
    };
    let harness = SessionHarness::with(model(), household()).await;
    let refusal = r#"{"error":"permission denied: keys is for owners"}"#;
    for (chat, text) in [("b1", "the keys"), ("b2", "delegate")] {
        harness.publish_from("bob", chat, text).await.unwrap();
        let told = harness.sent_to(chat, 1).await;
        assert!(told.contains("keys is for owners"), "{told}");
    }
    assert_eq!(harness.sent_to("b1", 1).await, refusal);
    assert_eq!(harness.tools.runs("keys"), 0);
    assert!(harness.tools.offered().iter().all(|role| *role == Role::User));
    for (count, (chat, text)) in (1..).zip([("o1", "the keys"), ("o2", "delegate")]) {
        harness.publish_from("me", chat, text).await.unwrap();
        harness.sent_to(chat, 1).await;
        assert_eq!(harness.tools.runs("keys"), count, "{text}");
    }
}

#[tokio::test]
async fn link_shares_a_session_and_answers_in_the_chat_of_the_message() {
    let harness = SessionHarness::new(parrot()).await;
    harness.say_in("a", "one").await;
    assert_eq!(harness.sent_to("a", 1).await, "one");
    harness.say_in("a", "/link terminal:local:b").await;
    let linked = "`terminal:local:b` is now part of this conversation.";
    assert_eq!(harness.sent_to("a", 2).await, linked);
    harness.say_in("b", "two").await;
    assert_eq!(harness.sent_to("b", 1).await, "two");
    let asked = harness.asked(2).await;
    let said = |message: &Message| match message {
        Message::User { text, .. } => without_marks(text).to_owned(),
        _ => String::new(),
    };
    let seen = |text: &str| asked[1].messages.iter().any(|message| said(message) == text);
    assert!(seen("one") && seen("two"), "{asked:?}");
    harness.say_in("b", "/id").await;
    let id = "This chat is terminal:local:b. Its session is terminal:local:a. You are me.";
    assert_eq!(harness.sent_to("b", 2).await, id);
    harness.say_in("b", "/link").await;
    assert_eq!(harness.sent_to("b", 3).await, "`terminal:local:b` speaks in `terminal:local:a`");
    harness.say_in("b", "/link remove terminal:local:b").await;
    let own = "`terminal:local:b` has its own conversation again.";
    assert_eq!(harness.sent_to("b", 4).await, own);
    harness.say_in("b", "three").await;
    assert_eq!(harness.sent_to("b", 5).await, "three");
    let asked = harness.asked(3).await;
    assert!(!asked[2].messages.iter().any(|message| *message == Message::user("one")));
}
