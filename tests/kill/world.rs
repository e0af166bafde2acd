//! Everything outside of the program.

use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use avocet_testkit::openai::OpenAiFake;
use avocet_tests::{DaemonProcess, FAIL_POINT, Home, SINK};
use rusqlite::Connection;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::SharedOracle;
use crate::crowd::talk;
use crate::model::answer;
use crate::oracle::{Oracle, parse};
use crate::person::{SimulatedPerson, pause};
use crate::planner::{Planner, WORKER};
use crate::platform::ChatPlatform;
use crate::subscriber::Subscriber;
use crate::work::parse_work;

/// The duration of the effect of the tool `post`.
const EFFECT: Duration = Duration::from_millis(15);

/// The longest life of a daemon without enough requests.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) oracle: SharedOracle,
    pub(crate) model: OpenAiFake,
    /// Each platform with the numbers of its people.
    platforms: Vec<(Arc<ChatPlatform>, Range<usize>)>,
    people: Vec<JoinHandle<()>>,
    planners: Vec<JoinHandle<()>>,
}

/// Returns `true` if a write happens only after an effect was interrupted: `World::dies_at` kills two
/// daemons for it.
pub(crate) fn needs_an_earlier_kill(write: &str) -> bool {
    matches!(write, "reserve-wait" | "wait" | "settle-command")
}

impl World {
    /// Starts people who talk over the socket.
    #[expect(clippy::disallowed_methods, reason = "people are not part of the daemon")]
    pub(crate) async fn start(program: &'static str, people: usize, seed: u64) -> Self {
        let mut world = Self::without_people(program, "", seed).await;
        let person =
            |number| SimulatedPerson::new(number, &world.home.socket(), world.oracle.clone());
        world.people = (0..people).map(|number| tokio::spawn(person(number).talk())).collect();
        world
    }

    /// Adds people who give the agent work over the socket.
    #[expect(clippy::disallowed_methods, reason = "people are not part of the daemon")]
    pub(crate) fn with_planners(mut self, planners: usize) -> Self {
        let planner = |number| Planner::new(number, &self.home.socket(), self.oracle.clone());
        self.planners = (0..planners).map(|number| tokio::spawn(planner(number).plan())).collect();
        self
    }

    /// Starts `people` people on each of the platforms.
    #[expect(clippy::disallowed_methods, reason = "people are not part of the daemon")]
    pub(crate) async fn on_platforms(program: &'static str, people: usize, seed: u64) -> Self {
        let telegram = (ChatPlatform::telegram().await, 0..people);
        let discord = (ChatPlatform::discord(people..2 * people).await, people..2 * people);
        let platforms = [telegram, discord].map(|(platform, people)| (Arc::new(platform), people));
        let config: String =
            platforms.iter().map(|(platform, people)| platform.config(people.clone())).collect();
        let mut world = Self::without_people(program, &config, seed).await;
        for (platform, people) in platforms {
            let talk = talk(platform.clone(), people.clone(), world.oracle.clone());
            world.people.push(tokio::spawn(talk));
            world.platforms.push((platform, people));
        }
        world
    }

    /// Starts people on Telegram, which posts their messages to the daemon.
    #[expect(clippy::disallowed_methods, reason = "people are not part of the daemon")]
    pub(crate) async fn behind_a_webhook(program: &'static str, people: usize, seed: u64) -> Self {
        let (platform, people) = (ChatPlatform::telegram().await, 0..people);
        let config = format!("{}{}", platform.config(people.clone()), platform.post_updates());
        let platform = Arc::new(platform);
        let mut world = Self::without_people(program, &config, seed).await;
        let talk = talk(platform.clone(), people.clone(), world.oracle.clone());
        world.people.push(tokio::spawn(talk));
        world.platforms.push((platform, people));
        world
    }

    #[expect(clippy::disallowed_methods, reason = "the world is not part of the daemon")]
    async fn without_people(program: &'static str, channels: &str, seed: u64) -> Self {
        let oracle = Arc::new(Oracle::default());
        oracle.set_seed(seed);
        let counted = oracle.clone();
        let model = OpenAiFake::start(move |request| {
            counted.requests.send_modify(|requests| *requests += 1);
            answer(request)
        })
        .await;
        let sink = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = format!(
            "[models.\"fake/*\"]\ncontext = 65_536\n\
         [providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
             [agents.defaults]\nmodel = \"fake/fake\"\n[agents.{WORKER}]\n[daemon]\ndrain_seconds = 0\n{channels}",
            model.base_url()
        );
        let address = sink.local_addr().unwrap().to_string();
        let home = Home::new(program).with_config(&config).with(SINK, &address);
        tokio::spawn(receive(sink, oracle.clone()));
        let (platforms, people, planners) = (Vec::new(), Vec::new(), Vec::new());
        Self { home, oracle, model, platforms, people, planners }
    }

    /// Kills a daemon, and waits until the platforms have seen that it is gone.
    pub(crate) async fn kill(&self, daemon: DaemonProcess) {
        daemon.kill();
        for (platform, _) in &self.platforms {
            platform.sees_it_gone().await;
        }
    }

    /// Returns the number of times the daemons have identified themselves.
    pub(crate) fn identifies(&self) -> usize {
        self.platforms.iter().filter_map(|(platform, _)| platform.identifies()).sum()
    }

    /// Lets the daemon live for this number of requests to the model, but at most for
    /// `LONGEST_SILENCE`: all turns may be waiting for people.
    pub(crate) async fn live(&self, requests: u64) {
        let mut made = self.oracle.requests.subscribe();
        let until = *made.borrow() + requests;
        tokio::select! {
            _ = made.wait_for(|made| *made >= until) => {}
            () = pause(LONGEST_SILENCE) => {}
        }
    }

    /// Runs a daemon that dies at a fail point. Returns `false` if no message makes it reach the
    /// point.
    pub(crate) async fn dies_at(&self, point: &str) -> bool {
        let write = point.split(':').next().unwrap();
        if needs_an_earlier_kill(write) {
            self.interrupt_a_post().await;
        }
        let mut command = self.home.command(&["run"]);
        let mut daemon = DaemonProcess::spawn(command.env(FAIL_POINT, point));
        if write == "release" {
            // An orderly stop releases an unfinished turn.
            self.oracle.posts.hold().await;
            daemon.signal(Signal::TERM);
        }
        let died = self.is_killed(&mut daemon).await;
        self.oracle.posts.let_go();
        died
    }

    /// Leaves a log with a started effect without an end: its turn will wait for a choice.
    async fn interrupt_a_post(&self) {
        let daemon = self.home.spawn(&["run"]);
        self.oracle.posts.hold().await;
        daemon.kill();
        self.oracle.posts.let_go();
    }

    async fn is_killed(&self, daemon: &mut DaemonProcess) -> bool {
        for _ in 0..3000_u32 {
            if let Some(status) = daemon.ended() {
                return status.signal() == Some(Signal::KILL.as_raw());
            }
            pause(Duration::from_millis(10)).await;
        }
        false
    }

    /// Returns the faults that the platforms themselves have seen.
    pub(crate) fn complaints(&self) -> impl Iterator<Item = String> {
        self.platforms.iter().flat_map(|(platform, _)| platform.complaints())
    }

    /// Returns `true` if the platform of a message recognises repetitions.
    pub(crate) fn never_doubles(&self, key: &str) -> bool {
        let (person, _) = parse(key).unwrap();
        let mut platforms = self.platforms.iter();
        let its = platforms.find(|(_, people)| people.contains(&person));
        its.is_some_and(|(platform, _)| platform.never_doubles())
    }

    pub(crate) fn stop_talking(&self) {
        self.oracle.stop_talking();
    }

    /// Waits until everybody has an answer to everything, and no work is open.
    pub(crate) async fn everybody_is_answered(&self, patience: Duration) {
        let step = Duration::from_millis(20);
        let steps = patience.as_millis() / step.as_millis();
        for _ in 0..steps {
            let everybody = self.people.iter().all(JoinHandle::is_finished);
            if everybody && (self.planners.is_empty() || self.all_work_is_over()) {
                break;
            }
            pause(step).await;
        }
        // The verdict names the people without an answer, and the open work.
        self.oracle.work.end();
        while !self.planners.iter().all(JoinHandle::is_finished) {
            pause(step).await;
        }
    }

    /// Waits until a subscriber has printed the newest event.
    pub(crate) async fn newest_event_is(&self, subscriber: &Subscriber) {
        let log = Connection::open(self.home.data_dir().join("avocet.db")).unwrap();
        let newest = "SELECT max(seq) FROM events";
        for _ in 0..3000_u32 {
            let newest: i64 = log.query_row(newest, (), |row| row.get(0)).unwrap();
            if subscriber.newest() == newest {
                return;
            }
            pause(Duration::from_millis(10)).await;
        }
        panic!("the subscriber does not print the newest event");
    }

    /// Returns `true` if the log holds no message, turn, delivery or time that is still to come,
    /// but for the recurring reminder.
    fn all_work_is_over(&self) -> bool {
        const OPEN: &str = "SELECT 1 FROM inbound WHERE outcome IS NULL \
             UNION ALL SELECT 1 FROM turns WHERE state IN ('queued', 'running', 'waiting') \
             UNION ALL SELECT 1 FROM outbox WHERE state IN ('pending', 'sending', 'unknown') \
             UNION ALL SELECT 1 FROM schedules WHERE state = 'active' AND body <> 'tick'";
        let log = Connection::open(self.home.data_dir().join("avocet.db")).unwrap();
        !log.prepare(OPEN).unwrap().exists(()).unwrap()
    }
}

/// Counts the effects of the tool `post`, each of which takes a moment.
async fn receive(sink: TcpListener, oracle: SharedOracle) {
    loop {
        let (stream, _) = sink.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        if stream.read_line(&mut line).await.is_ok()
            && let Some(key) = line.split_whitespace().next()
        {
            match parse_work(key) {
                Some(_) => oracle.work.effect(key),
                None => oracle.count(key, |asked| asked.posts += 1),
            }
            oracle.posts.pass().await;
            pause(EFFECT).await;
            drop(stream.get_mut().write_all(b"posted\n").await);
        }
    }
}
