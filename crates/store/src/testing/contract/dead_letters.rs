//! Rules of dead letters.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{InboundKind, NewInbound, Outcome};
use avocet_protocol::ids::{DedupeKey, DeliveryId, MessageId};
use avocet_protocol::store::{
    AcceptedAs, DeadId, DeadLetter, DeadPage, DeadReason, RetriedLetter, SendEnd, Settlement,
};

use super::Backend;
use super::world::{World, failure, message, planned, session};

impl World<'_> {
    async fn dead_letters(&self, limit: u32, after: Option<DeadId>) -> Vec<DeadLetter> {
        self.ports.dead_letters.dead_letters(DeadPage { limit, after }).await.unwrap()
    }

    /// Returns the ids of all dead letters, the newest first.
    async fn dead_ids(&self) -> Vec<String> {
        self.dead_letters(100, None).await.iter().map(|letter| letter.id.to_string()).collect()
    }

    async fn retry_dead(&self, id: DeadId) -> Option<RetriedLetter> {
        self.ports.dead_letters.retry_dead_letter(id).await.unwrap()
    }

    async fn drop_dead(&self, id: DeadId) -> bool {
        self.ports.dead_letters.drop_dead_letter(id).await.unwrap()
    }

    /// Sends a message of another process to a chat, and abandons its first chunk.
    async fn abandons(&self, name: &str, chunks: &[&str], is_unconfirmed: bool) -> DeadId {
        let key = DedupeKey::parse(chunks[0]).unwrap();
        let outbox = &self.ports.outbox;
        let chat = planned(&session(name), chunks);
        let id = outbox.enqueue(&chat, &key, None).await.unwrap().id;
        outbox.start(id, false).await.unwrap();
        let error = "no".to_owned();
        let end = if is_unconfirmed {
            SendEnd::Unconfirmed { error, notice: None }
        } else {
            SendEnd::Dead { error, notice: None }
        };
        outbox.finish(id, &end).await.unwrap();
        DeadId::Delivery(id)
    }

    /// Accepts a message whose turn is dropped.
    async fn is_dropped(&self, name: &str, text: &str, trust: Trust) -> MessageId {
        let session = session(name);
        let message = message(&session, text, InboundKind::Text);
        let id = self.accept(&NewInbound { trust, ..message }).await.id;
        let turn = self.take(&session).await;
        let dropped = Settlement { outcome: Outcome::Dropped, ..failure("I dropped it") };
        self.settle(turn.id, &dropped).await.unwrap();
        id
    }
}

/// A message with several parts is one letter. Delivered messages and commands are none.
pub async fn dead_letters_are_listed_newest_first(backend: &impl Backend) {
    let world = World::new(backend).await;
    let refused = world.abandons("b", &["one", " two"], false).await;
    let unconfirmed = world.abandons("c", &["three"], true).await;
    let dropped = DeadId::Message(world.is_dropped("a", "please", Trust::Full).await);
    world.delivered_texts(&session("a")).await;
    let letters = world.dead_letters(100, None).await;
    let shown: Vec<_> = letters
        .iter()
        .map(|one| (one.id, one.reason, one.chat.to_string(), &*one.summary, &*one.text))
        .collect();
    let chat = |name: &str| session(name).address().to_string();
    let expected = [
        (unconfirmed, DeadReason::Unconfirmed, chat("c"), "“three”", "three"),
        (refused, DeadReason::Refused, chat("b"), "“one”", "one two"),
        (dropped, DeadReason::Dropped, chat("a"), "“please”", "please"),
    ];
    assert_eq!(shown, expected);
    let errors: Vec<_> = letters.iter().map(|one| one.error.as_deref().unwrap()).collect();
    assert_eq!(errors, ["no", "no", "I dropped it"]);
    for letter in &letters {
        let found = world.ports.dead_letters.dead_letter(letter.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(letter));
    }
    let second_page = world.dead_letters(1, Some(unconfirmed)).await;
    assert_eq!(second_page, letters[1..2]);
    assert_eq!(world.dead_letters(100, Some(refused)).await, letters[2..]);
    for nothing in [DeadId::Delivery(DeliveryId(99)), DeadId::Message(MessageId(99))] {
        assert_eq!(world.ports.dead_letters.dead_letter(nothing).await.unwrap(), None);
        assert_eq!(world.retry_dead(nothing).await, None);
        assert!(!world.drop_dead(nothing).await);
    }
}

/// A retried message is sent with all its parts; a part that may have arrived is marked.
pub async fn retry_of_a_dead_letter_sends_all_parts(backend: &impl Backend) {
    let world = World::new(backend).await;
    for (name, is_unconfirmed) in [("b", false), ("c", true)] {
        let chat = session(name).address();
        let chunks = [format!("{name}1"), format!("{name}2")];
        let id = world.abandons(name, &[&chunks[0], &chunks[1]], is_unconfirmed).await;
        let delivered_before = world.delivered_texts(&session(name)).await;
        assert_eq!(delivered_before.len(), usize::from(is_unconfirmed), "the rest of a message");
        let retried = Some(RetriedLetter::Delivery(chat.clone()));
        assert_eq!(world.retry_dead(id).await, retried);
        assert_eq!(world.retry_dead(id).await, None, "it is queued");
        let sent = world.deliveries(&chat).await;
        let sent: Vec<_> = sent.iter().map(|one| (one.content.text.clone(), one.repeat)).collect();
        let mut expected = vec![(chunks[0].clone(), is_unconfirmed)];
        if !is_unconfirmed {
            expected.push((chunks[1].clone(), false));
        }
        assert_eq!(sent, expected);
    }
    assert_eq!(world.dead_ids().await, [""; 0]);
}

/// A message whose key looks like that of a copied one is listed and retried like any other.
pub async fn retry_of_a_dropped_message_goes_by_no_key(backend: &impl Backend) {
    let world = World::new(backend).await;
    let id = DeadId::Message(world.is_dropped("a", "retried soon", Trust::Full).await);
    assert_eq!(world.dead_ids().await, [id.to_string()]);
    assert_eq!(world.retry_dead(id).await, Some(RetriedLetter::Message(session("a"))));
    assert_eq!(world.dead_ids().await, [""; 0]);
}

/// A copy of a dropped message is answered, with the trust and the key of the original.
pub async fn retry_of_a_dropped_message_queues_a_copy(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let id = world.is_dropped("a", "please", Trust::Low).await;
    let retried = Some(RetriedLetter::Message(a.clone()));
    assert_eq!(world.retry_dead(DeadId::Message(id)).await, retried);
    assert_eq!(world.retry_dead(DeadId::Message(id)).await, None, "its copy is queued");
    assert_eq!(world.dead_ids().await, [""; 0]);
    let again = world.accept(&message(&a, "please", InboundKind::Text)).await;
    assert_eq!(again.what, AcceptedAs::Duplicate, "a redelivery");
    let turn = world.take(&a).await;
    let copy = &turn.origin.messages()[0];
    assert_eq!((copy.model_text(), copy.message.trust), ("please".to_owned(), Trust::Low));
    assert_eq!(again.id, copy.id);
    world.reply(turn.id, "here").await;
    assert_eq!(world.outcome(copy.id).await, Some(Outcome::Replied));
    assert_eq!(world.outcome(id).await, Some(Outcome::Dropped), "the original keeps its outcome");
}

/// A dropped letter leaves the list and the counts for good; `/resend` does not bring it back.
pub async fn drop_of_a_dead_letter_removes_it_from_the_list(backend: &impl Backend) {
    let world = World::new(backend).await;
    let delivery = world.abandons("a", &["one", "two"], false).await;
    let message = DeadId::Message(world.is_dropped("b", "please", Trust::Full).await);
    let DeadId::Delivery(first) = delivery else { panic!("{delivery}") };
    let second_part = DeadId::Delivery(DeliveryId(first.0 + 1));
    assert!(!world.drop_dead(second_part).await, "the first part stands for the message");
    assert_eq!(world.retry_dead(second_part).await, None);
    for id in [delivery, message] {
        assert!(world.drop_dead(id).await);
        assert!(!world.drop_dead(id).await, "it has left the list");
        assert_eq!(world.retry_dead(id).await, None);
    }
    let world = world.restart().await;
    assert_eq!(world.dead_ids().await, [""; 0]);
    let status = world.ports.query.log_status().await.unwrap();
    assert_eq!((status.dead, status.unconfirmed), (0, 0));
    let a = session("a");
    let resend = world.command(&a, "/resend").await;
    let action = avocet_protocol::store::CommandAction::Resend;
    let inbox = &world.ports.inbox;
    let effect = inbox.settle_command(resend, &action, &Default::default()).await.unwrap();
    assert_eq!(effect, avocet_protocol::store::CommandEffect::Nothing);
}
