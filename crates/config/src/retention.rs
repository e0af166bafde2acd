//! The time for which the log keeps content.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The time for which the log keeps content, and the space that content may take. Without any key,
/// all content stays. The audit table, memories and costs always stay.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionConfig {
    /// The age at which messages are removed, with their turns, replies and deliveries: `90d` or
    /// `12h`. At least one hour.
    #[serde(deserialize_with = "age")]
    #[schemars(with = "Option<String>")]
    pub messages: Option<Duration>,
    /// The most megabytes of messages and everything else that turns hold; the oldest are removed.
    #[serde(deserialize_with = "megabytes")]
    pub messages_megabytes: Option<u64>,
    /// The age at which long results of tools, and the reasoning of models, are removed. The calls
    /// stay.
    #[serde(deserialize_with = "age")]
    #[schemars(with = "Option<String>")]
    pub results: Option<Duration>,
    /// The most megabytes of long results of tools; the oldest are removed.
    #[serde(deserialize_with = "megabytes")]
    pub results_megabytes: Option<u64>,
    /// The age at which events are removed: `30d` by default. A program that follows the events
    /// (`avocet events --follow --name`) and is away for longer misses some. At least one hour.
    #[serde(deserialize_with = "event_age")]
    #[schemars(with = "Option<String>")]
    pub events: Duration,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            messages: None,
            messages_megabytes: None,
            results: None,
            results_megabytes: None,
            events: Duration::from_hours(30 * 24),
        }
    }
}

impl RetentionConfig {
    /// Returns `true` if content is removed at some time. Events hold no content.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let Self { messages, messages_megabytes, results, results_megabytes, events: _ } = self;
        let has_age = messages.is_some() || results.is_some();
        has_age || messages_megabytes.is_some() || results_megabytes.is_some()
    }
}

fn age<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    event_age(deserializer).map(Some)
}

fn event_age<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || D::Error::custom(format!("{text:?} is not an age such as \"12h\" or \"90d\""));
    let hours = match text.char_indices().last() {
        Some((_, 'h')) => 1,
        Some((_, 'd')) => 24,
        _ => return Err(wrong()),
    };
    let number = text.get(..text.len() - 1).and_then(|number| number.parse::<u32>().ok());
    let number = number.filter(|number| *number > 0).ok_or_else(wrong)?;
    Ok(Duration::from_hours(u64::from(number) * hours))
}

fn megabytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Err(D::Error::custom("0 would keep nothing; it is at least 1")),
        megabytes => Ok(Some(megabytes)),
    }
}

#[cfg(test)]
mod tests {
    use crate::ConfigDocument;

    use super::*;

    fn read(text: &str) -> Result<RetentionConfig, String> {
        let document =
            ConfigDocument::parse(text.to_owned(), None, &|_| None).map_err(|e| e.to_string());
        document?.table("retention").map_err(|error| error.to_string())
    }

    #[test]
    fn retention_reads_ages_and_sizes_and_is_off_without_keys() {
        let off = read("[retention]\n").unwrap();
        assert!(!off.is_on());
        assert_eq!(off.events, Duration::from_hours(30 * 24));
        let events = read("[retention]\nevents = \"12h\"\n").unwrap();
        assert_eq!((events.events, events.is_on()), (Duration::from_hours(12), false));
        let table = [
            ("messages = \"90d\"", Some(Duration::from_hours(90 * 24)), None),
            ("messages = \"12h\"", Some(Duration::from_hours(12)), None),
            ("messages_megabytes = 500", None, Some(500)),
        ];
        for (line, messages, megabytes) in table {
            let read = read(&format!("[retention]\n{line}\n")).unwrap();
            assert_eq!((read.messages, read.messages_megabytes), (messages, megabytes), "{line}");
            assert!(read.is_on(), "{line}");
        }
        assert!(read("[retention]\nresults = \"1d\"\n").unwrap().is_on());
        assert!(read("[retention]\nresults_megabytes = 1\n").unwrap().is_on());
    }

    #[test]
    fn retention_refuses_values_that_would_keep_nothing() {
        let table = [
            ("messages = \"0d\"", "is not an age such as"),
            ("messages = \"90\"", "is not an age such as"),
            ("results = \"30m\"", "is not an age such as"),
            ("events = \"0h\"", "is not an age such as"),
            ("results = \"ü\"", "is not an age such as"),
            ("messages_megabytes = 0", "it is at least 1"),
            ("results_megabytes = 0", "it is at least 1"),
        ];
        for (line, says) in table {
            let refused = read(&format!("[retention]\n{line}\n")).unwrap_err();
            assert!(refused.contains(says) && refused.contains("retention."), "{line}: {refused}");
        }
    }
}
