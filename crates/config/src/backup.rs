//! Copies of the database that the daemon makes at intervals.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Copies of the database that the daemon makes at intervals, each checked after it was written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackupConfig {
    /// The directory for the copies. Without this key, no copies are made.
    pub directory: Option<PathBuf>,
    /// The time from one copy to the next, in minutes, hours or days: `30m`, `6h` or `1d`. At least
    /// one minute. Default: `1d`.
    #[serde(deserialize_with = "interval")]
    #[schemars(with = "String")]
    pub every: Duration,
    /// Number of copies to keep; older copies are deleted. At least 1. Default: 7.
    #[serde(deserialize_with = "at_least_one")]
    pub keep: usize,
}

impl Default for BackupConfig {
    fn default() -> Self {
        Self { directory: None, every: Duration::from_hours(24), keep: 7 }
    }
}

fn interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong =
        || D::Error::custom(format!("{text:?} is not a time such as \"30m\", \"6h\" or \"1d\""));
    let minutes = match text.char_indices().last() {
        Some((_, 'm')) => 1,
        Some((_, 'h')) => 60,
        Some((_, 'd')) => 24 * 60,
        _ => return Err(wrong()),
    };
    let number = text.get(..text.len() - 1).and_then(|number| number.parse::<u32>().ok());
    let number = number.filter(|number| *number > 0).ok_or_else(wrong)?;
    Ok(Duration::from_mins(u64::from(number) * minutes))
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(D::Error::custom("0 would keep no copy; it is at least 1")),
        keep => Ok(keep),
    }
}

#[cfg(test)]
mod tests {
    use crate::ConfigDocument;

    use super::*;

    fn read(text: &str) -> Result<BackupConfig, String> {
        let document =
            ConfigDocument::parse(text.to_owned(), None, &|_| None).map_err(|e| e.to_string());
        document?.table("backup").map_err(|error| error.to_string())
    }

    #[test]
    fn backup_every_reads_minutes_hours_and_days() {
        let table = [("1m", 1), ("90m", 90), ("6h", 360), ("1d", 1440), ("14d", 20_160)];
        for (text, minutes) in table {
            let backup = read(&format!("[backup]\nevery = \"{text}\"\n")).unwrap();
            assert_eq!(backup.every, Duration::from_mins(minutes), "{text}");
        }
    }

    #[test]
    fn backup_refuses_values_that_would_make_or_keep_no_copy() {
        let table = [
            ("every = \"0h\"", "\"0h\" is not a time such as"),
            ("every = \"6\"", "\"6\" is not a time such as"),
            ("every = \"\"", "\"\" is not a time such as"),
            ("every = \"6 h\"", "\"6 h\" is not a time such as"),
            ("every = \"-1h\"", "\"-1h\" is not a time such as"),
            ("every = \"9999999999h\"", "is not a time such as"),
            ("every = \"6ü\"", "is not a time such as"),
            ("keep = 0", "it is at least 1"),
        ];
        for (line, says) in table {
            let refused = read(&format!("[backup]\n{line}\n")).unwrap_err();
            assert!(refused.contains(says) && refused.contains("backup."), "{line}: {refused}");
        }
    }
}
