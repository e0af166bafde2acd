//! Runs real programs in a sandbox.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_sandbox::{
    Isolation, ProgramEnd, ProgramProxy, ProgramRequest, ProgramResult, ProgramRights,
    ProgramSandbox, ProgramStreams, ReachedHosts, SandboxError, SandboxLayers,
};
use avocet_supervise::SystemClock;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

const BOTH: [Isolation; 2] = [Isolation::Namespaces, Isolation::Landlock];

fn sandbox(workspace: &Path, isolation: Isolation) -> ProgramSandbox {
    ProgramSandbox {
        writable: vec![workspace.to_owned()],
        environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        ..ProgramSandbox::new(
            env!("CARGO_BIN_EXE_avocet-sandbox-stage"),
            isolation,
            Arc::new(SystemClock::new()),
        )
    }
}

fn shell(directory: &Path, script: &str) -> ProgramRequest {
    ProgramRequest {
        program: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        directory: directory.to_owned(),
        limit: Duration::from_secs(20),
        output: 64 * 1024,
        cancel: CancellationToken::new(),
        reached: ReachedHosts::default(),
        rights: ProgramRights::default(),
    }
}

async fn run(script: &str, isolation: Isolation) -> Result<ProgramResult, SandboxError> {
    let home = TempDir::new().unwrap();
    sandbox(home.path(), isolation).run(shell(home.path(), script)).await
}

#[tokio::test]
async fn run_reports_the_output_and_the_end_of_a_program() {
    for isolation in BOTH {
        for (script, ended, text) in [
            ("echo hello; echo error >&2; exit 3", ProgramEnd::Code(3), "hello\nerror\n"),
            ("kill -TERM $$", ProgramEnd::Signal(15), ""),
            ("cat; pwd | grep -c tmp", ProgramEnd::Code(0), "1\n"),
            ("(sleep 100 & setsid sleep 100 &) ; echo done", ProgramEnd::Code(0), "done\n"),
        ] {
            let ran = run(script, isolation).await.unwrap();
            assert_eq!(
                (ran.ended, ran.output.to_text().as_str()),
                (ended, text),
                "{script} {isolation:?}"
            );
        }
    }
}

/// Sends these lines to a program, each after its answer to the one before. Returns the end of the
/// program, its output and its errors.
async fn talk(
    request: ProgramRequest,
    isolation: Isolation,
    lines: &[&str],
) -> (Result<ProgramResult, SandboxError>, String, String) {
    let sandbox = sandbox(&request.directory, isolation);
    let (sender, streams) = oneshot::channel();
    let talk = async {
        let Ok(ProgramStreams { mut stdin, stdout, mut stderr }) = streams.await else {
            return (String::new(), String::new());
        };
        let mut stdout = BufReader::new(stdout);
        let (mut output, mut errors) = (String::new(), String::new());
        for line in lines {
            // The answer comes while the program still waits for input.
            stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            stdout.read_line(&mut output).await.unwrap();
        }
        drop(stdin);
        let (more, other) = (&mut output, &mut errors);
        tokio::try_join!(stdout.read_to_string(more), stderr.read_to_string(other)).unwrap();
        (output, errors)
    };
    let (ended, (output, errors)) = tokio::join!(sandbox.run_with_streams(request, sender), talk);
    (ended, output, errors)
}

#[tokio::test]
async fn run_with_streams_connects_all_three_streams_of_a_program() {
    let script =
        "while read -r line; do echo \"got $line\"; done; echo closed; echo bad >&2; exit 3";
    for isolation in [Isolation::Namespaces, Isolation::Landlock, Isolation::LimitsOnly] {
        let home = TempDir::new().unwrap();
        let request = ProgramRequest { limit: Duration::MAX, ..shell(home.path(), script) };
        let (ended, output, errors) = talk(request, isolation, &["one", "two"]).await;
        let ended = ended.unwrap();
        assert_eq!((ended.ended, ended.output.to_text().as_str()), (ProgramEnd::Code(3), ""));
        assert_eq!((&*output, &*errors), ("got one\ngot two\nclosed\n", "bad\n"), "{isolation:?}");
    }
}

#[tokio::test]
async fn run_with_streams_ends_with_its_program_and_kills_the_rest() {
    for isolation in BOTH {
        let home = TempDir::new().unwrap();
        let request = shell(home.path(), "setsid sleep 1000 & exit 4");
        let (ended, output, errors) = talk(request, isolation, &[]).await;
        assert_eq!(ended.unwrap().ended, ProgramEnd::Code(4), "{isolation:?}");
        assert_eq!((&*output, &*errors), ("", ""));

        let cancel = CancellationToken::new();
        let mut request = shell(home.path(), "echo started; exec sleep 1000");
        request.cancel = cancel.clone();
        let sandbox = sandbox(home.path(), isolation);
        let (sender, streams) = oneshot::channel();
        let cancelled = async {
            let mut streams: ProgramStreams = streams.await.unwrap();
            assert_eq!(streams.stdout.read_u8().await.unwrap(), b's');
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(sandbox.run_with_streams(request, sender), cancelled);
        assert_eq!(ended.unwrap().ended, ProgramEnd::Cancelled, "{isolation:?}");

        let mut missing = shell(home.path(), "");
        missing.program = vec!["no-such-program".to_owned()];
        let (ended, ..) = talk(missing, isolation, &[]).await;
        let error = ended.unwrap_err();
        assert_eq!(error.to_string(), "there is no program no-such-program here");
    }
}

#[tokio::test]
async fn run_with_output_delivers_output_before_the_end() {
    for isolation in BOTH {
        let home = TempDir::new().unwrap();
        let received = Mutex::new(String::new());
        // The script ends only after its first word has reached the callback.
        let script = "echo first; until [ -e go ]; do :; done; echo second";
        let ran = sandbox(home.path(), isolation)
            .run_with_output(shell(home.path(), script), |bytes| {
                received.lock().push_str(&String::from_utf8_lossy(bytes));
                std::fs::write(home.path().join("go"), "").unwrap();
            })
            .await
            .unwrap();
        assert_eq!(ran.ended, ProgramEnd::Code(0), "{isolation:?}");
        assert_eq!(*received.lock(), "first\nsecond\n", "{isolation:?}");
    }
}

#[tokio::test]
async fn rights_alone_forbid_to_execute_another_program() {
    for isolation in BOTH {
        let home = TempDir::new().unwrap();
        let sandbox = sandbox(home.path(), isolation);
        let alone = |script: &str| ProgramRequest {
            rights: ProgramRights::Alone,
            ..shell(home.path(), script)
        };
        let alone = |script| ProgramRequest {
            program: ["sh", "-c", script].map(str::to_owned).to_vec(),
            ..alone(script)
        };
        for (script, ended, says) in [
            ("echo hello; echo error >&2; exit 3", ProgramEnd::Code(3), "hello\nerror\n"),
            (
                "cat; pwd > here; read it < here && [ \"$it\" = \"$PWD\" ] && echo here",
                ProgramEnd::Code(0),
                "here\n",
            ),
            ("/bin/true && echo ESCAPED", ProgramEnd::Code(126), "Permission denied"),
            (
                "(exec /bin/echo ESCAPED); /proc/self/exe -c 'echo ESCAPED'",
                ProgramEnd::Code(126),
                "Permission denied",
            ),
            ("env | grep x", ProgramEnd::Code(126), "Permission denied"),
        ] {
            let ran = sandbox.run(alone(script)).await.unwrap();
            let text = ran.output.to_text();
            assert!(
                text.contains(says) && !text.contains("ESCAPED"),
                "{script} {isolation:?}: {text}"
            );
            assert_eq!(ran.ended, ended, "{script} {isolation:?}: {text}");
        }
        let missing = ProgramRequest { program: vec!["no-such-program".to_owned()], ..alone("") };
        let error = sandbox.run(missing).await.unwrap_err().to_string();
        assert_eq!(error, "there is no program no-such-program here");
    }
}

#[tokio::test]
async fn probe_finds_the_sandbox_layers_of_this_system() {
    let home = TempDir::new().unwrap();
    let layers = SandboxLayers::probe_layers(&sandbox(home.path(), Isolation::Namespaces)).await;
    println!("{layers}");
    assert_ne!(layers.best_isolation(), Isolation::LimitsOnly, "{layers}");
}

#[tokio::test]
async fn run_without_sandbox_layers_sets_limits_and_leaves_no_process() {
    let (home, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = outside.path().display();
    let sandbox = sandbox(home.path(), Isolation::LimitsOnly);
    let script = format!(
        "echo x > {path}/file; env | sort | cut -d= -f1 | tr '\\n' ' '; ulimit -n; umask; ps -o sid= -p $$ | \
         grep -cw $$; grep -c NoNewPrivs:.1 /proc/self/status; setsid sleep 1000 & sleep 1000 &"
    );
    let ran = sandbox.run(shell(home.path(), &script)).await.unwrap();
    let text = ran.output.to_text();
    // The shell sets these itself; the environment of the test is absent.
    assert!(text.starts_with("OLDPWD PATH PWD ") || text.starts_with("PATH PWD "), "{text}");
    let rest: Vec<_> = text.lines().collect();
    assert!(rest[0].ends_with(" 1024") && rest[2..] == ["1", "1"], "{text}");
    assert_eq!(ran.ended, ProgramEnd::Code(0));
    assert!(outside.path().join("file").exists(), "there is no layer");
}

/// A proxy that answers every connection and counts them.
#[derive(Debug, Default)]
struct Answering {
    has: Option<IpAddr>,
    came: AtomicUsize,
    ended: Arc<AtomicBool>,
}

/// Sets the flag when it is dropped.
struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl ProgramProxy for Answering {
    fn hosts_text(&self) -> String {
        "a.example".to_owned()
    }

    fn is_opened_host(&self, address: IpAddr) -> bool {
        self.has == Some(address)
    }

    async fn serve_connections(
        &self,
        listener: TcpListener,
        reached: &ReachedHosts,
    ) -> io::Result<Infallible> {
        let _ending = SetOnDrop(self.ended.clone());
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            self.came.fetch_add(1, Ordering::SeqCst);
            reached.add_host("a.example:443");
            stream.write_all(b"answered\n").await?;
        }
    }
}

const ASK: &str = "(exec 3<>/dev/tcp/127.0.0.1/3128 && cat <&3) 2>&1";

fn bash(directory: &Path, script: &str) -> ProgramRequest {
    let program = ["bash", "-c", script].map(str::to_owned).to_vec();
    ProgramRequest { program, ..shell(directory, "") }
}

#[tokio::test]
async fn proxy_is_found_by_environment_and_reports_reached_hosts() {
    let home = TempDir::new().unwrap();
    for (has, direct) in [
        (None, "localhost,127.0.0.1,::1"),
        // Otherwise programs would bypass the proxy for this address.
        (Some("127.0.0.1"), "localhost,::1"),
    ] {
        let has = has.map(|address| address.parse().unwrap());
        let proxy = Arc::new(Answering { has, ..Answering::default() });
        let sandbox = ProgramSandbox {
            proxy: Some(proxy.clone()),
            ..sandbox(home.path(), Isolation::Namespaces)
        };
        let script = format!("{ASK}; env | grep -i _proxy | sort");
        let request = bash(home.path(), &script);
        let reached = request.reached.clone();
        let ran = sandbox.run(request).await.unwrap();
        let url = "http://127.0.0.1:3128";
        let expected = format!(
            "answered\nALL_PROXY={url}\nHTTPS_PROXY={url}\nHTTP_PROXY={url}\nNO_PROXY={direct}\n\
             all_proxy={url}\nhttp_proxy={url}\nhttps_proxy={url}\nno_proxy={direct}\n"
        );
        assert_eq!(ran.output.to_text(), expected);
        assert_eq!(
            (ran.reached, reached.is_any_reached()),
            (vec!["a.example:443".to_owned()], true)
        );
        assert!(proxy.ended.load(Ordering::SeqCst), "it is served no longer than it runs");
    }
}

#[tokio::test]
async fn proxy_is_absent_without_namespaces_or_open_hosts() {
    let home = TempDir::new().unwrap();
    let proxy = Arc::new(Answering::default());
    let opened: Option<Arc<dyn ProgramProxy>> = Some(proxy.clone());
    for (isolation, proxy) in [
        (Isolation::Namespaces, None),
        (Isolation::Landlock, opened.clone()),
        (Isolation::LimitsOnly, opened),
    ] {
        let sandbox = ProgramSandbox { proxy, ..sandbox(home.path(), isolation) };
        assert!(sandbox.opened_hosts().is_none() && sandbox.proxy_url().is_none());
        // Without sandbox layers, the host itself may listen there.
        let ask = if isolation == Isolation::LimitsOnly { ":" } else { ASK };
        let script = format!("{ask}; env | grep -i _proxy");
        let ran = sandbox.run(bash(home.path(), &script)).await.unwrap();
        let text = ran.output.to_text();
        assert!(!text.contains("answered") && !text.contains("_PROXY="), "{text}");
        assert!(ran.reached.is_empty());
    }
    assert_eq!(proxy.came.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn proxy_is_reachable_only_for_its_program() {
    let home = TempDir::new().unwrap();
    let proxy = Arc::new(Answering::default());
    let opened = ProgramSandbox {
        proxy: Some(proxy.clone()),
        ..sandbox(home.path(), Isolation::Namespaces)
    };
    let closed = sandbox(home.path(), Isolation::Namespaces);
    // The first program waits until the second one has tried.
    let waits = format!("echo > started; until [ -e tried ]; do :; done; {ASK}");
    let tries = format!("until [ -e started ]; do :; done; {ASK}; echo > tried");
    let (waited, tried) =
        tokio::join!(opened.run(bash(home.path(), &waits)), closed.run(bash(home.path(), &tries)));
    let (waited, tried) = (waited.unwrap(), tried.unwrap());
    assert_eq!(waited.output.to_text(), "answered\n");
    assert!(tried.output.to_text().contains("Connection refused"), "{}", tried.output.to_text());
    assert_eq!((proxy.came.load(Ordering::SeqCst), tried.reached), (1, Vec::new()));
}
