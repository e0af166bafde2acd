//! Many chats at once, against a platform that bans a bot that is too fast. A manual clock makes
//! times exact, and the same on every machine.

use std::cell::{Cell, RefCell};

use super::*;

/// Telegram's limits (core.telegram.org, "Bots FAQ").
const TELEGRAM: Rates = Rates {
    chat: Rate { messages: 1, per: SECOND },
    group: Rate { messages: 20, per: MINUTE },
    account: Rate { messages: 30, per: SECOND },
};
const BAN: Duration = Duration::from_secs(3);
const CHATS: usize = 200;
const REPLIES: usize = 3;

/// A message that the platform took.
struct AcceptedMessage {
    at: Duration,
    chat: usize,
    /// The message's place in the order of the turns. Messages of adjacent turns may overtake one
    /// another on the network.
    turn: usize,
}

/// A platform that takes 30 messages in any second. After one too many it takes none during a ban.
#[derive(Default)]
struct BanningPlatform {
    taken: Vec<AcceptedMessage>,
    banned_until: Duration,
    refusals: usize,
}

impl BanningPlatform {
    fn take(&mut self, chat: usize, turn: usize, now: Duration) -> Result<(), Duration> {
        let last = |taken: &&AcceptedMessage| taken.at + SECOND > now;
        if now >= self.banned_until && self.taken.iter().rev().take_while(last).count() >= 30 {
            self.banned_until = now + BAN;
        }
        match self.banned_until.saturating_sub(now) {
            Duration::ZERO => {
                self.taken.push(AcceptedMessage { at: now, chat, turn });
                Ok(())
            }
            wait => {
                self.refusals += 1;
                Err(wait)
            }
        }
    }

    /// The most messages in any second.
    fn most_in_a_second(&self) -> usize {
        let from = |(place, first): (usize, &AcceptedMessage)| {
            self.taken[place..].iter().take_while(|taken| taken.at < first.at + SECOND).count()
        };
        self.taken.iter().enumerate().map(from).max().unwrap_or(0)
    }

    /// The most messages that a chat had when the last chat had its first, in the order of the
    /// turns.
    fn most_before_all_had_one(&self) -> usize {
        let by_turn: BTreeMap<_, _> =
            self.taken.iter().map(|taken| (taken.turn, taken.chat)).collect();
        let mut had = BTreeMap::new();
        for chat in by_turn.into_values() {
            *had.entry(chat).or_insert(0) += 1;
            if had.len() == CHATS {
                break;
            }
        }
        had.into_values().max().unwrap_or(0)
    }
}

struct PaceLoad {
    world: World,
    platform: RefCell<BanningPlatform>,
    /// The interval at which the log commits queued messages in groups.
    commit_every: Duration,
    /// The longest time of a request or an answer on its way.
    latency: Duration,
    requests: Cell<u32>,
    turns: Cell<usize>,
}

impl PaceLoad {
    fn new(commit_every: u64, latency: u64) -> Self {
        let clock = Arc::new(ManualClock::default());
        let world = World { pace: Pace::new(TELEGRAM, clock.clone()), clock };
        let [commit_every, latency] = [commit_every, latency].map(Duration::from_millis);
        Self {
            world,
            platform: RefCell::default(),
            commit_every,
            latency,
            requests: Cell::new(0),
            turns: Cell::new(0),
        }
    }

    /// Sends the replies of a chat one after the other, as the outbox does.
    async fn chat(&self, chat: usize) {
        let World { clock, pace } = &self.world;
        let name = id(chat);
        let mut left = REPLIES;
        while left > 0 {
            if let Err(wait) = pace.turn(&name, false).await {
                clock.sleep(wait).await;
                continue;
            }
            self.turns.set(self.turns.get() + 1);
            let turn = self.turns.get();
            self.commit().await;
            let Ok(under_way) = pace.start_request(&name).await else { continue };
            self.travel().await;
            let taken = self.platform.borrow_mut().take(chat, turn, clock.elapsed());
            self.travel().await;
            drop(under_way);
            match taken {
                Ok(()) => left -= 1,
                Err(wait) => drop(pace.refused(&name, wait)),
            }
        }
    }

    /// Delays a request or an answer by a pseudo-random time up to the longest.
    async fn travel(&self) {
        self.requests.set(self.requests.get() + 1);
        let part = self.requests.get().wrapping_mul(2_654_435_761) >> 22;
        self.world.clock.sleep(self.latency * part / 1024).await;
    }

    async fn commit(&self) {
        let now = self.world.now();
        let since = now.as_nanos() % self.commit_every.as_nanos();
        let since = Duration::from_nanos(u64::try_from(since).unwrap());
        self.world.clock.sleep(self.commit_every.saturating_sub(since)).await;
    }

    async fn run(&self) {
        let mut chats = futures_util::future::join_all((0..CHATS).map(|chat| self.chat(chat)));
        loop {
            tokio::select! {
                biased;
                _ = &mut chats => return,
                () = tokio::task::yield_now() => {
                    self.world.clock.advance_to_next();
                }
            }
        }
    }
}

#[tokio::test]
async fn f6_pace_sends_600_replies_at_once_in_minimal_time_without_refusals() {
    // Milliseconds between commits and of the network; `true` if they leave room for the ideal
    // time.
    let cases = [
        (1, 1, true),
        (20, 20, true),
        (70, 40, true),
        (300, 40, false),
        (20, 400, false),
        (900, 3000, false),
    ];
    for (commit_every, latency, is_fast) in cases {
        let load = PaceLoad::new(commit_every, latency);
        load.run().await;
        let (platform, took) = (load.platform.into_inner(), load.world.clock.elapsed());
        let ideal = SECOND * u32::try_from(CHATS * REPLIES / 30).unwrap();
        println!(
            "commits every {commit_every} ms, requests and answers of up to {latency} ms: {} messages in \
             {took:?} (ideal {ideal:?}), {} refusals, at most {} in a second",
            platform.taken.len(),
            platform.refusals,
            platform.most_in_a_second()
        );
        assert_eq!((platform.taken.len(), platform.refusals), (CHATS * REPLIES, 0));
        if is_fast {
            assert_eq!(platform.most_before_all_had_one(), 1);
            assert!(took <= ideal * 115 / 100, "{took:?}");
        }
    }
}

#[tokio::test]
async fn f6_pace_waits_for_the_end_of_a_ban_after_a_few_refusals() {
    let load = PaceLoad::new(20, 20);
    load.platform.borrow_mut().banned_until = BAN;
    load.run().await;
    let (platform, took) = (load.platform.into_inner(), load.world.clock.elapsed());
    println!("after a ban of {BAN:?}: {took:?}, {} refusals", platform.refusals);
    assert!((1..=5).contains(&platform.refusals), "{}", platform.refusals);
    assert_eq!((platform.taken.len(), platform.most_before_all_had_one()), (CHATS * REPLIES, 1));
    assert!(took <= BAN + Duration::from_secs(23), "{took:?}");
}
