//! A program in Python is a channel for ten chats, over the socket or as a child of the daemon. The
//! daemon, the program, or both are killed at random. No message is lost without a report, and no
//! answer is doubled without a mark.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command};
use std::time::Duration;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{DaemonProcess, Home, child, program};
use serde_json::{Value, json};

use crate::person::pause;
use crate::random::{Random, seed};
use crate::{show, variable};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/channel.py");
const CHATS: usize = 10;
/// The default numbers of kills.
const KILLS: u64 = 50;
const KILLS_OF_A_CHILD: u64 = 8;
/// The longest time between two kills.
const LONGEST_LIFE: Duration = Duration::from_millis(1500);
/// The time between two looks at the answers after the last kill, and the number of looks.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
const LOOKS: usize = 600;
/// The mark that the program puts before a repetition.
const MARK: &str = "(again) ";

/// A daemon and its program, with the files that are the program's platform.
struct TenChats {
    way: ProgramWay,
    home: Home,
    asked: usize,
    daemon: Option<DaemonProcess>,
    program: Option<RunningProgram>,
}

/// The way in which the program reaches the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgramWay {
    Socket,
    Child,
}

/// The running program. Dropping it kills the program.
struct RunningProgram(Child);

impl Drop for RunningProgram {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A model that answers with the name of the question.
fn names_the_question(request: &Value) -> ModelAnswer {
    let text = last_user_text(request);
    let name = text.split_whitespace().last().unwrap_or_default();
    ModelAnswer::says(format!("answer to {name}"))
}

/// The name of a question: no name is a part of another.
fn question(chat: usize, number: usize) -> String {
    format!("c{chat}q{number}.")
}

impl TenChats {
    fn start(model: &OpenAiFake, way: ProgramWay) -> Self {
        let config = format!(
            "[models.\"fake/*\"]\ncontext = 65_536\n\
             [providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
             [agents.defaults]\nmodel = \"fake/fake\"\n\
             [channels.external.files]\nallow = [\"ann\"]\n",
            model.base_url()
        );
        let home = Home::new(program!());
        let program = match way {
            ProgramWay::Socket => String::new(),
            ProgramWay::Child => child::keys_of_channel_py(&home),
        };
        let home = home.with_config(&format!("{config}{program}"));
        fs::create_dir(home.path(child::PLATFORM)).unwrap();
        for file in child::FILES {
            File::create(home.path(file)).unwrap();
        }
        let mut chats = Self { way, home, asked: 0, daemon: None, program: None };
        chats.start_the_dead();
        chats
    }

    fn start_the_dead(&mut self) {
        if self.daemon.is_none() {
            self.daemon = Some(self.home.spawn(&["run"]));
        }
        if self.program.is_none() && self.way == ProgramWay::Socket {
            let mut command = Command::new("python3");
            let files = child::FILES.map(|file| self.home.path(file));
            command.arg(PROGRAM).arg(self.home.socket()).arg("files").args(files);
            self.program = Some(RunningProgram(command.spawn().unwrap()));
        }
    }

    /// The person of each chat asks the next question.
    fn ask_in_each_chat(&mut self) {
        self.asked += 1;
        let mut inbox = File::options().append(true).open(self.home.path(child::FILES[0])).unwrap();
        for chat in 0..CHATS {
            let question = question(chat, self.asked);
            let message = json!({
                "chat": format!("c{chat}"), "sender": "ann", "key": question, "text": question,
            });
            inbox.write_all(format!("{message}\n").as_bytes()).unwrap();
        }
    }

    /// Kills the daemon, the program, or both.
    fn kill(&mut self, random: &mut Random) {
        let victim = random.below(3);
        if victim != 0 {
            self.program = None;
            if let (ProgramWay::Child, Some(daemon)) = (self.way, &self.daemon) {
                child::kill_python_below(daemon.pid());
            }
        }
        if victim != 1 {
            self.daemon.take().map(DaemonProcess::kill);
        }
    }

    /// The numbers of plain and of marked answers, by text without the mark.
    fn answers(&self) -> BTreeMap<String, (usize, usize)> {
        let mut answers = BTreeMap::<String, (usize, usize)>::new();
        for line in fs::read_to_string(self.home.path(child::FILES[1])).unwrap().lines() {
            // A kill may have cut a line.
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let text = line["text"].as_str().unwrap();
            match text.strip_prefix(MARK) {
                None => answers.entry(text.to_owned()).or_default().0 += 1,
                Some(text) => answers.entry(text.to_owned()).or_default().1 += 1,
            }
        }
        answers
    }

    /// The failed messages that the daemon lists.
    fn reported(&self) -> String {
        let ran = self.home.run(&["dead", "list", "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    }
}

/// The result of a run.
#[derive(Debug, Default)]
struct ChannelVerdict {
    answered: usize,
    /// Repetitions with a mark.
    marked: usize,
    /// Listed by `avocet dead list`.
    reported: usize,
    doubled: Vec<String>,
    lost: Vec<String>,
}

impl ChannelVerdict {
    fn new(chats: &TenChats) -> Self {
        let (answers, mut verdict) = (chats.answers(), Self::default());
        for number in 1..=chats.asked {
            for chat in 0..CHATS {
                let question = question(chat, number);
                let found = answers.get(&format!("answer to {question}"));
                let (plain, marked) = found.copied().unwrap_or_default();
                verdict.answered += usize::from(plain + marked > 0);
                verdict.marked += marked;
                if plain > 1 {
                    verdict.doubled.push(question);
                } else if plain + marked == 0 {
                    verdict.lost.push(question);
                }
            }
        }
        if !verdict.lost.is_empty() {
            let reported = chats.reported();
            let all = verdict.lost.len();
            verdict.lost.retain(|question| !reported.contains(question));
            verdict.reported = all - verdict.lost.len();
        }
        verdict
    }
}

impl fmt::Display for ChannelVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answered, marked, reported, doubled, lost } = self;
        write!(
            f,
            "ten chats of a program: {answered} answered, {marked} repetitions with a mark, \
             {reported} reported as failed, doubled: {doubled:?}, lost: {lost:?}"
        )
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_of_a_channel_program_and_the_daemon_loses_nothing_and_marks_repetitions() {
    kill_program_and_daemon(ProgramWay::Socket, KILLS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_of_a_child_channel_and_the_daemon_loses_nothing_and_marks_repetitions() {
    kill_program_and_daemon(ProgramWay::Child, KILLS_OF_A_CHILD).await;
}

async fn kill_program_and_daemon(way: ProgramWay, kills: u64) {
    let seed = variable("AVOCET_SEED", seed());
    let kills = variable("AVOCET_KILLS", kills);
    show(&format!("{kills} kills of a program or the daemon with AVOCET_SEED={seed}"));
    let mut random = Random::new(seed);
    let model = OpenAiFake::start(names_the_question).await;
    let mut chats = TenChats::start(&model, way);
    for _ in 0..kills {
        chats.ask_in_each_chat();
        pause(random.part_of(LONGEST_LIFE)).await;
        chats.kill(&mut random);
        chats.start_the_dead();
    }
    chats.daemon.as_mut().unwrap().wait_until_ready();
    let mut verdict = ChannelVerdict::new(&chats);
    for _ in 0..LOOKS {
        if verdict.lost.is_empty() {
            break;
        }
        pause(LOOK_AGAIN).await;
        verdict = ChannelVerdict::new(&chats);
    }
    show(&verdict.to_string());
    assert!(verdict.lost.is_empty() && verdict.doubled.is_empty(), "{verdict}");
    assert!(verdict.answered > CHATS, "{verdict}");
    let (status, log) = chats.daemon.take().unwrap().stop();
    assert!(status.success(), "{log}");
}
