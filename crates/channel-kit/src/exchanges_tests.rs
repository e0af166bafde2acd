use avocet_testkit::ManualClock;

use super::*;

struct World {
    clock: Arc<ManualClock>,
    exchanges: Exchanges,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        Self { exchanges: Exchanges::new(clock.clone()), clock }
    }

    #[track_caller]
    fn shows(&self, fault: &str) {
        assert_eq!(self.exchanges.get(), Health::Down(fault.to_owned()));
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

#[test]
fn f24_exchanges_fails_shows_the_time_since_the_last_success_until_the_next() {
    let world = World::new();
    world.exchanges.record_success();
    world.pass(12);
    assert_eq!(world.exchanges.get(), Health::Up);
    world.exchanges.record_failure("Bad Gateway");
    world.shows("no successful exchange for 12 s: Bad Gateway");
    world.exchanges.record_failure("Not Found");
    world.pass(170);
    world.shows("no successful exchange for 3 min: Not Found");
    world.pass(19 * 3600);
    world.shows("no successful exchange for 19 h: Not Found");
    world.exchanges.record_success();
    assert_eq!(world.exchanges.get(), Health::Up);
}

#[test]
fn f24_exchanges_silence_is_a_fault_after_a_minute() {
    let world = World::new();
    world.exchanges.record_success();
    world.pass(60);
    assert_eq!(world.exchanges.get(), Health::Up);
    world.pass(1);
    world.shows("no successful exchange for 1 min");
}

#[test]
fn f24_exchanges_of_an_account_that_never_worked_are_down_from_the_start() {
    let world = World::new();
    world.shows("not connected yet");
    world.pass(61);
    world.shows("no successful exchange since the start 1 min ago");
    world.exchanges.record_failure("no connection");
    world.shows("no successful exchange since the start 1 min ago: no connection");
}
