//! Refusals of the account itself: the platform does not know the token (401), or finds nothing at
//! the URL made from it (404).
//!
//! Both may be temporary. The platform has sent such answers for some seconds, a proxy does so
//! while the server is replaced, and an operator may be about to change the token. So requests are
//! retried, but less often each time, because a revoked token stays revoked.

use std::time::Duration;

use avocet_supervise::Backoff;
use parking_lot::Mutex;

use crate::Telegram;
use crate::fault::BotApiError;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// The state of the token at the platform.
#[derive(Debug)]
pub(crate) struct TokenState(Mutex<TokenRefusals>);

#[derive(Debug)]
struct TokenRefusals {
    waits: Backoff,
    /// Requests are held until this time, measured by the clock's `elapsed`.
    held_until: Duration,
    /// Refusals in a row.
    refusals: u32,
}

impl TokenState {
    pub(crate) fn new() -> Self {
        let waits = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self(Mutex::new(TokenRefusals { waits, held_until: Duration::ZERO, refusals: 0 }))
    }

    /// Returns `true` from a refusal of the account until it is accepted again.
    pub(crate) fn is_refused(&self) -> bool {
        self.0.lock().refusals > 0
    }
}

/// Returns `true` if the platform refuses the account, whatever the request.
pub(crate) fn is_refused(fault: &BotApiError) -> bool {
    fault.has_code(401) || fault.has_code(404)
}

impl Telegram {
    /// Records a refusal of the account and returns the time to wait. Requests in flight at the
    /// same time count once. Only the first refusal is logged; `status` shows their number.
    pub(crate) fn account_refused(&self, fault: &BotApiError) -> Duration {
        let now = self.clock.elapsed();
        let mut token = self.token.0.lock();
        if token.held_until > now {
            return token.held_until - now;
        }
        let wait = token.waits.next_wait();
        token.held_until = now.saturating_add(wait);
        token.refusals += 1;
        self.pace.hold_account(wait);
        let error = self.describe_refusal(fault);
        if token.refusals == 1 {
            tracing::error!(
                error,
                "the account neither sends nor receives; retrying, at last every few minutes"
            );
        }
        let count = token.refusals;
        self.health.record_failure(&format!("{error} (refused {})", times(count)));
        wait
    }

    fn describe_refusal(&self, fault: &BotApiError) -> String {
        let table = format!("[channels.{}] ({})", self.name, self.account);
        if fault.has_code(401) {
            format!(
                "Telegram does not know the token of {table}: {fault}; if this stays, get the right one from \
                 @BotFather"
            )
        } else {
            format!("{fault} for {table}: check api_url, and whether the token is complete")
        }
    }

    /// Records that the platform accepts the account.
    pub(crate) fn account_accepted(&self) {
        let mut token = self.token.0.lock();
        if token.refusals > 0 {
            let (account, refused) = (&self.account, times(token.refusals));
            tracing::info!(%account, "Telegram accepts the token again; it was refused {refused}");
            (token.refusals, token.held_until) = (0, Duration::ZERO);
            token.waits.reset_delay();
            self.health.record_success();
        }
    }
}

fn times(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times in a row"),
    }
}
