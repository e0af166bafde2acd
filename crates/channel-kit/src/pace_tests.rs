use avocet_testkit::ManualClock;

use super::*;

#[path = "pace_load_tests.rs"]
mod load;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
/// 6 a second: 4 are used on average, and 5 at most.
const RATES: Rates = Rates {
    chat: Rate { messages: 1, per: SECOND },
    group: Rate { messages: 4, per: MINUTE },
    account: Rate { messages: 6, per: SECOND },
};
/// The time between two turns of the account.
const APART: Duration = Duration::from_millis(250);

struct World {
    clock: Arc<ManualClock>,
    pace: Pace,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        Self { pace: Pace::new(RATES, clock.clone()), clock }
    }

    /// Takes a turn and lets the request leave, as the outbox does.
    async fn send(&self, chat: usize, is_group: bool) -> Result<(), Duration> {
        self.turn(chat, is_group).await?;
        self.pace.start_request(&id(chat)).await.map(drop)
    }

    /// Takes a turn, however long that takes.
    async fn turn(&self, chat: usize, is_group: bool) -> Result<(), Duration> {
        let chat = id(chat);
        tokio::select! {
            biased;
            turn = self.pace.turn(&chat, is_group) => turn,
            never = self.time_passes() => never,
        }
    }

    /// Advances the clock whenever all tasks sleep.
    async fn time_passes(&self) -> ! {
        loop {
            tokio::task::yield_now().await;
            self.clock.advance_to_next();
        }
    }

    fn now(&self) -> Duration {
        self.clock.elapsed()
    }
}

fn id(chat: usize) -> ChatId {
    ChatId::parse(&chat.to_string()).unwrap()
}

#[tokio::test]
async fn turn_of_a_chat_that_just_had_one_is_refused_for_the_rest_of_its_second() {
    let world = World::new();
    assert_eq!(world.send(1, false).await, Ok(()));
    assert_eq!(world.send(1, false).await, Err(SECOND));
    assert_eq!(world.send(2, false).await, Ok(()), "no other chat waits for that");
    world.clock.advance(SECOND - world.now());
    assert_eq!(world.send(1, false).await, Ok(()));
}

#[tokio::test]
async fn turn_of_a_group_is_refused_for_the_rest_of_its_minute() {
    let world = World::new();
    for _ in 0..4 {
        assert_eq!(world.send(1, true).await, Ok(()));
        world.clock.advance(SECOND);
    }
    assert_eq!(world.send(1, true).await, Err(56 * SECOND));
    assert_eq!(world.send(1, false).await, Ok(()), "the rate of groups is for groups");
}

#[tokio::test]
async fn turns_of_different_chats_are_granted_at_even_intervals() {
    let world = World::new();
    let mut at = Vec::new();
    for chat in 0..9 {
        world.send(chat, false).await.unwrap();
        at.push(world.now());
    }
    let even: Vec<Duration> = (0..9).map(|turn| APART * turn).collect();
    assert_eq!(at, even);
}

#[tokio::test]
async fn leave_releases_delayed_requests_without_a_burst() {
    let world = World::new();
    for chat in 0..8 {
        world.pace.state.lock().slots.grant_turn(&id(chat), world.now());
    }
    let left = Mutex::new(Vec::new());
    let leave = async |chat| {
        drop(world.pace.start_request(&id(chat)).await.unwrap());
        left.lock().push(world.now());
    };
    let held_up_until = world.now();
    let all = futures_util::future::join_all((0..8).map(leave));
    tokio::select! {
        biased;
        _ = all => {}
        never = world.time_passes() => never,
    }
    let after: Vec<Duration> = left.lock().iter().map(|at| *at - held_up_until).collect();
    assert_eq!(after, [[Duration::ZERO; 5].as_slice(), &[SECOND; 3]].concat());
}

#[tokio::test]
async fn turn_waits_while_a_slow_disk_delays_as_many_requests_as_may_leave_in_a_second() {
    let world = World::new();
    for chat in 0..5 {
        world.turn(chat, false).await.unwrap();
    }
    let sixth = id(5);
    let mut sixth = Box::pin(world.pace.turn(&sixth, false));
    for _ in 0..4 {
        tokio::select! {
            biased;
            _ = &mut sixth => panic!("five are on their way"),
            () = world.clock.sleeper(APART) => world.clock.advance(APART),
        }
    }
    drop(world.pace.start_request(&id(0)).await.unwrap());
    tokio::select! {
        biased;
        turn = &mut sixth => turn.unwrap(),
        never = world.time_passes() => never,
    }
}

#[tokio::test]
async fn leave_is_refused_once_a_hold_has_begun() {
    let world = World::new();
    assert_eq!(world.turn(1, false).await, Ok(()));
    world.pace.hold_account(SECOND);
    assert_eq!(world.pace.start_request(&id(1)).await.map(drop), Err(SECOND));
}

#[tokio::test]
async fn request_counts_until_a_second_after_its_answer() {
    let world = World::new();
    let mut under_way = Vec::new();
    for chat in 0..5 {
        under_way.push(world.pace.start_request(&id(chat)).await.unwrap());
    }
    let sixth = id(5);
    let mut sixth = Box::pin(world.pace.start_request(&sixth));
    let wait = async || {
        world.clock.sleeper(Duration::from_millis(1)).await;
        world.clock.advance(SECOND);
    };
    for _ in 0..3 {
        tokio::select! {
            biased;
            _ = &mut sixth => panic!("five are not answered"),
            () = wait() => {}
        }
    }
    let answered_at = world.now();
    drop(under_way);
    tokio::select! {
        biased;
        left = &mut sixth => drop(left.unwrap()),
        never = world.time_passes() => never,
    }
    assert_eq!(world.now() - answered_at, SECOND);
}

#[tokio::test]
async fn request_that_hangs_stops_the_account_for_ten_seconds_at_most() {
    let world = World::new();
    let mut under_way = Vec::new();
    for chat in 0..5 {
        under_way.push(world.pace.start_request(&id(chat)).await.unwrap());
    }
    assert_eq!(world.send(6, false).await, Ok(()));
    assert_eq!(world.now(), 10 * SECOND);
}

#[tokio::test]
async fn turn_serves_chats_without_a_message_first_and_then_the_longest_ago() {
    let world = World::new();
    for chat in [1, 2] {
        world.send(chat, false).await.unwrap();
    }
    world.clock.advance(SECOND);
    world.pace.hold_account(SECOND);
    let order = Mutex::new(Vec::new());
    let turn = async |chat| {
        world.pace.turn(&id(chat), false).await.unwrap();
        order.lock().push(chat);
    };
    // The chats arrive in this order.
    let all = async { tokio::join!(turn(2), turn(1), turn(3), turn(4)) };
    tokio::select! {
        biased;
        _ = all => {}
        never = world.time_passes() => never,
    }
    assert_eq!(*order.lock(), [3, 4, 1, 2]);
}

#[tokio::test]
async fn turn_that_is_dropped_goes_to_the_next_in_line() {
    let world = World::new();
    world.pace.hold_account(SECOND);
    let (first, second) = (id(1), id(2));
    let (mut first, mut second) =
        (Box::pin(world.pace.turn(&first, false)), Box::pin(world.pace.turn(&second, false)));
    tokio::select! {
        biased;
        _ = &mut first => panic!("the account is held"),
        _ = &mut second => panic!("the account is held"),
        () = world.clock.sleeper(SECOND) => {}
    }
    drop(first);
    tokio::select! {
        biased;
        turn = &mut second => turn.unwrap(),
        never = world.time_passes() => never,
    }
    assert_eq!(world.now(), SECOND);
}

#[tokio::test]
async fn spare_turn_is_refused_while_a_chat_is_in_line() {
    let world = World::new();
    world.pace.hold_account(SECOND);
    let first = id(1);
    let mut first = Box::pin(world.pace.turn(&first, false));
    tokio::select! {
        biased;
        _ = &mut first => panic!("the account is held"),
        () = world.clock.sleeper(SECOND) => {}
    }
    world.clock.advance(SECOND);
    assert_eq!(world.pace.spare_turn(&id(2), false), Err(APART));
    assert!(!world.pace.spare_request(&id(2)));
    first.await.unwrap();
    world.clock.advance(APART);
    assert_eq!(world.pace.spare_turn(&id(2), false), Ok(()));
    assert_eq!(world.pace.spare_turn(&id(2), false), Err(SECOND), "it counts for its chat");
    assert!(world.pace.spare_turn(&id(3), false).is_err(), "and for the account");
}

#[tokio::test]
async fn spare_turns_leave_half_of_a_groups_rate_to_messages() {
    let world = World::new();
    for _ in 0..2 {
        assert_eq!(world.pace.spare_turn(&id(1), true), Ok(()));
        world.clock.advance(SECOND);
    }
    assert_eq!(world.pace.spare_turn(&id(1), true), Err(58 * SECOND));
    assert_eq!(world.send(1, true).await, Ok(()));
}

#[test]
fn spare_requests_leave_half_of_the_account_to_messages() {
    let world = World::new();
    let taken = (0..10).filter(|_| world.pace.spare_request(&id(1))).count();
    assert_eq!(taken, 3);
    world.clock.advance(SECOND);
    assert!(world.pace.spare_request(&id(1)));
    world.pace.hold_chat(&id(1), MINUTE);
    assert!(!world.pace.spare_request(&id(1)) && world.pace.spare_request(&id(2)));
}

#[test]
fn f6_hold_holds_its_chat_alone_until_the_longest_hold_is_over() {
    let world = World::new();
    world.pace.hold_chat(&id(1), 17 * SECOND);
    world.pace.hold_chat(&id(1), SECOND);
    assert_eq!(world.pace.spare_turn(&id(1), false), Err(17 * SECOND));
    assert_eq!(world.pace.spare_turn(&id(2), false), Ok(()));
    world.clock.advance(17 * SECOND);
    assert_eq!(world.pace.spare_turn(&id(1), false), Ok(()));
}

#[test]
fn f6_hold_account_holds_every_chat_until_the_longest_hold_is_over() {
    let world = World::new();
    world.pace.hold_account(3 * SECOND);
    world.pace.hold_account(SECOND);
    for chat in [1, 2] {
        assert_eq!(world.pace.spare_turn(&id(chat), false), Err(3 * SECOND));
        assert_eq!(world.pace.held(&id(chat)), Err(3 * SECOND));
    }
    world.clock.advance(3 * SECOND);
    assert_eq!((world.pace.held(&id(2)), world.pace.spare_turn(&id(2), false)), (Ok(()), Ok(())));
}

/// A refusal: its second, the chat, and the wait in seconds.
type RefusalCase = (u64, usize, u64);

#[test]
fn f6_refused_holds_the_account_once_several_chats_are_refused_until_the_same_time() {
    let table: [(&str, &[RefusalCase], bool); 6] = [
        ("one chat", &[(0, 1, 3), (3, 1, 3), (6, 1, 3)], false),
        ("two chats at once", &[(0, 1, 3), (0, 2, 3)], true),
        ("the second later, until the same time", &[(0, 1, 30), (4, 2, 26)], true),
        ("the second much later", &[(0, 1, 30), (6, 2, 24)], false),
        ("two groups, each with a limit of its own", &[(0, 1, 40), (1, 2, 12)], false),
        ("two of three", &[(0, 1, 40), (1, 2, 3), (2, 3, 2)], true),
    ];
    for (name, refusals, is_account) in table {
        let world = World::new();
        let mut is_held = false;
        for (at, chat, wait) in refusals {
            world.clock.advance(SECOND * u32::try_from(*at).unwrap() - world.now());
            is_held |= world.pace.refused(&id(*chat), Duration::from_secs(*wait));
            assert_eq!(world.pace.held(&id(*chat)), Err(Duration::from_secs(*wait)), "{name}");
        }
        assert_eq!(
            (is_held, world.pace.held(&id(99)).is_err()),
            (is_account, is_account),
            "{name}"
        );
    }
}

#[test]
fn refused_reports_once_that_the_account_is_held() {
    let world = World::new();
    let refused = |chat| world.pace.refused(&id(chat), 3 * SECOND);
    assert_eq!([1, 2, 3].map(refused), [false, true, false]);
}

#[tokio::test]
async fn f27_pace_forgets_idle_chats_and_keeps_waiting_ones() {
    let world = World::new();
    for chat in 10..1000 {
        assert_eq!(world.send(chat, false).await, Ok(()));
        world.clock.advance(SECOND);
    }
    world.pace.hold_chat(&id(1), 3 * MINUTE);
    assert!(world.pace.state.lock().chats.len() <= 122);
    world.clock.advance(2 * MINUTE);
    assert_eq!(world.send(2, false).await, Ok(()));
    let state = world.pace.state.lock();
    let kept: Vec<ChatId> = state.chats.keys().cloned().collect();
    assert_eq!(kept, [id(1), id(2)]);
    assert_eq!(state.line.len(), 0);
}
