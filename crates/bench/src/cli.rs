//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use serde::Serialize;

use crate::fake::FakeOptions;
use crate::peer::Peer;

/// Maximum number of sessions, below the daemon's limit of 512 connections.
const MOST: i64 = 500;
/// The `FILE` of `--json` that stands for the standard output.
pub(crate) const STDOUT: &str = "-";

/// Measure whole turns of the real program from outside.
///
/// Starts the daemon in a fresh home directory for each load, with a model fake in a process of its
/// own. Sends messages over the daemon's socket, waits for each delivery, and prints the speed and
/// the cost of the answers. Each figure is the median of all runs. Everything stays on 127.0.0.1;
/// all files are then removed.
#[derive(Debug, Clone, Parser)]
#[command(name = "avocet-bench", version, args_conflicts_with_subcommands = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    #[command(flatten)]
    pub(crate) options: BenchOptions,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum BenchCommand {
    /// Print the table of an earlier measurement.
    Table {
        /// File that `--json` wrote.
        json: PathBuf,
        /// Earlier file, whose medians are shown beside.
        #[arg(long, value_name = "JSON")]
        before: Option<PathBuf>,
    },
    /// Write table and plots of a measurement into the book.
    Page {
        /// File that `--json` wrote.
        json: PathBuf,
        /// Page with the marks of the table; the plots are written beside it.
        page: PathBuf,
    },
    /// Serve as the model of a daemon.
    #[command(hide = true)]
    Model(FakeOptions),
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BenchOptions {
    /// Program to measure. Default: `avocet` beside this one.
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// Number of runs; each figure is their median.
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) runs: u16,
    /// Parts to measure. Default: all, except the cold build.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,...")]
    pub(crate) only: Vec<MeasuredPart>,
    /// Another agent to measure beside the program: a command that reads one message from each line
    /// of its standard input and prints each answer. It runs in an empty HOME, and finds its model
    /// (OpenAI's chat completions) at $MODEL_URL. Repeat the option for more agents.
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    pub(crate) peers: Vec<Peer>,
    /// Use small loads, to try the bench itself. The figures are not comparable.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure a cold build of the release, too. It takes minutes.
    #[arg(long)]
    pub(crate) cold_build: bool,
    /// Numbers of sessions that chat at the same time, for the part `concurrency`.
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_value = "1,2,4,8,16,32,64,128",
        value_parser = clap::value_parser!(u16).range(1..=MOST))]
    pub(crate) sessions: Vec<u16>,
    /// Maximum turns of one load.
    #[arg(long, value_name = "N", default_value_t = 3000)]
    pub(crate) turns: usize,
    /// Maximum seconds of one load.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Turns after which a session starts a new chat. Each turn reads the earlier turns of its
    /// chat.
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) turns_per_chat: u16,
    /// Answers of 1 MB in the log of the part `long-answers`. 5,000 need 11 GB of the disk.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) long_answers: usize,
    /// Seconds of idling in one run.
    #[arg(long, value_name = "N", default_value_t = 6,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) idle: u64,
    /// Directory for the homes of the daemon, on the disk to measure. Default: beside this program.
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Write JSON into a file, or to the standard output: `-`.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = STDOUT)]
    pub(crate) json: Option<PathBuf>,
}

/// A part of the measurements, which gives some of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeasuredPart {
    /// 32 sessions at once, with a model that takes 500 ms.
    AtOnce,
    /// Text turns of 1 and 32 sessions: speed, CPU and context switches.
    Text,
    /// Latency by number of sessions.
    Concurrency,
    /// Turns that read a file.
    Tool,
    /// CPU by length of the conversation.
    Length,
    /// CPU of the first turn after a switch to a chat with 10,000 messages.
    Switch,
    /// CPU of ten chats of 169 turns that are used in turn, against one after the other.
    Busy,
    /// CPU with 200,000 answers in the ledger of the day.
    Ledger,
    /// CPU of a turn that searches 10,000 memories, against none.
    Memories,
    /// CPU in a log with answers of 1 MB in other chats, against an empty log.
    LongAnswers,
    /// Transactions and WAL bytes of a text turn.
    Log,
    /// Memory, wake-ups and CPU of an idle daemon.
    Idle,
    /// Memory by number of sessions.
    Memory,
    /// Time until the daemon answers.
    Ready,
    /// Time of `--version`, and size of the program.
    Program,
    /// Subscribers of the events: speed, latency and memory.
    Events,
    /// Messages that programs put onto the bus, over the socket and over HTTP.
    Publish,
    /// The request for "hi".
    Request,
    /// Time, CPU and memory of `cargo build --release`.
    ColdBuild,
}

/// The value of `durability` in the daemon's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DurabilitySetting {
    /// The default: writes survive a power failure.
    Synced,
    /// Writes survive a crash of the program.
    Process,
}

impl DurabilitySetting {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Synced => "synced",
            Self::Process => "process",
        }
    }
}

impl BenchOptions {
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Returns the parts to measure, in order.
    pub(crate) fn parts(&self) -> Vec<MeasuredPart> {
        let is_wanted = |part: &MeasuredPart| match part {
            MeasuredPart::ColdBuild => self.cold_build || self.only.contains(part),
            _ => self.only.is_empty() || self.only.contains(part),
        };
        MeasuredPart::value_variants().iter().copied().filter(is_wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        CommandLine::command().debug_assert();
        let line = CommandLine::parse_from(["avocet-bench", "--sessions", "1,8", "--json"]);
        assert_eq!(line.options.sessions, [1, 8]);
        assert_eq!(line.options.json, Some(PathBuf::from(STDOUT)));
    }

    #[test]
    fn parts_are_all_but_the_cold_build_unless_chosen() {
        let parts = |arguments: &[&str]| {
            let line = ["avocet-bench"].iter().chain(arguments);
            CommandLine::parse_from(line).options.parts()
        };
        let (all, known) = (parts(&[]), MeasuredPart::value_variants().len());
        assert_eq!((all.len(), all.contains(&MeasuredPart::ColdBuild)), (known - 1, false));
        assert_eq!(parts(&["--cold-build"]).len(), known);
        let only = [MeasuredPart::Text, MeasuredPart::Request];
        assert_eq!(parts(&["--only", "request,text"]), only);
    }

    #[test]
    fn loads_that_cannot_be_measured_are_refused() {
        for arguments in
            [["--sessions", "0"], ["--sessions", "501"], ["--turns-per-chat", "0"], ["--runs", "0"]]
        {
            let parsed = CommandLine::try_parse_from(["avocet-bench"].iter().chain(&arguments));
            assert!(parsed.is_err(), "{arguments:?}");
        }
    }
}
