//! Keeps one program running: starts it, serves its messages, and starts it again after a pause.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_gateway::{ChildConnection, Programs, RunningProgram};
use avocet_protocol::channel::Attach;
use avocet_protocol::clock::{Clock, Timestamp, within};
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_protocol::ignore_result;
use avocet_sandbox::{
    ProgramEnd, ProgramRequest, ProgramResult, ProgramRights, ProgramSandbox, ProgramStreams,
    ReachedHosts, SandboxError,
};
use avocet_supervise::{Backoff, Group};
use futures_util::future::maybe_done;
use tokio::io::{AsyncRead, copy, sink};
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::output::ErrorLog;

/// The first and the longest pause before a restart. Each is lengthened by a random part.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// A program that has attached and has run for this time is started again after the first pause.
const HEALTHY: Duration = Duration::from_secs(30);
/// The time from the start of a program until it has to be attached.
const ATTACHING: Duration = Duration::from_secs(120);
/// The time for a program to end after its input was closed.
pub(super) const STOPPING: Duration = Duration::from_secs(5);
/// The time to read the rest of the error output of an ended program.
const LAST_LINES: Duration = Duration::from_secs(3);
/// Bytes of the note about limits that is kept.
const NOTE: usize = 1000;

/// A program that can be started.
#[async_trait]
pub(super) trait StartProgram: fmt::Debug + Send + Sync {
    /// Runs the program to its end, and hands over its standard streams.
    async fn run(
        &self,
        streams: oneshot::Sender<ProgramStreams>,
        cancel: CancellationToken,
    ) -> Result<ProgramResult, SandboxError>;
}

#[derive(Debug)]
pub(super) struct SandboxedProgram {
    pub(super) sandbox: ProgramSandbox,
    pub(super) command: Vec<String>,
    pub(super) directory: PathBuf,
}

#[async_trait]
impl StartProgram for SandboxedProgram {
    async fn run(
        &self,
        streams: oneshot::Sender<ProgramStreams>,
        cancel: CancellationToken,
    ) -> Result<ProgramResult, SandboxError> {
        let request = ProgramRequest {
            program: self.command.clone(),
            directory: self.directory.clone(),
            limit: Duration::MAX,
            output: NOTE,
            cancel,
            reached: ReachedHosts::default(),
            rights: ProgramRights::default(),
        };
        self.sandbox.run_with_streams(request, streams).await
    }
}

/// The supervisor of the program of one account.
#[derive(Debug)]
pub(super) struct ChildSupervisor {
    /// The account, as `channel:account`.
    pub(super) name: String,
    pub(super) channel: ChannelName,
    pub(super) account: AccountName,
    pub(super) platform: Arc<dyn Attach>,
    pub(super) gateway: Programs,
    /// Cancelled when the programs have to end.
    pub(super) group: Group,
    pub(super) clock: Arc<dyn Clock>,
}

/// The reason why the connection with a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TalkEnd {
    /// The daemon stops.
    Stopped,
    /// The program has closed its output.
    Closed,
    /// The program has not attached in time.
    NeverAttached,
}

impl ChildSupervisor {
    /// Runs the program, and restarts it after each end, until the group is cancelled.
    pub(super) async fn run(&self, program: &dyn StartProgram) {
        let stop = self.group.cancel_token();
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        let mut last_end = None;
        loop {
            let began = self.clock.elapsed();
            self.explain_end(&self.describe_start(last_end.as_deref()));
            let (why, was_attached) = self.run_once(program, &stop).await;
            if stop.is_cancelled() {
                tracing::debug!(account = self.name, why, "the program of the channel has ended");
                return;
            }
            if was_attached && self.clock.elapsed().saturating_sub(began) >= HEALTHY {
                backoff.reset_delay();
            }
            let pause = backoff.next_wait();
            let next = format_time(self.clock.now().after(pause));
            self.is_down(&format!("{why}; it is started again at {next}"));
            last_end = Some(why);
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.clock.sleep(pause) => {}
            }
        }
    }

    /// Logs that the channel has no program, and shows the reason in its health.
    pub(super) fn is_down(&self, why: &str) {
        tracing::warn!(account = self.name, why, "the channel is down");
        self.explain_end(why);
    }

    /// Describes a program that was started and has not attached yet, with the end of the one before.
    fn describe_start(&self, last_end: Option<&str>) -> String {
        let limit = format_time(self.clock.now().after(ATTACHING));
        let before = last_end.map(|why| format!(". Before that start: {why}")).unwrap_or_default();
        format!(
            "the program was started, and has not attached yet; if it does not, it is killed and \
             started again at {limit}{before}"
        )
    }

    fn explain_end(&self, why: &str) {
        if let Some(platform) = self.platform.platform() {
            platform.explain_absence(why);
        }
    }

    /// Runs the program to its end. Returns the reason of the end, and `true` if the program was
    /// attached.
    async fn run_once(
        &self,
        program: &dyn StartProgram,
        stop: &CancellationToken,
    ) -> (String, bool) {
        let running = match RunningProgram::new(&self.channel, &self.account) {
            Ok(running) => Arc::new(running),
            Err(error) => return (error.to_string(), false),
        };
        let (sender, streams) = oneshot::channel();
        let cancel = CancellationToken::new();
        let mut ended = pin!(program.run(sender, cancel.clone()));
        let streams = tokio::select! {
            biased;
            Ok(streams) = streams => streams,
            ended = &mut ended => return (describe_end(ended, None), false),
        };
        let ProgramStreams { stdin, stdout, stderr } = streams;
        let mut log = ErrorLog::new(&self.name, self.clock.clone());
        let mut fault = None;
        let result = {
            let mut following = pin!(maybe_done(log.follow(stderr)));
            let talk = async {
                fault = self.talk(stdin, stdout, &running, stop, &cancel).await;
            };
            let result = tokio::select! {
                ended = &mut ended => ended,
                never = async {
                    tokio::join!(&mut following, talk);
                    pending::<Infallible>().await
                } => match never {},
            };
            // The last lines say why the program has ended.
            ignore_result(
                within(self.clock.as_ref(), LAST_LINES, following).await,
                "the lines that have been read by now are enough",
            );
            result
        };
        let why = fault.unwrap_or_else(|| describe_end(result, log.last()));
        (why, running.attached.is_cancelled())
    }

    /// Serves the program until one side ends. Closes its input then, and kills it if it does not
    /// end. Returns the fault if the program did not attach in time.
    async fn talk(
        &self,
        stdin: pipe::Sender,
        mut stdout: pipe::Receiver,
        running: &Arc<RunningProgram>,
        stop: &CancellationToken,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let connection = self.group.child_group(&self.name);
        let end = {
            let program = running.clone();
            let child = ChildConnection { stdout: &mut stdout, stdin, program };
            tokio::select! {
                biased;
                () = stop.cancelled() => TalkEnd::Stopped,
                () = self.gateway.serve(child, &connection) => TalkEnd::Closed,
                () = self.never_attached(running) => TalkEnd::NeverAttached,
            }
        };
        // Closes the input of the program once open requests are answered.
        connection.cancel_tasks();
        let fault = match end {
            TalkEnd::Stopped | TalkEnd::Closed => None,
            TalkEnd::NeverAttached => Some(format!(
                "the program was killed, because it did not attach within {} s; it has to send \
                 `hello` and `attach`",
                ATTACHING.as_secs()
            )),
        };
        if fault.is_none() {
            self.wait_for_end(stdout).await;
        }
        tracing::debug!(account = self.name, ?end, "killing the program of the channel");
        cancel.cancel();
        fault
    }

    async fn never_attached(&self, running: &RunningProgram) {
        tokio::select! {
            () = self.clock.sleep(ATTACHING) => {}
            () = running.attached.cancelled() => {
                tracing::info!(account = self.name, "the program of the channel is attached");
                pending::<()>().await;
            }
        }
    }

    /// Gives the program time to end. Its further output is dropped.
    async fn wait_for_end(&self, mut stdout: impl AsyncRead + Unpin) {
        tokio::select! {
            () = self.clock.sleep(STOPPING) => {}
            () = async {
                ignore_result(
                    copy(&mut stdout, &mut sink()).await,
                    "a program that closes its output is ending",
                );
                pending::<()>().await;
            } => {}
        }
        tracing::warn!(
            account = self.name,
            "the program of the channel still runs {} s after the end of its streams; killing it",
            STOPPING.as_secs()
        );
    }
}

/// Formats the time of day of a moment.
fn format_time(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(moment) => moment.strftime("%H:%M:%S UTC").to_string(),
        Err(_) => at.0.to_string(),
    }
}

fn describe_end(ended: Result<ProgramResult, SandboxError>, last_line: Option<&str>) -> String {
    let last = last_line.map(|line| format!("; its last line was: {line}")).unwrap_or_default();
    match ended {
        Ok(ProgramResult { ended, output, .. }) => {
            let note = output.to_text();
            let note = if note.is_empty() { note } else { format!(" {note}") };
            let ended = match ended {
                ProgramEnd::Code(code) => format!("the program ended with exit code {code}"),
                ProgramEnd::Signal(signal) => format!("signal {signal} ended the program"),
                ProgramEnd::TimedOut => "the program timed out".to_owned(),
                ProgramEnd::Cancelled => "the program was killed".to_owned(),
            };
            format!("{ended}{note}{last}")
        }
        Err(error @ (SandboxError::NoProgram(_) | SandboxError::Program(_))) => format!(
            "the program cannot be started: {error}. The sandbox shows the directories of the \
             system and those of `read`: give the path of the program, and name its directory there"
        ),
        Err(error) => format!("the program cannot be started: {error}"),
    }
}

#[cfg(test)]
#[path = "supervisor_tests.rs"]
mod tests;
