//! The results, as JSON for programs and as tables for people.

use std::fmt;
use std::time::Duration;

use avocet_protocol::{PlainTable, bar};
use serde::Serialize;

use crate::cli::DurabilitySetting;
use crate::latencies::Latencies;
use crate::load::Loaded;
use crate::process::MemoryUse;
use crate::units::{bytes, count, per_second, plural, span};

/// Length of the longest bar, in characters.
const LONGEST_BAR: usize = 16;

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    pub(crate) machine: Machine,
    pub(crate) loads: Vec<LoadGroup>,
    pub(crate) starts: Vec<Start>,
    pub(crate) memory: Vec<MemorySample>,
    pub(crate) idle: Vec<Idle>,
    pub(crate) log_bytes: Vec<LogBytes>,
    /// The command that repeats the measurements.
    pub(crate) command: String,
}

/// The measured program and its machine.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) program_bytes: u64,
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) kernel: String,
    pub(crate) file_system: String,
    /// Time of a sync after 4 KiB were appended.
    pub(crate) sync_p50_us: u64,
    pub(crate) sync_p99_us: u64,
    /// The share of the processors that other processes used meanwhile, in percent.
    pub(crate) others_percent: f64,
}

/// Measurements of the same kind.
#[derive(Debug, Serialize)]
pub(crate) struct LoadGroup {
    pub(crate) title: String,
    pub(crate) rows: Vec<LoadRow>,
}

#[derive(Debug, Serialize)]
pub(crate) struct LoadRow {
    /// `None` if the measured part has no log.
    pub(crate) durability: Option<DurabilitySetting>,
    pub(crate) sessions: usize,
    pub(crate) count: usize,
    pub(crate) per_second: f64,
    pub(crate) p50_us: u64,
    pub(crate) p95_us: u64,
    pub(crate) p99_us: u64,
    /// The average cost. `None` if the daemon was not involved.
    pub(crate) cost: Option<Cost>,
}

/// The cost of one turn or admission.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Cost {
    /// CPU time of the daemon.
    pub(crate) cpu_us: u64,
    /// CPU time of the load generator, including the model fake.
    pub(crate) generator_cpu_us: u64,
    /// Bytes that the daemon has written to the disk.
    pub(crate) written: u64,
}

/// The time from the start of the process until it answers.
#[derive(Debug, Serialize)]
pub(crate) struct Start {
    pub(crate) of: String,
    pub(crate) starts: usize,
    pub(crate) median_us: u64,
}

/// Memory of the daemon at some time.
#[derive(Debug, Serialize)]
pub(crate) struct MemorySample {
    pub(crate) when: String,
    pub(crate) memory: MemoryUse,
}

/// Activity of an idle daemon.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Idle {
    /// Number of schedules in the log.
    pub(crate) schedules: usize,
    pub(crate) seconds: u64,
    pub(crate) wake_ups: u64,
    pub(crate) cpu_us: u64,
    pub(crate) memory: MemoryUse,
}

/// The growth of the database.
#[derive(Debug, Serialize)]
pub(crate) struct LogBytes {
    pub(crate) of: String,
    pub(crate) bytes: u64,
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl LoadRow {
    pub(crate) fn new(
        durability: Option<DurabilitySetting>,
        sessions: usize,
        loaded: &Loaded,
        cost: Option<Cost>,
    ) -> Self {
        let Loaded { latencies, took } = loaded;
        let of = |percent| micros(latencies.percentile(percent));
        Self {
            durability,
            sessions,
            count: latencies.count(),
            per_second: rate(latencies, *took),
            p50_us: of(50),
            p95_us: of(95),
            p99_us: of(99),
            cost,
        }
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![
            self.durability.map_or("", DurabilitySetting::word).to_owned(),
            plural(self.sessions, "session"),
            per_second(self.per_second),
            span(self.p50_us),
            span(self.p95_us),
            span(self.p99_us),
        ];
        if let Some(Cost { cpu_us, generator_cpu_us, written }) = self.cost {
            cells.extend([span(cpu_us), span(generator_cpu_us), bytes(written)]);
        }
        cells.push(count(self.count));
        cells
    }
}

fn rate(latencies: &Latencies, took: Duration) -> f64 {
    latencies.count() as f64 / took.as_secs_f64().max(f64::MIN_POSITIVE)
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.machine)?;
        for group in &self.loads {
            write!(f, "\n{}", loads(group))?;
        }
        write!(f, "\n{}", starts(&self.starts))?;
        write!(f, "\n{}", memory(&self.memory))?;
        for idle in &self.idle {
            write!(f, "\n{idle}")?;
        }
        write!(f, "\n{}", log_bytes(&self.log_bytes))?;
        writeln!(
            f,
            "\nDaemon CPU, bench CPU (load and model fake) and bytes to disk are for one each."
        )?;
        write!(f, "The same again:\n  cargo build --release -p avocet\n  {}\n", self.command)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program_bytes, processor, processors, kernel, file_system, .. } = self;
        let (p50, p99) = (span(self.sync_p50_us), span(self.sync_p99_us));
        let disk_advice = if file_system == "tmpfs" { ", no disk: set --data-dir" } else { "" };
        let others = self.others_percent;
        let advice = if others > 10.0 { "; for steadier figures let it run alone" } else { "" };
        let rows = [
            ["program", &bytes(*program_bytes)],
            ["machine", &format!("{processors} x {processor}, Linux {kernel}")],
            ["disk", &format!("{file_system}{disk_advice}; a sync takes {p50} (p99 {p99})")],
            ["meanwhile", &format!("other processes took {others:.0}% of the processors{advice}")],
        ];
        write!(f, "{}", titled("Measured", &rows.into_iter().collect()))
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schedules, seconds, wake_ups, cpu_us, memory } = self;
        let woken = match wake_ups {
            0 => format!("none in {seconds} s"),
            _ => {
                let a_minute = *wake_ups as f64 * 60.0 / *seconds as f64;
                format!("{wake_ups} in {seconds} s, {a_minute:.1} a minute")
            }
        };
        let title = match schedules {
            0 => "Idle".to_owned(),
            _ => format!("Idle with {}", plural(*schedules, "schedule")),
        };
        let rows = [
            ["wake-ups of its threads", &woken],
            ["CPU", &span(*cpu_us)],
            ["RSS", &bytes(memory.rss)],
        ];
        write!(f, "{}", titled(&title, &rows.into_iter().collect()))
    }
}

/// A row that ends in a bar.
struct BarRow {
    cells: Vec<String>,
    /// The length of the bar, relative to the other rows.
    value: f64,
}

/// Formats rows with bars below their title. The largest value has a full bar.
fn bars(title: &str, head: &[&str], rows: Vec<BarRow>) -> String {
    let most = rows.iter().map(|row| row.value).fold(0.0, f64::max);
    let mut table = PlainTable::with_head(head).align_right(1..head.len());
    for BarRow { cells, value } in rows {
        let share = if most > 0.0 { value / most } else { 0.0 };
        let eighths = (share * (LONGEST_BAR * 8) as f64).round() as usize;
        table.row(cells.into_iter().chain([bar(eighths)]));
    }
    titled(title, &table)
}

/// Formats a table below its title.
fn titled(title: &str, table: &PlainTable) -> String {
    let lines = table.to_string().lines().map(|line| format!("  {line}\n")).collect::<String>();
    format!("{title}\n{lines}")
}

fn loads(group: &LoadGroup) -> String {
    let mut head = vec!["", "", "per second", "p50", "p95", "p99"];
    if group.rows.iter().any(|row| row.cost.is_some()) {
        head.extend(["daemon CPU", "bench CPU", "to disk"]);
    }
    head.push("of");
    let row = |row: &LoadRow| BarRow { cells: row.cells(), value: row.per_second };
    bars(&group.title, &head, group.rows.iter().map(row).collect())
}

fn starts(starts: &[Start]) -> String {
    let row = |Start { of, starts, median_us }: &Start| BarRow {
        cells: vec![of.clone(), span(*median_us), count(*starts)],
        value: *median_us as f64,
    };
    let title = "Start: from spawn until `status` is answered";
    bars(title, &["", "median", "of"], starts.iter().map(row).collect())
}

fn memory(memory: &[MemorySample]) -> String {
    let row = |MemorySample { when, memory }: &MemorySample| BarRow {
        cells: vec![when.clone(), bytes(memory.rss), bytes(memory.pss)],
        value: memory.rss as f64,
    };
    bars("Memory of the daemon", &["", "RSS", "PSS"], memory.iter().map(row).collect())
}

fn log_bytes(grown: &[LogBytes]) -> String {
    let row = |LogBytes { of, bytes: each }: &LogBytes| BarRow {
        cells: vec![of.clone(), bytes(*each)],
        value: *each as f64,
    };
    bars("Growth of the database", &["", "each"], grown.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_how_many_and_how_long() {
        let latencies = Latencies::new((1..=100).map(Duration::from_millis).collect());
        let loaded = Loaded { latencies, took: Duration::from_secs(2) };
        let row = LoadRow::new(Some(DurabilitySetting::Synced), 64, &loaded, None);
        assert_eq!((row.count, row.per_second, row.p99_us), (100, 50.0, 99_000));
        let cells = ["synced", "64 sessions", "50", "50.0 ms", "95.0 ms", "99.0 ms", "100"];
        assert_eq!(row.cells(), cells);
    }

    #[test]
    fn bars_are_in_proportion_to_the_largest_value() {
        let row = |name: &str, figure: &str, value| BarRow {
            cells: vec![name.to_owned(), figure.to_owned()],
            value,
        };
        let rows = vec![row("one", "1", 1.0), row("three", "100", 2.0), row("none", "0", 0.0)];
        let (half, whole) = ("█".repeat(LONGEST_BAR / 2), "█".repeat(LONGEST_BAR));
        assert_eq!(
            bars("Title", &["", "a"], rows),
            format!(
                "Title\n           a\n  one      1  {half}\n  three  100  {whole}\n  none     0\n"
            )
        );
        assert_eq!(bars("Title", &["", "a"], vec![row("x", "0", 0.0)]), "Title\n     a\n  x  0\n");
    }
}
