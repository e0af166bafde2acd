//! Tests of `/memory`.

use avocet_protocol::access::Trust;
use avocet_protocol::store::{Memories, ScopeFilter};

use super::people::household;
use super::*;

#[tokio::test]
async fn memory_command_shows_and_forgets_what_this_chat_may_read() {
    let answers = vec![Scripted::calls(&[("note", json!({}))]), Scripted::says("noted")];
    let harness = SessionHarness::with(ScriptedModel::new(answers), household()).await;
    harness.publish_from("me", "own", "note it").await.unwrap();
    assert_eq!(harness.sent_to("own", 1).await, "noted");
    let m1 = "m1 (everyone, 2026-01-01): remember";
    let table = [
        ("bob", "b", "/memory", m1),
        ("bob", "b", "/memory remember", m1),
        ("bob", "b", "/memory keys", "I remember nothing about \"keys\" here."),
        (
            "bob",
            "b",
            "/memory forget m1",
            "I keep m1: only owners may write for everyone here; use another scope.",
        ),
        ("me", "own", "/memory forget", "Write /memory forget m12, with the id of a memory."),
        ("me", "own", "/memory forget m2", "There is no memory m2 here."),
        ("me", "own", "/memory forget m1", "I have forgotten m1: remember"),
        ("me", "own", "/memory forget  m1", "There is no memory m1 here."),
        ("bob", "b", "/memory ", "I remember nothing here."),
        ("bob", "b", "/memory add Bob  likes tea", "I remember it (person): Bob  likes tea"),
        ("bob", "b", "/memory ADD bob likes TEA!", "I know that already."),
        ("bob", "b", "/memory tea", "m2 (person, 2026-01-01): Bob  likes tea"),
        ("me", "own", "/memory tea", "I remember nothing about \"tea\" here."),
        (
            "me",
            "own",
            "/memory add",
            "Write /memory add and the text, for example: /memory add I like tea.",
        ),
        ("me", "own", "/memory add my tea", "I remember it (person): my tea"),
    ];
    let (mut own, mut bobs) = (1, 0);
    for (sender, chat, command, expected) in table {
        let count = if chat == "own" { &mut own } else { &mut bobs };
        *count += 1;
        harness.publish_from(sender, chat, command).await.unwrap();
        assert_eq!(harness.sent_to(chat, *count).await, expected, "{command}");
    }
    let found = harness.store.search_memories(&ScopeFilter::All, "tea", 9).await.unwrap();
    let trust = |author: &str| {
        let said_by = Some(format!("terminal:local:{author}").parse().unwrap());
        found.iter().find(|one| one.memory.source.said_by == said_by).unwrap().memory.trust
    };
    assert_eq!((trust("bob"), trust("me")), (Trust::User, Trust::Full));
}
