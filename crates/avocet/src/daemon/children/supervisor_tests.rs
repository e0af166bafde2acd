use std::collections::BTreeMap;

use avocet_external::External;
use avocet_gateway::testing::FakeDaemon;
use avocet_protocol::channel::{Channel, Health};
use avocet_sandbox::SandboxOutput;
use avocet_testkit::{FakeDestinations, ManualClock};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};

use super::*;

/// The program's ends of its streams.
struct ProgramSide {
    stdin: Lines<BufReader<pipe::Receiver>>,
    stdout: pipe::Sender,
    stderr: pipe::Sender,
    /// Ends the program.
    exit: oneshot::Sender<Result<ProgramEnd, SandboxError>>,
    cancel: CancellationToken,
}

impl ProgramSide {
    async fn call(&mut self, method: &str, params: &str) -> String {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        self.stdout.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        self.stdin.next_line().await.unwrap().unwrap()
    }

    async fn attach(&mut self) {
        self.call("hello", r#"{"protocol":1}"#).await;
        let attached = self.call("attach", r#"{"channel":"external","account":"irc"}"#).await;
        assert!(attached.contains("cursors"), "{attached}");
    }
}

/// Hands each started program to the test.
#[derive(Debug)]
struct FakeProgram(flume::Sender<ProgramSide>);

#[async_trait]
impl StartProgram for FakeProgram {
    async fn run(
        &self,
        streams: oneshot::Sender<ProgramStreams>,
        cancel: CancellationToken,
    ) -> Result<ProgramResult, SandboxError> {
        let (to_stdin, stdin) = pipe::pipe().unwrap();
        let (stdout, from_stdout) = pipe::pipe().unwrap();
        let (stderr, from_stderr) = pipe::pipe().unwrap();
        let (exit, exited) = oneshot::channel();
        let stdin = BufReader::new(stdin).lines();
        self.0.send(ProgramSide { stdin, stdout, stderr, exit, cancel: cancel.clone() }).unwrap();
        drop(streams.send(ProgramStreams {
            stdin: to_stdin,
            stdout: from_stdout,
            stderr: from_stderr,
        }));
        let ended = tokio::select! {
            () = cancel.cancelled() => ProgramEnd::Cancelled,
            ended = exited => ended.unwrap_or(Ok(ProgramEnd::Signal(9)))?,
        };
        Ok(ProgramResult { ended, output: SandboxOutput::new(10), reached: Vec::new() })
    }
}

struct Supervised {
    programs: flume::Receiver<ProgramSide>,
    channel: Arc<External>,
    clock: Arc<ManualClock>,
    group: Group,
}

impl Supervised {
    fn start() -> Self {
        let (channel, account): (ChannelName, AccountName) =
            ("external".parse().unwrap(), "irc".parse().unwrap());
        let external = Arc::new(External::new(channel.clone(), account.clone(), 1000));
        let (daemon, places, clock) =
            <(Arc<FakeDaemon>, Arc<FakeDestinations>, Arc<ManualClock>)>::default();
        let mut parts = daemon.parts(clock.clone(), places);
        let platform: Arc<dyn Attach> = external.clone();
        parts.attach = BTreeMap::from([((channel.clone(), account.clone()), platform.clone())]);
        let (root, group) = (Group::new("test"), Group::new("children"));
        let supervisor = ChildSupervisor {
            name: format!("{channel}:{account}"),
            channel,
            account,
            platform,
            gateway: Programs::new(parts),
            group: group.clone(),
            clock: clock.clone(),
        };
        let (sender, programs) = flume::bounded(8);
        root.spawn("supervisor", async move { supervisor.run(&FakeProgram(sender)).await });
        Self { programs, channel: external, clock, group }
    }

    async fn program(&self) -> ProgramSide {
        self.programs.recv_async().await.unwrap()
    }

    /// Waits for the pause after the end of a program, and returns the reason of the end.
    async fn why_down(&self) -> String {
        // The pause is the only sleep that is shorter than the time to attach.
        self.clock.sleeper_within(..=2 * PAUSES.0).await;
        let Health::Down(why) = self.channel.health() else { panic!("it is up") };
        self.clock.advance(2 * PAUSES.0);
        why
    }
}

#[tokio::test]
async fn run_starts_the_program_again_and_explains_its_end() {
    let supervised = Supervised::start();
    let mut program = supervised.program().await;
    assert!(
        matches!(supervised.channel.health(), Health::Down(why) if why.contains("not attached"))
    );
    program.attach().await;
    assert_eq!(supervised.channel.health(), Health::Up);
    program.stderr.write_all(b"loading\nno such server\n").await.unwrap();
    program.exit.send(Ok(ProgramEnd::Code(3))).unwrap();
    drop((program.stdout, program.stderr));
    let why = supervised.why_down().await;
    assert!(
        why.starts_with(
            "the program ended with exit code 3; its last line was: no such server; it is started \
             again at 00:0"
        ),
        "{why}"
    );
    let program = supervised.program().await;
    let Health::Down(again) = supervised.channel.health() else { panic!("it is up") };
    assert!(
        again.contains(
            "has not attached yet; if it does not, it is killed and started again at 00:0"
        )
    );
    let before = ". Before that start: the program ended with exit code 3; its last line was: no such server";
    assert!(again.ends_with(before), "{again}");
    let missing = SandboxError::NoProgram("irc".to_owned());
    program.exit.send(Err(missing)).unwrap();
    drop((program.stdout, program.stderr));
    supervised.clock.sleeper_within(..=4 * PAUSES.0).await;
    assert!(
        matches!(supervised.channel.health(), Health::Down(why) if why.contains("no program irc"))
    );
}

#[tokio::test]
async fn run_kills_a_program_that_does_not_attach_in_time() {
    let supervised = Supervised::start();
    let mut program = supervised.program().await;
    program.call("hello", r#"{"protocol":1}"#).await;
    supervised.clock.sleeper(ATTACHING).await;
    supervised.clock.advance(ATTACHING);
    program.cancel.cancelled().await;
    drop((program.stdout, program.stderr));
    let why = supervised.why_down().await;
    assert!(
        why.starts_with("the program was killed, because it did not attach within 120 s"),
        "{why}"
    );
}

#[tokio::test]
async fn run_closes_the_input_at_the_end_and_kills_a_program_that_stays() {
    for stays in [false, true] {
        let supervised = Supervised::start();
        let mut program = supervised.program().await;
        program.attach().await;
        supervised.group.cancel_tasks();
        assert_eq!(program.stdin.next_line().await.unwrap(), None);
        assert!(!program.cancel.is_cancelled());
        if stays {
            supervised.clock.sleeper_within(STOPPING..=STOPPING).await;
            supervised.clock.advance(STOPPING);
            program.cancel.cancelled().await;
        } else {
            program.exit.send(Ok(ProgramEnd::Code(0))).unwrap();
        }
        drop((program.stdout, program.stderr));
        assert!(supervised.programs.recv_async().await.is_err(), "it was started again");
    }
}
