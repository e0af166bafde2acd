#[path = "deliver_tests/failing.rs"]
mod failing;
#[path = "deliver_tests/files.rs"]
mod files;
#[path = "deliver_tests/reserved.rs"]
mod reserved;
#[path = "deliver_tests/unknown_outcomes.rs"]
mod unknown_outcomes;
#[path = "deliver_tests/waiting.rs"]
mod waiting;
#[path = "deliver_tests/world.rs"]
mod world;

use std::sync::Arc;

use avocet_protocol::access::{Asker, Role, Roles};
use avocet_protocol::bus::Deliveries;
use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{ChatAddress, Inbound};
use avocet_protocol::store::Query;
use avocet_testkit::{FakeRoles, OnSend};

use world::{DeliveryHarness, chat_address};

#[tokio::test]
async fn deliverer_sends_every_chunk_of_a_chat_once_and_in_order() {
    let harness = DeliveryHarness::new().await;
    harness.send("a", "1|2|3").await;
    harness.send("a", "4").await;
    assert_eq!(harness.channel.texts(4).await, ["1", "2", "3", "4"]);
    harness.stop().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.pending, status.unconfirmed, status.dead), (0, 0, 0));
}

#[tokio::test]
async fn deliverer_start_sends_chunks_left_in_the_outbox() {
    let harness = DeliveryHarness::new().await;
    harness.channel.set_reachable(&chat_address("a"), false);
    harness.send("a", "1").await;
    let harness = harness.kill_and_restart().await;
    harness.channel.set_reachable(&chat_address("a"), true);
    harness.deliverer.start().await.unwrap();
    assert_eq!(harness.channel.texts(1).await, ["1"]);
}

#[tokio::test]
async fn deliverer_reports_a_refused_message_but_not_a_refused_notice() {
    let harness = DeliveryHarness::new().await;
    let refused = || OnSend::Say(SendError::Refused("chat not found".to_owned()));
    harness.channel.script([refused()]);
    harness.send("a", "1|2").await;
    let notice =
        "I could not send this message: “1” (chat not found). /resend tries it again.".to_owned();
    assert_eq!(harness.channel.texts(1).await, [notice]);
    harness.channel.script([refused(), refused()]);
    harness.send("a", "3").await;
    harness.stop().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.dead, status.pending), (4, 0), "1, 2, 3 and the notice");
}

/// Roles with an owner in one chat.
#[derive(Debug)]
struct OwnerIn(ChatAddress);

impl Roles for OwnerIn {
    fn role(&self, inbound: &Inbound) -> Role {
        FakeRoles.role(inbound)
    }

    fn is_owners(&self, inbound: &Inbound) -> bool {
        FakeRoles.is_owners(inbound)
    }

    fn asker(&self, inbound: &Inbound) -> Option<Asker> {
        FakeRoles.asker(inbound)
    }

    fn owners_chats(&self) -> Vec<ChatAddress> {
        vec![self.0.clone()]
    }

    fn may_decide_for(&self, _: &ChatAddress, _: Option<&ChatAddress>) -> bool {
        true
    }

    fn is_owners_chat(&self, chat: &ChatAddress) -> bool {
        *chat == self.0
    }

    fn may_write(&self, chat: &ChatAddress) -> bool {
        FakeRoles.may_write(chat)
    }
}

#[tokio::test]
async fn deliverer_reports_a_closed_chat_to_an_owner_once() {
    let harness = DeliveryHarness::new().await;
    let roles: Arc<dyn Roles> = Arc::new(OwnerIn(chat_address("own")));
    let deliveries: Arc<dyn Deliveries> = Arc::new(harness.deliverer.clone());
    harness.deliverer.report_closed_chats(&roles, &deliveries);
    harness.channel.close(&chat_address("a"));
    let refused = || OnSend::Say(SendError::Refused("the bot may not write".to_owned()));
    for (count, texts) in [(1, ["1", "2"]), (2, ["3", "4"])] {
        for text in texts {
            harness.channel.script([refused()]);
            harness.send("a", text).await;
            harness.wait_until_idle().await;
        }
        let taken = harness.channel.taken(2 * count - 1).await;
        let notice = taken.last().unwrap();
        assert_eq!(notice.address, chat_address("own"));
        let text = format!(
            "I cannot write in `terminal:local:a`: the bot may not write. This \
            message was not sent: “{}”.",
            texts[0]
        );
        assert!(notice.content.text.starts_with(&text), "{}", notice.content.text);
        // The chat takes a message again, and is closed later.
        harness.send("a", &format!("opened {count}")).await;
        harness.channel.taken(2 * count).await;
        harness.wait_until_idle().await;
    }
    harness.stop().await;
    let status = harness.store.log_status().await.unwrap();
    assert_eq!((status.dead, status.pending), (4, 0), "and no notice in the closed chat");
}
