use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::channel::Channel;
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_supervise::Group;
use avocet_testkit::{FakeBus, FakeChannel, FakeDestinations, START};

use super::*;
use crate::registry;

/// A clock that can be fast: each timeout passes at once, before a task can end. Otherwise none passes.
#[derive(Debug)]
struct FastClock {
    is_fast: AtomicBool,
}

#[async_trait]
impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        START
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _duration: Duration) {
        if !self.is_fast.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

/// A configured account whose channel is the fake.
fn configured(channel: &Arc<dyn Channel>) -> ConfiguredChannel {
    ConfiguredChannel { channel: channel.clone(), ..registry::web_channel(None).unwrap() }
}

#[tokio::test]
async fn account_that_its_platform_refuses_is_due_at_a_reload_without_changes() {
    let clock = Arc::new(FastClock { is_fast: AtomicBool::new(false) });
    let group = Group::new("channels");
    let deliveries = Arc::<FakeDestinations>::default();
    let bus = Arc::<FakeBus>::default();
    let intake = Intake::new(bus, deliveries, &(clock as Arc<dyn Clock>), &group);
    let (channel, unchanged) = (Arc::<FakeChannel>::default(), BTreeSet::new());
    let channels = Arc::new(ChannelRegistry::new(vec![channel.clone() as Arc<dyn Channel>]));
    let accounts = LiveAccounts::new(Arc::new(intake), &channels);
    for is_refused in [false, true] {
        channel.set_refused(is_refused);
        assert_eq!(accounts.due(&unchanged).len(), usize::from(is_refused));
    }
}

#[tokio::test]
async fn account_that_does_not_stop_is_due_at_each_reload_until_it_starts_again() {
    let clock = Arc::new(FastClock { is_fast: AtomicBool::new(true) });
    let deliveries = Arc::<FakeDestinations>::default();
    let group = Group::new("channels");
    let bus = Arc::<FakeBus>::default();
    let intake = Intake::new(bus, deliveries.clone(), &(clock.clone() as Arc<dyn Clock>), &group);
    let [old, new] = [(); 2].map(|()| Arc::<FakeChannel>::default() as Arc<dyn Channel>);
    let channels = Arc::new(ChannelRegistry::new(vec![old.clone()]));
    intake.start(old);
    let accounts = LiveAccounts::new(Arc::new(intake), &channels);
    let (changed, unchanged) = (BTreeSet::from([configured(&new).id()]), BTreeSet::new());
    for changes in [&changed, &unchanged, &unchanged] {
        let due = accounts.due(changes);
        assert_eq!(due, changed);
        let fault = accounts.stop(&due).await.unwrap_err().error.to_string();
        assert!(fault.starts_with("the account terminal:local does not stop"), "{fault}");
    }

    clock.is_fast.store(false, Ordering::Relaxed);
    let due = accounts.due(&unchanged);
    accounts.stop(&due).await.unwrap();
    accounts.start(&due, vec![configured(&new)]);
    assert!(channels.all_channels().iter().all(|channel| Arc::ptr_eq(channel, &new)));
    assert_eq!(deliveries.woken_accounts(), ["terminal:local"]);
    assert_eq!(accounts.due(&unchanged), unchanged);
    clock.is_fast.store(true, Ordering::Relaxed);
    assert!(accounts.stop(&changed).await.is_err(), "the account runs again");
}
