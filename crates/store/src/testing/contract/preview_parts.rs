//! Rules of previews with several messages.

use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource, Content, Outcome};
use avocet_protocol::ids::{DeliveryId, PlatformId, TurnId};
use avocet_protocol::store::{Preview, Settlement, Showing};

use super::Backend;
use super::world::{World, planned, reply, session};

fn message(part: usize) -> PlatformId {
    PlatformId::parse(&format!("p{part}")).unwrap()
}

fn shown(part: usize, text: &str) -> Showing {
    Showing::Shown { content: Content::text(text), platform_id: message(part) }
}

fn complete(part: usize, text: &str) -> Showing {
    Showing::Complete { content: Content::text(text), platform_id: message(part) }
}

impl World<'_> {
    async fn begin_part(&self, turn: TurnId, part: usize, text: &str) -> Preview {
        let (chat, content) = (session("a").address(), Content::text(text));
        self.ports.outbox.begin_preview(turn, part, &chat, &content).await.unwrap()
    }

    /// Begins a part and records the outcome of its send.
    async fn part(&self, turn: TurnId, part: usize, showing: &Showing) -> DeliveryId {
        match self.begin_part(turn, part, "Let me …").await {
            Preview::Begun { id, .. } => {
                self.ports.outbox.finish_preview(id, showing).await.unwrap();
                id
            }
            other => panic!("part {part} has not begun: {other:?}"),
        }
    }

    async fn end_with(&self, turn: TurnId, chunks: &[&str]) {
        let planned = Some(planned(&session("a"), chunks));
        let settlement = Settlement { reply: planned, ..reply("the answer") };
        self.settle(turn, &settlement).await.unwrap();
    }

    /// Delivers everything: texts, and the messages that they edit. A removal has no text.
    async fn changes(&self) -> Vec<(String, Option<String>)> {
        let sent = self.deliveries(&session("a").address()).await.into_iter();
        sent.map(|one| (one.content.text, one.shown_as.map(|id| id.to_string()))).collect()
    }
}

fn change(text: &str, message: Option<&str>) -> (String, Option<String>) {
    (text.to_owned(), message.map(ToOwned::to_owned))
}

/// Each message becomes its chunk. A complete message that shows its chunk needs no edit.
pub async fn preview_parts_become_the_chunks_of_the_reply(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    world.part(turn, 0, &complete(0, "one")).await;
    world.part(turn, 1, &complete(1, "too")).await;
    world.part(turn, 2, &shown(2, "thr …")).await;
    assert_eq!(world.ports.outbox.open_chats().await, Ok(vec![]));
    world.says("meanwhile").await;
    world.end_with(turn, &["one", "two", "three", "four"]).await;
    let expected = [
        change("two", Some("p1")),
        change("three", Some("p2")),
        change("meanwhile", None),
        change("four", None),
    ];
    assert_eq!(world.changes().await, expected);
    let texts = world.ports.query.log_status().await.unwrap();
    assert_eq!((texts.pending, texts.dead, texts.unconfirmed), (0, 0, 0));
}

/// All messages of a preview are found again after a crash, in whichever state they are.
pub async fn preview_parts_survive_a_crash(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let first = world.part(turn, 0, &complete(0, "one")).await;
    let second = world.part(turn, 1, &shown(1, "tw …")).await;
    assert!(matches!(world.begin_part(turn, 2, "th …").await, Preview::Begun { .. }));
    let world = world.restart().await;
    world.take(&session("a")).await;
    assert_eq!(world.begin_part(turn, 0, "one").await, Preview::Complete(first, message(0)));
    assert_eq!(world.begin_part(turn, 1, "two").await, Preview::Shown(second, message(1)));
    assert_eq!(world.begin_part(turn, 2, "three").await, Preview::Over, "it may be there");
    world.end_with(turn, &["one", "two", "three"]).await;
    let head = world.head().await.unwrap();
    assert_eq!((head.delivery.id, head.unknown), (second, false));
    assert_eq!(world.changes().await, [change("two", Some("p1")), change("three", None)]);
}

/// A message cannot get files by an edit, so they are a message of their own.
pub async fn preview_parts_become_text_and_files_follow(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    world.part(turn, 0, &complete(0, "one")).await;
    world.part(turn, 1, &shown(1, "tw …")).await;
    world.part(turn, 2, &shown(2, "th …")).await;
    let mut chunks = planned(&session("a"), &["one", "two"]);
    let file = AttachmentSource::Workspace("a.md".to_owned());
    chunks.chunks[1].attachments = vec![Attachment::new(AttachmentKind::Document, file)];
    let settlement = Settlement { reply: Some(chunks), ..reply("the answer") };
    world.settle(turn, &settlement).await.unwrap();
    let sent = world.deliveries(&session("a").address()).await;
    let sent: Vec<_> = sent
        .iter()
        .map(|one| {
            let message = one.shown_as.as_ref().map(ToString::to_string);
            (one.content.text.clone(), one.content.attachments.len(), message)
        })
        .collect();
    let message = |id: &str| Some(id.to_owned());
    let (text, none) = ("two".to_owned(), String::new());
    assert_eq!(sent, [(text, 0, message("p1")), (none.clone(), 0, message("p2")), (none, 1, None)]);
}

/// An edit that begins after the message was complete may have changed it, so it is edited again.
pub async fn preview_part_that_was_opened_again_is_edited_at_the_end(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    let id = world.part(turn, 0, &complete(0, "one")).await;
    assert_eq!(world.begin_part(turn, 0, "on …").await, Preview::Shown(id, message(0)));
    let world = world.restart().await;
    world.take(&session("a")).await;
    world.end_with(turn, &["one"]).await;
    assert_eq!(world.changes().await, [change("one", Some("p0"))]);
}

/// Messages that the reply does not need are removed, also after a crash during the removal.
pub async fn preview_parts_without_a_chunk_are_removed(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    world.part(turn, 0, &complete(0, "one")).await;
    world.part(turn, 1, &complete(1, "two")).await;
    let last = world.part(turn, 2, &shown(2, "th …")).await;
    world.end_with(turn, &["all of it"]).await;
    assert_eq!(world.ports.outbox.open_chats().await, Ok(vec![session("a").address()]));
    let mut removed = Vec::new();
    for _ in 0..3 {
        let head = world.head().await.unwrap();
        removed.push((head.is_removal(), head.delivery.shown_as.clone()));
        world.ports.outbox.start(head.delivery.id, false).await.unwrap();
        if head.delivery.id != last {
            let receipt = avocet_protocol::chat::Receipt { platform_id: head.delivery.shown_as };
            let end = avocet_protocol::store::SendEnd::Sent(receipt);
            world.ports.outbox.finish(head.delivery.id, &end).await.unwrap();
        }
    }
    let expected = [(false, Some(message(0))), (true, Some(message(1))), (true, Some(message(2)))];
    assert_eq!(removed, expected);
    let world = world.restart().await;
    let head = world.head().await.unwrap();
    assert!(head.is_removal() && head.unknown, "{head:?}");
    assert_eq!(world.changes().await, [change("", Some("p2"))]);
    assert_eq!(world.ports.query.log_status().await.unwrap().pending, 0);
}

/// The chat has the answer already: the preview's messages are removed, a remark is sent.
pub async fn settle_removes_the_preview_if_requested(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    world.part(turn, 0, &shown(0, "It is …")).await;
    let remark = Some(planned(&session("a"), &["a remark"]));
    let settlement =
        Settlement { reply: remark, removes_preview: true, ..Settlement::new(Outcome::Replied) };
    world.settle(turn, &settlement).await.unwrap();
    assert_eq!(world.changes().await, [change("", Some("p0")), change("a remark", None)]);
}

/// A message of unknown outcome cannot be removed. A remark is a new message and not its repetition.
pub async fn settle_leaves_a_preview_of_unknown_outcome_besides_the_remark(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    world.part(turn, 0, &Showing::Unknown).await;
    let remark = Some(planned(&session("a"), &["a remark"]));
    let settlement =
        Settlement { reply: remark, removes_preview: true, ..Settlement::new(Outcome::Replied) };
    world.settle(turn, &settlement).await.unwrap();
    let head = world.head().await.unwrap();
    assert!(!head.unknown, "{head:?}");
    assert_eq!(world.changes().await, [change("a remark", None)]);
}

/// A part without its predecessor would become a chunk in the wrong place.
pub async fn begin_preview_leaves_no_gap(backend: &impl Backend) {
    let world = World::new(backend).await;
    let turn = world.running().await;
    assert_eq!(world.begin_part(turn, 1, "two").await, Preview::Over);
    let Preview::Begun { id, .. } = world.begin_part(turn, 0, "one").await else {
        panic!("the first part begins");
    };
    assert_eq!(world.begin_part(turn, 1, "two").await, Preview::Over, "the first is not sent");
    world.ports.outbox.finish_preview(id, &complete(0, "one")).await.unwrap();
    world.says("meanwhile").await;
    assert_eq!(world.begin_part(turn, 1, "two").await, Preview::Later);
    world.deliveries(&session("a").address()).await;
    assert!(matches!(world.begin_part(turn, 1, "two").await, Preview::Begun { .. }));
}
