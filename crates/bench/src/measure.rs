//! All measurements in order. Each part has its own daemon and home directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cli::{BenchOptions, DurabilitySetting};
use crate::clock::now;
use crate::daemon::{Home, Setting};
use crate::disk;
use crate::latencies::Latencies;
use crate::loads::BEHIND;
use crate::model::{FakeModel, ModelQuestion};
use crate::process::{Process, cpu_of_all};
use crate::report::{BenchReport, LoadGroup, LoadRow, LogBytes, Machine, MemorySample, micros};

/// The state that all measurements share.
pub(crate) struct Bench<'a> {
    pub(crate) options: &'a BenchOptions,
    pub(crate) model: FakeModel,
    program: PathBuf,
    /// The parent directory of the home directories.
    below: PathBuf,
}

/// Results of the measurements under load.
#[derive(Default)]
struct UnderLoad {
    turns: Vec<LoadRow>,
    tools: Vec<LoadRow>,
    long: Vec<LoadRow>,
    admissions: Vec<LoadRow>,
    memory: Vec<MemorySample>,
    log_bytes: Vec<LogBytes>,
}

pub(crate) async fn all(options: &BenchOptions) -> Result<BenchReport> {
    let bench = Bench::new(options).await?;
    progress("the disk");
    let syncs = disk::sync_latencies(&bench.below)?;
    let others = Others::begin()?;
    let loaded = under_load(&bench).await?;
    let fake = bench.fake_alone().await?;
    let seen = bench.seen().await?;
    let (starts, filled) = bench.starts().await?;
    let mut idle = bench.idle(0).await?;
    if options.schedules > 0 {
        idle.extend(bench.idle(options.schedules).await?);
    }
    let UnderLoad { turns, tools, long, admissions, memory, log_bytes } = loaded;
    let per_chat = options.turns_per_chat;
    let loads = [
        (format!("A turn: asked, answered, delivered (up to {per_chat} turns in a chat)"), turns),
        ("A turn with one tool call that only reads".to_owned(), tools),
        (format!("A turn with {BEHIND} turns of its chat behind it"), long),
        ("An admission alone: asked, in the log, not answered".to_owned(), admissions),
        ("The model fake alone, without the daemon".to_owned(), fake),
    ];
    Ok(BenchReport {
        machine: bench.machine(&syncs, others.percent()?)?,
        loads: loads.into_iter().map(|(title, rows)| LoadGroup { title, rows }).collect(),
        starts,
        memory: memory.into_iter().chain(seen).chain(filled).collect(),
        idle,
        log_bytes,
        command: command(),
    })
}

async fn under_load(bench: &Bench<'_>) -> Result<UnderLoad> {
    let mut found = UnderLoad::default();
    for &durability in bench.options.durability.each() {
        let plain = bench.turns(durability, ModelQuestion::Plain).await?;
        found.turns.extend(plain.rows);
        found.memory.extend(plain.memory);
        let tools = bench.turns(durability, ModelQuestion::OneTool).await?;
        found.tools.extend(tools.rows);
        found.log_bytes.extend([plain.log_bytes, tools.log_bytes]);
        found.long.push(bench.long_chat(durability).await?);
        found.admissions.extend(bench.admissions(durability).await?);
    }
    Ok(found)
}

impl<'a> Bench<'a> {
    async fn new(options: &'a BenchOptions) -> Result<Self> {
        let beside = std::env::current_exe()?;
        let program = options.program.clone().unwrap_or_else(|| beside.with_file_name("avocet"));
        if !program.is_file() {
            bail!(
                "there is no program {}; build it: cargo build --release -p avocet, or name \
                 another one: --program",
                program.display()
            );
        }
        let below = options.data_dir.as_deref().or(beside.parent()).unwrap_or(Path::new("."));
        let below =
            below.canonicalize().with_context(|| format!("--data-dir {}", below.display()))?;
        let program = program.canonicalize()?;
        Ok(Self { options, model: FakeModel::start().await, program, below })
    }

    /// Makes a new home directory whose daemon uses the fake model.
    pub(crate) fn home(
        &self,
        durability: DurabilitySetting,
        max_running: Option<usize>,
    ) -> Result<Home> {
        let base_url = self.model.base_url();
        let setting = Setting { durability, base_url: &base_url, max_running };
        Home::new(&self.program, &self.below, setting)
    }

    fn machine(&self, syncs: &Latencies, others_percent: f64) -> Result<Machine> {
        let processors = fs::read_to_string("/proc/cpuinfo")?;
        let model = processors.lines().find_map(|line| line.strip_prefix("model name"));
        Ok(Machine {
            program_bytes: fs::metadata(&self.program)?.len(),
            processor: model.unwrap_or("processor").trim_matches(['\t', ' ', ':']).to_owned(),
            processors: available_parallelism()?.get(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            file_system: disk::file_system(&self.below)?,
            sync_p50_us: micros(syncs.percentile(50)),
            sync_p99_us: micros(syncs.percentile(99)),
            others_percent,
        })
    }
}

/// CPU time since the start of the measurements, of all processes and of ours.
struct Others {
    began: Instant,
    all: Duration,
    ours: Duration,
}

impl Others {
    fn begin() -> Result<Self> {
        let ours = Process::this().cpu_with_children()?;
        Ok(Self { began: now(), all: cpu_of_all()?, ours })
    }

    /// Returns the share of the processors that other processes used, in percent.
    fn percent(&self) -> Result<f64> {
        let Self { began, all, ours } = Self::begin()?;
        let others = (all - self.all).saturating_sub(ours - self.ours);
        let there_was = (began - self.began) * u32::try_from(available_parallelism()?.get())?;
        Ok(100.0 * others.as_secs_f64() / there_was.as_secs_f64())
    }
}

/// Prints the current measurement for the user.
pub(crate) fn progress(what: &str) {
    eprintln!("measuring {what} ...");
}

/// Returns the command line of this program.
fn command() -> String {
    let mut words = vec!["cargo run --release -p avocet-bench".to_owned()];
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.is_empty() {
        words.push("--".to_owned());
    }
    words.into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
