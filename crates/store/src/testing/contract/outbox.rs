//! Rules of outgoing messages.

use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, ChatAddress, Content, Delivery, Planned, Receipt,
};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::daemon::LogStatus;
use avocet_protocol::ids::{DedupeKey, DeliveryId, PlatformId};
use avocet_protocol::store::{
    CommandAction, CommandEffect, CommandReply, Enqueued, Head, SendEnd, Settlement, StoreError,
};

use super::Backend;
use super::world::{World, planned, reply, session};

fn key(text: &str) -> DedupeKey {
    DedupeKey::parse(text).unwrap()
}

async fn enqueue(world: &World<'_>, name: &str, chunks: &[&str]) -> Enqueued {
    let message = planned(&session(name), chunks);
    world.ports.outbox.enqueue(&message, &key(chunks[0]), None).await.unwrap()
}

async fn head(world: &World<'_>, chat: &ChatAddress) -> Head {
    world.ports.outbox.head(chat).await.unwrap().unwrap()
}

/// Returns `true` if the chat has an open chunk after it.
async fn end(world: &World<'_>, id: DeliveryId, end: SendEnd) -> bool {
    world.ports.outbox.start(id, false).await.unwrap();
    world.ports.outbox.finish(id, &end).await.unwrap()
}

/// Chunks of a chat are sent in order of insertion, across its topics.
pub async fn head_returns_the_chunks_of_a_chat_in_order(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    enqueue(&world, "a", &["1", "2"]).await;
    let mut topic = planned(&a, &["3"]);
    topic.address.topic = Some("7".parse().unwrap());
    world.ports.outbox.enqueue(&topic, &key("3"), None).await.unwrap();
    enqueue(&world, "b", &["other"]).await;
    let deliveries = world.deliveries(&a.address()).await;
    let texts: Vec<_> = deliveries.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, ["1", "2", "3"]);
    assert_eq!(deliveries[2].address, topic.address);
    assert_eq!(world.delivered_texts(&session("b")).await, ["other"]);
}

/// A later chunk comes with the platform's message of the first one, even after a restart.
pub async fn head_of_a_later_chunk_names_the_message_of_the_first(backend: &impl Backend) {
    let mut world = World::new(backend).await;
    let chat = session("a").address();
    for name in ["one", "two"] {
        let chunks = [format!("{name} 1"), format!("{name} 2"), format!("{name} 3")];
        let chunks = chunks.each_ref().map(String::as_str);
        world
            .ports
            .outbox
            .enqueue(&planned(&session("a"), &chunks), &key(name), None)
            .await
            .unwrap();
    }
    let mut found = Vec::new();
    for number in 0..6 {
        let Delivery { id, first_chunk, .. } = head(&world, &chat).await.delivery;
        found.push(first_chunk.map(|message| message.to_string()));
        let platform_id = PlatformId::parse(&format!("m{number}")).ok();
        end(&world, id, SendEnd::Sent(Receipt { platform_id })).await;
        world = world.restart().await;
    }
    let found: Vec<_> = found.iter().map(Option::as_deref).collect();
    assert_eq!(found, [None, Some("m0"), Some("m0"), None, Some("m3"), Some("m3")]);
}

/// Each row has its own nonce, which is the same for all its sends, even after a restart.
pub async fn head_keeps_the_nonce_of_a_chunk_for_all_sends(backend: &impl Backend) {
    let world = World::new(backend).await;
    let chats = [session("a").address(), session("b").address()];
    let first = enqueue(&world, "a", &["1"]).await;
    enqueue(&world, "b", &["1"]).await;
    let nonces = async |world: &World<'_>| {
        [head(world, &chats[0]).await, head(world, &chats[1]).await].map(|head| head.delivery.nonce)
    };
    let before = nonces(&world).await;
    assert!(before[0] != before[1] && before[0] != first.id.to_string(), "{before:?}");
    assert!(before.iter().all(|nonce| nonce.len() <= 20), "{before:?}");
    assert!(end(&world, first.id, SendEnd::Unknown { error: "reset".to_owned() }).await);
    let world = world.restart().await;
    assert_eq!(nonces(&world).await, before);
}

/// The idempotency key absorbs a repeated message in the same chat.
pub async fn enqueue_absorbs_a_repeated_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let first = enqueue(&world, "a", &["1", "2"]).await;
    assert!(!first.duplicate);
    let again = enqueue(&world, "a", &["1", "2"]).await;
    assert_eq!((again.id, again.duplicate), (first.id, true));
    assert!(!enqueue(&world, "b", &["1"]).await.duplicate);
    assert_eq!(world.delivered_texts(&session("a")).await, ["1", "2"]);
}

/// A certainly refused chunk waits and blocks its chat. Only a send in progress can end.
pub async fn finish_with_again_delays_the_chunk_and_counts_the_attempt(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a").address();
    let first = enqueue(&world, "a", &["1", "2"]).await;
    let again = |counts| SendEnd::Again {
        not_before: Timestamp(77),
        error: "flood".to_owned(),
        counts,
        first_sent_at: None,
    };
    end(&world, first.id, again(true)).await;
    end(&world, first.id, again(false)).await;
    let head = head(&world, &a).await;
    assert_eq!((head.delivery.id, head.attempts, head.unknown), (first.id, 1, false));
    assert_eq!((head.not_before, head.delivery.first_sent_at), (Timestamp(77), None));
    end(&world, first.id, SendEnd::Unreachable).await;
    let attempts = world.ports.outbox.head(&a).await.unwrap().unwrap().attempts;
    assert_eq!(attempts, 1, "an unreachable chat costs no attempt");
    let not_under_way = world.ports.outbox.finish(first.id, &again(true)).await;
    assert_eq!(not_under_way, Err(StoreError::Stale(first.id.to_string())));
}

/// The status names each chat with open chunks: their number, the first, and its last failure. Chats
/// whose next chunk failed come first. Delivered and abandoned chunks are excluded.
pub async fn log_status_names_chats_that_wait(backend: &impl Backend) {
    let world = World::new(backend).await;
    let status = async || world.ports.query.log_status().await.unwrap();
    let failed = |error: &str, counts| SendEnd::Again {
        not_before: Timestamp(77),
        error: error.to_owned(),
        counts,
        first_sent_at: None,
    };
    let unknown = || SendEnd::Unknown { error: "HTTP 500".to_owned() };
    let mut first = Vec::new();
    for (chat, count) in [("d", 1), ("a", 2), ("b", 1), ("c", 1)] {
        first.push(enqueue(&world, chat, &["1", "2"][..count]).await.id);
    }
    let [d, a, b, c] = first[..] else { panic!("{first:?}") };
    end(&world, a, unknown()).await;
    let failing_since = head(&world, &session("a").address()).await.failing_since;
    end(&world, a, unknown()).await;
    end(&world, b, failed("no route", true)).await;
    end(&world, c, failed("wait", false)).await;
    end(&world, d, SendEnd::Unreachable).await;
    let found = status().await;
    assert_eq!((found.stuck_chats, found.more_waiting_chats), (3, 0));
    let shown: Vec<_> = found
        .waiting_chats
        .iter()
        .map(|one| {
            (one.chat.chat.as_str(), one.count, one.next, one.attempts, one.error.as_deref())
        })
        .collect();
    let expected = [
        ("a", 2, a, 2, Some("HTTP 500")),
        ("b", 1, b, 1, Some("no route")),
        ("c", 1, c, 0, Some("wait")),
        ("d", 1, d, 0, None),
    ];
    assert_eq!(shown, expected);
    let since = |place: usize| found.waiting_chats[place].since;
    assert_eq!(Some(since(0)), failing_since, "of the first failure");
    let of_c = head(&world, &session("c").address()).await;
    assert_eq!((of_c.failing_since, of_c.error.as_deref()), (None, Some("wait")));
    assert_eq!(of_c.held_at, since(2));
    assert!(Timestamp(0) < since(3) && since(3) <= since(0), "of its addition");

    for (id, error) in [(a, "HTTP 500"), (b, "no route")] {
        let (error, notice) = (error.to_owned(), None);
        end(&world, id, SendEnd::Unconfirmed { error, notice }).await;
    }
    for id in [c, d] {
        end(&world, id, SendEnd::Sent(Receipt { platform_id: None })).await;
    }
    let command = world.command(&session("a"), "/resend").await;
    let (resend, reply) = (CommandAction::Resend, CommandReply::default());
    world.ports.inbox.settle_command(command, &resend, &reply).await.unwrap();
    assert_eq!(head(&world, &session("a").address()).await.failing_since, None);
    let found = status().await;
    let shown: Vec<_> =
        found.waiting_chats.iter().map(|one| (one.next, one.error.as_deref())).collect();
    assert_eq!((found.stuck_chats, shown), (0, vec![(a, None)]), "queued again, without an error");
}

/// The status counts the waiting chats that it does not name.
pub async fn log_status_counts_chats_beyond_the_first(backend: &impl Backend) {
    let world = World::new(backend).await;
    for chat in 0..LogStatus::MOST_WAITING_CHATS + 2 {
        let delivery = enqueue(&world, &format!("chat{chat}"), &["1"]).await.id;
        if chat > 0 {
            end(&world, delivery, SendEnd::Unknown { error: "HTTP 500".to_owned() }).await;
        }
    }
    let found = world.ports.query.log_status().await.unwrap();
    assert_eq!(found.waiting_chats.len(), LogStatus::MOST_WAITING_CHATS);
    let all = LogStatus::MOST_WAITING_CHATS as u64 + 2;
    assert_eq!((found.more_waiting_chats, found.stuck_chats), (2, all - 1));
    assert!(found.waiting_chats.iter().all(|one| one.error.is_some()), "failed ones come first");
}

/// An abandoned chunk abandons the rest of its message; other messages are sent.
pub async fn finish_with_dead_abandons_the_rest_of_the_message(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let first = enqueue(&world, "a", &["1", "2", "3"]).await;
    enqueue(&world, "a", &["next"]).await;
    let notice = Some(planned(&a, &["part of it was refused"]));
    end(&world, first.id, SendEnd::Dead { error: "no".to_owned(), notice }).await;
    assert_eq!(world.delivered_texts(&a).await, ["next", "part of it was refused"]);
    assert_eq!(world.ports.query.log_status().await.unwrap().dead, 3);
}

/// A send whose outcome stays unknown is reported, and later messages go on.
pub async fn finish_with_unconfirmed_reports_the_chunk_and_frees_the_next(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let first = enqueue(&world, "a", &["1"]).await;
    enqueue(&world, "a", &["2"]).await;
    end(&world, first.id, SendEnd::Unknown { error: "reset".to_owned() }).await;
    assert!(head(&world, &a.address()).await.unknown);
    world.ports.outbox.start(first.id, true).await.unwrap();
    assert!(world.ports.outbox.head(&a.address()).await.unwrap().is_none());
    let notice = Some(planned(&a, &["did it arrive?"]));
    let unconfirmed = SendEnd::Unconfirmed { error: "reset again".to_owned(), notice };
    world.ports.outbox.finish(first.id, &unconfirmed).await.unwrap();
    assert_eq!(world.delivered_texts(&a).await, ["2", "did it arrive?"]);
    assert_eq!(world.ports.query.log_status().await.unwrap().unconfirmed, 1);
    assert_eq!(world.ports.query.session_status(&a).await.unwrap().unconfirmed, 1);
}

/// `/resend` repeats abandoned messages and marks only the unconfirmed ones.
pub async fn resend_repeats_abandoned_messages(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let error = || "no".to_owned();
    let first = enqueue(&world, "a", &["unconfirmed"]).await;
    end(&world, first.id, SendEnd::Unconfirmed { error: error(), notice: None }).await;
    let second = enqueue(&world, "a", &["dead"]).await;
    end(&world, second.id, SendEnd::Dead { error: error(), notice: None }).await;
    enqueue(&world, "a", &["sent"]).await;
    world.deliveries(&a.address()).await;

    let resend = async |text: &str| {
        let command = world.command(&a, text).await;
        world
            .ports
            .inbox
            .settle_command(command, &CommandAction::Resend, &CommandReply::default())
            .await
            .unwrap()
    };
    assert_eq!(resend("/resend").await, CommandEffect::Resent(2));
    let again = world.deliveries(&a.address()).await;
    let again: Vec<_> = again.iter().map(|one| (one.content.text.as_str(), one.repeat)).collect();
    assert_eq!(again, [("unconfirmed", true), ("dead", false)]);
    assert_eq!(resend("/resend again").await, CommandEffect::Nothing);
}

/// The next send of a chunk of which some messages have arrived is a repetition, also by `/resend`.
pub async fn finish_marks_the_next_send_of_a_chunk_sent_in_part(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let waits = SendEnd::Again {
        not_before: Timestamp(0),
        error: "wait".to_owned(),
        counts: false,
        first_sent_at: None,
    };
    let refused = SendEnd::Dead { error: "no".to_owned(), notice: None };
    for (number, rest) in [waits, refused].into_iter().enumerate() {
        let sent = enqueue(&world, "a", &[&format!("{rest:?}")]).await;
        end(&world, sent.id, SendEnd::Partly(Box::new(rest))).await;
        let command = world.command(&a, &format!("/resend {number}")).await;
        let (action, reply) = (CommandAction::Resend, CommandReply::default());
        world.ports.inbox.settle_command(command, &action, &reply).await.unwrap();
        let again = world.deliveries(&a.address()).await;
        assert_eq!(again.iter().map(|one| one.repeat).collect::<Vec<_>>(), [true]);
    }
}

/// The chats that a starting daemon must serve.
pub async fn open_chats_lists_chats_with_pending_chunks(backend: &impl Backend) {
    let world = World::new(backend).await;
    let first = enqueue(&world, "a", &["1"]).await;
    enqueue(&world, "b", &["1"]).await;
    let is_open = end(&world, first.id, SendEnd::Sent(Receipt { platform_id: None })).await;
    assert!(!is_open, "only the other chat has an open chunk");
    let world = world.restart().await;
    assert_eq!(world.ports.outbox.open_chats().await, Ok(vec![session("b").address()]));
}

/// The files of all chunks are listed in their order.
pub async fn sent_files_lists_the_files_of_a_turn_in_its_own_session(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    world.say(&a, "send them").await;
    let turn = world.take(&a).await;
    let file = |name: &str| {
        let source = AttachmentSource::Workspace(name.to_owned());
        Attachment::new(AttachmentKind::Document, source)
    };
    let chunk = |names: &[&str]| Content {
        attachments: names.iter().map(|name| file(name)).collect(),
        ..Content::text("here")
    };
    let chunks = vec![chunk(&["a"]), chunk(&[]), chunk(&["b", "c"])];
    let sent = Planned { address: a.address(), chunks };
    world.settle(turn.id, &Settlement { reply: Some(sent), ..reply("here") }).await.unwrap();
    let query = &world.ports.query;
    let files = query.sent_files(&a, turn.id).await.unwrap();
    assert_eq!(files, ["a", "b", "c"].map(file));
    assert_eq!(query.sent_files(&session("b"), turn.id).await.unwrap(), []);
}
