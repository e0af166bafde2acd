//! Attached clients.

use avocet_protocol::channel::{ForClient, Handover, SendError};
use avocet_protocol::chat::{Content, Delivery, Receipt};
use avocet_protocol::ids::{DeliveryId, TurnId};
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use avocet_supervise::Group;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::world::World;
use crate::testing::session;
use crate::{AttachParams, Client, Incoming};

#[tokio::test]
async fn attach_to_a_linked_chat_receives_the_events_of_its_session() {
    let world = World::new();
    let attached = AttachParams::to_chat("terminal:local:linked".parse().unwrap());
    world.client().await.request::<Value>("attach", &attached).await.unwrap();
    assert_eq!(*world.daemon.heard.lock(), [session()]);
}

#[tokio::test]
async fn attach_listens_to_thoughts_only_if_the_client_asks_for_them() {
    let world = World::new();
    for thoughts in [false, true] {
        let attached = AttachParams { thoughts, ..AttachParams::to_chat(session().address()) };
        world.client().await.request::<Value>("attach", &attached).await.unwrap();
        assert_eq!(*world.daemon.with_thoughts.lock(), usize::from(thoughts));
    }
    let of_account = json!({ "channel": "external", "account": "irc", "thoughts": true });
    let refused = world.client().await.request::<Value>("attach", &of_account).await.unwrap_err();
    assert!(refused.to_string().contains("an optional `thoughts`"), "{refused}");
}

/// Hands a chunk to the attached client.
async fn hand_over(world: &World, text: &str) -> oneshot::Receiver<Result<Receipt, SendError>> {
    let (receipt, received) = oneshot::channel();
    let delivery = Delivery {
        turn: Some(TurnId(1)),
        repeat: true,
        ..Delivery::new(DeliveryId(7), session().address(), Content::text(text))
    };
    let attached = world.daemon.attached.lock()[0].clone();
    attached.send_async(ForClient::Chunk(Box::new(Handover { delivery, receipt }))).await.unwrap();
    received
}

#[tokio::test]
async fn attached_client_receives_events_and_acknowledges_deliveries() {
    let world = World::new();
    let client = world.client().await;
    let chat = session().address();
    let _: Value = client.request("attach", &AttachParams::to_chat(chat.clone())).await.unwrap();
    assert_eq!(world.places.woken(), [chat]);

    world.daemon.emit(&session(), TurnEvent::Thinking { step: 3 });
    let heard = client.incoming().recv_async().await.unwrap();
    assert!(matches!(heard, Incoming::Event(TurnEvent::Thinking { step: 3 })));

    let received = hand_over(&world, "hello").await;
    let Incoming::Deliver { chunk, shown } = client.incoming().recv_async().await.unwrap() else {
        panic!()
    };
    assert_eq!((chunk.id, chunk.text.as_str(), chunk.repeat), (DeliveryId(7), "hello", true));
    shown.confirm().await;
    assert_eq!(received.await.unwrap(), Ok(Receipt { platform_id: None }));
}

#[tokio::test]
async fn attached_client_that_disconnects_leaves_the_delivery_outcome_unknown() {
    let world = World::new();
    let clients = Group::new("clients");
    let client = Client::connect(&world.path, &clients).await.unwrap();
    let chat = session().address();
    let _: Value = client.request("attach", &AttachParams::to_chat(chat)).await.unwrap();
    let received = hand_over(&world, "hello").await;
    clients.abort_tasks();
    assert!(received.await.is_err());
    let attached = world.daemon.attached.lock()[0].clone();
    while !attached.is_disconnected() {
        tokio::task::yield_now().await;
    }
}
