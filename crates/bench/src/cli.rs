//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use serde::Serialize;

/// Fewer than the daemon's limit of 512 connections.
const MOST: i64 = 500;

/// Measures whole turns of the real program, from outside.
///
/// Starts the daemon in a home of its own, with a model that is a fake and answers at once, talks
/// to it over its socket, and prints how fast it answers and what that costs. Everything is on
/// 127.0.0.1, ends by itself within three minutes, and leaves nothing behind.
#[derive(Debug, Clone, Parser)]
#[command(name = "avocet-bench", version)]
pub(crate) struct BenchOptions {
    /// The program. Default: `avocet` beside this one.
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// How many sessions talk at the same time; a measurement for each number.
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_value = "1,64",
        value_parser = clap::value_parser!(u16).range(1..=MOST))]
    pub(crate) sessions: Vec<u16>,
    /// Turns of one measurement.
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pub(crate) turns: usize,
    /// Seconds after which a measurement ends although it has not had its turns.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) seconds: u64,
    /// Turns after which a session goes on in a new chat: what lies behind a turn is read for it.
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) turns_per_chat: u16,
    /// When a promise counts as kept.
    #[arg(long, value_enum, default_value_t = Which::Both)]
    pub(crate) durability: Which,
    /// How often the program is started to see how long that takes.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) starts: usize,
    /// Sessions in the log that it is also started with; 0 leaves that out.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) log: usize,
    /// Sessions that are seen once each, to see what stays in memory; 0 leaves that out. 100000
    /// take about a minute.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) seen: usize,
    /// Seconds of idling.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) idle: u64,
    /// Where the homes are made, on the disk that is to be measured. Default: beside this program.
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which durabilities are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// The default: it survives a power failure.
    Synced,
    /// It survives a crash of the program.
    Process,
    /// One after the other.
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
