//! Other agents beside the program: the same model, the same questions, in one chat.
//!
//! A peer is a command that reads one message from each line of its standard input and prints each answer to its
//! standard output, as most agents do in a terminal; a script may stand in between. It starts in an empty home
//! directory, and finds the address of its model in its environment; see [`Peer`].

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdout, Command};

use crate::cli::DurabilitySetting;
use crate::clock::{now, soon};
use crate::daemon::{HomeSpec, settle};
use crate::fake::number_in;
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::latencies::Latencies;
use crate::load::{ChatClient, ChatNames, QUESTION};
use crate::model::{ModelManner, ModelProcess};
use crate::peer::{OWN_NAME, Peer};
use crate::process::Process;
use crate::units::{mebibytes, millis};

/// Turns before the measured ones.
const WARM_UP: usize = 3;
/// Measured turns. Few, so that no peer shortens its conversation meanwhile.
const TURNS: usize = 50;

impl Bench<'_> {
    /// Measures the peers that the command line names, and the program in the same way.
    pub(crate) async fn peers(&self, figures: &mut FigureLog) -> Result<()> {
        if self.options.peers.is_empty() {
            return Ok(());
        }
        self.own_turns(figures).await.context(OWN_NAME)?;
        for peer in &self.options.peers {
            self.turns_of(peer, figures).await.with_context(|| peer.name.clone())?;
        }
        Ok(())
    }

    async fn own_turns(&self, figures: &mut FigureLog) -> Result<()> {
        let kept = KeptRequest::below(&self.below)?;
        let spec = HomeSpec {
            model: ModelManner { keep: Some(kept.path()), ..ModelManner::default() },
            ..HomeSpec::new(DurabilitySetting::Synced)
        };
        let home = self.home(&spec)?;
        let began = now();
        let daemon = home.start_now().await?;
        let mut chat = ChatClient::open(&home.socket(), ChatNames::default().next()).await?;
        chat.turn(QUESTION).await?;
        let first = began.elapsed();
        let turns = async || chat.turn(QUESTION).await;
        let costs = self.costs(daemon.process(), first, turns).await?;
        costs.add_to(figures, OWN_NAME, kept.bytes()?);
        daemon.stop().await
    }

    async fn turns_of(&self, peer: &Peer, figures: &mut FigureLog) -> Result<()> {
        let kept = KeptRequest::below(&self.below)?;
        let model = ModelProcess::start(&ModelManner {
            keep: Some(kept.path()),
            is_numbered: true,
            ..ModelManner::default()
        })?;
        let began = now();
        let mut agent = RunningPeer::start(peer, kept.directory.path(), &model.base_url())?;
        agent.turn().await?;
        let first = began.elapsed();
        let process = Process(agent.child.id().context("it has ended")?);
        let costs = self.costs(process, first, async || agent.turn().await).await?;
        costs.add_to(figures, &peer.name, kept.bytes()?);
        Ok(())
    }

    async fn costs(
        &self,
        process: Process,
        first_answer: Duration,
        mut turn: impl AsyncFnMut() -> Result<Duration>,
    ) -> Result<PeerCosts> {
        settle(process).await?;
        let rss = process.memory()?.rss;
        for _ in 0..WARM_UP {
            turn().await?;
        }
        let (before, mut took) = (process.cpu_with_children()?, Vec::new());
        for _ in 0..self.sizes.scaled(TURNS) {
            took.push(turn().await?);
        }
        let cpu = process.cpu_with_children()?.saturating_sub(before);
        let latencies = Latencies::new(took);
        let cpu_ms = millis(cpu) / latencies.count().max(1) as f64;
        Ok(PeerCosts { first_answer, rss, latency: latencies.percentile(50), cpu_ms })
    }
}

/// What the process of an agent takes.
struct PeerCosts {
    /// From its start to its first answer.
    first_answer: Duration,
    /// Resident memory after the first answer, in bytes.
    rss: u64,
    /// The median of the measured turns.
    latency: Duration,
    /// CPU time of a turn, also of programs that it has run.
    cpu_ms: f64,
}

impl PeerCosts {
    fn add_to(&self, figures: &mut FigureLog, name: &str, request_bytes: u64) {
        let mut add = |figure: &str, value| figures.add(format!("peers.{name}.{figure}"), value);
        add("first_answer_ms", millis(self.first_answer));
        add("p50_ms", millis(self.latency));
        add("cpu_ms", self.cpu_ms);
        add("rss_mib", mebibytes(self.rss));
        add("request_bytes", request_bytes as f64);
    }
}

/// An empty directory, in which the model fake keeps the body of the first request.
struct KeptRequest {
    directory: tempfile::TempDir,
}

impl KeptRequest {
    fn below(parent: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("bench-peer-").tempdir_in(parent)?;
        Ok(Self { directory })
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("first-request.json")
    }

    fn bytes(&self) -> Result<u64> {
        Ok(fs::metadata(self.path()).context("the model was not asked")?.len())
    }
}

/// A peer and its conversation. Killed on drop.
struct RunningPeer {
    child: Child,
    stdout: ChildStdout,
    log: PathBuf,
    /// The number of the last answer that was seen.
    last: u64,
}

impl RunningPeer {
    #[expect(clippy::disallowed_methods, reason = "a peer needs the programs of the machine")]
    fn start(peer: &Peer, home: &Path, model_url: &str) -> Result<Self> {
        let log = home.join("peer.log");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {}", peer.command)]).current_dir(home).env_clear();
        shell.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home);
        shell.env("MODEL_URL", model_url).env("OPENAI_BASE_URL", model_url);
        shell.env("OPENAI_API_KEY", "none").kill_on_drop(true);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let mut child = shell.spawn().context("cannot run sh")?;
        let stdout = child.stdout.take().context("it has no standard output")?;
        Ok(Self { child, stdout, log, last: 0 })
    }

    /// Asks, and waits for an answer that the model has not given before.
    async fn turn(&mut self) -> Result<Duration> {
        let asked = now();
        let stdin = self.child.stdin.as_mut().context("it has no standard input")?;
        stdin.write_all(format!("{QUESTION}\n").as_bytes()).await.context("it reads no input")?;
        stdin.flush().await?;
        let mut said = Vec::new();
        loop {
            let read = soon("an answer", self.stdout.read_buf(&mut said)).await;
            if !matches!(read, Ok(Ok(1..))) {
                let (output, log) = (String::from_utf8_lossy(&said), fs::read_to_string(&self.log));
                bail!("it gave no answer: {read:?}\n{output}\n{}", log.unwrap_or_default());
            }
            if let Some(number) = number_in(&said).filter(|&number| number > self.last) {
                self.last = number;
                return Ok(asked.elapsed());
            }
            ensure!(said.len() < 16 << 20, "it printed 16 MiB without an answer");
        }
    }
}
