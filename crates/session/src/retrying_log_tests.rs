use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use avocet_protocol::model::{Spent, Usage};
use avocet_testkit::ManualClock;

use super::*;

/// A ledger on a disk that is full at every first attempt.
#[derive(Debug, Default)]
struct FullAtFirst {
    tries: AtomicU32,
}

impl FullAtFirst {
    fn try_it<T>(&self, done: T) -> Result<T> {
        match self.tries.fetch_add(1, Ordering::Relaxed) % 2 {
            0 => Err(StoreError::Full { path: "db".to_owned() }),
            _ => Ok(done),
        }
    }
}

#[async_trait::async_trait]
impl Ledger for FullAtFirst {
    async fn record_usage(&self, _: Option<TurnId>, _: &SessionId, _: &[UsageEntry]) -> Result<()> {
        self.try_it(())
    }

    async fn spent(&self, _: Option<TurnId>, _: &SessionId, _: Timestamp) -> Result<Spending> {
        self.try_it(Spending::default())
    }

    async fn has_usage(&self, _: TurnId, _: Purpose) -> Result<bool> {
        self.try_it(false)
    }
}

#[tokio::test]
async fn retrying_ledger_retries_on_a_full_disk_until_there_is_room() {
    let clock = Arc::new(ManualClock::default());
    let full = Arc::new(FullAtFirst::default());
    let running = Arc::new(RunningTurns::new(clock.clone()));
    let ledger = RetryingLedger::new(full.clone(), running);
    let session = SessionId::parse("terminal:local:a").unwrap();
    let spent = Spent { model: "m".to_owned(), usage: Usage::new(1, 1), cost: None };
    let entries = [UsageEntry::of_spent(Purpose::Answer, spent)];
    let record = async {
        ledger.record_usage(Some(TurnId(1)), &session, &entries).await?;
        ledger.spent(None, &session, Timestamp(0)).await
    };
    let (spending, ()) = tokio::join!(record, async {
        for _ in 0..2 {
            clock.sleeper(Duration::from_millis(1)).await;
            clock.advance(Duration::from_secs(1));
        }
    });
    assert_eq!(spending, Ok(Spending::default()));
    assert_eq!(full.tries.load(Ordering::Relaxed), 4);
}
