//! Reports the health of an account by the time of its last successful exchange with the platform.
//! An open connection alone proves too little (F24).

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::Health;
use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::LastExchanges;
use parking_lot::Mutex;

/// An account without an answer from the platform for this long is down, even without a failed
/// request: all channels poll at least that often.
const SILENCE: Duration = Duration::from_mins(1);

/// The exchanges of an account with its platform. Made when its daemon starts.
#[derive(Debug)]
pub struct Exchanges {
    clock: Arc<dyn Clock>,
    began: Duration,
    last: Mutex<LastOutcomes>,
}

#[derive(Debug, Clone, Default)]
struct LastOutcomes {
    worked_at: Option<Duration>,
    /// The error since the last success.
    fault: Option<String>,
    /// The last success and failure in wall-clock time.
    exchanges: LastExchanges,
}

impl Exchanges {
    /// Starts without any exchange.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { began: clock.elapsed(), clock, last: Mutex::default() }
    }

    /// Records a successful exchange.
    pub fn record_success(&self) {
        let mut last = self.last.lock();
        last.worked_at = Some(self.clock.elapsed());
        last.fault = None;
        last.exchanges.succeed(self.clock.now());
    }

    /// Records a failed exchange; `why` must contain no secrets.
    pub fn record_failure(&self, why: &str) {
        let mut last = self.last.lock();
        last.fault = Some(why.to_owned());
        last.exchanges.fail(self.clock.now(), why);
    }

    /// The last success and the last failure.
    #[must_use]
    pub fn exchanges(&self) -> LastExchanges {
        self.last.lock().exchanges.clone()
    }

    /// Returns `true` before the first exchange, successful or not.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        let last = self.last.lock();
        last.worked_at.is_none() && last.fault.is_none()
    }

    /// The health of the account now: down from the first failure on, or after a minute of silence.
    #[must_use]
    pub fn get(&self) -> Health {
        let LastOutcomes { worked_at, fault, .. } = self.last.lock().clone();
        let silent = self.clock.elapsed().saturating_sub(worked_at.unwrap_or(self.began));
        if fault.is_none() && silent <= SILENCE {
            return match worked_at {
                Some(_) => Health::Up,
                None => Health::Down("not connected yet".to_owned()),
            };
        }
        let silent = format_rounded(silent);
        let since = match worked_at {
            Some(_) => format!("no successful exchange for {silent}"),
            None => format!("no successful exchange since the start {silent} ago"),
        };
        Health::Down(fault.map_or(since.clone(), |fault| format!("{since}: {fault}")))
    }
}

/// Formats a duration for people: `12 s`, `3 min`, `19 h`.
fn format_rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
#[path = "exchanges_tests.rs"]
mod tests;
