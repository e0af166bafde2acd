use std::sync::Arc;

use avocet_protocol::chat::ChatKind;
use avocet_protocol::ids::SenderId;
use avocet_protocol::store::AcceptedAs;
use avocet_testkit::{FakeBus, FakeDestinations, ManualClock};

use super::*;

struct World {
    bus: Arc<FakeBus>,
    clock: Arc<ManualClock>,
    context: ChannelContext,
    channel: ChannelName,
    account: AccountName,
}

impl World {
    fn new() -> Self {
        let (bus, clock) = (Arc::<FakeBus>::default(), Arc::<ManualClock>::default());
        let context = ChannelContext {
            publish: bus.clone(),
            deliveries: Arc::new(FakeDestinations::default()),
            clock: clock.clone(),
            commands: Arc::default(),
            stop: Default::default(),
        };
        let (channel, account) = ("x".parse().unwrap(), "main".parse().unwrap());
        Self { bus, clock, context, channel, account }
    }

    fn intake(&self) -> Intake<'_> {
        Intake::new(&self.channel, &self.account, &self.context)
    }

    /// Takes an update that moves the cursor to this position.
    async fn take(&self, update: Converted, position: &str) -> Result<Taken, Stopped> {
        self.intake().take(update, Some(cursor(position))).await
    }

    /// The last position of the cursor.
    async fn position(&self) -> Option<String> {
        self.intake().cursors().await.unwrap().pop().map(|cursor| cursor.position)
    }
}

fn cursor(position: &str) -> Cursor {
    Cursor { scope: String::new(), position: position.to_owned() }
}

fn message(key: &str, chat: ChatKind) -> Inbound {
    let sender = avocet_protocol::chat::Sender::new(SenderId::parse("7").unwrap());
    let content = Content::text("hello");
    let address = "x:main:7".parse().unwrap();
    Inbound { chat, ..Inbound::new(address, sender, key.parse().unwrap(), content) }
}

fn inbound(key: &str) -> Converted {
    Converted::inbound(Ok(message(key, ChatKind::Private)))
}

fn not_allowed() -> PublishError {
    PublishError::NotAllowed { channel: "x".to_owned(), sender: "7".to_owned() }
}

#[tokio::test]
async fn take_moves_the_cursor_with_every_update() {
    let invalid = DedupeKey::parse("").unwrap_err();
    let unreadable = Unreadable::new(message("m4", ChatKind::Private), "a story").unwrap();
    let unreadable = Converted::Unreadable(Box::new(unreadable));
    let table = [
        (inbound("m1"), None, Taken::Accepted, None),
        (inbound("m1"), None, Taken::Repeated, None),
        (inbound("m2"), Some(not_allowed()), Taken::Refused(not_allowed()), Some("not allowed")),
        (inbound("m3"), None, Taken::Settled, None),
        (inbound("m5"), None, Taken::Settled, None),
        (Converted::Ignored("of another kind"), None, Taken::Ignored, Some("of another kind")),
        (unreadable, None, Taken::Ignored, Some("of an unsupported kind")),
        (invalid.into(), None, Taken::Ignored, Some("with an unreadable id")),
    ];
    let (world, mut counted) = (World::new(), Vec::new());
    for (number, (update, refusal, taken, reason)) in table.into_iter().enumerate() {
        world.bus.refuse(refusal);
        if taken == Taken::Settled {
            world.bus.accept_as([[AcceptedAs::Decision, AcceptedAs::Unsure][number % 2].clone()]);
        }
        assert_eq!(world.take(update, &number.to_string()).await, Ok(taken));
        assert_eq!(world.position().await, Some(number.to_string()));
        counted.extend(reason);
        assert_eq!(world.bus.ignored(0).await, counted);
    }
    let taken = ["m1", "m3", "m5"].map(|key| message(key, ChatKind::Private));
    assert_eq!(world.bus.taken(0).await, taken);
}

#[tokio::test]
async fn take_answers_an_unreadable_message_once_and_in_a_group_by_a_reply() {
    for (chat, reply_to) in [(ChatKind::Private, None), (ChatKind::Group, Some("m1"))] {
        let world = World::new();
        let unreadable = || Unreadable::new(message("m1", chat), "a story").unwrap();
        for _ in 0..2 {
            world.take(Converted::Unreadable(Box::new(unreadable())), "1").await.unwrap();
        }
        let said = world.bus.said();
        let [(answer, key)] = &said[..] else { panic!("{said:?}") };
        assert!(answer.content.text.contains("a story"), "{answer:?}");
        assert_eq!(answer.content.reply_to, reply_to.map(|key| key.parse().unwrap()));
        assert_eq!(key.as_str(), "unreadable m1");
    }
}

#[tokio::test]
async fn take_retries_until_the_disk_has_room_and_passes_other_failures_on() {
    let world = World::new();
    let full = || PublishError::Log(StoreError::Full { path: "db".to_owned() });
    world.bus.refuse([full(), full()]);
    let (taken, ()) = tokio::join!(world.take(inbound("m1"), "1"), async {
        for _ in 0..2 {
            world.clock.sleeper(std::time::Duration::from_millis(200)).await;
            world.clock.advance(std::time::Duration::from_mins(1));
        }
    });
    assert_eq!((taken, world.position().await.as_deref()), (Ok(Taken::Accepted), Some("1")));

    let broken = StoreError::Internal("a bug".to_owned());
    let failed = Stopped::Failed(ChannelError::Interrupted(broken.to_string()));
    let table = [
        (PublishError::Stopping, Stopped::Requested),
        (PublishError::Log(StoreError::Closed), Stopped::Requested),
        (PublishError::Log(broken), failed),
    ];
    for (error, stopped) in table {
        world.bus.refuse([error]);
        assert_eq!(world.take(inbound("m2"), "2").await, Err(stopped));
        assert_eq!(world.position().await.as_deref(), Some("1"));
    }
    world.context.stop.cancel();
    world.bus.refuse([full()]);
    assert_eq!(world.take(inbound("m2"), "2").await, Err(Stopped::Requested));
}

#[tokio::test]
async fn take_once_returns_an_error_of_the_log_without_a_retry() {
    let world = World::new();
    let intake = world.intake().with_one_attempt();
    let full = StoreError::Full { path: "db".to_owned() };
    let failed = || Stopped::Failed(ChannelError::Interrupted(full.to_string()));
    let table = [
        (PublishError::Log(full.clone()), failed()),
        (PublishError::Stopping, Stopped::Requested),
        (PublishError::Log(StoreError::Closed), Stopped::Requested),
    ];
    for (error, stopped) in table {
        world.bus.refuse([error]);
        assert_eq!(intake.take(inbound("m1"), Some(cursor("1"))).await, Err(stopped));
        assert_eq!(world.position().await, None);
    }
    world.bus.refuse([not_allowed()]);
    let refused = intake.take(inbound("m2"), Some(cursor("2"))).await;
    assert_eq!(refused, Ok(Taken::Refused(not_allowed())));
    assert_eq!(intake.take(inbound("m1"), Some(cursor("3"))).await, Ok(Taken::Accepted));
    assert_eq!(world.position().await.as_deref(), Some("3"));
}

#[tokio::test]
async fn run_ends_with_the_error_of_the_loop_or_when_the_daemon_stops() {
    let world = World::new();
    let fatal = || ChannelError::Fatal("no token".to_owned());
    let table = [(Stopped::Requested, Ok(())), (fatal().into(), Err(fatal()))];
    for (stopped, expected) in table {
        assert_eq!(world.intake().run(async { Err(stopped) }).await, expected);
    }
    let running = world.intake().run(std::future::pending());
    let (ended, ()) = tokio::join!(running, async { world.context.stop.cancel() });
    assert_eq!(ended, Ok(()));
}
