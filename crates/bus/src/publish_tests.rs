use std::time::Duration;

use avocet_protocol::access::{Allow, AllowLists};
use avocet_protocol::bus::{OrderTicket, PublishOrder, QueueMode};
use avocet_protocol::chat::{ChatAddress, Content, Sender, SessionId};
use avocet_protocol::ids::MessageId;
use avocet_protocol::store::{
    CommandAction, CommandReply, NoCorrection, StoreError, Suspects, Turns,
};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeDestinations, ManualClock};

use super::*;
use crate::MAX_TEXT_BYTES;

struct BusHarness {
    bus: Bus,
    wakes: WakeReceiver,
    store: Arc<SqliteStore>,
    platforms: Arc<FakeDestinations>,
    clock: Arc<ManualClock>,
    _log: TempStore,
}

async fn harness() -> BusHarness {
    let log = TempStore::new();
    let clock = Arc::new(ManualClock::default());
    let store = log.open(clock.clone()).await;
    let platforms = Arc::new(FakeDestinations::default());
    let admission = Admission::default().with_account(
        "terminal".parse().unwrap(),
        "local".parse().unwrap(),
        Allow::Listed(AllowLists {
            users: ["me".parse().unwrap()].into(),
            ..AllowLists::default()
        }),
    );
    let (bus, wakes) = open(admission, &store, &platforms, &clock).await;
    BusHarness { bus, wakes, store, platforms, clock, _log: log }
}

async fn open(
    admission: Admission,
    store: &Arc<SqliteStore>,
    platforms: &Arc<FakeDestinations>,
    clock: &Arc<ManualClock>,
) -> (Bus, WakeReceiver) {
    let parts = BusParts {
        admission,
        inbox: store.clone(),
        outbox: store.clone(),
        people: store.clone(),
        destinations: platforms.clone(),
        deliveries: platforms.clone(),
        clock: clock.clone(),
    };
    Bus::open(parts).await.unwrap()
}

fn session() -> SessionId {
    SessionId::parse("terminal:local:a").unwrap()
}

fn inbound(key: &str, text: &str) -> Inbound {
    Inbound::new(
        session().address(),
        Sender::new("me".parse().unwrap()),
        key.parse().unwrap(),
        Content::text(text),
    )
}

#[tokio::test]
async fn publish_wakes_the_responsible_worker_after_the_commit() {
    let BusHarness { bus, wakes, store, _log, .. } = harness().await;
    let first = bus.publish(inbound("1", "hello"), None).await.unwrap();
    assert_eq!(first.id, MessageId(1));
    assert_eq!(wakes.next().await, Some(WakeUp::Lane(session())));
    let again = bus.publish(inbound("1", "hello"), None).await.unwrap();
    assert_eq!(again.what, AcceptedAs::Duplicate);
    let mode = bus.publish(inbound("2", "/queue interrupt"), None).await.unwrap();
    let again = "whoever published the first may have gone before it woke anybody";
    assert_eq!(wakes.next().await, Some(WakeUp::Lane(session())), "{again}");
    assert_eq!(wakes.next().await, Some(WakeUp::Commands));

    let action = CommandAction::SetMode(QueueMode::Interrupt);
    store.settle_command(mode.id, &action, &CommandReply::default()).await.unwrap();
    store.claim(&session(), Suspects::Exclude, Duration::ZERO).await.unwrap();
    let third = bus.publish(inbound("3", "no, wait"), None).await.unwrap();
    let AcceptedAs::Interrupt(turns) = third.what else { panic!("{third:?}") };
    assert_eq!(wakes.next().await, Some(WakeUp::Ended(turns)));
    assert_eq!(wakes.next().await, Some(WakeUp::Lane(session())));
}

#[tokio::test]
async fn publish_in_order_stores_messages_in_the_order_of_their_tickets() {
    let BusHarness { bus, _log, .. } = harness().await;
    let mut order = PublishOrder::default();
    let tickets: Vec<_> = (0..300_u32).map(|number| (number, order.take_ticket())).collect();
    let publish = async |(number, ticket): (u32, OrderTicket)| {
        let hold = ticket.wait_turn().await;
        let key = number.to_string();
        if number % 3 == 0 {
            let message =
                Outbound { address: session().address(), content: Content::text(key.clone()) };
            bus.send_in_order(message, key.parse().unwrap(), &hold).await.unwrap();
            return None;
        }
        Some(bus.publish_in_order(inbound(&key, "hi"), None, &hold).await.unwrap().id)
    };
    // The last one starts first.
    let mut started: Vec<_> =
        tickets.into_iter().rev().map(|ticket| Box::pin(publish(ticket))).collect();
    let mut stored: Vec<Option<Option<MessageId>>> = vec![None; started.len()];
    poll_fn(|context| {
        for (place, message) in started.iter_mut().enumerate() {
            if stored[place].is_none()
                && let Poll::Ready(id) = message.as_mut().poll(context)
            {
                stored[place] = Some(id);
            }
        }
        if stored.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let ids: Vec<_> = stored.into_iter().rev().flatten().flatten().collect();
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(ids.len(), 200);
}

#[tokio::test]
async fn release_once_queued_lets_the_next_message_follow_before_the_commit() {
    let mut order = PublishOrder::default();
    let (first, second) = (order.take_ticket(), order.take_ticket());
    let hold = first.wait_turn().await;
    let uncommitted = Box::pin(std::future::pending::<()>());
    tokio::select! {
        biased;
        () = release_once_queued(uncommitted, &hold) => {}
        _next = second.wait_turn() => {}
    }
}

#[tokio::test]
async fn publish_writes_no_refused_message_to_the_log() {
    let BusHarness { bus, store, _log, .. } = harness().await;
    let stranger = Sender::new("stranger".parse().unwrap());
    let refused = bus.publish(Inbound { sender: stranger, ..inbound("1", "hi") }, None).await;
    assert!(matches!(refused, Err(PublishError::NotAllowed { .. })));
    let refused = bus.publish(inbound("2", &"x".repeat(MAX_TEXT_BYTES + 1)), None).await;
    assert!(matches!(refused, Err(PublishError::TooLong { .. })));
    assert_eq!(store.open_sessions().await, Ok(vec![]));
}

#[tokio::test]
async fn readmit_refuses_a_removed_sender() {
    let BusHarness { bus, store, _log, .. } = harness().await;
    bus.publish(inbound("1", "hello"), None).await.unwrap();
    let claim = store.claim(&session(), Suspects::Exclude, Duration::ZERO).await.unwrap();
    let avocet_protocol::store::Claim::Turn(claimed) = claim else { panic!("{claim:?}") };
    let message = claimed.turn.origin.messages()[0].clone();
    assert_eq!(bus.readmit_message(message.clone()).unwrap().into_inner(), message);
    let (strict, _) = open(Admission::default(), &store, &Arc::default(), &Arc::default()).await;
    assert!(matches!(strict.readmit_message(message), Err(PublishError::NotAllowed { .. })));
}

#[tokio::test]
async fn send_plans_commits_and_wakes_a_delivery() {
    let BusHarness { bus, store, platforms, _log, .. } = harness().await;
    let address = session().address();
    let send = |address: &ChatAddress, text: &str| {
        let content = Content::text(text);
        bus.send(Outbound { address: address.clone(), content }, "k".parse().unwrap())
    };
    let first = send(&address, "two \u{1b}parts").await.unwrap();
    assert!(!first.duplicate);
    assert!(send(&address, "two parts").await.unwrap().duplicate);
    assert_eq!(platforms.woken().first(), Some(&address));
    let head = store.head(&address).await.unwrap().unwrap();
    assert_eq!((head.delivery.id, head.delivery.content.text.as_str()), (first.id, "two"));

    let nowhere = "icq:local:a".parse().unwrap();
    assert_eq!(
        send(&nowhere, "hi").await.unwrap_err().to_string(),
        "icq:local:a is on no configured channel; there are: terminal:local"
    );
    assert_eq!(send(&address, "\0").await, Err(PublishError::Empty));
}

#[tokio::test]
async fn stop_makes_publish_send_and_ignore_fail() {
    let BusHarness { bus, store, _log, .. } = harness().await;
    bus.stop();
    assert_eq!(bus.publish(inbound("1", "hello"), None).await, Err(PublishError::Stopping));
    let message = Outbound { address: session().address(), content: Content::text("hi") };
    assert_eq!(bus.send(message, "k".parse().unwrap()).await, Err(PublishError::Stopping));
    let (channel, account) = (session().address().channel, session().address().account);
    let ignored = bus.ignore(&channel, &account, "why", None).await;
    assert_eq!(ignored, Err(PublishError::Stopping));
    assert_eq!(store.open_sessions().await, Ok(vec![]));
}

#[tokio::test]
async fn publish_returns_the_error_of_a_closed_log() {
    let BusHarness { bus, store, _log, .. } = harness().await;
    Arc::unwrap_or_clone(store).close().await;
    let refused = bus.publish(inbound("1", "hello"), None).await;
    assert_eq!(refused, Err(PublishError::Log(StoreError::Closed)));
}

#[tokio::test]
async fn publish_admits_a_correction_like_any_message() {
    let BusHarness { bus, store, _log, .. } = harness().await;
    let edit = |at: &str, text: &str| Inbound {
        corrects: Some("1".parse().unwrap()),
        ..inbound(&format!("1e{at}"), text)
    };
    let unknown = bus.publish(edit("0", "hello"), None).await;
    assert_eq!(unknown, Err(PublishError::NoCorrection(NoCorrection::Unknown)));
    let first = bus.publish(inbound("1", "helo"), None).await.unwrap();
    let replaced = bus.publish(edit("1", "hel\0lo"), None).await.unwrap();
    assert_eq!(replaced, Accepted { id: first.id, what: AcceptedAs::Queued });
    assert_eq!(bus.publish(edit("2", " \0"), None).await, Err(PublishError::Empty));
    let command = bus.publish(edit("3", "/new"), None).await;
    assert_eq!(command, Err(PublishError::NoCorrection(NoCorrection::Command)));
    let claim = store.claim(&session(), Suspects::Exclude, Duration::ZERO).await.unwrap();
    let avocet_protocol::store::Claim::Turn(claimed) = claim else { panic!("{claim:?}") };
    let [message] = claimed.turn.origin.messages() else { panic!("{claimed:?}") };
    assert_eq!(message.message.inbound.content.text, "hello");
}

#[tokio::test]
async fn f38_publish_limits_messages_of_bots_per_chat_and_minute() {
    let BusHarness { bus, clock, store, _log, .. } = harness().await;
    let of_bot = |key: usize, chat: &str| {
        let mut inbound = inbound(&key.to_string(), "hello again");
        inbound.address = format!("terminal:local:{chat}").parse().unwrap();
        inbound.sender.is_bot = true;
        inbound
    };
    let unlisted = Sender { is_bot: true, ..Sender::new("another".parse().unwrap()) };
    let refused = bus.publish(Inbound { sender: unlisted, ..of_bot(0, "a") }, None).await;
    assert!(matches!(refused, Err(PublishError::NotAllowed { .. })), "{refused:?}");
    let limit = BOT_MESSAGES_A_MINUTE;
    for key in 0..limit {
        for what in [AcceptedAs::Queued, AcceptedAs::Duplicate] {
            let accepted = bus.publish(of_bot(key, "a"), None).await.unwrap();
            assert_eq!(accepted.what, what, "a repeated message does not count");
            if key + 1 == limit {
                break;
            }
        }
    }
    let refused = bus.publish(of_bot(limit, "a"), None).await;
    assert_eq!(refused, Err(PublishError::BotTooOften { sender: "me".to_owned(), limit }));
    bus.publish(of_bot(0, "b"), None).await.unwrap();
    bus.publish(inbound("of a person", "hello"), None).await.unwrap();
    clock.advance(Duration::from_mins(1));
    bus.publish(of_bot(limit, "a"), None).await.unwrap();
    assert_eq!(store.open_sessions().await.unwrap().len(), 2);
}
