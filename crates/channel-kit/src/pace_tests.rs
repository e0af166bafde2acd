use avocet_testkit::ManualClock;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const RATES: Rates = Rates {
    chat: Rate { messages: 1, per: SECOND },
    group: Rate { messages: 3, per: MINUTE },
    account: Rate { messages: 5, per: SECOND },
};

struct World {
    clock: Arc<ManualClock>,
    pace: Pace,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        Self { pace: Pace::new(RATES, clock.clone()), clock }
    }

    fn person(&self, chat: usize) -> Result<(), Duration> {
        self.pace.take(&id(chat), false)
    }

    fn group(&self, chat: usize) -> Result<(), Duration> {
        self.pace.take(&id(chat), true)
    }
}

fn id(chat: usize) -> ChatId {
    ChatId::parse(&chat.to_string()).unwrap()
}

#[test]
fn a_chat_gets_one_message_a_second_and_no_other_chat_waits_for_that() {
    let world = World::new();
    assert_eq!(world.person(1), Ok(()));
    assert_eq!(world.person(1), Err(SECOND));
    assert_eq!(world.person(2), Ok(()));
    world.clock.advance(SECOND / 4);
    assert_eq!(world.person(1), Err(SECOND * 3 / 4));
    world.clock.advance(SECOND * 3 / 4);
    assert_eq!(world.person(1), Ok(()));
}

#[test]
fn a_group_gets_no_more_than_its_share_in_any_minute() {
    let world = World::new();
    for _ in 0..3 {
        assert_eq!(world.group(1), Ok(()));
        world.clock.advance(SECOND);
    }
    assert_eq!(world.group(1), Err(57 * SECOND));
    assert_eq!(world.person(2), Ok(()));
    world.clock.advance(57 * SECOND);
    assert_eq!(world.group(1), Ok(()));
    assert_eq!(world.group(1), Err(SECOND));
}

#[test]
fn all_chats_share_what_the_account_may_send() {
    let world = World::new();
    for chat in 0..5 {
        assert_eq!(world.person(chat), Ok(()));
    }
    assert_eq!(world.person(5), Err(SECOND));
    world.clock.advance(SECOND);
    // Those who wait for their own chat have taken nothing of it.
    assert_eq!(world.person(0), Ok(()));
    for _ in 0..10 {
        assert_eq!(world.person(0), Err(SECOND));
    }
    for chat in 5..9 {
        assert_eq!(world.person(chat), Ok(()));
    }
}

#[test]
fn f6_a_chat_that_is_to_wait_waits_alone() {
    let world = World::new();
    world.pace.hold(&id(1), 17 * SECOND);
    world.pace.hold(&id(1), SECOND);
    assert_eq!(world.person(1), Err(17 * SECOND));
    assert_eq!(world.person(2), Ok(()));
    world.clock.advance(17 * SECOND);
    assert_eq!(world.person(1), Ok(()));
}

#[test]
fn f27_idle_chats_are_forgotten_and_waiting_ones_are_not() {
    let world = World::new();
    for chat in 10..1000 {
        assert_eq!(world.person(chat), Ok(()));
        world.clock.advance(SECOND);
    }
    world.pace.hold(&id(1), 3 * MINUTE);
    assert!(world.pace.taken().chats.len() <= 122);
    world.clock.advance(2 * MINUTE);
    assert_eq!(world.person(2), Ok(()));
    let kept: Vec<ChatId> = world.pace.taken().chats.keys().cloned().collect();
    assert_eq!(kept, [id(1), id(2)]);
}

#[tokio::test]
async fn who_waits_goes_on_in_time_or_hears_at_once_that_it_would_be_too_long() {
    let world = World::new();
    assert_eq!(world.group(1), Ok(()));
    let (chat, longest) = (id(1), 2 * SECOND);
    let (waited, ()) = tokio::join!(world.pace.wait(&chat, true, longest), async {
        world.clock.sleeper(SECOND).await;
        world.clock.advance(SECOND);
    });
    assert_eq!(waited, Ok(()));
    world.clock.advance(SECOND);
    assert_eq!(world.pace.wait(&chat, true, longest).await, Ok(()));
    assert_eq!(world.pace.wait(&chat, true, longest).await, Err(58 * SECOND));
}
