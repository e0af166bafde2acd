//! The event log over the socket: lists, subscriptions, timelines.

use avocet_protocol::store::{EventSeq, LogEvent, Subscriber};
use avocet_protocol::turn::TraceSpan;
use serde_json::{Value, json};

use super::world::{World, refused};
use crate::testing::KEY;
use crate::{
    Client, ClientError, EventBatch, EventList, Incoming, MAX_LINE_BYTES, RpcError, Subscribed,
};

const A: &str = "terminal:local:a";
const B: &str = "terminal:local:b";

impl World {
    /// Connects and subscribes.
    async fn subscriber(&self, params: Value) -> (Client, Subscribed) {
        let client = self.client().await;
        let subscribed = client.request("subscribe", &params).await.unwrap();
        (client, subscribed)
    }
}

/// Returns the next batch after confirming it.
async fn next(client: &Client) -> Vec<i64> {
    let (numbers, confirmation) = next_open(client).await;
    confirmation.confirm().await;
    numbers
}

async fn next_open(client: &Client) -> (Vec<i64>, crate::ChunkConfirmation) {
    match client.incoming().recv_async().await.unwrap() {
        Incoming::Events { batch: EventBatch { events, .. }, confirmation } => {
            (numbers(&events), confirmation)
        }
        other => panic!("{other:?}"),
    }
}

fn numbers(events: &[LogEvent]) -> Vec<i64> {
    events.iter().map(|event| event.seq.0).collect()
}

#[tokio::test]
async fn events_list_selects_and_hides_secrets() {
    let world = World::new();
    let client = world.client().await;
    for (session, text) in [(A, "one"), (B, KEY), (A, "three")] {
        world.daemon.log.add(session, text);
    }
    let table = [
        (json!({}), vec![1, 2, 3], 3),
        (json!({ "after": 1 }), vec![2, 3], 3),
        (json!({ "limit": 1 }), vec![1], 1),
        (json!({ "session": A }), vec![1, 3], 3),
        (json!({ "kinds": ["message"] }), vec![1, 2, 3], 3),
        (json!({ "kinds": ["turn", "message.done"] }), vec![], 3),
    ];
    for (params, expected, next) in table {
        let list: EventList = client.request("events.list", &params).await.unwrap();
        assert_eq!((numbers(&list.events), list.next.0), (expected, next), "{params}");
        assert_eq!((list.log.as_str(), list.newest.0), ("log1", 3));
        assert!(!json!(list).to_string().contains(KEY));
    }
    let table = [
        (json!({ "limit": 0 }), "events.list: limit is 0; it must be from 1 to 500"),
        (
            json!({ "after": i64::MIN }),
            "events.list: -9223372036854775808 is not the number of an event: 0 or more",
        ),
        (json!({ "kinds": ["talk"] }), "events.list: there is no kind \"talk\"; there are "),
        (json!({ "since": 1 }), "events.list: unknown key `since`; the keys are "),
    ];
    for (params, message) in table {
        let (code, found) = refused(client.request::<Value>("events.list", &params).await);
        assert!(code == -32602 && found.starts_with(message), "{found}");
    }
}

#[tokio::test]
async fn subscribe_sends_a_batch_after_the_confirmation_of_the_last() {
    let world = World::new();
    world.daemon.log.add(A, "1");
    let (client, subscribed) = world.subscriber(json!({ "from": 0 })).await;
    assert_eq!(
        (subscribed.log.as_str(), subscribed.from, subscribed.removed),
        ("log1", EventSeq(0), 0)
    );
    let (first, confirmation) = next_open(&client).await;
    assert_eq!(first, [1]);
    world.daemon.log.add(B, "2");
    world.daemon.log.add(A, "3");
    assert!(client.incoming().is_empty());
    confirmation.confirm().await;
    assert_eq!(next(&client).await, [2, 3]);
    // Without a position, only new events.
    let (client, subscribed) =
        world.subscriber(json!({ "session": A, "kinds": ["message"] })).await;
    assert_eq!(subscribed.from, EventSeq(3));
    world.daemon.log.add(B, "4");
    world.daemon.log.add(A, "5");
    assert_eq!(next(&client).await, [5]);
    assert_eq!(world.daemon.log.position("any"), None);
}

#[tokio::test]
async fn subscribe_continues_a_name_where_it_was_confirmed() {
    let world = World::new();
    (1..=4).for_each(|number| world.daemon.log.add(A, &number.to_string()));
    let (client, subscribed) = world.subscriber(json!({ "name": "backup", "from": 1 })).await;
    assert_eq!(subscribed.from, EventSeq(1));
    assert_eq!(next(&client).await, [2, 3, 4]);
    world.daemon.log.confirmed("backup", 4).await;
    world.daemon.log.add(A, "5");
    // This batch is not confirmed.
    assert_eq!(next_open(&client).await.0, [5]);
    drop(client);
    let (client, subscribed) = world.subscriber(json!({ "name": "backup", "from": 0 })).await;
    assert_eq!(subscribed.from, EventSeq(4));
    assert_eq!(next(&client).await, [5]);
    world.daemon.log.confirmed("backup", 5).await;
    let list: Vec<Subscriber> = client.request("subscriber.list", &Value::Null).await.unwrap();
    assert_eq!((list[0].name.as_str(), list[0].seq.0), ("backup", 5));
    let named = json!({ "name": "backup" });
    client.request::<Value>("subscriber.remove", &named).await.unwrap();
    let refusal = refused(client.request::<Value>("subscriber.remove", &named).await);
    assert_eq!(refusal, (-32002, "there is no subscriber \"backup\"".to_owned()));
}

#[tokio::test]
async fn subscribe_refuses_the_name_of_the_exporter() {
    let world = World::new();
    let client = world.client().await;
    let named = json!({ "name": "telemetry" });
    let (code, message) = refused(client.request::<Value>("subscribe", &named).await);
    assert_eq!(code, RpcError::PARAMS);
    assert!(message.contains("that of the exporter; choose another"), "{message}");
    assert_eq!(world.daemon.log.position("telemetry"), None);
}

#[tokio::test]
async fn subscribe_replaces_the_earlier_connection_of_a_name() {
    let world = World::new();
    let (first, _) = world.subscriber(json!({ "name": "one" })).await;
    let (second, _) = world.subscriber(json!({ "name": "one" })).await;
    world.daemon.log.add(A, "1");
    assert_eq!(next(&second).await, [1]);
    world.daemon.log.confirmed("one", 1).await;
    assert!(first.incoming().recv_async().await.is_err());
    let (code, message) = refused(first.request::<Value>("ping", &Value::Null).await);
    assert_eq!(code, RpcError::CONFLICT);
    assert!(message.starts_with("another connection follows the events under this name"));
}

#[tokio::test]
async fn subscriber_of_a_daemon_that_stops_loses_its_connection_without_a_refusal() {
    let world = World::new();
    let (client, _) = world.subscriber(json!({ "name": "one" })).await;
    world.gateway.close();
    assert!(client.incoming().recv_async().await.is_err());
    let lost = client.request::<Value>("ping", &Value::Null).await;
    assert_eq!(lost, Err(ClientError::Lost));
}

#[tokio::test]
async fn subscribe_splits_events_that_do_not_fit_into_a_line() {
    let world = World::new();
    for _ in 0..4 {
        world.daemon.log.add(A, &"\u{1}".repeat(MAX_LINE_BYTES / 10));
    }
    let (client, _) = world.subscriber(json!({ "from": 0 })).await;
    assert_eq!(next(&client).await, [1]);
    assert_eq!(next(&client).await, [2]);
}

#[tokio::test]
async fn trace_is_the_timeline_of_a_message() {
    let world = World::new();
    world.daemon.log.add(A, "hi");
    let client = world.client().await;
    let spans: Vec<TraceSpan> = client.request("trace", &json!({ "message": "m1" })).await.unwrap();
    assert_eq!(spans.len(), 2);
    let (code, message) =
        refused(client.request::<Value>("trace", &json!({ "message": "m9" })).await);
    assert_eq!(code, -32002);
    assert!(message.starts_with("there are no events of m9; "), "{message}");
}
