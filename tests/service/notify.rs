//! Tests of the messages to systemd, which the test plays: ready when the daemon is ready, alive
//! while it makes progress, stopping before it ends (sd_notify(3), sd_watchdog_enabled(3)).

use std::os::unix::net::UnixDatagram;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::{ApiError, InjectedFault, On, TelegramFake};
use avocet_tests::{DaemonProcess, FAIL_POINT, Home, program};
use rustix::process::Signal;
use serde_json::json;

use crate::chat::{AttachedChat, connect};
use crate::log::{LogLock, number};
use crate::model::{asked, config, first_and_then, held, held_back};
use crate::patience::{end, logged, stop, until, with_timeout};
use crate::telegram::{self, TOKEN};

const ALIVE: &str = "WATCHDOG=1";
/// Half a second: a sign of life every quarter of a second.
const WATCHDOG_USEC: &str = "500000";
/// The daemon's log line after each failed life check.
const NO_LIFE: &str = "no answer from the log writer or the lanes";

/// A fake of systemd's notification socket.
struct Manager {
    socket: UnixDatagram,
    home: Home,
}

impl Manager {
    /// Listens on the socket to which the program in this home reports.
    fn of(home: Home) -> Self {
        let path = home.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self { socket, home: home.with("NOTIFY_SOCKET", path.to_str().unwrap()) }
    }

    /// Waits for the next message, and returns its lines.
    async fn told(&self) -> Vec<String> {
        let mut told = None;
        until("a word to systemd", async || {
            told = self.told_already();
            told.is_some()
        })
        .await;
        told.unwrap()
    }

    /// Waits until the daemon is ready, and returns its first status.
    async fn told_ready(&self) -> String {
        loop {
            if let [ready, status] = &self.told().await[..]
                && ready == "READY=1"
            {
                return status.clone();
            }
        }
    }

    fn told_already(&self) -> Option<Vec<String>> {
        let mut datagram = [0; 4096];
        let length = self.socket.recv(&mut datagram).ok()?;
        let text = std::str::from_utf8(&datagram[..length]).unwrap();
        Some(text.lines().map(str::to_owned).collect())
    }

    /// Returns all unread messages.
    fn told_before(&self) -> Vec<String> {
        std::iter::from_fn(|| self.told_already()).flatten().collect()
    }

    /// Waits for a sign of life.
    async fn hears_life(&self) {
        while self.told().await != [ALIVE] {}
    }

    /// Starts a watched daemon, and waits until it shows signs of life.
    async fn starts(&self, arm: Option<&str>) -> DaemonProcess {
        let mut command = self.home.command(&["run"]);
        command.env("WATCHDOG_USEC", WATCHDOG_USEC);
        command.envs(arm.map(|point| (FAIL_POINT, point)));
        let daemon = DaemonProcess::spawn(&mut command);
        self.hears_life().await;
        self.hears_life().await;
        daemon
    }

    /// Checks that there is no sign of life while the daemon's life checks fail repeatedly.
    async fn hears_no_life(&self, daemon: &mut DaemonProcess) {
        // A life check from before the block may still succeed.
        let found = daemon.logged(NO_LIFE);
        logged(daemon, NO_LIFE, found + 2).await;
        self.told_before();
        let found = daemon.logged(NO_LIFE);
        logged(daemon, NO_LIFE, found + 4).await;
        assert!(!self.told_before().contains(&ALIVE.to_owned()));
    }

    /// Waits for a status that contains this text.
    async fn shows(&self, text: &str) {
        let is_shown = |line: &String| line.starts_with("STATUS=") && line.contains(text);
        while !self.told().await.iter().any(is_shown) {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notify_sends_ready_once_the_daemon_has_recovered_and_answers() {
    let permits = held();
    let on_hold = permits.clone();
    let model = OpenAiFake::start(move |_| held_back(&on_hold, "Here I am.")).await;
    let manager = Manager::of(Home::new(program!()).with_config(&config(&model, "")));
    let daemon = manager.home.daemon();
    AttachedChat::join(&manager.home, "ann").await.ask("Are you there?").await;
    asked(&model, 1).await;
    daemon.kill();
    manager.told_before();

    let daemon = manager.home.spawn(&["run", "--log", "debug"]);
    let ready = manager.told().await;
    assert_eq!(ready[0], "READY=1");
    // The number of running turns follows, once the recovered turn runs.
    assert!(ready[1].starts_with("STATUS=ready; fake/fake answers"), "{ready:?}");
    let status = connect(&manager.home).await.call("status", json!({})).await.unwrap();
    assert_eq!((&status["pid"], &status["log"]["epoch"]), (&daemon.pid().into(), &2.into()));
    assert_eq!(number(&manager.home, "SELECT attempts FROM turns"), 1, "the turn was recovered");
    // One for the killed daemon's request, one for this one.
    permits.add_permits(2);
    let chat = AttachedChat::join(&manager.home, "ann").await;
    assert_eq!(chat.reply().await.text, "Here I am.");
    let (_, log) = stop(daemon).await;
    let place = |text| log.find(text).unwrap_or_else(|| panic!("no {text:?} in\n{log}"));
    assert!(place("sessions with something to do sessions=1") < place(" ready "), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notify_sends_stopping_before_the_daemon_has_stopped() {
    let permits = held();
    let on_hold = permits.clone();
    let model = OpenAiFake::start(move |_| held_back(&on_hold, "Done.")).await;
    let manager = Manager::of(Home::new(program!()).with_config(&config(&model, "")));
    let mut daemon = manager.home.daemon();
    assert_eq!(manager.told().await[0], "READY=1");
    let chat = AttachedChat::join(&manager.home, "ann").await;
    chat.ask("Finish this.").await;
    asked(&model, 1).await;
    daemon.signal(Signal::TERM);
    let stopping = ["STOPPING=1", "STATUS=stopping; running answers may finish"];
    assert_eq!(manager.told().await, stopping);
    assert_eq!(daemon.ended(), None, "the answer is not finished");
    permits.add_permits(1);
    assert_eq!(chat.reply().await.text, "Done.");
    let (status, log) = end(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!(manager.told_before(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notify_sends_ready_after_the_first_exchange_of_each_channel() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Hello.")).await;
    let answer = held();
    let hold = InjectedFault::HoldAnswer(answer.clone());
    platform.inject(On::method("getMe"), 1, hold);
    let manager = Manager::of(telegram::home(&platform, &model));
    let mut daemon = manager.home.daemon();
    with_timeout("getMe", platform.wait_for_calls("getMe", 1)).await;
    // The socket answers already.
    let status = connect(&manager.home).await.call("status", json!({})).await.unwrap();
    assert_eq!(status["pid"], daemon.pid());
    daemon.signal(Signal::HUP);
    logged(&mut daemon, "the configuration is unchanged", 1).await;
    assert_eq!(manager.told_before(), [""; 0], "a reload does not make it ready");
    answer.add_permits(1);
    let ready = manager.told().await;
    assert_eq!(ready, ["READY=1", "STATUS=ready; fake/fake answers"]);
    assert_eq!(daemon.logged("some channels wait for their platform"), 0);
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notify_sends_ready_and_life_while_a_platform_is_down() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Hello.")).await;
    let refusal = InjectedFault::Refuse(ApiError::new(502, "Bad Gateway"));
    platform.inject(On::any(), usize::MAX, refusal);
    let manager = Manager::of(telegram::home(&platform, &model));
    let mut command = manager.home.command(&["run"]);
    let daemon = DaemonProcess::spawn(command.env("WATCHDOG_USEC", WATCHDOG_USEC));
    let ready = manager.told_ready().await;
    assert!(ready.contains("telegram:main is down: ") && ready.contains("Bad Gateway"), "{ready}");
    for _ in 0..4 {
        manager.hears_life().await;
    }
    platform.clear_faults();
    manager.shows("STATUS=ready; fake/fake answers").await;
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notify_sends_the_queues_as_they_change() {
    let permits = held();
    let on_hold = permits.clone();
    let model = OpenAiFake::start(move |_| held_back(&on_hold, "Done.")).await;
    let manager = Manager::of(Home::new(program!()).with_config(&config(&model, "")));
    let _daemon = manager.starts(None).await;
    let chat = AttachedChat::join(&manager.home, "ann").await;
    chat.ask("Take your time.").await;
    manager.shows("fake/fake answers; 1 running").await;
    chat.ask("And this.").await;
    manager.shows("1 running, 1 queued").await;
    permits.add_permits(2);
    chat.reply().await;
    chat.reply().await;
    let mut last = String::new();
    while last != "STATUS=ready; fake/fake answers" {
        last = manager.told().await.concat();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchdog_is_notified_while_a_model_hangs() {
    let never = held();
    let model = OpenAiFake::start(move |_| held_back(&never, "Never.")).await;
    let manager = Manager::of(Home::new(program!()).with_config(&config(&model, "")));
    let _daemon = manager.starts(None).await;
    AttachedChat::join(&manager.home, "ann").await.ask("Take your time.").await;
    asked(&model, 1).await;
    manager.told_before();
    for _ in 0..4 {
        manager.hears_life().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchdog_is_not_notified_while_the_writer_is_stuck() {
    let manager = Manager::of(Home::new(program!()));
    let mut daemon = manager.starts(None).await;
    let held = LogLock::take(&manager.home);
    manager.hears_no_life(&mut daemon).await;
    drop(held);
    manager.hears_life().await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchdog_is_not_notified_while_the_writer_hangs() {
    let manager = Manager::of(Home::new(program!()));
    let mut daemon = manager.starts(Some("accept:after:1:hang")).await;
    asks_in_vain(&manager.home).await;
    manager.hears_no_life(&mut daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchdog_is_not_notified_while_the_lanes_hang() {
    let manager = Manager::of(Home::new(program!()));
    let mut daemon = manager.starts(Some("wake:before:1:hang")).await;
    asks_in_vain(&manager.home).await;
    manager.hears_no_life(&mut daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchdog_is_not_notified_if_the_manager_does_not_ask_for_it() {
    let not_watched: [&[(&str, &str)]; 2] =
        [&[], &[("WATCHDOG_USEC", WATCHDOG_USEC), ("WATCHDOG_PID", "1")]];
    for variables in not_watched {
        let home = variables
            .iter()
            .fold(Home::new(program!()), |home, (name, value)| home.with(name, value));
        let manager = Manager::of(home);
        let daemon = manager.home.daemon();
        assert_eq!(manager.told().await[0], "READY=1");
        let chat = AttachedChat::join(&manager.home, "ann").await;
        chat.ask("help").await;
        chat.reply().await;
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        assert!(!manager.told_before().contains(&ALIVE.to_owned()), "{variables:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notify_is_skipped_without_systemd() {
    let no_socket = [None, Some("nobody-listens-here")];
    for socket in no_socket {
        let model = first_and_then(|_| ModelAnswer::says("Hello."), |_| unreachable!()).await;
        let home = Home::new(program!()).with_config(&config(&model, ""));
        let home = match socket {
            Some(name) => {
                let path = home.path(name);
                home.with("NOTIFY_SOCKET", path.to_str().unwrap())
            }
            None => home,
        };
        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        chat.ask("Hello?").await;
        assert_eq!(chat.reply().await.text, "Hello.");
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        assert_eq!(log.contains("cannot notify systemd"), socket.is_some(), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_epoch_stops_the_daemon_for_a_restart_by_systemd() {
    let manager = Manager::of(Home::new(program!()));
    let daemon = manager.starts(None).await;
    LogLock::take(&manager.home).fence();
    let (status, log) = end(daemon).await;
    // `Restart=on-failure` starts it again.
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("belongs to epoch 2, this process to 1"), "{log}");
    assert!(manager.told_before().contains(&"STOPPING=1".to_owned()), "{log}");
}

/// Sends a question whose answer never comes. Returns when the question is in the log.
async fn asks_in_vain(home: &Home) {
    let client = connect(home).await;
    let ask = json!({ "session": "terminal:local:ann", "text": "help" });
    #[expect(clippy::disallowed_methods, reason = "no code waits for an answer")]
    tokio::spawn(async move { drop(client.call("ask", ask).await) });
    let count = "SELECT count(*) FROM inbound";
    until("the question in the log", async || number(home, count) == 1).await;
}
