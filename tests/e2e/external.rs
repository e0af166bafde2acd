//! A program in Python that is a channel for ten chats: it is answered like any other channel, and
//! when it and the daemon are killed at random, no message is lost, and none doubled without a mark.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command};
use std::time::Duration;

use avocet_tests::{DaemonProcess, Home, program};
use serde_json::{Value, json};

use crate::support::{printed, printed_json, status, stop, until};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/channel.py");
const CONFIG: &str = "[channels.external.files]\nallow = [\"ann\"]\nowners = [\"bob\"]\n";
const CHATS: usize = 10;
/// The default number of kills.
const KILLS: u64 = 25;
/// The longest time between two kills.
const LONGEST_LIFE: Duration = Duration::from_millis(1500);

/// The home of a daemon and of its program, with the files that are the program's platform.
struct Platform {
    home: Home,
    asked: Vec<usize>,
}

impl Platform {
    fn new(config: &str) -> Self {
        let home = Home::new(program!()).with_config(config);
        for file in ["inbox", "outbox"] {
            File::create(home.path(file)).unwrap();
        }
        Self { home, asked: vec![0; CHATS] }
    }

    /// Starts the program.
    fn program(&self) -> Program {
        let mut command = Command::new("python3");
        let files = [self.home.path("inbox"), self.home.path("outbox")];
        command.arg(PROGRAM).arg(self.home.socket()).arg("files").args(files);
        Program(command.spawn().unwrap())
    }

    /// A person writes a message.
    fn write(&self, chat: &str, sender: &str, key: &str, text: &str) {
        let mut inbox = File::options().append(true).open(self.home.path("inbox")).unwrap();
        let message = json!({"chat": chat, "sender": sender, "key": key, "text": text});
        inbox.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// The person of each chat asks the next question, whose answer names its number.
    fn ask_in_each_chat(&mut self) {
        for chat in 0..CHATS {
            self.asked[chat] += 1;
            let number = self.asked[chat];
            self.write(
                &format!("c{chat}"),
                "ann",
                &format!("k{number}"),
                &format!("count to {number}"),
            );
        }
    }

    /// The messages of the agent by chat, in their order.
    fn answers(&self) -> BTreeMap<String, Vec<String>> {
        let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // A kill may have cut the last line.
        let read = fs::read_to_string(self.home.path("outbox")).unwrap();
        for line in read.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let chat = line["chat"].as_str().unwrap().to_owned();
            answers.entry(chat).or_default().push(line["text"].as_str().unwrap().to_owned());
        }
        answers
    }
}

/// The running program. Dropping it kills the program.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The answer to the question with this number.
fn answer(number: usize) -> String {
    let numbers: Vec<String> = (1..=number).map(|number| number.to_string()).collect();
    format!("{}.", numbers.join(", "))
}

#[test]
fn external_program_serves_ten_chats_in_order() {
    let mut platform = Platform::new(CONFIG);
    let daemon = platform.home.daemon();
    assert!(status(&platform.home).to_string().contains("no program is attached"));
    for _ in 0..3 {
        platform.ask_in_each_chat();
    }
    let program = platform.program();
    let answers = until("the answers", || {
        let answers = platform.answers();
        (answers.values().map(Vec::len).sum::<usize>() == 3 * CHATS).then_some(answers)
    });
    assert_eq!(answers.len(), CHATS);
    for (chat, texts) in answers {
        assert_eq!(texts, [answer(1), answer(2), answer(3)], "{chat}");
    }
    assert!(!status(&platform.home).to_string().contains("no program is attached"));

    let shown = printed(&platform.home, &["sessions", "show", "external:files:c0"]);
    assert!(shown.contains("ann"), "{shown}");
    platform.write("secret", "eve", "1", "count to 3");
    let code = until("the pairing code", || platform.answers().remove("external:files:secret"));
    assert!(code[0].contains("pair"), "{code:?}");
    // Without the program, its messages wait.
    drop(program);
    until("the end of the program", || {
        status(&platform.home).to_string().contains("no program is attached").then_some(())
    });
    printed(&platform.home, &["send", "external:files:c3", "are you there?"]);
    let _program = platform.program();
    until("the message", || {
        let texts = platform.answers().remove("external:files:c3")?;
        (texts.last()? == "are you there?").then_some(())
    });
    stop(daemon);
}

#[test]
fn external_program_and_daemon_killed_at_random_lose_nothing_and_mark_repetitions() {
    let seed = variable("AVOCET_SEED", fresh_seed());
    let kills = variable("AVOCET_KILLS", KILLS);
    show(&format!("{kills} kills with AVOCET_SEED={seed}"));
    let mut random = Random::new(seed);
    let mut platform = Platform::new(CONFIG);
    let (mut daemon, mut program) = (Some(platform.home.daemon()), Some(platform.program()));
    for _ in 0..kills {
        platform.ask_in_each_chat();
        pause(Duration::from_millis(random.below(LONGEST_LIFE.as_millis() as u64)));
        // The daemon, the program, or both.
        let victim = random.below(3);
        if victim != 0 {
            drop(program.take());
        }
        if victim != 1 {
            daemon.take().map(DaemonProcess::kill);
        }
        daemon = daemon.or_else(|| Some(platform.home.spawn(&["run"])));
        program = program.or_else(|| Some(platform.program()));
    }
    let mut verdict = Verdict::default();
    until("the last answers", || {
        verdict = Verdict::of(&platform);
        (verdict.missing == 0).then_some(())
    });
    show(&format!("{verdict:?}"));
    assert_eq!((verdict.doubled, verdict.foreign), (0, 0), "{verdict:?}");
    assert!(verdict.answered > CHATS, "{verdict:?}");
    stop(daemon.unwrap());
}

/// The result of a run. Each question has one answer, or is listed as failed.
#[derive(Debug, Default)]
struct Verdict {
    answered: usize,
    /// Repetitions with a mark.
    marked: usize,
    /// Listed by `avocet dead list`, because both sends ended with an unknown outcome.
    unconfirmed: usize,
    doubled: usize,
    missing: usize,
    /// Answers without a question.
    foreign: usize,
}

impl Verdict {
    fn of(platform: &Platform) -> Self {
        let mut verdict = Self::default();
        let mut answers = platform.answers();
        let mut without: Vec<String> = Vec::new();
        for (chat, asked) in platform.asked.iter().enumerate() {
            let chat = format!("external:files:c{chat}");
            let mut texts = answers.remove(&chat).unwrap_or_default();
            for number in 1..=*asked {
                let (text, again) = (answer(number), format!("(again) {}", answer(number)));
                let plain = texts.iter().filter(|one| **one == text).count();
                let marked = texts.iter().filter(|one| **one == again).count();
                texts.retain(|one| *one != text && *one != again);
                verdict.answered += usize::from(plain + marked > 0);
                verdict.doubled += plain.saturating_sub(1);
                verdict.marked += marked;
                if plain + marked == 0 {
                    without.push(chat.clone());
                }
            }
            // The other texts are notices about failed messages.
            verdict.foreign += texts.iter().filter(|text| text.starts_with('1')).count();
        }
        if !without.is_empty() && without.len() <= CHATS {
            let failed = printed_json(&platform.home, &["dead", "list"]);
            for letter in failed.as_array().into_iter().flatten() {
                if let Some(at) = without.iter().position(|chat| letter["chat"] == **chat) {
                    without.remove(at);
                    verdict.unconfirmed += 1;
                }
            }
        }
        verdict.missing = without.len();
        verdict
    }
}

/// Reproducible random numbers from a seed (xorshift64*).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

fn fresh_seed() -> u64 {
    let random = std::collections::hash_map::RandomState::new();
    std::hash::BuildHasher::hash_one(&random, 0) % 1_000_000
}

#[expect(clippy::disallowed_methods, reason = "how often, and which seed, is set from outside")]
fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Prints a line even if the test passes.
#[expect(clippy::explicit_write, reason = "what eprintln! prints is kept back by the harness")]
fn show(text: &str) {
    writeln!(std::io::stderr(), "\n{text}").unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a random life, after which a process is killed")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}
