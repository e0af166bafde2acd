//! Everything outside of the program, and the verdict about a run.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
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
use crate::model::{answer, content, file};
use crate::oracle::{AskedMessage, Oracle, key, parse};
use crate::person::{SimulatedPerson, pause};
use crate::platform::ChatPlatform;

/// The duration of the effect of the tool `post`.
const EFFECT: Duration = Duration::from_millis(15);

/// The longest life of a daemon without enough requests.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

pub(crate) struct World {
    pub(crate) home: Home,
    oracle: SharedOracle,
    model: OpenAiFake,
    /// Each platform with the numbers of its people.
    platforms: Vec<(Arc<ChatPlatform>, Range<usize>)>,
    people: Vec<JoinHandle<()>>,
}

impl World {
    /// Starts people who talk over the socket.
    #[expect(clippy::disallowed_methods, reason = "people are no part of the daemon")]
    pub(crate) async fn start(program: &'static str, people: usize, seed: u64) -> Self {
        let mut world = Self::without_people(program, "", seed).await;
        let person =
            |number| SimulatedPerson::new(number, &world.home.socket(), world.oracle.clone());
        world.people = (0..people).map(|number| tokio::spawn(person(number).talk())).collect();
        world
    }

    /// Starts `people` people on each of the platforms.
    #[expect(clippy::disallowed_methods, reason = "people are no part of the daemon")]
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

    #[expect(clippy::disallowed_methods, reason = "the world is no part of the daemon")]
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
            "[providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
             [agents.defaults]\nmodel = \"fake/fake\"\n[daemon]\ndrain_seconds = 0\n{channels}",
            model.base_url()
        );
        let address = sink.local_addr().unwrap().to_string();
        let home = Home::new(program).with_config(&config).with(SINK, &address);
        tokio::spawn(receive(sink, oracle.clone()));
        Self { home, oracle, model, platforms: Vec::new(), people: Vec::new() }
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

    /// Lets the daemon live for this number of requests to the model. Gives up after
    /// `LONGEST_SILENCE`, since all may be waiting for people who think.
    pub(crate) async fn live(&self, requests: u64) {
        let mut made = self.oracle.requests.subscribe();
        let until = *made.borrow() + requests;
        tokio::select! {
            _ = made.wait_for(|made| *made >= until) => {}
            () = pause(LONGEST_SILENCE) => {}
        }
    }

    /// Runs a daemon that dies at a fail point. Returns `false` if it survives all that people say.
    pub(crate) async fn dies_at(&self, point: &str) -> bool {
        let write = point.split(':').next().unwrap();
        if matches!(write, "reserve-wait" | "wait" | "settle-command") {
            self.interrupt_a_post().await;
        }
        let mut command = self.home.command(&["run"]);
        let mut daemon = DaemonProcess::spawn(command.env(FAIL_POINT, point));
        if write == "release" {
            // An orderly stop releases a turn that it cuts short.
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

    pub(crate) fn stop_talking(&self) {
        self.oracle.stop_talking();
    }

    /// Waits until everybody has an answer to everything.
    pub(crate) async fn everybody_is_answered(&self, patience: Duration) {
        let step = Duration::from_millis(20);
        let steps = patience.as_millis() / step.as_millis();
        for _ in 0..steps {
            if self.people.iter().all(JoinHandle::is_finished) {
                return;
            }
            pause(step).await;
        }
        // The verdict names the people without an answer.
    }

    pub(crate) fn verdict(&self) -> RunVerdict {
        let messages = self.oracle.messages();
        let of = |which: &dyn Fn(&AskedMessage) -> bool| -> Vec<String> {
            let found = messages.iter().filter(|(_, asked)| which(asked));
            found.map(|(key, asked)| format!("{key} {asked:?}")).collect()
        };
        let log = Connection::open(self.home.data_dir().join("avocet.db")).unwrap();
        let recorded = recorded(&log);
        let ends = messages.iter().map(|(key, asked)| (key, asked, end(key, asked, &recorded)));
        let ends: Vec<_> = ends.collect();
        let with = |end: MessageEnd| -> Vec<String> {
            let found = ends.iter().filter(|(_, _, found)| *found == end);
            found
                .map(|(key, asked, _)| format!("{key} {asked:?} {:?}", recorded.get(*key)))
                .collect()
        };
        let (commands, replies, marked_replies) = self.oracle.commands();
        let written = messages.keys().filter(|key| {
            let path = self.home.workspace().join(file(key));
            path.exists() && fs::read_to_string(path).unwrap() != content(key)
        });
        let rows = |query: &str| -> Vec<String> {
            let mut statement = log.prepare(query).unwrap();
            statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let never_doubles = |key: &str| {
            let (person, _) = parse(key).unwrap();
            let mut platforms = self.platforms.iter();
            let its = platforms.find(|(_, people)| people.contains(&person));
            its.is_some_and(|(platform, _)| platform.never_doubles())
        };
        let twice = messages.iter().filter(|(key, asked)| {
            let most = asked.replies + asked.marked;
            most.max(asked.notes + asked.marked_notes) > 1 && never_doubles(key)
        });
        let mut surprises = self.oracle.surprises();
        let unfinished = self.oracle.unfinished().into_iter();
        let is_stopped = |key: &String| recorded.get(key).is_some_and(|end| end == "stopped");
        surprises.extend(unfinished.filter(|(key, _)| !is_stopped(key)).map(|(_, text)| text));
        if !(replies..=replies + marked_replies).contains(&commands) {
            let marked = marked_replies;
            surprises.push(format!("{commands} commands, {replies} replies, {marked} marked"));
        }
        surprises.extend(self.platforms.iter().flat_map(|(platform, _)| platform.complaints()));
        RunVerdict {
            asked: messages.len(),
            failed: of(&|asked| asked.failed.is_some() && asked.replies + asked.marked == 0),
            lost: with(MessageEnd::Lost),
            mistold: with(MessageEnd::Mistold),
            stopped: with(MessageEnd::Stopped).len(),
            replaced: with(MessageEnd::Replaced).len(),
            commands,
            doubled: of(&|asked| asked.replies > 1 || asked.notes > 1),
            twice_where_never: twice.map(|(key, asked)| format!("{key} {asked:?}")).collect(),
            too_often: of(&|asked| asked.replies + asked.marked > 2),
            marked: of(&|asked| asked.marked > 0 || asked.marked_notes > 0),
            reordered: self.oracle.reordered(),
            run_twice: of(&|asked| asked.posts > 1),
            posted: messages.values().map(|asked| asked.posts).sum(),
            badly_written: written.cloned().collect(),
            noted_twice: rows("SELECT text FROM notes GROUP BY text HAVING count(*) > 1"),
            without_outcome: rows("SELECT CAST(id AS TEXT) FROM inbound WHERE outcome IS NULL"),
            invalid: self.model.refusals(),
            surprises,
        }
    }
}

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageEnd {
    /// The person has read its reply, or a notice that names it.
    Told,
    /// The log says that the sender ended its turn, which the sender may have.
    Stopped,
    /// It was replaced by an edit, or is an edit that came after the message was over.
    Replaced,
    Mistold,
    Lost,
}

/// Returns the outcomes of the messages in the log, by their keys.
fn recorded(log: &Connection) -> BTreeMap<String, String> {
    let sql = "SELECT json_extract(content, '$.text'), coalesce(outcome, 'open') FROM inbound \
               WHERE kind = 'text'";
    let mut statement = log.prepare(sql).unwrap();
    let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get(1)?))).unwrap();
    let by_key = |(text, outcome): (String, String)| {
        Some((text.split_whitespace().next()?.to_owned(), outcome))
    };
    rows.map(Result::unwrap).filter_map(by_key).collect()
}

fn end(this: &str, asked: &AskedMessage, recorded: &BTreeMap<String, String>) -> MessageEnd {
    let was_read = asked.replies + asked.marked > 0;
    // A send whose outcome stays unknown is reported: the notice names the message.
    let is_unconfirmed =
        asked.failed.as_deref().is_some_and(|text| text.starts_with("I could not confirm"));
    match recorded.get(this).map(String::as_str) {
        Some("replied" | "merged") if was_read || is_unconfirmed => MessageEnd::Told,
        Some("error" | "dropped") if asked.failed.is_some() => MessageEnd::Told,
        Some("stopped") if asked.may_be_stopped => MessageEnd::Stopped,
        Some("replied" | "merged" | "error" | "dropped") if asked.is_answered() => {
            MessageEnd::Mistold
        }
        Some("stopped") => MessageEnd::Mistold,
        Some(_) => MessageEnd::Lost,
        None => {
            let (person, _) = parse(this).unwrap();
            let other = asked.edit_of.or(asked.edited_by);
            match other.and_then(|other| recorded.get(&key(person, other))) {
                Some(_) => MessageEnd::Replaced,
                None => MessageEnd::Lost,
            }
        }
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
            oracle.count(key, |asked| asked.posts += 1);
            oracle.posts.pass().await;
            pause(EFFECT).await;
            drop(stream.get_mut().write_all(b"posted\n").await);
        }
    }
}

/// The verdict about a run.
pub(crate) struct RunVerdict {
    asked: usize,
    failed: Vec<String>,
    lost: Vec<String>,
    /// Messages with different ends in the log and in the chat.
    mistold: Vec<String>,
    /// Ended by `/stop`, `/new` or an interrupting message.
    stopped: usize,
    /// Messages that an edit replaced in time, and edits that came too late.
    replaced: usize,
    commands: u64,
    doubled: Vec<String>,
    /// Marked copies on a platform that recognises repetitions.
    twice_where_never: Vec<String>,
    too_often: Vec<String>,
    marked: Vec<String>,
    reordered: Vec<String>,
    run_twice: Vec<String>,
    posted: u32,
    badly_written: Vec<String>,
    noted_twice: Vec<String>,
    without_outcome: Vec<String>,
    invalid: Vec<String>,
    surprises: Vec<String>,
}

impl fmt::Display for RunVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, posted, commands, stopped, replaced, .. } = self;
        writeln!(
            f,
            "{asked} messages and {commands} commands were said, {posted} effects took place."
        )?;
        writeln!(f, "{:5} lost", self.lost.len())?;
        writeln!(f, "{:5} with another end in the log than in the chat", self.mistold.len())?;
        writeln!(f, "{stopped:5} stopped or interrupted by their sender")?;
        writeln!(f, "{replaced:5} replaced by an edit, or edits that came too late")?;
        writeln!(f, "{:5} doubled without a mark", self.doubled.len())?;
        writeln!(f, "{:5} sent again with the mark", self.marked.len())?;
        writeln!(f, "{:5} reordered", self.reordered.len())?;
        writeln!(f, "{:5} effects twice", self.run_twice.len() + self.noted_twice.len())?;
        writeln!(f, "{:5} invalid histories", self.invalid.len())?;
        let failed = self.failed.len();
        let share = 100.0 * (*asked - failed) as f64 / (*asked).max(1) as f64;
        write!(f, "{failed:5} ended in an error or were dropped: {share:.2}% got the real answer")
    }
}

impl RunVerdict {
    /// Panics on every fault, and if too many messages ended in an error or were dropped. Those
    /// were reported to their senders.
    pub(crate) fn check(&self, most_failed_percent: usize) {
        let none: [String; 0] = [];
        assert_eq!(self.lost, none, "lost");
        assert_eq!(self.mistold, none, "another end in the log than in the chat");
        assert_eq!(self.doubled, none, "doubled without a mark");
        assert_eq!(self.twice_where_never, none, "two copies where there is never a second");
        assert_eq!(self.too_often, none, "more than two copies");
        assert_eq!(self.reordered, none, "reordered");
        assert_eq!(self.run_twice, none, "effects twice");
        assert_eq!(self.noted_twice, none, "noted twice");
        assert_eq!(self.badly_written, none, "badly written");
        assert_eq!(self.without_outcome, none, "accepted and without an outcome");
        assert_eq!(self.invalid, none, "invalid histories");
        assert_eq!(self.surprises, none, "surprises");
        let most = self.asked * most_failed_percent;
        assert!(self.failed.len() * 100 <= most, "failed: {:#?}", self.failed);
    }
}
