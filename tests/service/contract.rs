//! One contract for all channels, in Rust and in other programs. The same clauses run against the
//! strict fake of each platform, with the real daemon between it and the model.

mod directory;
mod files;
mod left_out;
mod platforms;
mod python;
mod terminal;
mod web;

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::chat::REPEAT_MARK;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{DaemonProcess, Home, program};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::log::number;
use crate::model::{asked, config, held, held_back};
use crate::patience::{stop, until};
use crate::rows::{is_settled, status, trouble};
use files::{FilesSide, WayToRun};
use left_out::{OptionalClause, leaves_out};
use python::PythonSide;

/// Words that people send in separate messages.
const WORDS: [&str; 6] = ["apple", "bread", "cheese", "dates", "eggs", "figs"];
/// Asks for [`long_answer`].
const LONG: &str = "Tell me everything.";
/// Is answered with a question that has buttons.
const ASK: &str = "Ask me something.";
const QUESTION: &str = "Which colour?";
const CHOICE: &str = "blue";
const AFTER_CHOICE: &str = "You chose blue.";
/// The mark of a mail that is sent again.
const MAIL_MARK: &str = "(This message may have reached you before.)";
/// Is answered after a permit.
const HELD: &str = "Think first.";
const AFTER_HELD: &str = "Now I know.";

/// The effect of a send that follows one with a lost answer.
#[derive(Debug, Clone, Copy)]
enum Repetition {
    /// The platform or the channel recognises the message, which stays the only one.
    Recognised,
    /// There is a second message, which begins with this mark.
    Marked(&'static str),
}

/// The platform of a channel, as its people see it. One person, the owner, writes in private.
#[async_trait(?Send)]
trait FakePlatformSide {
    /// Returns the account of the channel, such as `telegram:main`.
    fn account(&self) -> String;

    /// Returns the table of the channel for a daemon in this home.
    fn table(&mut self, home: &Home) -> String;

    /// Prepares what the channel needs beside a running daemon.
    async fn begin(&mut self, _home: &Home) {}

    /// Waits until the platform has seen that the daemon is gone.
    async fn wait_until_disconnected(&mut self) {}

    /// Writes a message to the agent.
    async fn say(&mut self, text: &str);

    /// Answers the last question with one of its buttons. A channel without buttons sends the text.
    async fn choose(&mut self, choice: &str) {
        self.say(choice).await;
    }

    /// Returns how often the typing indicator was shown; `None` on a platform without one.
    fn typings(&mut self) -> Option<usize> {
        None
    }

    /// Repeats the event of the person's last message, as platforms do after a lost confirmation.
    async fn repeat_event(&mut self) {
        panic!("{} has no repeated events; list it in LEFT_OUT", self.account());
    }

    /// Makes the platform take the agent's next message without an answer to the channel.
    async fn lose_answer(&mut self) -> Repetition {
        panic!("{} has no answers to lose; list it in LEFT_OUT", self.account());
    }

    /// Returns the texts of the agent's messages, the oldest first.
    async fn texts(&mut self) -> Vec<String>;

    /// Returns the violations of the platform's rules.
    fn refusals(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Returns an answer that is longer than a message of most platforms.
fn long_answer() -> String {
    (1..=900).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ")
}

fn answer_to(word: &str) -> String {
    format!("You said {word}.")
}

async fn model(permits: &Arc<Semaphore>) -> OpenAiFake {
    let permits = permits.clone();
    OpenAiFake::start(move |request| {
        let text = last_user_text(request);
        let word = WORDS.iter().find(|word| text.contains(*word));
        let last = request["messages"].as_array().and_then(|messages| messages.last()).unwrap();
        if last["role"] == "tool" {
            let answer = last["content"].as_str().unwrap();
            assert!(answer.contains(CHOICE), "the channel changed an answer: {answer:?}");
            return ModelAnswer::says(AFTER_CHOICE);
        }
        match word {
            None if text.contains(ASK) => {
                let question = json!({ "question": QUESTION, "options": [CHOICE, "green"] });
                ModelAnswer::Calls(vec![("ask_user".to_owned(), question)])
            }
            Some(word) => ModelAnswer::says(answer_to(word)),
            None if text.contains(HELD) => held_back(&permits, AFTER_HELD),
            None if text.contains(LONG) => ModelAnswer::says(long_answer()),
            None => panic!("the channel changed a text: {text:?}"),
        }
    })
    .await
}

/// A channel between its platform and a daemon.
struct Contract<S> {
    side: S,
    model: OpenAiFake,
    home: Home,
    daemon: DaemonProcess,
    permits: Arc<Semaphore>,
    /// The messages of the agent that a clause has checked.
    checked: usize,
}

/// Runs all clauses against a channel.
async fn check(mut side: impl FakePlatformSide) {
    let permits = held();
    let model = model(&permits).await;
    let home = Home::new(program!());
    let table = side.table(&home);
    let home = home.with_config(&config(&model, &table));
    let daemon = home.daemon();
    side.begin(&home).await;
    let mut contract = Contract { side, model, home, daemon, permits, checked: 0 };
    contract.is_up().await;
    contract.answers_in_order().await;
    contract.delivers_long_texts_whole().await;
    contract.runs_commands().await;
    contract.shows_typing_while_the_agent_thinks().await;
    contract.asks_with_buttons().await;
    contract.takes_a_repeated_event_once().await;
    contract.marks_what_it_sends_again().await;
    contract = contract.answers_what_was_written_meanwhile().await;
    contract = contract.answers_once_after_a_kill().await;
    contract.ends().await;
}

impl<S: FakePlatformSide> Contract<S> {
    async fn is_up(&self) {
        until("the channel without a fault", async || {
            let status = status(&self.home);
            let channels = status["channels"].as_array().unwrap();
            let account = self.side.account();
            let channel = channels.iter().find(|channel| channel["account"] == account.as_str());
            channel.is_some_and(|channel| channel["fault"].is_null())
        })
        .await;
    }

    /// Waits for new texts of the agent, and compares the words of all of them with `expected`.
    async fn expect_texts(&mut self, expected: &[String]) {
        let mut texts = Vec::new();
        let words = |texts: &[String]| -> Vec<String> {
            texts.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
        };
        let wanted = words(expected);
        let name = self.side.account();
        until(&format!("{name}: {expected:.80?}"), async || {
            texts = self.side.texts().await.split_off(self.checked);
            words(&texts).len() >= wanted.len()
        })
        .await;
        is_settled(&self.home).await;
        texts = self.side.texts().await.split_off(self.checked);
        assert_eq!(words(&texts), wanted, "{name}");
        self.checked += texts.len();
    }

    async fn answers_in_order(&mut self) {
        let words = &WORDS[..3];
        for word in words {
            self.side.say(word).await;
        }
        let expected: Vec<String> = words.iter().map(|word| answer_to(word)).collect();
        self.expect_texts(&expected).await;
    }

    async fn delivers_long_texts_whole(&mut self) {
        self.side.say(LONG).await;
        self.expect_texts(&[long_answer()]).await;
    }

    /// A command is no message for the model.
    async fn runs_commands(&mut self) {
        let requests = self.model.requests().len();
        self.side.say("/id").await;
        let checked = self.checked;
        until("the reply to the command", async || self.side.texts().await.len() > checked).await;
        is_settled(&self.home).await;
        let texts = self.side.texts().await.split_off(checked);
        let reply = texts.join(" ");
        let (platform, _) = self.side.account().split_once(':').map(own).unwrap();
        assert!(reply.starts_with(&format!("This chat is {platform}:")), "{reply}");
        assert_eq!(self.model.requests().len(), requests);
        self.checked += texts.len();
    }

    /// The indicator is shown until the answer comes.
    async fn shows_typing_while_the_agent_thinks(&mut self) {
        let typings = self.side.typings();
        assert_eq!(typings.is_none(), leaves_out(&self.side.account(), OptionalClause::Typing));
        let Some(before) = typings else { return };
        self.side.say(HELD).await;
        until("the typing indicator", async || self.side.typings() > Some(before)).await;
        self.permits.add_permits(1);
        self.expect_texts(&[AFTER_HELD.to_owned()]).await;
    }

    /// The choice reaches the agent as the answer to its question.
    async fn asks_with_buttons(&mut self) {
        self.side.say(ASK).await;
        let checked = self.checked;
        let name = self.side.account();
        until(&format!("{name}: the question"), async || {
            let texts = self.side.texts().await.split_off(checked);
            texts.iter().any(|text| text.contains(QUESTION))
        })
        .await;
        let is_sent = "SELECT count(*) FROM outbox WHERE source = 'prompt' AND state = 'sent'";
        until("the question in the log", async || number(&self.home, is_sent) == 1).await;
        self.side.choose(CHOICE).await;
        until(&format!("{name}: the answer"), async || {
            let texts = self.side.texts().await;
            texts.last().is_some_and(|text| text.trim() == AFTER_CHOICE)
        })
        .await;
        is_settled(&self.home).await;
        let texts = self.side.texts().await.split_off(checked);
        assert_eq!(texts.iter().filter(|text| text.trim() == AFTER_CHOICE).count(), 1, "{texts:?}");
        self.checked += texts.len();
    }

    /// An event that the platform sends again is no second message.
    async fn takes_a_repeated_event_once(&mut self) {
        if leaves_out(&self.side.account(), OptionalClause::RepeatedEvent) {
            return;
        }
        self.side.say(WORDS[5]).await;
        self.expect_texts(&[answer_to(WORDS[5])]).await;
        self.side.repeat_event().await;
        self.side.say(WORDS[0]).await;
        self.expect_texts(&[answer_to(WORDS[0])]).await;
    }

    /// A message with an unknown outcome is not doubled without a mark.
    async fn marks_what_it_sends_again(&mut self) {
        if leaves_out(&self.side.account(), OptionalClause::LostAnswer) {
            return;
        }
        let repetition = self.side.lose_answer().await;
        self.side.say(WORDS[1]).await;
        let answer = answer_to(WORDS[1]);
        let expected = match repetition {
            Repetition::Recognised => answer,
            Repetition::Marked(mark) => format!("{answer} {mark} {answer}"),
        };
        self.expect_texts(&[expected]).await;
    }

    /// Messages that came without a daemon are answered once, before later ones.
    async fn answers_what_was_written_meanwhile(mut self) -> Self {
        let (status, log) = stop(self.daemon).await;
        assert!(status.success(), "{log}");
        self.side.wait_until_disconnected().await;
        let writes = !leaves_out(&self.side.account(), OptionalClause::WrittenMeanwhile);
        if writes {
            self.side.say(WORDS[3]).await;
        }
        self.daemon = self.home.daemon();
        self.is_up().await;
        if writes {
            self.expect_texts(&[answer_to(WORDS[3])]).await;
        }
        self.side.say(WORDS[4]).await;
        self.expect_texts(&[answer_to(WORDS[4])]).await;
        self
    }

    /// An accepted message is answered once, although the daemon died before the answer.
    async fn answers_once_after_a_kill(mut self) -> Self {
        let requests = self.model.requests().len();
        self.side.say(HELD).await;
        asked(&self.model, requests + 1).await;
        self.daemon.kill();
        self.side.wait_until_disconnected().await;
        self.permits.add_permits(2);
        self.daemon = self.home.daemon();
        self.expect_texts(&[AFTER_HELD.to_owned()]).await;
        self.is_up().await;
        self
    }

    async fn ends(self) {
        let (status, log) = stop(self.daemon).await;
        assert!(status.success() && trouble(&log).is_empty(), "{log}");
        assert_eq!(self.side.refusals(), [""; 0]);
    }
}

fn own((first, second): (&str, &str)) -> (String, String) {
    (first.to_owned(), second.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_on_the_socket_keeps_the_contract_of_channels() {
    check(FilesSide::new(WayToRun::OnSocket)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_as_a_child_keeps_the_contract_of_channels() {
    check(FilesSide::new(WayToRun::AsChild)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn template_in_python_keeps_the_contract_of_channels() {
    check(PythonSide::new("template-python", "chat", Repetition::Marked("(sent again)"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn irc_keeps_the_contract_of_channels() {
    check(PythonSide::new("irc", "irc", Repetition::Marked(REPEAT_MARK))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn email_keeps_the_contract_of_channels() {
    check(PythonSide::new("email", "email", Repetition::Marked(MAIL_MARK))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn matrix_keeps_the_contract_of_channels() {
    check(PythonSide::new("matrix", "matrix", Repetition::Recognised)).await;
}
