//! A program in Python that is a channel for ten chats. `tests/kill` kills it and the daemon.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command};

use avocet_tests::{Home, child, program};
use serde_json::{Value, json};

use crate::support::{printed, status, stop, until};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/channel.py");
const CONFIG: &str = "[channels.external.files]\nallow = [\"ann\"]\nowners = [\"bob\"]\n";
const CHATS: usize = 10;

/// The home of a daemon and of its program, with the files that are the program's platform.
struct Platform {
    home: Home,
    asked: usize,
}

impl Platform {
    fn new() -> Self {
        Self::with(|_| String::new())
    }

    /// A platform whose program is a child of the daemon.
    fn with_child() -> Self {
        Self::with(child::keys_of_channel_py)
    }

    /// A platform with more keys in the table of its channel.
    fn with(keys: impl FnOnce(&Home) -> String) -> Self {
        let home = Home::new(program!());
        let keys = keys(&home);
        let home = home.with_config(&format!("{CONFIG}{keys}"));
        fs::create_dir(home.path(child::PLATFORM)).unwrap();
        for file in child::FILES {
            File::create(home.path(file)).unwrap();
        }
        Self { home, asked: 0 }
    }

    /// Starts the program.
    fn program(&self) -> Program {
        let mut command = Command::new("python3");
        let files = child::FILES.map(|file| self.home.path(file));
        command.arg(PROGRAM).arg(self.home.socket()).arg("files").args(files);
        Program(command.spawn().unwrap())
    }

    /// A person writes a message.
    fn write(&self, chat: &str, sender: &str, key: &str, text: &str) {
        let mut inbox = File::options().append(true).open(self.home.path(child::FILES[0])).unwrap();
        let message = json!({"chat": chat, "sender": sender, "key": key, "text": text});
        inbox.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// The person of each chat asks the next question, whose answer names its number.
    fn ask_in_each_chat(&mut self) {
        self.asked += 1;
        let number = self.asked;
        for chat in 0..CHATS {
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
        let read = fs::read_to_string(self.home.path(child::FILES[1])).unwrap();
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

/// Waits until three questions in each chat are answered in order.
fn assert_answered(platform: &Platform) {
    let answers = until("the answers", || {
        let answers = platform.answers();
        (answers.values().map(Vec::len).sum::<usize>() == 3 * CHATS).then_some(answers)
    });
    assert_eq!(answers.len(), CHATS);
    for (chat, texts) in answers {
        assert_eq!(texts, [answer(1), answer(2), answer(3)], "{chat}");
    }
}

#[test]
fn external_program_serves_ten_chats_in_order() {
    let mut platform = Platform::new();
    let daemon = platform.home.daemon();
    assert!(status(&platform.home).to_string().contains("no program is attached"));
    for _ in 0..3 {
        platform.ask_in_each_chat();
    }
    let program = platform.program();
    assert_answered(&platform);
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

/// A killed program is started again, and its messages wait meanwhile.
#[test]
fn external_program_as_a_child_serves_ten_chats_and_is_started_again() {
    let mut platform = Platform::with_child();
    for _ in 0..3 {
        platform.ask_in_each_chat();
    }
    let mut daemon = platform.home.daemon();
    assert_answered(&platform);
    assert_eq!(child::kill_python_below(daemon.pid()), 1);
    let line = daemon.wait_for("signal 9 ended the program");
    assert!(line.contains("external:files"), "{line}");
    printed(&platform.home, &["send", "external:files:c3", "are you there?"]);
    until("the message", || {
        let texts = platform.answers().remove("external:files:c3")?;
        (texts.last()? == "are you there?").then_some(())
    });
    stop(daemon);
}

/// A program says who its owners are. So they decide about other chats only if that is configured,
/// and never about a tool that their channel does not have.
#[test]
fn owners_of_a_program_decide_about_the_calls_of_other_chats_only_if_configured() {
    let tools = "[tools.channels.external]\nallow = [\"read_file\"]\n";
    for (key, tables, reply) in [
        ("", "", "w1 is a question of terminal:local:me, and owners of external:files decide"),
        ("approve_others = true\n", "", "Allowed."),
        ("approve_others = true\n", tools, "write_file is not a tool here, because of"),
    ] {
        let keys = |home: &Home| {
            let keys = child::keys_of_channel_py(home);
            format!("{key}{keys}[tools.policy]\nwrite_file = \"ask\"\n{tables}")
        };
        let platform = Platform::with(keys);
        let Platform { home, .. } = &platform;
        let daemon = home.daemon();
        printed(home, &["ask", "me", "write_file a.txt hello"]);
        let open = || printed(home, &["approvals"]);
        until("the question", || open().contains("w1").then_some(()));
        platform.write("bob", "bob", "1", "/approve w1");
        let said = until("the reply", || platform.answers().remove("external:files:bob"));
        assert!(said[0].starts_with(reply), "{said:?}");
        if reply == "Allowed." {
            until("the file", || home.workspace().join("a.txt").exists().then_some(()));
        } else {
            assert!(open().contains("w1"), "{}", open());
        }
        platform.write("bob", "bob", "2", "/link terminal:local:me");
        let link = until("the reply", || {
            platform.answers().remove("external:files:bob")?.into_iter().nth(1)
        });
        let refusal = "terminal:local:me is a chat of another account, and owners of";
        assert_eq!(link.starts_with(refusal), key.is_empty(), "{link}");
        platform.write("bob", "bob", "3", "/rule add be brief");
        platform.write("bob", "bob", "4", "/rule add --chat be brief here");
        let rules = until("both replies", || {
            let said = platform.answers().remove("external:files:bob")?;
            (said.len() == 4).then_some(said)
        });
        let refusal = "The rule holds in chats of other accounts, too, and owners of";
        assert_eq!(rules[2].starts_with(refusal), key.is_empty(), "{rules:?}");
        assert!(rules[3].starts_with("Rule r"), "{rules:?}");
        stop(daemon);
    }
}
