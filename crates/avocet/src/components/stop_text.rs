//! The sentence about a stop of everything, for the operator.

use avocet_protocol::daemon::Check;
use avocet_protocol::store::StopInForce;
use jiff::tz::TimeZone;

use crate::output::format_moment;

/// The way to end the stop.
pub(crate) const HOW_TO_RESUME: &str = "avocet resume --all, or /resume all in a chat of an owner";

/// The line of `avocet doctor`.
pub(crate) fn check_stop(stop: &StopInForce) -> Check {
    Check::fair("stop", describe_stop(stop), HOW_TO_RESUME)
}

/// Says since when everything is stopped, by whom and from where.
pub(crate) fn describe_stop(stop: &StopInForce) -> String {
    let StopInForce { at, by, chat } = stop;
    let since = format_moment(*at, &TimeZone::UTC);
    match chat {
        Some(chat) => format!("everything is stopped since {since} UTC, by {by} in {chat}"),
        None => format!("everything is stopped since {since} UTC, by `avocet stop --all`"),
    }
}
