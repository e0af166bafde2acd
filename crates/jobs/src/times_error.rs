//! The reasons why a rule has no times.

/// The reason why a rule has no times.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimesError {
    /// The zone database lacks the zone.
    #[error("unknown time zone {name:?}; {}", zone_hint(nearest.as_deref()))]
    Zone {
        /// The unknown name.
        name: String,
        /// The most similar name of the database.
        nearest: Option<String>,
    },
    /// The cron expression is malformed.
    #[error(
        "{pattern:?} is no cron expression ({reason}); write five fields: minute hour day month \
         weekday, for example `0 8 * * mon-fri`"
    )]
    Cron {
        /// The expression.
        pattern: String,
        /// The fault.
        reason: String,
    },
    /// The interval is too short.
    #[error("an interval of {0} s is too short; it must be at least 60 s")]
    Interval(u64),
}

fn zone_hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "write a name like Europe/Berlin, or an offset like UTC+2".to_owned(),
    }
}
