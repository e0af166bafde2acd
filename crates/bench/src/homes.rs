//! The state that all measurements share, and the fresh home directories of their daemons.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::cli::BenchOptions;
use crate::daemon::{DATA, Home, HomeSpec};
use crate::progress::progress;
use crate::seed::{self, Seed};

/// The state that all measurements share.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) options: &'a BenchOptions,
    pub(crate) program: PathBuf,
    pub(crate) sizes: LoadSizes,
    /// The parent directory of the home directories.
    pub(crate) below: PathBuf,
    /// Data directories with old conversations. Each is made once, and copied for each run.
    seeded: RefCell<BTreeMap<Seed, TempDir>>,
}

/// The sizes of the loads that the table names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadSizes {
    /// Sessions of the loads with many sessions.
    pub(crate) many: usize,
    /// Numbers of messages in front of a measured turn.
    pub(crate) messages: &'static [usize],
    /// Chats with that many messages.
    pub(crate) chats: usize,
    /// Chats that are used in turn.
    pub(crate) busy_chats: usize,
    /// Memories that a turn searches.
    pub(crate) memories: usize,
    /// Answers in the ledger of the day.
    pub(crate) answers: usize,
    /// Numbers of sessions that were used once.
    pub(crate) sessions: &'static [usize],
    /// Sessions in the log of a long start.
    pub(crate) log: usize,
    /// Measured starts of each kind in one run.
    pub(crate) starts: usize,
    /// Factor for pauses and numbers of turns, in percent.
    pub(crate) percent: usize,
}

impl LoadSizes {
    const FULL: Self = Self {
        many: 32,
        messages: &[10, 100, 1000, 10_000],
        chats: 20,
        busy_chats: 10,
        memories: 10_000,
        answers: 200_000,
        sessions: &[10, 100, 1000],
        log: 100_000,
        starts: 3,
        percent: 100,
    };
    const QUICK: Self = Self {
        many: 4,
        messages: &[10, 40],
        chats: 1,
        busy_chats: 2,
        memories: 60,
        answers: 200,
        sessions: &[1, 3],
        log: 100,
        starts: 1,
        percent: 2,
    };

    /// Scales a number of turns or milliseconds.
    pub(crate) fn scaled(&self, number: usize) -> usize {
        (number * self.percent / 100).max(1)
    }
}

impl<'a> Bench<'a> {
    pub(crate) fn new(options: &'a BenchOptions) -> Result<Self> {
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
        let sizes = if options.quick { LoadSizes::QUICK } else { LoadSizes::FULL };
        Ok(Self { options, program, sizes, below, seeded: RefCell::default() })
    }

    /// Makes a new home directory without a log.
    pub(crate) fn home(&self, spec: &HomeSpec) -> Result<Home> {
        Home::new(&self.program, &self.below, spec)
    }

    /// Makes a new home directory whose log has old conversations.
    pub(crate) async fn seeded_home(&self, seed: Seed, spec: &HomeSpec) -> Result<Home> {
        let kept = self.seeded.borrow_mut().remove(&seed);
        let kept = match kept {
            Some(kept) => kept,
            None => self.seeded_data(seed, spec).await?,
        };
        let home = self.home(spec)?;
        copy(kept.path(), &home.path().join(DATA))?;
        self.seeded.borrow_mut().insert(seed, kept);
        Ok(home)
    }

    async fn seeded_data(&self, seed: Seed, spec: &HomeSpec) -> Result<TempDir> {
        progress(&format!("(prepares a log: {seed})"));
        let home = self.home(spec)?;
        home.start().await?.stop().await?;
        seed::fill(&home.database(), seed)?;
        let kept = tempfile::Builder::new().prefix("bench-log-").tempdir_in(&self.below)?;
        copy(&home.path().join(DATA), kept.path())?;
        Ok(kept)
    }
}

/// Copies the files of a directory, and the directories in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if !to.exists() {
        fs::create_dir(to)?;
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
