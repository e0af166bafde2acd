//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde::Serialize;

/// Maximum number of sessions, below the daemon's limit of 512 connections.
const MOST: i64 = 500;

/// Measure whole turns of the real program from outside.
///
/// Starts the daemon in its own home directory, with a fake model that answers at once. Sends
/// messages over the daemon's socket, and prints the speed and the cost of the answers. Everything
/// stays on 127.0.0.1 and ends within three minutes; all files are then removed.
#[derive(Debug, Clone, Parser)]
#[command(name = "avocet-bench", version)]
pub(crate) struct BenchOptions {
    /// Program to measure. Default: `avocet` beside this one.
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// Numbers of sessions that chat at the same time; each number is a measurement.
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_value = "1,64",
        value_parser = clap::value_parser!(u16).range(1..=MOST))]
    pub(crate) sessions: Vec<u16>,
    /// Turns of one measurement.
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pub(crate) turns: usize,
    /// Maximum seconds of a measurement, even if turns are missing.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) seconds: u64,
    /// Turns after which a session starts a new chat. Each turn reads the earlier turns of its
    /// chat.
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) turns_per_chat: u16,
    /// Durability of the daemon's writes.
    #[arg(long, value_enum, default_value_t = Which::Both)]
    pub(crate) durability: Which,
    /// Number of starts of the program, to measure the startup time.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) starts: usize,
    /// Sessions in the database for a second measurement of the startup time; 0 skips it.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) log: usize,
    /// Sessions that are used once each, to measure the memory that they keep; 0 skips it. 100000
    /// take about a minute.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) seen: usize,
    /// Seconds of idling.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) idle: u64,
    /// Schedules in the log for a second measurement of idling; 0 skips it. Their times are a year
    /// away.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) schedules: usize,
    /// Directory for the homes of the daemon, on the disk to measure. Default: beside this program.
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The durabilities to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// The default: writes survive a power failure.
    Synced,
    /// Writes survive a crash of the program.
    Process,
    /// Both, one after the other.
    Both,
}

/// The value of `durability` in the daemon's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DurabilitySetting {
    Synced,
    Process,
}

impl DurabilitySetting {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Synced => "synced",
            Self::Process => "process",
        }
    }
}

impl Which {
    pub(crate) fn each(self) -> &'static [DurabilitySetting] {
        match self {
            Self::Synced => &[DurabilitySetting::Synced],
            Self::Process => &[DurabilitySetting::Process],
            Self::Both => &[DurabilitySetting::Synced, DurabilitySetting::Process],
        }
    }
}

impl BenchOptions {
    /// Returns the number of sessions of each measurement.
    pub(crate) fn at_a_time(&self) -> impl Iterator<Item = usize> + use<'_> {
        self.sessions.iter().map(|&sessions| sessions.into())
    }

    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        BenchOptions::command().debug_assert();
        let options = BenchOptions::parse_from(["avocet-bench", "--sessions", "1,8", "--json"]);
        assert_eq!((options.sessions, options.json), (vec![1, 8], true));
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        for arguments in [["--sessions", "0"], ["--sessions", "501"], ["--turns-per-chat", "0"]] {
            let parsed = BenchOptions::try_parse_from(["avocet-bench"].iter().chain(&arguments));
            assert!(parsed.is_err(), "{arguments:?}");
        }
    }
}
