//! The table: its rows, their figures, and the goals.

use FigureGoal::{AtLeast, AtMost};

use crate::units::FigureUnit::{self, *};

/// A figure of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableRow {
    /// Name of the figure in the JSON.
    pub(crate) figure: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: FigureUnit,
    pub(crate) goal: Option<FigureGoal>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FigureGoal {
    AtMost(f64),
    AtLeast(f64),
}

impl FigureGoal {
    pub(crate) fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    pub(crate) fn show(self, unit: FigureUnit) -> String {
        match self {
            Self::AtMost(most) => format!("<= {}", unit.goal(most)),
            Self::AtLeast(least) => format!(">= {}", unit.goal(least)),
        }
    }
}

const fn row(
    figure: &'static str,
    title: &'static str,
    goal: FigureGoal,
    unit: FigureUnit,
) -> TableRow {
    TableRow { figure, title, unit, goal: Some(goal) }
}

const fn without_goal(figure: &'static str, title: &'static str, unit: FigureUnit) -> TableRow {
    TableRow { figure, title, unit, goal: None }
}

/// All rows, in the order of the table.
pub(crate) const ROWS: [TableRow; 50] = [
    row(AT_ONCE, "32 sessions at once, model takes 500 ms, all delivered", AtMost(0.52), Seconds),
    row("text.synced.1.speed", "Text turns, 1 session, synced", AtLeast(800.0), PerSecond),
    row("text.process.1.speed", "Text turns, 1 session, process", AtLeast(1200.0), PerSecond),
    row("text.synced.32.speed", "Text turns, 32 sessions, synced", AtLeast(3500.0), PerSecond),
    row("text.process.32.speed", "Text turns, 32 sessions, process", AtLeast(4500.0), PerSecond),
    row("text.synced.1.cpu_ms", "CPU of a text turn, 1 session", AtMost(0.8), Milliseconds),
    row("text.synced.32.cpu_ms", "CPU of a text turn, 32 sessions", AtMost(0.35), Milliseconds),
    row(TOOL_CPU, "CPU of a turn that reads a file", AtMost(1.2), Milliseconds),
    without_goal(TOOL_SPEED, "Turns that read a file, 1 session", PerSecond),
    without_goal(TOOL_CPU_MANY, "CPU of a turn that reads a file, 32 sessions", Milliseconds),
    without_goal(TOOL_SPEED_MANY, "Turns that read a file, 32 sessions", PerSecond),
    row(LENGTH_RATIO, "CPU of a turn behind 10,000 messages, against 10", AtMost(1.2), Times),
    row(
        SWITCH_CPU,
        "CPU of the first turn after a switch to a chat of 10,000",
        AtMost(6.0),
        Milliseconds,
    ),
    row(
        BUSY_RATIO,
        "CPU of a turn, 10 chats of 169 turns in turn, against one by one",
        AtMost(1.3),
        Times,
    ),
    row(
        LEDGER_RATIO,
        "CPU of a turn with 200,000 answers that day, against none",
        AtMost(1.1),
        Times,
    ),
    without_goal(MEMORIES_CPU, "CPU of a turn with 10,000 memories", Milliseconds),
    row(MEMORIES_RATIO, "The same against a turn without memories", AtMost(1.2), Times),
    without_goal(LONG_ANSWERS_CPU, "CPU of a turn in a log with answers of 1 MB", Milliseconds),
    row(LONG_ANSWERS_RATIO, "The same against a turn in an empty log", AtMost(1.2), Times),
    row(WRITES, "Write transactions of a text turn", AtMost(4.0), Number),
    row(READS, "Read transactions of a text turn", AtMost(3.0), Number),
    row(WAL, "WAL of a text turn", AtMost(28.0), Kilobytes),
    row("text.synced.1.switches", "Context switches of a text turn", AtMost(20.0), Number),
    row("memory.0.rss_mib", "Memory, idle (RSS)", AtMost(14.0), Mebibytes),
    row("memory.0.anonymous_mib", "Memory, idle, anonymous", AtMost(3.5), Mebibytes),
    row("memory.1000.rss_mib", "Memory after 1,000 sessions (RSS)", AtMost(21.0), Mebibytes),
    row(
        "memory.1000.anonymous_mib",
        "Memory after 1,000 sessions, anonymous",
        AtMost(8.0),
        Mebibytes,
    ),
    row(WAKE_UPS, "Wake-ups, idle", AtMost(0.05), PerSecond),
    row(IDLE_CPU, "CPU, idle", AtMost(0.05), Percent),
    row(READY_USED, "Ready, used home", AtMost(14.0), Milliseconds),
    row(READY_LONG, "Ready, 100,000 sessions in the log", AtMost(150.0), Milliseconds),
    row(VERSION, "`--version`", AtMost(1.5), Milliseconds),
    row(BINARY, "Size of the program", AtMost(31.0), Megabytes),
    without_goal(EVENTS_SPEED, "Events, 1 subscriber", PerSecond),
    without_goal(EVENTS_SPEED_MANY, "Events, 50 subscribers together", PerSecond),
    without_goal(EVENTS_LATENCY, "From `send` to the event at a subscriber", Milliseconds),
    without_goal(EVENTS_MEMORY, "Memory of a subscriber, anonymous", Kilobytes),
    without_goal(PUBLISH_SOCKET, "Messages over the socket, 1 client", PerSecond),
    without_goal(PUBLISH_HTTP, "Messages over HTTP, 1 client", PerSecond),
    without_goal(PUBLISH_SOCKET_MANY, "Messages over the socket, 32 clients together", PerSecond),
    without_goal(PUBLISH_HTTP_MANY, "Messages over HTTP, 32 clients together", PerSecond),
    row(REQUEST, "Request for \"hi\"", AtMost(4000.0), Bytes),
    without_goal(TOOLS, "Tools in that request", Number),
    row(COLD_BUILD, "Cold build of the release", AtMost(5.0), Minutes),
    row(COLD_BUILD_CPU, "Cold build of the release, CPU", AtMost(800.0), Seconds),
    row(COLD_BUILD_MEMORY, "Cold build of the release, memory", AtMost(1.8), Gigabytes),
    without_goal(RELEASE_SIZE, "Size of the release", Megabytes),
    without_goal(SYNC, "Sync of the disk (median of 100)", Microseconds),
    without_goal(SYNC_P99, "Sync of the disk (99th percentile)", Microseconds),
    without_goal(BENCH_CPU, "CPU of the bench for a text turn, 1 session", Milliseconds),
];

pub(crate) const AT_ONCE: &str = "at_once.seconds";
pub(crate) const TOOL_CPU: &str = "tool.cpu_ms";
pub(crate) const TOOL_SPEED: &str = "tool.speed";
pub(crate) const TOOL_CPU_MANY: &str = "tool.many.cpu_ms";
pub(crate) const TOOL_SPEED_MANY: &str = "tool.many.speed";
pub(crate) const LENGTH_RATIO: &str = "length.ratio";
pub(crate) const SWITCH_CPU: &str = "switch.cpu_ms";
pub(crate) const BUSY_RATIO: &str = "busy.ratio";
pub(crate) const LEDGER_RATIO: &str = "ledger.ratio";
pub(crate) const MEMORIES_CPU: &str = "memories.full.cpu_ms";
pub(crate) const MEMORIES_RATIO: &str = "memories.ratio";
pub(crate) const LONG_ANSWERS_CPU: &str = "long_answers.full.cpu_ms";
pub(crate) const LONG_ANSWERS_RATIO: &str = "long_answers.ratio";
pub(crate) const WRITES: &str = "log.writes";
pub(crate) const READS: &str = "log.reads";
pub(crate) const WAL: &str = "log.wal_kb";
pub(crate) const WAKE_UPS: &str = "idle.wake_ups";
pub(crate) const IDLE_CPU: &str = "idle.cpu_percent";
pub(crate) const READY_USED: &str = "ready.used_ms";
pub(crate) const READY_LONG: &str = "ready.long_ms";
pub(crate) const VERSION: &str = "program.version_ms";
pub(crate) const BINARY: &str = "program.megabytes";
pub(crate) const EVENTS_SPEED: &str = "events.1.speed";
pub(crate) const EVENTS_SPEED_MANY: &str = "events.50.speed";
pub(crate) const EVENTS_LATENCY: &str = "events.latency_ms";
pub(crate) const EVENTS_MEMORY: &str = "events.subscriber_kb";
pub(crate) const PUBLISH_SOCKET: &str = "publish.socket.1.speed";
pub(crate) const PUBLISH_HTTP: &str = "publish.http.1.speed";
pub(crate) const PUBLISH_SOCKET_MANY: &str = "publish.socket.32.speed";
pub(crate) const PUBLISH_HTTP_MANY: &str = "publish.http.32.speed";
pub(crate) const REQUEST: &str = "request.bytes";
pub(crate) const TOOLS: &str = "request.tools";
pub(crate) const COLD_BUILD: &str = "cold_build.minutes";
pub(crate) const COLD_BUILD_CPU: &str = "cold_build.cpu_seconds";
pub(crate) const COLD_BUILD_MEMORY: &str = "cold_build.gigabytes";
pub(crate) const RELEASE_SIZE: &str = "cold_build.program_megabytes";
pub(crate) const SYNC: &str = "disk.sync_us";
pub(crate) const SYNC_P99: &str = "disk.sync_p99_us";
pub(crate) const BENCH_CPU: &str = "text.synced.1.bench_cpu_ms";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_hold_at_their_limit() {
        assert!(AtMost(0.8).is_met(0.8) && !AtMost(0.8).is_met(0.81));
        assert!(AtLeast(600.0).is_met(600.0));
        assert!(!AtLeast(600.0).is_met(599.9));
        assert_eq!(AtLeast(2500.0).show(PerSecond), ">= 2,500/s");
    }

    #[test]
    fn rows_have_names_of_their_own() {
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.figure).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
    }
}
