//! The daemon's side of a sandbox.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use avocet_protocol::ignore_result;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::oneshot;

use super::cgroup::{CgroupParent, SandboxCgroup};
use super::conceal::sockets_below;
use super::network::{ProgramProxy, ReachedHosts, proxy_environment, proxy_url, take_listener};
use super::output::SandboxOutput;
use super::plan::{Isolation, SandboxLimits, SandboxPlan, SandboxRoot};
use super::report::{SharedLimit, StageReport};
use super::request::{ProgramEnd, ProgramRequest, ProgramResult, SandboxError};
use super::stage::{ARGUMENT, SandboxStage};
use super::streams::{ProgramStreams, take_streams};
use crate::PathProtection;

/// Time that all processes of a sandbox may take to die.
const DYING: Duration = Duration::from_secs(5);
/// The reported signal of a program that was killed for memory or disk.
const KILLED: i32 = 9;
/// Longest report, in bytes.
const MAX_REPORT: u64 = 64 * 1024;

/// The settings of sandboxes, which differ only in their programs.
#[derive(Debug, Clone)]
pub struct ProgramSandbox {
    /// Our own program; its `main` calls [`run_stage`](super::run_stage) first.
    pub program: PathBuf,
    /// The layers of the sandbox.
    pub isolation: Isolation,
    /// Visible paths beside the system that programs may change.
    pub writable: Vec<PathBuf>,
    /// Visible paths beside the system that programs may only read.
    pub readable: Vec<PathBuf>,
    /// Paths below those that stay invisible.
    pub hidden: Vec<PathBuf>,
    /// The patterns of secrets that are shown all the same, as in
    /// [`Workspace::with_secret_rules`](crate::Workspace::with_secret_rules). `None` if all secrets
    /// are shown. Secrets in `writable` are hidden with namespaces only.
    pub secrets_but: Option<Vec<String>>,
    /// The paths in `writable` that are protected from changes. With namespaces they are read-only.
    pub protection: Arc<PathProtection>,
    /// The whole environment of programs, except for the variables about the proxy.
    pub environment: Vec<(String, String)>,
    /// The way to the hosts that the operator has opened; `None` if all hosts are closed. Sandboxes
    /// without namespaces have no network; without any layers they have that of the host.
    pub proxy: Option<Arc<dyn ProgramProxy>>,
    /// The resources that a program may use.
    pub limits: SandboxLimits,
    /// The control groups that limit all processes of a sandbox together; `None` without a
    /// delegated group.
    pub cgroups: Option<Arc<CgroupParent>>,
    /// The clock for timeouts.
    pub clock: Arc<dyn Clock>,
}

impl ProgramSandbox {
    /// Creates a sandbox that shows only the system, with an empty environment, the default limits
    /// and protection, and every secret hidden. `program` is our own.
    pub fn new(program: impl Into<PathBuf>, isolation: Isolation, clock: Arc<dyn Clock>) -> Self {
        Self {
            program: program.into(),
            isolation,
            writable: Vec::new(),
            readable: Vec::new(),
            hidden: Vec::new(),
            secrets_but: Some(Vec::new()),
            protection: Arc::default(),
            environment: Vec::new(),
            proxy: None,
            limits: SandboxLimits::default(),
            cgroups: None,
            clock,
        }
    }

    /// Runs a program in its own sandbox. When this returns, or its future is dropped, all
    /// processes of the program are gone.
    ///
    /// # Errors
    /// [`SandboxError`] if the program failed to start.
    pub async fn run(&self, request: ProgramRequest) -> Result<ProgramResult, SandboxError> {
        self.run_with_output(request, |_| ()).await
    }

    /// Like [`ProgramSandbox::run`], but passes the output to `on_output` as it comes. `on_output`
    /// must not block.
    ///
    /// # Errors
    /// The same as for [`ProgramSandbox::run`].
    pub async fn run_with_output(
        &self,
        request: ProgramRequest,
        on_output: impl Fn(&[u8]) + Send + Sync,
    ) -> Result<ProgramResult, SandboxError> {
        let (stdout, theirs) = output_pipe().map_err(start_error)?;
        let mut output = SandboxOutput::new(request.output);
        let drained = output.drain_stream(stdout, &on_output);
        let (ended, exceeded) = self.run_stages(&request, theirs, false, drained).await?;
        if let Some(limit) = exceeded {
            let note = self.limit_note(limit);
            on_output(note.as_bytes());
            output.push(note.as_bytes());
        }
        Ok(ProgramResult { ended, output, reached: request.reached.host_names() })
    }

    /// Like [`ProgramSandbox::run`], for a program that the daemon talks to: its standard streams
    /// are sent to `streams` when it starts. The output of the result has at most the reason why
    /// the program was killed. A `limit` of [`Duration::MAX`] is no limit.
    ///
    /// # Errors
    /// The same as for [`ProgramSandbox::run`]. `streams` is then dropped.
    pub async fn run_with_streams(
        &self,
        request: ProgramRequest,
        streams: oneshot::Sender<ProgramStreams>,
    ) -> Result<ProgramResult, SandboxError> {
        let (mut ours, theirs) = socket_pair().map_err(start_error)?;
        let handed_over = async {
            if let Ok(taken) = take_streams(&ours).await {
                ignore_result(
                    streams.send(taken),
                    "a receiver that is gone closes the streams, which the program notices",
                );
            }
            // The stages write nothing else, so this waits for their end.
            ignore_result(ours.read_u8().await, "an end of the stages is an error of this read");
        };
        let (ended, exceeded) = self.run_stages(&request, theirs, true, handed_over).await?;
        let mut output = SandboxOutput::new(request.output);
        if let Some(limit) = exceeded {
            output.push(self.limit_note(limit).trim().as_bytes());
        }
        Ok(ProgramResult { ended, output, reached: request.reached.host_names() })
    }

    /// Runs the stages, whose standard output is `stdout`, until they end. `drained` reads the
    /// other end of `stdout` and completes at its end. Returns the end of the program, and the
    /// limit for which it was killed.
    async fn run_stages(
        &self,
        request: &ProgramRequest,
        stdout: Stdio,
        streamed: bool,
        drained: impl Future<Output = ()>,
    ) -> Result<(ProgramEnd, Option<SharedLimit>), SandboxError> {
        let plan = self.write_plan(request, streamed)?;
        let _writing = self.protection.writing.add_program(&self.writable);
        let group =
            self.cgroups.as_ref().map(|groups| groups.create_group(self.limits)).transpose();
        let group = group.map_err(cgroup_error)?;
        let started = self.start(&plan, group.as_ref(), stdout).await?;
        let RunningSandbox { mut supervisor, lifeline, stderr } = started;
        let mut lines = Vec::new();
        let drained = async {
            tokio::join!(drained, read_report(stderr, &mut lines));
        };
        let interrupted = self.wait_for_end(drained, lifeline, request).await;
        kill_supervisor(&mut supervisor).await.map_err(start_error)?;
        let report = first_report(&lines);
        let exceeded = match &report {
            Ok(StageReport::Exceeded(limit)) => Some(*limit),
            _ if group.is_some_and(|group| group.is_out_of_memory()) => Some(SharedLimit::Memory),
            _ => None,
        };
        let ended = match (interrupted, report.and_then(program_end)) {
            (Some(interrupted), _) => interrupted,
            // The reporting stage was killed together with the program.
            (None, Err(SandboxError::Layer(_))) if exceeded.is_some() => ProgramEnd::Signal(KILLED),
            (None, reported) => reported?,
        };
        Ok((ended, exceeded))
    }

    /// Returns the way to the opened hosts, if programs can use it.
    #[must_use]
    pub fn opened_hosts(&self) -> Option<&Arc<dyn ProgramProxy>> {
        self.proxy.as_ref().filter(|_| self.isolation.has_namespaces())
    }

    /// Returns the URL of the proxy, for programs that ignore their environment.
    #[must_use]
    pub fn proxy_url(&self) -> Option<String> {
        self.opened_hosts().map(|_| proxy_url())
    }

    /// Starts stage 1, in the control group, and sends it the plan.
    async fn start(
        &self,
        plan: &str,
        group: Option<&SandboxCgroup>,
        stdout: Stdio,
    ) -> Result<RunningSandbox, SandboxError> {
        let (mut lifeline, theirs) = socket_pair().map_err(start_error)?;
        // Dropping `supervisor` leaves it running: after the end of its lifeline it still has to
        // kill the rest.
        let mut supervisor = Command::new(&self.program)
            .args([ARGUMENT, SandboxStage::Supervisor.name()])
            .env_clear()
            .stdin(theirs)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(start_error)?;
        let Some(stderr) = supervisor.stderr.take() else {
            return Err(SandboxError::Start("it has no pipe for its report".to_owned()));
        };
        if let (Some(group), Some(process)) = (group, supervisor.id()) {
            // The supervisor is waiting for its plan, before it starts children.
            group.add_process(process).map_err(cgroup_error)?;
        }
        lifeline.write_all(plan.as_bytes()).await.map_err(start_error)?;
        Ok(RunningSandbox { supervisor, lifeline, stderr })
    }

    /// Waits until the streams of the sandbox end. On cancellation or timeout, kills everything in
    /// it and returns that end.
    async fn wait_for_end(
        &self,
        drained: impl Future<Output = ()>,
        lifeline: UnixStream,
        request: &ProgramRequest,
    ) -> Option<ProgramEnd> {
        let mut drained = pin!(drained);
        let interrupted = tokio::select! {
            biased;
            () = request.cancel.cancelled() => Some(ProgramEnd::Cancelled),
            () = &mut drained => None,
            () = self.clock.sleep(request.limit) => Some(ProgramEnd::TimedOut),
            never = self.serve_proxy(&lifeline, &request.reached) => match never {},
        };
        drop(lifeline);
        if interrupted.is_some() {
            tokio::select! {
                () = &mut drained => {}
                () = self.clock.sleep(DYING) => {
                    tracing::error!("processes of a sandbox are still alive 5 s after SIGKILL");
                }
            }
        }
        interrupted
    }

    /// Connects programs with the opened hosts until the future is dropped.
    async fn serve_proxy(&self, lifeline: &UnixStream, reached: &ReachedHosts) -> Infallible {
        if let Some(proxy) = self.opened_hosts() {
            let served: io::Result<_> =
                async { proxy.serve_connections(take_listener(lifeline).await?, reached).await }
                    .await;
            match served {
                Ok(never) => match never {},
                // This happens if a sandbox layer could not be built, which is reported elsewhere.
                Err(error) => tracing::debug!(%error, "a program has no proxy"),
            }
        }
        std::future::pending().await
    }

    /// Returns a text that says why the program was killed, for the end of its output.
    fn limit_note(&self, limit: SharedLimit) -> String {
        const MEGABYTE: u32 = 20;
        match limit {
            SharedLimit::Memory => format!(
                "\n[killed for memory: its processes together reached {} MB, [sandbox] max_memory_megabytes]\n",
                self.limits.memory_bytes >> MEGABYTE
            ),
            SharedLimit::Disk => format!(
                "\n[killed: its processes together wrote more than {} MB to disk, [sandbox] max_disk_megabytes]\n",
                self.limits.disk_bytes >> MEGABYTE
            ),
        }
    }

    fn write_plan(&self, request: &ProgramRequest, streamed: bool) -> Result<String, SandboxError> {
        let readable =
            self.readable.iter().map(|path| SandboxRoot { path: path.clone(), writable: false });
        let writable =
            self.writable.iter().map(|path| SandboxRoot { path: path.clone(), writable: true });
        // The filter refuses sockets to programs without namespaces.
        let sockets = match self.isolation {
            Isolation::Namespaces => sockets_below(&self.readable),
            Isolation::Landlock | Isolation::LimitsOnly => Vec::new(),
        };
        let of_proxy =
            self.opened_hosts().map(|proxy| proxy_environment(&**proxy)).unwrap_or_default();
        let plan = SandboxPlan {
            program: request.program.clone(),
            directory: request.directory.clone(),
            environment: [&of_proxy[..], &self.environment].concat(),
            roots: readable.chain(writable).collect(),
            hidden: [&self.hidden[..], &sockets].concat(),
            secrets_but: self.secrets_but.clone(),
            protected: self.protection.patterns().to_vec(),
            rights: request.rights.clone(),
            limits: self.limits,
            meters_memory: self.cgroups.is_none(),
            isolation: self.isolation,
            proxied: self.opened_hosts().is_some(),
            streamed,
        };
        let mut line = serde_json::to_string(&plan)
            .map_err(|error| SandboxError::Program(format!("it cannot be encoded: {error}")))?;
        line.push('\n');
        Ok(line)
    }
}

/// Stage 1, and the daemon's ends of its lifeline and its reports.
struct RunningSandbox {
    supervisor: Child,
    /// Dropping this end kills everything in the sandbox.
    lifeline: UnixStream,
    stderr: ChildStderr,
}

/// Returns the daemon's end of a socket and the end for stage 1. No other process ever has either.
fn socket_pair() -> io::Result<(UnixStream, Stdio)> {
    let (ours, theirs) = UnixStream::pair()?;
    let theirs = theirs.into_std()?;
    theirs.set_nonblocking(false)?;
    Ok((ours, OwnedFd::from(theirs).into()))
}

/// Returns the daemon's end of a pipe for output and the end for stage 1.
fn output_pipe() -> io::Result<(Receiver, Stdio)> {
    let (ours, theirs) = io::pipe()?;
    Ok((Receiver::from_owned_fd(ours.into())?, theirs.into()))
}

async fn kill_supervisor(supervisor: &mut Child) -> io::Result<()> {
    ignore_result(
        supervisor.start_kill(),
        "a supervisor that has closed its output ends by itself",
    );
    supervisor.wait().await.map(drop)
}

async fn read_report(from: impl AsyncRead + Unpin, lines: &mut Vec<u8>) {
    // Only stages write to this stream, so the limit never blocks the program.
    ignore_result(
        from.take(MAX_REPORT).read_to_end(lines).await,
        "the lines before the error are the report; without one, the end of the process counts",
    );
}

/// Parses the first line. Each stage reports once, and the stage closest to the cause reports
/// first.
fn first_report(lines: &[u8]) -> Result<StageReport, SandboxError> {
    let line = lines.split(|byte| *byte == b'\n').next().unwrap_or_default();
    serde_json::from_slice(line).map_err(|_| {
        let text = String::from_utf8_lossy(lines);
        SandboxError::Layer(format!("the sandbox ended without a report: {}", text.trim()))
    })
}

fn program_end(report: StageReport) -> Result<ProgramEnd, SandboxError> {
    match report {
        StageReport::Code(code) => Ok(ProgramEnd::Code(code)),
        StageReport::Signal(signal) => Ok(ProgramEnd::Signal(signal)),
        StageReport::Exceeded(_) => Ok(ProgramEnd::Signal(KILLED)),
        StageReport::Layer(layer) => Err(SandboxError::Layer(layer)),
        StageReport::NoProgram(name) => Err(SandboxError::NoProgram(name)),
        StageReport::Program(error) => Err(SandboxError::Program(error)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn start_error(error: io::Error) -> SandboxError {
    SandboxError::Start(error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn cgroup_error(error: io::Error) -> SandboxError {
    SandboxError::Layer(format!("the control group: {error}"))
}
