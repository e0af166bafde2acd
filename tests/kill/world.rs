//! Everything outside of the program, put together, and what is to be said of it at the end.

use std::fmt;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use avocet_testkit::openai::OpenAiFake;
use avocet_tests::{Home, SINK};
use rusqlite::Connection;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::Shared;
use crate::model::{answer, content, file};
use crate::oracle::{Asked, Oracle};
use crate::person::{Person, pause};
use crate::states::Histogram;

pub(crate) struct World {
    pub(crate) home: Home,
    oracle: Shared,
    model: OpenAiFake,
    people: Vec<JoinHandle<()>>,
}

impl World {
    #[expect(clippy::disallowed_methods, reason = "people and the world are no part of the daemon")]
    pub(crate) async fn start(program: &'static str, people: usize) -> Self {
        let oracle = Arc::new(Oracle::default());
        let model = OpenAiFake::start(answer).await;
        let sink = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = format!(
            "[providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
             [agents.defaults]\nmodel = \"fake/fake\"\n",
            model.base_url()
        );
        let address = sink.local_addr().unwrap().to_string();
        let home = Home::new(program).with_config(&config).with(SINK, &address);
        tokio::spawn(receive(sink, oracle.clone()));
        let people = (0..people)
            .map(|number| tokio::spawn(Person::new(number, &home.socket(), oracle.clone()).talk()))
            .collect();
        Self { home, oracle, model, people }
    }

    /// Lets the daemon live for a while.
    pub(crate) async fn live(&self, time: Duration) {
        pause(time).await;
    }

    /// Runs a daemon that dies at a fail point; false if it does not, however long people talk.
    pub(crate) async fn dies(&self, mut command: Command, variable: &str, point: &str) -> bool {
        command.env(variable, point);
        let mut child = command.spawn().unwrap();
        for look in 0..2000_u32 {
            if child.try_wait().unwrap().is_some() {
                return true;
            }
            match look {
                // A wait begins when a daemon finds a call that was interrupted.
                300 | 600 | 900 if point.starts_with("wait") || point.starts_with("settle-c") => {
                    drop(child.kill());
                    child.wait().unwrap();
                    child = command.spawn().unwrap();
                }
                // A turn is given back when the daemon stops in order.
                400 if point.starts_with("release") => {
                    let pid = rustix::process::Pid::from_child(&child);
                    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
                }
                _ => {}
            }
            pause(Duration::from_millis(5)).await;
        }
        drop(child.kill());
        child.wait().unwrap();
        false
    }

    pub(crate) fn stop_talking(&self) {
        self.oracle.stop_talking();
    }

    /// Waits until everybody has heard an answer to everything.
    pub(crate) async fn everybody_is_answered(&self, patience: Duration) {
        let step = Duration::from_millis(20);
        let steps = patience.as_millis() / step.as_millis();
        for _ in 0..steps {
            if self.people.iter().all(JoinHandle::is_finished) {
                return;
            }
            pause(step).await;
        }
        // Who has not been answered is in the verdict.
    }

    pub(crate) fn verdict(&self, histogram: &Histogram) -> Verdict {
        let messages = self.oracle.messages();
        let of = |which: &dyn Fn(&Asked) -> bool| -> Vec<String> {
            let found = messages.iter().filter(|(_, asked)| which(asked));
            found.map(|(key, asked)| format!("{key} {asked:?}")).collect()
        };
        let written = messages.keys().filter(|key| {
            let path = self.home.workspace().join(file(key));
            path.exists() && fs::read_to_string(path).unwrap() != content(key)
        });
        let log = Connection::open(self.home.data_dir().join("avocet.db")).unwrap();
        let rows = |query: &str| -> Vec<String> {
            let mut statement = log.prepare(query).unwrap();
            statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let _ = histogram;
        Verdict {
            asked: messages.len(),
            failed: of(&|asked| asked.failed.is_some() && asked.replies + asked.marked == 0),
            lost: of(&|asked| !asked.is_answered()),
            doubled: of(&|asked| asked.replies > 1 || asked.notes > 1),
            too_often: of(&|asked| asked.replies + asked.marked > 2),
            marked: of(&|asked| asked.marked > 0 || asked.marked_notes > 0),
            reordered: self.oracle.reordered(),
            run_twice: of(&|asked| asked.posts > 1),
            posted: messages.values().map(|asked| asked.posts).sum(),
            badly_written: written.cloned().collect(),
            noted_twice: rows("SELECT text FROM notes GROUP BY text HAVING count(*) > 1"),
            without_outcome: rows("SELECT CAST(id AS TEXT) FROM inbound WHERE outcome IS NULL"),
            invalid: self.model.refusals(),
            surprises: self.oracle.surprises(),
        }
    }
}

/// Counts what the tool `post` does to the world, and takes its time.
async fn receive(sink: TcpListener, oracle: Shared) {
    loop {
        let (stream, _) = sink.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        if stream.read_line(&mut line).await.is_ok()
            && let Some(key) = line.split_whitespace().next()
        {
            oracle.count(key, |asked| asked.posts += 1);
            pause(Duration::from_millis(3)).await;
            drop(stream.get_mut().write_all(b"posted\n").await);
        }
    }
}

/// What is to be said of a run.
pub(crate) struct Verdict {
    asked: usize,
    failed: Vec<String>,
    lost: Vec<String>,
    doubled: Vec<String>,
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

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, posted, .. } = self;
        writeln!(f, "{asked} messages were accepted, {posted} effects took place.")?;
        writeln!(f, "{:5} lost", self.lost.len())?;
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

impl Verdict {
    pub(crate) fn check(&self) {
        let none: [String; 0] = [];
        assert_eq!(self.lost, none, "lost");
        assert_eq!(self.doubled, none, "doubled without a mark");
        assert_eq!(self.too_often, none, "more than two copies");
        assert_eq!(self.reordered, none, "reordered");
        assert_eq!(self.run_twice, none, "effects twice");
        assert_eq!(self.noted_twice, none, "noted twice");
        assert_eq!(self.badly_written, none, "badly written");
        assert_eq!(self.without_outcome, none, "accepted and without an outcome");
        assert_eq!(self.invalid, none, "invalid histories");
        assert_eq!(self.surprises, none, "surprises");
        assert!(self.failed.len() * 100 <= self.asked, "failed: {:#?}", self.failed);
    }
}
